"""What each tool takes: the descriptions are read by models that choose and fill the arguments."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from kgsparql.rdf.paths import Directions

LONG_QUERY = 1_000
"""Characters of a query that is given only to who asks for it."""
OTHER_PLANS = 4
"""Plans beside the one that is computed."""

_Entity: TypeAlias = Annotated[
    str,
    Field(
        max_length=2_000,
        description="An entity, class or predicate: its exact label (`Marie Curie`), an IRI in angle brackets as the "
        "tools give it (`<http://…>`), or a prefixed name (`dbr:Marie_Curie`).",
    ),
]
_Direction: TypeAlias = Annotated[
    Directions,
    Field(
        description="`forward` follows triples from subject to object, `inverse` from object to subject, `both` either."
    ),
]
_WholeQueries: TypeAlias = Annotated[
    bool, Field(description=f"Give also the SPARQL of more than {LONG_QUERY:,} characters, to check or to change it.")
]

_Meant: TypeAlias = Annotated[
    list[_Entity],
    Field(max_length=20, description="What the names in the question mean, where you know it better: see `linked`."),
]


class ToolParameters(BaseModel):
    """The arguments of a tool; a name that it does not have is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AskParameters(ToolParameters):
    """Of ``ask``."""

    question: Annotated[
        str,
        Field(
            max_length=4_000,
            description="One whole question in English that names things as the graph may call them: `Where was Marie "
            "Curie born?`. It cannot refer to earlier questions.",
        ),
    ]
    entities: _Meant = []
    max_answers: Annotated[
        int,
        Field(
            ge=1,
            le=1_000,
            description="Answers in the result; where these are sure, other candidates only if it is given.",
        ),
    ] = 10
    max_evidence: Annotated[
        int,
        Field(
            ge=1,
            le=100,
            description="Pieces of evidence in the result; of sure answers, only their own unless it is given.",
        ),
    ] = 3
    max_triples: Annotated[int, Field(ge=1, le=1_000, description="Triples for each piece of evidence.")] = 3
    whole_queries: _WholeQueries = False


class FindParameters(ToolParameters):
    """Of ``find``."""

    text: Annotated[
        str, Field(max_length=4_000, description="A name or a part of one, such as `Curie`; not a question.")
    ]
    limit: Annotated[int, Field(ge=1, le=100, description="Entities in the result.")] = 10


class ShowParameters(ToolParameters):
    """Of ``show``."""

    entity: _Entity
    direction: _Direction = "both"
    predicate: Annotated[
        _Entity | None, Field(description="Only the neighbours by this predicate; leave it out for all predicates.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=1_000, description="Neighbours for each predicate and direction.")] = 5
    max_predicates: Annotated[int, Field(ge=1, le=1_000, description="Predicates, forward and inverse.")] = 30


class PathsParameters(ToolParameters):
    """Of ``paths``."""

    start: _Entity
    end: _Entity
    direction: _Direction = "both"
    max_hops: Annotated[int, Field(ge=1, le=10, description="The longest path that is looked for.")] = 4
    limit: Annotated[int, Field(ge=1, le=100, description="Paths in the result.")] = 5


class PlanParameters(ToolParameters):
    """Of ``plan``."""

    question: Annotated[
        str,
        Field(
            max_length=4_000,
            description="A whole question whose answer is computed: how many, how much, which has most, is it so, "
            "which do not: `How many Nobel laureates were born in Warsaw?`",
        ),
    ]
    entities: _Meant = []
    other_plan: Annotated[
        int | None,
        Field(ge=1, le=OTHER_PLANS, description="Compute this of the `other_plans` instead: 1 is the first of them."),
    ] = None
    limit: Annotated[int, Field(ge=1, le=1_000, description="Rows in the result.")] = 20
    whole_queries: _WholeQueries = False


class QueryParameters(ToolParameters):
    """Of ``query``."""

    sparql: Annotated[
        str,
        Field(
            max_length=100_000,
            description="A SPARQL 1.1 SELECT, ASK, CONSTRUCT or DESCRIBE query. The prefixes that `info` lists "
            "and well-known ones need no declaration. No update, SERVICE, FROM or LOAD.",
        ),
    ]
    limit: Annotated[int, Field(ge=1, le=1_000, description="Rows, or triples, in the result.")] = 50
    max_seconds: Annotated[float, Field(gt=0, le=120, description="The query is stopped then.")] = 30.0


class InfoParameters(ToolParameters):
    """Of ``info``."""

    limit: Annotated[int, Field(ge=1, le=500, description="Classes, predicates and named graphs, each.")] = 25
