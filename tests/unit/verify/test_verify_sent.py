"""What was produced against what passes by."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from lakeward.errors import LakewardError
from lakeward.verify.sent import checks_within, load_sent
from lakeward.verify.span import Range

VALUES = [b"a", b"bc", b""]


def digest(values: list[bytes]) -> str:
    return hashlib.sha256(b"".join(len(v).to_bytes(8, "big") + v for v in values)).hexdigest()


def manifest(folder: Path, *, exclusive: bool = True) -> None:
    sent = {
        "topic": "t", "partition": 0, "first_offset": 5, "end_offset": 8, "count": 3,
        "sha256": digest(VALUES), "exclusive": exclusive,
    }  # fmt: skip
    content = {"topics": [{"name": "t", "id": "topic-id"}], "ranges": [sent]}
    folder.mkdir(exist_ok=True)
    (folder / "1-run.json").write_text(json.dumps(content))


def covering(start: int, end: int) -> Range:
    return Range("t", 0, 0, start, end, end)


def contradiction(folder: Path, values: list[bytes]) -> str | None:
    (check,) = checks_within(load_sent(folder), "topic-id", covering(0, 100))
    check.take(4, b"before")
    for offset, value in enumerate(values, start=5):
        check.take(offset, value)
    check.take(8, b"after")
    return check.contradiction()


def test_the_values_that_were_sent_agree(tmp_path: Path) -> None:
    manifest(tmp_path)
    assert contradiction(tmp_path, VALUES) is None


def test_a_changed_value_is_told(tmp_path: Path) -> None:
    manifest(tmp_path)
    assert "not those that were sent" in (contradiction(tmp_path, [b"a", b"bd", b""]) or "")


def test_a_shifted_border_is_told(tmp_path: Path) -> None:
    manifest(tmp_path)
    assert "not those that were sent" in (contradiction(tmp_path, [b"ab", b"c", b""]) or "")


def test_a_missing_value_is_told(tmp_path: Path) -> None:
    manifest(tmp_path)
    assert "3 records were sent, Kafka shows 2" in (contradiction(tmp_path, VALUES[:2]) or "")


@pytest.mark.parametrize(("start", "end"), [(6, 100), (0, 7)])
def test_a_range_only_partly_verified_is_left_out(tmp_path: Path, start: int, end: int) -> None:
    manifest(tmp_path)
    assert not checks_within(load_sent(tmp_path), "topic-id", covering(start, end))


def test_what_went_to_an_earlier_topic_of_that_name_is_left_out(tmp_path: Path) -> None:
    manifest(tmp_path)
    assert not checks_within(load_sent(tmp_path), "another-id", covering(0, 100))


def test_a_range_others_wrote_into_proves_nothing(tmp_path: Path) -> None:
    manifest(tmp_path, exclusive=False)
    assert not load_sent(tmp_path)


def test_no_folder_means_nothing_to_compare_with(tmp_path: Path) -> None:
    assert load_sent(tmp_path / "nowhere") == ()
    assert load_sent(None) == ()


def test_a_broken_manifest_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "1-run.json").write_text("{}")
    with pytest.raises(LakewardError, match="manifest"):
        load_sent(tmp_path)
