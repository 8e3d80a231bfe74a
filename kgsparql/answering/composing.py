"""The draft of an answer, by templates: what was chosen or computed, else ranked candidates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from kgsparql.answering.answer import LISTED, Claim, Draft, Retrieval, more_text
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.term_labels import labels_from_items
from kgsparql.models.chat_completion import Call, plain
from kgsparql.rdf.terms import Labels, Term, printable

RANKED = "Ranked candidates"
OWN_KNOWLEDGE = "Not from the graph, but from the model's own knowledge:"

CLOSED_BOOK = """\
Answer the question from what you know, in a sentence or two. If you do not know, the answer is the one word: unknown.
Reply with JSON only, such as {"answer": "unknown"}"""

_LONGEST_ANSWER = 4_000  # characters
_EMPHASIS = re.compile(r"(?<![\w*])\*{2,3}(\S(?:[^*\n]*\S)?)\*{2,3}(?![\w*])")


def compose_from_templates(retrieval: Retrieval, say: Callable[[str], str] = str) -> Draft:
    """Make the draft without a model: ranked candidates, and one claim for each item of evidence they rest on."""
    if retrieval.draft is not None:
        return retrieval.draft
    listed = retrieval.candidates[:LISTED]
    cited = dict.fromkeys(marker for answer in listed for marker in answer.markers)
    claims = tuple(Claim(retrieval.evidence[marker].text, (marker,)) for marker in cited)
    # Beyond the first, those at the end of the best item that has ends.
    best = next((frozenset(item.ends) for item in retrieval.evidence if item.ends), frozenset[Term]())
    rest = tuple(term for term in retrieval.candidates[LISTED:] if term.term in best)
    lines = [f"{i:>2}. {printable(own.shown, 180)}  [{', '.join(own.markers)}]" for i, own in enumerate(listed, 1)]
    more = more_text(rest, retrieval.evidence)
    text = "\n".join([say(RANKED), *lines, *([f"    {more}"] if more else [])]) if lines else ""
    return Draft(text=text, answers=(*listed, *rest), claims=claims, is_ranked=True)


def closed_book(session: Session) -> str:
    """Ask what the model knows without the graph, if that is wanted, labelled as such; empty if it knows nothing.

    :raises ModelError: if the server cannot be reached, fails or refuses.
    """
    if not session.allow_model_knowledge:
        return ""
    from kgsparql.models.replies import own_knowledge  # where no model is asked, nothing that reads replies is needed

    asked = f"Question: {plain(session.original, 4000)}"
    said = session.ask_model(Call("closed book", CLOSED_BOOK, asked, {"answer": str}, own_knowledge), required=True)
    if said is None:
        return ""
    if not said:
        session.notes.append("the model does not know the answer either", code="unknown_to_model")
        return ""
    return f"{OWN_KNOWLEDGE} {plain_lines(said, _LONGEST_ANSWER)}"


def evidence_labels(evidence: Evidence, session: Session, *, besides: Iterable[Term] = ()) -> Labels:
    """Return a label for every term of the evidence, and of some besides."""
    terms = [*besides, *(term for triple in evidence.triples for term in triple)]
    return labels_from_items(evidence, session.labels(terms, in_grace=True))


def plain_lines(text: str, limit: int) -> str:
    r"""Write what a model wrote as safe lines without marks for emphasis; empty lines are left out.

    >>> plain_lines("Two:\n\n- **Ann** [P1]\n- Ben\x1b[2J", 100)
    'Two:\n- Ann [P1]\n- Ben[2J'
    """
    lines = (printable(_EMPHASIS.sub(r"\1", line), limit) for line in text[: 4 * limit].splitlines())
    kept = "\n".join(filter(None, lines))
    return kept if len(kept) <= limit else f"{kept[: limit - 1]}…"
