"""What a question names that a plan can start from: entities, classes, and values of the graph such as `France`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from kgsparql.evidence.term_labels import TermLabels
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.linking.words import TextToken, root, stem, words
from kgsparql.plans import algebra as a
from kgsparql.plans.plan_compiler import PlanCompiler
from kgsparql.plans.question_words import QuestionWords
from kgsparql.plans.vocabulary import GraphVocabulary
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.terms import IRI, Literal, local_name, normalised
from kgsparql.rdf.vocabulary import RDF_TYPE, UNWALKED
from kgsparql.reading.lexicon import lexicon

_LONGEST = 4
"""Words of a value that are looked for together."""
_ALTERNATIVES = 2
_LESS_LIKELY = 0.1
_BY_LAST_WORD = 0.95
"""How likely a class is meant by the last word of its name: `laureates`."""
_PERSONS = frozenset({"who", "whom", "people", "persons"})
_ROWS = 50


@dataclass(frozen=True, slots=True)
class NamedTerm:
    """Something that words of a question name: an entity, a value, or a class.

    :param words: their places.
    :param others: that are named beside it as well: `in Paris or Rome`.
    """

    term: IRI | Literal
    words: frozenset[int]
    is_class: bool = False
    score: float = 1.0
    others: tuple[IRI | Literal, ...] = ()


def named_in(
    question: str, asked: QuestionWords, links: Sequence[LinkedEntity], linker: Linker | None, labels: TermLabels
) -> list[NamedTerm]:
    """The things that a question names; of words that name several, the longest names come first.

    :param links: what was linked, with what else was likely.
    """
    named = [] if linker is None else _classes_named(asked, linker)
    classes = [own for own in named if _has_instances(own.term, labels.graph)]
    entities = []
    for link in links:
        own = list(_of_link(link, asked, labels)) if link.kind == "entity" else []
        is_exact = link.matched in {"exact", "given"}
        if _is_unit(link, asked) or _is_asking(link) or link.mention.text in lexicon().numbers:
            continue
        if is_exact or not (any(own[0].words <= c.words for c in classes if own) or _is_common_word(link, asked)):
            entities += own
    taken = {i for own in entities for i in own.words}
    known = {own.term for own in classes}
    linked = [own for link in links if link.kind == "class" for own in _of_link(link, asked, labels)]
    classes += [own for own in linked if own.term not in known]
    kept = [own for own in classes if not own.words & taken or len(own.words) > 1]
    values = [own for own in values_named(question, asked.tokens, asked.content, labels.graph) if not own.words & taken]
    kept += [] if kept or linker is None else _classes_of_predicates(asked, linker, labels.graph)
    entities = _joined_by_or(entities, asked)
    named_by_class = {i for own in kept for i in own.words}
    return [*entities, *kept, *(own for own in values if not own.words <= named_by_class)]


def _is_common_word(link: LinkedEntity, asked: QuestionWords) -> bool:
    """Whether a mention is a common word, of which some name has it too: `institution`, `released`."""
    places = asked.places(link.mention.start, link.mention.end) if link.mention.start >= 0 else frozenset()
    return len(places) == 1 and link.mention.text.islower()


def _is_asking(link: LinkedEntity) -> bool:
    """Whether a mention is how a question begins: `How long`, in `How long is the longest track?`."""
    words_said = link.mention.text.split() if link.mention.start == 0 else []
    return words_said[:1] in (["How"], ["What"], ["Which"]) and all(map(str.islower, words_said[1:]))


def _is_unit(link: LinkedEntity, asked: QuestionWords) -> bool:
    """Whether a mention is what a number counts: `seconds`, in `longer than 600 seconds`."""
    places = asked.places(link.mention.start, link.mention.end) if link.mention.start >= 0 else frozenset()
    before = min(places, default=0) - 1
    return before >= 0 and link.mention.text.islower() and asked.texts[before].isdecimal()


def _of_link(link: LinkedEntity, asked: QuestionWords, labels: TermLabels) -> Iterator[NamedTerm]:
    places = asked.places(link.mention.start, link.mention.end) if link.mention.start >= 0 else frozenset()
    said = link.mention.text.casefold()  # `David Bowie` is rather that than `David Bowie (1969 album)`
    called = [c for c in link.candidates if c.label.casefold() == said and c.kind == link.kind]
    meant = tuple(dict.fromkeys((link, *called, *link.likely_alternatives)))
    names = labels([one.term for one in meant], in_grace=True)
    likely = [(one, places | _beside(places, f"{names[one.term]} {local_name(one.term)}", asked)) for one in meant]
    likely.sort(key=lambda own: (-len(own[1]), names[own[0].term].casefold() != said))
    for number, (one, named) in enumerate(likely[: 1 + _ALTERNATIVES]):
        yield NamedTerm(one.term, named, one.kind == "class", round(one.score - _LESS_LIKELY * number, 4))


def _beside(places: frozenset[int], label: str, asked: QuestionWords) -> frozenset[int]:
    """The words on both sides of a mention that the label has, too: a part of an identifier, a first name."""
    own = set(words(normalised(label)))
    found: set[int] = set()
    for first, step in ((min(places, default=0), -1), (max(places, default=-1), 1)):
        at = first + step
        while 0 <= at < len(asked.texts) and places and asked.texts[at] in own and at in asked.content:
            found.add(at)
            at += step
    return frozenset(found)


def _classes_named(asked: QuestionWords, linker: Linker) -> list[NamedTerm]:
    """The classes whose labels are words of the question, in whatever number: `suppliers`."""
    texts = [asked.texts[i] for i in asked.content]
    wanted = sorted({form for text in texts for form in (text, root(text), *_singulars(text))})
    if not wanted:
        return []
    rows = [row for row in linker.index.search.offline().with_words(wanted, limit=_ROWS) if row.kind == "class"]
    rows += [row for row in linker.index.search.offline().exact(wanted) if row.kind == "class"]
    found: dict[IRI, NamedTerm] = {}
    for row in sorted(set(rows)):
        roots = {root(word) for word in words(row.key)}
        places = _places_of(words(row.key), asked)
        if places and roots <= {root(asked.texts[i]) for i in places}:
            found.setdefault(IRI(row.iri), NamedTerm(IRI(row.iri), places, is_class=True))
    whole = {i for own in found.values() for i in own.words}
    for row in sorted(set(rows)):
        last = root(words(row.key)[-1])
        places = frozenset(i for i in asked.content if root(asked.texts[i]) == last) - whole
        if places:
            found.setdefault(IRI(row.iri), NamedTerm(IRI(row.iri), places, is_class=True, score=_BY_LAST_WORD))
    asking = frozenset(i for i, text in enumerate(asked.texts) if text in _PERSONS)
    if asking:
        people = [row for row in linker.index.search.offline().exact(["person", "human"]) if row.kind == "class"]
        for row in people:
            found.setdefault(IRI(row.iri), NamedTerm(IRI(row.iri), asking, is_class=True))
    return list(found.values())


def _has_instances(kind: IRI | Literal, graph: KnowledgeGraph) -> bool:
    """Whether anything is of a class, or of one below it."""
    if not isinstance(kind, IRI):
        return False
    item = Variable("x")
    some = g.Select(((item, None),), PlanCompiler(GraphVocabulary(), 1).members(a.Instances(kind), item), limit=1)
    return len(graph.select(g.select_query("instances", some))) > 0


def _joined_by_or(entities: list[NamedTerm], asked: QuestionWords) -> list[NamedTerm]:
    """The entities, of two with `or` between them the first with the second as another."""
    for one in entities:
        after = max(one.words, default=-1) + 1
        other = next((e for e in entities if e.words and min(e.words) == after + 1), None)
        if other is not None and asked.texts[after : after + 1] == ["or"]:
            both = replace(one, words=one.words | other.words | {after}, others=(other.term,))
            return [both, *(e for e in entities if not e.words & both.words)]
    return entities


def _classes_of_predicates(asked: QuestionWords, linker: Linker, graph: KnowledgeGraph) -> list[NamedTerm]:
    """The classes of what has a predicate that the question names, where it names no class: `the lowest density`."""
    texts = [asked.texts[i] for i in asked.content]
    rows = [r for r in linker.index.search.offline().with_words(texts, limit=_ROWS) if r.kind == "predicate"]
    roots = {root(text) for text in texts}
    found: dict[IRI, NamedTerm] = {}
    for row in sorted(rows, key=lambda r: (-len(r.key), r.iri)):
        if not {root(word) for word in words(row.key)} <= roots:
            continue
        item, kind = Variable("x"), Variable("c")
        inner = g.Select(((item, None),), (g.Fact(item, IRI(row.iri), Variable("y")),), limit=_ROWS)
        group = (inner, g.Fact(item, RDF_TYPE, kind))
        query = g.select_query("subjects", g.Select(((kind, None),), group, distinct=True, limit=3))
        for solution in graph.select(query):
            if isinstance(solution["c"], IRI):
                found.setdefault(solution["c"], NamedTerm(solution["c"], frozenset(), is_class=True))
    return list(found.values())[:3]


def _places_of(name: Sequence[str], asked: QuestionWords) -> frozenset[int]:
    """The words of a question that are those of a name; of synonyms, where the word itself is not there."""
    found: set[int] = set()
    for word in name:
        same = {i for i in asked.content if stem(asked.texts[i]) == stem(word) or word in _singulars(asked.texts[i])}
        found |= same or ({i for i in asked.content if root(asked.texts[i]) == root(word)} if len(name) == 1 else set())
    is_spread = bool(found) and max(found) - min(found) > len(name)
    return frozenset() if is_spread else frozenset(found)


def _singulars(word: str) -> list[str]:
    """What a plural may be the plural of.

    >>> _singulars("countries"), _singulars("boxes"), _singulars("film")
    (['country', 'countrie'], ['box', 'boxe'], [])
    """
    if word == "people":
        return ["person"]
    if not word.endswith("s") or len(word) < 4:
        return []
    forms = [word[:-3] + "y"] if word.endswith("ies") else [word[:-2]] if word.endswith("es") else []
    return [*forms, word[:-1]]


def values_named(
    question: str, said: Sequence[TextToken], content: Collection[int], graph: KnowledgeGraph
) -> list[NamedTerm]:
    """The texts of the graph that the question has word for word, the longest first; one query.

    :param said: the words of the question. :param content: the places of those that such a text begins and ends with.
    """
    spans: dict[Literal, frozenset[int]] = {}
    for first in content:
        for last in range(first, min(first + _LONGEST, len(said))):
            if last in content and not said[last].text.isdecimal():
                text = question[said[first].start : said[last].end]
                places = frozenset(range(first, last + 1))
                for form in dict.fromkeys((text, text.title(), text.lower())):
                    spans.setdefault(Literal(form), places)
                    spans.setdefault(Literal(form, language="en"), places)
    if not spans:
        return []
    value, predicate, item = Variable("v"), Variable("p"), Variable("x")
    group = (g.Values(value, tuple(spans)), g.Fact(item, predicate, value))
    select = g.Select(((value, None), (predicate, None)), group, distinct=True, limit=1_000)
    names = {*UNWALKED, *graph.naming.labels}
    found = {
        s["v"] for s in graph.select(g.select_query("values_named", select))
        if s["p"] not in names and isinstance(s["v"], Literal)
    }  # fmt: skip
    best: list[NamedTerm] = []
    for term in sorted(found, key=lambda term: (-len(spans[term]), str(term))):
        if not any(spans[term] < own.words for own in best):
            best.append(NamedTerm(term, spans[term]))
    return best
