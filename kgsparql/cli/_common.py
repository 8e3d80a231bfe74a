"""What every command shares: options, errors as one line, progress."""

from __future__ import annotations

import errno
import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ParamSpec, cast

import typer

from kgsparql.cli._progress import Progress
from kgsparql.errors import DiskFullError, InputError, KgsparqlError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.rdf.paths import Directions

__all__ = [
    "BaseOption",
    "ContextOption",
    "DebugOption",
    "DirectionOption",
    "EmbedderOption",
    "EncodingOption",
    "InputFormatOption",
    "LangOption",
    "OutputOption",
    "QuietOption",
    "ReproducibleOption",
    "SkipBadOption",
    "TextOrJsonOption",
    "VerboseOption",
    "languages",
    "reported",
    "say",
    "sources",
    "write",
]

P = ParamSpec("P")

InputFormatOption = Annotated[
    str | None,
    typer.Option("--input-format", metavar="EXT", help="Format of RDF from stdin: ttl, nt, nq, trig, rdf, jsonld."),
]
BaseOption = Annotated[str | None, typer.Option("--base", metavar="IRI", help="Base for relative IRIs in the files.")]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="Character encoding of the files.")
]
ContextOption = Annotated[
    str | None,
    typer.Option("--context", metavar="FILE", help="Stands in for contexts that JSON-LD only names; none is fetched."),
]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Go on after a statement that is not valid RDF; they are counted.")
]
LangOption = Annotated[
    str, typer.Option("--lang", metavar="TAGS", help="Languages of labels, the preferred first: en,de,fr.")
]
DirectionOption = Annotated[
    str, typer.Option("--direction", metavar="WAY", help="Walk triples: both, forward or inverse.")
]
TextOrJsonOption = Annotated[str | None, typer.Option("-f", "--format", metavar="FORMAT", help="Output: text or json.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Only the result and errors.")]
VerboseOption = Annotated[
    int, typer.Option("-v", "--verbose", count=True, help="Show the steps on stderr; -vv also every query.")
]
EmbedderOption = Annotated[
    str, typer.Option("--embedder", metavar="SPEC", envvar="KGSPARQL_EMBEDDER", show_envvar=False, help="As for ask.")
]
ReproducibleOption = Annotated[bool, typer.Option("--reproducible", help="Leave out what differs between runs.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show where an error came from.")]


def _with_a_place(output: Path | None) -> Path | None:
    """The output file, if it can be written: said before work, and maybe a paid model's, has nowhere to go."""
    reported(_check_place)(output)
    return output


OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write the result here instead of to stdout.", callback=_with_a_place
    ),
]


def say(message: str, *, quiet: bool = False) -> None:
    """A line for the person at the terminal, on stderr; nothing for an empty one."""
    if message and not quiet:
        typer.echo(message, err=True)


def reported(command: Callable[P, None]) -> Callable[P, None]:
    """The command with kgsparql's errors shown as one line with a hint, and their exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except KgsparqlError as error:
            if kwargs.get("debug"):
                traceback.print_exc()
            show_error(error)
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt as error:
            say("interrupted")
            raise typer.Exit(130) from error
        except BrokenPipeError as error:
            # The reader of our output has gone (head, less): say nothing, and keep Python from flushing at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from error
        except typer.Exit:
            raise
        except Exception as error:
            if kwargs.get("debug"):
                raise
            kind = type(error).__name__
            show_error(KgsparqlError(f"{kind}: {error}", hint="a bug in kgsparql; --debug shows where"))
            raise typer.Exit(KgsparqlError.exit_code) from error

    return run


def show_error(error: KgsparqlError, *, about: str = "") -> None:
    """An error as one line with its code, and a second with the way out.

    :param about: which of many questions it is about.
    """
    which = f"{printable(about, 80)!r}: " if about else ""
    typer.echo(f"error: {which}{printable(error.message, 600)} [{error.code}]", err=True)
    if error.hint:
        typer.echo(f"  hint: {printable(error.hint, 600)}", err=True)
    for candidate in error.detail.get("candidates", ()):
        typer.echo(f"  {candidate}", err=True)


def sources(kg: list[str] | None) -> list[str]:
    """The sources named by ``-k``, else those of ``KGSPARQL_KG``, one per line.

    :raises InputError: if there is none.
    """
    if kg and not all(kg):
        raise InputError("-k is empty", hint="is a variable unset? name a file, a directory or a store")
    named = kg or [line.strip() for line in os.environ.get("KGSPARQL_KG", "").splitlines() if line.strip()]
    if not named:
        raise InputError("no graph was given", hint="name one with -k data.ttl, or set KGSPARQL_KG")
    return named


def languages(lang: str) -> tuple[str, ...]:
    """Language tags from ``en,de``, checked.

    :raises InputError: for something that is no language tag.
    """
    from kgsparql.linking.words import comma_separated
    from kgsparql.rdf.terms import Literal, validated

    tags = comma_separated(lang)
    if not tags:
        raise InputError("--lang is empty", hint="for example --lang en,de")
    for tag in tags:
        try:
            validated(Literal("", language=tag))
        except ValueError as error:
            raise InputError(f"not a language tag: {printable(tag, 40)}", hint="for example --lang en,de") from error
    return tags


def write(text: str, output: Path | None) -> None:
    """The result, on stdout or into a file, in UTF-8 and ending with a line end.

    :raises InputError: if the file cannot be written.
    """
    ended = text if text.endswith("\n") or not text else text + "\n"
    write_bytes(ended.encode("utf-8", "replace"), output)


def write_bytes(data: bytes, output: Path | None) -> None:
    """Bytes as they are, on stdout or into a file.

    :raises InputError: if the file cannot be written.
    """
    if output is None:
        with _writing("to stdout"):
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        return
    with _writing(str(output)):
        output.write_bytes(data)


def _check_place(output: Path | None) -> None:
    if output is None:
        return
    if output.is_dir():
        code = errno.EISDIR
    elif not output.parent.is_dir():
        code = errno.ENOTDIR if output.parent.exists() else errno.ENOENT
    elif not os.access(output if output.exists() else output.parent, os.W_OK):
        code = errno.EACCES
    else:
        return
    with _writing(str(output)):
        raise OSError(code, os.strerror(code))


@contextmanager
def _writing(where: str) -> Iterator[None]:
    """A disk that is full and a directory that is not there are what the user can do something about."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"cannot write {where}: {error.strerror}"
        if error.errno == errno.ENOSPC:
            raise DiskFullError(message, hint="free some space, or write elsewhere with -o") from error
        raise InputError(message, hint="choose another file with -o") from error


def progress(*, quiet: bool) -> Progress:
    """A progress display on stderr that only a terminal sees; called as ``(phase, done, total)``."""
    return Progress(enabled=sys.stderr.isatty() and not quiet)


def guessed_format(output: Path | None) -> str | None:
    """The format that an output file's suffix names, if there is one."""
    suffix = output.suffix.lstrip(".").lower() if output else ""
    return {"txt": "text", "markdown": "md"}.get(suffix, suffix) if suffix else None


def two_formats(form: str | None, output: Path | None) -> str:
    """``text`` or ``json``: as told, else by the suffix of the output file.

    :raises OptionError: for another format.
    """
    shape = form or guessed_format(output) or "text"
    if shape not in {"text", "json"}:
        raise OptionError(f"no output format {printable(shape, 40)!r}", hint="one of: text, json")
    return shape


def checked_direction(direction: str) -> Directions:
    """The direction, checked.

    :raises InputError: if it is none.
    """
    if direction not in {"both", "forward", "inverse"}:
        raise InputError(f"no direction {printable(direction, 40)!r}", hint="one of: both, forward, inverse")
    return cast("Directions", direction)


def write_lines(results: Iterable[str], output: Path | None) -> None:
    """Each result as soon as it is there.

    :raises InputError: if the file cannot be written.
    """
    if output is None:
        for text in results:
            write(text, None)
            sys.stdout.flush()
        return
    with ExitStack() as stack:
        with _writing(str(output)):
            file = stack.enter_context(output.open("w", encoding="utf-8", errors="replace", newline=""))
        for text in results:
            with _writing(str(output)):  # and not around the next result, whose errors may be OSErrors too
                file.write(text if text.endswith("\n") else text + "\n")
                file.flush()
