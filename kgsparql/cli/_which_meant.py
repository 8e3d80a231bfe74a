"""``ask -i``: where a name of the question has several meanings, a person at the terminal says which is meant."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from kgsparql.cli._stderr import Progress
from kgsparql.errors import InputError, NotFoundError
from kgsparql.evidence.term_labels import descriptions_of
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.linking.linked_entity import LinkedEntity
    from kgsparql.rdf.terms import IRI, Term

_MOST = 9
"""Meanings of a name that are listed."""


def check_terminal(question: str) -> None:
    """Nothing, if a person can be asked.

    :raises InputError: where stdin is no terminal, or holds the questions.
    """
    if question == "-" or not sys.stdin.isatty():
        raise InputError("-i asks a person, and stdin is no terminal", hint="leave -i out, and name things with -e IRI")


def meant_entities(question: str, knowledge: KnowledgeBase, asking: AskOptions) -> tuple[IRI, ...]:
    """What the names of a question mean, as a person says; nothing where no name has several meanings.

    Asked on stderr, a name at a time.

    :raises NotFoundError: if nothing of what is listed is meant by a name.
    :raises KeyboardInterrupt: for Ctrl-C, and the end of input.
    """
    session = knowledge.session(question, asking)
    links = session.linker.link(question) if session.linker is not None else ()
    if not any(link.likely_alternatives for link in links):
        return ()
    groups = [[one.term for one in _meanings(link)] for link in links if link.likely_alternatives]
    descriptions = descriptions_of(groups, session.labels)
    if isinstance(knowledge.indexes.progress, Progress):
        knowledge.indexes.progress.clear()
    return tuple((_chosen(link, descriptions) if link.likely_alternatives else link).term for link in links)


def _meanings(link: LinkedEntity) -> Sequence[LinkedEntity]:
    return (link, *link.likely_alternatives)[:_MOST]


def _chosen(link: LinkedEntity, descriptions: Mapping[Term, str]) -> LinkedEntity:
    meanings, name = _meanings(link), printable(link.mention.text, 80)
    typer.echo(f"{name!r} may be:", err=True)
    for number, one in enumerate(meanings, 1):
        about = descriptions.get(one.term, "")
        typer.echo(f"  {number}. {printable(one.label, 60)}{f' ({about})' if about else ''}", err=True)
    typer.echo("  0. none of these", err=True)
    number = _typed_number(len(meanings))
    if number == 0:
        raise NotFoundError(f"none of these is meant by {name!r}", hint="kgsparql find TEXT; then name it with -e IRI")
    return meanings[number - 1]


def _typed_number(most: int) -> int:
    """What is typed, 1 for an empty line. Not ``typer.prompt``: that writes a space to stdout, which may be a pipe."""
    while True:
        typer.echo(f"Which is meant, 0 to {most}? [1] ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            raise KeyboardInterrupt
        typed = line.strip() or "1"
        if typed.isdecimal() and int(typed) <= most:
            return int(typed)
