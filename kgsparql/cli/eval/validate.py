"""``kgsparql eval validate``: whether a graph gives the gold answers of a dataset."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions
from kgsparql.cli.eval._questions import ColumnsOption, DatasetArgument, opened_dataset
from kgsparql.errors import DataError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evaluation.dataset import Dataset
    from kgsparql.evaluation.validation import Finding


_TERMS = 3
"""Missing or extra answers of a question that are shown."""


@c.command
def validate(
    graph: GraphOptions,
    dataset: DatasetArgument,
    columns: ColumnsOption = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Stop each query then.")
    ] = 30.0,
    limit: Annotated[int, typer.Option("--limit", min=0, metavar="N", help="Findings that are listed.")] = 50,
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
    lang: c.LangOption = "en",
) -> None:
    """Run the SPARQL and the paths of a dataset on its graph, and say which gold answers do not come out.

    A query that finds no, or 0, where the graph does not mention what it names is absent: it says nothing. What could
    not be read of the file is listed too.

    Exit code 4 if some do not, if a query is refused, or if the graph lacks terms of the answers.
    """
    from kgsparql.evaluation import validation

    form = c.chosen_format(form, output)
    tags = c.languages(lang)
    loaded, graph = opened_dataset(dataset, columns, graph, language=tags[0])
    with c.Progress(quiet=graph.quiet) as shown, graph.opened(languages=tags, embedder="none") as knowledge:
        findings = validation.validate(loaded, knowledge, timeout_s=timeout, progress=shown)
        share = validation.missing_share(loaded, knowledge)
        name = knowledge.graph.name
    if form == "json":
        c.write(json.dumps(_as_json(loaded, name, findings, share), ensure_ascii=False, indent=1), output)
    else:
        c.write("\n".join(_summary_lines(loaded, name, findings, limit)), output)
    if share == 1:
        raise DataError(f"{name} mentions none of the gold answers and topics", hint="is it the right graph? (-k)")
    if not all(finding.is_fine for finding in findings):
        raise typer.Exit(DataError.exit_code)


def _summary_lines(dataset: Dataset, graph: str, findings: Sequence[Finding], limit: int) -> Iterator[str]:
    """Yield the number of questions by outcome, then the findings that need a look."""
    from kgsparql.evaluation.validation import OUTCOMES

    counts = Counter((finding.outcome, finding.how) for finding in findings)
    yield f"{dataset.name} on {graph}: {len(findings):,} questions"
    for outcome, meaning in OUTCOMES.items():
        for (own, how), count in sorted(counts.items()):
            if own == outcome:
                yield f"  {count:>7,}  {outcome:<10}  {how:<7}  {meaning}"
    wrong = [finding for finding in findings if not finding.is_fine]
    absent = sum(1 for finding in findings if finding.absent)
    if absent:
        yield f"  {absent:>7,}  of these are about terms that are nowhere in the graph"
    if dataset.problems:
        yield f"  {len(dataset.problems):>7,}  problems where the file was read"
        yield ""
        yield from (f"  {printable(str(problem), 300)}" for problem in dataset.problems)
    for finding in wrong[:limit]:
        yield ""
        yield from _finding_lines(finding)
    if len(wrong) > limit:
        yield f"\n… {len(wrong) - limit:,} more (--limit, or -f json for all)"


def _finding_lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.question}  {finding.outcome}: {printable(finding.text, 160)}"
    if finding.reason:
        yield f"  why      {printable(finding.reason, 300)}"
    if finding.hint:
        yield f"  hint     {printable(finding.hint, 300)}"
    for name, terms in (("missing", finding.missing), ("extra", finding.extra), ("absent", finding.absent)):
        if terms:
            more = f", … {len(terms) - _TERMS:,} more" if len(terms) > _TERMS else ""
            yield f"  {name:<8} {', '.join(printable(term, 120) for term in terms[:_TERMS])}{more}"


def _as_json(dataset: Dataset, graph: str, findings: Sequence[Finding], share: float) -> dict[str, Any]:
    return {
        "dataset": dataset.name,
        "source": dataset.source,
        "licence": dataset.licence,
        "graph": graph,
        "questions": len(findings),
        "outcomes": dict(sorted(Counter(finding.outcome for finding in findings).items())),
        "missing_share": round(share, 6),
        "problems": [str(problem) for problem in dataset.problems],
        "findings": [asdict(finding) for finding in findings],
    }
