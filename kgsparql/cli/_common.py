"""What the commands share: how errors end them, what is said on stderr, and the result on stdout or in a file."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast, get_type_hints

import typer

from kgsparql.cli._settings import Command, Group, refuse_removed, settings
from kgsparql.dataclasses import dataclass, fields, is_dataclass
from kgsparql.errors import DiskFullError, InputError, KgsparqlError, OptionError, our_error, redacted
from kgsparql.rdf.terms import Json, Literal, json_text, printable, validated
from kgsparql.resources import ClosedAtExit

if TYPE_CHECKING:
    from kgsparql.events import Event
    from kgsparql.rdf.paths import Directions

ANSWER_FORMATS = ("text", "plain", "md", "json", "jsonl", "csv", "sparql", "trig", "mermaid")


def option(usage: str, help: str, **more: Any) -> Any:  # noqa: A002 - as typer has it
    """Make an option of how it is typed, such as ``-o --output FILE``, and its help, which names its variable."""
    *names, last = usage.split()
    is_flag = last.startswith("-")
    words = [*names, last] if is_flag else names
    return typer.Option(*words, metavar=None if is_flag else last, help=help, show_envvar=False, **more)


def format_option(help: str) -> Any:  # noqa: A002 - as typer has it
    """Make the option for the format of a result."""
    return option("-f --format FORMAT", help)


LangOption = Annotated[str, option("--lang TAGS", "Languages of labels, the preferred first: en,de,fr.")]
DirectionOption = Annotated[str, option("--direction WAY", "Walk triples: both, forward or inverse.")]
QuietOption = Annotated[bool, option("-q --quiet", "Only the result and errors.")]
EmbedderOption = Annotated[str, option("--embedder SPEC", "As for ask.", envvar="KGSPARQL_EMBEDDER")]
DebugOption = Annotated[bool, option("--debug", "Show where an error came from.")]


# -- Commands, and how errors end them ----------------------------------------------------------------------------


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function; errors end it with one line, a hint and their exit status.

    A parameter that is a dataclass of options becomes the options that are its fields.
    """
    own = inspect.signature(function, eval_str=True).parameters
    groups: Json = {name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)}
    parameters = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in own.items()
        for one in (_options_of(groups[name]) if name in groups else [parameter])
    ]

    def value_of(name: str, given: Json) -> Any:
        group = groups.get(name)
        return group(**{field.name: given[field.name] for field in fields(group)}) if group else given[name]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        try:
            _refuse_input_as_output(given)
            function(**{name: value_of(name, given) for name in own})
            sys.stdout.flush()
        except KeyboardInterrupt as error:
            say("interrupted")
            raise typer.Exit(130) from error
        except BrokenPipeError as error:
            _forget_stdout()  # the reader of our output (head, less) has closed it: exit quietly
            raise typer.Exit(0) from error
        except typer.Exit:
            raise
        except Exception as raised:
            ours = as_ours(raised, debug=given.get("debug", False))
            show_error(ours)
            if given.get("form") in {"json", "jsonl"}:
                _write_error(ours, given.get("question"))
            raise typer.Exit(ours.exit_code) from raised

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def group(help: str, *functions: Callable[..., None], default: str, **more: Any) -> typer.Typer:  # noqa: A002
    """Make a group of commands; ``default`` is the one that is meant where none is named."""
    made = typer.Typer(
        cls=type("Group", (Group,), {"default": default}), help=help, pretty_exceptions_enable=False, **more
    )  # fmt: skip
    for function in functions:
        made.command(function.__name__.rstrip("_"), cls=Command)(function)
    return made


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)  # each read where its class is: a group may extend another's
    return [one.replace(annotation=hints[one.name]) for one in inspect.signature(group).parameters.values()]


def as_ours(error: Exception, *, debug: bool) -> KgsparqlError:
    """Return the error as one of ours; ``debug`` shows where it came from."""
    if debug:
        say(redacted("".join(traceback.format_exception(error)).rstrip()))
    return our_error(error)


def _write_error(error: KgsparqlError, question: str | None) -> None:
    """Write an error as JSON to stdout, for a program that reads JSON there; of ask, in the shape of its answers."""
    from kgsparql.answering.answer_json import error_json, unanswered_json

    made = {"status": "error", "error": error_json(error)} if question is None else unanswered_json(question, error)
    with suppress(KgsparqlError):  # stdout cannot be written: the error itself is on stderr
        write(json_text(made), None)


def _refuse_input_as_output(options: Json) -> None:
    """Refuse an output file that is also read: by any name of it, in a directory that is read, or in a store."""
    output = options.get("output")
    if not isinstance(output, Path):
        return
    read = [own if isinstance(own, list) else [own] for name, own in options.items() if name != "output"]
    read += [settings().sources(options["kg"])] if "kg" in options else []
    for place in (one for own in read for one in own if isinstance(one, str | Path) and str(one)):
        if _is_same_or_holds(Path(place), output):
            raise InputError(f"-o {output}: would overwrite what is read", hint="write to another file")


def _is_same_or_holds(place: Path, output: Path) -> bool:
    from kgsparql.storage.files import is_store

    try:
        if is_store(place) and any(place.samefile(above) for above in output.resolve().parents if above.exists()):
            return True
        read = place.iterdir() if place.is_dir() else [place]
        return output.is_file() and any(one.is_file() and output.samefile(one) for one in read)
    except (OSError, ValueError):
        return False  # not a name of a file, such as a question


# -- What is said on stderr ---------------------------------------------------------------------------------------


def say(message: str, *, quiet: bool = False) -> None:
    """Write a line to stderr, unless it is empty."""
    if message and not quiet:
        typer.echo(message, file=sys.stderr)  # as it is now: a bar takes what is written there, and stays below it


def show_error(error: KgsparqlError, *, about: str = "") -> None:
    """Write an error as a line with its code, a line with its hint, and a line for each candidate."""
    which = f"{printable(about, 80)!r}: " if about else ""
    message = printable(error.message, 6_000)
    if len(message) > 600:  # what is wrong is said at its end, after a name that may be long
        message = f"{message[:300]}…{message[-299:]}"
    typer.echo(f"error: {which}{message} [{error.code}]", err=True)
    if error.hint:
        typer.echo(f"  hint: {printable(error.hint, 600)}", err=True)
    for candidate in error.detail.get("candidates", ()):
        typer.echo(f"  {candidate}", err=True)


class Progress(ClosedAtExit):
    """Shows ``(phase, done, total)`` calls as a bar on a terminal; elsewhere, and if ``quiet``, nothing.

    Use it as a context manager: at the end it leaves the terminal as it was.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._enabled = sys.stderr.isatty() and not quiet
        self._bar: Any = None
        self._tasks: Json = {}

    def close(self) -> None:
        """Take the bar off the terminal; a further call shows another."""
        if self._bar is not None:
            self._bar.stop()
            self._bar, self._tasks = None, {}
            _drawn.remove(self)

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        """Show how far a phase is; ``total`` is ``None`` where the end is not known."""
        if not self._enabled:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(*Bar.get_default_columns()[:3], console=Console(stderr=True), transient=True)
            self._bar.start()
            _drawn.append(self)
        if phase not in self._tasks:
            self._tasks[phase] = self._bar.add_task(phase, total=total)
        self._bar.update(self._tasks[phase], completed=done, total=total)


_drawn: list[Progress] = []


def clear_bars() -> None:
    """Take the bars off the terminal before an answer is shown there: they would be drawn over its last lines."""
    for bar in tuple(_drawn):
        bar.close()


def say_step(event: Event, verbose: int, *, drafts: bool) -> None:
    """Show a step of a question as lines: with one ``-v`` the steps, with two also queries, prompts and replies.

    :param drafts: an answer without the model is shown without ``-v``, too: a model may take its time.
    """
    from kgsparql import events as e
    from kgsparql.rendering.text import step_words

    if not (verbose or (drafts and isinstance(event, e.Drafted))) or (
        verbose < 2 and isinstance(event, e.QueryRun | e.PathsSearched)
    ):
        return
    if isinstance(event, e.Drafted):
        clear_bars()
    if words := step_words(event):
        say(f"· {words}")
    if verbose >= 2 and isinstance(event, e.QueryRun):
        say(indented(event.text))
    if verbose >= 2 and isinstance(event, e.ModelCalled):
        for heading, text in (("prompt", event.prompt), ("reply", event.reply)):
            say(f"  {heading}")
            say(indented(text, 20_000))


def indented(text: str, limit: int = 400) -> str:
    """Indent a query, a prompt or a reply, each line safe on a terminal and cut at ``limit`` characters."""
    return "\n".join(f"    {printable(line, limit)}" for line in text.splitlines() if not line.startswith("#+"))


def most_lines(lines: Sequence[str], most: int, more: str) -> list[str]:
    """Return at most so many lines, and one that says how many more there are."""
    left = len(lines) - most
    return [*lines[:most], more.format(f"{left:,} more")] if left > 0 else list(lines)


# -- Options that are read in one way -----------------------------------------------------------------------------


def languages(text: str) -> tuple[str, ...]:
    """Return the language tags in ``en,de``, the preferred first."""
    from kgsparql.linking.words import comma_separated

    tags = comma_separated(text)
    if not tags:
        raise InputError("--lang is empty", hint="for example --lang en,de")
    for tag in tags:
        try:
            validated(Literal("", language=tag))
        except ValueError as error:
            raise InputError(f"not a language tag: {printable(tag, 40)}", hint="for example --lang en,de") from error
    return tags


def checked_direction(direction: str) -> Directions:
    """Return a direction of walking: ``both``, ``forward`` or ``inverse``."""
    if direction not in {"both", "forward", "inverse"}:
        raise InputError(f"no direction {printable(direction, 40)!r}", hint="one of: both, forward, inverse")
    return cast("Directions", direction)


def guessed_format(output: Path | None) -> str | None:
    """Guess the format from the suffix of an output file; ``None`` without a suffix."""
    suffix = output.suffix.lstrip(".").lower() if output else ""
    return {"txt": "text", "markdown": "md", "mmd": "mermaid", "rq": "sparql"}.get(suffix, suffix) or None


def chosen_format(form: str | None, output: Path | None, formats: Sequence[str] = ("text", "json")) -> str:
    """Return the format that is named, else that of the output file's suffix, else the first."""
    chosen = form or guessed_format(output) or formats[0]
    if chosen not in formats:
        refuse_removed("options", f"-f {chosen}")
        raise OptionError(f"no output format {printable(chosen, 40)!r}", hint=f"one of: {', '.join(formats)}")
    return chosen


# -- The result ---------------------------------------------------------------------------------------------------


def write(text: str | bytes, output: Path | None) -> None:
    """Write the result to stdout or a file, in UTF-8, with a line end at its end."""
    write_lines([text], output)


def write_json(value: object, output: Path | None) -> None:
    """Write the result as JSON; errors as of :func:`write`."""
    write(json_text(value, indent=2), output)


def write_lines(results: Iterable[str | bytes], output: Path | None) -> None:
    """Write each result as soon as it is there; errors as of :func:`write`."""
    with _opened_output(output) as file:
        for text in results:
            data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
            file.write(data if data.endswith(b"\n") or not data else data + b"\n")
            file.flush()


@contextmanager
def _opened_output(output: Path | None) -> Iterator[BinaryIO]:
    """Open what is written to; an error of the system becomes ours, with what the user can do."""
    try:
        if output is None:
            clear_bars()
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with _opened_file(output) as file:
                yield file
    except KgsparqlError:  # of who makes the results: some are also errors of the system
        raise
    except OSError as error:
        if output is None:
            _forget_stdout()
        if isinstance(error, BrokenPipeError):
            raise
        raise _not_written(output or "to stdout", error) from error


@contextmanager
def _opened_file(output: Path) -> Iterator[BinaryIO]:
    """Open a file that stays as it was until the new one is whole, or as far as it came; a pipe is written."""
    from kgsparql.storage.files import replaced_file

    target = output.resolve()
    is_special = output.absolute().parts[1:2] in {("dev",), ("proc",)} or (target.exists() and not target.is_file())
    if is_special or not os.access(target.parent, os.W_OK):
        with output.open("wb") as file:
            yield file
        return
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666
    stopped: BaseException | None = None
    with replaced_file(target, mode=mode, sync=False) as file:
        try:
            yield file
        except (KgsparqlError, KeyboardInterrupt) as error:  # what is there stays: it may have cost money
            stopped = error
    if stopped is not None:
        raise stopped


def _not_written(where: object, error: OSError) -> KgsparqlError:
    message = f"cannot write {where}: {error.strerror}"
    if error.errno == errno.ENOSPC:
        return DiskFullError(message, hint="free some space, or write elsewhere with -o")
    return InputError(message, hint="choose another file with -o")


def _forget_stdout() -> None:
    """Let Python flush to nowhere at its end what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _writable_output(output: Path | None) -> Path | None:
    """Check the output file before any work: an error after it might be an error after a paid call."""
    if output is not None:
        folder, code = output.parent, 0
        if output.is_dir():
            code = errno.EISDIR
        elif not folder.is_dir():
            code = errno.ENOTDIR if folder.exists() else errno.ENOENT
        elif not os.access(output if output.exists() else folder, os.W_OK):
            code = errno.EACCES
        if code:
            raise _not_written(output, OSError(code, os.strerror(code)))
    return output


OutputOption = Annotated[
    Path | None, option("-o --output FILE", "Write the result here instead of to stdout.", callback=_writable_output)
]


@dataclass(frozen=True)
class ShownOptions:
    """How a result is shown: as text or JSON, on stdout or in a file."""

    form: Annotated[str | None, format_option("Output: text or json.")] = None
    output: OutputOption = None

    def __post_init__(self) -> None:
        chosen_format(self.form, self.output)  # another format is an error before any work

    @property
    def is_json(self) -> bool:
        """Whether it is JSON."""
        return chosen_format(self.form, self.output) == "json"

    def write(self, value: object, lines: Iterable[str]) -> None:
        """Write the result, which is also given as lines for a person."""
        if self.is_json:
            write_json(value, self.output)
        else:
            write("\n".join(lines), self.output)


@dataclass(frozen=True)
class MessageOptions:
    """What a command that opens no graph says beside its result."""

    quiet: QuietOption = False
    debug: DebugOption = False

    def say(self, message: str) -> None:
        """Write a line to stderr, unless ``-q`` is set."""
        say(message, quiet=self.quiet)


@dataclass(frozen=True)
class AloneOptions(MessageOptions, ShownOptions):
    """How a command that opens no graph shows its result."""
