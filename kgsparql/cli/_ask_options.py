"""The options of ``kgsparql ask``: what is asked, and how."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "FORMATS",
    "AugmentOption",
    "CompleteOption",
    "EmbedderOption",
    "EntityOption",
    "ModelKnowledgeOption",
    "OptionOption",
    "QualifiersOption",
    "QuestionArgument",
    "RerankOption",
    "RetrieverOption",
    "SeedOption",
]

FORMATS = ("text", "md", "json", "jsonl", "trig", "mermaid")
"""Of an answer."""

QuestionArgument = Annotated[str, typer.Argument(help="The question in quotes; - reads one per line from stdin.")]
EntityOption = Annotated[
    list[str] | None,
    typer.Option("-e", "--entity", metavar="IRI", help="An entity of the question, instead of linking; repeatable."),
]
RetrieverOption = Annotated[
    str | None,
    typer.Option(
        "-r", "--retriever", metavar="NAME", help="The method.", show_default="path_ranking, or that of --preset"
    ),
]
OptionOption = Annotated[
    list[str] | None,
    typer.Option("-O", "--option", metavar="NAME=VALUE", help="An option of the method; repeatable."),
]
ModelKnowledgeOption = Annotated[
    bool,
    typer.Option("--allow-model-knowledge", help="Where the graph has no answer, show the model's own, labelled."),
]
CompleteOption = Annotated[
    bool, typer.Option("--complete/--no-complete", help="Follow a way that was chosen to every answer on it.")
]
QualifiersOption = Annotated[
    bool, typer.Option("--qualifiers", help="Walk the statements of Wikidata too: since when, with whom.")
]
AugmentOption = Annotated[
    bool,
    typer.Option("--augment", help="Have the model reword the question for the search: a call more. Experimental."),
]
RerankOption = Annotated[
    int | None,
    typer.Option(
        "--rerank", metavar="N", help="Choose the N best pieces of all the evidence: a call more. Experimental."
    ),
]
EmbedderOption = Annotated[
    str,
    typer.Option(
        "--embedder",
        metavar="SPEC",
        envvar="KGSPARQL_EMBEDDER",
        show_envvar=False,
        help="auto, none, a model's name or path, or an OpenAI-compatible URL#model. Else KGSPARQL_EMBEDDER.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="For methods that draw samples.")]
