from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakeward.errors import LakewardError
from lakeward.produce.manifest import (
    Manifest,
    SentRange,
    SentTopic,
    load_manifest,
    save_manifest,
)

MANIFEST = Manifest(
    run="0a1b2c3d",
    seed=7,
    start="2026-01-15T10:30:00+00:00",
    rate=None,
    fault_share=0.1,
    started_at=1_768_473_000_123,
    seconds=0.5,
    interrupted=False,
    cluster_id="cluster",
    topics=(SentTopic("apilogs", "id", 5, 3_000, {"late": 1}),),
    ranges=(
        SentRange("apilogs", 0, 10, 13, 3, "ab"),
        SentRange("apilogs", 1, 20, 25, 2, "cd"),
    ),
)


def test_a_manifest_reads_back_as_it_was_saved(tmp_path: Path) -> None:
    path = save_manifest(MANIFEST, tmp_path / "manifests")
    assert path.name == "1768473000123-0a1b2c3d.json"
    assert load_manifest(path) == MANIFEST
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_file_says_where_every_record_went(tmp_path: Path) -> None:
    written = json.loads(save_manifest(MANIFEST, tmp_path).read_text())
    assert written["topics"][0]["faults"] == {"late": 1}
    assert written["ranges"][0] == {
        "topic": "apilogs",
        "partition": 0,
        "first_offset": 10,
        "end_offset": 13,
        "count": 3,
        "sha256": "ab",
        "exclusive": True,
    }


def test_a_range_somebody_else_wrote_into_is_not_exclusive() -> None:
    assert [each.exclusive for each in MANIFEST.ranges] == [True, False]


def test_totals_follow_from_the_topics() -> None:
    assert (MANIFEST.records, MANIFEST.bytes, MANIFEST.records_per_second) == (5, 3_000, 10)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"version": 1, "topics": [], "ranges": []}',
        json.dumps(MANIFEST.to_json() | {"version": 99}),
        json.dumps(MANIFEST.to_json() | {"mood": "good"}),
    ],
)
def test_a_damaged_manifest_is_refused_with_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "1-a.json"
    path.write_text(text)
    with pytest.raises(LakewardError, match=r"not a manifest of ours.*1-a\.json"):
        load_manifest(path)
