"""``kgsparql eval make`` and ``validate``: questions of one's own graph, and whether a graph gives gold answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions
from kgsparql.errors import DataError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evaluation.dataset import Dataset
    from kgsparql.evaluation.validation import Finding
    from kgsparql.made_questions.making import MadeQuestions

_MAX_PROBLEMS, _MAX_EXAMPLES, _MAX_TERMS = 5, 8, 3

_FORMATS = "A folder with a graph and questions; a file of JSONL, QALD, TEXT2SPARQL, LC-QuAD or CSV."
DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help=_FORMATS)]
ColumnsOption = Annotated[
    str | None,
    c.option("--columns FIELD=NAME,…", "Columns of a CSV file: question=…,answers=…,topics=…,id=…,sparql=…"),
]


def opened_dataset(
    dataset: str, columns: str | None, graph: GraphOptions, *, lang: str, limit: int | None = None, seed: int = 0
) -> tuple[Dataset, GraphOptions]:
    """Load a dataset, and find its graph: that of ``-k``, else the one beside the questions, else the usual one.

    The licence, and what could not be read of the dataset, are shown on stderr.

    :param limit: questions that are drawn of it.
    """
    from kgsparql.evaluation.datasets import load, sample

    pairs = [part.partition("=") for part in columns.split(",")] if columns is not None else []
    if not all(field.strip() and name.strip() for field, _, name in pairs):
        hint = "for example --columns question=q,answers=a"
        raise OptionError(f"--columns {printable(columns or '', 80)}", hint=hint)
    names = {field.strip(): name.strip() for field, _, name in pairs}
    loaded = load(dataset, columns=names or None, language=c.languages(lang)[0])
    licence = loaded.licence or "no licence information: check before you publish anything made with it"
    source = f" · {loaded.source}" if loaded.source else ""
    graph.say(f"{loaded.name}: {len(loaded.questions):,} questions{source} · {licence}")
    for problem in loaded.problems[:_MAX_PROBLEMS]:
        graph.say(f"  {printable(str(problem), 300)}")
    if len(loaded.problems) > _MAX_PROBLEMS:
        graph.say(f"  … and {len(loaded.problems) - _MAX_PROBLEMS:,} more: kgsparql eval validate lists them")
    drawn = replace(loaded, questions=sample(loaded.questions, limit, seed))
    is_beside = loaded.graph and not graph.kg
    return drawn, replace(graph, kg=list(map(str, loaded.graph))) if is_beside else graph


@c.command
def make(
    graph: GraphOptions,
    output: Annotated[Path, c.option("-o --output FOLDER", "Where the questions are written.")],
    count: Annotated[int, c.option("-n --number", "How many questions.", min=1, max=100_000)] = 200,
    max_hops: Annotated[int, c.option("--max-hops", "The longest path from topic to answer.", min=1, max=3)] = 3,
    max_answers: Annotated[int, c.option("--max-answers", "Of one question.", min=1, max=1000)] = 20,
    seed: Annotated[int, c.option("--seed", "Which questions are made.")] = 0,
    lang: c.LangOption = "en",
) -> None:
    """Make questions with known answers from a graph: its frequent paths in English, each verified by execution.

    As many of each number of hops and direction as the graph allows. The same seed gives the same questions. They
    repeat the labels of predicates, which favours methods that compare labels. Then: kgsparql eval FOLDER -o RUN
    """
    from kgsparql.evaluation.datasets import check_folder, write_dataset
    from kgsparql.made_questions.making import make as made_from

    check_folder(output)
    opened = graph.opened(languages=c.languages(lang), embedder="none")
    with c.Progress(quiet=graph.quiet) as shown, opened as knowledge:
        made = made_from(knowledge, count, seed=seed, max_hops=max_hops, max_answers=max_answers, progress=shown)
        write_dataset(output, made, knowledge, sources=graph.sources, seed=seed)
    c.write("\n".join(_made_lines(made, output, count)), None)
    if len(made.questions) < count:
        why = "; ".join(made.why_no_more) or "there are no other paths"
        graph.say(f"{len(made.questions):,} of {count:,}: {why}")
    graph.say("the questions repeat the labels of predicates, which favours methods that compare labels")
    is_file = not any(source == "-" or "://" in source for source in graph.sources)
    more = "-k GRAPH " * (not is_file) + "--gold-topics " * made.are_shared  # shared names tell no entity
    graph.say(f"measure: kgsparql eval {output} {more}-o RUN")


def _made_lines(made: MadeQuestions, output: Path, count: int) -> list[str]:
    of = f" of {count:,}" if len(made.questions) < count else ""
    counts = (f"  {own:>6,}  {hops} hop{'s' if hops > 1 else ' '} {way}" for (hops, way), own in made.counts.items())
    examples = (f"  {printable(q.text, 200)}" for q in made.questions[:: max(1, len(made.questions) // _MAX_EXAMPLES)])
    return [f"{len(made.questions):,}{of} questions in {output}", *counts, "for example:", *examples]


@c.command
def validate(
    graph: GraphOptions,
    dataset: DatasetArgument,
    columns: ColumnsOption = None,
    timeout: Annotated[float, c.option("--timeout SECONDS", "Stop each query then.", min=0.1)] = 30.0,
    limit: Annotated[int, c.option("--limit N", "Findings that are listed.", min=0)] = 50,
    lang: c.LangOption = "en",
) -> None:
    """Run the SPARQL and the paths of a dataset on its graph, and say which gold answers do not come out.

    A query that finds no, or 0, where the graph does not mention what it names is absent: it says nothing. What could
    not be read of the file is listed too.

    Exit code 4 if some do not, if a query is refused, or if the graph lacks terms of the answers.
    """
    from kgsparql.evaluation import validation

    loaded, graph = opened_dataset(dataset, columns, graph, lang=lang)
    opened = graph.opened(languages=c.languages(lang), embedder="none")
    with c.Progress(quiet=graph.quiet) as shown, opened as knowledge:
        findings = validation.validate(loaded, knowledge, timeout_s=timeout, progress=shown)
        share = validation.missing_share(loaded, knowledge)
        name = knowledge.graph.name
    c.write("\n".join(_validation_lines(loaded, name, findings, limit)), None)
    if share == 1:
        raise DataError(f"{name} mentions none of the gold answers and topics", hint="is it the right graph? (-k)")
    if not all(finding.is_fine for finding in findings):
        raise typer.Exit(DataError.exit_code)


def _validation_lines(dataset: Dataset, graph: str, findings: Sequence[Finding], limit: int) -> Iterator[str]:
    """Yield the number of questions by outcome, then the findings that need a look."""
    from kgsparql.evaluation.validation import OUTCOMES

    counts = Counter((finding.outcome, finding.how) for finding in findings)
    yield f"{dataset.name} on {graph}: {len(findings):,} questions"
    for (outcome, how), count in sorted(counts.items(), key=lambda item: (list(OUTCOMES).index(item[0][0]), item)):
        yield f"  {count:>7,}  {outcome:<10}  {how:<7}  {OUTCOMES[outcome]}"
    if absent := sum(bool(finding.absent) for finding in findings):
        yield f"  {absent:>7,}  of these are about terms that are nowhere in the graph"
    if dataset.problems:
        yield f"  {len(dataset.problems):>7,}  problems where the file was read"
        yield from ("", *(f"  {printable(str(problem), 300)}" for problem in dataset.problems))
    wrong = [finding for finding in findings if not finding.is_fine]
    for finding in wrong[:limit]:
        yield from ("", f"{finding.question}  {finding.outcome}: {printable(finding.text, 160)}")
        for name, text in (("why", finding.reason), ("hint", finding.hint)):
            if text:
                yield f"  {name:<8} {printable(text, 300)}"
        for name, terms in (("missing", finding.missing), ("extra", finding.extra), ("absent", finding.absent)):
            if terms:
                more = f", … {len(terms) - _MAX_TERMS:,} more" if len(terms) > _MAX_TERMS else ""
                yield f"  {name:<8} {', '.join(printable(term, 120) for term in terms[:_MAX_TERMS])}{more}"
    if len(wrong) > limit:
        yield f"\n… {len(wrong) - limit:,} more: --limit"
