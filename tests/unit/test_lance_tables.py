"""Tables in a directory: what their errors tell a person to do."""

import shutil
from pathlib import Path

import pyarrow as pa
import pydantic
import pytest

import kgsparql
from kgsparql.errors import OptionError, StoreError
from kgsparql.storage.lance_tables import Tables, _without_checks_of, errors_translated
from tests.world import FIXTURES


def test_tables_that_somebody_removed_are_said_to_be_gone_and_a_place_that_cannot_be_written_names_another(
    tmp_path: Path,
) -> None:
    tables = Tables(tmp_path / "index")
    tables.written("labels", pa.table({"key": ["a", "b"]}))
    opened = Tables(tmp_path / "index").open("labels")
    assert opened is not None
    shutil.rmtree(tmp_path / "index")
    with pytest.raises(StoreError) as caught, errors_translated(tmp_path / "index"):
        opened.search().where("key = 'a'").to_arrow()
    assert "removed meanwhile; ask again" in caught.value.hint
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as caught:
        Tables(tmp_path / "file" / "index").written("labels", pa.table({"key": ["a"]}))
    assert "KGSPARQL_CACHE_DIR" in caught.value.hint


def test_only_the_checks_of_the_named_package_are_left_out_of_an_import() -> None:
    def half(number: int) -> float:
        return number / 2

    checked = pydantic.validate_call
    with _without_checks_of("no.such"):
        with pytest.raises(pydantic.ValidationError):
            pydantic.validate_call(half)("x")  # type: ignore[arg-type]
        with pytest.raises(pydantic.ValidationError):
            pydantic.validate_call(validate_return=True)(half)("x")  # type: ignore[arg-type]
        half.__module__ = "no.such.part"
        assert pydantic.validate_call(half) is half
    assert pydantic.validate_call is checked


def test_indexes_are_in_a_directory_and_not_in_object_storage() -> None:
    with pytest.raises(OptionError, match="no place for an index"):
        kgsparql.open(FIXTURES / "nobel.ttl", index="s3://bucket/prefix")
