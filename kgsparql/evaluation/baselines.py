"""What every method must beat: the model alone, the nearest triples, the nearest labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kgsparql.answering.answer import AnswerTerm, Draft, Retrieval
from kgsparql.answering.retriever import Cost, Retriever, Within
from kgsparql.answering.session import Session
from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import ModelReplyError, OptionError
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.verbalising import Line, path_text
from kgsparql.exploration import neighbours, predicate_counts
from kgsparql.graphs.notes import Cut
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.models.chat_completion import Call, Message, object_schema, plain
from kgsparql.models.embedding import INSTALL_HINT, Embedder
from kgsparql.models.reply_json import json_value
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Hop, Path
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, as_iri, normalised, printable
from kgsparql.retrievers import with_options
from kgsparql.retrievers._walking import SHOWN, line_items, lines_of

__all__ = ["UNLINKED", "load", "names", "why_not"]

MOST_EMBEDDED = 300_000  # triples that are embedded, which takes 17 minutes; all of them are held in memory
EMBED_AT_ONCE = 10_000  # triples that are embedded even if nobody named the baseline
TRIPLES_PER_SECOND = 300  # triples that the default model embeds in a second on two cores, for estimates
UNLINKED = frozenset({"closed_book", "label_neighbours"})  # baselines that do not look for the entities of a question

RULES = """\
You answer questions from memory, with nothing to look things up in. Reply with the names of the answers alone, as they
are usually written: no sentences, no explanations, one entry for each answer, the likeliest first. If the question has
several right answers, list all that you know. A number or a date is an entry by itself. If you do not know, reply with
an empty list. Reply with JSON only. An example, for another question:
{"answers": ["Ada Novak", "Jon Berg"]}"""

NOT_KNOWN = "The model does not know the answer."

_NOT_KNOWN_REPLIES = frozenset({"unknown", "not known", "none", "n a", "i do not know", "i don t know", "no answer"})
"""Normalised replies of a model that knows no answer."""

_MAX_NAME_CHARACTERS = 300  # a longer answer is a sentence, not a name


class _Baseline(Retriever):
    """A method that asks a model at most so often; ``most_queries`` do not count those about a question's entities."""

    most_calls: ClassVar[int] = 2
    most_queries: ClassVar[int]

    def cost(self, *, entities: int = 1, **_: int) -> Cost:
        """Bound what a question costs."""
        return Cost(self.most_calls, self.most_calls, self.most_queries + 2 * entities)


@dataclass(frozen=True, slots=True)
class ClosedBook(_Baseline):
    """Model that is asked without the graph: its answers are literals without evidence, grounded in the ``model``.

    :param most: names that are read of a reply.
    """

    name: ClassVar[str] = "closed_book"
    summary: ClassVar[str] = "the model alone, without the graph"
    source: ClassVar[str] = "a baseline of every paper in the field"
    most_calls: ClassVar[int] = 1
    most_queries: ClassVar[int] = 5
    asks_on_the_way: ClassVar[bool] = True

    most: Annotated[int, Within(1, 1_000)] = 100

    def retrieve(self, session: Session) -> Retrieval:
        """Return no evidence, and a draft of names; nothing where no model is asked.

        :raises ModelReplyError: if the reply cannot be used.
        """
        if session.model is None:
            return Retrieval()
        messages = Message("system", RULES), Message("user", f"Question: {plain(session.question, 4_000)}")
        schema = object_schema(answers={"type": "array", "items": {"type": "string"}})
        found = session.ask_model(Call("closed book", messages, schema, _answer_names), required=True) or []
        if not found:
            return Retrieval(draft=Draft(NOT_KNOWN, grounding="model", sufficient=False))
        kept = found[: self.most]
        answers = tuple(AnswerTerm(Literal(name), name, 1 / place) for place, name in enumerate(kept, 1))
        return Retrieval(draft=Draft("; ".join(kept), answers=answers, grounding="model"))


def _answer_names(text: str) -> list[str]:
    """Read the names in a reply, none twice; none from a model that says it does not know.

    >>> _answer_names('{"answers": ["Marie Curie", "unknown", "Marie Curie", 1903]}')
    ['Marie Curie', '1903']
    """
    value = json_value(text)
    listed = value.get("answers", value.get("answer")) if isinstance(value, dict) else value
    if isinstance(listed, str | int | float):
        listed = [listed]
    if not isinstance(listed, list):
        raise ModelReplyError("there is no list of answers in the reply", code="E_LLM_FORMAT")
    names: dict[str, str] = {}
    for entry in listed:
        name = " ".join(printable(str(entry), _MAX_NAME_CHARACTERS).split())
        key = normalised(name) if isinstance(entry, str | int | float) else ""
        if key and key not in _NOT_KNOWN_REPLIES:
            names.setdefault(key, name)
    return list(names.values())


Nearest = Callable[..., Sequence[LinkedEntity]]
"""Finds the entities whose labels are most like a text, at most ``limit``."""


@dataclass(frozen=True, slots=True)
class LabelNeighbours(_Baseline):
    """Entities whose labels are most like the question as candidates, and their neighbours as evidence.

    :param labels: entities.
    :param lines: predicates of an entity whose neighbours are shown.
    :param ends_per_line: neighbours by each of them.
    """

    name: ClassVar[str] = "label_neighbours"
    summary: ClassVar[str] = "the entities whose labels are most like the question, with their neighbours"
    source: ClassVar[str] = "a baseline: nearest neighbours in the label index"
    most_queries: ClassVar[int] = 30

    labels: Annotated[int, Within(1, 100)] = 10
    lines: Annotated[int, Within(1, 100)] = 5
    ends_per_line: Annotated[int, Within(1, SHOWN)] = 10
    nearest: Nearest | None = field(default=None, repr=False, compare=False)

    def retrieve(self, session: Session) -> Retrieval:
        """Return neighbour lines (N) of the entities, the nearest first; candidates are those that were not linked."""
        linked = {link.term for link in session.links}
        near = () if self.nearest is None else self.nearest(session.question, limit=self.labels + len(linked))
        found = [entity for entity in near if entity.term not in linked][: self.labels]
        kept: list[tuple[Line, float]] = []
        with session.within_budget():
            terms, most = [entity.term for entity in found], self.ends_per_line
            groups = neighbours(session.graph, terms, direction=session.direction, limit=most).items
            lines = [line for group in groups for line in lines_of(group)]
            for entity in found:
                own = [line for line in lines if line.start == entity.term]
                if len(own) > self.lines:
                    session.note_cuts([Cut("predicates shown", self.lines, len(own), str(entity.term))])
                kept += [(line, entity.score) for line in own[: self.lines]]
        evidence = Evidence(line_items(kept, session))
        markers: dict[Term, tuple[str, ...]] = {}
        for item in evidence:
            markers[item.ways[0].start] = (*markers.get(item.ways[0].start, ()), item.marker)
        candidates = (AnswerTerm(e.term, e.label, e.score, markers[e.term]) for e in found if e.term in markers)
        return Retrieval(evidence=evidence, candidates=tuple(candidates))


@dataclass(frozen=True, slots=True)
class TripleEmbedding(_Baseline):
    """Triples most like the question as evidence; their terms that the question does not name are the answers.

    :param triples: how many.
    """

    name: ClassVar[str] = "triple_embedding"
    summary: ClassVar[str] = "the triples whose texts are most like the question"
    source: ClassVar[str] = "a baseline: Baek et al., 2023, arXiv 2310.13481 (direct fact retrieval), without training"
    most_queries: ClassVar[int] = 20

    triples: Annotated[int, Within(1, 1_000)] = 20
    index: TripleIndex | None = field(default=None, repr=False, compare=False)

    def retrieve(self, session: Session) -> Retrieval:
        """Return the nearest triples (N), each an item; candidates are their terms, those of the best first.

        :raises OptionError: without an index of the triples.
        """
        if self.index is None:
            raise OptionError("triple_embedding has no index of this graph", hint="evaluation.baselines.load makes it")
        found = self.index.nearest(session.question, self.triples)
        terms = dict.fromkeys(term for t, _ in found for term in (t.subject, t.predicate, t.object))
        labels = session.labels(terms, in_grace=True)
        evidence = Evidence(_triple_item(Hop(triple), score, labels) for triple, score in found)
        return Retrieval(evidence=evidence, candidates=tuple(_term_candidates(evidence, labels, session)))


def _triple_item(hop: Hop, score: float, labels: Mapping[Term, str]) -> EvidenceItem:
    way = Path(hop.start, (hop,))
    return EvidenceItem(
        kind="neighbours", text=path_text(way, labels), triples=(CitedTriple(hop.triple),),
        query=path_queries.walk_triples(way.property_path, [as_iri(hop.start)], [hop.end], limit=1), score=score,
        ways=(way,),
    )  # fmt: skip


def _term_candidates(evidence: Evidence, labels: Mapping[Term, str], session: Session) -> Iterator[AnswerTerm]:
    """Yield the subjects and objects that the question does not name, by the best triple each is in.

    If it names all of them, those that were not linked; if all were linked, all.
    """
    linked: set[Term] = {link.term for link in session.links}
    asked = f" {normalised(session.question)} "
    markers: dict[Term, list[str]] = {}
    for item in evidence:
        for term in dict.fromkeys((item.ways[0].end, item.ways[0].start)):
            markers.setdefault(term, []).append(item.marker)
    unlinked = [term for term in markers if term not in linked]
    new = [term for term in unlinked if f" {normalised(labels[term])} " not in asked]
    for term in new or unlinked or markers:
        yield AnswerTerm(term, labels[term], evidence[markers[term][0]].score, tuple(markers[term]))


_TEXTS_AT_ONCE = 256
_MAX_TERM_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class TripleIndex:
    """The triples of a graph between terms that have names, in lexical order, with their vectors.

    :param vectors: of shape ``(n_triples, dimension)``.
    """

    triples: Sequence[Triple]
    vectors: NDArray[np.float32]
    embedder: Embedder

    @classmethod
    def made_of(cls, knowledge: KnowledgeBase, embedder: Embedder) -> TripleIndex:
        """Embed the triples in the words of their labels; the embedder keeps the vectors, also if it is killed."""
        query = Query.load("index_triples")
        triples: list[Triple] = []
        for predicate in predicates_of(knowledge):
            found = knowledge.graph.select(query.bind(predicate=[predicate]))
            triples += sorted((Triple(as_iri(s["subject"]), predicate, s["object"]) for s in found), key=str)
        parts = [np.zeros((0, embedder.dimension), np.float32)]
        for at in range(0, len(triples), _TEXTS_AT_ONCE):
            some = triples[at : at + _TEXTS_AT_ONCE]
            labels = knowledge.labels({term for triple in some for term in triple})
            names = ([printable(labels[term], _MAX_TERM_CHARACTERS) for term in triple] for triple in some)
            parts.append(embedder.embed([" ".join(own) for own in names]))
            if knowledge.indexes.progress is not None:
                knowledge.indexes.progress("embedding triples", at + len(some), len(triples))
        return cls(triples, np.concatenate(parts), embedder)

    def nearest(self, text: str, limit: int) -> list[tuple[Triple, float]]:
        """Return at most so many triples, the nearest first, with their scores; the same for the same text."""
        scores = self.vectors @ self.embedder.embed([text])[0]
        best = np.argsort(-scores, kind="stable")[:limit]
        return [(self.triples[i], float(scores[i])) for i in best]


def predicates_of(knowledge: KnowledgeBase) -> dict[IRI, int]:
    """Count the triples of the predicates that are compared, in lexical order."""
    counted, naming = predicate_counts(knowledge.graph), knowledge.graph.naming
    named = {*naming.labels, *naming.links}  # their objects are in the texts of all other triples
    return {p: counted[p] for p in sorted(counted, key=str) if p not in named}


_CLASSES: dict[str, type[Retriever]] = {one.name: one for one in (ClosedBook, TripleEmbedding, LabelNeighbours)}


def names() -> tuple[str, ...]:
    """Name the baselines there are.

    >>> names()
    ('closed_book', 'triple_embedding', 'label_neighbours')
    """
    return tuple(_CLASSES)


def why_not(name: str, knowledge: KnowledgeBase, *, model: bool) -> str:
    """Say why a baseline that nobody named is left out, and how to have it all the same; empty if it is not left out.

    :param model: there is a language model.
    """
    if name == "closed_book" and not model:
        return "it asks the model alone, and there is none (-m names one)"
    if name != "triple_embedding":
        return ""
    why, count = _too_much(knowledge)
    minutes = max(1, round(count / TRIPLES_PER_SECOND / 60))
    takes_long = f"{count:,} triples take about {minutes} min to embed, once; -r triple_embedding does it"
    return why or (takes_long if count > EMBED_AT_ONCE else "")


def _too_much(knowledge: KnowledgeBase) -> tuple[str, int]:
    """Say why the triples of a graph cannot be compared, empty if they can; and count them."""
    if knowledge.graph.is_remote:
        return "the triples of an endpoint are not all read (load its data into a store)", 0
    if knowledge.indexes.embedder is None:
        return f"triples are compared by meaning, and there is no embedding model ({INSTALL_HINT})", 0
    count = sum(predicates_of(knowledge).values())
    return f"{count:,} triples are too many to embed" if count > MOST_EMBEDDED else "", count


def load(name: str, knowledge: KnowledgeBase, options: Mapping[str, Any] | None = None) -> Retriever:
    """Load a baseline, with the index of the graph that it needs.

    :raises OptionError: for a name or options that do not exist, and where it cannot be asked of this graph.
    """
    if name not in _CLASSES:
        raise OptionError(f"no baseline {printable(name, 60)!r}", hint=f"there are: {', '.join(names())}")
    made = with_options(_CLASSES[name], options)
    if isinstance(made, TripleEmbedding):
        embedder = knowledge.indexes.embedder
        if (why := _too_much(knowledge)[0]) or embedder is None:
            raise OptionError(f"triple_embedding: {why}")
        return replace(made, index=TripleIndex.made_of(knowledge, embedder))
    if isinstance(made, LabelNeighbours):
        return replace(made, nearest=partial(knowledge.indexes.linker.similar, threshold=0.0))
    return made
