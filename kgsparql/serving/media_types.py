"""Content negotiation: which of several formats a client likes best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def best_offered(accept: str, offered: Mapping[str, Sequence[str]]) -> str | None:
    """The format that an ``Accept`` header likes best; of equals the first that is offered.

    The most specific range that a media type matches counts, as RFC 9110 has it; an empty header likes everything.

    :param offered: formats, each with its media types: the first is sent, the others count only where they are named.

    >>> offered = {"json": ["application/sparql-results+json", "application/json"], "csv": ["text/csv"]}
    >>> [best_offered(accept, offered) for accept in ("", "text/*;q=.5", "application/json, text/csv", "a/b")]
    ['json', 'csv', 'json', None]
    """
    ranges = dict(_ranges(accept)) or {"*/*": 1.0}
    liked = {
        form: max(_quality(own, ranges), *(ranges.get(other, 0.0) for other in others), 0.0)
        for form, (own, *others) in offered.items()
    }
    best = max(liked, key=liked.__getitem__)
    return best if liked[best] > 0 else None


def _ranges(accept: str) -> Iterable[tuple[str, float]]:
    """The media ranges of a header with their qualities; one whose quality is no number is not liked."""
    for part in accept.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if not name:
            continue
        named = dict(piece.partition("=")[::2] for piece in parameters)
        try:
            quality = float(named.get("q", "1"))
        except ValueError:
            quality = 0.0
        yield name, quality if 0 <= quality <= 1 else 0.0


def _quality(media_type: str, ranges: dict[str, float]) -> float:
    kind = media_type.partition("/")[0]
    return next((ranges[name] for name in (media_type, f"{kind}/*", "*/*") if name in ranges), 0.0)
