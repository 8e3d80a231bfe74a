"""What the tools do: each asks the graph, and makes a small JSON object of what was found.

Terms come with their labels, and ``more`` says which argument gets what was left out. Text of the graph is made safe to
show: on one line, without control characters, and not longer than is useful.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgsparql.answering.answer import Answer, AnswerTerm
from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.unclear_names import content_words
from kgsparql.dataclasses import asdict, dataclass, replace
from kgsparql.errors import AmbiguousLabelError, NotFoundError
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.evidence.term_labels import descriptions_of, namesake_groups
from kgsparql.evidence.verbalising import path_text
from kgsparql.exploration import neighbours, shortest_paths
from kgsparql.exploration.lookups import GraphLookups
from kgsparql.graphs.user_query import is_nothing
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.plans.running import NO_NUMBER
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import (
    IRI,
    BlankNode,
    Json,
    Labels,
    Literal,
    PrefixMap,
    Term,
    Triple,
    compact_json,
    grouped,
    printable,
)
from kgsparql.rendering.text import without_commands

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.retrievers._planned_question import PlannedQuestion

_LONG_QUERY = 1_000  # characters of a query that is given only to who asks for more
OTHER_PLANS = 4  # plans beside the one that is computed
TOKEN = 2.5  # bytes of JSON for each token at the least, whatever the script and the tokenizer
DOUBTFUL = 1_500  # bytes of a result of ask that is in doubt
_MAX_CHARACTERS = 400
_MAX_MEANINGS = 4
_MAX_NAMED = 10
_MAX_NEAR = 3
_PREDICATES = 6  # for each neighbour of one that is shown
_MAX_ANSWERS, _MAX_EVIDENCE = 10, 3  # without a limit
_LINE = 240  # characters of a kind and a relation together
_PREFIX = re.compile(r"\b([\w.-]+):\w")
_COMMAND = re.compile(r"kgsparql (ask|find|show|paths|plan|query|info)\b( [A-Z]+\b)?( -k \S+)?")
_ENTITY_OPTION = re.compile(r"""-e (?:'((?:[^']|'"'"')+)'|([^\s),;]+:[^\s),;]+))""")
_NOTHING_FOUND = (
    "nothing matches: check the predicates with show; a text matches only with its language or datatype, as in "
    '"Bonn"@en, so start from the IRI that find gives'
)


@dataclass(frozen=True)
class ToolRun:
    """Runs a tool once on a graph: all but ``query`` have the time of a question, and end when they are stopped.

    What a result has of empty texts and lists, and may be missing, is left out by who calls.
    """

    knowledge: KnowledgeBase
    asking: AskOptions

    def ask(self, given: Any) -> Json:
        """Answer with evidence."""
        meant = [self._resolved_entity(name) for name in given.entities]
        asking = replace(self.asking.about(meant) if meant else self.asking, reading=given.reading)
        return _ask_result(self.knowledge.answer(given.question, asking), given)

    def find(self, given: Any) -> Json:
        """Find entities by their labels."""
        found = self.knowledge.find(given.text, limit=given.limit)
        groups = namesake_groups((one.term, one.label) for one in found)
        shared = {term for group in groups for term in group}
        about = self._descriptions_of([*groups, *([one.term] for one in found if one.term not in shared)], given.text)
        is_near = any(_has_word_of(given.text, one.label) for one in found)
        return {
            "found": [
                _term_json(
                    one.term, one.label, kind=one.kind, score=round(one.score, 3),
                    description=about.get(one.term, ""),
                )
                for one in found
            ],
            "notes": [] if is_near else ["no label has any of these words: the nearest are probably something else"],
            "more": "" if len(found) < given.limit else "perhaps there are more: raise limit",
        }  # fmt: skip

    def show(self, given: Any) -> Json:
        """Show what is around an entity."""
        entity, lookups = self._resolved_entity(given.entity), self._bounded_lookups
        if given.predicate is None:
            found = lookups.show(entity, direction=given.direction, limit=given.limit)
        else:
            ahead = [Step(predicate) for predicate in self._predicates_named(given.predicate)]
            behind = [step.reversed for step in ahead]
            found = neighbours(
                lookups.graph,
                [entity],
                steps={"both": [*ahead, *behind], "forward": ahead, "inverse": behind}[given.direction],
                limit=given.limit,
            )
        most = _PREDICATES * given.limit
        shown = found.items[:most]
        labels = lookups.labels([entity, *(t for g in shown for t in (g.step.predicate, *g.neighbours))])
        is_cut = any(group.count > len(group.neighbours) for group in shown)
        return {
            "entity": _term_json(entity, labels.get(entity)),
            "groups": [
                {
                    "predicate": _term_json(group.step.predicate, labels.get(group.step.predicate)),
                    "direction": group.step.direction, "count": group.count, "is_exact": group.exact,
                    "neighbours": _row_json(group.neighbours, labels),
                }
                for group in shown
            ],
            "more": _joined_texts(
                _more_text("predicates", len(found.items), most),
                "some predicates have more neighbours: give predicate, and raise limit" if is_cut else "",
            ),
        }  # fmt: skip

    def paths(self, given: Any) -> Json:
        """Find shortest paths between two entities."""
        start, end = map(self._resolved_entity, (given.start, given.end))
        found = shortest_paths(
            self._bounded_lookups.graph, start, end, max_hops=given.max_hops, direction=given.direction
        )
        shown = found.items[: given.limit]
        labels = self._bounded_lookups.labels(
            [start, end, *(t for path in shown for triple in path.triples for t in triple)]
        )
        other = "" if given.direction == "both" else ", or give direction both"
        none = "" if shown else f"no path of at most {given.max_hops} hops: raise max_hops{other}"
        return {
            "paths": [
                {"text": path_text(path, labels), "triples": [_triple_json(one, labels) for one in path.triples]}
                for path in shown
            ],
            "more": _joined_texts(
                none, _more_text("shortest paths", len(found.items), given.limit), *map(str, found.cuts)
            ),
        }

    def plan(self, given: Any) -> Json:
        """Compute what a question asks for."""
        meant = tuple(map(self._resolved_entity, given.entities))
        planned = self.knowledge.plan(
            given.question, entities=meant, budget=self.asking.budget, cancel=self.asking.cancel
        )
        found, chosen, labels = planned.computed, planned.chosen, planned.labels
        doubts = [*map(said_of_tools, planned.doubts)]
        own = "" if chosen is None else chosen.words
        others = list({one.words: one for one in planned.candidates if one.words != own}.values())[:OTHER_PLANS]
        if given.other_plan is not None and given.other_plan <= len(others):
            chosen = others[given.other_plan - 1]
            found = self.knowledge.run(chosen.plan)
            doubts = ["this is a less likely reading, which was asked for"]
            labels = {**labels, **self._bounded_lookups.labels(found.terms)}
        about = {
            "linked": _links_of(planned),
            "other_plans": [printable(one.words, 400) for one in others],
            "notes": _told_notes(planned.notes),
        }
        if found is None or chosen is None:
            why = "nothing was computed: no plan fits the question and the names of this graph; try ask, find and query"
            none = {"words": "", "is_sure": False, "confidence": 0.0, "columns": [], "rows": [], "facts": 0}
            return {**none, "doubts": [why, *doubts], **about}
        doubts += [one.in_words(labels.__getitem__) for one in found.left_out]
        doubts += [NO_NUMBER] if found.is_no_number else []
        if found.rows and all(term is None for row in found.rows for term in row[-1:]):
            doubts.insert(0, "no row has a value, so this is probably not what was asked")
        return {
            "words": printable(chosen.words, 600), "is_sure": not doubts, "doubts": doubts,
            "confidence": planned.confidence if chosen is planned.chosen else 0.0,
            "columns": list(found.columns), "rows": [_row_json(row, labels) for row in found.rows[: given.limit]],
            "facts": len(found.facts), **about, "sparql": found.query.shown,
            "more": _more_text("rows", len(found.rows), given.limit, has_more=found.is_cut),
        }  # fmt: skip

    def query(self, given: Any) -> Json:
        """Run a checked query."""
        result = self.knowledge.query(
            given.sparql, timeout_s=given.max_seconds, max_rows=given.limit, cancel=self.asking.cancel
        )
        variables, is_ask = result.solutions.variables, result.form == "ASK"
        rows = [[solution.get(name) for name in variables] for solution in result.solutions]
        found: Iterable[Iterable[Term | None]] = [*rows, *result.triples]
        labels = self._bounded_lookups.labels([term for row in found for term in row if term is not None])
        more = _more_text("rows or triples", result.rows, given.limit, has_more=result.cut is not None)
        if is_nothing(result):
            more = self.knowledge.why_nothing(given.sparql) or ("" if is_ask or result.rows else _NOTHING_FOUND)
        return {
            "form": result.form, "columns": list(variables), "rows": [_row_json(row, labels) for row in rows],
            "triples": [_triple_json(triple, labels) for triple in result.triples], "is_complete": result.complete,
            "boolean": result.boolean if is_ask else None, "more": more,
        }  # fmt: skip

    def info(self, given: Any) -> Json:
        """Say what the graph holds and how it is read: its commonest kinds and relations, a line each."""
        found = self.knowledge.schema().within(_LINE * given.limit)
        # The prefixes of the graph and of the settings, and those of the terms that are named.
        wanted, shipped = {*self.knowledge.graph.prefixes, *_PREFIX.findall(str(found))}, set(PrefixMap.default())
        notes = [*map(printable, found.missing)]
        if not found.kinds:
            notes.append("nothing has an rdf:type; perhaps a predicate such as 'instance of' says what things are")
        is_cut = found.more_kinds or found.more_relations or len(found.named_graphs) > given.limit
        return {
            "name": found.name, "triples": found.triples, "languages": list(self.knowledge.languages),
            "kinds": [*map(str, found.kinds)], "relations": [*map(str, found.relations)],
            "named_graphs": [*map(printable, found.named_graphs[: given.limit])],
            "prefixes": {own[0]: own[1] for own in self.knowledge.prefixes if own[0] in wanted or own not in shipped},
            "notes": notes,
            "more": "there are more kinds, relations or named graphs: raise limit" if is_cut else "",
        }  # fmt: skip

    @cached_property
    def _bounded_lookups(self) -> GraphLookups:
        return self.knowledge.bounded(self.asking)

    # -- Names: what they may mean where they are no exact label, or are values and no names

    def _resolved_entity(self, name: str) -> IRI:
        """Return the entity that is meant; errors say what else may be, and what each is."""
        lookups = self._bounded_lookups
        try:
            return lookups.resolve(name)
        except AmbiguousLabelError as error:
            terms = [lookups.resolve(str(one)) for one in error.detail["candidates"]]
            labels, about = lookups.labels(terms), self._descriptions_of([terms], "names")
            said = {term: _joined_texts(labels[term], about.get(term, ""), by=", ") for term in terms}
            error.detail["candidates"] = [f"{term} ({printable(text, 120)})" for term, text in said.items()]
            raise
        except NotFoundError as error:
            like = [one for one in self.knowledge.find(name, limit=_MAX_NEAR) if _has_word_of(name, one.label)]
            near = ", ".join(f"{one.term} ({printable(one.label, 80)})" for one in like)
            error.hint = _joined_texts(f"perhaps you mean {near}" if near else "", error.hint)
            raise

    def _predicates_named(self, name: str) -> list[IRI]:
        """Return the predicates that may be meant: of several of the name, whoever asks finds out which is used."""
        try:
            return [self._bounded_lookups.resolve(name)]
        except AmbiguousLabelError as error:
            return [self._bounded_lookups.resolve(str(one)) for one in error.detail["candidates"]]
        except NotFoundError:
            return [self._resolved_entity(name)]

    def _descriptions_of(self, groups: Sequence[Sequence[IRI]], text: str) -> Labels:
        """Describe each term in a few words, which differ within a group."""
        return descriptions_of(groups, self.knowledge.session(text, self.asking).labels) if groups else {}


# -- An answer as the result of ask -------------------------------------------------------------------------------


def _ask_result(answer: Answer, given: Any) -> Json:
    """Take what was asked for of an answer, and say what gets more.

    Unless more is asked for, only what sure answers rest on is shown, and only these; what is in doubt in short.
    """
    best = frozenset() if answer.gaps else frozenset(answer.best)
    cited = list(answer.cited)
    if answer.is_ranked:
        cited = [marker for one in answer.answers if one in best for marker in one.markers[:1]]
    if not (best and cited) or given.limit:
        cited = [*answer.cited, *(item.marker for item in answer.evidence)]
    shown = [answer.evidence[marker] for marker in dict.fromkeys(cited)][: given.limit or _MAX_EVIDENCE]
    markers = {item.marker for item in shown}
    resting = [one for one in answer.answers if not one.markers or markers & {*one.markers}]
    if best and not given.limit:
        resting = [one for one in resting if one in best]
    answers = resting[: given.limit or _MAX_ANSWERS]
    known = (
        ("answers and candidates", len(answers), len(answer.answers)),
        ("pieces of evidence", len(shown), len(answer.evidence)),
    )
    more = [f"{there} of {all_:,} {what}" for what, there, all_ in known if all_ > there]
    gaps = [said_of_tools(printable(gap.text, 1_000)) for gap in answer.gaps]
    notes = _told_notes(answer.notes, untold=("not_understood", "missing_name") if gaps else ())
    notes += [] if answer.error is None else [f"part of the graph failed: {answer.error.message}"]
    made = {
        "status": answer.status, "text": _answer_text(answer), "confidence": answer.confidence,
        "is_ranked": answer.is_ranked, "grounding": answer.grounding,
        "answers": [
            _meaning_json(one, markers=[own for own in one.markers if own in markers], best=one in best)
            for one in answers
        ],
        "evidence": [_evidence_json(item, answer.labels, given.limit) for item in shown],
        "linked": [
            _term_json(
                link.term, link.label, words=printable(link.mention.text, 200),
                alternatives=[_meaning_json(one) for one in link.likely_alternatives[:_MAX_MEANINGS]],
            )
            for link in answer.linked
        ],
        "gaps": gaps,
        "choices": [{**asdict(one), "reading": printable(one.reading, _MAX_CHARACTERS)} for one in answer.choices],
        "notes": notes,
        "more": f"{', '.join(more)}: {'raise' if given.limit else 'give'} limit" if more else "",
    }  # fmt: skip
    return made if best or given.limit else _shortened_reply(made)


def _shortened_reply(made: Json) -> Json:
    """Leave the doubt, and as much of the lists as :data:`DOUBTFUL` bytes have room for."""
    for item in made["evidence"]:
        item |= {"triples": [], "sparql": ""}
    made["text"] = printable(made["text"].partition("\n")[0], _MAX_CHARACTERS)
    return within(DOUBTFUL, made, "in doubt little is shown: give limit")


def within(most: int, found: Json, more: str) -> Json:
    """Cut a result to so many bytes: the last members of the longest lists, then texts; ``more`` is told then."""
    if _size_of(found) <= most:
        return found
    found = {**found, "more": _joined_texts(found.get("more", ""), more)}
    while _size_of(found) > most and any(lists := [*_lists_in(found)]):
        largest = max(map(_size_of, lists))
        longest = [own for own in lists if 2 * _size_of(own) > largest][-1]
        del longest[-1 - len(longest) // 8 :]
    for name, own in sorted(found.items(), key=lambda member: -_size_of(member[1])):
        if isinstance(own, str | dict) and (over := _size_of(found) - most) > 0:
            found[name] = own[: max(len(own) - over, 0)] if isinstance(own, str) else {}
    return found


def _lists_in(found: Json) -> Iterable[list[Any]]:
    """List the lists that are members, those within others after these; a row is whole."""
    for own in found.values():
        if isinstance(own, list):
            yield own
            for inner in own:
                yield from _lists_in(inner) if isinstance(inner, dict) else ()


def _size_of(found: Any) -> int:
    return len(compact_json(found).encode())


def _answer_text(answer: Answer) -> str:
    """Write the answer in words; of candidates, which stand beside it, those that are sure."""
    if answer.is_ranked and answer.answers and not answer.gaps:
        named = "; ".join(printable(one.label, 120) for one in answer.best[:_MAX_NAMED])
        more = f"; and {len(answer.best) - _MAX_NAMED:,} more" if len(answer.best) > _MAX_NAMED else ""
        return f"{named}{more} [{answer.answers[0].markers[0]}]"
    return said_of_tools("\n".join(printable(line, 4 * _MAX_CHARACTERS) for line in answer.text.splitlines()))


def _evidence_json(item: EvidenceItem, labels: Labels, limit: int | None) -> Json:
    return {
        "text": printable(item.text, 4 * _MAX_CHARACTERS),
        "triples": [_triple_json(cited.triple, labels) for cited in item.triples[: limit or _MAX_EVIDENCE]],
        **_members_present(
            marker=item.marker, sparql=item.query.shown if limit or len(item.query.shown) <= _LONG_QUERY else "",
        ),
    }  # fmt: skip


def _links_of(planned: PlannedQuestion) -> list[Json]:
    """List what a question names, in its words; what else they may mean stands behind the first."""
    links = grouped((own.words, _term_json(own.term, own.label)) for own in planned.named)
    return [
        {**first, "words": printable(words, 200), **_members_present(alternatives=others[:_MAX_MEANINGS])}
        for words, (first, *others) in links.items()
    ]


# -- Terms and texts ----------------------------------------------------------------------------------------------


def _members_present(**members: Any) -> Json:
    """Return the members that are there: no empty text or list."""
    return {name: value for name, value in members.items() if value is not None and value not in ("", [])}


def _term_json(term: Term, label: str | None, **more: Any) -> Json:
    """Write a term as SPARQL does, what it is called, and what else is known of it where it stands."""
    if isinstance(term, Literal):
        name, shown = value_text(term), term
        text = printable(term.value, _MAX_CHARACTERS)
        if text != term.value:
            kind = {"datatype": term.datatype} if term.language is None else {"language": term.language}
            shown = Literal(text, **kind)
        written = str(shown)
    else:
        name = label or (term.value if isinstance(term, IRI | BlankNode) else str(term))
        written = printable(str(term), 4 * _MAX_CHARACTERS)
    if "description" in more:
        more["description"] = printable(more["description"], _MAX_CHARACTERS)
    return {"term": written, "label": printable(name, _MAX_CHARACTERS), **_members_present(**more)}


def _meaning_json(one: AnswerTerm | LinkedEntity, **more: Any) -> Json:
    return _term_json(one.term, one.label, **more, description=one.description)


def _row_json(row: Iterable[Term | None], labels: Labels) -> list[Json | None]:
    return [None if term is None else _term_json(term, labels.get(term)) for term in row]


def _triple_json(triple: Triple, labels: Labels) -> Json:
    named = zip(("subject", "predicate", "object"), triple, strict=True)
    return {name: _term_json(term, labels.get(term)) for name, term in named}


def _has_word_of(text: str, label: str) -> bool:
    """Tell whether a label has a word of a text that is not as common as `at`."""
    return not set(content_words(text)).isdisjoint(content_words(label))


def _told_notes(notes: Iterable[str], *, untold: Sequence[str] = ()) -> list[str]:
    """Write notes in the words of the tools, without some codes."""
    kept = (printable(note, 1_000) for note in notes if getattr(note, "code", "") not in untold)
    return [*dict.fromkeys(filter(None, (without_commands(said_of_tools(note)) for note in kept)))]


def said_of_tools(text: str) -> str:
    """Write a note or hint that names commands and their options in the words of the tools.

    >>> said_of_tools("search for what it is called: kgsparql find TEXT; then name it with -e IRI")
    'search for what it is called: the tool find; then name it with entities'
    >>> said_of_tools("'Ulm' may be Ulm (-e http://e.org/1); to take another, add -e 'http://e.org/2_(x)'")
    "'Ulm' may be Ulm (<http://e.org/1>); to take another, add to entities: <http://e.org/2_(x)>"
    """
    text = _COMMAND.sub(r"the tool \1", text).replace("-e IRI", "entities").replace("--max-seconds", "max_seconds")
    return _ENTITY_OPTION.sub(
        lambda found: f"<{shlex.split(found[0])[1]}>", text.replace("add -e", "add to entities: -e")
    )


def _joined_texts(*parts: str, by: str = "; ") -> str:
    return by.join(filter(None, parts))


def _more_text(what: str, known: int, limit: int, *, has_more: bool = False) -> str:
    if known > limit:
        return f"{limit} of {known:,} {what}: raise limit"
    return f"more than {known:,} {what}: raise limit, or ask for less" if has_more else ""
