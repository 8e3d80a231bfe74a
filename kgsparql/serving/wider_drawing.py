"""The drawing of a run with neighbours that were asked for: beside the evidence, and never taken for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias
from typing import Literal as OneOf

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kgsparql.errors import InputError
from kgsparql.rdf.terms import printable
from kgsparql.rendering.drawing import MOST_NODES, MOST_WHOLE
from kgsparql.rendering.layout import layout_in_layers
from kgsparql.serving.requests import json_of

if TYPE_CHECKING:
    from starlette.requests import Request

_Text: TypeAlias = Annotated[str, Field(max_length=100_000)]


class _Sent(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Term(_Sent):
    """A term as :mod:`~kgsparql.serving.node_neighbours` tells it."""

    term: _Text
    label: _Text
    type: str


class _Triple(_Sent):
    """A triple that was found around the node ``of``."""

    subject: _Term
    predicate: _Term
    object: _Term
    direction: OneOf["forward", "inverse"]
    of: _Text


class WiderDrawing(_Sent):
    """The triples that a drawing is widened by, and whether more than the usual nodes may be in it."""

    triples: Annotated[list[_Triple], Field(max_length=2_000)]
    is_whole: bool = False

    @classmethod
    async def read(cls, request: Request) -> WiderDrawing:
        """What a request asks for.

        :raises InputError: for anything that is no list of such triples.
        """
        try:
            return cls.model_validate(await json_of(request))
        except ValidationError as error:
            why = printable(error.errors()[0]["msg"], 100)
            raise InputError(
                f"this cannot be drawn: {why}", hint="send triples as /api/neighbours gives them"
            ) from error

    def of(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """The drawing of a finished run, its evidence first, then these triples as far as there is room."""
        drawing = (run["whole_drawing"] if self.is_whole else None) or run["drawing"]
        most = MOST_WHOLE if self.is_whole else MOST_NODES
        nodes = {node["term"]: dict(node) for node in drawing["nodes"]}
        edges = {(edge["source"], edge["predicate"], edge["target"]): edge for edge in drawing["edges"]}
        left_out = set()
        for triple in self.triples:
            for end in (triple.subject, triple.object):
                if triple.of not in nodes or end.term in nodes:
                    continue
                if len(nodes) >= most:
                    left_out.add(end.term)
                    continue
                nodes[end.term] = _node(end, len(nodes), nodes[triple.of]["layer"] + 1)
            subject, object_ = nodes.get(triple.subject.term), nodes.get(triple.object.term)
            if subject and object_:
                key = (subject["id"], triple.predicate.term[1:-1], object_["id"])
                edges.setdefault(key, _edge(triple, len(edges), *key))
        _place(list(nodes.values()), list(edges.values()))
        return {
            "nodes": list(nodes.values()), "edges": list(edges.values()),
            "left_out": drawing["left_out"] + len(left_out),
        }  # fmt: skip


def _node(term: _Term, number: int, layer: int) -> dict[str, Any]:
    role = "literal" if term.type == "literal" else "other"
    return {"id": number, "term": term.term, "label": term.label, "description": "", "layer": layer, "role": role,
            "markers": []}  # fmt: skip


def _edge(triple: _Triple, number: int, source: int, predicate: str, target: int) -> dict[str, Any]:
    return {"id": number, "source": source, "target": target, "label": triple.predicate.label, "predicate": predicate,
            "markers": [], "is_inverse": triple.direction == "inverse"}  # fmt: skip


def _place(nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> None:
    ends = [(edge["source"], edge["target"], edge["label"]) for edge in edges]
    places = layout_in_layers([node["label"] for node in nodes], ends, [node["layer"] for node in nodes])
    for node, place in zip(nodes, places, strict=True):
        node.update(layer=place.layer, row=place.row, x=place.x, y=place.y)
