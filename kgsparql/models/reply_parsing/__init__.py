"""Replies of language models, parsed tolerantly: what is ambiguous is dropped and counted, never guessed.

Every function takes linear time, refuses a reply of more than :data:`MAX_CHARACTERS`, and raises only
:class:`~kgsparql.errors.ModelReplyError`. Open first: ``_cleaning.py``.
"""

from kgsparql.models.reply_parsing._cleaning import MAX_CHARACTERS, json_value, plain_text
from kgsparql.models.reply_parsing._markers import CitedText, cited_text, like_markers
from kgsparql.models.reply_parsing._mentions import mentions
from kgsparql.models.reply_parsing._numbers import Numbers, numbers
from kgsparql.models.reply_parsing._verdicts import quantity
from kgsparql.models.reply_parsing._written import WrittenAnswer, WrittenClaim, WrittenStep, written_answer

__all__ = [
    "MAX_CHARACTERS",
    "CitedText",
    "Numbers",
    "WrittenAnswer",
    "WrittenClaim",
    "WrittenStep",
    "cited_text",
    "json_value",
    "like_markers",
    "mentions",
    "numbers",
    "plain_text",
    "quantity",
    "written_answer",
]
