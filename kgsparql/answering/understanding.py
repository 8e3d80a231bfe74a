"""What of a question an answer accounts for: the rest is said, and where it could change the answer, it is no answer.

English only; of a question in another language, only names are checked, and that is said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from kgsparql.answering.answer import Gap, Retrieval
from kgsparql.answering.kinds_of_answers import kind_gaps
from kgsparql.answering.operation_gaps import operation_gaps
from kgsparql.answering.path_scoring import steps_other_way
from kgsparql.answering.session import Session
from kgsparql.answering.unclear_names import (
    ambiguous_names,
    content_words,
    missing_names,
    partly_joined,
    unused_words,
)
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.linking.answer_type import (
    asks_for_others,
    asks_what_it_is,
    expected_kind,
    is_foreign,
    operation_asked,
)
from kgsparql.linking.roles import asked_way, owned_chain
from kgsparql.linking.words import root, words
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import normalised, printable
from kgsparql.rdf.vocabulary import DESCRIPTIONS, INSTANCE_OF, RDF_TYPE, SUBCLASS_OF

_NEAR = 0.42
"""How alike, as a cosine, a word and the name of a step or kind are at least, so that the step may be what is meant."""

EMPTY = frozenset(
    "name names list give gives show tell find say says please know known call called mean means many much kind "
    "kinds type types sort thing things person people someone somebody everyone everybody anyone one ones exactly "
    "actually there way does did example examples information details question answer various different main all "
    "any else other others also together get gets got go goes went come comes came out up set take takes took taken "
    "make makes made put use uses used based belong belongs have has had long old far big large often time place "
    "since until ever first last become became work works worked working serve serves join joined same share shares "
    "shared sharing fellow happen happened involve involved involving associated related respectively specific "
    "particular mr mrs ms miss mx dr prof professor sir madam lord lady saint st phd through during among within "
    "across between under over around beside toward towards behind located location situated now right today "
    "nowadays fall falls fell few word words".split()
)
"""Words that say nothing, or too little, of what is asked: light verbs, question nouns, titles of people."""

_STEP_NEAR = 0.36
"""How alike, as a cosine, a step of a longer path and a word of the question are at least."""

_AS_WELL = 0.02
"""How much lower an item scores at most, so that it fits the question as well."""

_ALIKE = 0.25
"""As :data:`_AS_WELL`, where the question says nothing of the step, only of the kind that both lead to."""

_IS_NAMED = 0.75
"""How alike a word and the name of a predicate are at least, so that the question asks for that predicate."""

_IS_WANTED = 0.5
"""How alike the kind of thing that `which` or `what` asks for and a step or kind are at least."""

_IS_START = 0.6
"""How alike a word and the kind of what the question is about are at least, so that the word only says that kind."""

_NEARER = 0.15
"""How much more like a predicate that is not on the path a word must be than the most alike step."""

_SAYS_WHAT_IT_IS = frozenset((*DESCRIPTIONS, RDF_TYPE, INSTANCE_OF, SUBCLASS_OF))

_PARTS = re.compile(r",?\s+and\s+(?:also\s+|then\s+)?(?=(?:\w+\s+)?(?:who|whom|whose|when|where|what|which|how|why)\b)")
"""What stands between two questions in one, not in a name: in small letters."""

_ASKS_KIND = re.compile(r"\b(?:which|what) (?!(?:is|are|was|were|do|does|did|has|have|had)\b)", re.IGNORECASE)
_WHICH = re.compile(r"\b(?:which|what)\s*$", re.IGNORECASE)
_OF_KINDS = frozenset((RDF_TYPE, INSTANCE_OF, SUBCLASS_OF))

_NO_FACT = "the question does not say which fact is asked for"

_SAYS_ENOUGH = re.compile(
    r"\b(?:where|when|who|people|person|everyone|everybody|how long|how old|(?:kind|type|sort)s? of)\b", re.IGNORECASE
)
_ASKS_WHERE = re.compile(r"(?:where|in (?:which|what))\b", re.IGNORECASE)


def gaps(session: Session, found: Retrieval) -> tuple[Gap, ...]:
    """What of the question the best evidence does not account for, the gravest first."""
    operation = None if is_foreign(session.question) else operation_asked(session.question)
    if not session.links or not found.candidates:
        text = f"this asks {operation.text}, which is not computed" if operation else ""
        return (Gap("operation", operation.words, text),) if operation else ()
    best = found.best_item
    if best is None:
        return ()
    way = best.paths[0].property_path  # further columns of its rows are beside what was asked for
    best = replace(best, ways=tuple(own for own in best.paths if own.property_path == way))
    said = _roots(_step_names(best, session))
    missing = [*missing_names(session, best, light=EMPTY, said=said), *ambiguous_names(session, found, best)]
    if asks_what_it_is(session.question, session.links):
        is_said = best.paths[0].hops[0].triple.predicate in _SAYS_WHAT_IT_IS or root("profession") in said
        missing += [] if is_said else [Gap("word", "", "nothing in this graph says what it is")]
    elif is_foreign(session.question):
        missing += [Gap("language", "", "whether this is what was asked is only checked for questions in English")]
    else:
        named = {word for gap in missing for word in words(normalised(gap.words))}
        missing = [
            *_part_gaps(best, session),
            *operation_gaps(operation, session, best, _step_names(best, session)),
            *missing,
            *partly_joined(session, best),
            *kind_gaps(session, best, found, _step_names(best, session)),
        ]
        missing += _word_gaps(found, best, session, said_already=named)
        missing = missing or [*_other_readings(best, found, session)]
    return tuple(dict.fromkeys(missing))


def _roots(names: Iterable[str]) -> set[str]:
    return {root(word) for name in names for word in words(normalised(name))}


def _part_gaps(best: EvidenceItem, session: Session) -> Iterator[Gap]:
    """The questions in one of two, but for the one that is most like what was found."""
    parts = _PARTS.split(session.question.strip(" ?.!"))
    if len(parts) == 1:
        return
    asked = [f"{part} {expected_kind(part)}" for part in parts]
    names = [*_step_names(best, session), *filter(None, _kind_names(best, session))]
    answered = int(session.ranker.similarities(asked, names).max(axis=1, initial=0.0).argmax())
    for part in (part for i, part in enumerate(parts) if i != answered):
        yield Gap("word", part, f"only a part of this is answered, and not {printable(part, 80)!r}")


def _other_readings(best: EvidenceItem, found: Retrieval, session: Session) -> Iterator[Gap]:
    """The first other item about the same thing that fits as well and leads elsewhere, not only less far.

    So does one that goes the first step the other way, where no word says which way is meant; and where words only
    say the kind of what was found, one to the same kind fits as well unless it is much less alike.
    """
    path = best.paths[0].property_path
    about = session.scored_question(best.paths[0].start).about
    labels = session.labels([path.steps[0].predicate], in_grace=True)
    says_way = about is None or asked_way(session.question, about, labels[path.steps[0].predicate])
    turned = path if says_way else PropertyPath((path.steps[0].reversed, *path.steps[1:]))
    kinds = _kind_names(best, session)
    telling = [session.scored_question().tokens[i].text for i in session.scored_question().content]
    unsaid = {root(word) for word in telling if not _is_empty(word)} <= _roots(kinds[-1:])
    for item in found.evidence:
        if item.marker == best.marker or not item.paths or set(item.ends) == set(best.ends):
            continue
        other = item.paths[0].property_path
        is_elsewhere = item.paths[0].start == best.paths[0].start and other.steps != path.steps[: len(other.steps)]
        is_alike = unsaid and len(other.steps) == len(path.steps) and _kind_names(item, session)[-1:] == kinds[-1:]
        margin = _ALIKE if is_alike else _AS_WELL
        if is_elsewhere and (best.score - item.score < margin or other == turned != path):
            yield Gap("reading", "", f"{item.marker} fits the question as well as {best.marker}")
            return


def _word_gaps(
    found: Retrieval, best: EvidenceItem, session: Session, *, said_already: Collection[str]
) -> Iterator[Gap]:
    """Predicates of the graph that the question names and the path does not go, and words that nothing is like."""
    asked = session.scored_question()
    steps = _step_names(best, session)
    start_kind, *kinds = _kind_names(best, session) or [""]
    names = [*steps, *filter(None, kinds)]
    said = _roots([*names, start_kind]) | _roots_on(best, session)
    computed = operation.words.split() if (operation := operation_asked(session.question)) else ()
    unused = unused_words(session, best)
    content = dict.fromkeys((*(asked.tokens[i].text for i in asked.content), *unused))
    telling = [word for word in content if not _is_empty(word)]
    classes = [link for link in session.links if link.kind == "class"]
    wanted_members = [link.label for link in classes if _WHICH.search(session.question[: max(link.mention.start, 0)])]
    shows_members = not _OF_KINDS.isdisjoint(hop.triple.predicate for hop in best.paths[0].hops)
    asks_for_members = classes and (shows_members or not wanted_members)
    asked_words = set(words(normalised(session.question)))
    wanted = {root(word) for word in words(expected_kind(session.question))}
    says_step = any(
        asked_words.issuperset(own) or wanted & {*map(root, own)} for own in map(words, map(normalised, steps))
    )
    says_enough = says_step or asks_for_members or _SAYS_ENOUGH.search(session.question)
    if not telling and not computed and not says_enough:
        text = (
            f"nothing says that what was found is {printable(wanted_members[0], 60)!r}" if wanted_members else _NO_FACT
        )
        yield Gap("word", "", text)
    left = [word for word in telling if word not in {*computed, *said_already} and root(word) not in said]
    alike = _likeness(left, [text for text, _ in asked.phrases()], names, start_kind, session)
    also_there = {
        item.paths[0].hops[0].triple.predicate
        for item in found.evidence
        if item.paths and {path.terms[1] for path in item.paths}.issuperset(best.ends)
    }
    predicates = also_there | {cited.triple.predicate for cited in best.triples}
    beside = session.labels(predicates, in_grace=True)
    columns = [name for predicate, name in beside.items() if predicate not in also_there]
    is_named = False
    of_kind = words(expected_kind(session.question)) if _ASKS_KIND.search(session.question) else []
    for word in left:
        named = _named_predicate(word, alike[word], [*steps, *beside.values()], session)
        is_named = is_named or bool(named)
        if word == telling[0] and (column := next((name for name in columns if root(word) in _roots([name])), "")):
            yield Gap("predicate", word, f"{column!r} is only beside what was found, and the question asks for it")
        elif named:
            yield Gap("predicate", word, f"this graph knows {named!r}, but nothing of it was found here")
        elif word.isdecimal() or (
            alike[word] < (_IS_WANTED if word in of_kind else _NEAR) if session.ranker.by_meaning else word in unused
        ):
            yield Gap("word", word, f"nothing that was found has to do with {printable(word, 60)!r}")
    if telling and not session.ranker.by_meaning and not is_named and not any(root(w) in said for w in content):
        yield Gap("word", "", "no word of the question is in what was found, and only words were compared")
    yield from _chain_gap(best, session)
    light = [word for word in content if word not in telling and root(word) in said]
    yield from _step_gaps(best, [*telling, *light] if telling else [], session)


def _chain_gap(best: EvidenceItem, session: Session) -> Iterator[Gap]:
    """Where a path goes fewer steps than a chain of possessions: two of the three of `Ann's mother's man's nation`."""
    about = session.scored_question(best.paths[0].start).about
    owned = owned_chain(session.question, about) if about else []
    gone = len(best.paths[0].property_path.steps)
    if gone < len(owned):
        text = f"the question goes {len(owned)} steps, to {printable(owned[-1], 60)!r}, and what was found goes {gone}"
        yield Gap("step", owned[-1], text)


def _step_gaps(best: EvidenceItem, asking: Sequence[str], session: Session) -> Iterator[Gap]:
    """A step that goes the other way than is asked, and steps of which no word of the question speaks."""
    path = best.paths[0].property_path
    labels = session.labels([step.predicate for step in path.steps[:2]], in_grace=True)
    for turned in steps_other_way(session.scored_question(best.paths[0].start), path.steps, labels):
        name = labels[turned.predicate]
        yield Gap("step", name, f"the question asks for the other way of {name!r}")
    if path.goes_back and not asks_for_others(session.question):
        yield Gap("step", "", "found as what has the same as what is asked about, of which the question says nothing")
    elif len(path.steps) > 1 and asking:
        at_place = ["place location"] if _ASKS_WHERE.match(session.question) else []
        for step in _unasked_steps(best, [*asking, *at_place], session):
            yield Gap("step", step, f"found by way of {step!r}, of which the question says nothing")


def _unasked_steps(best: EvidenceItem, telling: Sequence[str], session: Session) -> list[str]:
    """The steps of a path that no word of the question is left for, each word being used for one step.

    A word is as like a step as its predicate's name, or as the kind of things that it leads to.
    """
    path = best.paths[0]
    predicates = session.labels([hop.triple.predicate for hop in path.hops], in_grace=True)
    groups = [[way.terms for way in best.paths if len(way.hops) == len(path.hops)]]
    (kinds,) = session.labels.majority_types(groups, in_grace=True)
    named: dict[str, list[str]] = {}
    for hop, kind in zip(path.hops, kinds[1:], strict=True):
        named.setdefault(predicates[hop.triple.predicate], []).append(kind)
    alike = np.array([_nearness([step, *filter(None, own)], telling, session) for step, own in named.items()])
    left = dict.fromkeys(range(len(named)))
    for _ in range(min(alike.shape)):
        step, word = np.unravel_index(int(alike.argmax()), alike.shape)
        if alike[step, word] < _STEP_NEAR:
            break
        left.pop(int(step), None)
        alike[step, :] = alike[:, word] = -1.0
    return [list(named)[i] for i in left]


def _nearness(names: Sequence[str], telling: Sequence[str], session: Session) -> list[float]:
    """For each word how like the most like of some names it is; 1 if they have a root in common."""
    roots = {root(word) for name in names for word in words(normalised(name))}
    alike = session.ranker.similarities(names, telling).max(axis=0, initial=0.0)
    return [1.0 if root(word) in roots else float(value) for word, value in zip(telling, alike, strict=True)]


def _is_empty(word: str) -> bool:
    """Whether a word says nothing of what is asked: light words, initials, adverbs."""
    return word in EMPTY or (len(word) == 1 and not word.isdecimal()) or (len(word) > 5 and word.endswith("ly"))


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
    same = [1.0 if {root(w) for w in content_words(label)} == {root(word)} else 0.0 for label in labels]
    score, label = max(zip(np.maximum(alike, same).tolist(), labels, strict=True))
    return label if score >= _IS_NAMED and score > on_path + _NEARER else ""


def _likeness(
    left: Sequence[str], phrases: Sequence[str], names: Sequence[str], start_kind: str, session: Session
) -> dict[str, float]:
    """For each word, how like the name of a step or kind it is, by itself or in a phrase with words beside it.

    :param start_kind: the kind of what the question is about; other names of it and what is done to it are like it.
    """
    texts = list(dict.fromkeys([*left, *phrases]))
    alike = dict(zip(texts, session.ranker.similarities(texts, list(names)).max(axis=1, initial=0.0), strict=True))
    within = {word: [text for text in texts if word in text.split()] for word in left}
    found = {word: max(float(alike[text]) for text in (word, *within[word])) for word in left}
    for word in left if start_kind else ():
        of_start = float(session.ranker.similarities([word], [start_kind])[0, 0])
        if of_start >= (_NEAR if word.endswith("ed") else _IS_START):
            found[word] = max(found[word], of_start)
    return found


def _step_names(item: EvidenceItem, session: Session) -> list[str]:
    predicates = dict.fromkeys(hop.triple.predicate for path in item.paths for hop in path.hops)
    labels = session.labels(predicates, in_grace=True)
    return [labels[predicate] for predicate in predicates]


def _kind_names(item: EvidenceItem, session: Session) -> list[str]:
    groups = [[path.terms for path in item.paths if len(path.hops) == len(item.paths[0].hops)]]
    (kinds,) = session.labels.majority_types(groups, in_grace=True)
    return kinds


def _roots_on(item: EvidenceItem, session: Session) -> set[str]:
    """Roots in the names of what paths go through, and those in the names of all that is found at their ends."""
    ends = {path.end for path in item.paths}
    labels = session.labels(dict.fromkeys(term for path in item.paths for term in path.terms), in_grace=True)
    of_ends = [_roots([labels[end]]) for end in ends]
    return _roots(label for term, label in labels.items() if term not in ends) | set.intersection(*of_ends)
