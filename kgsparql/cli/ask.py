"""``kgsparql ask``: a question, or questions from stdin."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import (
    HOW_TO_ADD,
    GraphOptions,
    LimitOptions,
    LogOption,
    MethodOption,
    ModelOptions,
    PresetOption,
    SnapshotOptions,
    logged,
    method_with,
    options_of,
)
from kgsparql.cli._settings import settings
from kgsparql.errors import (
    BudgetExceededError,
    CancelledError,
    DataError,
    InputError,
    KgsparqlError,
    LimitError,
    NotFoundError,
    ReplayMissError,
)
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.linking.linked_entity import LinkedEntity
    from kgsparql.rdf.terms import IRI, Term

_EXIT = {"answered": 0, "partial": BudgetExceededError.exit_code, "not_in_graph": 3, "no_entity": 3}
_MAX_LINE_BYTES = 1_000_000
"""Of a line of stdin."""
_MAX_MEANINGS = 9
"""Meanings of a name that a person chooses from."""
_MAX_EXAMPLE_BYTES = 4_000_000
"""Files that are read for the examples where no question was given: half a second; a store is opened at once."""


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """How a question is answered, and how the answer is shown."""

    entity: Annotated[
        list[str] | None,
        typer.Option(
            "-e", "--entity", metavar="IRI", help="An entity of the question, instead of linking; repeatable."
        ),
    ] = None
    retriever: Annotated[
        str | None,
        typer.Option(
            "-r",
            "--retriever",
            metavar="NAME",
            help="The method.",
            show_default="query_plan for what must be computed, else path_ranking; or that of --preset",
        ),
    ] = None
    preset: PresetOption = None
    option: MethodOption = None
    allow_model_knowledge: Annotated[
        bool,
        typer.Option("--allow-model-knowledge", help="Where the graph has no answer, show the model's own, labelled."),
    ] = False
    complete: c.CompleteOption = True
    qualifiers: Annotated[
        bool, typer.Option("--qualifiers", help="Walk the statements of Wikidata too: since when, with whom.")
    ] = False
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder",
            metavar="SPEC",
            envvar="KGSPARQL_EMBEDDER",
            show_envvar=False,
            help="auto, none, a model's name or path, or an OpenAI-compatible URL#model. Else KGSPARQL_EMBEDDER.",
        ),
    ] = "auto"
    form: Annotated[
        str | None,
        typer.Option(
            "-f",
            "--format",
            metavar="FORMAT",
            autocompletion=lambda: list(c.ANSWER_FORMATS),
            help=f"Output: {', '.join(c.ANSWER_FORMATS)}.",
        ),
    ] = None
    output: c.OutputOption = None
    direction: c.DirectionOption = "both"
    lang: c.LangOption = "en"
    seed: Annotated[int, typer.Option("--seed", help="For methods that draw samples.")] = 0
    fail_if_unanswered: Annotated[
        bool, typer.Option("--fail-if-unanswered", help="Of many questions: exit status 3 if one is not answered.")
    ] = False
    interactive: Annotated[
        bool, typer.Option("-i", "--interactive", help="At a terminal: say which is meant of things of one name.")
    ] = False
    log: LogOption = None
    reproducible: c.ReproducibleOption = False
    verbose: c.VerboseOption = 0

    def checked_format(self, question: str, sources: Sequence[str]) -> str:
        """Return the format of the output; refuse a question that cannot be one, or not with these sources."""
        from kgsparql.answering.ask_options import checked_question

        form = self.form or c.guessed_format(self.output)
        if self.interactive and (question == "-" or not sys.stdin.isatty()):
            hint = "leave -i out, and name things with -e IRI"
            raise InputError("-i asks a person, and stdin is no terminal", hint=hint)
        if question != "-":
            checked_question(question)
            return c.chosen_format(form, None, c.ANSWER_FORMATS)
        if "-" in sources:
            raise InputError("questions and graph cannot both come from stdin", hint="put the graph in a file")
        if form == "svg":
            raise InputError("an SVG is one picture: of one question", hint="ask one, or use -f dot or -f mermaid")
        return c.chosen_format("jsonl" if form in {None, "json"} else form, None, c.ANSWER_FORMATS)


@c.command
def ask(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    snapshots: SnapshotOptions,
    *,
    question: Annotated[
        str | None,
        typer.Argument(help='The question in quotes; - reads one per line from stdin, or {"id": …, "question": …}.'),
    ] = None,
    how: AnswerOptions,
) -> None:
    """Answer a question from the graph, with the triples and queries every answer rests on.

    Exit status: 0 answered, 2 wrong use, 3 nothing found, or not what was asked, 4 bad data, 5 unreachable, 6 a limit
    reached, 130 stopped.
    """
    if question is None:
        raise _no_question(graph, lang=how.lang)
    form = how.checked_format(question, graph.sources)
    with _opened_with(question, graph, model, limits, snapshots, how) as (knowledge, asking):
        told_graphs = len(graph.sources) > 1
        rendered = partial(_rendered_answer, form=form, how=how, knowledge=knowledge, told_graphs=told_graphs)
        without = HOW_TO_ADD if asking.model is None and not model.no_model else ""
        if question == "-":
            graph.say(without)
            _answer_lines(knowledge, asking, how, form, rendered, debug=graph.debug)
            return
        with logged(how.log, question) as log:
            is_to_be_asked = how.interactive and not how.entity
            meant = asking.about(_meant_entities(question, knowledge, asking)) if is_to_be_asked else asking
            answer = log(knowledge.answer(question, meant))
        result = rendered(answer, verbose=how.verbose)
    graph.say(without)
    c.write(result, how.output)
    if form in {"plain", "csv", "tsv"}:
        from kgsparql.rendering.rows import cut_lines

        unsaid = answer.text.splitlines()[:1] if answer.gaps else []
        graph.say("\n".join(printable(line, 600) for line in [*unsaid, *cut_lines(answer)]))
    if answer.error is not None:
        c.show_error(answer.error)
    if code := _exit_code(answer):
        raise typer.Exit(code)


@contextmanager
def _opened_with(
    question: str, graph: GraphOptions, model: ModelOptions, limits: LimitOptions, snapshots: SnapshotOptions,
    how: AnswerOptions,
) -> Iterator[tuple[KnowledgeBase, AskOptions]]:  # fmt: skip
    """Open what is asked, and say how it is asked."""
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.retrievers import load

    method, options = method_with(how.preset, how.retriever, options_of(how.option))
    languages, named = c.languages(how.lang), graph.sources
    with snapshots.opened(
        graph.say, "ask", question=question, kg=named, retriever=method, options=options, embedder=how.embedder,
        entities=how.entity or [], model=model.model,
    ) as snapshot:  # fmt: skip
        asking = AskOptions(
            retriever=method, options=options, direction=c.checked_direction(how.direction), seed=how.seed,
            budget=limits.budget(), model=model.opened(seed=how.seed, snapshot=snapshot),
            emit=partial(c.say_step, verbose=0 if graph.quiet else how.verbose),
            allow_model_knowledge=how.allow_model_knowledge, complete=how.complete, qualifiers=how.qualifiers,
        )  # fmt: skip
        load(asking.retriever, asking.options)  # a wrong name or option is said before a graph is loaded
        opened = graph.opened(languages=languages, embedder=how.embedder, snapshot=snapshot, fresh=model.fresh)
        with asking.model or nullcontext(), opened as knowledge:
            yield knowledge, asking.about(knowledge.resolve(name) for name in how.entity or ())


def _rendered_answer(
    answer: Answer, *, form: str, how: AnswerOptions, knowledge: KnowledgeBase, told_graphs: bool, verbose: int = 0
) -> str:
    """Write an answer as text in a format."""
    from kgsparql.rendering import render

    at = "" if how.reproducible or form != "trig" else _time_of(answer, knowledge)
    if how.reproducible:
        differing = dict.fromkeys(("seconds", "cached_calls", "paid_cost", "prepared"))
        answer = replace(answer, usage={**answer.usage, **differing})
    return render(answer, form, verbose=verbose, told_graphs=told_graphs, at=at)


def _time_of(answer: Answer, knowledge: KnowledgeBase) -> str:
    """Tell when an answer was given; in a replay, when it was recorded, empty if that was not noted."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        return str(knowledge.measured({"answered": answer.question}, {"at": now})["at"])
    except ReplayMissError:
        return ""


def _answer_lines(
    knowledge: KnowledgeBase, asking: AskOptions, how: AnswerOptions, form: str, rendered: Callable[[Answer], str],
    *, debug: bool,
) -> None:  # fmt: skip
    def answered(question: str) -> Answer:
        with logged(how.log, question) as log:
            return log(knowledge.answer(question, asking))

    batch = Batch(answered, _exit_code, form, rendered, debug=debug)
    c.write_lines(batch.results(asked_lines(sys.stdin.buffer)), how.output)
    if batch.is_empty:
        hint = "one a line: kgsparql ask - -k data.ttl < questions.txt"
        raise NotFoundError("no question came from stdin", hint=hint)
    if code := batch.exit_code(all_answered=how.fail_if_unanswered):
        raise typer.Exit(code)


def _exit_code(answer: Answer) -> int:
    if answer.error is not None:
        return answer.error.exit_code
    return _EXIT["not_in_graph"] if answer.gaps else _EXIT[answer.status]


# -- Where no question was given ----------------------------------------------------------------------------------


def _no_question(graph: GraphOptions, *, lang: str) -> InputError:
    """Make the error, with a few questions that the graph answers, if these are known within about a second."""
    examples = _example_questions(graph, c.languages(lang)) if settings().named_sources(graph.kg) else ()
    usage = 'kgsparql ask "Where was Ann born?" -k data.ttl; - reads questions from stdin'
    hint = "for example:" if examples else usage
    return InputError("no question was given", hint=hint, candidates=[f'"{text}"' for text in examples])


def _example_questions(graph: GraphOptions, languages: tuple[str, ...]) -> tuple[str, ...]:
    from kgsparql.graphs import names_endpoint
    from kgsparql.made_questions.examples import example_questions

    if names_endpoint(graph.sources) or not all(map(_is_opened_soon, graph.sources)):
        return ()
    with graph.opened(languages=languages, embedder="none") as knowledge:
        return example_questions(knowledge, max_seconds=1.0)


def _is_opened_soon(source: str) -> bool:
    """Tell whether a source takes no time to open; one that is not there is told when it is opened."""
    from kgsparql.storage.files import is_store

    path = Path(source)
    if source == "-" or is_store(path):
        return source != "-"
    files = path.rglob("*") if path.is_dir() else [path] if path.is_file() else []
    sizes = (file.stat().st_size * (10 if file.suffix in {".gz", ".bz2", ".xz"} else 1) for file in files)
    return sum(sizes) < _MAX_EXAMPLE_BYTES


# -- Where a person says which is meant ---------------------------------------------------------------------------


def _meant_entities(question: str, knowledge: KnowledgeBase, asking: AskOptions) -> tuple[IRI, ...]:
    """Ask on stderr what each name means that has several meanings; return nothing where no name has.

    :raises NotFoundError: if nothing of what is listed is meant by a name.
    :raises KeyboardInterrupt: for Ctrl-C, and the end of input.
    """
    from kgsparql.evidence.term_labels import descriptions_of

    session = knowledge.session(question, asking)
    links = session.linker.link(question) if session.linker is not None else ()
    if not any(link.likely_alternatives for link in links):
        return ()
    groups = [[one.term for one in _meanings_of(link)] for link in links if link.likely_alternatives]
    descriptions = descriptions_of(groups, session.labels)
    if isinstance(knowledge.indexes.progress, c.Progress):
        knowledge.indexes.progress.clear()
    return tuple((_chosen_meaning(link, descriptions) if link.likely_alternatives else link).term for link in links)


def _meanings_of(link: LinkedEntity) -> Sequence[LinkedEntity]:
    return (link, *link.likely_alternatives)[:_MAX_MEANINGS]


def _chosen_meaning(link: LinkedEntity, descriptions: Mapping[Term, str]) -> LinkedEntity:
    meanings, name = _meanings_of(link), printable(link.mention.text, 80)
    c.say(f"{name!r} may be:")
    for number, one in enumerate(meanings, 1):
        about = descriptions.get(one.term, "")
        c.say(f"  {number}. {printable(one.label, 60)}{f' ({about})' if about else ''}")
    c.say("  0. none of these")
    typed = ""
    while not (typed.isdecimal() and int(typed) <= len(meanings)):
        # Not by typer.prompt: that writes a space to stdout, which may be a pipe.
        typer.echo(f"Which is meant, 0 to {len(meanings)}? [1] ", nl=False, err=True)
        if not (line := sys.stdin.readline()):
            raise KeyboardInterrupt
        typed = line.strip() or "1"
    if int(typed) == 0:
        raise NotFoundError(f"none of these is meant by {name!r}", hint="kgsparql find TEXT; then name it with -e IRI")
    return meanings[int(typed) - 1]


# -- Questions from stdin: nothing in a line keeps the others from an answer -----------------------------------------


@dataclass(frozen=True, slots=True)
class AskedLine:
    """A line of stdin.

    :param id: its own, else the number of the line.
    :param question: empty for an empty line; what could be read of it, where there is an error.
    """

    id: str | int
    question: str
    error: KgsparqlError | None = None


def asked_lines(stdin: BinaryIO) -> Iterator[AskedLine]:
    """Read the lines of stdin; one that is no question carries its error.

    >>> import io
    >>> lines = io.BytesIO(b'Who?' + chr(10).encode() + b'{"id": "a7", "question": "Where?"}')
    >>> [(line.id, line.question) for line in asked_lines(lines)]
    [(1, 'Who?'), ('a7', 'Where?')]
    """
    number = 0
    while data := stdin.readline(_MAX_LINE_BYTES):
        number += 1
        if len(data) == _MAX_LINE_BYTES and not data.endswith(b"\n"):
            shown = printable(data[:400].decode("utf-8", "replace"), 80)
            yield AskedLine(number, shown, LimitError(f"line {number} is too long: at most {_MAX_LINE_BYTES:,} bytes"))
            while data and not data.endswith(b"\n"):
                data = stdin.readline(_MAX_LINE_BYTES)
            continue
        yield _asked_line(number, data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data)


def _asked_line(number: int, data: bytes) -> AskedLine:
    try:
        text = data.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        message = f"line {number} is not UTF-8: byte {error.start + 1}"
        failure = DataError(message, code="E_ENCODING", hint="write it in UTF-8: iconv -t UTF-8")
        return AskedLine(number, printable(data.decode("utf-8", "replace"), 80), failure)
    return _json_line(number, text) if text.startswith(("{", "[", '"')) else AskedLine(number, text)


def _json_line(number: int, text: str) -> AskedLine:
    """Read a question with an id; all other JSON is an error of its line."""

    def wrong(why: str, name: str | int = number) -> AskedLine:
        hint = 'a line is a question, or {"id": "a7", "question": "Who …?"}'
        return AskedLine(name, printable(text, 80), InputError(f"line {number} {why}", hint=hint))

    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return wrong(f"is not JSON: {error}") if text.startswith("{") else AskedLine(number, text)
    if not isinstance(found, dict):
        return wrong("has no question")
    own, question = found.get("id"), found.get("question")
    if own is not None and (not isinstance(own, str | int) or isinstance(own, bool)):
        return wrong("has an id that is no text")
    name: Any = number if own is None else own
    return AskedLine(name, question.strip()) if isinstance(question, str) else wrong("has no question", name)


@dataclass(slots=True)
class Batch:
    """Answers to the lines of stdin, a line, a row or a block for each; afterwards it knows how that went.

    :param ask: answers a question.
    :param code_of: the exit code of an answer.
    :param form: the format.
    :param rendered: an answer in this format, where it is not one of the formats made of lines and rows.
    :param debug: show where each error came from.
    """

    ask: Callable[[str], Answer]
    code_of: Callable[[Answer], int]
    form: str
    rendered: Callable[[Answer], str]
    debug: bool = False
    codes: set[int] = field(default_factory=set)
    is_empty: bool = True

    def results(self, lines: Iterable[AskedLine]) -> Iterator[str]:
        """Write a result for each line, whatever happened to the others.

        :raises CancelledError: if asking was stopped.
        """
        from kgsparql.rendering.rows import COLUMNS, separated

        if self.form in {"csv", "tsv"}:
            yield separated([("id", "question", *COLUMNS)], self.form)
        for line in lines:
            self.is_empty = False
            if result := self._result_of(line):
                yield result

    def _result_of(self, line: AskedLine) -> str:
        if not line.question and line.error is None:
            return self._error_result(line, None)
        error = line.error
        if error is None:
            try:
                answer = self.ask(line.question)
                self.codes.add(self.code_of(answer))
                return self._answer_result(line, answer)
            except CancelledError:
                raise
            except Exception as raised:  # noqa: BLE001 - a bug too costs one line its answer, and is shown
                error = c.as_ours(raised, debug=self.debug)
        self.codes.add(error.exit_code)
        return self._error_result(line, error)

    def exit_code(self, *, all_answered: bool) -> int:
        """Return the worst of 1, 5 and 6; else 3 if none, or where all must be, not every one was answered; else 0."""
        worst = next((code for code in (1, 5, 6) if code in self.codes), 0)
        is_lacking = bool(self.codes - {0}) if all_answered and self.codes else 0 not in self.codes
        return worst or (NotFoundError.exit_code if is_lacking else 0)

    def _answer_result(self, line: AskedLine, answer: Answer) -> str:
        from kgsparql.answering.answer_json import answer_to_json
        from kgsparql.rendering.rows import answer_rows, plain_answers

        if self.form == "jsonl":
            return json.dumps({"id": line.id, **answer_to_json(answer)}, ensure_ascii=False)
        if self.form == "plain":
            return "\t".join(plain_answers(answer)) + "\n"
        if self.form in {"csv", "tsv"}:
            return self._row_lines(line, answer_rows(answer))
        shown = self.rendered(answer)
        return _text_block(line, shown) if self.form == "text" else shown

    def _error_result(self, line: AskedLine, error: KgsparqlError | None) -> str:
        """Write what stands for the answer to a line with an error, or to an empty line."""
        from kgsparql.answering.answer_json import unanswered_json
        from kgsparql.rendering.rows import empty_row

        if self.form == "jsonl":
            return json.dumps({"id": line.id, **unanswered_json(line.question, error)}, ensure_ascii=False)
        if error is not None:
            c.show_error(error, about=line.question)
        if self.form in {"csv", "tsv"}:
            return self._row_lines(line, [empty_row("empty" if error is None else "error")])
        if self.form == "text":
            return _text_block(line, "No question." if error is None else f"Error: {printable(error.message, 600)}")
        return "\n" if self.form == "plain" else ""

    def _row_lines(self, line: AskedLine, rows: Sequence[Sequence[str]]) -> str:
        from kgsparql.rendering.rows import separated

        return separated([(str(line.id), printable(line.question, 4_000), *row) for row in rows], self.form)


def _text_block(line: AskedLine, shown: str) -> str:
    """Write what a line of stdin got, as text under its id."""
    return f"{line.id}. {printable(line.question, 4_000)}".rstrip() + f"\n{shown}\n\n"
