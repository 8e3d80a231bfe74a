"""Labels of an endpoint in a file: of answers, bounded, and by pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgsparql.errors import StoreError
from kgsparql.linking.label_index.combined import LayeredLabels
from kgsparql.linking.label_index.kept import KeptLabels, SeenLabels, SliceProgress
from kgsparql.linking.label_index.memory import MemoryLabels
from kgsparql.linking.label_index.rows import LabelRow, label_row
from kgsparql.rdf.terms import normalised


def row(text: str, name: str = "", **more: str) -> LabelRow:
    return LabelRow(f"http://e.org/{name or text}", text, normalised(text), **more)  # type: ignore[arg-type]


@pytest.fixture
def kept(tmp_path: Path) -> KeptLabels:
    return KeptLabels(tmp_path / "place" / "labels.sqlite")


def test_reading_makes_no_file(kept: KeptLabels) -> None:
    assert (kept.newest_id(), kept.seen_rows(["a"], up_to=9), kept.slices(), kept.slice_rows()) == (0, [], {}, [])
    kept.remember([])
    assert not kept.path.parent.exists()


def test_what_was_remembered_is_found_by_key_up_to_a_number(kept: KeptLabels) -> None:
    kept.remember([row("Ann"), row("Bob"), row("Ann")])
    first = kept.newest_id()
    kept.remember([row("Ann", "other"), row("x' OR 1=1 --")])
    assert [r.iri for r in kept.seen_rows(["ann", "nobody"], up_to=first)] == ["http://e.org/Ann"]
    assert len(kept.seen_rows(["ann"], up_to=kept.newest_id())) == 2
    assert [r.text for r in kept.seen_rows([normalised("x' OR 1=1 --")], up_to=kept.newest_id())] == ["x' OR 1=1 --"]
    assert kept.slice_rows() == []


def test_the_oldest_labels_of_answers_go_and_pages_stay(tmp_path: Path) -> None:
    kept = KeptLabels(tmp_path / "labels.sqlite", most_seen=3)
    kept.add_page("http://e.org/C", [row("Paged")], SliceProgress("http://e.org/Paged", 1, whole=True))
    for name in "ABCDE":
        kept.remember([row(name)])
    assert [r.text for r in kept.seen_rows(list("abcde"), up_to=kept.newest_id())] == ["C", "D", "E"]
    assert kept.slice_rows() == [row("Paged")]
    assert kept.slices() == {"http://e.org/C": SliceProgress("http://e.org/Paged", 1, whole=True)}


def test_an_entity_of_two_classes_is_one_row(kept: KeptLabels) -> None:
    kept.add_page("a", [row("Ann")], SliceProgress("x", 1))
    kept.add_page("b", [row("Ann"), row("Bob")], SliceProgress("y", 2))
    assert kept.slice_rows() == [row("Ann"), row("Bob")]


def test_a_file_that_is_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "labels.sqlite").write_bytes(b"not a database at all, not at all")
    kept = KeptLabels(tmp_path / "labels.sqlite")
    with pytest.raises(StoreError, match=r"labels\.sqlite"):
        kept.newest_id()
    notes: list[str] = []
    assert SeenLabels(kept, notes.append).other_rows((), ["ann"]) == []
    assert "earlier answers" in notes[0]


def test_labels_of_later_answers_are_not_seen(kept: KeptLabels) -> None:
    kept.remember([row("Ann")])
    seen = SeenLabels(kept)
    kept.remember([row("Bob")])
    assert [r.text for r in seen.other_rows((), ["ann", "bob"])] == ["Ann"]
    assert seen.other_rows({"http://e.org/Ann"}, ["ann"]) == []
    assert seen.notes({"http://e.org/Bob"}) == ()
    assert "'Ann'" in seen.notes({"http://e.org/Ann"})[0]


def test_searches_are_joined() -> None:
    first = MemoryLabels([row("Ann Lee"), row("Bob")])
    second = MemoryLabels([row("Ann Lee"), row("Ann Lea"), row("Cy")])
    joined = LayeredLabels((first, second), "only a part")
    assert [r.text for r in joined.exact(["ann lee", "cy"])] == ["Ann Lee", "Cy"]
    assert {r.text for r in joined.with_words(["ann"], limit=5)} == {"Ann Lee", "Ann Lea"}
    assert len(joined.with_words(["ann"], limit=1)) == 1
    assert joined.like("bobb", limit=3)[0].text == "Bob"
    counts = joined.vocabulary(["ann", "bob", "nobody"]).counts
    assert (counts["ann"], counts["bob"], counts.get("nobody")) == (3, 1, None)
    assert joined.vocabulary([]).labels == 5
    assert joined.notes(()) == ("only a part",)
    assert joined.notes({"http://e.org/Bob"}) == ()
    assert not joined.has_vectors
    assert joined.nearest(np.ones((2, 3), dtype=np.float32), limit=4) == [[], []]
    assert joined.for_text("Ann", ("en",)).exact(["bob"]) == [row("Bob")]


def test_a_label_that_says_nothing_makes_no_row() -> None:
    assert label_row("http://e.org/a", " ") is None
    assert label_row("http://e.org/a", "http://e.org/a") is None
    assert label_row("http://e.org/a", "?!") is None
    made = label_row("http://e.org/a", " " + "x" * 1_000, degree=10**9)
    assert made is not None
    assert (len(made.text), made.degree) == (300, 10_001)


def test_more_keys_than_one_query_of_sqlite_takes(kept: KeptLabels) -> None:
    kept.remember([row("ann"), row("zoe")])
    keys = ["ann", *(f"nobody {number}" for number in range(1_200)), "zoe"]
    assert [r.text for r in kept.seen_rows(keys, up_to=kept.newest_id())] == ["ann", "zoe"]
