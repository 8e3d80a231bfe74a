"""The answer step of the published methods: a model reads numbered facts, joins them, and names what they come to.

Its answer is terms of the facts, or words of a passage, letter by letter. What it says on the way is looked up among
the facts that it was shown: one of them, or what follows from two. Any other step is the model's own, and told so.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

from kgsparql.answering import coverage
from kgsparql.answering.answer import MAX_CHOICES, InferenceStep, Retrieval
from kgsparql.answering.choosing import MAX_PASSAGE
from kgsparql.answering.readings import part_of_item, put_together, quoted_passage
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.events import CandidatesChosen
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.path_expansion import expanded_items
from kgsparql.evidence.term_labels import terms_of
from kgsparql.evidence.verbalising import Line, line_text
from kgsparql.graphs.notes import Cut
from kgsparql.models.chat_completion import Call, fenced, plain
from kgsparql.models.replies import SaidAnswer, said_answer, said_sentences
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.paths import Hop, Path, PropertyPath, Walk
from kgsparql.rdf.terms import Json, Labels, Literal, Term, Triple, distinct, first_of, grouped, printable, zip_equal
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.reading.gaps import not_the_graphs
from kgsparql.retrievers._walking import is_opaque, item_of_ways, places_by_likeness, query_through

_MAX_NAME = 90  # characters, so that the number after it is never cut off
_ENDS_READ = 20  # of a line, that a model reads; it can choose no other
_MAX_HOPS = 6  # of a chain through the facts that a model used
MEMBERS: Json = {
    "enough": bool, "steps": [{"used": [str], "start": int, "end": int, "says": str}], "reasoning": str,
    "answers": [int], "used": [str], "quote": str,
}  # fmt: skip
"""What a reply may be asked for, by name."""

_OWN_STEP = not_the_graphs("one step is the model's own")


@frozen
class ReadLine:
    """A line that a model reads: facts of the graph, or a passage.

    :param ways: the paths that it tells; several differ in their last term only.
    :param item: the piece of evidence that it is, where words of it may be quoted.
    :param text: writes it otherwise than as a path, or a line of neighbours.
    :param count: how many ends there are, shown or not.
    """

    ways: tuple[Path, ...] = ()
    item: EvidenceItem | None = None
    letter: str = "F"
    text: Callable[[Labels], str] | None = None
    count: int = 1

    @classmethod
    def of_item(cls, item: EvidenceItem, letter: str) -> ReadLine:
        """Make a line of a piece of evidence with paths: the first of its ends, and how many there are."""
        count = max(len(item.ends), len({way.end for way in item.paths}))
        return cls(item.paths[:_ENDS_READ], letter=letter, count=count)


@frozen
class FactSheet:
    """Lines as a model reads them, each with a marker, and the terms of them that have numbers.

    :param texts: the lines without those that say the same as one before.
    """

    lines: Mapping[str, ReadLine]
    texts: tuple[str, ...]
    things: tuple[Term, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, lines: Iterable[ReadLine], session: Session) -> FactSheet:
        """Give numbers to lines and to what they are about; a line that says the same as another stands once.

        Of very many lines those that are most like the question are kept, which is a cut.
        """
        lines = list(lines)
        labels = session.labels(terms_of(way for line in lines for way in line.ways))
        if len(lines) > MAX_CHOICES:
            told = [_text_of(line, labels) for line in lines]
            best = sorted(places_by_likeness(session.masked_question, told, session)[:MAX_CHOICES])
            session.notes.add_cuts([Cut("facts that a model reads", MAX_CHOICES, len(lines))])
            lines = [lines[place] for place in best]
        numbers = dict[Term, int]()
        by_text = dict[str, ReadLine]()
        for line in lines:
            own = dict.fromkeys(t for way in line.ways for t in way.terms if not _is_nameless(t, session))
            numbers |= {t: n for n, t in enumerate((t for t in own if t not in numbers), len(numbers) + 1)}
            things = {term: f"{printable(labels[term], _MAX_NAME)} [{numbers[term]}]" for term in own}
            before = by_text.setdefault(text := _text_of(line, {**labels, **things}), line)
            if before is not line:  # by other nodes without a name
                by_text[text] = replace(before, ways=distinct((*before.ways, *line.ways)))
        kept = {}
        counts = Counter[str]()
        for line in by_text.values():
            counts[line.letter] += 1
            kept[f"{line.letter}{counts[line.letter]}"] = line
        texts = (f"{marker} {text}" for marker, text in zip_equal(kept, by_text))
        return cls(kept, tuple(texts), tuple(numbers), tuple(labels[term] for term in numbers))

    def ask(
        self, rules: str, members: Sequence[str], purpose: str, session: Session, *before: str, required: bool
    ) -> SaidAnswer | None:
        """Have the model read the lines; ``None`` if its reply is of no use.

        :param rules: what it is to do. :param members: what its reply has, of :data:`MEMBERS`.
        :param before: other lines for it to read, fenced. :param required: such a reply is an error.
        :raises ModelReplyError: for such a reply.
        """
        facts = fenced("facts", self.texts, limit=10 + MAX_PASSAGE)
        asked = "\n".join([f"Question: {plain(session.original, 4000)}", *before, facts])
        call = Call(
            purpose,
            rules,
            asked,
            {name: MEMBERS[name] for name in members},
            lambda reply: said_answer(reply, markers=list(self.lines), names=self.names),
        )
        said = session.ask_model(call, required=required)
        if said is None:
            return None
        if said.dropped:
            session.notes.fall_back(purpose, f"{said.dropped} of what the reply names is not in the facts")
        kept = tuple(printable(self.names[number - 1], 120) for number in said.answers)
        session.emit(
            CandidatesChosen(
                purpose=purpose, chosen_by=session.asked_model, kept=kept, pruned=len(self.things) - len(kept)
            )
        )
        return said

    def in_sentences(self, rules: str, session: Session) -> FactSheet:
        """Have the model write the lines as sentences for itself; one without all names and numbers is not taken."""
        text, sentence = fenced("facts", self.texts, limit=MAX_PASSAGE), {"marker": str, "text": str}
        call = Call(
            "sentences",
            rules,
            text,
            {"sentences": [sentence]},
            lambda reply: said_sentences(reply, markers=list(self.lines)),
        )
        said, texts = session.ask_model(call) or {}, []
        named = [f"{printable(name, _MAX_NAME)} [{number}]" for number, name in enumerate(self.names, 1)]
        for marker, text in zip_equal(self.lines, self.texts):
            is_whole = marker in said and all(own in said[marker] for own in named if own in text)
            texts.append(f"{marker} {said[marker]}" if is_whole else text)
        return replace(self, texts=tuple(texts))


def _text_of(line: ReadLine, labels: Labels) -> str:
    if line.item is not None:
        return line.item.text
    if line.text is not None:
        return line.text(labels)
    count = max(line.count, len({way.end for way in line.ways}))
    return line_text(Line(line.ways, count), labels, shown=_ENDS_READ)


def _is_nameless(term: Term, session: Session) -> bool:
    return is_mediator(term) or is_opaque(term, session)


def segments(ways: Iterable[Path], session: Session) -> list[ReadLine]:
    """Cut paths into facts, each once."""
    return [ReadLine((part,)) for part in distinct(part for way in ways for part in _facts_of(way, session))]


def _facts_of(way: Path, session: Session) -> Iterator[Path]:
    """Yield the facts of a path: triples, and those together that lead through a node without a name."""
    part = []
    for hop in way.hops:
        part.append(hop)
        if not _is_nameless(hop.end, session) or hop is way.hops[-1]:
            yield Path(part[0].start, tuple(part))
            part = []


# --- What a reply comes to


def only_numbers(said: SaidAnswer, sheet: FactSheet) -> SaidAnswer:
    """Keep the answers that are numbers, and of a quote that is a number with a unit the number: of `5 million` all."""
    values = [
        n for n in said.answers if isinstance(own := sheet.things[n - 1], Literal) and literal_kind(own) == "number"
    ]
    found = re.fullmatch(r"([-+−]?\d[\d,]*(?:\.\d+)?) ?(?:[%°€$£]|[^\W\d_]){0,3}", said.quote.strip(" ."))
    return replace(said, answers=tuple(values), quote=said.quote if found is None else found[1])


_Hops: TypeAlias = Mapping[Term, Iterable[Hop]]


def _hops_of(lines: Iterable[ReadLine]) -> _Hops:
    """Return the facts of some lines as a graph: from each term the hops away from it."""
    made = defaultdict[Term, dict[Hop, None]](dict)
    for line in lines:
        cited = [one.hop for one in line.item.triples] if line.item else []
        for hop in (*(hop for way in line.ways for hop in way.hops), *cited):
            made[hop.start][hop] = made[hop.end][hop.reversed] = None
    return made


def _chains_from(start: Term, ends: Collection[Term], hops: _Hops, most: int = _MAX_HOPS) -> dict[Term, Path]:
    """Find the shortest chain from a term to each of some others."""
    found, level = {start: Path(start)}, [Path(start)]
    for path in level:  # which grows
        for hop in hops.get(path.end, ()) if len(path) < most else ():
            if hop.end not in found:
                found[hop.end] = Path(start, (*path.hops, hop))
                level.append(found[hop.end])
    return {end: path for end, path in found.items() if path.hops and end in ends}


def answered(
    said: SaidAnswer,
    sheet: FactSheet,
    found: Retrieval,
    session: Session,
    *,
    seen: Iterable[Path] = (),
    known: Iterable[Walk] = (),
) -> Retrieval | None:
    """Return what a reply comes to: its answers with the chains of facts that lead to them; ``None`` for none.

    What the model left out of siblings that it saw stays out. Where it took all that it saw of a kind, and there are
    more, these are answers, too.

    :param seen: other paths that the model saw, of which it left some out.
    :param known: walks with the conditions that the facts were found by.
    """
    if said.quote and not said.answers:
        items = (sheet.lines[marker].item for marker in said.used)
        passage = first_of(item for item in items if item is not None)
        return None if passage is None else quoted_passage(passage, said.quote, found)
    wanted = dict.fromkeys(sheet.things[number - 1] for number in said.answers)
    of_steps = (marker for step in said.steps for marker in step.used)
    used = [sheet.lines[marker] for marker in distinct((*said.used, *of_steps))]
    chains = _chains_to(wanted.keys(), used, sheet, session)
    every = (*(way for line in sheet.lines.values() for way in line.ways), *seen)
    back = (Path(way.end, tuple(hop.reversed for hop in reversed(way.hops))) for way in every)
    parts = _parts_of(chains, _ends_by_fact((*every, *back), session), known, session)
    apart = [term for term in wanted if term not in {way.end for way in chains}]
    told_by = {fact for line in used for way in line.ways for fact in way.triples}
    parts += [part for term in apart if (part := _part_with(term, told_by, found, session)) is not None]
    led_to = {way.end for way in chains if way.hops[-1].triple in told_by or len(way) < 2}
    lost = [term for term in wanted if term not in led_to]
    told = {triple for part in parts for triple in part.evidence.triples}
    beside = [i for i in found.evidence if i.kind == "passage" or not told.issuperset(own.triple for own in i.triples)]
    made = put_together(parts, replace(found, evidence=Evidence(beside)))
    if made is None or (draft := made.draft) is None:
        return None
    steps, own = checked_steps(said, sheet, made.evidence)
    labels = session.labels(lost[:3])
    names = "; ".join(printable(label, 60) for label in labels.values())
    gaps = (*made.gaps, *([not_the_graphs(f"no facts lead to {names}")] if lost else []), *([_OWN_STEP] if own else []))
    if any(way.property_path.goes_back for way in chains):  # who shares a country is asked for in so many words
        gaps = (*gaps, *coverage.gaps(session, made))
        made = replace(made, is_judged=True)
    draft = replace(draft, inference=tuple(steps), own_steps=tuple(own), grounding="mixed" if own else draft.grounding)
    return replace(made, draft=draft, gaps=gaps)


def _chains_to(wanted: Set[Term], used: Sequence[ReadLine], sheet: FactSheet, session: Session) -> list[Path]:
    """Find the chains from what the question names to what is wanted, by the facts that were used, else by any."""
    named = dict.fromkeys((*session.linked, *(path.end for path in session.same)))
    chains = list[Path]()
    for lines in (used, sheet.lines.values()):  # a model may leave out what is plain
        hops, left = _hops_of(lines), wanted - {way.end for way in chains} - named.keys()
        chains += [path for start in named for path in _chains_from(start, left, hops).values()]
    return chains


def _ends_by_fact(ways: Iterable[Path], session: Session) -> dict[tuple[Term, PropertyPath], set[Term]]:
    ends = defaultdict(set)
    for fact in (fact for way in ways for fact in _facts_of(way, session)):
        ends[fact.start, fact.property_path].add(fact.end)
    return ends


def _parts_of(
    chains: Sequence[Path], siblings: Mapping[tuple[Term, PropertyPath], set[Term]], known: Iterable[Walk],
    session: Session,
) -> list[Retrieval]:  # fmt: skip
    """Make the chains of each walk a piece of evidence; with all its ends, where none that was seen was left out."""
    conditions = {replace(walk, constraints=()): walk for walk in known}
    walks = grouped((conditions.get(path.walk, path.walk), path) for path in chains)
    kept = _ends_by_fact(chains, session)
    is_all = all(own <= kept[key] for key, own in siblings.items() if key in kept)
    is_one = session.complete and len(walks) == 1  # where chains meet, what one leads to besides is no answer
    (followed,) = expanded_items([*walks], session.labels) if is_one and is_all else (None,)
    parts = []
    for ways in walks.values():
        own = dict.fromkeys(way.end for way in ways)
        if followed is None or not own.keys() <= set(followed.ends):
            parts.append(part_of_item(item_of_ways(ways, query_through(ways), session), [*own], session))
        else:
            parts.append(part_of_item(followed, followed.ends, session))
    return parts


def _part_with(term: Term, told: Set[Triple], found: Retrieval, session: Session) -> Retrieval | None:
    """Answer with a term to which no chain leads: by a piece of evidence that was used, and has it."""
    items = (i for i in found.evidence if term in i.terms and not told.isdisjoint(own.triple for own in i.triples))
    return first_of(part_of_item(item, [term], session) for item in items)


def checked_steps(said: SaidAnswer, sheet: FactSheet, evidence: Evidence) -> tuple[list[InferenceStep], list[str]]:
    """Look up each step of a reply: as the facts that it is, at most two of them; the others are the model's own."""
    known = {own.triple: InferenceStep(item.marker, own) for item in reversed([*evidence]) for own in item.triples}
    checked = dict[InferenceStep, None]()
    own = []
    for step in (one for one in said.steps if one.says and not (one.used and one.start == one.end > 0)):
        lines = [sheet.lines[marker] for marker in step.used]
        start, end = (sheet.things[number - 1] if number else None for number in (step.start, step.end))
        chain = None if start is None or end is None else _chains_from(start, [end], _hops_of(lines), 2).get(end)
        if chain is not None and set(chain.triples) <= known.keys():
            checked |= dict.fromkeys(known[triple] for triple in chain.triples)
        else:
            own.append(step.says)
    return [*checked], own
