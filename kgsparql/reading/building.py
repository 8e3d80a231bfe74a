"""Makes the clauses of what a grammar found: a label is a field of a phrase, of what is said of it, or of a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from kgsparql.dataclasses import replace
from kgsparql.reading.clauses import (
    Alternatives,
    Chunk,
    Clauses,
    Comparative,
    NounPhrase,
    Predication,
    Quantity,
    Restriction,
    Superlative,
    is_adverb,
    relations,
)
from kgsparql.reading.lexicon import Lexicon
from kgsparql.reading.peg import Edge, Labelled


class Gapped(NamedTuple):
    """A phrase of which the same is said as before: ``but not in 1922``."""

    preposition: str
    object: NounPhrase
    is_negated: bool


class Found(dict[str, list[Any]]):
    """What a rule found, by its labels."""

    def __init__(self, found: Sequence[Labelled]) -> None:
        super().__init__()
        self.order = found
        for label, value in found:
            self.setdefault(label, []).append(value)

    def __missing__(self, label: str) -> list[Any]:
        return []

    def one(self, label: str) -> Any:
        """Return the first value of a label."""
        return self[label][0] if label in self else None

    def text(self, label: str) -> str:
        """Return the word of a label."""
        found = self.one(label)
        return found.text if isinstance(found, Edge) else found or ""

    def span(self, label: str) -> tuple[int, ...]:
        """Return the positions of the words of a label."""
        return tuple(at for edge in self[label] for at in range(edge.start, edge.end))


def _is_odd(words: Sequence[Any]) -> bool:
    return len(words) % 2 == 1


_FIELDS = {field.name for field in fields(Clauses)}


class Builders(dict[str, Callable[[Sequence[Labelled]], Any]]):
    """The builders that a grammar names."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        super().__init__({
            name: self._with_labels(getattr(self, name))
            for name in (
                "nouns", "phrase", "owned", "modified", "joined", "alike", "compound", "quantity", "extreme", "argument", "said", "compared",
                "denied", "gapped", "shared", "all_said", "question", "asked", "times", "yes_no", "each", "fronted",
                "alone", "difference", "fields", "digits", "order",
            )
        })  # fmt: skip

    @staticmethod
    def _with_labels(build: Callable[[Found], Any]) -> Callable[[Sequence[Labelled]], Any]:
        return lambda found: build(Found(found))

    # --- Phrases

    def nouns(self, found: Found) -> Any:
        return [edge.value or Chunk(edge.start, edge.end, edge.text) for edge in found["noun"]]

    def phrase(self, found: Found) -> NounPhrase:
        """Make a noun phrase of its nouns, and what stands before them."""
        most, summary = found.one("most"), found.one("summary")
        every = found.one("every")
        return NounPhrase(
            chunks=[edge.value or Chunk(edge.start, edge.end, edge.text) for edge in found["noun"]],
            asked=found.text("asked"),
            of=found.one("of"),
            of_form=found.one("of_form") or "",
            superlative=found.one("superlative"),
            quantity=found.one("quantity"),
            most=most and (most.start, most.value[0] if isinstance(most.value, tuple) else most.value),
            summary=summary and (summary.start, summary.value),
            kinds=found.span("kinds"),
            same=found.span("same"),
            is_negated="no" in found,
            is_each="is_each" in found,
            is_theirs="is_theirs" in found,
            every=None if every is None else every.start,
        )

    def owned(self, found: Found) -> NounPhrase:
        """Make the phrase of what belongs to an owner, who may belong to another one."""
        owner, *owns = found["phrase"]
        for own in owns:
            owner = replace(own, of=owner, of_form="'s")
        return owner

    def modified(self, found: Found) -> NounPhrase:
        """Add to a phrase what stands after it."""
        phrase = found.one("phrase")
        for label, value in found.order:
            if label == "of":
                phrase = replace(phrase, of=phrase.of or value, of_form=phrase.of_form or "of")
            elif label == "said" and phrase.superlative and self._is_measure(value):
                measure = " ".join(chunk.text.lower() for chunk in value.object.chunks)
                phrase = replace(phrase, superlative=replace(phrase.superlative, measures=(measure,)))
            elif label == "noun":
                phrase = replace(phrase, chunks=[*phrase.chunks, value.value])
            elif label in {"is_theirs", "is_each"}:
                phrase = replace(phrase, **{label: True})
            elif label == "said":
                phrase = replace(phrase, restrictions=[*phrase.restrictions, *_restrictions(value)])
        return phrase

    def _is_measure(self, said: Any) -> bool:
        """Tell whether a measure follows ``by``, and not who did it: ``the heaviest elements by atomic number``."""
        is_by = isinstance(said, Predication) and said.preposition in self.lexicon.by_words and not said.verb
        head = said.object.head if is_by else None
        return head is not None and not (head.entities or head.classes)

    def joined(self, found: Found) -> NounPhrase:
        """Join phrases; the owner of the last belongs to all: ``the director and writer of Jaws``."""
        parts = [value for label, value in found.order if label in {"phrase", "and", "or"}]
        if len(parts) == 1:
            return parts[0]
        if parts[0].joined_by == "and":
            parts[:1] = parts[0].parts
        if parts[0].is_theirs:
            parts = [replace(part, is_theirs=not part.asked) for part in parts]
        last, is_both = parts[-1], "is_both" in found
        if last.of is not None and last.of_form == "of":
            parts = [self._owned_by(part, last) for part in parts[:-1]] + [last]
        is_or = "or" in found and not is_both
        is_negated = parts[0].is_negated
        parts[0] = replace(parts[0], is_negated=False)
        return NounPhrase(
            parts=tuple(parts), joined_by="or" if is_or else "and", is_both=is_both, is_negated=is_negated
        )

    def compound(self, found: Found) -> NounPhrase:
        """Make ``Gareth Edwards directed movies``: movies directed by him."""
        phrase, by = found.one("phrase"), min(self.lexicon.by_words)
        said = Predication(verb=found.span("verb"), is_passive=True, preposition=by, object=found.one("agent"))
        return replace(phrase, restrictions=[*phrase.restrictions, said])

    def alike(self, found: Found) -> NounPhrase:
        """Join several measures of one noun: ``the minimum and maximum age``."""
        last = found["and"][-1]
        parts = [replace(last, summary=one.summary) for one in (*found["phrase"], *found["and"][:-1])]
        return NounPhrase(parts=(*parts, last), joined_by="and")

    @staticmethod
    def _owned_by(part: NounPhrase, last: NounPhrase) -> NounPhrase:
        is_open = part.of is None and not (part.head and part.head.is_name)
        return replace(part, of=last.of, of_form="of") if is_open else part

    def quantity(self, found: Found) -> Quantity:
        """Make a quantity of a number and how it compares."""
        how, number = found.one("how"), found.one("number")
        comparison = getattr(getattr(how, "value", how), "comparison", getattr(how, "value", how))
        if isinstance(comparison, bool):
            comparison = ">=" if comparison else "<="
        edges = [value for _, value in found.order if isinstance(value, Edge)]
        positions = tuple(range(min(edge.start for edge in edges), max(edge.end for edge in edges)))
        return Quantity(
            comparison or "=", number.value, positions, is_of_value="is_of_value" in found, is_share="is_share" in found
        )

    def extreme(self, found: Found) -> Superlative:
        """Make ``the second oldest``, ``the three largest``, ``top 5``."""
        word, number, rank = found.one("word"), found.one("number"), found.one("rank")
        value = word.value
        is_largest, measures = (True, ()) if value is None else value
        return Superlative(
            word.start,
            is_largest if isinstance(is_largest, bool) else is_largest == ">",
            measures,
            rank=rank.value if rank else 1,
            number=int(number.value.number) if number else 1,
        )

    # --- What is said

    def argument(self, found: Found) -> tuple[str, NounPhrase]:
        """Make an argument of its preposition and phrase."""
        return found.text("preposition"), found.one("object")

    def said(self, found: Found) -> Predication:
        """Make what is said with one verb, or without: a negated phrase denies it."""
        objects = [("", NounPhrase(superlative=one)) for one in found["superlative"]]
        objects += [("", one) for one in found["object"]]
        arguments = [*objects, *found["argument"]]
        is_negated = _is_odd(found["not"]) or any(phrase.is_negated for _, phrase in arguments)
        arguments = [(word, _affirmed(phrase)) for word, phrase in arguments]
        preposition, first = "", None
        if arguments and (objects or not found.keys() & {"subject", "after_subject"}):
            (preposition, first), *arguments = arguments
        verb, subject = found.span("verb"), found.one("subject")
        if subject is not None and "later" in found:
            later = _restrictions(found.one("later"))
            subject = replace(subject, restrictions=[*subject.restrictions, *later])
        by_somebody = bool(verb) and preposition in self.lexicon.by_words
        return Predication(
            verb=verb,
            preposition=found.text("preposition") or preposition,
            is_passive="is_passive" in found and not objects or by_somebody,
            light=found.one("light") or "",
            subject=subject,
            object=first,
            more=arguments,
            is_negated=is_negated,
            whose=found.one("whose"),
            said=_restrictions(found.one("said")),
            is_only="only" in found,
        )

    def compared(self, found: Found) -> Predication:
        """Make a comparison with a phrase, a number, another measure, or nothing."""
        how, other, verb = found.one("how"), found.one("object"), found.span("verb")
        quantity: Quantity | None = found.one("quantity")
        comparison, measures = how.value if isinstance(how.value, tuple) and len(how.value) == 2 else (how.value, ())
        if "adjective" in found and quantity is not None:
            comparison, measures = quantity.comparison, how.value
        elif quantity is not None:
            quantity = replace(quantity, comparison=comparison)
        own, event = found.one("own"), found.span("event")
        compared = Comparative(how.start, comparison, measures, quantity, event, own.value if own else ())
        is_bare = verb or not (other or quantity or own)
        return Predication(
            verb=verb, light=found.one("light") or ("" if is_bare else "be"), object=other, compared=compared, is_negated=_is_odd(found["not"]),
            is_passive="is_passive" in found,
        )

    def denied(self, found: Found) -> Predication:
        """Deny what is said."""
        said = found.one("said")
        return replace(said, is_negated=said.is_negated != _is_odd(found["not"]), is_only=said.is_only or "only" in found)

    def shared(self, found: Found) -> list[Restriction]:
        """Give one subject to all that is said of it."""
        adverb = found.one("adverb")
        word = found.text("preposition") or (adverb.value if adverb else "")
        return [
            replace(one, subject=found.one("subject"), preposition=one.preposition or word) for one in found["said"]
        ]

    def gapped(self, found: Found) -> Gapped:
        """Make the phrase of which the same is said as before."""
        return Gapped(found.text("preposition"), found.one("object"), "not" in found)

    def all_said(self, found: Found) -> list[Restriction]:
        """Join what is said: ``or`` begins another branch; ``there`` is the place named last."""
        branches: list[list[Restriction]] = [[]]
        place: tuple[str, NounPhrase] | None = None
        last: Predication | None = None
        for label, value in found.order:
            if label not in {"said", "and", "or", "nor"}:
                continue
            one = value
            if isinstance(one, Gapped) and last is not None:
                one = replace(last, preposition=one.preposition, object=_affirmed(one.object), more=[], is_negated=one.is_negated)
            if one.preposition == "there" and one.object is None:
                one = replace(one, preposition=place[0] if place else "", object=place[1] if place else None)
            if one.preposition in self.lexicon.locatives and one.object is not None:
                place = one.preposition, one.object
            branches += [[]] if label == "or" else []
            branches[-1].append(one)
            last = one
        return branches[0] if len(branches) == 1 else [Alternatives(branches)]

    # --- Questions

    def question(self, found: Found) -> Clauses:
        """Note that a list is asked for."""
        return replace(found.one("body") or Clauses("set", NounPhrase()), is_listing="is_listing" in found)

    def asked(self, found: Found) -> Clauses:
        """Make a question for a phrase, of which something is said."""
        phrase = found.one("phrase") or NounPhrase()
        asked = found.text("asked").split(" ")[0]
        first = phrase.parts[0] if phrase.parts else phrase
        first = replace(first, asked=asked or first.asked, kinds=found.span("kinds") or first.kinds)
        head = first.head
        is_next = bool(asked and head) and found.one("asked").next == first.chunks[0].start
        if is_next and head and head.entities and head.text[0].islower() and not first.kinds:
            first = replace(first, chunks=[*first.chunks[:-1], replace(head, entities=(), is_strong=False)])
        phrase = replace(phrase, parts=(first, *phrase.parts[1:])) if phrase.parts else first
        restrictions = [one for said in found["said"] for one in _restrictions(said)]
        of = found.one("of")
        phrase = replace(phrase, restrictions=[*phrase.restrictions, *restrictions])
        if of is not None and phrase.of is None:
            phrase = replace(phrase, of=of, of_form="of")
        head, measures = phrase.head, found.one("measures")
        is_bare = phrase.of is None and not phrase.restrictions and not phrase.superlative
        summary = found.one("summary")
        if summary is not None:
            phrase = replace(phrase, summary=(summary.start, "sum"))
        return Clauses(
            found.one("form") or "set",
            phrase,
            choices=found.one("choices"),
            measures=measures.value if measures else (),
            is_definition="is_definition" in found and is_bare and head is not None and bool(head.entities or (head.classes and "is_a" in found)),
            asks_existence="exists" in found,
        )

    def times(self, found: Found) -> Clauses:
        """Take ``how often did Ann win a prize`` for how many prizes she won."""
        question = replace(self.asked(found), form="count")
        only = question.phrase.restrictions[0] if len(question.phrase.restrictions) == 1 else None
        if isinstance(only, Predication) and only.object is not None and only.object.head and only.object.head.classes:
            said = [*only.object.restrictions, replace(only, object=None)]
            question = replace(question, phrase=replace(only.object, restrictions=said))
        return question

    def yes_no(self, found: Found) -> Clauses:
        """Make a question whether something holds, or which of two, or whether one has more than another."""
        phrase, said = found.one("phrase"), _restrictions(found.one("said"))
        if "not" in found:
            said = [_negated(one) for one in said]
        only = said[0] if len(said) == 1 and isinstance(said[0], Predication) else None
        if only is not None and phrase.joined_by == "or" and is_adverb(only):
            return Clauses("choose", NounPhrase(asked="what", restrictions=[only]), choices=phrase)
        if only is not None and only.compared and only.object and not only.is_negated:
            other = only.object
            if other.of is not None and not other.chunks:
                other = replace(other, chunks=list(phrase.chunks))
            return Clauses("compare", phrase, comparative=only.compared, other=other, measured=only.verb)
        return Clauses("ask", phrase, said=said, asks_existence="exists" in found)

    def alone(self, found: Found) -> NounPhrase:
        """Make a phrase without a noun, of which something is said."""
        return NounPhrase(restrictions=found["said"])

    def difference(self, found: Found) -> Clauses | None:
        """Make a question how much more one has than the other."""
        how, unit = found.one("how"), found.one("unit")
        unit_sign = unit.value if unit else ""
        if "body" in found:
            return replace(found.one("body"), form="difference", unit=unit_sign) if found.one("body").other else None
        if "pair" in found:
            sides = self._pair(found.one("pair"), found.one("of"))
            return Clauses("difference", sides[0], other=sides[1], unit=unit_sign) if sides else None
        compared = Comparative(how.start, *how.value)
        if "sets" in found:
            return self._of_two_sets(found.one("sets"), found.one("other"), compared)
        phrase, other, counted = found.one("phrase"), found.one("other"), found.one("counted")
        if not other.chunks and other.of is not None:
            other = replace(other, chunks=list(phrase.chunks))
        measured = (*sorted(counted.positions if counted else ()), *found.span("measured"))
        return Clauses("difference", phrase, other=other, comparative=compared, measured=measured, unit=unit_sign)

    @staticmethod
    def _of_two_sets(phrase: NounPhrase, other: NounPhrase, compared: Comparative) -> Clauses | None:
        """Make the difference of two sets: ``more films than books``, ``more prizes in physics than in chemistry``."""
        if compared.measures or not phrase.head:
            return None
        if not other.chunks:
            other = replace(other, chunks=list(phrase.chunks))
        elif other.head and other.head.classes and not phrase.head.classes:
            phrase = replace(phrase, chunks=[*phrase.chunks, other.head])  # more vegan than vegetarian recipes
        first, last = (phrase, other) if compared.comparison == ">" else (other, phrase)
        return Clauses("difference", first, other=last, comparative=compared)

    def _pair(self, phrase: NounPhrase, measure: NounPhrase | None) -> list[NounPhrase] | None:
        """Tell the two that something lies between, each with its measure: ``between the births of A and B``."""
        pair = [self._counted(part) for part in phrase.parts]
        if phrase.of is not None and len(phrase.of.parts) == 2:
            pair = [self._counted(part) if part.of else replace(phrase, of=part) for part in phrase.of.parts]
        elif measure is not None:
            pair = [replace(self._counted(measure), of=part, of_form="of") for part in pair]
        return pair if len(pair) == 2 and all(part.of is not None and part.chunks for part in pair) else None

    def _counted(self, phrase: NounPhrase) -> NounPhrase:
        """Take ``the number of children of Ann`` for ``the children of Ann``."""
        words = {chunk.text.lower() for chunk in phrase.chunks}
        return phrase.of if phrase.of is not None and words and words <= self.lexicon.count_words else phrase

    def each(self, found: Found) -> Clauses:
        """Make a question of something that is asked of each of some things."""
        each, question = replace(found.one("each"), is_each=True), found.one("body")
        phrase = question.phrase
        chunk = phrase.chunks[0] if phrase.chunks else None
        if chunk is not None and chunk.text.lower() in self.lexicon.count_words and phrase.of is not None:
            owner = replace(phrase.of, restrictions=[*phrase.of.restrictions, Predication(light="have", subject=each)])
            question = replace(question, phrase=replace(phrase, of=owner))
        elif question.form == "count":
            said = [*phrase.restrictions, Predication(light="have", subject=each)]
            question = replace(question, phrase=replace(phrase, restrictions=said))
        elif phrase.summary is not None:
            question = replace(question, phrase=replace(phrase, of=phrase.of or each))
        elif question.form == "set" and not phrase.superlative:
            question = replace(question, columns=phrase.parts or (phrase,), phrase=each)
        return replace(question, each=each)

    def fields(self, found: Found) -> dict[str, Any]:
        """Make fields of a question of what stands at its end."""
        own = {name: values[0] for name, values in found.items() if name in _FIELDS}
        if "columns" in own:
            own["columns"] = own["columns"].parts or (own["columns"],)
        return own | ({"asks_value": True} if "asks_value" in own else {})

    def digits(self, found: Found) -> int:
        """Tell to how many digits numbers are rounded."""
        return int(found.one("number").value.number) if "number" in found else found.one("rounded").value

    def order(self, found: Found) -> Superlative:
        """Make what the answers are ordered by, and whether the largest comes first."""
        best, order = found.one("sup"), found.one("orders")
        is_largest, measures = best.value if best else (False, ())
        nouns = [edge.text for edge in found["noun"]]
        start = min(edge.start for _, edge in found.order)
        return Superlative(start, order.value if order else is_largest, (*nouns, *measures))

    def fronted(self, found: Found) -> Clauses:
        """Give the preposition before a question word to the verb: ``By whom was X advised?``."""
        question, preposition = found.one("body"), found.text("preposition")
        said: list[Restriction] = []
        for one in question.phrase.restrictions:
            if isinstance(one, Predication):
                if one.light == "be" and one.subject is None and not one.preposition:
                    one = replace(one, subject=one.object, object=None)
                if one.subject is not None and not one.preposition:
                    one, preposition = replace(one, preposition=preposition), ""
            said.append(one)
        return replace(question, phrase=replace(question.phrase, restrictions=said))


def _affirmed(phrase: NounPhrase) -> NounPhrase:
    return replace(phrase, is_negated=False) if phrase.is_negated else phrase


def _negated(said: Restriction) -> Restriction:
    if isinstance(said, Predication):
        return replace(said, is_negated=not said.is_negated)
    return Alternatives([[_negated(one) for one in branch] for branch in said.branches])


def _restrictions(said: Any) -> list[Restriction]:
    return said if isinstance(said, list) else [said] if said is not None else []
