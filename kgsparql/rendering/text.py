"""Answers as text for a person, and as Markdown, in which all that graph or model wrote is text, never a link."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kgsparql import events as e
from kgsparql.answering.answer import AND_MORE, LISTED, Answer, AnswerTerm, ReadingChoice, more_text
from kgsparql.dataclasses import replace
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.evidence.verbalising import triple_text
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import counted
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.terms import Literal, printable
from kgsparql.rendering.rows import aligned_table, markdown_table, table_line, without_rows

# -- What both show -----------------------------------------------------------------------------------------------

_ASIDE = "Also found"  # beside what an answer rests on
_SHOWN_RIVALS = 3  # alternatives to a link that are shown
_SHOWN_FALLBACKS = 6  # different fallbacks that are shown
_INSTEAD = {  # what was done, where the reply to a call was unusable
    "mentions": "the linker found the names",
    "sentences": "the facts are shown as they are",
    "answer": "there are ranked candidates instead",
}


_TERMINAL = r"(?:kgsparql [a-z]+\b|(?<![^\s(])--?[a-zA-Z][\w-]*|\bpip install\b)"
_TERMINAL_ASIDE = re.compile(rf" ?\([^()]*{_TERMINAL}(?:[^()]|\([^()]*\))*\)")
_BETWEEN = r"(?:[;:?.] (?:or |and )?|, (?:or|and) )"
_TERMINAL_CLAUSE = re.compile(rf"(?:^|{_BETWEEN})(?:(?!{_BETWEEN}).)*?{_TERMINAL}(?:(?!; |, or ).)*")
_BEGINNING = re.compile(r"^(?:; |, or )")


def without_commands(text: str) -> str:
    """Leave out of a note or a hint what only a terminal has: clauses that name commands or options of them.

    >>> without_commands("not looked at (other names): --fresh does; the order says little (or -e <http://e.org/1>)")
    'not looked at (other names); the order says little'
    >>> without_commands("kgsparql doctor tests the server; another model may do better")
    'another model may do better'
    """
    return _BEGINNING.sub("", _TERMINAL_CLAUSE.sub("", _TERMINAL_ASIDE.sub("", text)))


def _listed_answers(answer: Answer) -> tuple[list[str], str]:
    """Return the first answers with their markers, and how many more there are.

    None if the text names all, or they are a value or a table.
    """
    is_value = answer.computed is not None and (answer.computed.is_table or answer.value is not None)
    if answer.is_ranked or is_value:
        return [], ""
    text = answer.text.casefold()
    first = answer.answers[:LISTED]
    is_named = (any(name.casefold() in text for name in (one.shown, _answer_name(one))) for one in first)
    if len(answer.answers) <= LISTED and all(is_named):
        return [], ""
    listed = [f"{_answer_name(one)}  [{', '.join(one.markers)}]" for one in first]
    return listed, more_text(answer.answers[LISTED:], answer.evidence, answer.say)


def _inferred_lines(answer: Answer) -> list[str]:
    checked = [f"{triple_text(step.cited.triple, answer.labels)}  [{step.marker}]" for step in answer.inference]
    return [*checked, *(f"the model's own: “{step}”" for step in answer.own_steps)]


def _answer_name(one: AnswerTerm) -> str:
    called = value_text(one.term, one.label) if isinstance(one.term, Literal) else one.label
    return printable(replace(one, label=called).shown, 180)


def _titled_items(answer: Answer) -> Iterator[tuple[str, list[EvidenceItem]]]:
    """Yield the evidence that is cited, then the other evidence, each with its heading."""
    cited = answer.cited
    used, rest = ([item for item in answer.evidence if (item.marker in cited) == is_used] for is_used in (True, False))
    yield from [("Evidence", used)] if used else []
    yield from [(_ASIDE if used else "Found in the graph", rest)] if rest else []


def _link_lines(answer: Answer) -> Iterator[str]:
    """Yield a line for each link: the mention, the entity, and what else may be meant."""

    def described(one: LinkedEntity) -> str:
        return f" ({printable(one.description, 80)})" if one.description else ""

    for link in answer.linked:
        mention = f"{link.mention.text!r} → " if link.mention.text else ""
        rivals = [
            f"{printable(one.label, 80) + ' ' if one.label != link.label else ''}{one.term}{described(one)}"
            for one in link.likely_alternatives
        ]
        more = " …" if len(rivals) > _SHOWN_RIVALS else ""
        others = f"; {answer.say('or')} {', '.join(rivals[:_SHOWN_RIVALS])}{more}" if rivals else ""
        label = f"{printable(link.label, 80)}{described(link)}"
        yield f"{mention}{label} {link.term} ({answer.say(link.matched)} {link.score:.2f}{others})"


def _fallback_lines(answer: Answer) -> Iterator[str]:
    """Yield a line for each different fallback that no note mentions."""
    noted = {note.cause for note in answer.notes}
    told = dict.fromkeys(f for f in answer.fallbacks if f.purpose != "ranking" and f.reason not in noted)
    for fallback in [*told][:_SHOWN_FALLBACKS]:
        instead = f"; {_INSTEAD[fallback.purpose]}" if fallback.purpose in _INSTEAD else ""
        yield f"{fallback.purpose}: {fallback.reason.rpartition(' [E_')[0] or fallback.reason}{instead}"
    if len(told) > _SHOWN_FALLBACKS:
        yield f"{len(told) - _SHOWN_FALLBACKS} more fallbacks (-f json lists them all)"


def _cost_line(answer: Answer, *, verbose: int = 0) -> str:
    confidence = [f"confidence {answer.confidence:.2f}"] * bool(verbose)
    took = cost_parts(answer.usage, answer.say)
    return " · ".join([answer.say(answer.status), *confidence, *_verified_counts(answer), *took])


def cost_parts(usage: Mapping[str, Any], say: Callable[[str], str] = str) -> list[str]:
    """Say what a question took."""
    before = " " + say("({} more to prepare)").format(f"{usage['prepared']:,}") if usage.get("prepared") else ""
    calls, cached = usage.get("model_calls", 0), usage.get("cached_calls")
    kept = f" ({counted(cached, 'kept reply', 'kept replies')})" if cached else ""
    parts = [counted(usage.get("queries", 0), say("query"), say("queries")) + before]
    if calls:
        parts += [counted(calls, say("model call"), say("model calls")) + kept, f"{usage.get('tokens', 0):,} tokens"]
    return parts if usage.get("seconds") is None else [*parts, f"{usage['seconds']:.2f} s"]


def _verified_counts(answer: Answer) -> Iterator[str]:
    """Say how many of the citations, and of all triples, were verified in the graph."""
    rests_on, say = list(answer.evidence.keep(answer.cited)), answer.say
    if cited := [item for item in rests_on if item.triples]:
        checked = sum(all(triple.verified for triple in item.triples) for item in cited)
        count = counted(len(cited), say("citation"), say("citations"))
        yield say("{} checked").format(count if checked == len(cited) else say("{} of {}").format(checked, count))
    verified = {t.triple for item in answer.evidence for t in item.triples if t.verified}
    if triples := answer.evidence.triples:
        count = counted(len(triples), say("triple"), say("triples"))
        yield say("{} found again").format(say("{} of {}").format(f"{len(verified):,}", count))


# -- Text ---------------------------------------------------------------------------------------------------------

_MOST_EVIDENCE = 20_000  # characters of a piece of evidence
_MOST_ANSWER = 4_000  # characters of a line of an answer
_MOST_NOTE = 600  # characters of a note
_WIDE = 100  # a longer line of evidence is broken into its parts
_CHOICE = 80  # characters of each of the first things that a reading comes to
_BY_RANK = "the best reading by rank"


def text_lines(answer: Answer, *, verbose: int = 0, told_graphs: bool = False) -> Iterator[str]:
    """Yield the lines of an answer for a person; parameters as of :func:`kgsparql.render`.

    Of an answer in doubt these are the readings to choose from, and what a limit cut off; of a sure one what it rests
    on. ``verbose`` adds what else was found.
    """
    yield from _first_lines(answer)
    sections = [("Notes", _note_lines(answer, verbose=verbose))]
    if verbose or not _is_doubt(answer):
        sections = [*_found_sections(answer, verbose=verbose, told_graphs=told_graphs), *sections]
    for heading, lines in sections:
        yield from ("", answer.say(heading), *lines) if lines else ()
    yield ""
    links = () if answer.choices and not verbose else _link_lines(answer)
    yield from (f"{'' if at else answer.say('Linked'):<6}  {line}" for at, line in enumerate(links))
    yield _cost_line(answer, verbose=verbose)


def _choice_outcome(one: ReadingChoice, answer: Answer) -> str:
    """Say what a reading comes to: the first things, and how many more there are."""
    left = one.count - len(one.first)
    more = [answer.say(AND_MORE).format(f"{left:,}")] if left > 0 else []
    return "; ".join([*(printable(text, _CHOICE) for text in one.first), *more])


def _found_sections(answer: Answer, *, verbose: int, told_graphs: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield the answers, how they were inferred and the evidence, each with its heading."""
    listed, more = _listed_answers(answer)
    yield "Answers", [*(f"{i:>4}  {line}" for i, line in enumerate(listed, 1)), *([f"      {more}"] if more else [])]
    yield "Inference", [f"{i:>4}  {line}" for i, line in enumerate(_inferred_lines(answer), 1)]
    is_of_several = told_graphs or len({graph for item in answer.evidence for graph in item.graphs}) > 1
    for heading, items in _titled_items(answer):
        lines: list[str] = []
        for item in items if verbose or heading != _ASIDE else ():
            lines += _item_lines(without_rows(item, answer), told_graphs=is_of_several)
            lines += [f"        {line}" for line in item.query.shown.splitlines() * bool(verbose)]
        yield heading, lines


def _note_lines(answer: Answer, *, verbose: int) -> list[str]:
    notes = [*(note for note in answer.notes if verbose or note.code != "frontier"), *_fallback_lines(answer)]
    return [f"      {printable(note, _MOST_NOTE)}" for note in notes]


def model_outcome(draft: Answer, answer: Answer) -> str:
    """Say what a model made of the answer without it."""
    if failed := [note for note in answer.notes if note.code in {"model_failed", "nothing_chosen", "untried"}]:
        return str(failed[0])
    before, after = ({own.value, *(one.term for one in own.best)} for own in (draft, answer))
    if before != after:
        chosen = f"chose {', '.join(answer.cited)}" if answer.cited else "found no answer in what there is"
        return f"{printable(answer.model, 80)} {chosen}."
    doubts = (gap.text for gap in answer.gaps if gap.code == "reading" and gap not in draft.gaps)
    return next(doubts, f"{printable(answer.model, 80)} agrees.")


def _is_doubt(answer: Answer) -> bool:
    return bool(answer.choices) or (answer.is_ranked and bool(answer.gaps))


def _first_lines(answer: Answer) -> Iterator[str]:
    """Yield the answer, by rank where nobody chose; or the doubt, and the readings to choose from."""
    if _is_doubt(answer):
        yield printable(answer.text.partition("\n")[0], _MOST_ANSWER)
        for number, one in enumerate(answer.choices, 1):
            yield from (f"{number:>4}  {printable(one.reading, _MOST_NOTE)}", f"      = {_choice_outcome(one, answer)}")
        more = (
            "--reading 1 asks for the first of these"
            if answer.choices
            else "-v shows what was found, which is not likely"
        )
        yield f"      ({answer.say(more)})"
    elif answer.is_ranked and answer.best:
        more = more_text(answer.best[LISTED:], answer.evidence, answer.say)
        listed = "; ".join([*map(_answer_name, answer.best[:LISTED]), *([more] if more else [])])
        yield f"{printable(listed, _MOST_ANSWER)}  [{', '.join(answer.cited)}]"
        likely = [answer.say("{} % likely to be right").format(f"{100 * answer.confidence:.0f}")] * bool(
            answer.confidence
        )
        yield f"({'; '.join([answer.say(_BY_RANK), *likely])})"
    else:
        yield from _lines_with_table(answer)


def _lines_with_table(answer: Answer) -> Iterator[str]:
    """Yield the lines of the answer's text; a computed table stands in place of its rows, or below a model's words.

    What a model may have written has a bar before each further line: it cannot pass for evidence, or for the last line.
    """
    table, line_of_table = aligned_table(answer), table_line(answer)
    lines = answer.text.splitlines()
    bar = "│ " if answer.model and not answer.is_ranked else ""
    for at, line in enumerate(lines):
        shown = f"{bar if at else ''}{printable(line, _MOST_ANSWER)}"
        yield from table if table and line == line_of_table else [shown.rstrip()]
    if table and line_of_table not in lines:
        yield from ("", *table)


def _item_lines(item: EvidenceItem, *, told_graphs: bool) -> Iterator[str]:
    """Yield an item after its marker; a long one with each of its parts on a line of its own."""
    shown = printable(item.text, _MOST_EVIDENCE)
    lines = shown.split(" | ") if item.kind in {"path", "neighbours"} and len(shown) > _WIDE else [shown]
    lines[1:] = [f"| {part}" for part in lines[1:]]
    lines[-1] += "" if all(cited.verified for cited in item.triples) else "  (not checked)"
    if told_graphs and item.graphs:
        lines[-1] += f"  ({printable(', '.join(item.graphs), 200)})"
    yield f"{item.marker:>4}  {lines[0]}"
    yield from (f"      {line}" for line in lines[1:])


def step_words(event: e.Event) -> str:  # noqa: PLR0911 - one arm a kind
    """Say what happened, in one line; empty for what is shown in another way: the evidence, the answer."""
    match event:
        case e.QueryRun():
            cut = "" if event.complete else ", cut by the endpoint"
            return f"{event.name}: {event.solutions:,} solutions{cut}, {event.seconds * 1000:.1f} ms"
        case e.PathsSearched():
            between = f"{event.start} to {event.end}" if event.end else event.start
            return f"{event.what} from {between}: {event.paths:,} in the adjacency, {event.seconds * 1000:.1f} ms"
        case e.ModelCalled():
            tokens = f"{event.prompt_tokens:,} + {event.completion_tokens:,} tokens"
            outcome = f"failed: {event.error}" if event.error else tokens
            took = "kept reply" if event.cached else f"{event.seconds:.2f} s"
            return f"{event.model} ({event.purpose}): {outcome}, {took}"
        case e.Drafted():
            said = [line for line in _first_lines(event.answer) if line and not line.startswith("(")]
            return f"without the model: {'; '.join(said[:2])}; the model is asked"
        case e.EntitiesLinked():
            found = "; ".join(f"{m!r} → {label}" for m, _, label, _, _ in event.entities) or "nothing"
            return f"linked: {printable(found, 400)}"
        case e.QuestionRead():
            matches = "; ".join(f"{words!r} {path}" for words, path in event.matches if words)
            plan = f"{event.plan} ({matches})" if matches else event.plan or "no plan"
            return printable(f"read: {'; '.join(event.clauses)} | {plan}", 800)
        case e.CandidatesChosen():
            of = len(event.kept) + event.pruned
            return f"{event.purpose}: kept {len(event.kept)} of {of} ({event.chosen_by})"
        case e.LimitReached():
            return printable(event.message, 300)
        case e.FallbackUsed():
            return f"{event.purpose}: {printable(event.reason, 300)}"
        case e.Verified():
            return f"verified: {event.found} found again, {event.removed} removed, {event.unknown} not checkable"
        case _:
            return ""


# -- Markdown -----------------------------------------------------------------------------------------------------

_RANKED = "Ranked candidates"
_BULLET = re.compile(r"(?:[-*+]|[0-9]{1,4}[.)]) ")


def markdown_lines(answer: Answer) -> Iterator[str]:
    """Yield the answer as lines of Markdown."""
    yield f"## {escaped_markdown(answer.question)}"
    yield from _markdown_paragraphs(line for line in answer.text.splitlines() if line != table_line(answer))
    yield from ("", *markdown_table(answer, escaped_markdown)) if table_line(answer) else ()
    likely = [f"{one.reading} = {_choice_outcome(one, answer)}" for one in answer.choices]
    yield from ("", *(f"{i}. {escaped_markdown(line)}" for i, line in enumerate(likely, 1))) if likely else ()
    listed, more = _listed_answers(answer)
    numbered = [f"{i}. {escaped_markdown(line)}" for i, line in enumerate(listed, 1)]
    yield from _markdown_section("Answers", [*numbered, "", escaped_markdown(more)] if more else numbered)
    steps = [f"{i}. {escaped_markdown(line)}" for i, line in enumerate(_inferred_lines(answer), 1)]
    if steps:
        yield from _markdown_section("Inference", [*steps, "", "```mermaid", answer.tree.mermaid(), "```"])
    yield from _markdown_section("Linked", [f"- {escaped_markdown(line)}" for line in _link_lines(answer)])
    for title, items in _titled_items(answer):
        yield from ("", f"### {title}")
        for item in items:
            yield from ("", f"**{item.marker}** {escaped_markdown(item.text, _MOST_EVIDENCE)}")
            if item.query.text and item.marker in answer.cited:
                yield from ("", "<details><summary>SPARQL</summary>", "")
                yield from ("```sparql", item.query.shown.replace("```", "` ` `"), "```", "", "</details>")
    notes = [*answer.notes, *_fallback_lines(answer)]
    yield from _markdown_section("Notes", [f"- {escaped_markdown(note, _MOST_NOTE)}" for note in notes])
    yield from ("", f"_{_cost_line(answer)}_")


def _markdown_section(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"### {heading}", "", *lines)


def _markdown_paragraphs(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines of an answer as Markdown: lists stay lists, other lines become paragraphs."""
    was_listed = False
    for line in lines:
        shown = printable(line, _MOST_ANSWER)
        found = _BULLET.match(shown)
        bullet = found[0] if found else ""
        if not shown:
            continue
        if not (bullet and was_listed):
            yield ""
        is_heading = shown == _RANKED
        yield f"**{_RANKED}**\n" if is_heading else bullet + escaped_markdown(shown.removeprefix(bullet), _MOST_ANSWER)
        was_listed = bool(bullet) or is_heading


def escaped_markdown(text: Any, limit: int = 600) -> str:
    r"""Write a text as Markdown in which nothing is emphasis, code, a link, an image, a tag or another character.

    >>> print(escaped_markdown("expected_hits@1 | <b> &lt; R&D $x$"))
    expected\_hits@1 \| \<b\> \&lt; R&D \$x\$
    """
    return re.sub(r"([\\`*_\[\]<>#|!~$]|&(?=#?\w+;))", r"\\\1", printable(text, limit))
