"""``kgsparql ask``: a question, or questions from stdin."""

from __future__ import annotations

import io
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, BinaryIO, NamedTuple

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import (
    GraphOptions,
    LimitOptions,
    LogOption,
    MethodOption,
    ModelOptions,
    logged_answer,
    opened_to_ask,
)
from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import (
    BudgetExceededError,
    CancelledError,
    DataError,
    InputError,
    KgsparqlError,
    NotFoundError,
    OptionError,
)
from kgsparql.http.transport import in_words
from kgsparql.rdf.terms import json_text, printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.knowledge_base import KnowledgeBase

_EXIT = {"answered": 0, "partial": BudgetExceededError.exit_code, "not_in_graph": 3, "no_entity": 3}
_ONE_A_LINE = "one a line: kgsparql ask - -k data.ttl < questions.txt"
_MOST_WAITED_S = 600.0  # for an endpoint or a model server that says when to come back, since the last answer


@frozen
class AnswerOptions:
    """How a question is answered, and how the answer is shown."""

    entity: Annotated[list[str] | None, c.option("-e --entity IRI", "An entity, instead of linking; repeatable.")] = (
        None
    )
    retriever: Annotated[
        str | None,
        c.option(
            "-r --retriever NAME", "The method.", show_default="query_plan for what must be computed, else path_ranking"
        ),
    ] = None
    option: MethodOption = None
    embedder: Annotated[
        str,
        c.option(
            "--embedder SPEC",
            "auto, none, or a model's name or path. Else KGSPARQL_EMBEDDER.",
            envvar="KGSPARQL_EMBEDDER",
        ),
    ] = "auto"
    form: Annotated[str | None, c.format_option(f"Output: {', '.join(c.ANSWER_FORMATS)}.")] = None
    output: c.OutputOption = None
    lang: c.LangOption = "en"
    language: Annotated[
        str, c.option("--language CODE", "Of the question: de, en, es, fr.", show_default="its words tell")
    ] = ""
    reading: Annotated[
        int, c.option("--reading N", "Which reading is meant: the number of one that is listed under a doubt.", min=0)
    ] = 0
    min_confidence: Annotated[
        float, c.option("--min-confidence P", "No sure answer, where it is less likely to be right.", min=0, max=1)
    ] = 0.0
    guarantee: Annotated[
        int,
        c.option(
            "--guarantee N",
            "80, 90 or 95: as few readings as hold the right one in N of 100 questions, or none. Of what a graph can "
            "answer, 95 gives none to 46 % (python -m benchmarks.guarantee). Without a model.",
        ),
    ] = 0
    interactive: Annotated[
        bool,
        c.option("-i --interactive", "Ask one question after another: “and where did she die?”, “how many of them …”."),
    ] = False
    log: LogOption = None
    verbose: Annotated[int, c.option("-v --verbose", "Show the steps on stderr; -vv also every query.", count=True)] = 0

    def checked_format(self, question: str, sources: Sequence[str]) -> str:
        """Return the format of the output; refuse a question that cannot be one, or not with these sources."""
        from kgsparql.answering.ask_options import checked_question

        form = self.form or c.guessed_format(self.output)
        if question != "-":
            checked_question(question)
        elif "-" in sources:
            raise InputError("questions and graph cannot both come from stdin", hint="put the graph in a file")
        elif form in {None, "json"}:
            form = "text" if self.interactive and form is None else "jsonl"
        return c.chosen_format(form, None, c.ANSWER_FORMATS)


@c.command
def ask(
    graph: GraphOptions,
    how: AnswerOptions,
    model: ModelOptions,
    limits: LimitOptions,
    question: Annotated[
        str,
        typer.Argument(help='The question in quotes; - reads one per line from stdin, or {"id": …, "question": …}.'),
    ] = "",
) -> None:
    """Answer a question from the graph, with the triples and queries every answer rests on.

    Exit status: 0 answered, 2 wrong use, 3 nothing found, or not what was asked, 4 bad data, 5 unreachable, 6 a limit
    reached, 130 stopped.
    """
    if how.interactive and question:
        raise OptionError("-i together with a question", hint="leave one out: -i reads questions, one after another")
    question = "-" if how.interactive else question
    form = how.checked_format(question, graph.sources)
    is_drafted = form == "text" and how.output is None and sys.stdout.isatty() and not graph.quiet
    emit = partial(c.say_step, verbose=0 if graph.quiet else how.verbose, drafts=is_drafted)
    with opened_to_ask(graph, model, limits, how, emit=emit) as (knowledge, opened):
        asking = opened.about(map(knowledge.resolve, how.entity or ()))
        rendered = partial(_rendered_answer, form=form, told_graphs=len(graph.sources) > 1)
        if question == "-":
            _answer_lines(knowledge, asking, how, form, rendered, debug=graph.debug)
            return
        answer = logged_answer(knowledge, question, asking, how.log)
        results = _all_rows(answer, form, knowledge)
        is_whole = results is not None
        c.write_lines(results or [rendered(answer, verbose=how.verbose)], how.output)
        if is_drafted and (number := _number_typed(answer)):
            answer = logged_answer(knowledge, question, replace(asking, reading=number), how.log)
            c.write(rendered(answer, verbose=how.verbose), None)
        if form in {"plain", "csv", "sparql"}:
            unsaid = answer.text.splitlines()[:1] if answer.gaps else []
            cuts = (cut for item in answer.evidence if item.kind == "computed" for cut in item.cuts)
            unsaid += [] if is_whole else map(str, cuts)
            graph.say("\n".join(printable(line, 600) for line in unsaid))
    if answer.error is not None:
        c.show_error(answer.error)
    if code := _exit_code(answer):
        raise typer.Exit(code)


def _number_typed(answer: Answer) -> int:
    """Ask who sits at a terminal which reading is meant; 0 for none of them."""
    if not answer.choices or not sys.stdin.isatty():
        return 0
    typer.echo(
        answer.say("Which is meant? 1 to {}, or Enter for none:").format(len(answer.choices)), nl=False, err=True
    )
    typer.echo(" ", nl=False, err=True)
    return _number_of(sys.stdin.readline(), answer)


def _number_of(typed: str, answer: Answer) -> int:
    """Read the number of one of the choices of an answer; 0 for other texts."""
    number = int(typed) if re.fullmatch(r"\s*[1-9]\s*", typed) else 0
    return number if number <= len(answer.choices) else 0


def _as_typed(question: str, doubted: Answer | None) -> tuple[str, int]:
    """Return the question and the reading that are meant: those of the answer before, where its number was typed."""
    number = 0 if doubted is None else _number_of(question, doubted)
    return (doubted.question if doubted is not None and number else question), number


def _all_rows(answer: Answer, form: str, knowledge: KnowledgeBase) -> Iterator[str] | None:
    """Write all rows of a table that was cut, where the graph is on this machine; ``None`` for other answers."""
    from kgsparql.graphs.oxigraph import OxigraphGraph
    from kgsparql.plans.running import every_row
    from kgsparql.rendering.rows import table_pieces

    found, graph = answer.computed, knowledge.graph
    if not (found and found.is_table and found.is_cut and form in {"json", "csv"} and isinstance(graph, OxigraphGraph)):
        return None
    return table_pieces(answer, form, every_row(found, graph), knowledge.labels)


def _rendered_answer(answer: Answer, *, form: str, told_graphs: bool, verbose: int = 0) -> str:
    from kgsparql.rendering import render

    at = datetime.now(UTC).isoformat(timespec="seconds") if form == "trig" else ""
    return render(answer, form, verbose=verbose, told_graphs=told_graphs, at=at)


def _exit_code(answer: Answer) -> int:
    if answer.error is not None:
        return answer.error.exit_code
    return _EXIT["not_in_graph"] if answer.gaps else _EXIT[answer.status]


class _Prompting(io.RawIOBase):
    """Stdin that asks for each line, where somebody types."""

    def __init__(self, stdin: BinaryIO) -> None:
        self.stdin = stdin

    def readline(self, size: int | None = -1, /) -> bytes:
        if self.stdin.isatty():
            sys.stdout.flush()
            typer.echo("? ", nl=False, err=True)
        return self.stdin.readline(-1 if size is None else size)


class AskedLine(NamedTuple):
    """A line of stdin: its id, else its number; and its question, or what could be read of it, with the error."""

    id: str | int
    question: str
    error: KgsparqlError | None = None


class _Waiting:
    """Waits where a server wants to be left alone, so long at most since the last answer."""

    def __init__(self, most_s: float) -> None:
        self.most_s = self.left_s = most_s

    def answer_of(self, ask: Callable[[], Answer | KgsparqlError]) -> Answer | KgsparqlError:
        """Ask, and once more after a wait that an error asks for."""
        found = ask()
        error = found if isinstance(found, KgsparqlError) else found.error
        if error is None or not error.retryable:
            self.left_s = self.most_s
            return found
        wait_s = min(self.left_s, float(error.detail.get("retry_after_s") or 0))
        if wait_s <= 0:
            return found
        c.say(f"{error.message}: waiting {in_words(wait_s)}, then the question is asked once more")
        self.left_s -= wait_s
        time.sleep(wait_s)
        return ask()


def _answer_lines(
    knowledge: KnowledgeBase, asking: AskOptions, how: AnswerOptions, form: str, rendered: Callable[[Answer], str],
    *, debug: bool,
) -> None:  # fmt: skip
    """Answer the lines of stdin, each as a line, row or block; then exit with the worst of 1, 5, 6, else 3 or 0."""
    lines = asked_lines(_Prompting(sys.stdin.buffer) if how.interactive else sys.stdin.buffer)
    if (first := next(lines, None)) is None:
        if how.interactive:
            return
        raise NotFoundError("no question came from stdin", hint=_ONE_A_LINE)
    codes: set[int] = set()
    before: Answer | None = None
    doubted: Answer | None = None
    follows: Answer | None = None
    waiting = _Waiting(0.0 if how.interactive else _MOST_WAITED_S)

    def answer_of(question: str) -> Answer | KgsparqlError:
        nonlocal follows
        asked, number = _as_typed(question, doubted if how.interactive else None)
        follows = follows if number else before  # a reading of the same question follows what that followed
        try:
            return logged_answer(knowledge, asked, replace(asking, after=follows, reading=number), how.log)
        except CancelledError:
            raise
        except Exception as raised:  # noqa: BLE001 - a bug too costs one line its answer, and is shown
            return c.as_ours(raised, debug=debug)

    def result_of(line: AskedLine) -> str:
        nonlocal before, doubted
        is_asked = bool(line.question) and line.error is None
        found = waiting.answer_of(partial(answer_of, line.question)) if is_asked else line.error
        if isinstance(found, KgsparqlError):
            codes.add(found.exit_code)
        elif found is not None:
            before, doubted = found if how.interactive and found.status != "no_entity" else before, found
            codes.add(_exit_code(found))
        return _line_result(line, found, form, rendered)

    def results() -> Iterator[str]:
        from kgsparql.rendering.rows import COLUMNS, separated

        if form == "csv":
            yield separated([("id", "question", *COLUMNS)])
        yield from map(result_of, chain([first], lines))

    c.write_lines(results(), how.output)
    if worst := next((code for code in (1, 5, 6) if code in codes), 0 if 0 in codes else NotFoundError.exit_code):
        raise typer.Exit(worst)


def _line_result(
    line: AskedLine, found: Answer | KgsparqlError | None, form: str, rendered: Callable[[Answer], str]
) -> str:
    """Write an answer, or what stands for it on a line with an error, or an empty one."""
    from kgsparql.answering.answer_json import answer_to_json, unanswered_json
    from kgsparql.rdf.path_queries import NOTHING
    from kgsparql.rendering.rows import answer_rows, empty_row, plain_answers, separated

    answer, error = (None, found) if isinstance(found, KgsparqlError) else (found, None)
    if form == "jsonl":
        made = unanswered_json(line.question, error) if answer is None else answer_to_json(answer)
        return json_text({"id": line.id, **made})
    if error is not None:
        c.show_error(error, about=line.question)
    question, why = printable(line.question, 4_000), "" if error is None else printable(error.message, 600)
    if form == "csv":
        lacking = empty_row("empty" if error is None else "error", why)
        rows = [lacking] if answer is None else answer_rows(answer)
        return separated([(str(line.id), question, *row) for row in rows])
    if form == "plain":
        return "\t".join([] if answer is None else plain_answers(answer)) + "\n"
    if form == "sparql":
        return NOTHING.text if answer is None else re.sub(r"\n\s*", " ", rendered(answer))
    shown = "" if answer is None else rendered(answer)
    if form == "text":
        shown = shown or (f"Error: {why}" if why else "No question.")
        return f"{line.id}. {question}".rstrip() + f"\n{shown}\n\n"
    return shown


def asked_lines(stdin: BinaryIO | io.RawIOBase) -> Iterator[AskedLine]:
    """Read the lines of stdin; one that is no question carries its error.

    >>> import io
    >>> lines = io.BytesIO(b'Who?' + chr(10).encode() + b'{"id": "a7", "question": "Where?"}')
    >>> [(line.id, line.question) for line in asked_lines(lines)]
    [(1, 'Who?'), ('a7', 'Where?')]
    """
    for number, data in enumerate(iter(stdin.readline, b""), 1):
        try:
            text = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            message = f"line {number} is not UTF-8: byte {error.start + 1}"
            shown = printable(data[:400].decode("utf-8", "replace"), 80)
            hint = "write it in UTF-8: iconv -t UTF-8"
            yield AskedLine(number, shown, DataError(message, code="E_ENCODING", hint=hint))
        else:
            yield _asked_line(number, text) if text.startswith("{") else AskedLine(number, text)


def _asked_line(number: int, text: str) -> AskedLine:
    """Read a JSON object with a question, and perhaps an id."""
    name: str | int = number
    why = "has no question"
    try:
        found = json.loads(text)
        own, asked = found.get("id"), found.get("question")
        if isinstance(own, bool) or not isinstance(own, str | int | None):
            why = "has an id that is no text"
        else:
            name = number if own is None else own
            if isinstance(asked, str):
                return AskedLine(name, asked.strip())
    except (ValueError, RecursionError) as error:
        why = f"is not JSON: {error}"
    return AskedLine(
        name,
        printable(text, 80),
        InputError(f"line {number} {why}", hint='a line is a question, or {"id": "a7", "question": "Who …?"}'),
    )
