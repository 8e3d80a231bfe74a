"""How a query of an answer is run again outside the page: with curl, and in Python."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kgsparql.errors import NotFoundError
from kgsparql.graphs import EndpointGraph, groups_of

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase

_READING = ("format", "base", "encoding", "skip_bad", "context")


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What is open here, and where it is asked.

    :param served_at: the URL of the endpoint beside the page, if there is one.
    :param needs_token: whether that wants a token.
    """

    knowledge: KnowledgeBase
    served_at: str | None
    needs_token: bool = False

    def ways(self, answer: Mapping[str, Any], marker: str) -> list[dict[str, str]]:
        """For each query of a piece of evidence, ``curl`` and ``Python`` → what to copy; none for graphs not open here.

        :param answer: the JSON object of an answer.
        :raises NotFoundError: if it has no such piece.
        """
        item = next((item for item in answer["evidence"] if item["marker"] == marker), None)
        if item is None:
            raise NotFoundError("this run has no such evidence", hint="open the run again")
        if item["queries"]:
            return [self._ways(own["query"], own["source"]) for own in item["queries"]]
        return [self._ways(item["query"], self._holder(item, answer["graphs"]))] if item["query"] else []

    def _holder(self, item: Mapping[str, Any], graphs: Sequence[str]) -> str:
        """The graph that all triples of a piece of evidence are in; of one answered from a single graph, that."""
        if len(graphs) == 1:
            return graphs[0]
        sources = [{source["graph"] for source in triple["sources"]} for triple in item["triples"]]
        for member in self.knowledge.graph.members:
            names = {member.name, *(stored.source for stored in member.stored)}
            if sources and member.name in graphs and all(names & each for each in sources):
                return member.name
        return ""

    def _ways(self, query: str, graph: str) -> dict[str, str]:
        members, opened = self.knowledge.graph.members, self.knowledge.opened_with
        at = next((at for at, member in enumerate(members) if member.name == graph), None)
        if at is None:
            return {}
        member, ways, options = members[at], {}, {}
        if isinstance(member, EndpointGraph):  # is asked where it is, without the credentials that it was opened with
            sources = [member.name]
            ways["curl"] = curl_command(member.url, query)
        else:
            sources = [str(source) for source in groups_of(opened["sources"])[at]] if opened else []
            options = {name: opened[name] for name in _READING if opened.get(name)} if opened else {}
            if self.served_at is not None:
                ways["curl"] = curl_command(self.served_at, query, needs_token=self.needs_token)
        return {**ways, "Python": python_code(sources, options, query)} if sources else ways


def curl_command(url: str, query: str, *, needs_token: bool = False) -> str:
    r"""A command line for a POSIX shell; the token is read from the environment.

    >>> print(curl_command("http://127.0.0.1:8080/sparql", "ASK { ?it ?is 'so' }"))
    curl http://127.0.0.1:8080/sparql -H 'Accept: application/sparql-results+json' \
      --data-urlencode 'query=ASK { ?it ?is '"'"'so'"'"' }'
    """
    token = ' -H "Authorization: Bearer $KGSPARQL_TOKEN"' if needs_token else ""
    # What a terminal would act on when it is pasted, and what would not be seen, is sent encoded.
    is_plain = _is_plain(query)
    data = f"--data-urlencode {shlex.quote('query=' + query)}" if is_plain else f"--data query={quote(query, '')}"
    return f"curl {shlex.quote(url)} -H 'Accept: application/sparql-results+json'{token} \\\n  {data}"


def python_code(sources: list[str], options: dict[str, object], query: str) -> str:
    """A program that prints the solutions.

    >>> print(python_code(["data.ttl"], {}, "ASK { ?it ?is 'so' }"))
    import kgsparql
    <BLANKLINE>
    knowledge = kgsparql.open('data.ttl')
    print(knowledge.query('''
    ASK { ?it ?is 'so' }
    '''))
    """
    given = [*map(repr, sources), *(f"{name}={value!r}" for name, value in options.items())]
    is_safe = _is_plain(query) and "\\" not in query and "'''" not in query
    text = f"'''\n{query}\n'''" if is_safe else repr(query)
    return f"import kgsparql\n\nknowledge = kgsparql.open({', '.join(given)})\nprint(knowledge.query({text}))"


def _is_plain(text: str) -> bool:
    """Whether all of a text can be seen, and pasted: a tab would complete a word in a terminal."""
    return all(line.isprintable() for line in text.split("\n"))
