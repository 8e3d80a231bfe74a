"""The words of a session's question, covered by what they name in its graph: entities, classes and texts."""

from __future__ import annotations

from collections.abc import Sequence

from kgsparql.answering.session import Session
from kgsparql.evidence.notes import MISSING_NAME
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.terms import Literal
from kgsparql.rdf.vocabulary import UNWALKED
from kgsparql.reading.chunks import Chunked, chunked
from kgsparql.reading.clauses import Name
from kgsparql.reading.lexicon import lexicon

_LONGEST = 4  # words of a text that are looked for together


def question_chunks(session: Session) -> Chunked:
    """Cover the words of the question of a session, whose entities are linked; texts are looked for with one query."""
    own, links = lexicon(), _links_by_letters_first(session)
    words = chunked(session.question, session.linker, own, links=links)
    covered = {at for chunk in words.chunks for at in chunk.span}
    known = own.empty_words | own.verbs | own.superlatives.keys() | own.comparatives.keys() | own.imperatives
    left = [at for at, text in enumerate(words.texts) if at not in covered and text not in known]
    left = [at for at in left if not (own.is_participle(words.texts[at]) or words.is_type_word(at))]
    values = _values_among(left, words, session)
    if not values:
        return words
    session.notes.drop(MISSING_NAME, [name.label for _, _, name in values])
    return chunked(session.question, session.linker, own, links=links, values=values)


def _links_by_letters_first(session: Session) -> tuple[LinkedEntity, ...]:
    """Let names that are written count before what means the same: `German` of `German universities`."""
    links, linker = session.links, session.linker
    if linker is None or all(link.matched != "vector" for link in links):
        return links
    written = Linker(linker.index, languages=linker.languages).link(session.question)
    return (*(link for link in links if link.matched != "vector"), *written, *links)


def _values_among(left: Sequence[int], words: Chunked, session: Session) -> list[tuple[int, int, Name]]:
    """Find the texts of the graph that begin and end with one of some words, the longest first."""
    spans: dict[Literal, range] = {}
    for first in left:
        for last in range(first, min(first + _LONGEST, len(words.texts))):
            if last in left and not words.texts[last].isdecimal():
                text = words.text_of(first, last + 1)
                for form in dict.fromkeys((text, text.title(), text.lower())):
                    spans.setdefault(Literal(form), range(first, last + 1))
                    spans.setdefault(Literal(form, language=lexicon().language), range(first, last + 1))
    if not spans:
        return []
    value, predicate, item = Variable("v"), Variable("p"), Variable("x")
    group = (g.Values(value, tuple(spans)), g.Fact(item, predicate, value))
    select = g.Select(((value, None), (predicate, None)), group, distinct=True, limit=1_000)
    names = {*UNWALKED, *session.graph.naming.labels}
    found = {s["v"] for s in session.graph.select(g.select_query("values_named", select)) if s["p"] not in names}
    best: dict[Literal, range] = {}
    for term, span in sorted(spans.items(), key=lambda own: (-len(own[1]), str(own[0]))):
        if term in found and not any(set(span) < set(longer) for longer in best.values()):
            best[term] = span
    return [(span.start, span.stop, Name(term, term.value)) for term, span in best.items()]
