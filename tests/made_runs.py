"""Runs made by hand: questions, records and their directory, as a real run leaves them."""

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kgsparql.evaluation.dataset import (
    GoldAnswer,
    Question,
    Record,
    RecordedAnswer,
    RecordedCost,
    RecordedEvidence,
    Topic,
)
from kgsparql.evaluation.run_directory import Run
from kgsparql.rdf.terms import IRI

WORDS = ("Nosferatu", "Metropolis", "Sunrise", "Faust", "Vampyr", "Ordet", "Gertrud", "Pickpocket", "Mouchette", "Lola")


def iri(name: str) -> str:
    """A term in N-Triples syntax."""
    return f"<http://example.org/{name}>"


def question(
    id_: str, gold: Sequence[str] = ("right",), *, text: str = "", hops: int | None = 1, type_: str = "",
    path: Sequence[str] = (),
) -> Question:  # fmt: skip
    topics = (Topic(IRI("http://example.org/topic"), "Topic"),)
    answers = tuple(GoldAnswer(IRI(f"http://example.org/{name}"), name) for name in gold)
    text = text or f"Which film is {id_}?"
    return Question(id=id_, text=text, answers=answers, topics=topics, hops=hops, type=type_, path=tuple(path))


def record(
    asked: Question, method: str, answers: Sequence[str] = (), *, calls: int = 0, queries: int = 3,
    seconds: float = 0.5, evidence: Sequence[RecordedEvidence] | None = None, **fields: Any,
) -> Record:  # fmt: skip
    """What a method made of a question: answers of one path each, the best first."""
    items = [
        RecordedEvidence(
            marker=f"P{i}", triples=((iri("topic"), iri("film"), iri(name)),), verified=(True,),
        )
        for i, name in enumerate(answers, 1)
    ]  # fmt: skip
    status = "error" if fields.get("error") else "answered" if answers else "not_in_graph"
    made = {
        "status": status, "text": ", ".join(answers), "ranked": True, "score": {0: None, 1: 1.0}.get(len(answers), 0.5),
        "linked": ((iri("topic"),),), **fields,
    }  # fmt: skip
    return Record(
        question=asked.id,
        method=method,
        answers=tuple(RecordedAnswer(iri(name), name, 1 / i, (f"P{i}",)) for i, name in enumerate(answers, 1)),
        evidence=tuple(items if evidence is None else evidence),
        measured=RecordedCost(
            model_calls=calls, rounds=calls, prompt_tokens=500 * calls, completion_tokens=20 * calls, queries=queries,
            rows=10 * queries, seconds=seconds,
        ),
        **made,
    )  # fmt: skip


def made_run(
    path: Path, questions: Sequence[Question], records: Mapping[str, Iterable[Record]], *, dataset: str = "films",
    **about: Any,
) -> Path:  # fmt: skip
    """A run with the records of each method."""
    config = {
        "versions": {"kgsparql": "0.1.0"}, "python": "3.11.9",
        "dataset": {"name": dataset, "sha256": ""},
        "graph": {"name": "films.ttl", "fingerprint": "f" * 16, "triples": 100},
        "questions": len(questions), "limit": None,
        "methods": [{"label": label, "options": {"max_hops": 3}} for label in records],
        "model": "", "gold_topics": False, "seed": 0, "embedder": "", "budget": {}, "prompts": "a" * 64,
        "workers": 1, "began": "2026-01-01T00:00:00+00:00", "ended": None, **about,
    }  # fmt: skip
    run = Run.begin(path, config, questions)
    for own in records.values():
        for one in own:
            run.add(one)
    return path


def sampled_questions(count: int) -> list[Question]:
    """Questions of 1 to 3 hops with one to three right answers."""
    drawn = random.Random(0)  # noqa: S311
    found = []
    for i in range(count):
        hops = i % 3 + 1
        gold = drawn.sample(WORDS, drawn.randint(1, 3))
        way = ["directed", "^directed", "starring"][:hops]
        found.append(question(f"q{i}", gold, hops=hops, type_=f"type {hops}", path=way, text=f"Which film {i}?"))
    return found


def sampled_records(
    questions: Sequence[Question], method: str, skill: float, *, calls: int = 0, slower: float = 1
) -> list[Record]:
    """Records of a method that is right so often, less so with each hop."""
    drawn = random.Random(f"{method} 0")  # noqa: S311
    found = []
    for asked in questions:
        gold = [answer.label for answer in asked.answers or ()]
        wrong = [word for word in WORDS if word not in gold]
        if drawn.random() < 0.02:
            found.append(record(asked, method, error=("E_TIMEOUT", "no reply within 60 s"), calls=calls))
            continue
        is_right = drawn.random() < skill - 0.12 * (asked.hops or 1)
        answers = gold + drawn.sample(wrong, 2) if is_right else drawn.sample(wrong, 3) + gold[: drawn.randint(0, 1)]
        found.append(record(
            asked, method, answers, calls=calls and calls + drawn.randint(0, 3), queries=drawn.randint(2, 12),
            seconds=round(0.1 + drawn.random(), 6) * slower,
            fallbacks=(("choice", "no number in the reply"),) if calls and drawn.random() < 0.1 else (),
        ))  # fmt: skip
    return found
