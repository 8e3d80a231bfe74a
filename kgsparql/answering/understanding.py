"""What of a question an answer accounts for: the rest is said, and where it could change the answer, it is no answer.

English only; of a question in another language, only names that were not found count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from shlex import quote

import numpy as np

from kgsparql.answering.answer import Gap, Retrieval
from kgsparql.answering.scored_question import ScoredQuestion
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.linking.answer_type import asks_what_it_is, expected_kind, operation_asked
from kgsparql.linking.label_matching import similarity
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import root, stop_words, tokens, words
from kgsparql.rdf.terms import Literal, Term, normalised, printable
from kgsparql.rdf.vocabulary import DESCRIPTIONS, INSTANCE_OF, RDF_TYPE, SUBCLASS_OF

_NEAR = 0.42
"""How alike, as a cosine, a word and the name of a step or kind are at least, so that the step may be what is meant."""

_SAME_WORD = 0.8
"""How alike two spellings of one word are at least."""

_EMPTY = frozenset(
    "name names list give gives show tell find say says please know known call called mean means many much kind "
    "kinds type types sort thing things person people someone somebody everyone everybody anyone one ones exactly "
    "actually there way does did example examples information details question answer various different main all "
    "any else other others also together get gets got go goes went come comes came out up set take takes took taken "
    "make makes made put use uses used based belong belongs have has had long old far big large often time place "
    "since until ever first last become became work works worked working serve serves join joined same share shares "
    "shared sharing fellow happen happened involve involved involving associated related respectively specific "
    "particular mr mrs ms miss mx dr prof professor sir madam lord lady saint st phd".split()
)
"""Words that say nothing, or too little, of what is asked: light verbs, question nouns, titles of people."""

_STEP_NEAR = 0.25
"""How alike, as a cosine, a step of a longer path and some words of the question are at least."""

_IS_NAMED = 0.75
"""How alike a word and the name of a predicate are at least, so that the question asks for that predicate."""

_MEANINGS = 3
"""Meanings of a name that are told."""

_NEARER = 0.15
"""How much more like a predicate that is not on the path a word must be than the most alike step."""

_IS_KIND = 0.5
"""How alike the kind that is asked for and the name of a class are at least, so that the class is of that kind."""

_KIND_NEARER = 0.2
"""How much more alike another class must be, so that its members are rather what is asked for."""

_SAMPLE = 20
"""Ends of an item whose kind is looked up."""

_ENGLISH = frozenset("who whom whose what which where when how the of by did does is are were list show give".split())
"""A question without any of these is taken for one in another language."""

_SAYS_WHAT_IT_IS = frozenset((*DESCRIPTIONS, RDF_TYPE, INSTANCE_OF, SUBCLASS_OF))

_SAYS_ENOUGH = re.compile(r"\b(?:where|when|who|people|person|everyone|everybody|how long|how old)\b", re.IGNORECASE)
_TIME = re.compile(r"^when\b|\b(?:what|which) (?:year|date|day)\b")
_AMOUNT = re.compile(r"\bhow (?:much|long|tall|high|heavy|far|big|large|deep|wide)\b")
_THING = re.compile(r"who|whom|where|(?:in )?which (?!year|date|day|number|age)")
_YEAR = re.compile(r"\d{3,4}")
_FIGURE = re.compile(r"[\d.,:TZ+-]*\d[\d.,:TZ+-]*")
_CODE = re.compile(r"[^\W\d]{0,3}[^\w]?\d[\d.,:TZ+-]*")
"""A number, a date, or an identifier such as `P-01`."""
_COUNTS = re.compile(r"\b(?:number|count|amount|total)\b", re.IGNORECASE)


def gaps(session: Session, found: Retrieval) -> tuple[Gap, ...]:
    """What of the question the best evidence does not account for, the gravest first."""
    if not session.links or not found.candidates:
        return ()
    best = next((item for item in found.evidence if item.marker in found.candidates[0].markers), None)
    if best is None or not best.paths:
        return ()
    asked = session.scored_question()
    missing = [*_name_gaps(session), *_ambiguities(session, found, best)]
    if asks_what_it_is(session.own_words, session.links):
        described = any(hop.triple.predicate in _SAYS_WHAT_IT_IS for hop in best.paths[0].hops[:1])
        missing += [] if described else [Gap("word", "", "nothing in this graph says what it is")]
    elif not _ENGLISH.isdisjoint(token.text for token in asked.tokens):
        named = {word for gap in missing for word in words(normalised(gap.words))}
        missing = [*_operation_gaps(session, best), *missing, *_kind_gaps(session, best, found)]
        missing += _word_gaps(asked, best, session, said_already=named)
    return tuple(dict.fromkeys(missing))


def _operation_gaps(session: Session, best: EvidenceItem) -> Iterator[Gap]:
    operation = operation_asked(session.own_words)
    if operation is None:
        return
    if operation.kind == "count" and len(best.ends) == 1 and _is_number(best.ends[0]):
        return
    named = {root(word) for label in _step_names(best, session) for word in words(normalised(label))}
    if operation.kind == "extreme" and root(operation.words.split()[-1]) in named:
        return
    yield Gap("operation", operation.words, f"this asks {operation.text}, which is not computed: these are the facts")


def _is_number(term: Term) -> bool:
    return isinstance(term, Literal) and term.value.replace(".", "", 1).lstrip("-").isdecimal()


def _name_gaps(session: Session) -> Iterator[Gap]:
    """Names that were not found, or of which only a part was."""
    if session.linker is None or session.given:
        return
    for name in session.notes.causes("missing_name"):
        if normalised(name) in _EMPTY:
            continue
        yield Gap("name", name, f"nothing in this graph is called {printable(name, 80)!r}")
    for link in session.links:
        whole = _name_around(link, session.own_words, session.links)
        if whole and not _is_name_of(whole, link):
            shown = printable(whole, 80)
            yield Gap("part_of_name", whole, f"{shown!r} was taken for {printable(link.label, 80)}: is that meant?")


def _name_around(link: LinkedEntity, question: str, links: Sequence[LinkedEntity]) -> str:
    """The mention with the words before and after it that are written like a name and are in no other mention."""
    if not link.mention.text or link.mention.start < 0:
        return ""
    found = tokens(question)
    own = [i for i, t in enumerate(found) if link.mention.start < t.end and t.start < link.mention.end]
    taken = [(o.mention.start, o.mention.end) for o in links if o is not link]
    stops = stop_words(("en",))

    def joins(i: int, beside: int) -> bool:
        if not 0 < i < len(found) or found[i].text in stops or not question[found[i].start].isupper():
            return False
        first, last = sorted((i, beside))
        between = question[found[first].end : found[last].start]
        is_taken = any(start < found[i].end and found[i].start < end for start, end in taken)
        return between.isspace() and not is_taken

    first, last = own[0], own[-1]
    while question[found[first].start].isupper() and joins(first - 1, first):
        first -= 1
    while question[found[last].start].isupper() and joins(last + 1, last):
        last += 1
    while first < last and found[first].text in _EMPTY:
        first += 1
    return question[found[first].start : found[last].end]


def _is_name_of(whole: str, link: LinkedEntity) -> bool:
    """Whether every word of a name is in the label, or the name itself is one that the graph has."""
    if link.matched in {"given", "same as"} or (link.matched == "exact" and whole == link.mention.text):
        return True
    label, asked = words(normalised(link.label)), _content(whole)
    has = [_has_word(label, word) for word in asked]
    if link.matched == "exact":
        inner = set(words(normalised(link.mention.text)))
        return all(ok or word in inner for word, ok in zip(asked, has, strict=True))
    return all(has)


def _content(text: str) -> list[str]:
    stops = stop_words(("en",))
    return [word for word in words(normalised(text)) if word not in stops]


def _has_word(label: Sequence[str], word: str) -> bool:
    """Whether a label has a word, or one of which it is the initial."""
    return any(similarity(own, word) >= _SAME_WORD or (len(word) == 1 and own.startswith(word)) for own in label)


def _ambiguities(session: Session, found: Retrieval, best: EvidenceItem) -> Iterator[Gap]:
    """Mentions of which another meaning leads somewhere by the same predicates."""
    start, path = best.paths[0].start, best.paths[0].property_path
    alike = {item.paths[0].start for item in found.evidence if item.paths and item.paths[0].property_path == path}
    for link in session.links:
        if link.matched in {"given", "same as"} or not link.mention.text:
            continue
        meant = [link, *link.namesakes]
        if link.matched != "exact":
            asked = _content(link.mention.text)
            meant += [c for c in link.candidates if all(_has_word(words(normalised(c.label)), w) for w in asked)]
        others = [one for one in dict.fromkeys(meant) if one.term in alike - {start}]
        if others and start in {one.term for one in meant}:
            told = [f"{printable(one.label, 60)} (-e {quote(one.term.value)})" for one in dict.fromkeys(meant)]
            left = [f"{len(told) - _MEANINGS} others"] if len(told) > _MEANINGS else []
            named = " or ".join([*told[:_MEANINGS], *left])
            yield Gap("ambiguous", link.mention.text, f"{printable(link.mention.text, 80)!r} may be {named}")


def _kind_gaps(session: Session, best: EvidenceItem, found: Retrieval) -> Iterator[Gap]:
    """A question for a time, an amount or a thing, and ends that cannot be one, or are less like one than others."""
    asked = " ".join(session.own_words.casefold().split())
    literals = [end.value for end in best.ends if isinstance(end, Literal)]
    wanted = expected_kind(session.own_words)
    if (asks := _TIME.search(asked)) and not any(_YEAR.search(value) for value in literals):
        yield Gap("kind", asks[0], "this asks for a time, and what was found is none")
    elif (asks := _AMOUNT.search(asked)) and not any(map(_FIGURE.search, literals)):
        yield Gap("kind", asks[0], "this asks for an amount, and what was found is none")
    elif (asks := _THING.match(asked)) and best.ends and len(literals) == len(best.ends):
        step = [name for name in _step_names(best, session)[-1:] if not _COUNTS.search(name)]
        is_said = bool(wanted) and float(session.ranker.similarities([wanted], step).max(initial=0.0)) >= _NEAR
        if not is_said and all(map(_CODE.fullmatch, literals)):
            yield Gap("kind", asks[0], f"this asks for {wanted or 'a thing'}, and what was found are numbers or dates")
    elif wanted and session.ranker.by_meaning and (better := _nearer_kind(wanted, best, found, session)):
        yield Gap("kind", wanted, f"this asks for {wanted}: {better} may be nearer to that")


def _nearer_kind(wanted: str, best: EvidenceItem, found: Retrieval, session: Session) -> str:
    """The class and marker of what is much more of the wanted kind than the ends of the best item; else empty."""
    items = [best, *(item for item in found.evidence if item.paths and item.ends and item is not best)]
    kinds = session.labels.majority_types([[(end,) for end in item.ends[:_SAMPLE]] for item in items], in_grace=True)
    names = [own[0] if own else "" for own in kinds]
    if not names[0]:
        return ""
    alike = session.ranker.similarities(names, [wanted])[:, 0]
    other = int(alike.argmax())
    is_much_nearer = alike[other] >= _IS_KIND and alike[other] - alike[0] >= _KIND_NEARER
    return f"{names[other]} ({items[other].marker})" if is_much_nearer else ""


def _word_gaps(
    asked: ScoredQuestion, best: EvidenceItem, session: Session, *, said_already: Collection[str]
) -> Iterator[Gap]:
    """Predicates of the graph that the question names and the path does not go, and words that nothing is like."""
    steps = _step_names(best, session)
    names = [*steps, *_kind_names(best, session)]
    said = {root(word) for text in (*names, *_labels_on(best, session)) for word in words(normalised(text))}
    operation = operation_asked(session.own_words)
    computed = () if operation is None else operation.words.split()
    content = dict.fromkeys(asked.tokens[i].text for i in asked.content)
    telling = [word for word in content if word not in _EMPTY and (len(word) > 1 or word.isdecimal())]
    asks_for_members = any(link.kind == "class" for link in session.links)
    asked_words = set(words(normalised(session.own_words)))
    says_step = any(asked_words.issuperset(words(normalised(step))) for step in steps)
    says_enough = says_step or asks_for_members or _SAYS_ENOUGH.search(session.own_words)
    if not telling and not computed and not says_enough:
        yield Gap("word", "", "the question does not say which fact is asked for")
    left = [word for word in telling if word not in {*computed, *said_already} and root(word) not in said]
    phrases = [text for text, _ in asked.phrases()]
    alike = _likeness(left, phrases, names, session)
    for word in left:
        named = _named_predicate(word, alike[word], steps, session)
        if named:
            yield Gap("predicate", word, f"this graph knows {named!r}, but nothing of it was found here")
        elif word.isdecimal() or (session.ranker.by_meaning and alike[word] < _NEAR):
            yield Gap("word", word, f"nothing that was found has to do with {printable(word, 60)!r}")
    if len(steps) > 1 and telling and session.ranker.by_meaning:
        likeness = session.ranker.similarities(steps, [*telling, *phrases]).max(axis=1, initial=0.0)
        for step, value in zip(steps, likeness, strict=True):
            if value < _STEP_NEAR:
                yield Gap("step", step, f"found by way of {step!r}, of which the question says nothing")


def _named_predicate(word: str, on_path: float, steps: Sequence[str], session: Session) -> str:
    """The predicate of the graph that a word names better than any step of the path; empty if there is none."""
    if session.linker is None:
        return ""
    search = session.linker.index.search.offline()  # an endpoint is not asked for this
    rows = [*search.with_words([word, root(word)], limit=50), *search.like(word, limit=50)]
    labels = sorted({row.text for row in rows if row.kind == "predicate"} - set(steps))
    if not labels:
        return ""
    alike = session.ranker.similarities([word], labels)[0]
    same = [1.0 if {root(w) for w in _content(label)} == {root(word)} else 0.0 for label in labels]
    score, label = max(zip(np.maximum(alike, same).tolist(), labels, strict=True))
    return label if score >= _IS_NAMED and score > on_path + _NEARER else ""


def _likeness(left: Sequence[str], phrases: Sequence[str], names: Sequence[str], session: Session) -> dict[str, float]:
    """For each word, how like the name of a step or kind it is, by itself or in a phrase with words beside it."""
    texts = list(dict.fromkeys([*left, *phrases]))
    alike = dict(zip(texts, session.ranker.similarities(texts, list(names)).max(axis=1, initial=0.0), strict=True))
    within = {word: [text for text in texts if word in text.split()] for word in left}
    return {word: max(float(alike[text]) for text in (word, *within[word])) for word in left}


def _step_names(item: EvidenceItem, session: Session) -> list[str]:
    predicates = dict.fromkeys(hop.triple.predicate for path in item.paths for hop in path.hops)
    labels = session.labels(predicates, in_grace=True)
    return [labels[predicate] for predicate in predicates]


def _kind_names(item: EvidenceItem, session: Session) -> list[str]:
    groups = [[path.terms for path in item.paths if len(path.hops) == len(item.paths[0].hops)]]
    (kinds,) = session.labels.majority_types(groups, in_grace=True)
    return [kind for kind in kinds if kind]


def _labels_on(item: EvidenceItem, session: Session) -> Iterable[str]:
    terms = dict.fromkeys(term for path in item.paths for term in path.terms)
    return session.labels(terms, in_grace=True).values()
