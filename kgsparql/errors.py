"""Everything kgsparql raises, as one tree.

::

    KgsparqlError
    ├── InputError (ValueError)                 what the user typed
    │   ├── IriError · PrefixError · OptionError
    │   ├── LimitError                          larger than a stated limit
    │   │   └── QueryTimeoutError (TimeoutError)
    │   └── ForbiddenQueryError                 a form of SPARQL that is never run
    ├── NotFoundError (LookupError)             no such entity, or no evidence
    │   └── AmbiguousLabelError
    ├── DataError (ValueError)                  RDF, SPARQL, store or index that is not as it should be
    │   ├── GraphLoadError                      E_PARSE, E_FORMAT, E_ENCODING, E_DTD, E_EGRESS, E_LIMIT …
    │   ├── QueryError
    │   │   ├── QuerySyntaxError · QueryBindingError · QueryCrashError
    │   ├── StoreError · StoreLockedError · DiskFullError
    │   ├── IndexStaleError · ModelMismatchError · SnapshotError
    │   └── ResourceNotFoundError
    ├── UnreachableError (ConnectionError)      an endpoint or a model server that did not do its part
    │   ├── EndpointError                       E_ENDPOINT_DOWN …
    │   │   ├── EndpointTimeoutError (TimeoutError)
    │   │   ├── EndpointReplyError (ValueError)     E_ENDPOINT_NOT_SPARQL, E_PARTIAL, E_FORMAT, E_LIMIT, E_REDIRECT
    │   │   ├── EndpointAuthenticationError (AuthenticationError)
    │   │   └── EndpointRateLimitError (RateLimitError)
    │   ├── ModelError                          E_MODEL …
    │   │   ├── ModelTimeoutError (TimeoutError)
    │   │   ├── RequestRefusedError             a parameter or message the server does not take
    │   │   └── ModelReplyError (ValueError)    E_LLM_EMPTY, E_LLM_FORMAT, E_LLM_PARTIAL, E_LLM_REFUSED, E_LLM_LENGTH …
    │   ├── AuthenticationError (PermissionError)
    │   ├── RateLimitError
    │   ├── ReplayMissError (LookupError)       an exchange that was not recorded
    │   └── EmbeddingError
    ├── BudgetExceededError                     a limit of the question's budget
    └── CancelledError                          Ctrl-C, or the caller went away

Each class has a ``code`` (stable, for machines), an ``exit_code`` (for shells), a ``hint`` (what to do) and says
whether the same call may succeed later (``retryable``).
"""

from __future__ import annotations

from typing import Any, ClassVar

from kgsparql.redaction import redacted

__all__ = [
    "GRAPH_FAILED",
    "AmbiguousLabelError",
    "AuthenticationError",
    "BudgetExceededError",
    "CancelledError",
    "DataError",
    "DiskFullError",
    "EmbeddingError",
    "EndpointAuthenticationError",
    "EndpointError",
    "EndpointRateLimitError",
    "EndpointReplyError",
    "EndpointTimeoutError",
    "ForbiddenQueryError",
    "GraphLoadError",
    "IndexStaleError",
    "InputError",
    "IriError",
    "KgsparqlError",
    "LimitError",
    "ModelError",
    "ModelMismatchError",
    "ModelReplyError",
    "ModelTimeoutError",
    "NotFoundError",
    "OptionError",
    "PrefixError",
    "QueryBindingError",
    "QueryCrashError",
    "QueryError",
    "QuerySyntaxError",
    "QueryTimeoutError",
    "RateLimitError",
    "ReplayMissError",
    "RequestRefusedError",
    "ResourceNotFoundError",
    "SnapshotError",
    "StoreError",
    "StoreLockedError",
    "UnreachableError",
]


class KgsparqlError(Exception):
    """The root: catch this to catch everything kgsparql raises on purpose.

    No error says a key or a password: they are taken out of every text when it is made.

    :param message: one line that says what is wrong and where.
    :param hint: one line that says what to do about it.
    :param code: overrides the class's code where one class covers several kinds.
    :param detail: what a program may want to know (path, line, column, query text …).

    >>> KgsparqlError("no such thing", hint="look again").to_json()["hint"]
    'look again'
    """

    code: str = "E_INTERNAL"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "", code: str | None = None, **detail: Any) -> None:
        self.message = redacted(message)
        super().__init__(self.message)
        self.hint = redacted(hint)
        self.detail = {name: redacted(value) if isinstance(value, str) else value for name, value in detail.items()}
        if code is not None:
            self.code = code

    def told_of(self, name: str) -> str:
        """The message, with the name of the graph that it is about, unless it begins with that.

        >>> KgsparqlError("e.org: no reply").told_of("e.org"), KgsparqlError("no reply").told_of("e.org")
        ('e.org: no reply', 'e.org: no reply')
        """
        return self.message if self.message.startswith(name) else f"{name}: {self.message}"

    def to_json(self) -> dict[str, Any]:
        """The error as the JSON object that every interface shows."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "retryable": self.retryable,
            "detail": self.detail,
        }


class InputError(KgsparqlError, ValueError):
    """The user typed something that cannot be used."""

    code = "E_INPUT"
    exit_code = 2


class IriError(InputError):
    """A text that is not a valid IRI."""

    code = "E_IRI"


class PrefixError(InputError):
    """A CURIE whose prefix is not known."""

    code = "E_PREFIX"


class OptionError(InputError):
    """An option that the chosen method does not have, or a value it does not take."""

    code = "E_OPTION"


class LimitError(InputError):
    """Larger than a stated limit."""

    code = "E_LIMIT"


class QueryTimeoutError(LimitError, TimeoutError):
    """A query that was stopped at its deadline."""

    code = "E_TIMEOUT"


class ForbiddenQueryError(InputError):
    """SPARQL that is never run: updates, SERVICE, FROM, LOAD."""

    code = "E_FORBIDDEN_QUERY"


class NotFoundError(KgsparqlError, LookupError):
    """No entity or no evidence for what was asked."""

    code = "E_NOT_FOUND"
    exit_code = 3


class AmbiguousLabelError(NotFoundError):
    """A label that several entities have; ``detail["candidates"]`` lists them."""

    code = "E_AMBIGUOUS"


class DataError(KgsparqlError, ValueError):
    """RDF, SPARQL, a store or an index that is not as it should be."""

    code = "E_DATA"
    exit_code = 4


class GraphLoadError(DataError):
    """RDF that cannot be loaded; ``detail`` has path, line and column where they are known."""

    code = "E_PARSE"


class QueryError(DataError):
    """A query that the engine could not answer."""

    code = "E_QUERY"


class QuerySyntaxError(QueryError):
    """Text that is not SPARQL."""

    code = "E_SYNTAX"


class QueryBindingError(QueryError):
    """A parameter that the query lacks, or a term that VALUES cannot hold."""

    code = "E_BINDING"


class QueryCrashError(QueryError):
    """The worker process that ran the query died."""

    code = "E_QUERY_CRASH"


class StoreError(DataError):
    """A store on disk that cannot be opened or written."""

    code = "E_STORE"


class StoreLockedError(StoreError):
    """Another process is writing to the store or index."""

    code = "E_STORE_LOCKED"
    retryable = True


class DiskFullError(StoreError):
    """No space left."""

    code = "E_DISK_FULL"


class IndexStaleError(DataError):
    """A label index made from other data than the graph now has."""

    code = "E_INDEX_STALE"


class ModelMismatchError(DataError):
    """A label index made with another embedding model or recipe."""

    code = "E_MODEL_MISMATCH"


class SnapshotError(DataError):
    """A snapshot that cannot be replayed, because it is damaged or what it was made with has changed."""

    code = "E_SNAPSHOT"


class ResourceNotFoundError(DataError):
    """A file that should have been shipped with the package."""

    code = "E_RESOURCE"


class UnreachableError(KgsparqlError, ConnectionError):
    """An endpoint or a model server that does not answer."""

    code = "E_UNREACHABLE"
    exit_code = 5
    retryable = True


class EndpointError(UnreachableError):
    """A SPARQL endpoint that does not do its part, whatever the reason: what was found so far stands without it.

    ``detail`` has its URL and the status, where there is one.
    """

    code = "E_ENDPOINT_DOWN"


class EndpointTimeoutError(EndpointError, TimeoutError):
    """An endpoint that was not done at the deadline."""

    code = "E_TIMEOUT"


class EndpointReplyError(EndpointError, ValueError):
    """A reply that is not a whole SPARQL result; asking again would not help."""

    code = "E_ENDPOINT_NOT_SPARQL"
    retryable = False


class ModelError(UnreachableError):
    """A model server that cannot be reached, fails, or does not have the model."""

    code = "E_MODEL"


class ModelTimeoutError(ModelError, TimeoutError):
    """A model that was not done at the deadline."""

    code = "E_TIMEOUT"


class RequestRefusedError(ModelError):
    """A request that the server does not take (400, 422); ``detail["body"]`` is what it said."""

    retryable = False


class ModelReplyError(ModelError, ValueError):
    """A reply that came, may have been paid for, and cannot be used."""

    code = "E_LLM_FORMAT"
    retryable = False


GRAPH_FAILED = (EndpointError, QueryError)
"""What asking a graph may end with that is no reason to give up what another graph, or another query, says."""


class AuthenticationError(UnreachableError, PermissionError):
    """Credentials that are missing or not accepted."""

    code = "E_AUTH"
    retryable = False


class RateLimitError(UnreachableError):
    """Too many requests, or no quota left."""

    code = "E_RATE"


class EndpointAuthenticationError(AuthenticationError, EndpointError):
    """An endpoint that wants credentials, or others, or lets nobody in."""


class EndpointRateLimitError(RateLimitError, EndpointError):
    """An endpoint that was asked too often."""


class ReplayMissError(UnreachableError, LookupError):
    """Only recorded exchanges may be used, and this one was not recorded."""

    code = "E_REPLAY"
    retryable = False


class EmbeddingError(UnreachableError):
    """An embedder that is absent, broken, or returned something else than vectors."""

    code = "E_EMBED"


class BudgetExceededError(KgsparqlError):
    """A limit of the question's budget; ``detail["limit"]`` names it."""

    code = "E_BUDGET"
    exit_code = 6


class CancelledError(KgsparqlError):
    """Stopped by Ctrl-C or because the caller went away."""

    code = "E_CANCELLED"
    exit_code = 130
