"""A question before it is planned: taken for what it is in English, read whole, and the graph looked at for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from operator import attrgetter
from threading import Lock
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import GRAPH_FAILED
from kgsparql.evidence.notes import MISSING_NAME
from kgsparql.exploration import labels
from kgsparql.exploration.labels import linked_labels
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.english_forms import singular
from kgsparql.linking.label_index.packed import LabelsWithMore
from kgsparql.linking.label_index.search import Kind, LabelRow, label_row
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import codes_in, countries, is_code, other_numbers, root, roots_of
from kgsparql.plans.set_profile import KnownSets, Profiler
from kgsparql.plans.term_lists import TermLister, TermLists, class_counts, common_predicates
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import apply, variables
from kgsparql.rdf.terms import IRI, Literal, as_iri, distinct, iris_in
from kgsparql.rdf.vocabulary import CLASS_KINDS, CONCEPT, UNWALKED
from kgsparql.reading.chunks import Chunked, chunked
from kgsparql.reading.clauses import Chunk, Name, places_of
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import left_out
from kgsparql.reading.lexicon import Lexicon, glossary, lexicon
from kgsparql.reading.parser import read_question
from kgsparql.reading.translation import label_in_english, language_in, translated
from kgsparql.schema.kinds import NamedKind, NamedKinds
from kgsparql.schema.vocabulary import GraphVocabulary

_MEANINGS = 3  # of a name, and classes, that are listed
_ROWS = 50  # predicates with a word of the question that are looked at


@frozen
class PlanQuestion:
    """One question.

    :param chunks: what its words name.
    :param profiler: looks at sets of the graph, each once.
    """

    session: Session
    chunks: Sequence[Chunk]
    profiler: Profiler
    vocabulary: GraphVocabulary

    @classmethod
    def of(cls, session: Session) -> PlanQuestion:
        """The question of a session, whose entities are linked."""
        vocabulary = session.vocabulary
        chunks: tuple[Chunk, ...] = ()
        with session.within_budget():
            chunks = read_whole(session).read.chunks
        profiler = Profiler(session.graph, vocabulary, common=common_profiler(session))
        return cls(session, chunks, profiler, vocabulary)

    def texts(self, names: str) -> tuple[Literal, ...]:
        """The values of the graph that a model looks for, apart by ``;``, however they are written."""
        said = [text for name in names.split(";") if (text := name.strip())]
        forms = dict.fromkeys(form for text in said for form in (text, text.title(), text.capitalize(), text.lower()))
        with self.session.within_budget():
            return tuple(_texts_found(tuple(map(Literal, forms)), (), self.session)) if forms else ()
        return ()

    def lists(self, found: Sequence[LinkedEntity] = (), texts: Sequence[Literal] = ()) -> TermLists:
        """The terms that a model may write a plan over.

        :param found: what was looked up besides, and ``texts``.
        """
        session = self.session
        counts = classes_of(session)
        lister = TermLister(session.asked, session.label_fit, self.profiler, session.labels, session.linker, counts)
        terms = [*(name.term for chunk in self.chunks for name in chunk.entities[:_MEANINGS]), *texts]
        kinds = [kind for chunk in self.chunks for kind in chunk.classes[:_MEANINGS]]
        kinds = [*(kinds or self._measured_classes()), *(one.term for one in found if one.kind == "class")]
        wanted = [one.term for one in found if one.kind == "predicate"]
        kinds += [kind for one in wanted for kind in self.profiler.at_ends(one).subject_kinds[:_MEANINGS]]
        entities = [*session.links, *(one for one in found if one.kind == "entity")]
        return lister.lists(terms, kinds, entities, wanted)

    def _measured_classes(self) -> list[IRI]:
        """The classes of what has a predicate that is named, where no class is: `the lowest density`."""
        linker, asked = self.session.linker, self.session.asked
        texts = [asked.texts[at] for at in asked.content]
        rows = linker.search.offline().with_words(texts, limit=_ROWS) if linker is not None and texts else []
        named = {root(text) for text in texts}
        called = [row for row in rows if row.kind == "predicate" and roots_of([row.key]) <= named]
        kinds = (self.profiler.at_ends(IRI(row.iri)).subject_kinds for row in sorted(called, key=lambda r: -len(r.key)))
        return [*distinct(kind for own in kinds for kind in own)][:_MEANINGS]


_COUNTED: WeakKeyDictionary[KnowledgeGraph, dict[object, Any]] = WeakKeyDictionary()
"""The classes and predicates of the graphs that are open, by what counts them."""
_KNOWN: WeakKeyDictionary[KnowledgeGraph, dict[tuple[object, ...], KnownSets]] = WeakKeyDictionary()
"""What is known of these classes, by what of the graph is walked."""
_ENGLISH: WeakKeyDictionary[KnowledgeGraph, dict[str, tuple[LabelRow, ...]]] = WeakKeyDictionary()
"""By language, the English names of what has only names in that language; read once."""
_KEEPING = Lock()
_HARDLY_ANY, _MUCH_LARGER = 3, 20  # things of a class that a noun may hardly mean, and times as many of which it is
_SURELY = 0.9  # share of the things of a kind that have a noun in their names, where it is surely that of them all
_TOLD_BY = 20  # predicates that have a number of the question as a text, which are looked at
_COUNTED_S = 5.0  # for a look at all of an endpoint, at most

_Kept = TypeVar("_Kept")


def classes_of(session: Session) -> Mapping[IRI, int]:
    """Count the commonest classes of a graph, once; none of an endpoint where it takes too long.

    They are known of the graph, not of a question: the query is charged to none, or it would be to the first one.

    :raises CancelledError: if the question is stopped meanwhile.
    """
    return _counted_once(class_counts, {}, session)


def predicates_of(session: Session) -> tuple[IRI, ...]:
    """List the commonest predicates of a graph, counted once, as :func:`classes_of` does."""
    return _counted_once(common_predicates, (), session)


def _counted_once(
    count: Callable[[KnowledgeGraph], _Kept], nothing: _Kept, session: Session, key: object = None
) -> _Kept:
    """Count in all of a graph what is kept for the questions that follow, where that is no trouble for it."""
    key = key or count
    graph = session.graph.graph.origin
    if graph.profile.has_many_labels:
        return nothing
    with _KEEPING:
        kept = _COUNTED.setdefault(graph, {})
        if key not in kept:
            most_s = _COUNTED_S if graph.is_remote else None
            own = replace(session.graph.shared(), graph=graph, most_s=most_s)
            with suppress(*(GRAPH_FAILED if graph.is_remote else ())):
                kept[key] = count(own)
        return cast("_Kept", kept.setdefault(key, nothing))


def name_schema(session: Session) -> None:
    """Have the labels of the commonest predicates at hand, and of the classes of an endpoint: they are read once."""
    known, graph = common_profiler(session).known.labels, session.graph.shared()
    for languages in {session.labels.languages, session.compared_labels.languages}:
        if languages not in known:
            kinds = classes_of(session) if session.graph.is_remote else ()
            known[languages] = labels(graph, [*predicates_of(session), *kinds], languages=languages)
            if graph.profile.predicate_label_links:  # too many to count: as many are asked for as one query gives
                with suppress(*GRAPH_FAILED):
                    own = replace(graph, graph=graph.graph.origin, most_s=_COUNTED_S)
                    known[languages] |= linked_labels(own, languages=languages)
    session.labels.shared = known


def common_profiler(session: Session) -> Profiler:
    """Make what looks at what is the same for all questions about a graph, charged to none."""
    graph, ignored = session.graph.graph.origin, session.graph.ignored
    walked = (ignored.terms, frozenset((*session.vocabulary.joined, *session.vocabulary.keyed)))
    with _KEEPING:
        known = _KNOWN.setdefault(graph, {}).setdefault(walked, KnownSets())
    return Profiler(session.graph.shared(), session.vocabulary, known=known)


_LONGEST = 4  # words of a text that are looked for together


def read_whole(session: Session) -> Form:
    """Read the question of a session, whose entities are linked, for all that follows.

    Texts of the graph are names in it, too: they are looked for with one query.
    """
    if (read := session.read_before(whole=True)) is not None:
        return read
    own, links = lexicon(), _links_by_letters_first(session)
    is_read = links is session.links and not session.given
    asked = session.asked if is_read else read_question(chunked(session.question, session.linker, links=links))
    words = asked.read
    covered = places_of(words.chunks)
    known = own.empty_words | own.verbs | own.superlatives.keys() | own.comparatives.keys() | own.imperatives
    left = [
        at
        for at, text in enumerate(words.texts)
        if words.is_letter(at)
        or not (at in covered or text in known or own.is_participle(text) or words.is_type_word(at))
    ]
    if values := _values_among(left, words, session):
        session.notes.drop(MISSING_NAME, [name.label for _, _, name in values])
        asked = read_question(chunked(session.question, session.linker, links=links, values=values))
    asked = _without_retired(session, _with_kinds_named(session, asked))
    session.read_as(asked)
    return asked


def _without_retired(session: Session, asked: Form) -> Form:
    """Read names without the things that are deprecated, where another has the name."""
    called = {one: {name.label.lower() for name in one.entities} for one in asked.read.chunks}
    several = [one for one, names in called.items() if len(names) < len(one.entities)]
    terms = (name.term for one in several for name in one.entities)
    retired = session.retired(iris_in(terms))
    kept = {one: tuple(name for name in one.entities if name.term not in retired) for one in several}
    if not retired or not any(kept.values()):
        return asked
    chunks = (replace(one, entities=kept.get(one) or one.entities) for one in asked.read.chunks)
    return read_question(replace(asked.read, chunks=tuple(chunks)))


def _with_kinds_named(session: Session, asked: Form) -> Form:
    """Read the nouns that no class is called by, or hardly any, as the things that are called so."""
    read, own, added = asked.read, asked.language, dict[int, Chunk]()
    named = {one.span: one for one in read.chunks}
    # A kind `of pain` is asked for where pain is a thing that others stand below.
    for head in (one.head for one in asked.phrases if one.of is None and one.head is not None and not one.kinds):
        at, text, there = head.start, read.texts[head.start], named.get(head.span)
        kinds = () if there is None else there.classes
        is_one = at > 0 and read.texts[at - 1] in own.definites and text == singular(text)
        is_name = there is not None and (there.is_name or there.is_value)
        is_known = is_one or is_name or text in own.light_words or (bool(kinds) and session.vocabulary.is_ontology)
        if len(head.span) > 1 or is_known:
            continue
        sizes = classes_of(session)
        of_kinds = sum(sizes.get(one, 0) for one in kinds)
        if of_kinds > _HARDLY_ANY or (sizes and there is None and read.is_type_word(at)):
            continue
        meant = _kind_named(session, text, own)
        if meant is not None and (not kinds or _MUCH_LARGER * of_kinds < meant.size):
            doubt = None if meant.share > _SURELY else left_out(read.raw[at])
            added[at] = Chunk(at, at + 1, read.raw[at], classes=(meant.of, *kinds), problem=doubt)
    if not added:
        return asked
    chunks = [*(one for one in read.chunks if one.start not in added), *added.values()]
    return read_question(replace(read, chunks=tuple(sorted(chunks, key=attrgetter("start")))))


def _kind_named(session: Session, noun: str, own: Lexicon) -> NamedKind | None:
    """Find the things that a noun stands for: concepts, or those with such names."""
    forms = {noun, *other_numbers(noun)}
    read = partial(NamedKinds.of, sizes=classes_of(session), predicates=predicates_of(session))
    if (kinds := _counted_once(read, None, session, key=NamedKinds)) is None:
        return None
    if not own.concept_nouns.isdisjoint(forms) and (CONCEPT in kinds.sizes or session.vocabulary.is_ontology):
        return NamedKind(CONCEPT if CONCEPT in kinds.sizes else CLASS_KINDS[1], 1.0, kinds.sizes.get(CONCEPT, 0))
    return kinds.called(forms)


def _links_by_letters_first(session: Session) -> tuple[LinkedEntity, ...]:
    """Let names that are written count before what means the same: `German` of `German universities`."""
    links, linker = session.links, session.linker
    if linker is None or all(link.matched != "vector" for link in links):
        return links
    written = linker.by_letters().link(session.question)
    return (*(link for link in links if link.matched != "vector"), *written, *links)


def _values_among(left: Sequence[int], words: Chunked, session: Session) -> list[tuple[int, int, Name]]:
    """Find the texts of the graph that begin and end with one of some words, the longest first; `on loan`, too."""
    texts, spans, own = words.texts, dict[Literal, range](), lexicon()
    opening = [at for at, text in enumerate(texts[:-1]) if text in own.prepositions | own.particles]
    for first in (*left, *opening):
        for last in range(first + (first in opening), min(first + _LONGEST, len(texts))):
            if (last in left or first in opening) and not texts[last].isdecimal():
                text = words.text_of(first, last + 1)
                names = [one.upper() if len(one) < 4 else one.title() for one in countries().get(text.lower(), ())]
                names += [sex.upper() for sex in own.sex_of(text.lower()) if len(sex) == 1]  # F of female
                one = singular(text)  # librarians: whose job is librarian
                for form in distinct((text, text.title(), text.lower(), one, one.title(), one.lower(), *names)):
                    for term in (Literal(form), Literal(form, language=own.language)):
                        spans.setdefault(term, range(first, last + 1))
    for start, end in codes_in(words.question):
        if places := words.positions_between(start, end):
            spans[Literal(words.question[start:end])] = range(places[0], places[-1] + 1)
    last, function = len(texts) - 1, own.function_words
    numbers = {  # that count nothing: `the code 211`
        Literal(text): range(at, at + 1)
        for at, text in enumerate(texts)
        if text.isdecimal() and (at == last or texts[at + 1] in function)
    }
    if not (spans or numbers):
        return []
    found = _texts_found((*spans, *numbers), numbers, session)
    best = dict[Literal, range]()
    for term, span in sorted((spans | numbers).items(), key=lambda own: (-len(own[1]), str(own[0]))):
        if term in found and not any(set(span) < set(longer) for longer in best.values()):
            best[term] = span
    linked = [one for link in session.links for one in (link, *link.candidates)]
    owners = {term: [one for one in linked if one.mention.text == term.value] for term in best if is_code(term.value)}
    return [
        (span.start, span.stop, name)
        for term, span in best.items()
        for name in (
            Name(term, term.value, calls=found[term]),
            *(Name(one.term, one.label) for one in owners.get(term, ())),
        )
    ]


def _texts_found(
    texts: tuple[Literal, ...], numbers: Collection[Literal], session: Session
) -> dict[Literal, IRI | None]:
    """Find which texts the graph has that are no names; or names of blank nodes, with the predicate that gives them.

    :param numbers: those that are only digits, and count where they are codes.
    """
    value, predicate, item, is_blank = variables("v p x is_blank")
    labels, ends = session.graph.naming.labels, common_profiler(session)
    head = (value, predicate, (is_blank, apply("isBlank", item)))  # as a filter, Oxigraph reads all labels: 60 ms
    group = (g.Values(value, texts), g.Fact(item, predicate, value))
    found = dict[Literal, IRI | None]()
    solutions = session.graph.select(g.select_query("values_named", g.Select(head, group, distinct=True, limit=1_000)))
    left_out = {*UNWALKED, *labels}
    telling = {one["p"] for one in solutions if one["v"] in numbers} - left_out
    looked_at = sorted(map(as_iri, telling), key=str)[:_TOLD_BY]
    ends.look_at_ends(looked_at)
    for one in solutions:
        text, by = one["v"], as_iri(one["p"])
        calls = by in labels and getattr(one.get("is_blank"), "value", "") in {"true", "1"}
        is_told = calls or by not in left_out
        if is_told and not calls and text in numbers:
            is_told = by in looked_at and ends.at_ends(by).kind == "text"
        if isinstance(text, Literal) and is_told:
            found[text] = by if calls else found.get(text)
    return found


def translate(session: Session, language: str = "") -> None:
    """Take the question of a session for what it is in English; labels in its own language are shown before others.

    :param language: of the question; empty if its words are to tell.
    """
    english = lexicon().language
    with session.within_budget():  # labels at an endpoint are looked up
        search = None if session.linker is None else session.linker.search
        tag = language or language_in(session.question, search)
        if tag == english:
            return
        if session.linker is not None and search is not None and (rows := _english_rows(session, tag)):
            search = LabelsWithMore(search, rows)
            session.linker = copy(session.linker)
            session.linker.search = search
            session.compared = {IRI(row.iri): row.text for row in rows} | session.compared
        called = replace(session.labels, known=session.compared)
        session.translation = translated(
            session.question, tag, search, lambda term: called([term], in_grace=False)[term]
        )
        session.question = session.translation.text
        session.labels = replace(session.labels, languages=(tag, *session.labels.languages))


def _english_rows(session: Session, tag: str) -> tuple[LabelRow, ...]:
    """Name the classes and predicates in English that have only names in another language.

    They are known of the graph, not of a question: the queries are charged to none, or they would be to the first one.
    """
    kinds: dict[IRI, Kind] = dict.fromkeys(predicates_of(session), "predicate")
    kinds |= dict.fromkeys(classes_of(session), "class")
    graph = session.graph.graph
    with _KEEPING:
        known = _ENGLISH.setdefault(graph, {})
        if tag not in known:
            english, found = lexicon().language, labels(session.graph.shared(), kinds, languages=(lexicon().language,))
            own = {term: found[term].text for term in kinds if (found[term].language or "").partition("-")[0] == tag}
            said = {term: label_in_english(text, glossary(tag)) for term, text in own.items()}
            named = ((term, text) for term, text in said.items() if text != own[term])
            rows = (label_row(term.value, text, language=english) for term, text in named)
            known[tag] = tuple(row._replace(kind=kinds[IRI(row.iri)], degree=1) for row in rows if row is not None)
        return known[tag]
