"""What joins the two ends of a predicate, by its name alone; nouns with their number, article and owner.

A name that fits no pattern is quoted and said of both ends in one neutral form, so that nothing is made up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgsparql.dataclasses import dataclass, replace
from kgsparql.linking.english_forms import PREPOSITIONS, Wording, is_past_form, plural, singular, wording

_NO_NOUN = re.compile(r"\b(?:is|are|was|were|be|been|has|have|had|does|do|did|can|not)\b")
_PLACES = frozenset({"in", "on", "at", "by", "from", "into"})
_WITH_OBJECT = re.compile(r"(\w+(?: \w+)?) (?:the|an?) (.+)")
_BRACKETS = re.compile(r"\s*\([^()]*\)$")


def marked(**features: object) -> set[str]:
    """Those of some features that are so."""
    return {name for name, is_so in features.items() if is_so}


@dataclass(frozen=True, slots=True)
class Relation:
    """How a step is said of its start and its end.

    :param form: ``noun``: the end is a ``text`` of the start; ``passive``: the start is ``text`` the end; ``verb``: the
        start ``text`` the end; ``quoted``: the start has the end as ``text``;
        ``flag``: that ``text`` is so of the start, or not.
    :param thing: what the end is, where that is known: the award of *received the award*; ``subject``: the start.
    :param holder: whose the noun is, of several nouns in a row, of which ``thing`` is the last.
    :param is_inverse: the two ends change places.
    :param is_of: the name says of the start what it is of the end: *member of*.
    :param is_back: it walks the step before it back, and never to the same thing.
    :param number: ``one`` or ``many``, as to how much it leads, where the graph has told.
    """

    form: str
    text: str
    thing: str = ""
    subject: str = ""
    holder: str = ""
    is_inverse: bool = False
    is_of: bool = False
    is_back: bool = False
    number: str = ""

    @property
    def reversed(self) -> Relation:
        """The same, from its end."""
        return replace(self, is_inverse=not self.is_inverse)

    @property
    def is_noun(self) -> bool:
        """Whether the end is a so-and-so of the start."""
        return self.form == "noun" and not self.is_inverse

    @property
    def features(self) -> set[str]:
        """What rules ask of it."""
        first, second = f"{self.text} ".split(" ")[:2]
        return {self.form, f"'{self.text}'", f"{first.lower()}…"} | marked(
            inverse=self.is_inverse, of=self.is_of, back=self.is_back, owned=self.holder, thing=self.thing,
            told=self.number,
            ends_in_ed=re.fullmatch(r"\w+ed by", self.text),
            done=second in {"by", "been"} or first == "born" or is_past_form(second),
            list=singular(self.text) != self.text,
        )  # fmt: skip


def relation(label: str) -> Relation:
    """How a predicate is said, by its name.

    >>> [relation(name).form for name in ("date of birth", "directed by", "worked at", "prize awarded in")]
    ['noun', 'passive', 'verb', 'quoted']
    >>> relation("has manager").text, relation("received the award").thing, relation("member of").is_inverse
    ('manager', 'award', True)
    >>> [relation(name).form for name in ("founded", "Uses Tool Support", "is located in", "cites", "has been paid")]
    ['quoted', 'quoted', 'passive', 'verb', 'quoted']
    """
    name = label.strip().replace("(s)", "")
    first, _, rest = name.partition(" ")
    found = None
    if rest and first.lower() in {"is", "was", "are"}:
        own = relation(rest)
        found = own if own.form == "passive" or own.is_inverse else None
    elif rest and first.lower() == "has":
        found = Relation("noun", rest) if _is_plain_noun(rest) else None
    elif name:
        found = _with_object(name) or _by_form(name, wording(name))
    return found or Relation("quoted", label)


def of_wording(said: Wording, *, is_inverse: bool = False) -> Relation:
    """How a predicate is said whose words are known.

    >>> of_wording(wording("part of")).is_inverse, of_wording(wording("part of"), is_inverse=True).is_noun
    (True, True)
    """
    if said.form == "of":
        return Relation("noun", said.text, is_inverse=not is_inverse, is_of=True)
    return Relation(said.form, said.text, is_inverse=is_inverse)


def _with_object(name: str) -> Relation | None:
    """What a name with a verb and its object says: *received the award*, *located in the city*."""
    found = _WITH_OBJECT.fullmatch(name)
    if found is None or not (is_past_form(found[1].split()[0]) and _is_plain_noun(found[2])):
        return None
    own = relation(found[1]) if " " in found[1] else Relation("verb", found[1])
    return replace(own, thing=found[2]) if own.form in {"passive", "verb"} else None


def _by_form(name: str, said: Wording | None) -> Relation | None:
    """What a name says whose words are all in its English form."""
    if said is None:
        return None
    own, words = _squashed(name), _squashed(said.text)
    if said.form == "noun":
        return Relation("noun", name) if own.startswith(words) and _is_plain_noun(name) else None
    is_unsure = " " not in name and is_past_form(name.lower())  # "founded": by whom, or when?
    return None if is_unsure or own.removesuffix("of" * (said.form == "of")) != words else of_wording(said)


def _squashed(name: str) -> str:
    return re.sub("[ _]", "", name).casefold()


def _is_plain_noun(name: str) -> bool:
    """Whether a name reads as a noun: nothing in it is said to happen, but for a last word such as *received*."""
    words = _BRACKETS.sub("", name).lower().split()
    if not words or _NO_NOUN.search(" ".join(words)):
        return False
    if len(words) > 1 and words[1].partition("/")[0] in _PLACES:  # "present in work": no present
        return False
    inner = words[1:-1] if len(words) > 1 and words[1] not in PREPOSITIONS else words[:-1]
    return PREPOSITIONS.isdisjoint((words[0], words[-1])) and not any(is_past_form(word) for word in inner)


def folded(steps: Sequence[Relation]) -> list[Relation]:
    """Steps, of which nouns in a row are one.

    >>> [step.text for step in folded([Relation("noun", "author"), Relation("noun", "date of birth")])]
    ["author's date of birth"]
    """
    found: list[Relation] = []
    for step in steps:
        if not (found and found[-1].is_noun and step.is_noun):
            found.append(step)
            continue
        holder = found.pop()
        text, is_back = f"{owning(holder.text)} {step.text}", holder.is_back or step.is_back
        found.append(replace(step, text=text, holder=holder.text, thing=step.text, is_back=is_back))
    return found


def many(noun: str) -> str:
    """The plural of a name; what is in brackets stays, and so does what is no English word.

    >>> many("chemical element"), many("width (mm)"), many("award received"), many("Q42"), many("Städt")
    ('chemical elements', 'widths (mm)', 'awards received', 'Q42', 'Städt')
    >>> many("sex or gender")
    'sexes or genders'
    """
    if choice := re.fullmatch(r"(\w+) (or|and) (\w+)", noun):
        return f"{many(choice[1])} {choice[2]} {many(choice[3])}"
    bare = _BRACKETS.sub("", noun) or noun
    rest = noun[len(bare) :]
    words = bare.split()
    if len(words) == 2 and is_past_form(words[1]):
        bare, rest = words[0], f" {words[1]}{rest}"
    return plural(bare) + rest if re.fullmatch(r"[A-Za-z][A-Za-z' -]*[A-Za-z]", bare) else noun


def owning(noun: str) -> str:
    """A noun before what belongs to it.

    >>> owning("author"), owning("authors")
    ("author's", "authors'")
    """
    return f"{noun}'" if noun.endswith("s") else f"{noun}'s"


def one(noun: str) -> str:
    """A noun with its article; a plural has none.

    >>> one("university"), one("author"), one("ID"), one("Nobel Prize"), one("tags")
    ('a university', 'an author', 'an ID', 'a Nobel Prize', 'tags')
    """
    if many(noun) == noun and noun.endswith("s"):
        return noun
    is_vowel = re.match(r"[aeio]|u(?!ni|s|r)|[AEFHILMNORSX](?=[A-Z]+\b)", noun if noun[:2].isupper() else noun.lower())
    return f"{'an' if is_vowel and not noun.lower().startswith(('eu', 'one')) else 'a'} {noun}"


def bare(verb: str) -> str:
    """A verb as it stands behind a plural.

    >>> bare("belongs to"), bare("worked at")
    ('belong to', 'worked at')
    """
    first, _, rest = verb.partition(" ")
    return f"{singular(first)} {rest}".strip()
