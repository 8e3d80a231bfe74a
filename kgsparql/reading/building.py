"""Makes clauses of what a grammar found: labels are fields of phrases, of what is said of them, and of questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kgsparql.dataclasses import replace
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import (
    Alternatives,
    Chunk,
    Comparative,
    NounPhrase,
    Predication,
    Quantity,
    Restriction,
    Superlative,
    is_adverb,
    relations,
    with_preposition,
)
from kgsparql.reading.form import Form
from kgsparql.reading.lexicon import lexicon
from kgsparql.reading.peg import Edge, Labelled

T = TypeVar("T")


class Gapped(NamedTuple):
    """A phrase of which the same is said as before: ``but not in 1922``."""

    preposition: str
    object: NounPhrase | None
    is_negated: bool
    compared: Comparative | None


def _as_chunks(edges: Sequence[Edge]) -> tuple[Chunk, ...]:
    return tuple(
        edge.value if isinstance(edge.value, Chunk) else Chunk(edge.start, edge.end, edge.text) for edge in edges
    )


def _as_positions(edges: Sequence[Edge]) -> tuple[int, ...]:
    return tuple(at for edge in edges for at in range(edge.start, edge.end))


def _as_text(found: Sequence[Any]) -> str:
    return found[0].text if isinstance(found[0], Edge) else found[0]


def _as_value(edges: Sequence[Edge]) -> Any:
    """Tell what the lexicon says of a word; of a superlative, whether the largest is meant."""
    return edges[0].value[0] if isinstance(edges[0].value, tuple) else edges[0].value


def _as_said(found: Sequence[Any]) -> tuple[Restriction, ...]:
    return tuple(one for said in found for one in (said if isinstance(said, tuple) else (said,)))


_CONVERTERS: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    **dict.fromkeys(("restrictions", "said"), _as_said),
    **dict.fromkeys(("verb", "kinds", "same", "measured", "event"), _as_positions),
    **dict.fromkeys(("asked", "preposition"), _as_text),
    "chunks": _as_chunks,
    "unit": _as_value,
    "most": lambda edges: (edges[0].start, _as_value(edges)),
    "summary": lambda edges: (edges[0].start, {True: "max", False: "min"}.get(_as_value(edges), edges[0].value)),
    "every": lambda edges: edges[0].start,
    "measures": lambda edges: edges[0].value,
    "digits": lambda edges: int(getattr(edges[0].value, "number", edges[0].value)),
    "columns": lambda phrases: tuple(own for one in phrases for own in one.parts or (one,)),
    "is_negated": lambda words: len(words) % 2 == 1,
}
"""How the values of a label become that of a field; else the first is."""


class Labels(dict[str, list[Any]]):
    """What a rule found: the values of each label, and all in ``order``."""

    def __init__(self, found: Sequence[Labelled]) -> None:
        super().__init__()
        self.order = found
        for label, value in found:
            self.setdefault(label, []).append(value)

    def __missing__(self, label: str) -> list[Any]:
        return []

    def one(self, label: str) -> Any:
        """Return the first value of a label; None without one."""
        return self[label][0] if label in self else None

    def fields_of(self, made: type) -> dict[str, Any]:
        """Return the values of the labels that are fields of a class."""
        return {field.name: self.field(field.name) for field in fields(made) if field.name in self}

    def field(self, name: str) -> Any:
        """Return the value of a label as its field has it."""
        if name in _CONVERTERS:
            return _CONVERTERS[name](self[name])
        return self[name][0] if not name.startswith(("is_", "asks_")) else True


class Builders:
    """The builders that a grammar names: each makes a value of what a rule found; None where it is none after all."""

    def __init__(self, read: Chunked) -> None:
        self.form, self.lexicon = partial(Form, read), lexicon()

    def build(self, name: str, found: Sequence[Labelled]) -> Any:
        """Make the value of a rule by the builder that it names."""
        return getattr(self, name)(Labels(found))

    # --- Phrases

    def phrase(self, found: Labels) -> NounPhrase:
        """Make a noun phrase of its nouns, and what stands before them."""
        return NounPhrase(**found.fields_of(NounPhrase))

    def owned(self, found: Labels) -> NounPhrase:
        """Make the phrase of what belongs to an owner, who may belong to another one."""
        owner: NounPhrase = found["phrase"][0]
        for own in found["phrase"][1:]:
            owner = replace(own, of=owner, of_form="'s")
        return owner

    def modified(self, found: Labels) -> NounPhrase:
        """Add to a phrase what stands after it."""
        phrase: NounPhrase = found.one("phrase")
        for label, value in found.order:
            if label == "of":
                phrase = replace(phrase, of=phrase.of or value, of_form=phrase.of_form or "of")
            elif label == "chunks":
                phrase = replace(phrase, chunks=(*phrase.chunks, value.value))
            elif label == "said" and phrase.superlative and self._is_measure(value):
                measure = " ".join(chunk.text.lower() for chunk in value.object.chunks)
                known = tuple(one for one in phrase.superlative.measures if one == f"-{measure}")
                phrase = replace(phrase, superlative=replace(phrase.superlative, measures=known or (measure,)))
            elif label == "said":
                phrase = phrase.restricted(*_as_said([value]))
            elif label == "sum":
                phrase = replace(phrase, summary=(value.start, "sum"))
            elif label.startswith("is_"):
                flags: dict[str, Any] = {label: True}
                phrase = replace(phrase, **flags)
        return phrase

    def _is_measure(self, said: Any) -> bool:
        """Tell whether a measure follows ``by``, and not who did it: ``the heaviest elements by atomic number``."""
        is_by = isinstance(said, Predication) and said.preposition in self.lexicon.by_words and not said.verb
        head = said.object.head if is_by else None
        return head is not None and not (head.entities or head.classes)

    def joined(self, found: Labels) -> NounPhrase:
        """Join phrases; the owner of the last belongs to all: ``the director and writer of Jaws``."""
        parts: list[NounPhrase] = [value for label, value in found.order if label in {"phrase", "and", "or"}]
        if len(parts) == 1:
            return parts[0]
        if parts[0].joined_by == "and":
            parts[:1] = parts[0].parts
        if parts[0].is_theirs:
            parts = [replace(part, is_theirs=not part.asked) for part in parts]
        of_value = parts[0].quantity if parts[0].quantity and parts[0].quantity.is_of_value else None
        if of_value is not None:  # in grade 9 or 10
            heads = [part.head if part.head and part.head.is_value and not part.quantity else None for part in parts]
            parts = [
                replace(parts[0], quantity=replace(of_value, value=head, positions=tuple(head.span))) if head else part
                for part, head in zip(parts, heads, strict=True)
            ]
        *others, last = parts
        if last.of is not None and last.of_form == "of" and not (last.is_theirs or last.of.is_theirs):
            parts = [*(self._owned_by(part, last.of) for part in others), last]
        is_both, is_negated = "is_both" in found, parts[0].is_negated
        parts[0] = _without_no(parts[0])
        is_or = "or" in found and not is_both
        return NounPhrase(
            parts=tuple(parts), joined_by="or" if is_or else "and", is_both=is_both, is_negated=is_negated
        )

    def summed(self, found: Labels) -> NounPhrase:
        """Give one noun each of several summaries: ``average and maximum price``."""
        phrase: NounPhrase = found.one("phrase")
        parts = (replace(phrase, summary=_CONVERTERS["summary"]([edge])) for edge in found["summary"])
        return NounPhrase(parts=tuple(parts), joined_by="and")

    def paired(self, found: Labels) -> NounPhrase:
        """Give two adjectives one noun: ``first and last names``."""
        noun: NounPhrase = found.one("phrase")
        parts = (replace(noun, chunks=(own, *noun.chunks)) for own in _as_chunks(found["adjective"]))
        return NounPhrase(parts=tuple(parts), joined_by="and")

    def listed(self, found: Labels) -> NounPhrase:
        """Put phrases beside each other that each stand alone: the fields of a table."""
        return NounPhrase(parts=tuple(found["phrase"]), joined_by="and")

    def _owned_by(self, part: NounPhrase, owner: NounPhrase) -> NounPhrase:
        """Give a phrase an owner, unless it is a name, or has one: name, place of birth."""
        words = {chunk.text.lower() for chunk in owner.chunks}
        of_itself = words | self.lexicon.identity_nouns if words & self.lexicon.facets else set()
        is_own = any(chunk.text.lower() in of_itself for chunk in part.chunks)
        is_open = part.of is None and not is_own and not (part.head and part.head.is_name)
        return replace(part, of=owner, of_form="of") if is_open else part

    def quantity(self, found: Labels) -> Quantity:
        """Make a quantity of a number and how it compares."""
        vague = self.lexicon.several_words & {edge.text for edge in found["number"]}
        how: Any = found.one("how").value if "how" in found else ">=" if vague else "="
        comparison = getattr(how, "comparison", {True: ">=", False: "<="}.get(how, how))
        place: Any = None if "place" not in found else how if "how" in found else "CONTAINS"
        edges = [value for _, value in found.order if isinstance(value, Edge)]
        positions = tuple(range(min(edge.start for edge in edges), max(edge.end for edge in edges)))
        half = found.one("half")
        value = Chunk(half.start, half.end, half.text, number=Decimal(50)) if half else _as_chunks(found["number"])[0]
        if "unit" in found and not value.unit:
            value = replace(value, unit=found.one("unit").text)
        return Quantity(comparison, value, positions, "is_of_value" in found, bool(half) or "is_share" in found, place)

    def extreme(self, found: Labels) -> Superlative:
        """Make ``the second oldest``, ``the three largest``, ``top 5``."""
        word, number, rank, last = (found.one(label) for label in ("word", "number", "rank", "last"))
        which, measures = word.value if isinstance(word.value, tuple) else (word.value is not False, ())
        several = last.value - rank.value + 1 if last else 1
        return Superlative(
            word.start,
            which in {True, ">"},
            measures,
            rank=rank.value if rank else 1,
            number=int(number.value.number) if number else several,
            is_share="is_share" in found,
        )

    # --- What is said

    def argument(self, found: Labels) -> tuple[str, NounPhrase]:
        """Make an argument of its preposition and phrase."""
        return found.one("adverb").value if "adverb" in found else found.field("preposition"), found.one("object")

    def said(self, found: Labels) -> Predication:
        """Make what is said with one verb, or without: a negated phrase denies it."""
        own, arguments = found.fields_of(Predication), [*found["argument"]]
        if "object" not in own and arguments and not found.keys() & {"subject", "after_subject"}:
            (own["preposition"], own["object"]), *arguments = arguments
        elif "object" in own:
            own["is_passive"] = False
        said, more = own.get("object"), tuple((word, _without_no(phrase)) for word, phrase in arguments)
        is_negated = any(phrase.is_negated for phrase in (said, *(phrase for _, phrase in arguments)) if phrase)
        is_negated |= own.get("is_negated", False)
        own |= {"is_negated": is_negated, "object": said and _without_no(said), "more": more}
        if "verb" in own and own.get("preposition") in self.lexicon.by_words and own["object"] is not None:
            own["is_passive"] = True
        if "later" in found and "subject" in own:
            own["subject"] = own["subject"].restricted(*_as_said(found["later"]))
        return Predication(**own)

    def compared(self, found: Labels) -> Predication:
        """Make a comparison with a phrase, a number, another measure, or nothing."""
        how, quantity, own = found.one("how"), found.one("quantity"), found.one("own")
        comparison: Any
        if "adjective" in found:
            comparison, measures = quantity.comparison, how.value
        else:
            comparison, measures = (how.value, ()) if isinstance(how.value, str) else how.value
            quantity = quantity and replace(quantity, comparison=comparison)
        compared = Comparative(
            how.start, comparison, measures, quantity, _as_positions(found["event"]), own.value if own else ()
        )
        is_bare = "verb" in found or not (own or quantity or "object" in found)
        return Predication(**{"light": "" if is_bare else "be", **found.fields_of(Predication), "compared": compared})

    def denied(self, found: Labels) -> Predication:
        """Deny what is said."""
        said: Predication = found.one("said")
        is_negated = "is_negated" in found and found.field("is_negated")
        return replace(said, is_negated=said.is_negated != is_negated, is_only=said.is_only or "is_only" in found)

    def shared(self, found: Labels) -> tuple[Predication, ...]:
        """Give one subject, and a preposition, to all that is said of it."""
        word = found.one("adverb").value if "adverb" in found else _as_text(found["preposition"] or [""])
        subject = found.one("subject")
        return tuple(replace(one, subject=subject, preposition=one.preposition or word) for one in found["said"])

    def gapped(self, found: Labels) -> Gapped:
        """Make the phrase of which the same is said as before."""
        said = found.one("said") or Predication(object=found.one("object"))
        return Gapped(_as_text(found["preposition"] or [""]), said.object, "is_negated" in found, said.compared)

    def all_said(self, found: Labels) -> tuple[Restriction, ...]:
        """Join what is said: ``or`` begins another branch; ``there`` is the place named last."""
        branches: list[list[Restriction]] = [[]]
        place: tuple[str, NounPhrase | None] = "", None
        last: Predication | None = None
        for label, value in found.order:
            one = _said_again(last, value) if isinstance(value, Gapped) and last is not None else value
            if last is not None:
                branches[-1][-1] = _with_argument(last, one)
            if one.object is None and one.preposition in self.lexicon.existence_words:
                one = replace(one, preposition=place[0], object=place[1])
            if one.preposition in self.lexicon.locatives and one.object is not None:
                is_moving = one.preposition in self.lexicon.moving
                place = min(self.lexicon.relative_adverbs.values()) if is_moving else one.preposition, one.object
            branches += [[]] if label == "or" else []
            branches[-1].append(one)
            last = one
        made = tuple(map(tuple, branches))
        return made[0] if len(made) == 1 else (Alternatives(made),)

    # --- Questions

    def question(self, found: Labels) -> Form:
        """Note that a list is asked for; of a text that is no question, nothing is."""
        question: Form = found.one("body") or self.form()
        if "said" in found:
            question = replace(question, phrase=question.phrase.restricted(*_as_said(found["said"])))
        for preposition, time in found["argument"]:  # in 1990, how many were opened
            said = Predication(light="be", preposition=preposition, object=time)
            rest = question.phrase.restrictions
            match rest[-1:]:
                case [Predication(object=None) as last] if last.verb:
                    said, rest = replace(last, preposition=preposition, object=time), rest[:-1]
            question = replace(question, phrase=replace(question.phrase, restrictions=(*rest, said)))
        match question.phrase.chunks, "is_listing" in found:
            case (name,), False if name.entities and not name.classes:
                is_alone = question == self.form(phrase=NounPhrase(chunks=(name,)))  # what it is, is asked
                question = replace(question, is_definition=is_alone or question.is_definition)
        return replace(question, is_listing="is_listing" in found)

    def asked(self, found: Labels) -> Form:
        """Make a question for a phrase, of which something is said."""
        phrase = found.one("phrase") or NounPhrase()
        first, *others = phrase.parts or (phrase,)
        first = replace(first, **{name: found.field(name) for name in ("asked", "kinds") if name in found})
        head = first.head
        is_next = head is not None and "asked" in found and found.one("asked").next == first.chunks[0].start
        if is_next and head and head.entities and head.text[0].islower() and not first.kinds:
            noun = replace(head, entities=(*head.texts_of_each, *head.kinds_of_each), is_strong=False)
            first = replace(first, chunks=(*first.chunks[:-1], noun))
        phrase = replace(phrase, parts=(first, *others)) if others else first
        phrase = phrase.restricted(*_as_said(found["said"]))
        if "of" in found and phrase.of is None:
            phrase = replace(phrase, of=found.one("of"), of_form="of")
        head = phrase.head
        is_bare = not (phrase.of or phrase.restrictions or phrase.superlative)
        is_one = head is not None and bool(head.entities or (head.classes and "is_a" in found))
        own = {**found.fields_of(Form), "phrase": phrase, "said": ()}
        return self.form(**own | {"is_definition": "is_definition" in found and is_bare and is_one})

    def several(self, found: Labels) -> Form | None:
        """Make a question that asks several things of one: ``when and where``."""
        said = _as_said(found["said"])
        whose = [one.subject for one in relations(said) if one.subject is not None]
        columns = tuple(replace(one, restrictions=said) for one in found.field("columns"))
        return self.form(phrase=whose[0], columns=columns) if whose else None

    def yes_no(self, found: Labels) -> Form:
        """Make a question whether something holds, or which of two, or whether one has more than another."""
        phrase, said = found.one("phrase"), _as_said(found["said"])
        said = tuple(map(_turned_round, said)) if "is_negated" in found else said
        only = said[0] if len(said) == 1 and isinstance(said[0], Predication) else None
        if only is not None and phrase.joined_by == "or" and is_adverb(only):
            asked = next(word for word, asks_for in self.lexicon.question_words.items() if asks_for == "any")
            return self.form("choose", NounPhrase(asked=asked, restrictions=(only,)), choices=phrase)
        other = only.object if only is not None and not only.is_negated else None
        if only and only.compared and other and (phrase.summary or not other.summary):
            other = _with_nouns(other, phrase) if other.of else other
            return self.form("compare", phrase, comparative=only.compared, other=other, measured=only.verb)
        return self.form("ask", phrase, said=said, asks_existence="asks_existence" in found)

    def difference(self, found: Labels) -> Form | None:
        """Make a question how much more one has than the other: of a comparison, of two sets, or of what they have."""
        body, phrase, other, how = (found.one(label) for label in ("body", "phrase", "other", "how"))
        asked = found.fields_of(Form)
        if body is not None:
            return replace(body, asks="difference", **asked) if body.other else None
        if "pair" in found:
            sides = self._pair_between(found.one("pair"), found.one("of"))
            return self.form("difference", sides[0], other=sides[1], **asked) if sides else None
        compared, head = Comparative(how.start, *how.value), phrase.head
        if "is_set" in found and other.head and other.head.classes and head and not head.classes:
            phrase = replace(phrase, chunks=(*phrase.chunks, other.head))  # more vegan than vegetarian recipes
        other = _with_nouns(other, phrase)
        if "is_set" in found and compared.comparison == "<":
            phrase, other = other, phrase
        own = {**asked, "phrase": phrase, "other": other}
        return self.form("difference", **own, comparative=compared) if head else None

    def _pair_between(self, phrase: NounPhrase, measure: NounPhrase | None) -> list[NounPhrase] | None:
        """Tell the two that something lies between, each with its measure: ``between the births of A and B``."""
        pair = [self._without_count(part) for part in phrase.parts]
        if phrase.of is not None and len(phrase.of.parts) == 2:
            pair = [self._without_count(part) if part.of else replace(phrase, of=part) for part in phrase.of.parts]
        elif measure is not None:
            pair = [replace(self._without_count(measure), of=part, of_form="of") for part in pair]
        return pair if len(pair) == 2 and all(part.of is not None and part.chunks for part in pair) else None

    def _without_count(self, phrase: NounPhrase) -> NounPhrase:
        """Take ``the number of children of Ann`` for ``the children of Ann``."""
        words = {chunk.text.lower() for chunk in phrase.chunks}
        counting = self.lexicon.count_words | self.lexicon.amounts
        return phrase.of if phrase.of is not None and words and words <= counting else phrase

    def each(self, found: Labels) -> Form:
        """Make a question of something that is asked of each of some things."""
        each: NounPhrase = replace(found.one("each"), is_each=True)
        question: Form = found.one("body")
        phrase, has_it = question.phrase, Predication(light="have", subject=each)
        own = dict[str, Any]()
        if question.columns:
            own["phrase"] = each
        elif (inner := self._without_count(phrase)) is not phrase:
            is_how_many = phrase.chunks[0].text.lower() in self.lexicon.amounts
            own["phrase"] = replace(phrase, of=inner.restricted(has_it))
            own |= {"asks": "count", "phrase": inner.restricted(has_it)} if is_how_many else {}
        elif question.asks == "count":
            own["phrase"] = phrase.restricted(has_it)
        elif phrase.summary is not None:
            own["phrase"] = replace(phrase, of=phrase.of or each)
        elif question.asks == "set" and not (phrase.superlative or any(map(_has_extreme, phrase.restrictions))):
            own["columns"], own["phrase"] = phrase.parts or (phrase,), each
        return replace(question, each=each, **own)

    def fronted(self, found: Labels) -> Form:
        """Give the preposition before a question word to the verb: ``By whom was X advised?``."""
        question: Form = found.one("body")
        preposition = found.field("preposition")
        said = list[Restriction]()
        for one in question.phrase.restrictions:
            own = one
            if isinstance(own, Predication):
                if own.light == "be" and own.subject is None and not own.preposition:
                    own = replace(own, subject=own.object, object=None)
                if own.subject is not None and not own.preposition:
                    own, preposition = replace(own, preposition=preposition), ""
            said.append(own)
        return replace(question, phrase=replace(question.phrase, restrictions=tuple(said)))

    def word(self, found: Labels) -> Any:
        """Return the only value."""
        return found.order[0][1]

    def fields(self, found: Labels) -> dict[str, Any]:
        """Make fields of a question of what stands at its end."""
        return found.fields_of(Form)

    def order(self, found: Labels) -> Superlative | None:
        """Make what the answers are ordered by, and whether the largest comes first; None of two that are said."""
        if len(found["orders"]) + len(found["best"]) > 1:
            return None
        orders, best = found.one("orders"), found.one("best")
        is_largest, measures = (orders or best).value if orders or best else (False, ())
        at = min(edge.start for _, edge in found.order) if orders is None else orders.end - 1  # in descending *order*
        return Superlative(at, is_largest, measures, words=tuple(edge.start for edge in found["chunks"]))


def _without_no(phrase: NounPhrase) -> NounPhrase:
    return replace(phrase, is_negated=False) if phrase.is_negated else phrase


def _turned_round(said: Restriction) -> Restriction:
    if isinstance(said, Predication):
        return replace(said, is_negated=not said.is_negated)
    return Alternatives(tuple(tuple(map(_turned_round, branch)) for branch in said.branches))


def _has_extreme(said: Restriction) -> bool:
    other = said.object if isinstance(said, Predication) else None
    return other is not None and (other.superlative is not None or other.most is not None)


def _with_nouns(phrase: NounPhrase, other: NounPhrase) -> NounPhrase:
    """Give a phrase the nouns of another one, if it has none: ``than that of Ann``."""
    return phrase if phrase.chunks else replace(phrase, chunks=other.chunks)


def _with_argument(last: Predication, found: Predication) -> Predication:
    """Give a verb the argument of the next one: ``wrote and directed Jaws``, ``more than 4 but less than 8 cities``."""
    counted = last.object
    is_adjacent = bool(last.verb and found.verb) and found.verb[0] == last.verb[-1] + 2
    if is_adjacent and counted is None:
        return replace(last, object=found.object, preposition=found.preposition, more=found.more)
    if counted is not None and counted.quantity and not counted.chunks and found.object is not None:
        return replace(last, object=_with_nouns(counted, found.object))
    return last


def _said_again(last: Predication, gap: Gapped) -> Predication:
    """Say of another phrase what was said."""
    other = gap.object
    if gap.compared is not None:
        light = last.light if last.verb else "be"
        return replace(last, object=other, compared=gap.compared, light=light, is_negated=gap.is_negated, more=())
    if gap.preposition and other is not None:
        return with_preposition(last, gap.preposition, _without_no(other), gap.is_negated)
    return replace(last, object=other and _without_no(other), is_negated=gap.is_negated, more=())
