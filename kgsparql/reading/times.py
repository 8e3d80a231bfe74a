"""What a question says of when something holds: a year, a day, now, before somebody; by the forms of its lexicon."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache

from kgsparql.dataclasses import frozen, replace
from kgsparql.rdf.terms import Literal, first_of, grouped
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import Chunk, places_of
from kgsparql.reading.form import Form
from kgsparql.reading.lexicon import Lexicon

Days = tuple[int, int]
"""The first and the last day of a time, as numbers such as 20090131."""


@frozen
class WhileClause:
    """What is said of two named things: these, and the other words."""

    names: tuple[Chunk, ...]
    texts: tuple[str, ...]


def clause_of(read: Chunked, start: int = 0, stop: int | None = None) -> WhileClause:
    """Make a clause of the words at some places; the first other name is in it, too, where it has at most one."""
    places = range(len(read.texts))[start:stop]
    named = [chunk for chunk in read.chunks if chunk.entities and chunk.is_name]
    names = [chunk for chunk in named if chunk.start in places]
    names += [chunk for chunk in named if chunk.start not in places][: len(names) < 2]
    taken = places_of(names)
    return WhileClause(tuple(names), tuple(read.texts[at] for at in places if at not in taken))


@frozen
class TimeSaid:
    """When something is asked to hold.

    :param kind: `in`, `throughout`, `opening`, `closing`, `before`, `by`, `after`, `since`, `until`, `while`, `now`,
        `former`, `previous`, `first`, `last`, `longest`, `shortest`, `ordered`, `any`; or `start`, `end`, `span`,
        `years`, `age`, where the time is what is asked for.
    :param words: their positions. :param days: of the date that is named. :param beside: what is named instead.
    :param clause: what was so at the same time. :param is_verb: the first word is the verb, and `was` is in its place.
    :param is_beginning: it became so then.
    """

    kind: str
    words: range
    days: Days = (0, 0)
    beside: Chunk | None = None
    clause: WhileClause | None = None
    is_verb: bool = False
    is_beginning: bool = False


ASKED_TIMES = frozenset({"start", "end", "span", "years"})
EVER = 99_991_231
"""A day that is after all others."""


def today() -> int:
    """Return the day that it is, as a number.

    >>> 20_000_101 < today() < 99_991_231
    True
    """
    return int(f"{datetime.now(UTC):%Y%m%d}")


def times_said(asked: Form) -> Iterator[TimeSaid]:
    """Find what a question says of when: the longest form at each place, in their order."""
    chunks = {chunk.start: chunk for chunk in asked.read.chunks}
    at, named, forms = 0, asked.read.named, _time_forms(asked.language)
    while at < len(asked.texts):
        keys = (asked.texts[at], "DATE", "AMOUNT") if at in chunks else (asked.texts[at],)
        likely = (form for key in keys for form in forms.get(key, ()))
        found = first_of(filter(None, (_read_form(form, at, asked, chunks, named) for form in likely)))
        if found is not None:
            yield found
        at = at + 1 if found is None else found.words.stop


def without_time(asked: Form, said: TimeSaid) -> tuple[Chunked, TimeSaid]:
    """Return a question without what it says of when; and this with what began or ended by its verb.

    *When did Ann stop being mayor* asks when it was over that she was so; *when did Ann leave Acme*, with no other
    verb, of whatever she has to do with Acme.
    """
    own, read = asked.language, asked.read
    if said.is_verb:
        read = read.with_text(said.words.start, "was")
    read = read.without(said.words.start + said.is_verb, said.words.stop)
    verbs = own.entering | own.leaving if said.kind in ASKED_TIMES else own.becoming
    named = {chunk.start for chunk in read.chunks if chunk.is_name}
    verb = first_of(at for at, text in enumerate(read.texts) if text in verbs)
    if verb is None or (verb + 1 in named and read.texts[verb] not in own.moving_in):  # who started Acme founded it
        return read, said
    kind = "end" if read.texts[verb] in own.leaving else said.kind
    told = replace(said, kind=kind, is_beginning=kind not in ASKED_TIMES)
    read = read.without(verb, verb + 1 + (read.texts[verb + 1 : verb + 2] == ("being",)))
    auxiliary = first_of(at for at, text in enumerate(read.texts) if text in own.auxiliaries)
    return (read if auxiliary is None else read.with_text(auxiliary, "was")), told


def days_of(chunk: Chunk) -> Days | None:
    """Return the days that the words of a chunk name, all of a month or of years; ``None`` where these are no time."""
    if chunk.date is not None:
        begin = days_of_date(chunk.date)
    elif chunk.number is not None and chunk.may_be_years:
        begin = int(chunk.number) * 10_000, int(chunk.number) * 10_000 + 1231
    else:
        return None
    if begin is None or chunk.last is None:
        return begin
    end = days_of_date(chunk.last) if isinstance(chunk.last, Literal) else (0, int(chunk.last) * 10_000 + 1231)
    return None if end is None else (begin[0], end[1])


def days_of_date(date: Literal) -> Days | None:
    """Return the first and the last day of a date, a month or a year."""
    year, *rest = date.value.replace(" ", "T").partition("T")[0].split("-")
    if not (year.isdecimal() and all(part.isdecimal() for part in rest)):
        return None
    month, day = [*map(int, rest), 0, 0][:2]
    last = day or (monthrange(int(year), month)[1] if month else 31)
    return int(year) * 10_000 + month * 100 + day, int(year) * 10_000 + (month or 12) * 100 + last


@cache
def _time_forms(own: Lexicon) -> dict[str, list[tuple[list[str], str]]]:
    """Read the forms of a language by the words that they may begin with; those of most words first.

    Each is words, with their alternatives, and what they say.
    """
    split = (line.rpartition(":") for line in own.time_forms)
    forms = sorted(((words.split(), kind.strip()) for words, _, kind in split), key=lambda form: -len(form[0]))
    return grouped((one, form) for form in forms for one in form[0][0].removesuffix(">was").split("|"))


def _read_form(
    form: tuple[list[str], str], start: int, asked: Form, chunks: dict[int, Chunk], named: set[int]
) -> TimeSaid | None:
    """Read a form at a place; ``None`` where its words do not stand there."""
    words, kind = form
    at, days, beside, texts = start, (0, 0), None, asked.texts
    for word in words:
        if word == "NAME" and texts[at : at + 1] and texts[at] in asked.language.definites:
            at += 1  # before the Battle of Velk
        chunk = chunks.get(at)
        match word:
            case "DATE" if chunk is not None and (own := days_of(chunk)) is not None:
                at, days = chunk.end, own
            case "AMOUNT" if chunk is not None and chunk.number is not None:
                year = datetime.now(UTC).year - int(chunk.number)
                at, days = chunk.end, (year * 10_000, year * 10_000 + 1231)
            case "NAME" if chunk is not None and chunk.entities:
                at, beside = chunk.end, chunk
            case "CLAUSE":
                return _with_clause(kind, start, at, asked)
            case _ if at < len(texts) and at not in named and texts[at] in word.removesuffix(">was").split("|"):
                at += 1
            case _:
                return None
    return TimeSaid(kind, range(start, at), days, beside, is_verb=words[0].endswith(">was"))


def _with_clause(kind: str, start: int, at: int, asked: Form) -> TimeSaid | None:
    """Read what was so at a time: all that follows, or what stands before the question; ``None`` where that is none."""
    own, texts, stop = asked.language, asked.texts, len(asked.texts)
    if not start:
        stop = next((place for place in range(at, stop) if texts[place] in own.question_words), at)
    clause = clause_of(asked.read, at, stop)
    has_subject = any(at <= name.start < stop for name in clause.names) or not own.pronouns.isdisjoint(clause.texts)
    has_verb = any(text in own.auxiliaries | own.verbs or own.is_participle(text) for text in clause.texts)
    is_name = kind != "while" and not (has_verb and says_more(clause, asked))  # before Ann Lee, before Ann was
    is_whole = clause.names and has_subject and not is_name
    return TimeSaid(kind, range(start, stop), clause=clause) if is_whole else None


def says_more(clause: WhileClause, asked: Form) -> bool:
    """Tell whether a clause says of what it names what happened, or was so."""
    own = asked.language
    return not own.auxiliaries.union(own.light_words, own.pronouns).issuperset(clause.texts)
