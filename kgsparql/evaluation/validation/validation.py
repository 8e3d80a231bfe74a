"""Whether the SPARQL and the paths of a dataset find its gold answers on a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from kgsparql.errors import DataError
from kgsparql.evaluation.dataset import Dataset, GoldAnswer, Problem, Question
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.evaluation.validation.gold_queries import Progress, Result, gold_results, says_nothing
from kgsparql.exploration.triples import lookup
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, Triple

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase


Outcome = OneOf["reproduced", "different", "empty", "absent", "refused", "derived", "unchecked"]

OUTCOMES: Mapping[Outcome, str] = {
    "reproduced": "the graph gives the gold answers",
    "derived": "no gold answers in the file; the query finds them",
    "different": "the graph gives other answers",
    "empty": "no gold answers in the file, and the query finds none",
    "absent": "the query says no, or 0, of terms that the graph does not mention",
    "refused": "the query cannot be run",
    "unchecked": "no SPARQL, no path, no golden triples: nothing to check with",
}
"""The outcomes of checking a question, and what they mean."""

_FINE = frozenset({"reproduced", "derived", "unchecked"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of checking one question.

    :param how: what was checked: ``sparql``, ``path`` or ``triples``.
    :param gold: how many gold answers, or golden triples, were checked; ``None`` if the file has none.
    :param missing: gold answers that it does not give, golden triples that it lacks.
    :param extra: answers that it gives and that are not gold.
    :param absent: IRIs that the graph mentions nowhere: of gold answers and topics, and of a query that finds no or 0.
    """

    question: str
    text: str
    outcome: Outcome
    how: str = ""
    gold: int | None = None
    found: int = 0
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    reason: str = ""
    hint: str = ""

    @property
    def is_fine(self) -> bool:
        """Whether nobody needs to look at it."""
        return self.outcome in _FINE and not self.absent


def validate(
    dataset: Dataset, knowledge: KnowledgeBase, *, timeout_s: float = 30.0, progress: Progress | None = None
) -> list[Finding]:
    """Check each question by its SPARQL, its path, or its golden triples.

    Answers are compared as metrics compare them: see :mod:`kgsparql.evaluation.matching`.

    :raises KgsparqlError: if the graph cannot be asked at all; a query that cannot be run is a finding.
    """
    questions = dataset.questions
    results = gold_results(knowledge, questions, timeout_s=timeout_s, progress=progress)
    known = _mentioned(knowledge.graph, [*_terms(questions), *_named_iris(results.values())])
    held = _held_triples(knowledge.graph, (t for q in questions for t in q.golden_triples if not results[q.id].how))
    names = _names(knowledge, questions, results)
    return [_finding(question, results[question.id], known, held, names) for question in questions]


def answered(
    dataset: Dataset, knowledge: KnowledgeBase, *, timeout_s: float = 30.0, progress: Progress | None = None
) -> Dataset:
    """The dataset with answers where it had only SPARQL or paths, and with labels where it had only IRIs.

    A question without a known answer is left out, and becomes a problem: its SPARQL is refused, finds nothing, or finds
    *no* or 0 though the graph does not mention an IRI of it, as any other graph would.

    :raises DataError: if none of the queries finds anything: then it is another graph.
    """
    open_ = [q for q in dataset.questions if q.answers is None and (q.sparql or (q.path and q.topics))]
    results: dict[str, Result] = {}
    absent: dict[str, tuple[str, ...]] = {}
    if open_:
        results = gold_results(knowledge, open_, timeout_s=timeout_s, progress=progress)
        known = _mentioned(knowledge.graph, list(_named_iris(results.values())))
        absent = {question: _absent(result, known) for question, result in results.items()}
        results = {i: replace(r, terms=()) if absent[i] else r for i, r in results.items()}
        if not any(result.terms for result in results.values()):
            why = next((f"; the first is refused: {r.refused}" for r in results.values() if r.refused), "")
            raise DataError(
                f"none of the {len(open_):,} queries of {dataset.name} finds anything in {knowledge.graph.name}{why}",
                hint="is it the graph that the questions are about? name it with -k",
            )
    bare = {a.term for q in dataset.questions for a in q.answers or () if isinstance(a.term, IRI) and not a.label}
    labels = knowledge.labels({*bare, *(term for result in results.values() for term in result.terms)})
    questions: list[Question] = []
    problems: list[Problem] = []
    for question in dataset.questions:
        result = results.get(question.id)
        if result is None:
            questions.append(_labelled(question, labels))
        elif result.terms:
            answers = tuple(GoldAnswer(term, labels[term]) for term in result.terms)
            questions.append(replace(question, answers=answers))
        else:
            problems.append(Problem(question.id, _why_not(result, absent[question.id])))
    return replace(dataset, questions=tuple(questions), problems=(*dataset.problems, *problems))


def missing_share(dataset: Dataset, knowledge: KnowledgeBase) -> float:
    """The share of the IRIs in gold answers and topics that the graph does not mention; 0 if there are no IRIs."""
    terms = _terms(dataset.questions)
    return 1 - len(_mentioned(knowledge.graph, terms)) / len(terms) if terms else 0.0


def _named_iris(results: Iterable[Result]) -> dict[IRI, None]:
    return dict.fromkeys(term for result in results for term in result.named)


def _absent(result: Result, known: set[Term]) -> tuple[str, ...]:
    """The IRIs without which the result of a query says nothing, of those the graph lacks."""
    absent = [term for term in result.named if term not in known]
    return tuple(map(str, absent)) if says_nothing(result.terms, result.named, absent) else ()


def _why_not(result: Result, absent: Sequence[str]) -> str:
    if absent:
        more = f" and {len(absent) - 3:,} more" if len(absent) > 3 else ""
        return f"no answer is known: the graph does not mention {', '.join(absent[:3])}{more}, which its query names"
    if not result.refused:
        return "no answer is known: its query finds nothing"
    return f"no answer is known: its query is refused: {result.refused}" + (f" ({result.hint})" if result.hint else "")


def _labelled(question: Question, labels: Mapping[Term, str]) -> Question:
    answers = question.answers and tuple(
        a if a.label or a.term is None else GoldAnswer(a.term, labels.get(a.term, "")) for a in question.answers
    )
    return replace(question, answers=answers)


def _terms(questions: Iterable[Question]) -> list[IRI]:
    """The IRIs in gold answers and topics, each once, in their order."""
    terms: dict[IRI, None] = {}
    for question in questions:
        terms.update(dict.fromkeys(a.term for a in question.answers or () if isinstance(a.term, IRI)))
        terms.update(dict.fromkeys(topic.iri for topic in question.topics))
    return list(terms)


def _mentioned(graph: KnowledgeGraph, terms: Sequence[IRI]) -> set[Term]:
    query, size = Query.load("known"), graph.chunk_size
    known: set[Term] = set()
    for at in range(0, len(terms), size):
        chunk = terms[at : at + size]
        known.update(s["entity"] for s in graph.select(query.bind(entity=chunk).limit(len(chunk))))
    return known


def _held_triples(graph: KnowledgeGraph, triples: Iterable[Triple]) -> set[tuple[Term, ...]]:
    plain = [t for t in dict.fromkeys(triples) if isinstance(t.subject, IRI) and isinstance(t.object, IRI | Literal)]
    size = max(1, graph.chunk_size // 5)
    held: set[tuple[Term, ...]] = set()
    for at in range(0, len(plain), size):
        found = graph.select(lookup(plain[at : at + size]))
        held.update((s["subject"], s["predicate"], s["object"]) for s in found)
    return held


def _names(
    knowledge: KnowledgeBase, questions: Iterable[Question], results: Mapping[str, Result]
) -> Mapping[Term, str]:
    """Labels of what was found for the questions whose gold answers are names."""
    by_name = [q.id for q in questions if any(answer.term is None for answer in q.answers or ())]
    return knowledge.labels({term for question in by_name for term in results[question].terms})


def _finding(
    question: Question, result: Result, known: set[Term], held: set[tuple[Term, ...]], names: Mapping[Term, str]
) -> Finding:
    nothing = _absent(result, known)
    finding = Finding(
        question=question.id, text=question.text, outcome="unchecked", how=result.how,
        gold=None if question.answers is None else len(question.answers), found=len(result.terms),
        absent=tuple(dict.fromkeys((*(str(t) for t in _terms([question]) if t not in known), *nothing))),
        reason="; ".join(result.notes),
    )  # fmt: skip
    if nothing and question.answers is None:
        return replace(finding, outcome="absent")
    if result.refused:
        return replace(finding, outcome="refused", reason=result.refused, hint=result.hint)
    if result.how:
        return _compared(finding, question, result.terms, names)
    if not question.golden_triples:
        return finding
    lacking = [t for t in question.golden_triples if (t.subject, t.predicate, t.object) not in held]
    return replace(
        finding,
        how="triples",
        outcome="different" if lacking else "reproduced",
        gold=len(question.golden_triples),
        found=len(question.golden_triples) - len(lacking),
        missing=tuple(f"{t.subject} {t.predicate} {t.object}" for t in lacking),
    )


def _compared(finding: Finding, question: Question, terms: Sequence[Term], names: Mapping[Term, str]) -> Finding:
    if question.answers is None:
        return replace(finding, outcome="derived" if terms else "empty")
    gold = GoldAnswers(question.answers)
    met: set[int] = set()
    extra: list[str] = []
    for term in terms:
        numbers = gold.found(str(term), names.get(term, ""))
        met.update(numbers)
        extra += [] if numbers else [str(term)]
    missing = [
        a.label if a.term is None else str(a.term)
        for a in question.answers
        if met.isdisjoint(gold.found("" if a.term is None else str(a.term), a.label))
    ]
    outcome: Outcome = "different" if missing or extra else "reproduced"
    return replace(finding, outcome=outcome, missing=tuple(missing), extra=tuple(extra))
