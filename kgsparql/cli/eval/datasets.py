"""``kgsparql eval make`` and ``validate``: questions of one's own graph, and whether a graph gives gold answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
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
    from kgsparql.made_questions.making import MadeQuestions

_MAX_EXAMPLES = 8
_MAX_TERMS = 3
"""Missing or extra answers of a question that are shown."""


@c.command
def make(
    graph: GraphOptions,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the questions are written.")],
    count: Annotated[int, typer.Option("-n", "--number", min=1, max=100_000, help="How many questions.")] = 200,
    max_hops: Annotated[
        int, typer.Option("--max-hops", min=1, max=3, help="The longest path from topic to answer.")
    ] = 3,
    max_answers: Annotated[int, typer.Option("--max-answers", min=1, max=1000, help="Of one question.")] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Which questions are made.")] = 0,
    lang: c.LangOption = "en",
) -> None:
    """Make questions with known answers from a graph: its frequent paths in English, each verified by execution.

    As many of each number of hops and direction as the graph allows. The same seed gives the same questions. They
    repeat the labels of predicates, which favours methods that compare labels. Then: kgsparql eval FOLDER -o RUN
    """
    from kgsparql.evaluation.making import check_folder, write_dataset
    from kgsparql.made_questions.making import make as made_from

    check_folder(output)
    with (
        c.Progress(quiet=graph.quiet) as shown,
        graph.opened(languages=c.languages(lang), embedder="none") as knowledge,
    ):
        made = made_from(knowledge, count, seed=seed, max_hops=max_hops, max_answers=max_answers, progress=shown)
        write_dataset(output, made, knowledge, sources=graph.sources, seed=seed)
    c.write("\n".join(_made_lines(made, output, count)), None)
    if len(made.questions) < count:
        why = "; ".join(made.why_no_more) or "there are no other paths"
        graph.say(f"{len(made.questions):,} of {count:,}: {why}")
    graph.say("the questions repeat the labels of predicates, which favours methods that compare labels")
    if made.are_shared:
        graph.say("nearly every name is shared by several entities here: measure with --gold-topics")
    if not any(source == "-" or "://" in source for source in graph.sources):
        graph.say(f"measure: kgsparql eval {output} -o RUN")
    else:
        graph.say(f"measure: kgsparql eval {output} -k GRAPH -o RUN")


def _made_lines(made: MadeQuestions, output: Path, count: int) -> list[str]:
    of = f" of {count:,}" if len(made.questions) < count else ""
    lines = [f"{len(made.questions):,}{of} questions in {output}"]
    for (hops, direction), own in made.counts.items():
        lines.append(f"  {own:>6,}  {hops} hop{'s' if hops > 1 else ' '} {direction}")
    step = max(1, len(made.questions) // _MAX_EXAMPLES)
    return [*lines, "for example:", *(f"  {printable(q.text, 200)}" for q in made.questions[::step][:_MAX_EXAMPLES])]


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
        c.write(json.dumps(_validation_json(loaded, name, findings, share), ensure_ascii=False, indent=1), output)
    else:
        c.write("\n".join(_validation_lines(loaded, name, findings, limit)), output)
    if share == 1:
        raise DataError(f"{name} mentions none of the gold answers and topics", hint="is it the right graph? (-k)")
    if not all(finding.is_fine for finding in findings):
        raise typer.Exit(DataError.exit_code)


def _validation_lines(dataset: Dataset, graph: str, findings: Sequence[Finding], limit: int) -> Iterator[str]:
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
            more = f", … {len(terms) - _MAX_TERMS:,} more" if len(terms) > _MAX_TERMS else ""
            yield f"  {name:<8} {', '.join(printable(term, 120) for term in terms[:_MAX_TERMS])}{more}"


def _validation_json(dataset: Dataset, graph: str, findings: Sequence[Finding], share: float) -> dict[str, Any]:
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
