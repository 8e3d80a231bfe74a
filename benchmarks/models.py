"""What a model adds to questions with known answers, and what it reaches by writing SPARQL itself.

    python -m benchmarks.models DATA/metaqa DATA/ck25 -m qwen --base-url http://127.0.0.1:18015/v1 --baseline
    python -m benchmarks.models DATA/metaqa DATA/fb15k237 -m qwen --base-url http://127.0.0.1:18015/v1 --untried
    python -m benchmarks.models DATA/metaqa --ceiling      # a model that knows the answers
    python -m benchmarks.models --write            # the table of all rows that were kept, into docs/evaluation.md

Each set is a folder with a graph and questions, of which ``--limit`` are drawn. They are asked without a model, with
it, and with ``--baseline`` by the same model writing SPARQL: it is given the commonest classes and predicates, the
entities that were linked and their predicates, and one more try after an error or an empty result. With ``--untried``
it is asked without a trial. With ``--ceiling`` a scripted model passes the trial, and then chooses a line that has a
right answer in it, or none, of the questions whose way to the answers is known. Rows are kept in ``--work``, one for
each set, model and way. ``right``: the first answer is a right one (hits@1). ``wrong, sure``: it is not, and it was
called an answer; what the baseline's query gives is always called one. Calls, tokens and seconds are means over the
questions; of the seconds also the median, what 19 of 20 are below, and the slowest question.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean

import kgsparql
from benchmarks.spread import Spread
from kgsparql.answering.answer import Answer
from kgsparql.budget import Budget, Usage
from kgsparql.errors import KgsparqlError, ModelReplyError
from kgsparql.evaluation.dataset import Question, Record, RecordedAnswer, RecordedCost
from kgsparql.evaluation.datasets import load, sample
from kgsparql.evaluation.metrics import METRICS
from kgsparql.models.chat_completion import Call, fenced, plain
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.reply_json import json_value
from kgsparql.rdf.terms import Literal, Term
from kgsparql.retrievers._trial import Trial, admitted
from tests.model_server import ModelServer, Reply, Text
from tests.scripted import Body, numbered, purpose, question_of
from tests.tried import strong

PAGE, KEPT = (Path(__file__).parents[1] / name for name in ("docs/evaluation.md", "build/models.jsonl"))
MARKS = "<!-- models -->\n", "<!-- end of models -->"
KNOWS = "it knows the answers"
WAYS = ("no model", "with it", "with it, untried", "it writes SPARQL", KNOWS)
SHOWN, MOST_ROWS, QUERY_S, MOST_TOKENS = 60, 1_000, 20.0, 300

SPARQL = """\
You write a SPARQL 1.1 query that answers a question about a graph. Between <schema> and </schema> are classes and
predicates of the graph, between <entities> and </entities> what the question names, and predicates of it. Use only
these, IRIs between < and >. Select what is asked for and nothing else, a number by COUNT, yes or no by ASK.
Reply with JSON only: {"sparql": "SELECT …"}"""


@dataclass(frozen=True)
class Row:
    """The outcome of one set, asked in one way."""

    dataset: str
    model: str
    way: str
    n: int
    right: int
    wrong_and_sure: int
    doubted: int
    calls: float
    tokens: float
    seconds: float
    slow: str = ""

    @classmethod
    def of(cls, dataset: str, model: str, way: str, judged: Sequence[tuple[Question, Record]]) -> Row:
        right = [METRICS["hits@1"].of(question, record) == 1 for question, record in judged]
        costs = [record.measured for _, record in judged]
        wrong = sum(record.is_sure and not ok for (_, record), ok in zip(judged, right, strict=True))
        return cls(
            dataset, model, way, len(judged), sum(right), wrong, sum(not record.is_sure for _, record in judged),
            fmean(c.model_calls for c in costs), fmean(c.prompt_tokens + c.completion_tokens for c in costs),
            fmean(c.seconds for c in costs),
            str(Spread.of((question.text, record.measured.seconds) for question, record in judged)),
        )  # fmt: skip

    def line(self) -> str:
        """Write the row of the table."""
        cost = f"{self.calls:.1f} | {self.tokens:,.0f}" if self.model else "– | –"
        who = f"{self.model}, {self.way}" if self.model else self.way
        figures = f"{self.n} | {self.right} | {self.wrong_and_sure} | {self.doubted}"
        return f"| {self.dataset} | {who} | {figures} | {cost} | {self.seconds:.1f} | {self.slow} |"


def record_of(
    knowledge: kgsparql.KnowledgeBase, question: Question, model: LanguageModel | None, *, trial: bool = True
) -> Record:
    """Ask a question by the default method."""
    try:
        answer = knowledge.ask(question.text, model=model, trial=trial, budget=Budget(max_seconds=None))
    except KgsparqlError as error:
        return Record.failed(error, question=question.id, method="auto", seconds=0.0)
    return Record.of(answer, question=question.id, method="auto")


class Writer:
    """Has a model write the query of each question about one graph."""

    def __init__(self, knowledge: kgsparql.KnowledgeBase, model: LanguageModel) -> None:
        self.knowledge, self.model = knowledge, model.uncached(reply_tokens=MOST_TOKENS)  # a small one rambles
        about = knowledge.info(shown=SHOWN)
        kinds = (("class", about["classes"]), ("predicate", about["predicates"]))
        self.schema = [f"{kind} {one['term'].strip('<>')} {one['label']}" for kind, found in kinds for one in found]

    def record(self, question: Question, linked: Answer) -> Record:
        """Answer a question by a query, written once and mended once, about what was linked in it."""
        usage, rows, query, fault = Usage(Budget(max_seconds=None)), list[Term](), "", ""
        entities = list(self._entity_lines(linked))
        for _ in range(2):
            try:
                query = self.model.ask(self._call(question.text, entities, fault), usage, lambda _: None)
                if rows := self._first_column(query):
                    break
                fault = f"You wrote: {query}\nIt finds nothing. Mend it."
            except KgsparqlError as error:
                fault = f"You wrote: {query}\nIt could not be run: {error.message}. Mend it."
        labels, found = self.knowledge.labels(rows), usage.to_json()
        return Record(
            question=question.id, method="sparql", status="answered" if rows else "not_in_graph", is_sure=bool(rows),
            answers=tuple(RecordedAnswer(str(term), labels[term]) for term in rows),
            measured=RecordedCost(**{one.name: found[one.name] for one in fields(RecordedCost) if one.name in found}),
        )  # fmt: skip

    def _entity_lines(self, linked: Answer) -> Iterator[str]:
        for link in linked.linked:
            yield f"{link.term.value} {link.label}"
            groups = self.knowledge.show(link.term, limit=1).items[:SHOWN]
            labels = self.knowledge.labels({group.step.predicate for group in groups})
            for group in groups:
                arrow = "—{}→" if group.step.direction == "forward" else "←{}—"
                yield f"  {arrow.format(f'{group.step.predicate} {labels[group.step.predicate]}')}"

    def _call(self, question: str, entities: Sequence[str], fault: str) -> Call[str]:
        shown = [fenced("schema", self.schema), fenced("entities", entities)]
        asked = "\n".join([f"Question: {plain(question, 4_000)}", *shown, fault])
        return Call("sparql", SPARQL, asked, {"sparql": str}, _query_in)

    def _first_column(self, query: str) -> list[Term]:
        found = self.knowledge.query(query, timeout_s=QUERY_S, max_rows=MOST_ROWS)
        if found.form == "ASK":
            return [Literal(found.boolean)]
        return list(dict.fromkeys(term for row in found for term in [*row.values()][:1] if term is not None))


def _query_in(text: str) -> str:
    value = json_value(text)
    if not isinstance(value, dict) or not isinstance(value.get("sparql"), str):
        raise ModelReplyError("there is no query in the reply")
    return str(value["sparql"])


def rows_of(folder: Path, model: LanguageModel | None, *, limit: int, baseline: bool, trial: bool) -> Iterator[Row]:
    """Ask the questions of a set in each way."""
    dataset = load(folder)
    questions = sample(dataset.questions, limit)
    with kgsparql.open(*dataset.graph) as knowledge:
        knowledge.ask(questions[0].text)  # the first question has the index to make
        yield Row.of(dataset.name, "", WAYS[0], [(own, record_of(knowledge, own, None)) for own in questions])
        if model is None:
            return
        records = [(own, record_of(knowledge, own, model, trial=trial)) for own in questions]
        yield Row.of(dataset.name, model.name, WAYS[1 if trial else 2], records)
        if baseline:
            writer = Writer(knowledge, model)
            records = [(own, writer.record(own, knowledge.ask(own.text))) for own in questions]
            yield Row.of(dataset.name, model.name, WAYS[3], records)


def ceiling_rows(folder: Path, *, limit: int) -> Iterator[Row]:
    """Ask the questions whose way is known without a model, and of a model that knows the answers."""
    dataset = load(folder)
    with kgsparql.open(*dataset.graph) as knowledge:
        drawn = sample(dataset.questions, limit)
        questions = [own for own in drawn if own.answers and (own.path or own.golden_triples)]
        model = _knowing_model(knowledge, questions)
        for name, way, asked in (("", WAYS[0], None), (model.name, KNOWS, model)):
            some = [(own, record_of(knowledge, own, asked)) for own in questions]
            yield Row.of(f"{dataset.name}, way known", name, way, some)


def _knowing_model(knowledge: kgsparql.KnowledgeBase, questions: Sequence[Question]) -> LanguageModel:
    """Script a model that passes the trial, and then chooses the first line with a right answer in it."""
    labels = knowledge.labels({one.term for own in questions for one in own.answers or () if one.term is not None})
    gold = {q.text: [one.label or (labels[one.term] if one.term else "") for one in q.answers or ()] for q in questions}

    def script(body: Body) -> Reply:
        if (question := question_of(body)) not in gold or purpose(body) != "reading":
            return strong(body)
        right = [one.casefold() for one in gold[question] if one and one.casefold() not in question.casefold()]
        lines = (n for n, line in numbered(body).items() if any(one in line.casefold() for one in right))
        return Text({"numbers": [*lines][:1], "meaning": "", "search": "", "compute": False})

    model = LanguageModel("scripted", ModelServer(script).client())
    Trial(model).run()
    return model


def table(rows: Sequence[Row]) -> str:
    """Write the rows as Markdown, those of a set together."""
    head = "| questions | who answers | n | right | wrong, sure | doubted | calls | tokens | seconds | of these |"
    ordered = sorted(rows, key=lambda row: (row.dataset, row.model, WAYS.index(row.way)))
    return "\n".join([head, "|---|---|" + "---:|" * 7 + "---|", *(row.line() for row in ordered)]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", type=Path, metavar="SET")
    parser.add_argument("-m", "--model", help="without one, only the row without a model is made")
    parser.add_argument("--base-url")
    parser.add_argument("--limit", type=int, default=30)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds of one call")
    parser.add_argument("--baseline", action="store_true")
    parser.add_argument("--untried", action="store_true", help="ask it though nobody tried it out")
    parser.add_argument("--ceiling", action="store_true", help="ask a scripted model that knows the answers")
    parser.add_argument("--work", type=Path, default=KEPT)
    parser.add_argument("--write", action="store_true", help="write the table into docs/evaluation.md")
    given = parser.parse_args()
    lines = given.work.read_text(encoding="utf-8").splitlines() if given.work.exists() else []
    kept = {(row.dataset, row.model, row.way): row for row in (Row(**json.loads(line)) for line in lines)}
    model = kgsparql.open_model(given.model, base_url=given.base_url, timeout_s=given.timeout) if given.model else None
    if model is not None and not given.untried:  # however long that takes: within a question's time it may fail
        print(admitted(model, Usage(Budget(max_seconds=None)), required=True)[1], file=sys.stderr, flush=True)
    given.work.parent.mkdir(parents=True, exist_ok=True)
    for folder in given.sets:
        asked = rows_of(folder, model, limit=given.limit, baseline=given.baseline, trial=not given.untried)
        for row in ceiling_rows(folder, limit=given.limit) if given.ceiling else asked:
            print(row.line(), file=sys.stderr, flush=True)
            kept[row.dataset, row.model, row.way] = row
            given.work.write_text("\n".join(json.dumps(asdict(own)) for own in kept.values()), encoding="utf-8")
    print(table([*kept.values()]), end="")
    if given.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        PAGE.write_text(f"{before}{MARKS[0]}\n{table([*kept.values()])}\n{MARKS[1]}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
