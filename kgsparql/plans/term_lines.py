"""The lines of term lists: what a model reads of each term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgsparql.linking.words import words
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import ListedName
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.plans.type_check import kind_of_literal
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, local_name, normalised, printable

_BOOLEAN = IRI("http://www.w3.org/2001/XMLSchema#boolean")
_YES_OR_NO = {"yes": Literal("true", datatype=_BOOLEAN), "no": Literal("false", datatype=_BOOLEAN)}
_EXAMPLES = 2
_CHARACTERS = 28
"""Of an example."""
_DESCRIBED = 60


@dataclass(slots=True)
class ListedPredicate:
    """What is known of a predicate from the sets that use it.

    :param starts: classes of what has it, by the sets that say so; ``ends``, of what it leads to.
    :param most: values that one item has, at most.
    :param least_share: of the items of a set, how many have it at least.
    :param bonus: what counts for it beside the words of the question.
    :param items: some of what it leads to.
    :param name_kind: what the items it leads to are read as: themselves, or their names.
    :param read_by: the predicate of these names.
    :param after: the predicate that leads to what has it, where that has no class.
    """

    term: IRI
    starts: Counter[IRI] = field(default_factory=Counter)
    ends: Counter[IRI] = field(default_factory=Counter)
    kinds: Counter[a.Kind] = field(default_factory=Counter)
    examples: dict[Term, None] = field(default_factory=dict)
    most: int = 0
    least_share: float = 1.0
    unit: str = ""
    bonus: float = 0.0
    items: dict[Term, None] = field(default_factory=dict)
    name_kind: a.Kind = "item"
    read_by: IRI | None = None
    after: IRI | None = None

    def add(self, use: PredicateUse, classes: Sequence[IRI]) -> None:
        """Take in how one set uses it."""
        is_forward = use.step.direction == "forward"
        subjects, objects = (classes, use.classes) if is_forward else (use.classes, classes)
        self.starts.update(subjects)
        self.ends.update(objects)
        if is_forward:
            self.kinds[use.kind] += 1
            self.examples.update(dict.fromkeys(use.ends[:_EXAMPLES]))
            self.items.update(dict.fromkeys(end for end in use.ends if isinstance(end, IRI)))
            self.most = max(self.most, use.most)
            self.least_share = min(self.least_share, use.share)
            self.unit = self.unit or use.unit

    @property
    def kind(self) -> a.Kind:
        """What it leads to; an item, where only the items it leads to were looked at."""
        if self.read_by is not None:
            return self.name_kind
        return self.kinds.most_common(1)[0][0] if self.kinds else "item"

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms that its line may name."""
        return (self.term, *self.starts, *self.ends, *self.examples, *(() if self.after is None else (self.after,)))


@dataclass(slots=True)
class TermLines:
    """Names and lines, as they are added."""

    labels: Mapping[Term, str]
    names: dict[str, ListedName] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def add(self, letter: str, name: ListedName, line: str) -> None:
        """Give the next name of a letter to a term."""
        called = f"{letter}{1 + sum(known.startswith(letter) for known in self.names)}"
        self.names[called] = name
        self.lines.append(f"{called} {line}")

    def add_entities(
        self, entities: Mapping[IRI, tuple[IRI, ...]], known: Mapping[Term, str], asked: Sequence[str]
    ) -> None:
        """Entities, each with the others of its name.

        :param known: what each is, where that is known: its classes, or what tells it from another of its name.
        :param asked: the words of the question: an IRI is shown where it has one of them that the label lacks.
        """
        for term, others in entities.items():
            label, name = self.labels[term], local_name(term)
            says_more = said_besides(term, label, asked)
            more = [f", {1 + len(others)} nodes"] if others else [f", {name}"] if says_more else []
            more += [f" ({printable(known[term], _DESCRIBED)})"] if known.get(term) else []
            self.add("E", ListedName(term, also=others), "".join([label, *more]))

    def add_classes(self, classes: Sequence[IRI], counts: Mapping[IRI, int]) -> None:
        """Classes with how many items they have, where that is known."""
        for term in classes:
            size = f", {counts[term]:,}" if term in counts else ""
            self.add("C", ListedName(term), self.labels[term] + size)

    def add_predicates(self, found: Sequence[ListedPredicate]) -> None:
        """Predicates with what has them and what they lead to; `yes` and `no` are names where one needs them."""
        for one in found:
            after = f"what {self.labels[one.after]} leads to" if one.after is not None else "item"
            starts = self._classes(one.starts, 3) or after
            is_yes_or_no = bool(one.examples) and all(t in _YES_OR_NO.values() for t in one.examples)
            is_item = one.kind == "item" or (one.read_by is not None and one.kind == "text")
            ends = (self._classes(one.ends, 2) or "item") if is_item else one.kind
            if is_yes_or_no:
                ends = "yes or no"
                self.names.update({name: ListedName(value, "text") for name, value in _YES_OR_NO.items()})
            unit = f" in {one.unit}" if one.unit else ""
            line = f"{self.labels[one.term]}: {starts} → {ends}{unit}"
            shown = [
                printable(self.labels.get(t, str(t)), _CHARACTERS)
                for t in one.examples
                if not (is_yes_or_no or isinstance(t, BlankNode))
            ]
            line += f", such as {' / '.join(shown[:_EXAMPLES])}" if shown else ""
            line += f"; up to {one.most} each" if one.most > 1 else ""
            line += f"; {one.least_share:.0%} have it" if one.least_share < 0.9 and len(one.starts) == 1 else ""
            self.add("R", ListedName(one.term, one.kind, one.unit, read_by=one.read_by), line)

    def add_texts(self, values: Sequence[Literal], texts: Sequence[str]) -> None:
        """Values of the graph that the question names, and its own words."""
        for value in values:
            self.add("L", ListedName(value, kind_of_literal(value)), printable(value.value, 60))
        said = {value.value.casefold() for value in values}
        for text in texts:
            if text.casefold() not in said:
                self.add("L", ListedName(Literal(text), "text"), text)

    def _classes(self, counts: Counter[IRI], most: int) -> str:
        shown = [self.labels[term] for term, _ in counts.most_common(most)]
        more = len(counts) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def said_besides(term: IRI, label: str, asked: Sequence[str]) -> bool:
    """Whether words of a question are in an IRI and not in its label.

    >>> said_besides(IRI("http://e.org/part-K367"), "Strain Encoder", ["the", "k367", "strain", "encoder"])
    True
    """
    return bool(set(words(normalised(local_name(term)))) & set(asked) - set(words(normalised(label))))
