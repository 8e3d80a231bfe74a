"""A comparison as one HTML file that needs nothing else: no network, no script, light and dark."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgsparql.errors import OptionError
from kgsparql.evaluation.comparison import disagreements as d
from kgsparql.evaluation.comparison.comparison import Comparison
from kgsparql.evaluation.comparison.plots import Plot, plots_of
from kgsparql.evaluation.comparison.tables import Section, Table, sections
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.runs.directory import Run
from kgsparql.rdf.terms import printable

_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --text: #1c1c1e; --soft: #5c5f66; --line: #d9dbe0; --card: #f6f7f9;
  --good: #00704f; --bad: #b3420a; }
@media (prefers-color-scheme: dark) { :root { --ground: #16181c; --text: #e6e7ea; --soft: #a3a7b0; --line: #383c44;
  --card: #1f2228; --good: #4cc9a0; --bad: #f2925c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 72rem; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; } p, ul { margin: .5rem 0; }
.scroll { overflow-x: auto; } .soft, figcaption, caption { color: var(--soft); font-size: .9rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .75rem .3rem 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; } td.left, th.left { text-align: left; } tr.best td { font-weight: 700; }
table.facts td { white-space: normal; overflow-wrap: anywhere; vertical-align: top; text-align: left; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; padding: 8px; }
details { border-top: 1px solid var(--line); padding: .5rem 0; } summary { cursor: pointer; font-weight: 600; }
.methods { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); margin: .75rem 0; }
.method { background: var(--card); border-radius: 6px; padding: .6rem .8rem; font-size: .85rem;
  overflow-wrap: anywhere; }
.method ul, .question { list-style: none; padding: 0; margin: .25rem 0; } .method b { display: block; }
.right b { color: var(--good); } .wrong b { color: var(--bad); }
dt { font-weight: 600; margin-top: .75rem; } dd { margin: 0; }
"""


# The last line keeps a browser from loading or running anything, whatever a graph holds.
_META = """<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
"""


_NO_LICENCE = "no licence information"


class _Html(str):
    """A text that is HTML already."""

    __slots__ = ()


def _element(name: str, *children: str, **attributes: str) -> _Html:
    """An element; whatever is not HTML yet is escaped.

    >>> _element("p", "a < b", _element("b", "!"), class_="x")
    '<p class="x">a &lt; b<b>!</b></p>'
    """
    head = "".join(f' {key.rstrip("_")}="{html.escape(value)}"' for key, value in attributes.items())
    body = "".join(child if isinstance(child, _Html) else html.escape(child) for child in children)
    return _Html(f"<{name}{head}>{body}</{name}>")


def as_html(comparison: Comparison, questions: Sequence[d.Disagreement] = ()) -> str:
    """The report: for each dataset a summary, tables and plots; then questions, runs, and what the metrics mean.

    Without matplotlib it has no plots, and says so.
    """
    try:
        plots, note = plots_of(comparison), ""
    except OptionError as error:
        plots, note = [[] for _ in comparison.leaderboards], f"Without plots: {error.message} ({error.hint})."
    body = [_element("h1", "Methods compared")]
    for section, own in zip(sections(comparison, wide=True), plots, strict=True):
        body += [*_section(section), *map(_figure, own)]
    body += [_element("p", note, class_="soft")] if note else []
    body += _questions(questions)
    body += _runs(comparison)
    body += _definitions(comparison)
    title = _element(
        "title", f"Methods compared: {', '.join(printable(s.dataset, 60) for s in comparison.leaderboards)}"
    )
    head = _element("head", _Html(_META), title, _Html(f"<style>{_STYLE}</style>"))
    page = _element("html", head, _element("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _section(section: Section) -> Iterator[_Html]:
    yield _element("h2", section.heading)
    yield from (_element("p", sentence) for sentence in section.summary)
    for table in section.tables:
        yield _element("h3", table.title)
        yield _element("div", _table(table), class_="scroll")
        yield from (_element("p", caption, class_="soft") for caption in table.captions)
    if section.notes:
        yield _element("h3", "Notes")
        yield _element("ul", *(_element("li", note) for note in section.notes))


def _table(table: Table) -> _Html:
    def line(tag: str, row: Sequence[str], **attributes: str) -> _Html:
        left = {0, *table.left}
        cells = (_element(tag, cell, **({"class_": "left"} if i in left else {})) for i, cell in enumerate(row))
        return _element("tr", *cells, **attributes)

    rows = (line("td", row, **({"class_": "best"} if row[0].endswith(" *") else {})) for row in table.rows)
    return _element("table", _element("thead", line("th", table.columns)), _element("tbody", *rows))


def _figure(plot: Plot) -> _Html:
    data = base64.b64encode(plot.svg.encode()).decode()
    image = _Html(f'<img alt="{html.escape(plot.about)}" src="data:image/svg+xml;base64,{data}">')
    return _element("figure", image, _element("figcaption", plot.about))


def _questions(questions: Sequence[d.Disagreement]) -> Iterator[_Html]:
    if not questions:
        return
    yield _element("h2", "Where methods differ")
    about = "Questions that some methods got right and others wrong; a right answer has a ✓."
    yield _element("p", about, class_="soft")
    for one in questions:
        about = _element("ul", *(_element("li", line) for line in d.question_lines(one)), class_="question")
        cards = _element("div", *map(_card, one.outcomes), class_="methods")
        yield _element("details", _element("summary", d.question_title(one)), about, cards)


def _card(outcome: d.Outcome) -> _Html:
    lines = _element("ul", *(_element("li", line) for line in d.outcome_lines(outcome)))
    kind = "right" if outcome.value >= 1 else "wrong"
    return _element("div", _element("b", d.outcome_title(outcome)), lines, class_=f"method {kind}")


def _runs(comparison: Comparison) -> Iterator[_Html]:
    runs: dict[str, Run] = {}
    for board in comparison.leaderboards:
        for row in board.rows:
            runs.setdefault(row.run or row.dataset, row.scores.run)
    yield _element("h2", "Runs")
    for name, run in runs.items():
        dataset = run.config["dataset"]
        licence = dataset.get("licence") or _NO_LICENCE
        facts = [
            _element("tr", _element("td", key), _element("td", value))
            for key, value in _facts(run.config, is_reproducible=comparison.reproducible)
        ]
        summary = f"{printable(name, 100)}: {printable(run.dataset, 100)} ({printable(licence, 200)})"
        table = _element("table", *facts, class_="facts")
        yield _element("details", _element("summary", summary), _element("div", table, class_="scroll"))


def _facts(config: Mapping[str, Any], *, is_reproducible: bool) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if is_reproducible and key in {"began", "ended", "workers"}:
            continue
        if key == "methods":
            for method in value:
                options = ", ".join(f"{name}={_value_text(one)}" for name, one in method.get("options", {}).items())
                yield f"method {printable(str(method['label']), 60)}", printable(options or "–", 2000)
        elif isinstance(value, Mapping):
            more = {"licence": _NO_LICENCE} if key == "dataset" and not value.get("licence") else {}
            for name, one in {**value, **more}.items():
                yield f"{key}: {printable(str(name), 60)}", _value_text(one)
        else:
            yield key, _value_text(value)


def _value_text(value: object) -> str:
    if value is None or value == "":
        return "–"
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 1000)


def _definitions(comparison: Comparison) -> Iterator[_Html]:
    yield _element("h2", "What the metrics mean")
    parts = []
    for name in comparison.metrics:
        metric = METRICS[name]
        parts += [_element("dt", f"{name} ({metric.better_text})"), _element("dd", metric.about)]
    yield _element("details", _element("summary", f"{len(comparison.metrics)} definitions"), _element("dl", *parts))
