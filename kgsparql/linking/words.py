"""Words of labels and questions: tokens with their positions, light stems, stop words."""

from __future__ import annotations

import itertools
import re
import unicodedata
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

from kgsparql.dataclasses import frozen
from kgsparql.rdf.terms import distinct, first_of, normalised
from kgsparql.resources import packaged_toml

T = TypeVar("T")

_STOPPED = """
    en a about after all also am an and any are as at be been before being between both but by can could did do does
    each either for from had has have he her hers him his how i if in into is it its many may me might more most much
    must my no nor not of on or our ours please s shall she should so some such t than that the their theirs them then
    there these they this those to under up us was we were what when where which while who whom whose why will with
    would you your yours; de aber als am an auf aus bei bin bis das dem den der des die du durch ein eine einem einen
    einer eines er es für fur hat haben hatte ich ihr im in ist kann mit nach nicht oder sein seine sich sie sind über
    uber um und von war waren warum was welche welchem welchen welcher welches wem wen wer werden wessen wie wo wurde
    wurden zu zum zur; fr a au aux avec ce ces cette combien comment d dans de des du elle elles en est et eu il ils j
    je l la le les leur lui mais n ne nous on ou par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi
    s sa se ses son sont sur t un une vous y a ete etait; es a al como con cual cuales cuando cuanto cuantos de del
    donde e el ella ellos en entre era es esta este fue fueron ha han hay la las lo los mas no o para pero por porque
    que quien quienes se ser si sin sobre son su sus un una uno y; it a ad ai al alla che chi come con cosa da dal dei
    del della delle di dove e ed era gli ha hanno i il in la le lo nel nella non o per perche quale quali quando quanti
    quanto si sono su sul sulla un una uno; pt a ao aos as com como da das de do dos e ela ele em era foi foram ha mais
    na nas no nos o onde os ou para por qual quais quando quantos que quem se sem sao ser sua um uma; nl aan als bij
    dan dat de die door een en er het hij hoe hoeveel in is met naar niet of om op te tot uit van voor waar wanneer
    waren was wat welk welke werd wie wordt zij zijn
"""
STOP_WORDS = {language: frozenset(own) for language, *own in map(str.split, _STOPPED.split(";"))}
"""By language, words that do not tell which entity is meant; normalised as labels are."""

# Where such scripts begin and end. A regular expression of them takes 3 ms to compile, in each process.
_UNSPACED_FROM = (
    "\u0e00\u0f00\u1000\u10a0\u1780\u1800\u3040\u3100\u3400\u4dc0"
    "\u4e00\ua000\uac00\ud7b0\uf900\ufb00\U00020000\U00040000"
)
_RUN = re.compile(r"[^\x00-#%-*,-/:;?@\[-\]_{}\x7f]+")
"""A run of characters between ASCII characters that are in no word."""


@frozen
class TextToken:
    """A word of a text, and where it stands.

    :param text: normalised, as in the keys of labels.
    :param start: in characters of the text, as is ``end``.
    :param joined: no gap is before it, as between characters in Chinese, Japanese or Thai.
    """

    text: str
    start: int
    end: int
    joined: bool = False


def is_unspaced(char: str) -> bool:
    """Whether a character belongs to a script that does not (or, for Korean, does not always) separate words.

    >>> is_unspaced("東"), is_unspaced("a")
    (True, False)
    """
    return bisect_right(_UNSPACED_FROM, char) % 2 == 1


def tokens(text: str) -> list[TextToken]:
    """The words of a text in order; in scripts without spaces, each character with its marks.

    >>> [token.text for token in tokens("Who is Chunchuna Villafañe?")]
    ['who', 'is', 'chunchuna', 'villafane']
    >>> [(token.text, token.joined) for token in tokens("東京 は")]
    [('東', False), ('京', True), ('は', False)]
    """
    found: list[TextToken] = []
    for run in _RUN.finditer(text):
        at = run.start()
        if run[0].isascii():  # ten times as fast
            found.append(TextToken(run[0].lower(), at, run.end()))
            continue
        for start, end in _spans(run[0]):
            word = normalised(run[0][start:end])
            if word:
                is_joined = bool(found) and found[-1].end == at + start
                found.append(TextToken(word, at + start, at + end, is_joined))
    return found


def _spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each word: of runs of letters, digits, symbols and marks; of each unspaced character."""
    spans: list[tuple[int, int]] = []
    begun: int | None = None
    for at, char in enumerate(text):
        category = "L" if char.isalnum() else unicodedata.category(char)[0]
        if category == "M" and (begun is not None or (spans and spans[-1][1] == at)):
            if begun is None:
                spans[-1] = (spans[-1][0], at + 1)
            continue
        if category in "LMNS" and not is_unspaced(char):
            begun = at if begun is None else begun
            continue
        if begun is not None:
            spans.append((begun, at))
            begun = None
        if category in "LMNS":
            spans.append((at, at + 1))
    if begun is not None:
        spans.append((begun, len(text)))
    return spans


_BEFORE_MONTHS = frozenset("in since until during last next this every early late mid".split())


def is_proper(text: str, all_tokens: Sequence[TextToken], start: int, end: int) -> bool:
    """Tell whether words that say little are written like a name: with capitals, or joined by dots.

    >>> asked = ("Who leads the May group?", "Who Leads The May Group?", "Who came in May 1999?")
    >>> [is_proper(text, tokens(text), 3, 4) for text in asked]
    [True, False, False]
    """
    own = all_tokens[start:end]
    if end - start > 1:
        gaps = [text[one.end : other.start] for one, other in itertools.pairwise(own)]
        if all(gap.strip() == gap and gap not in {"", "'", "’", "-"} for gap in gaps):
            return True
    if start == 0 or not all(text[token.start].isupper() for token in own):
        return False
    written, before = text[own[0].start : own[-1].end], all_tokens[start - 1]
    if written == "I" or (written == "May" and before.text in _BEFORE_MONTHS):
        return False
    others = [*all_tokens[1:start], *all_tokens[end:]]
    is_marked = 2 * sum(text[token.start].isupper() for token in others) <= len(others)
    return is_marked and not set(".?!:") & {*text[before.end : own[0].start]}


_SIGN = re.compile(r"[^\w\s]")


def with_signs(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a place in a text by all signs beside it, without a space between."""
    while start and _SIGN.match(text[start - 1]):
        start -= 1
    while end < len(text) and _SIGN.match(text[end]):
        end += 1
    return start, end


def place_of(name: str, text: str) -> tuple[int, int] | None:
    """Start and end of a name in a text, in characters, ignoring case; as a whole word if there is one.

    An underscore counts as a space, as in identifiers.

    >>> place_of("ann", "Anna and Ann"), place_of("ankara", "İzmir, Ankara")
    ((9, 12), (7, 13))
    >>> place_of("Bob", "Ann") is None, place_of("", "Ann") is None, place_of("New York", "in new_york?")
    (True, True, (3, 11))
    """
    pattern = "[ _]".join(map(re.escape, re.split("[ _]", name)))
    places = (re.search(one, text, re.IGNORECASE) for one in (rf"(?<![^\W_]){pattern}(?![^\W_])", pattern) if name)
    return first_of(found.span() for found in places if found)


def key_of(some: Sequence[TextToken]) -> str:
    """Words side by side, as in the keys of labels.

    >>> key_of(tokens("Marie Curie")), key_of(tokens("東京"))
    ('marie curie', '東京')
    """
    return "".join(t.text if t.joined else f" {t.text}" for t in some).strip()


@lru_cache(maxsize=20_000)
def words(key: str) -> tuple[str, ...]:
    """The words of a normalised text.

    >>> words("rio de janeiro"), words("東京")
    (('rio', 'de', 'janeiro'), ('東', '京'))
    """
    if key.isascii():
        return tuple(key.split())
    return tuple(token.text for token in tokens(key))


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, as they are compared.

    >>> words_of("São Paulo")
    ('sao', 'paulo')
    """
    return words(normalised(text))


@lru_cache(maxsize=20_000)
def trigrams(key: str) -> frozenset[str]:
    """The runs of three characters in each word between spaces; shorter words whole.

    >>> sorted(trigrams("rio de"))
    ['de', 'rio']
    """
    return frozenset([word[i : i + 3] for word in key.split() for i in range(max(1, len(word) - 2))])


def consecutive(numbers: Iterable[int]) -> list[list[int]]:
    """Ascending numbers, in runs of those that follow each other.

    >>> consecutive([1, 2, 5, 7, 8])
    [[1, 2], [5], [7, 8]]
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def in_turn(lists: Iterable[Iterable[T]]) -> Iterator[T]:
    """Yield the first of each list, then the second of each …, so that every list has one before any has two.

    >>> "".join(in_turn(["abc", "1"]))
    'a1bc'
    """
    left = deque(map(iter, lists))
    while left:
        if (item := first_of(left[0])) is None:
            left.popleft()
        else:
            yield item
            left.rotate(-1)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in the plural where it must be; without a plural, the noun gets an ``s``.

    >>> counted(1, "question"), counted(2000, "question"), counted(0, "query", "queries")
    ('1 question', '2,000 questions', '0 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def comma_separated(text: str) -> tuple[str, ...]:
    """The parts of a text between its commas, without empty ones.

    >>> comma_separated(" mindmap, entity,")
    ('mindmap', 'entity')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


_SILENT = re.compile("[^aeiou]+[aeiou][^aeiouwxy]$")  # of a verb in -ed, -ing: it ends in e, else that is doubled


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """An English word without its commonest endings; other scripts as they are. To be compared with other stems only.

    >>> [stem(w) for w in ("movies", "cities", "directed", "directing", "director", "class", "bus")]
    ['movy', 'city', 'direct', 'direct', 'director', 'class', 'bus']
    >>> [stem(w) for w in ("building", "buildings", "kings")]
    ['build', 'build', 'king']
    >>> [stem(w) for w in ("movie", "study", "studies", "studied", "studying")]
    ['movy', 'study', 'study', 'study', 'study']
    >>> [stem(w) for w in ("baked", "closing", "planned", "opened")]
    ['bake', 'close', 'plan', 'open']
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = word.removesuffix("s") if word.endswith("ings") else word
    if word.endswith(("ies", "ie", "ied")):
        return word[: -2 if word.endswith("e") else -3] + "y"
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and _SILENT.match(base):
            return f"{base}e"
        if word.endswith(ending) and len(base) >= 4:
            return base[:-1] if base[-1] == base[-2] and base[-1] not in "ls" else base
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def inflections(word: str) -> tuple[str, ...]:
    """Other forms that an English word may have, some of which are no words: for a look into a vocabulary.

    >>> inflections("movies"), inflections("car")
    (('movy', 'movys', 'movyed', 'movying', 'movie'), ('cars',))
    """
    if len(word) < _SHORTEST_NOUN or not word.isascii() or not word.isalpha():
        return ()
    base = stem(word)
    forms = [base, f"{base}s", f"{base}ed", f"{base}ing", word[:-1], f"{word}s", f"{word}es"]
    forms += [f"{base[:-1]}ie", f"{base[:-1]}ies"] if base.endswith("y") else []
    return tuple(form for form in distinct(forms) if form != word and stem(form) == base)


IRREGULAR = {
    "people": "person", "persons": "person", "children": "child", "men": "man", "women": "woman", "lives": "life",
    "taxa": "taxon", "criteria": "criterion", "phenomena": "phenomenon",
}  # fmt: skip
"""English plurals without an ending, with their singulars."""
_ENDINGS = (("ies", "y"), ("es", ""), ("s", ""))  # of English plurals, with those of the singular
_SHORTEST_NOUN = 3  # characters of one that is looked up in the other number
COPULAS = frozenset(("is", "are", "was", "were"))  # before what is said of somebody
LABEL_OPENERS = ("is", "has", "was", "are", "have")  # say nothing at the start of a predicate's name


def countries() -> dict[str, list[str]]:
    """Return the names of the countries of which a word is the adjective.

    >>> countries()["french"], countries()["american"][0]
    (['france'], 'united states')
    """
    return packaged_toml("linking/countries.toml")


@lru_cache(maxsize=20_000)
def other_numbers(word: str) -> tuple[str, ...]:
    """Return what an English noun may be in the other number, some of which are no words.

    >>> other_numbers("countries"), other_numbers("film"), other_numbers("people")
    (('country', 'countri', 'countrie'), ('filmes', 'films'), ('person',))
    """
    if word in IRREGULAR or len(word) < _SHORTEST_NOUN or not word.isascii() or not word.isalpha():
        return (IRREGULAR[word],) if word in IRREGULAR else ()
    singulars = [word[: -len(ending)] + one for ending, one in _ENDINGS if word.endswith(ending)]
    irregular = [many for many, one in IRREGULAR.items() if one == word]
    plurals = [word.removesuffix(one) + ending for ending, one in _ENDINGS if word.endswith(one)]
    return tuple(singulars or (*irregular, *plurals))


_SYNONYMS = {
    word: group.split()[0]
    for group in """
        birth born birthplace birthdate birthday; death die dies died dead deathplace; write wrote written writer author
        authored screenwriter scriptwriter; spouse spouses married marry marries wife wives husband husbands marriage;
        work worked works working employer employed employs; place located location situated city; found founded founder
        founders foundation established establishment inception; award prize won win wins winner; child children son
        daughter kid kids offspring; parent parents father mother dad daddy mom mum; gender sex; person persons people
        human humans; religion
        religious faith belief; expert experts expertise; hire hired hires hiring hirings; book books novel novels;
        discover discovered discovers discovery discoverer; direct directed directs director directors; make made maker
        makes; study studied studies educated education university school attend attended attends; lead led leader head;
        star starred starring stars actor actors actress act acted acts acting cast; film movie movies; genre type kind
        sort; language speak spoke spoken; tag keyword topic theme describe describ; live lived lives living residence
        residences reside resides; speak speaks spoke spoken speaking language languages; supervisor supervise
        supervised supervises advisor adviser advise advises advised; end ends ended finish finished finishes completed;
        begin begins began begun start starts started; manage manages managed manager managers boss; job occupation
        profession; cost costs price; publish published publishes publication; own owns owned owner owners; id ids
        identifier identifiers; create creates created creator creators; operate operates operated operator operators;
        inhabitant inhabitants population; earn earns earned salary wage wages; shop shops store stores; country
        countries nation nations; weight weights weigh weighs weighed weighing mass; altitude elevation; expire expires
        expired expiry expiration; consume consumes consumed consumption; destination dest dst; source src
    """.split(";")
    for word in group.split()
}
"""English words with one meaning in questions and names of predicates, but different stems; to the first of each."""


@lru_cache(maxsize=20_000)
def root(word: str) -> str:
    """The stem that a word shares with its synonyms and with the words made from it.

    >>> [root(word) for word in ("born", "birth", "writers", "produce", "produced", "film", "spiciness")]
    ['birth', 'birth', 'write', 'produc', 'produc', 'film', 'spicy']
    """
    ending = stem(word)
    if len(word) > len("business") and word.endswith("ness"):  # how spicy: its spiciness
        ending = stem(re.sub("i$", "y", word.removesuffix("ness")))
    base = _SYNONYMS.get(word) or _SYNONYMS.get(ending, ending)
    return base[:-1] if base.endswith("e") and len(base) > 5 else base


def roots_of(texts: Iterable[str]) -> frozenset[str]:
    """The roots of all words of some texts."""
    return frozenset(root(word) for text in texts for word in words_of(text))


@lru_cache(maxsize=20_000)
def same_root(word: str) -> tuple[str, ...]:
    """The words that names may have in place of this one, some of which are no words: for a look into a vocabulary.

    >>> "spouse" in same_root("married"), "marries" in same_root("married"), "film" in same_root("married")
    (True, True, False)
    """
    forms = [word, root(word), *inflections(word), *(other for other in _SYNONYMS if root(other) == root(word))]
    return distinct(forms)


@lru_cache(maxsize=64)
def stop_words(languages: tuple[str, ...] = ()) -> frozenset[str]:
    """The stop words of some languages, and of English; of a tag such as ``pt-BR``, those of its language.

    >>> "uma" in stop_words(("pt-BR",)), "the" in stop_words(), "uma" in stop_words(("xx",))
    (True, True, False)
    """
    return frozenset().union(*(STOP_WORDS.get(tag.split("-")[0].lower(), ()) for tag in (*languages, "en")))


def is_foreign(question: str) -> bool:
    """Whether a question is in another language than English: more of its words are stop words there, or its script.

    >>> [is_foreign(text) for text in ("Ada's office", "Was Ada fired?", "Wann wurde Ada geboren?", "居里夫人")]
    [False, False, True, True]
    """
    own = [token.text for token in tokens(question)]
    hits = {tag: sum(map(stops.__contains__, own)) for tag, stops in STOP_WORDS.items()}
    is_unspaced_mostly = not question.isascii() and 2 * sum(map(is_unspaced, question)) > len(question)
    return is_unspaced_mostly or max(hits.values()) > hits["en"]


def content_stems(text: str) -> set[str]:
    """The stems of the words that carry what a text says.

    >>> sorted(content_stems("Which of the films were banned?"))
    ['ban', 'film']
    """
    return {stem(token.text) for token in tokens(text) if token.text not in stop_words()}


_PART = r"(?:[^\s,;?!\"“”„«»()]|(?<=\d)[,\u00a0\u202f](?=\d))*"
_CODE_RUN = re.compile(rf"{_PART}\d{_PART}")
_NO_CODE = re.compile(
    r"[+-]?[$€£]?\d+([.,\u00a0\u202f]\d{3})*([.,]\d+)?%?|\d+[a-zäöü%°]+(-\w+)*|\d+/\d+|[1-9]\d*[-–]\w+|\d{1,2}:\d\d(:\d\d)?|https?:.*"
    r"|(\d{4}-\d\d(-\d\d)?|\d{1,2}(?P<sign>[./-])\d{1,2}(?P=sign)\d{4})(T[\d:.Z+-]+)?"
)
"""Numbers, with a unit or an ending, dates, ranges, times of day and addresses."""
_ZEROS = re.compile(r"0\d")
_LETTERS = re.compile(r"[^\W\d_]+[\W_]*\d")


def codes_in(question: str) -> list[tuple[int, int]]:
    """Find where codes begin and end.

    >>> text = "Is AX-2210/7 or R.1.3 dearer than 012, 1,200 or the 5-star one of 1999-05-01 by Ann's B12.?"
    >>> [text[slice(*place)] for place in codes_in(text)]
    ['AX-2210/7', 'R.1.3', '012', 'B12']
    """
    found = []
    for run in _CODE_RUN.finditer(question):
        text = re.sub(r"(['’]s|[.:'’/-])+\Z", "", run[0]).lstrip("'’")
        start = run.start() + run[0].index(text)
        if is_code(text):
            found.append((start, start + len(text)))
    return found


def is_code(text: str) -> bool:
    """Tell whether a text has digits and is no number, date or time, but a code.

    >>> [is_code(text) for text in ("012", "978-3-16-148410-0", "0.5", "12", "10:30", "1914-18")]
    [True, True, False, False, False, False]
    """
    is_code_of_signs = any(map(str.isdigit, text)) and _NO_CODE.fullmatch(text) is None
    return is_code_of_signs or (text.isdecimal() and _ZEROS.match(text) is not None)


def is_never_number(text: str) -> bool:
    """Tell whether no digits of a code are a number, whether or not a graph has it.

    >>> [is_never_number(text) for text in ("012", "AX-2210/7", "978-3-16-148410-0")]
    [True, True, False]
    """
    return _ZEROS.match(text) is not None or _LETTERS.match(text) is not None
