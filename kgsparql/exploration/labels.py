"""The labels, classes and descriptions of terms, and the terms that have a label or another text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, partial
from itertools import chain, count
from operator import itemgetter
from typing import TypeVar

from kgsparql.dataclasses import frozen
from kgsparql.errors import EndpointReplyError
from kgsparql.exploration.batched_select import (
    Found,
    Label,
    batched_select,
    entities_of,
    group_query,
    order_key,
    select_about,
)
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solution
from kgsparql.graphs.notes import Cut
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.literals import plain_text
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, grouped, iris_in, local_name, printable, text_literal
from kgsparql.rdf.vocabulary import DESCRIPTIONS, INSTANCE_OF, LABEL_NODES, RDF_TYPE, Naming, is_mediator, is_unknown

K = TypeVar("K")

UNKNOWN = "unknown"  # there is one, and nobody knows which
_GENID = "/.well-known/genid/"  # of what was a blank node


@frozen
class Description:
    """What a graph says of an entity in a few words."""

    text: str = ""
    classes: tuple[str, ...] = ()


def language_rank(language: str | None, preferred: Sequence[str]) -> tuple[int, int]:
    """Rank how well a language tag suits, smaller is better; the order is the same on every graph.

    For each preferred language the tag itself, then its regions and scripts; then ``mul`` (any language), no tag,
    English, and last whatever there is. Tags are compared without regard to case.

    >>> tags = ["de", None, "en-US", "mul", "en", "fr"]
    >>> sorted(tags, key=lambda tag: language_rank(tag, ["EN"]))
    ['en', 'en-US', 'mul', None, 'de', 'fr']
    """
    tag = language and language.lower()
    order = [*(wanted.lower() for wanted in preferred), "mul", None, "en"]
    for place, wanted in enumerate(order):
        if tag == wanted:
            return place, 0
        if tag and wanted and tag.startswith(f"{wanted}-"):
            return place, 1
    return len(order), 0


def labels(graph: KnowledgeGraph, terms: Iterable[Term], *, languages: Sequence[str] = ("en",)) -> dict[Term, Label]:
    """Find a label for every term; one query per chunk, and one more for terms that have none in these languages.

    Those are the languages given, ``mul``, no tag, and English; others are asked for only where there is none of these.
    The best language wins, then the best label predicate, then the first text in lexical order. The label of a
    predicate may be on another node, as in Wikidata. In a graph with predicates of its own, one that is called
    ``name``, ``label``, ``title`` or so is taken for a label predicate; a label may also be on a node, as in SKOS-XL.
    Without any, an IRI is called by its local name (``derived``), a literal by its own text, and a blank node ``[]``.
    """
    predicates = graph.naming.labels
    wanted = list(dict.fromkeys(terms))
    iris = [term for term in iris_in(wanted) if not is_mediator(term)]
    query = _texts_query(graph, predicates)
    found = select_about(graph, _with_links(query, graph.naming, tuple(languages)), iris).seen
    best: dict[Term, Label] = _best_texts(found, languages, predicates)
    if len(best) < len(iris):
        best |= _otherwise_called(graph, [term for term in iris if term not in best], languages)
    written = graph.stored[0].written if len(graph.stored) == 1 else {}  # several may each write a value in its own way
    if written:
        best |= {term: Label(written[str(term)]) for term in wanted if str(term) in written}
    return {term: best.get(term) or _label_of_unnamed(term, graph) for term in wanted}


def _label_of_unnamed(term: Term, graph: KnowledgeGraph) -> Label:
    if isinstance(term, IRI) and _GENID in term.value and graph.is_embedded:
        p, y = g.variables("p y")
        if all(
            one["p"] == RDF_TYPE for one in g.found(graph, "of_unnamed", (p,), (g.Fact(term, p, y),), distinct=True)
        ):
            return Label(UNKNOWN, derived=True)
    return Label(term.value, derived=True) if isinstance(term, IRI) and graph.is_page(term) else own_label(term)


def _otherwise_called(graph: KnowledgeGraph, terms: Sequence[IRI], languages: Sequence[str]) -> dict[Term, Label]:
    """Find labels of terms that have none in these languages."""
    naming = graph.naming
    may_all = not graph.is_embedded or bool(naming.links)
    rest = [term for term in terms if may_all or graph.may_have_name(term)]
    if not rest:
        return {}
    of_nodes = Query.load("labels_of_nodes").bind_rows(("predicate", "form"), LABEL_NODES.items())
    texts = _with_links(_texts_query(graph, naming.labels), naming, None)
    found = select_about(graph, (*texts, Query.load("labels_by_name"), of_nodes), rest).seen
    best: dict[Term, Label] = _best_texts(
        [s for s in found if s["predicate"] in naming.labels], languages, naming.labels
    )
    return best | _best_texts(_best_names(s for s in found if s["entity"] not in best), languages, [*LABEL_NODES])


def linked_labels(graph: KnowledgeGraph, *, languages: Sequence[str]) -> dict[Term, Label]:
    """Find the labels of all predicates that are labelled on other nodes, as far as one query gives them."""
    naming = graph.naming
    query = Query.load("linked_predicates").bind(predicate=naming.labels, link=naming.links[:1])
    return _best_texts(graph.select(query.bind(range=language_ranges(languages))), languages, naming.labels)


def own_label(term: Term) -> Label:
    """Name a term without asking a graph: ``[]`` for what has no name, ``unknown`` for what nobody knows.

    A blank node that was given an IRI (RDF 1.1, 3.5) has no name, either.

    >>> own_label(IRI("http://e.org/.well-known/genid/7f3a")).text, own_label(IRI("http://e.org/ann_ost")).text
    ('[]', 'ann ost')
    """
    if isinstance(term, Literal):
        return Label(term.value, term.language)
    if is_unknown(term):
        return Label(UNKNOWN, derived=True)
    is_named = isinstance(term, IRI) and not is_mediator(term) and _GENID not in term.value
    return Label(local_name(term) if is_named else "[]", derived=True)


def _texts_query(graph: KnowledgeGraph, predicates: tuple[IRI, ...]) -> Query:
    if graph.is_embedded:
        predicates = tuple(filter(graph.held(frozenset(predicates)).__contains__, predicates))
    return _bound_texts_query(predicates)


@lru_cache(maxsize=64)
def _bound_texts_query(predicates: tuple[IRI, ...]) -> Query:
    return Query.load("labels").bind(predicate=predicates)


@lru_cache(maxsize=64)
def _with_links(query: Query, naming: Naming, languages: tuple[str, ...] | None) -> tuple[Query, ...]:
    """Make the queries for labels on a term itself, and on another node; not bound to terms yet."""
    linked = Query.load("labels_linked").bind(predicate=naming.labels, link=naming.links)
    queries = (query, linked) if naming.links else (query,)
    return tuple(query if languages is None else query.bind(range=language_ranges(languages)) for query in queries)


def language_ranges(languages: Sequence[str]) -> list[Literal]:
    """Return the language ranges that are asked for first; labels without a tag come with them."""
    return [Literal(tag) for tag in dict.fromkeys(tag.lower() for tag in (*languages, "mul", "en"))]


def _best_names(solutions: Iterable[Solution]) -> list[Solution]:
    """Keep the solutions with labels by a graph's own predicates; titles only where a term has nothing else."""
    found = [(s, str(s["predicate"]).lower().endswith("title>")) for s in solutions]
    named = {s["entity"] for s, is_title in found if not is_title}
    return [s for s, is_title in found if s["entity"] not in named or not is_title]


def _best_texts(
    solutions: Iterable[Solution], languages: Sequence[str], predicates: Sequence[IRI],
    about: Callable[[Solution], K] = itemgetter("entity"),
) -> dict[K, Label]:  # fmt: skip
    """Choose the best text of each thing: by its language, then its predicate, then in lexical order."""
    places: dict[Term, int] = dict(zip(predicates, count(), strict=False))
    best, keys = dict[K, Label](), dict[K, tuple[object, ...]]()
    rank = cache(partial(language_rank, preferred=languages))
    for solution in solutions:
        literal, thing = solution["label"], about(solution)
        if isinstance(literal, Literal) and (text := plain_text(literal).strip()):
            place = places.get(solution["predicate"], len(places))
            key = ("link" in solution, rank(literal.language), place, literal.language or "", text)
            if thing not in best or key < keys[thing]:
                best[thing], keys[thing] = Label(text, literal.language), key
    return best


def by_label(graph: KnowledgeGraph, text: str, *, languages: Sequence[str] = ("en",)) -> tuple[IRI, ...]:
    """Find the IRIs that have exactly this label, in lexical order.

    First those that have it in one of the languages, in English, as ``mul`` or without a language tag, which an index
    answers. If there are none, those that have it by a predicate of the graph's own (see :func:`labels`); if there are
    none, those that have it in any language, for which every label is read (0.25 s for 320,000). Of more than 10,000,
    some may be missing.

    :raises InputError: for a language tag that is not one.
    :raises EndpointReplyError: if nothing is found, but an endpoint cut its result.
    """
    predicates = graph.naming.names
    literals = [Literal(text), *(text_literal(text, tag.value) for tag in language_ranges(languages))]
    query = Query.load("by_label").bind(predicate=predicates)
    batched = select_about(graph, [query], literals, parameter="label")
    found = _entities_in(batched.seen)
    is_cut = not all(batched.over.values())
    for wider in () if found else (
        Query.load("by_name").bind(label=literals),
        Query.load("by_text").bind(text=[Literal(text)], predicate=predicates),
    ):  # fmt: skip
        solutions = graph.select(wider.limit(BOUND + 1))
        is_cut |= bool(solutions.cut)
        if found := _entities_in(solutions):
            break
    if is_cut and not found:
        raise EndpointReplyError(
            f"{graph.name} cut the search for {printable(text, 80)!r}, so it cannot be said whether there is one",
            code="E_PARTIAL", hint="name it by its IRI",
        )  # fmt: skip
    return tuple(sorted(found, key=order_key))


def _entities_in(solutions: Iterable[Solution]) -> set[IRI]:
    return {*iris_in(solution["entity"] for solution in solutions)}


def types(graph: KnowledgeGraph, entities: Iterable[Term]) -> dict[IRI, tuple[IRI, ...]]:
    """Find the classes that each entity is an instance of, in lexical order.

    :raises InputError: for a blank node or a literal.
    """
    starts = entities_of(entities)
    pairs = [(entity, by) for entity in starts for by in graph.held(frozenset((RDF_TYPE, INSTANCE_OF)))]
    found = batched_select(
        graph, lambda some, bound: group_query("forward", some).limit(bound + 1), pairs,
        key_of=itemgetter("entity", "predicate"),
    )  # fmt: skip
    return _types_in(found.seen, starts, "object")


def named_types(
    graph: KnowledgeGraph, entities: Iterable[Term], *, languages: Sequence[str]
) -> tuple[dict[IRI, tuple[IRI, ...]], dict[Term, Label]]:
    """Find the classes of each entity, and of an endpoint, in the same query, what these and they are called."""
    if not graph.is_remote:
        return types(graph, entities), {}
    starts, naming = entities_of(entities), graph.naming.labels
    called = Query.load("class_labels").bind(
        type=(RDF_TYPE, INSTANCE_OF), predicate=naming, range=language_ranges(languages)
    )
    texts = _with_links(_texts_query(graph, naming), graph.naming, tuple(languages))
    seen = select_about(graph, [*texts, Query.load("types"), called], starts).seen
    named = _best_texts((s for s in seen if "class" in s), languages, naming, itemgetter("class"))
    of_them = [s for s in seen if "class" not in s]
    named |= _best_texts((s for s in of_them if "label" in s), languages, naming)
    found = _types_in((s for s in of_them if "type" in s), starts)
    every = dict.fromkeys(chain(starts, *found.values()))
    unnamed = [one for one in every if one not in named and not is_mediator(one)]
    others = {one: _label_of_unnamed(one, graph) for one in unnamed}
    return found, others | named | _otherwise_called(graph, unnamed, languages)


def _types_in(solutions: Iterable[Solution], entities: Sequence[IRI], kind: str = "type") -> dict[IRI, tuple[IRI, ...]]:
    found = grouped((solution["entity"], solution[kind]) for solution in solutions)
    return {one: tuple(sorted({*iris_in(found.get(one, ()))}, key=order_key)) for one in entities}


def texts(graph: KnowledgeGraph, entities: Iterable[Term], *, languages: Sequence[str] = ("en",)) -> Found[Triple]:
    """Find the descriptions of each entity, in the order of predicates; of each those in the best language.

    Other languages than these, English, ``mul`` and no tag are asked for only where an entity has none of these.

    :raises InputError: for a blank node or a literal.
    """
    starts = entities_of(entities)
    query = _texts_query(graph, DESCRIPTIONS)
    groups, cuts = _texts_by_predicate(graph, query.bind(range=language_ranges(languages)), starts)
    found = {entity for entity, _ in groups}
    others, more = _texts_by_predicate(graph, query, [entity for entity in starts if entity not in found])
    groups, cuts = groups | others, cuts + more
    items: list[Triple] = []
    for entity in starts:
        for predicate in DESCRIPTIONS:
            ranks = {text: language_rank(text.language, languages) for text in groups.get((entity, predicate), ())}
            kept = [text for text, rank in ranks.items() if rank == min(ranks.values())]
            items.extend(Triple(entity, predicate, literal) for literal in sorted(kept, key=order_key))
    return Found(tuple(items), cuts)


def _texts_by_predicate(
    graph: KnowledgeGraph, query: Query, entities: Sequence[IRI]
) -> tuple[dict[tuple[Term, Term], list[Literal]], tuple[Cut, ...]]:
    """Find the texts that the query finds, by entity and predicate; and a cut for each entity with too many."""
    batched = select_about(graph, [query], entities)
    groups: dict[tuple[Term, Term], list[Literal]] = {}
    for solution in batched.seen:
        literal = solution["label"]
        if isinstance(literal, Literal) and literal.value.strip():
            groups.setdefault((solution["entity"], solution["predicate"]), []).append(literal)
    return groups, tuple(Cut("texts", len(some), None, str(entity)) for entity, some in batched.over.items())


def descriptions(
    graph: KnowledgeGraph, entities: Iterable[Term], *, languages: Sequence[str]
) -> dict[IRI, Description]:
    """Find the best description of each entity, and the labels of its classes; one query for each chunk.

    In these languages, as ``mul``, without a tag or in English. ``instance of`` of Wikidata counts as a class, too.

    :raises InputError: for a blank node or a literal.
    """
    starts = entities_of(entities)
    naming, ranges = graph.naming.labels, language_ranges(languages)
    of_entity = _texts_query(graph, DESCRIPTIONS).bind(range=ranges)
    of_class = Query.load("class_labels").bind(type=(RDF_TYPE, INSTANCE_OF), predicate=naming, range=ranges)
    seen = select_about(graph, [of_entity, of_class], starts).seen
    found = [s for s in seen if isinstance(text := s["label"], Literal) and any(map(str.isalnum, text.value))]
    texts: dict[Term, Label] = _best_texts((s for s in found if "class" not in s), languages, DESCRIPTIONS)
    class_labels = _best_texts((s for s in found if "class" in s), languages, naming, itemgetter("entity", "class"))
    classes: dict[Term, set[str]] = {}
    for (entity, _), label in class_labels.items():
        classes.setdefault(entity, set()).add(label.text)
    return {e: Description(texts[e].text if e in texts else "", tuple(sorted(classes.get(e, ())))) for e in starts}
