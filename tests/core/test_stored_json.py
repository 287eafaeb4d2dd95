"""JSON files that may be damaged or come from somebody else."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, TypeAdapter

from polyglot.core.stored_json import (
    parse_json,
    read_json,
    validate_stored,
    verify_checksum,
    with_checksum,
)


class Point(BaseModel):
    x: int
    name: str = ""


SCHEMA = TypeAdapter(Point)


def test_valid_file_is_read(tmp_path):
    path = tmp_path / "point.json"
    path.write_text('{"x": 1, "name": "é"}', encoding="utf-8")
    assert validate_stored(read_json(path), SCHEMA) == Point(x=1, name="é")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[" * 200_000, b"9" * 5000, b'{"a": ' * 50_000],
)
def test_content_that_is_not_json_is_a_value_error(content):
    with pytest.raises(ValueError):
        parse_json(content)


def test_file_that_is_too_large_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "large.json"
    path.write_bytes(b" " * 1000 + b"1")
    with pytest.raises(ValueError, match="more than 100 bytes"):
        read_json(path, largest=100)


@pytest.mark.parametrize("value", [{"x": "1"}, {"x": 1.0}, {"x": True}, {}, [], None, {"x": None}])
def test_values_are_not_converted(value):
    with pytest.raises(ValueError):
        validate_stored(value, SCHEMA)


def test_message_names_the_wrong_place():
    with pytest.raises(ValueError, match="^x: "):
        validate_stored({"x": "1"}, SCHEMA)


VALUES = {"score": 31.4, "pair": ("de", "en"), "é": None, "by": {1: "one"}}


def test_values_with_their_checksum_are_accepted_after_writing_and_reading():
    verify_checksum(json.loads(json.dumps(with_checksum(VALUES), indent=1, ensure_ascii=False)))


def test_any_change_is_found():
    signed = with_checksum(VALUES)
    for key in VALUES:
        with pytest.raises(ValueError, match="checksum differs"):
            verify_checksum({**signed, key: "changed"})
        without_key = {name: value for name, value in signed.items() if name != key}
        with pytest.raises(ValueError, match="checksum differs"):
            verify_checksum(without_key)


def test_values_of_older_files_without_a_checksum_are_accepted():
    verify_checksum({"score": 31.4})
