"""`according to the Census 2020`: a question that names one of the named graphs of a file asks that one alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeAlias, cast

from kgsparql.dataclasses import replace
from kgsparql.exploration import labels
from kgsparql.exploration.labels import own_label
from kgsparql.graphs.graph import BOUND, KnowledgeGraph
from kgsparql.linking.words import root, stop_words, tokens
from kgsparql.plans import algebra as a
from kgsparql.plans.dated_patterns import same_as
from kgsparql.plans.denotation import Denotation, PlannedReading, Rel, named_set
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import variables
from kgsparql.rdf.paths import Step, directions
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, distinct, iris_in, normalised
from kgsparql.rdf.vocabulary import SAME_AS
from kgsparql.reading.clauses import places_of
from kgsparql.reading.form import Form
from kgsparql.reading.lexicon import lexicon
from kgsparql.reading.parser import read_question
from kgsparql.schema.patterns import patterns

_STOPS = stop_words()
_MOST_GRAPHS, _LONGEST = 50, 8  # named graphs that a question may name; words of such a name


def said_source(graph: KnowledgeGraph, question: str, languages: Sequence[str]) -> tuple[str, str, KnowledgeGraph]:
    """Take a question that names a named graph for one about what that says; else return the graph as it is.

    :return: the question without the name, and what the reader is to know of it; both empty where none is named.

    It is named by some words of its name after `according to`, or by all of that, if it is called a `census` or the
    like, after `in`.
    """
    words = tokens(question)
    texts = [word.text.lower() for word in words]
    breaks = {at for at in range(1, len(words)) if "," in question[words[at - 1].end : words[at].start]}
    spans = [*_spans_after_phrases(texts, breaks), *_spans_of_subject(texts)]
    known = graph.named_graphs() if spans and graph.is_embedded else None
    if not known or len(known) > _MOST_GRAPHS:
        return "", "", graph
    called = labels(graph, known, languages=tuple(languages))
    names = {one: called[one].text for one in known}
    for at, start, end, stop, joint in spans:
        named = _named_by(texts[start:end], names, by_part=start - at > 1 or stop > end)
        if named is not None and (part := graph.part(named)) is not None:
            left, right = question[: words[at].start].rstrip(" ,"), joint + question[words[stop - 1].end :].lstrip(" ,")
            rest = f"{left} {right}" if left and right[:1].isalnum() else f"{left}{right}"
            about = sources_named(graph, [named], languages)[named]
            told = f"only what {about} says was asked: the named graph {named}, and the default graph"
            return rest[:1].upper() + rest[1:], told, part
    return "", "", graph


_Span: TypeAlias = tuple[int, int, int, int, str]
"""Where it begins, where what may be a name begins and ends, what else is taken out, and what stands in its place."""


def _spans_of_subject(texts: Sequence[str]) -> Iterator[_Span]:
    """Find what may be the name of who says something: `what does the Census give as …`, `when does it say that …`."""
    own = lexicon()
    for at in (at for at, text in enumerate(texts) if text in own.do_forms and at < _LONGEST):
        for end in range(min(len(texts), at + 1 + _LONGEST) - 1, at + 1, -1):
            if texts[end] in own.telling_verbs:
                is_of = not own.told_as.isdisjoint(texts[end + 1 : end + 2])
                is_that = not own.relatives.isdisjoint(texts[end + 1 : end + 2])
                joint = "is " if is_of else f"{next(iter(own.statements))} " if is_that and not at else ""
                yield at, at + 1, end, end + 1 + (is_of or is_that), joint


def _spans_after_phrases(texts: Sequence[str], breaks: Collection[int]) -> Iterator[_Span]:
    """Find what may be a name behind a phrase, the longest first.

    :param breaks: positions of the words before which there is a comma.
    """
    for at in range(len(texts)):
        for size in (2, 1):
            is_alone = at > 0 and texts[at - 1] in lexicon().only_words  # only in the Census: another question
            if " ".join(texts[at : at + size]) in lexicon().source_phrases and not is_alone:
                start = at + size
                last = min(len(texts), start + _LONGEST, *(one for one in breaks if one > start))
                yield from ((at, start, end, end, "") for end in range(last, start, -1) if texts[end - 1] not in _STOPS)


def _named_by(said: Sequence[str], names: Mapping[IRI, str], *, by_part: bool) -> IRI | None:
    """Find the one graph that some words name; ``None`` where they name none, or several."""
    own, is_source = _content_roots(said), not lexicon().source_words.isdisjoint(said)
    known = {one: _content_roots(normalised(name).split()) for one, name in names.items()}
    fits = [one for one, its in known.items() if (own and own <= its if by_part else is_source and own == its)]
    return fits[0] if len(fits) == 1 else None


def _content_roots(texts: Sequence[str]) -> frozenset[str]:
    return frozenset(root(text) for text in texts if text not in _STOPS)


def read_by_source(asked: Form, planner: Callable[[Form], Any], view: Any) -> tuple[Form, PlannedReading] | None:
    """Read who says something, on what the named graphs differ, and what only one has; ``None`` if none is asked."""
    own, texts, known = asked.language, asked.texts, view.profiler.graph.graph.named_graphs()
    if view.vocabulary.has_twins and (same := _whether_the_same(asked, view)) is not None:
        return asked, PlannedReading(same, 1.0)
    if not known or not 1 < len(known) <= _MOST_GRAPHS:
        return None
    told, start, end, form = own.empty_words | own.source_words, 0, 0, cast("Callable[..., a.ItemSet]", a.Sources)
    if is_said := not own.source_words.isdisjoint(texts):
        if not (own.differing | own.agreeing).isdisjoint(texts):
            return _where_they_differ(asked, planner(asked))
        best = next((phrase.superlative for phrase in asked.phrases if phrase.superlative), None)
        is_time = best is not None and not {"year", "founded"}.isdisjoint(best.measures)
        if best is not None and is_time and {*texts} - told - own.numbers.keys() == {texts[best.position]}:
            its = replace(best, number=1, measures=("date", "year"))  # when it was issued, whatever that is called
            found = planner(asked).phrases.measuring.superlative(Denotation(a.Items(tuple(known))), its)
            return next(((asked, PlannedReading(one.items, 1.0)) for one in found if one.how), None)
    verbs = own.reporting | (own.telling_verbs if is_said else own.saying)
    for at, text in enumerate(texts[:-1]):
        is_telling = text in verbs and told >= {*texts[:at]}
        if at and is_telling and (is_said or texts[0] == "who"):  # which of the sources say that
            end = at + 1 + (texts[at + 1] in own.relatives)
        elif text in own.only_words and texts[at + 1] in own.locatives:
            start = at - (texts[at - 1] in own.be_forms | own.joining_verbs | own.existence_verbs)
            for stop in range(at + 3, len(texts) + 1):
                if (named := _named_by(texts[at + 2 : stop], view.labels(known), by_part=True)) is not None:
                    end, form = stop, partial(a.OnlyIn, graph=a.Items((named,)))
    rest = read_question(asked.read.without(start, end))
    made = planner(rest).plan() if end else PlannedReading(None)
    is_such = isinstance(made.plan, a.ItemSet) and not (made.doubts or isinstance(made.plan, a.Items))
    return (rest, replace(made, plan=form(made.plan))) if is_such else None


def _whether_the_same(asked: Form, view: Any) -> a.Plan | None:
    """Read whether two things are the same, where the graph says that they are."""
    own, read = asked.language, asked.read
    named = [one for one in read.chunks if one.entities]
    rest = {asked.texts[at] for at in {*range(len(asked.texts))} - places_of(named) if not read.is_type_word(at)}
    if len(named) != 2 or own.same_words.isdisjoint(asked.texts) or not rest <= own.empty_words | own.same_words:
        return None
    one, other = (named_set(chunk.entities[0]) for chunk in named)
    same = a.Both((one, a.Either(tuple(a.Ends(other, Step(SAME_AS, way).path) for way in directions("both")))))
    return a.Exists(same) if asked.texts[0] in own.be_forms and view.has_items(same) else None


def _where_they_differ(asked: Form, reader: Any) -> tuple[Form, PlannedReading] | None:
    """Read on what named graphs differ, of a thing, or of which of a class; or whether they do."""
    own, texts = asked.language, asked.texts
    said = own.empty_words.union(own.amounts, own.telling_verbs, own.source_words, own.agreeing, own.differing)
    chunks = (one for one in asked.read.chunks if one.text.lower() not in own.source_words)
    for first in [one for one in chunks if one.entities or one.classes][:1]:
        given = Denotation(named_set(first.entities[0]) if first.entities else a.Instances(first.classes[0]))
        left = tuple(at for at, text in enumerate(texts) if text not in said and at not in first.span)
        is_differing, is_asked = not own.differing.isdisjoint(texts), texts[0] in own.auxiliaries
        for one in reader.connector.connect(given, Rel(left, "of", hops=1)) if left else ():
            differ, by = a.Disputed(given.known, one.path), a.Sources(one.known)
            are_several = not is_asked or len(reader.view.members(by)) > 1  # one alone does not disagree
            if not one.doubts and are_several and (is_asked or is_differing) and texts[0] not in own.how_words:
                such = a.Exists(differ)
                plan: a.Plan = differ if not is_asked else such if is_differing else a.Not(such)
                return replace(asked, is_definition=False), PlannedReading(plan, 1.0)
    return None


def sources_named(graph: KnowledgeGraph, named: Sequence[IRI], languages: Sequence[str]) -> dict[IRI, str]:
    """Name some graphs, each with what it was made of, by whom and when, as far as that is said."""
    x, p, y = variables("x p y")
    by = g.Values(p, tuple(map(IRI, sorted(patterns()["provenance"]))))
    told = g.found(graph, "provenance", (x, p, y), (g.Values(x, tuple(named)), by, g.Fact(x, p, y)), limit=_MOST_GRAPHS)
    called = labels(graph, (*named, *chain(*(one.values() for one in told))), languages=tuple(languages))
    said: dict[Term, list[str]] = defaultdict(list)
    for one in told:
        end = called[one["y"]]
        text = one["y"].value if end.derived and isinstance(one["y"], IRI) else end.text
        said[one["x"]].append(f"{called[one['p']].text} {text}")
    beside = {one: f" [{', '.join(sorted(own))}]" for one, own in said.items()}
    return {one: called[one].text + beside.get(one, "") for one in named}


def disputed(
    graph: KnowledgeGraph, facts: Sequence[Triple], languages: Sequence[str], *, in_part: bool
) -> dict[Term, str]:
    """Find values of one thing of which one named graph says one, and another the other, each with its name.

    :param in_part: only where some of these facts say one of them, and none the other.
    """
    said = [fact for fact in facts if isinstance(fact.object, Literal)]
    if not (said and graph.is_embedded and graph.named_graphs()):
        return {}
    x, p, y, twin, by = variables("x p y twin by")
    keys = g.Values(x, iris_in(fact.subject for fact in said)), g.Values(p, distinct(fact.predicate for fact in said))
    told = (*keys, same_as(x, twin), g.Said(by, (g.Fact(twin, p, y),)))
    each: dict[tuple[Term, IRI], dict[IRI, set[Term]]] = defaultdict(lambda: defaultdict(set))
    for one in g.found(graph, "disputed", (x, p, y, by), told, distinct=True, limit=BOUND):
        each[one["x"], one["p"]][one["by"]].add(one["y"])
    for fact in said:
        own = each[fact.subject, fact.predicate]
        values = {value: name for name, some in own.items() for value in some if len(some) == 1}
        if len(values) > 1 and not (in_part and values.keys() <= {other.object for other in said}):
            names = sources_named(graph, [*values.values()], languages)
            return {one: f"{own_label(one).text} ({names[values[one]]})" for one in sorted(values, key=str)}
    return {}
