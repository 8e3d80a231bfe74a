"""Replies of language models, read tolerantly: what is not unambiguous is dropped and counted, never guessed.

Every function takes time linear in the reply, refuses one of more than :data:`MAX_CHARACTERS`, and raises nothing but
:class:`~kgsparql.errors.ModelReplyError`.
"""

from kgsparql.replies._cleaning import MAX_CHARACTERS, json_value, plain_text
from kgsparql.replies._markers import Cited, cited, like_markers
from kgsparql.replies._mentions import mentions
from kgsparql.replies._numbers import Numbers, numbers
from kgsparql.replies._verdicts import quantity, truth
from kgsparql.replies._written import Step, Written, WrittenClaim, written

__all__ = [
    "MAX_CHARACTERS",
    "Cited",
    "Numbers",
    "Step",
    "Written",
    "WrittenClaim",
    "cited",
    "json_value",
    "like_markers",
    "mentions",
    "numbers",
    "plain_text",
    "quantity",
    "truth",
    "written",
]
