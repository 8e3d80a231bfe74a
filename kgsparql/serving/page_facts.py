"""What a page tells beside its answers: of the graph, of a node, and names that complete what is written."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from kgsparql.answering.answer import Answer
from kgsparql.answering.answer_json import error_json, term_json
from kgsparql.answering.ask_options import AskOptions
from kgsparql.budget import Usage
from kgsparql.errors import InputError, KgsparqlError
from kgsparql.exploration import NeighbourGroup, descriptions, types
from kgsparql.exploration.lookups import GraphLookups
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.manifest import MANIFEST
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.english_forms import wording
from kgsparql.linking.label_index.search import LabelRow
from kgsparql.linking.words import STOP_WORDS
from kgsparql.made_questions.examples import example_questions
from kgsparql.plans.questions import can_be_asked, question_text
from kgsparql.rdf.paths import Hop
from kgsparql.rdf.terms import IRI, BlankNode, Term, normalised, parse_term, printable
from kgsparql.rdf.vocabulary import UNWALKED
from kgsparql.resources import cache_directory
from kgsparql.retrievers import names

_MOST_INSTEAD = 4
_PAGE = 12  # neighbours that are shown at once
_MAX_NEIGHBOURS = 600
_MAX_OF_GROUP = 120
"""Of one predicate and direction. All are fetched each time: fewer of a hub's could be others."""
_MAX_CHARACTERS = 300


def asked_instead(knowledge: KnowledgeBase, answer: Answer) -> list[str]:
    """List what may be asked instead of a question without a sure answer: with names that are alike, or other words."""
    if answer.status == "answered":
        return []
    linker, question = knowledge.indexes.linker, answer.question
    unknown = list(linker.unlinked_names(question, answer.linked))
    alike = () if answer.linked else linker.suggest(question)
    unknown += [(one.mention.text, (one,)) for one in alike]
    asked = [question.replace(words, one.label) for words, near in unknown if words for one in near]
    if not (answer.linked or asked):  # nothing is alike: what is nearest by meaning may be meant
        asked = [f"What is {one.label}?" for one in linker.similar(question, limit=_MOST_INSTEAD, threshold=0.0)]
    for item in answer.evidence:
        path = item.paths[0].property_path if item.paths else None
        if path is None or not answer.is_ranked or all(gap.code == "ambiguous" for gap in answer.gaps):
            continue
        wordings = {step.predicate: wording(answer.labels[step.predicate]) for step in path.steps}
        known = {predicate: own for predicate, own in wordings.items() if own is not None}
        if can_be_asked(path, known):
            topic = answer.labels.get(item.paths[0].start, "")
            asked.append(question_text(path, topic, known, [""] * len(path.steps), several=len(item.ends) > 1))
    return [printable(one, 200) for one in dict.fromkeys(asked) if one != question][:_MOST_INSTEAD]


class Sent(BaseModel):
    """What a page sends: a JSON object with these members and no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def graph_facts(knowledge: KnowledgeBase | None, asking: AskOptions) -> dict[str, Any]:
    """Describe the graph, and what may be asked of it, as JSON; make its index of labels before the first question."""
    facts: dict[str, Any] = {
        "name": "", "as_of": None, "triples": None, "classes": [], "examples": [], "error": None,
        "methods": list(names()), "method": asking.retriever, "model": "", "model_use": "",
    }  # fmt: skip
    if asking.model is not None:
        from kgsparql.retrievers._trial import use_of

        use = use_of(asking.model) if asking.trial else "not tried out"
        facts |= {"model": asking.model.name, "model_use": use}
    if knowledge is None:
        return facts
    facts |= {"name": printable(knowledge.graph.name, 200), "as_of": as_of(knowledge.graph)}
    try:
        found = knowledge.info(shown=12)
        facts |= {"triples": found["triples"], "classes": found["classes"]}
        _ = knowledge.indexes.linker
        facts["examples"] = list(example_questions(knowledge))
    except KgsparqlError as error:  # told on the page: questions may still be answered
        facts["error"] = error_json(error)
    return facts


def as_of(graph: KnowledgeGraph) -> str | None:
    """Tell when the newest file of a graph was changed, or its store loaded, in UTC; ``None`` if nobody knows."""
    files: list[Path] = []
    for member in graph.members:
        if not member.stored:
            return None
        store = member.directory
        if store is None or store.is_relative_to(cache_directory().absolute()):
            files += [Path(one.source) for one in member.stored]
        else:
            files.append(store / MANIFEST)
    try:
        changed = max(file.stat().st_mtime for file in files)
    except OSError:  # a file that has been moved away, or was no file
        return None
    return datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds")


def node_neighbours(knowledge: KnowledgeBase, asking: AskOptions, query: Mapping[str, str]) -> dict[str, Any]:
    """Describe a node as JSON: its kinds and description, and those of its triples after some others."""
    term, after = parse_term(query.get("term", "")), query.get("after", "0")
    if not isinstance(term, IRI):
        raise InputError("only what has an IRI can be looked up", hint="look up a node beside it")
    if not (after.isascii() and after.isdecimal() and len(after) < 6 and int(after) < _MAX_NEIGHBOURS):
        hint = "a query finds all"
        raise InputError(f"no more than {_MAX_NEIGHBOURS} neighbours are shown here", hint=hint)
    graph = knowledge.graph.within(Usage(asking.budget))
    lookups = GraphLookups(graph, languages=knowledge.languages, prefixes=dict(knowledge.prefixes))
    groups = lookups.show(term, limit=_MAX_OF_GROUP).items
    hops = _in_turn(groups)[int(after) : int(after) + _PAGE]
    labels = lookups.labels([term, *(one for hop in hops for one in hop.triple)])
    about = descriptions(graph, [term], languages=knowledge.languages)[term]
    kinds = about.classes or tuple(lookups.labels(types(graph, [term])[term]).values())
    return {
        "node": _node_term(term, labels),
        "curie": printable(lookups.prefixes.compress(term), _MAX_CHARACTERS),
        "kinds": [printable(kind, 60) for kind in kinds[:3]],
        "description": printable(about.text, _MAX_CHARACTERS),
        "graphs": [member.name for member in graph.members],
        "count": sum(group.count for group in groups),
        "is_exact": all(group.exact for group in groups),
        "triples": [
            {name: _node_term(getattr(hop.triple, name), labels) for name in ("subject", "predicate", "object")}
            | {"direction": hop.direction}
            for hop in hops
        ],
    }  # fmt: skip


def _in_turn(groups: Iterable[NeighbourGroup]) -> list[Hop]:
    """Take the first neighbour of each group, forward and inverse by turns, then the second; labels and such last."""
    seen: Counter[str] = Counter()
    places: list[tuple[tuple[bool, int, int, str], Hop]] = []
    for group in groups:
        kind = "last" if group.step.predicate in UNWALKED else group.step.direction
        places += [((kind == "last", at, seen[kind], kind), hop) for at, hop in enumerate(group.hops)]
        seen[kind] += 1
    return [hop for _, hop in sorted(places, key=itemgetter(0))]


def _node_term(term: Term, labels: Mapping[Term, str]) -> dict[str, Any]:
    label = "[]" if isinstance(term, BlankNode) else printable(labels[term], _MAX_CHARACTERS)
    return {"term": str(term), "label": label, "type": term_json(term, label)["type"]}


# -- Names that complete what somebody is writing ----------------------------------------------------------------------

_MOST_WORDS = 6  # of what is written that may be the beginning of one name
_LEAST_CHARACTERS = 2
_MOST_COMPARED = 400  # of the names that begin so: the best known of them
_WHOLE, _KIND = 100_000, 50_000  # more than the degree of anything that is as well known as that


def beginnings(text: str) -> list[tuple[int, str]]:
    """List where a name may begin that is being written, and what there is of it, the longest first."""
    words = list(re.finditer(r"[^\s?!,;:\"“”()]+", text))[-_MOST_WORDS:]
    found = [(word.start(), normalised(text[word.start() :])) for word in words if text[-1:].isalnum()]
    return [one for one in found if len(one[1]) >= _LEAST_CHARACTERS and one[1] not in STOP_WORDS["en"]]


class Completions:
    """Names by the beginnings of their words; the best known come first, before them classes and predicates."""

    def __init__(self, rows: Iterable[LabelRow]) -> None:
        self._rows = [row for row in rows if row.text]
        found = [
            (row.key[at:], number, min(row.degree, _KIND - 1) + _KIND * (row.kind != "entity") + _WHOLE * (at == 0))
            for number, row in enumerate(self._rows)
            for at in (0, *(gap.end() for gap in re.finditer(" ", row.key)))
        ]
        found.sort()
        self._beginnings = [text for text, _, _ in found]
        self._numbers, self._weights = (np.array([own[place] for own in found], dtype=np.int64) for place in (1, 2))

    def of(self, text: str, *, limit: int = 8) -> tuple[int, list[LabelRow]]:
        """Complete the last words of a text, as many as begin a name together: from where on, and the names."""
        for start, written in beginnings(text):
            if found := self._names_begun(written):
                named = {self._rows[number].iri: self._rows[number] for number in reversed(found)}
                return start, list(reversed(named.values()))[:limit]
        return len(text), []

    def _names_begun(self, written: str) -> list[int]:
        """Find the names with a word that begins so, the best first."""
        start = bisect_left(self._beginnings, written)
        end = bisect_left(self._beginnings, f"{written}\U0010ffff")
        weights = self._weights[start:end]
        best = np.argsort(-weights, kind="stable")[:_MOST_COMPARED]
        return [int(number) for number in self._numbers[start:end][best]]
