"""Bodies of replies as the specifications spell them: in UTF-8, with strings that a parser takes, in no dialect.

What a server means is certain in each of these; U+FFFD stands for a character that cannot be known.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress

from kgsparql.graphs.decoding import DECLARED_ENCODING, text_codec
from kgsparql.http.transport import HttpReply
from kgsparql.rdf.terms import Literal as RdfLiteral

JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_NODE_ID_IN_JSON = re.compile(rb'("bnode"\s*,\s*"value"\s*:\s*")nodeID://')
_NODE_ID_IN_XML = re.compile(rb"(<bnode>)nodeID://")
"""Virtuoso's names of blank nodes, which are invalid. In a literal, JSON escapes the quote and XML the tag."""
_TRUTH = re.compile(rb'(XMLSchema#boolean"(?:\s*,\s*"value"\s*:\s*"|>))([01])(?=["<])')
"""Virtuoso writes truth values as numbers."""
_IN_JSON_STRING = re.compile(
    rb'(?P<good>\\["\\/bfnrt]|\\u[dD][89aAbB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|'
    rb"\\u(?![dD][89a-fA-F])[\da-fA-F]{4})|\\u[\da-fA-F]{4}|"
    rb"\\(?:'(?P<quote>)|x(?P<hex>[\da-fA-F]{2})|U(?P<long>[\da-fA-F]{8})|.)|(?P<raw>[\x00-\x1f])",
    re.DOTALL,
)
"""Escapes of JSON, halves of a pair, escapes of other languages, and control characters, which JSON has as escapes."""
_NO_XML = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|(?i:&#(?:0*(?:[0-8]|1[1-24-9]|2\d|3[01])|x0*(?:[0-8bcef]|1.|d[89a-f]..));)"
)
_LITERAL_TAG = re.compile(rb"<(?:\w+:)?literal\b[^<>]*>")
_XML_LANG = re.compile(rb"\s+xml:lang\s*=\s*([\"'])(.*?)\1", re.DOTALL)
_BARE_AND = re.compile(rb"&(?![A-Za-z]\w*;|#)")


def utf8_body(reply: HttpReply) -> bytes:
    r"""Return the body of a reply in UTF-8; what is not is read as its type, or its XML declaration, names it.

    :raises UnicodeDecodeError: for a body that is neither.

    >>> utf8_body(HttpReply(200, {"content-type": "text/plain;charset=ISO-8859-1"}, b"Br\xfcggen")).decode()
    'Brüggen'
    """
    body, codec = reply.body, json.detect_encoding(reply.body[:4])  # by a mark, or NULs beside the first characters
    try:
        text = body.decode(codec)
        if codec.startswith("utf-8"):
            return body.removeprefix(b"\xef\xbb\xbf").strip()
    except UnicodeDecodeError:
        declared = DECLARED_ENCODING.match(body)
        charset = _CHARSET.search(reply.headers.get("content-type", ""))
        named = text_codec(charset[1] if charset else declared[2].decode() if declared else "")
        if named in {None, "utf-8"}:  # old programs in Java write the halves of a pair as three bytes each
            halves = body.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass")
            return halves.decode("utf-16", "replace").encode().strip()
        text = body.decode(str(named))
    return DECLARED_ENCODING.sub(rb"\1UTF-8", text.encode().strip(), count=1)


def respelt(body: bytes) -> bytes:
    """Replace Virtuoso's own spellings by those of the specifications."""
    node_id = _NODE_ID_IN_JSON if body[:1] == b"{" else _NODE_ID_IN_XML
    return _TRUTH.sub(lambda found: found[1] + (b"true" if found[2] == b"1" else b"false"), node_id.sub(rb"\1", body))


def mended(body: bytes) -> bytes:
    r"""Write the strings of results that cannot be parsed as they should have been; the same bytes if all are fine.

    >>> mended(b'{"a": "O\\\'Hara\tx", "b": "\\ud83d \\\\d \\ud83d\\ude00"}').decode()
    '{"a": "O\'Hara\\tx", "b": "\\ufffd \\\\d \\ud83d\\ude00"}'
    """
    if body[:1] == b"{":
        return JSON_STRING.sub(lambda string: _IN_JSON_STRING.sub(_mended_character, string[0]), body)
    if not body.endswith(b"sparql>"):
        return body  # it was cut, and what stands at its end is no part of it
    spelt = _BARE_AND.sub(b"&amp;", _NO_XML.sub("\ufffd".encode(), body))
    return _LITERAL_TAG.sub(lambda tag: _XML_LANG.sub(_mended_attribute, tag[0]), spelt)


def valid_tag(tag: object) -> str:
    """Return the language tag that one means, such as ``en-US`` by ``en_US``; empty for what is none."""
    spelt = tag.replace("_", "-") if isinstance(tag, str) else ""
    with suppress(ValueError):
        RdfLiteral("", language=spelt)
        return spelt
    return ""


def _mended_attribute(found: re.Match[bytes]) -> bytes:
    tag = valid_tag(found[2].decode("utf-8", "replace"))
    return f' xml:lang="{tag}"'.encode() if tag else b""


def _mended_character(found: re.Match[bytes]) -> bytes:
    if found["good"]:
        return found[0]
    digits = found["hex"] or found["long"] or (found["raw"] or b"").hex()
    code = 0xFFFD if found["quote"] is None else ord("'")
    if digits and not 0xD7FF < int(digits, 16) < 0xE000 and int(digits, 16) <= 0x10FFFF:
        code = int(digits, 16)
    return json.dumps(chr(code)).encode()[1:-1]
