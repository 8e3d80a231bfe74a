"""Everything kgsparql raises, as one tree under :class:`KgsparqlError`; each leaf is the fitting builtin, too.

Each has a stable ``code``, an ``exit_code``, a ``hint`` (what to do), and says whether the same call may succeed later.
Keys and passwords are taken out of whatever is raised, shown, logged or kept.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any, ClassVar
from urllib.parse import quote, quote_plus

KEY_VARIABLE = "OPENAI_API_KEY"

SHORTEST = 6  # characters of a secret: `none`, which is given to servers without keys, is not one
_LONGEST_WORD = 20
_OPEN = {"default-graph-uri", "named-graph-uri", "query"}
_HIDDEN = r"[\w.-]*(?:key|keyid|token|secret|password|passwd|pwd|pass|auth|authorization|credentials?|signature|sig)"
_NAME = re.compile(_HIDDEN, re.IGNORECASE)
_IN_AUTHORITY = re.compile(r"(?<=://)[^/\s'\"<>?#]+@")
_IN_QUERY = re.compile(rf"(?i)(?<=[?&])((?:{_HIDDEN})=)[^&\s#'\"<>]+")


class KgsparqlError(Exception):
    """The root: catch this to catch everything kgsparql raises on purpose.

    Keys and passwords are taken out of every text when the error is made.

    :param message: one line that says what is wrong and where.
    :param hint: one line that says what to do about it.
    :param code: overrides the class's code where one class covers several kinds.
    :param detail: what a program may want to know (path, line, column, query text …).
    """

    code: str = "E_INTERNAL"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init_subclass__(cls, **attributes: str | int) -> None:
        """Keywords of a class (``code``, ``exit_code``, ``retryable``) are its attributes; the others are inherited."""
        for name, value in attributes.items():
            setattr(cls, name, value)

    def __init__(self, message: str, *, hint: str = "", code: str | None = None, **detail: Any) -> None:
        self.message = redacted(message)
        super().__init__(self.message)
        self.hint = redacted(hint)
        self.detail = {name: redacted(value) if isinstance(value, str) else value for name, value in detail.items()}
        self.code = code or self.code

    def to_json(self) -> dict[str, Any]:
        """Make the JSON object that every interface shows."""
        return {name: getattr(self, name) for name in ("code", "message", "hint", "retryable", "detail")}


class InputError(KgsparqlError, ValueError, code="E_INPUT", exit_code=2):
    """The user typed something that cannot be used."""


class QuestionError(InputError):
    """Something that is no question, such as ``None``, bytes, or a text without a letter or digit."""


class IriError(InputError, code="E_IRI"):
    """A text that is not a valid IRI."""


class PrefixError(InputError, code="E_PREFIX"):
    """A CURIE whose prefix is not known."""


class OptionError(InputError, code="E_OPTION"):
    """An option that the chosen method does not have, or a value it does not take."""


class LimitError(InputError, code="E_LIMIT"):
    """Something larger than a stated limit."""


class QueryTimeoutError(LimitError, TimeoutError, code="E_TIMEOUT"):
    """A query that was stopped at its deadline."""


class ForbiddenQueryError(InputError, code="E_FORBIDDEN_QUERY"):
    """SPARQL that is never run: updates, SERVICE, FROM, LOAD."""


class PlanError(InputError, code="E_PLAN"):
    """A query plan that compares unlike kinds, or is not one."""


class NotFoundError(KgsparqlError, LookupError, code="E_NOT_FOUND", exit_code=3):
    """No entity or no evidence for what was asked."""


class AmbiguousLabelError(NotFoundError, code="E_AMBIGUOUS"):
    """A label that several entities have; ``detail["candidates"]`` lists them."""


class DataError(KgsparqlError, ValueError, code="E_DATA", exit_code=4):
    """RDF, SPARQL, a store or an index that is not as it should be."""


class GraphLoadError(DataError, code="E_PARSE"):
    """RDF that cannot be loaded; ``detail`` has path, line and column where they are known."""


class QueryError(DataError, code="E_QUERY"):
    """A query that the engine could not answer."""


class QuerySyntaxError(QueryError, code="E_SYNTAX"):
    """Text that is not SPARQL."""


class QueryBindingError(QueryError, code="E_BINDING"):
    """A parameter that the query lacks, or a term that VALUES cannot hold."""


class QueryCrashError(QueryError, code="E_QUERY_CRASH"):
    """A query that ended the process that ran it."""


class StoreError(DataError, code="E_STORE"):
    """A store on disk that cannot be opened or written."""


class StoreLockedError(StoreError, code="E_STORE_LOCKED", retryable=True):
    """Another process is writing to the store or index."""


class DiskFullError(StoreError, code="E_DISK_FULL"):
    """No space left."""


class AnswerFileError(DataError, code="E_ANSWER"):
    """A file that holds no answer of kgsparql, or half of one."""


class UnreachableError(KgsparqlError, ConnectionError, code="E_UNREACHABLE", exit_code=5, retryable=True):
    """An endpoint or a model server that does not answer."""


class EndpointError(UnreachableError, code="E_ENDPOINT_DOWN"):
    """A SPARQL endpoint that fails for any reason; ``detail`` has its URL, and the HTTP status if there was one."""


class EndpointTimeoutError(EndpointError, TimeoutError, code="E_TIMEOUT"):
    """An endpoint that was not done at the deadline."""


class EndpointReplyError(EndpointError, ValueError, code="E_ENDPOINT_NOT_SPARQL", retryable=False):
    """A reply that is not a whole SPARQL result; asking again would not help."""


class ModelError(UnreachableError, code="E_MODEL"):
    """A model server that cannot be reached, fails, or does not have the model."""


class ModelTimeoutError(ModelError, TimeoutError, code="E_TIMEOUT"):
    """A model that was not done at the deadline."""


class RequestRefusedError(ModelError, retryable=False):
    """A request that the server does not take (400, 422); ``detail["body"]`` is what it said."""


class ModelReplyError(ModelError, ValueError, code="E_LLM_FORMAT", retryable=False):
    """A reply that came, may have been paid for, and cannot be used."""


GRAPH_FAILED = (EndpointError, QueryError)
"""Failures of one graph or query that leave the results of the others valid."""


class AuthenticationError(UnreachableError, PermissionError, code="E_AUTH", retryable=False):
    """Credentials that are missing or not accepted."""


class RateLimitError(UnreachableError, code="E_RATE"):
    """Too many requests, or no quota left."""


MODEL_FAILED = (ModelError, AuthenticationError, RateLimitError)
"""Failures of a model that leave what was found without it valid."""


class EndpointAuthenticationError(AuthenticationError, EndpointError):
    """An endpoint that wants other credentials, or refuses every user."""


class EndpointRateLimitError(RateLimitError, EndpointError):
    """An endpoint that was asked too often."""


class EmbeddingError(UnreachableError, code="E_EMBED"):
    """An embedder that is absent, broken, or returned something else than vectors."""


class BudgetExceededError(KgsparqlError, code="E_BUDGET", exit_code=6):
    """A limit of the question's budget; ``detail["limit"]`` names it."""


class CancelledError(KgsparqlError, code="E_CANCELLED", exit_code=130):
    """Stopped by Ctrl-C or because the caller went away."""


def our_error(error: Exception) -> KgsparqlError:
    """Return the error, or the bug in kgsparql that it is a sign of."""
    if isinstance(error, KgsparqlError):
        return error
    return KgsparqlError(f"{type(error).__name__}: {error}", hint="a bug in kgsparql; --debug shows where")


def not_installed(missing: ImportError, extra: str) -> OptionError:
    """Make the error of what needs a package that an extra brings."""
    return OptionError(f"the package {missing.name} is not installed", hint=f"pip install 'kgsparql[{extra}]'")


def why_invalid(error: Any) -> str:
    """Say where the first thing is that pydantic does not take, and why."""
    first = error.errors(include_url=False)[0]
    place = [] if first["type"] == "value_error" else [*map(str, first["loc"])]
    return ": ".join(filter(None, (".".join(place), first["msg"].removeprefix("Value error, "))))


def is_about_the_query(error: KgsparqlError) -> bool:
    """Tell whether another query may succeed; not at an endpoint that is down, or wants a password."""
    if isinstance(error, EndpointReplyError | AuthenticationError | RateLimitError):
        return False
    failed_at_it = isinstance(error, EndpointError) and int(error.detail.get("status") or 0) >= 500
    return failed_at_it or isinstance(error, QueryError | EndpointTimeoutError)


def redacted(text: str, *secrets: str | None) -> str:
    """Put ``***`` in place of these secrets, of the key in the environment, and of credentials in URLs.

    >>> redacted("POST https://me:pass@host/sparql?api_key=abc failed")
    'POST https://***@host/sparql?api_key=*** failed'
    """
    return _IN_QUERY.sub(r"\1***", _IN_AUTHORITY.sub("***@", without(text, *secrets, os.environ.get(KEY_VARIABLE))))


def without(text: str, *secrets: str | None) -> str:
    """Return the text with ``***`` in place of these secrets; what is too short for a secret stays."""
    for secret in secrets:
        if secret and len(secret) >= SHORTEST:
            text = text.replace(secret, "***")
    return text


def secret_spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the secrets in every encoding in which a server may repeat them, the longest first."""
    from html import escape

    found: set[str] = set()
    for secret in filter(None, secrets):
        in_json = json.dumps(secret, ensure_ascii=False)[1:-1]
        found |= {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), escape(secret), in_json}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def is_secret_parameter(name: str, value: str) -> bool:
    """Tell whether the value of a URL parameter is secret: by its name, or because it looks like a key.

    >>> is_secret_parameter("k3y", "8f7a9b2c"), is_secret_parameter("infer", "true")
    (True, False)
    >>> is_secret_parameter("repository", "wikidata"), is_secret_parameter("default-graph-uri", "urn:graph:1")
    (False, False)
    """
    if _NAME.fullmatch(name) is not None:
        return True
    is_plain = len(value) < SHORTEST or "://" in value or (is_word(value) and not value.isdecimal())
    return not is_plain and name.lower() not in _OPEN


def is_word(secret: str) -> bool:
    """Tell whether a secret is a word or number that ordinary texts have too: hiding it would hide those."""
    is_spelt_so = secret.islower() or secret.isupper() or secret.istitle()
    return secret.isdecimal() or (secret.isalpha() and is_spelt_so and len(secret) <= _LONGEST_WORD)


def shown_source(text: str) -> str:
    """Return what may be shown of a source that could not be opened: all of a path, less of what may be a URL."""
    return unreadable_url(text) if "://" in text or ":" in text.rpartition("@")[0] else text


def unreadable_url(text: str) -> str:
    r"""Return what may be shown of a text that is not a valid URL: the part between the last ``@`` and the first ``?``.

    Before the ``@`` may be a user and a password, after the ``?`` a key.

    >>> unreadable_url("https://me:pa/ss@host/sparql"), unreadable_url("http://host:x/sparql?apikey=1 2")
    ('***@host/sparql', 'http://host:x/sparql?***')
    """
    shown, question_mark, _ = text.strip().rpartition("@")[2].partition("?")
    return f"{'***@' if '@' in text else ''}{shown}{'?***' if question_mark else ''}"
