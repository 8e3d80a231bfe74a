"""Make a suite of questions about time, with the dated facts that they are asked of.

The world is a table of facts (subject, relation, value, start, end, rank).  It is written in three shapes: Wikidata
statements, nodes for events and relations, and RDF 1.2 reifiers.  Every gold answer is worked out from the table in
plain Python.  Both ends of a span count, at the granularity of the coarser side; a missing start or end excludes
nothing; a fact without a date holds at no given time but holds at some time; an open end means that it holds today.

The table and the wordings are in time_world.toml, next to this file.  In a wording, {s} is the thing asked about, {o}
the other side of a fact, {y} a year, {a} and {b} two years, {d}, {iso} and {m} a day or month, {n} a count of years.

    python -m benchmarks.time_suite OUTDIR          # the graphs and the questions
"""

import json
import random
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from benchmarks.time_world import DATA, RELATIONS, SHAPES, WORLD, Fact, label, turtle

__all__ = ["Asked", "Gold", "questions", "turtle"]

SEED = 20260
TODAY = datetime.now(UTC).date().isoformat()
YEARS = [str(year) for year in range(1976, 2025)]
# view: the relation, and whether questions name its value and ask for the subject
VIEWS = {name: (name, False) for name in RELATIONS} | {
    "post": ("post", True),
    "squad": ("player", True),
    "club": ("player", False),
    "staff": ("employer", True),
    "resident": ("home", True),
}
# pairs of views for "while"; True: the second may be about another thing than the first
WHILE = {
    ("mayor", "president"): True,
    ("post", "president"): True,
    ("coach", "squad"): False,
    ("home", "employer"): False,
    ("employer", "home"): False,
    ("spouse", "home"): False,
    ("tenant", "owner"): False,
}


@dataclass(frozen=True)
class Gold:
    """A right answer: names, number, yesno, date (one or more), years (a duration) or undated, with its values."""

    sort: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A question as put to one shape; an answer that equals the gold or any of `also` is right."""

    text: str
    shape: str
    domain: str
    kind: str
    language: str
    gold: Gold
    also: tuple[Gold, ...]


class Case(NamedTuple):
    """What a wording of a kind can be filled with."""

    kind: str
    slots: dict[str, str]
    gold: Gold
    also: tuple[Gold, ...]


UNDATED = Gold("undated")


def groups(view: str) -> dict[str, list[Fact]]:
    """Give the facts of a view by the thing that its questions name, in order of time, without deprecated ones."""
    relation, turned = VIEWS[view]
    found: dict[str, list[Fact]] = {}
    for fact in WORLD:
        if fact.relation == relation and fact.mark != "~":
            own = replace(fact, subject=fact.object, object=fact.subject) if turned else fact
            found.setdefault(own.subject, []).append(own)
    return {name: sorted(rows, key=lambda f: f.at or f.start or f.end) for name, rows in found.items()}


def order(one: str, two: str) -> int:
    """Compare two dates at the granularity of the coarser one."""
    size = min(len(one), len(two))
    return (one[:size] > two[:size]) - (one[:size] < two[:size])


def within(rows: Iterable[Fact], low: str, high: str, touch: int = 0) -> list[Fact]:
    """Give the facts that hold at some time from low to high; touch 1 leaves out what shares only a year's edge."""
    found = []
    for fact in rows:
        start, end = fact.at or fact.start, fact.at or fact.end.strip("?")
        late = start and high and order(start, high) >= (1 - touch if 4 in (len(start), len(high)) else 1)
        early = end and low and order(low, end) >= (1 - touch if 4 in (len(end), len(low)) else 1)
        if (start or end) and not late and not early:
            found.append(fact)
    return found


def names(rows: Iterable[Fact]) -> Gold:
    """Make a gold of the other things in the facts."""
    return Gold("names", tuple(sorted({fact.object for fact in rows})))


def count(rows: Iterable[Fact]) -> Gold:
    """Make a gold of how many other things are in the facts."""
    return Gold("number", (str(len({fact.object for fact in rows})),))


def dates(values: Iterable[str]) -> Gold:
    """Make a gold of dates."""
    return Gold("date", tuple(sorted(set(values))))


def yes(value: bool) -> Gold:
    """Make a gold of a yes or a no."""
    return Gold("yesno", ("yes" if value else "no",))


def case(kind: str, slots: dict[str, str], gold: Gold, *also: Gold) -> Case:
    """Make a case, with each other answer once and none of them empty unless it means something."""
    others = dict.fromkeys(other for other in also if other != gold and (other.values or other == UNDATED))
    return Case(kind, slots, gold, tuple(others))


def clean(rows: list[Fact]) -> bool:
    """Tell whether every fact has a known start and a known or open end."""
    return all(fact.start and fact.end != "?" for fact in rows)


def held(rows: Iterable[Fact]) -> tuple[float, bool]:
    """Give how many years the facts held in all, and whether that is known to the day."""
    total, exact = 0.0, False
    for fact in rows:
        end = fact.end or TODAY
        if len(fact.start) == len(end) == 10:
            exact, days = True, (date.fromisoformat(end) - date.fromisoformat(fact.start)).days + 1
            total += days / 365.25
        else:
            total += int(end[:4]) - int(fact.start[:4])
    return total, exact


def duration(rows: list[Fact]) -> list[Gold]:
    """Give the duration of the facts, then the other figures that a careful reader may give."""
    total, exact = held(rows)
    near = [int(total), round(total)] if exact else [total + len(rows), total - 1 if not rows[-1].end else total]
    return [Gold("years", (f"{value:.1f}".removesuffix(".0"),)) for value in [total, *near]]


def unsure(rows: list[Fact], y: str) -> list[Gold]:
    """Give what may be said instead where a fact holds in a year only because one of its ends is unknown."""
    sure = [f for f in rows if f.at or (f.start and f.end != "?") or y in (f.start[:4], f.end[:4])]
    return [] if sure == rows else [names(sure), UNDATED]


def year_cases(s: str, rows: list[Fact]) -> Iterator[Case]:
    """Give the cases that ask about a year or a span of years."""
    for y in YEARS:
        prior, following, b = str(int(y) - 1), str(int(y) + 1), str(int(y) + 3 + int(y) % 4)
        slots, now = {"s": s, "y": y, "a": y, "b": b}, within(rows, y, y)
        yield case("in", slots, names(now), *unsure(now, y))
        if any(f.at == y for f in rows):
            yield case("at", slots, names(now))
        if len(names(now).values) > 1:
            yield case("two", slots, names(now), *unsure(now, y))
        if not clean(rows):
            continue
        yield case("count_in", slots, count(now))
        yield case("as_of", slots, names(now))
        if not now and rows[0].start < y:
            yield case("none", slots, names(now), UNDATED)
        old, new, since = within(rows, "", prior), within(rows, following, ""), within(rows, y, TODAY)
        done, begun = [f for f in old if f.end and f.end[:4] <= y], [f for f in new if f.start[:4] >= y]
        spans = {
            "during": (within(rows, y, b), [within(rows, y, b, 1)]),
            "before": (old, [done]),
            "after": (new, [begun]),
            "since": (since, [within(rows, y, TODAY, 1), [f for f in since if f.start[:4] >= y]]),
            "by": (within(rows, "", y), [old]),
        }
        for kind, (gold, also) in spans.items():
            if 0 < len(gold) < len(rows) and (kind != "during" or b in YEARS):
                yield case(kind, slots, names(gold), *map(names, also))
        if len(opened := [f for f in rows if f.start[:4] == y and not f.end]) == 1:
            yield case("since_one", slots, names(opened))
        if len(ended := [f for f in rows if f.end[:4] == y]) == 1:
            yield case("until", slots, names(ended))
        last, first = within(rows, y + "-12-31", y + "-12-31"), within(rows, y + "-01-01", y + "-01-01")
        yield case("end_of", slots, names(last), names(last[-1:]))
        yield case("start_of", slots, names(first), names(first[:1]))


def day_cases(s: str, rows: list[Fact]) -> Iterator[Case]:
    """Give the cases that ask about a day, a month or some years ago."""
    if not all(f.at or (f.start and f.end != "?") for f in rows):
        return
    edges = [date.fromisoformat(edge) for f in rows for edge in (f.start, f.end) if len(edge) == 10]
    days = [edge + timedelta(shift) for edge in edges for shift in (-1, 0, 1)]
    for day in days or [date(int(y), 1 + int(y) % 12, 14) for y in YEARS]:
        d, m = day.isoformat(), day.isoformat()[:7]
        yield case("on", {"s": s, "d": d, "iso": d}, names(within(rows, d, d)))
        yield case("month", {"s": s, "m": m}, names(within(rows, m, m)))
    for n, word in ((5, "five"), (10, "ten"), (15, "fifteen"), (20, "twenty")):
        past = str(int(TODAY[:4]) - n)
        exact = within(rows, past + TODAY[4:], past + TODAY[4:])
        yield case("ago", {"s": s, "n": word}, names(within(rows, past, past)), names(exact))


def group_cases(s: str, rows: list[Fact]) -> Iterator[Case]:
    """Give the cases that ask about all the facts on a thing: now, former, first, ever, longest, how many."""
    slots, plain = {"s": s}, [f for f in rows if f.start or f.end or f.at]
    now, ended = [f for f in rows if f.start and not f.end], [f for f in rows if f.end or f.at]
    gone = [f for f in ended if f.object not in {g.object for g in now}]
    yield case("ever", slots, names(rows))
    yield case("past", slots, names(rows), names(ended))
    yield case("count_ever", slots, count(rows))
    if now:
        yield case("now", slots, names(now), names([*now, *(f for f in rows if f not in plain)]))
        yield case("count_now", slots, count(now))
    if not clean(rows):
        return
    if not now:
        latest = max(f.end for f in rows)
        yield case("now_ended", slots, names(f for f in rows if f.end == latest))
    if len(names(rows).values) < 2:
        return
    yield case("former", slots, names(gone), names(ended))
    yield case("first", slots, names(rows[:1]))
    yield case("last", slots, names(rows[-1:]), names([f for f in rows if f.end][-1:]))
    yield case("newest", slots, names(rows[-1:]))
    one = sorted(((held([f])[0], f) for f in rows), key=itemgetter(0))
    whole = sorted(
        ({o: held(f for f in rows if f.object == o)[0] for o in names(rows).values}).items(), key=itemgetter(1)
    )
    if whole[-1][1] - whole[-2][1] > 1:
        yield case("longest", slots, Gold("names", (whole[-1][0],)), names([one[-1][1]]))
    if whole[1][1] - whole[0][1] > 1:
        past = [fact for _, fact in one if fact.end]
        yield case("shortest", slots, Gold("names", (whole[0][0],)), names([one[0][1]]), names(past[:1]))


def term_cases(s: str, o: str, terms: list[Fact]) -> Iterator[Case]:
    """Give the cases that ask when one thing had another, and for how long."""
    slots, starts, ends = {"s": s, "o": o}, [f.start for f in terms], [f.end for f in terms]
    yield case("begin", slots, dates(starts), *(dates([start]) for start in starts))
    yield case("still", slots, yes("" in ends))
    if "" not in ends:
        every = [str(y) for f in terms for y in range(int(f.start[:4]), int(f.end[:4]) + 1)]
        yield case("end", slots, dates(ends), dates(ends[-1:]))
        yield case("long", slots, *duration(terms))
        yield case("years", slots, dates(starts + ends), dates(d[:4] for d in starts + ends), dates(every))
    elif len(terms) == 1:
        yield case("begin_now", slots, dates(starts))
        yield case("long_now", slots, *duration(terms))
    for y in YEARS:
        if int(starts[0][:4]) - 5 < int(y) < int(ends[-1][:4] or y) + 5:
            prior, following = str(int(y) - 1), str(int(y) + 1)
            yield case("did", slots | {"y": y}, yes(bool(within(terms, y, y))))
            yield case("did_before", slots | {"y": y}, yes(bool(within(terms, "", prior))))
            yield case("did_after", slots | {"y": y}, yes(bool(within(terms, following, ""))))


def pair_cases(s: str, rows: list[Fact]) -> Iterator[Case]:
    """Give the cases that ask about one other thing, by itself or against the others."""
    if not clean(rows):
        return
    in_line = all(one.end and order(one.end, two.start) <= 0 for one, two in pairwise(rows))
    for o in names(rows).values:
        terms, slots = [f for f in rows if f.object == o], {"s": s, "o": o}
        yield from term_cases(s, o, terms)
        if in_line:
            steps = [(one, two) for one, two in pairwise(rows) if one.object != two.object]
            old, new = [one for one, two in steps if two in terms], [two for one, two in steps if one in terms]
            yield case("before_name", slots, names(old), *(names([f]) for f in old))
            yield case("after_name", slots, names(new), *(names([f]) for f in new))
        rest = [f for f in rows if f not in terms]
        meet, share = ([f for f in rest if overlapping(f, terms, touch)] for touch in (0, 1))
        yield case("same_time", slots, names(meet), names(share))
        for other in rest:
            if len(terms) == 1 and sum(f.object == other.object for f in rest) == 1:
                first, last = sorted([terms[0], other], key=lambda f: f.start)
                if first.end and order(first.end, last.start) <= 0:
                    yield case("earlier", slots | {"o2": other.object}, yes(first in terms))
                    yield case("later", slots | {"o2": other.object}, yes(last in terms))


def overlapping(fact: Fact, terms: list[Fact], touch: int) -> bool:
    """Tell whether a fact holds at some time of the terms; touch 1 wants more than a shared year at the edge."""
    return any(within([fact], term.start, term.end, touch) for term in terms)


def while_cases(view: str, other: str, free: bool) -> Iterator[Case]:
    """Give the cases that ask for what held while something else did."""
    for s, rows in groups(view).items():
        for s2, rows2 in groups(other).items():
            if clean(rows) and clean(rows2) and (free or s == s2):
                for o2 in names(rows2).values:
                    terms = [f for f in rows2 if f.object == o2]
                    meet, share = ([f for f in rows if overlapping(f, terms, touch)] for touch in (0, 1))
                    yield case(f"while.{other}", {"s": s, "s2": s2, "o2": o2}, names(meet), names(share))


def undated_cases(s: str, rows: list[Fact]) -> Iterator[Case]:
    """Give the cases that the graph does not date."""
    bare = not any(f.start or f.end or f.at for f in rows)
    for f in rows:
        slots = {"s": s, "o": f.object}
        alone = sum(g.object == f.object for g in rows) == 1
        if bare or (alone and f.end and not f.start):
            yield case("undated.begin", slots, UNDATED)
        if bare or (alone and f.end == "?"):
            yield case("undated.end", slots, UNDATED)
        if bare or (alone and f.end and (not f.start or f.end == "?")):
            yield case("undated.long", slots, UNDATED)
        if bare:
            for y in YEARS[20:45:4]:
                yield case("undated.did", slots | {"y": y}, UNDATED)
                yield case("undated.in", slots | {"y": y}, UNDATED)
            if len(rows) > 1:
                yield case("undated.before_name", slots, UNDATED)
                yield case("undated.first", slots, UNDATED)


def value_cases(s: str, rows: list[Fact]) -> Iterator[Case]:
    """Give the cases that ask for a number by year, or for a date that a thing has."""
    for f in rows:
        slots = {"s": s, "y": f.at, "v": f.object}
        if "-" in f.object:
            yield case("date", slots, dates([f.object]))
        elif f.at:
            yield case("value_in", slots, count_of(f))
            yield case("when", slots, dates([f.at]))
            yield case("value_none", slots | {"y": str(int(f.at) - 4)}, UNDATED, Gold("names"))
            yield case("latest", slots, count_of(rows[-1]))
        else:
            yield case("undated.value", slots | {"y": "2004"}, UNDATED)


def count_of(fact: Fact) -> Gold:
    """Make a gold of the number that a fact gives."""
    return Gold("number", (fact.object,))


def all_cases() -> dict[tuple[str, str], list[Case]]:
    """Give every case by view and kind, but those with an empty answer that means nothing."""
    found: dict[tuple[str, str], list[Case]] = {}
    makers = (year_cases, day_cases, group_cases, pair_cases, undated_cases)
    for view, (relation, _) in VIEWS.items():
        special = RELATIONS[relation]["classes"][1] in ("number", "date")
        made = [
            c
            for s, rows in groups(view).items()
            for make in ((value_cases,) if special else makers)
            for c in make(s, rows)
        ]
        made += [c for (one, other), free in WHILE.items() if one == view for c in while_cases(one, other, free)]
        for c in made:
            if c.kind == "none" or c.gold == UNDATED or c.gold.values not in ((), ("0",)):
                found.setdefault((view, c.kind), []).append(c)
    return found


def render(text: str, slots: dict[str, str], language: str) -> str:
    """Fill a wording, with names and dates as the language writes them."""
    words = {}
    for key, value in slots.items():
        words[key] = label(value, language)
        if key in "dm":
            year, month, *day = value.split("-")
            name = DATA["months"][language].split()[int(month) - 1]
            dot, of = "." if language == "de" else "", " de" if language == "es" else ""
            words[key] = "".join(f"{int(d)}{dot}{of} " for d in day) + f"{name}{of} {year}"
    filled = text.format(**words)
    return re.sub(r"\b(d|qu)e ([AEIOU])", r"\1'\2", filled) if language == "fr" else filled


def questions() -> list[Asked]:
    """Make the questions; the English ones are asked of each shape, the others of one shape each."""
    rng, cases, used, asked, foreign = random.Random(SEED), all_cases(), set[str](), list[Asked](), 0
    for line in DATA["wordings"].strip().splitlines():
        head, wordings = line.split(": ", 1)
        *code, view, kind = head.split()
        language = code[0] if code else "en"
        for text in wordings.split(" / "):
            fresh = [c for c in cases[view, kind] if f"{view}{c}" not in used] or cases[view, kind]
            sorts: dict[tuple[str, ...], list[Case]] = {}
            for c in fresh:
                sorts.setdefault((c.slots["s"], *(c.gold.values if c.gold.sort == "yesno" else ())), []).append(c)
            picked = rng.choice(sorts[rng.choice(sorted(sorts))])
            used.add(f"{view}{picked}")
            foreign += bool(code)
            for shape in SHAPES if not code else SHAPES[foreign % 3 :][:1]:
                domain = RELATIONS[VIEWS[view][0]]["domain"]
                filled = render(text, picked.slots, language)
                asked.append(Asked(filled, shape, domain, kind, language, picked.gold, picked.also))
    return asked


def main(folder: Path) -> None:
    """Write the three graphs and the questions to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for shape in SHAPES:
        (folder / f"{shape}.ttl").write_text(turtle(shape), encoding="utf-8")
    lines = [json.dumps(asdict(asked), ensure_ascii=False) for asked in questions()]
    (folder / "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
