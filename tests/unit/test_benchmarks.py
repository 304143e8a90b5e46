"""The benchmarks' own arithmetic: meters, figures, latencies, charts and the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

from lab.aging import aged  # noqa: E402
from lab.charts import Row, axis_up_to, bar_chart, line_chart  # noqa: E402
from lab.figures import Bar, Moment, middle, quantile, ratio, span  # noqa: E402
from lab.latency import covered, latencies  # noqa: E402
from lab.measure import last_full  # noqa: E402
from lab.meter import PAGE, TICKS, Cpu, Meter, Process, parse_stat  # noqa: E402
from lab.page import build_page  # noqa: E402
from lab.table import local_path  # noqa: E402

from lakeward.stack.jars import read_lock  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def process(pid: int, kind: str, own: float, reaped: float = 0.0, **more: int) -> Process:
    return Process(pid, kind, more.get("session", 1), own, reaped, more.get("rss", 0))


def moment(at: float, records: int, cpu: Cpu, broker: float = 0.0) -> Moment:
    return Moment(at, records, cpu, broker)


def test_a_line_of_the_process_table_is_read_whatever_the_process_is_called() -> None:
    times = f"{3 * TICKS} {TICKS} {5 * TICKS} {2 * TICKS}"
    line = f"42 (python (a) b) S 1 42 7 0 -1 0 0 0 0 0 {times} 20 0 9 0 100 5000 12 0"
    assert parse_stat(line) == Process(42, "python", 7, 4.0, 7.0, 12 * PAGE)


def test_processes_of_other_sessions_do_not_count() -> None:
    meter = Meter(1)
    spent = meter.sample([process(1, "jvm", 2.0), process(2, "jvm", 9.0, session=2)])
    assert spent == Cpu(jvm=2.0)


def test_a_process_that_ended_counts_as_it_was_last_seen_and_only_once() -> None:
    meter = Meter(1)
    meter.sample([process(1, "jvm", 1.0), process(2, "python", 3.0)])
    # Its parent has waited for it: the three seconds are now in the parent's account, too.
    spent = meter.sample([process(1, "jvm", 1.5, reaped=3.0)])
    assert spent == Cpu(jvm=1.5, python=3.0)


def test_children_too_short_lived_to_be_seen_count_through_their_parent() -> None:
    meter = Meter(1)
    meter.sample([process(1, "jvm", 1.0), process(2, "python", 3.0)])
    spent = meter.sample([process(1, "jvm", 1.0, reaped=3.75)])
    assert spent == Cpu(jvm=1.0, python=3.0, other=0.75)


def test_the_peak_of_memory_is_of_one_moment() -> None:
    meter = Meter(1)
    meter.sample([process(1, "jvm", 0, rss=500), process(2, "python", 0, rss=100)])
    meter.sample([process(1, "jvm", 0, rss=200), process(2, "python", 0, rss=300)])
    assert meter.peak_rss == 600
    assert meter.peak_by_kind == {"jvm": 500, "python": 300, "other": 0}


def test_a_real_child_and_its_ended_children_are_measured() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    script = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\ninput()"
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, start_new_session=True
    )
    meter = Meter(child.pid)
    try:
        deadline = 2000
        while meter.sample().total < 0.3 and deadline:
            deadline -= 1
    finally:
        child.communicate(b"\n", timeout=30)
    assert deadline, "0.3 seconds of a grandchild's CPU were never seen"


def test_a_span_tells_rate_and_cost_per_record_by_kind() -> None:
    first = moment(10.0, 1000, Cpu(1.0, 1.0, 0.0), broker=5.0)
    last = moment(12.0, 5000, Cpu(1.5, 3.0, 0.5), broker=5.4)
    found = span(first, last)
    assert found is not None
    assert (found.records, found.seconds, found.rate) == (4000, 2.0, 2000.0)
    assert [round(figure) for figure in (found.jvm_us, found.python_us)] == [125, 500]
    assert [round(figure) for figure in (found.cpu_us, found.broker_us)] == [750, 100]
    assert span(last, last) is None


def test_rounds_are_summed_up_by_their_medians() -> None:
    spans = [
        span(moment(0, 0, Cpu()), moment(1, records, Cpu(jvm=1.0)))
        for records in (1000, 2000, 10_000)
    ]
    assert middle([each for each in spans if each]).rate == 2000


def test_an_engine_that_commits_by_the_clock_is_not_charged_for_its_last_wait() -> None:
    moments = [moment(at, int(at), Cpu()) for at in (0.0, 10.0, 20.0, 30.0)]
    assert last_full(moments, by_time=True).at == 20.0
    assert last_full(moments, by_time=False).at == 30.0
    assert last_full(moments[:3], by_time=True).at == 20.0


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)])
def test_a_quantile_is_a_value_that_occurred(share: float, expected: int) -> None:
    assert quantile(list(range(100, 0, -1)), share) == expected


def test_a_bar_holds_on_the_right_side_of_its_limit() -> None:
    assert Bar("cost", 1.4, 1.4).holds is True
    assert Bar("cost", 1.4, 1.41).holds is False
    assert Bar("rate", 5, 4.99, at_least=True).holds is False
    assert Bar("rate", 5, None, at_least=True).holds is None
    assert ratio(3.0, 0.0) is None
    assert ratio(3.0, 2.0) == 1.5


def test_latency_runs_from_hand_over_to_the_snapshot_that_covers_the_offset() -> None:
    handed = {"t": [[1.0, 2.0, 3.0], [1.5]]}
    sightings = [
        {"at": 4.0, "ranges": {"t": {"0": [0, 2]}}},
        {"at": 6.0, "ranges": {"t": {"0": [2, 3], "1": [0, 1]}}},
    ]
    assert latencies(handed, sightings) == [(1.0, 3.0), (2.0, 2.0), (3.0, 3.0), (1.5, 4.5)]
    assert covered(sightings) == 4


def test_locations_of_both_worlds_are_paths() -> None:
    assert local_path("file:/tmp/a b/x") == local_path("file:///tmp/a b/x") == "/tmp/a b/x"


def metadata(snapshots: int) -> dict[str, Any]:
    ids = list(range(101, 101 + snapshots))
    return {
        "current-snapshot-id": ids[-1],
        "last-sequence-number": snapshots,
        "snapshots": [
            {"snapshot-id": each, "sequence-number": number, "timestamp-ms": 1000 + number}
            | ({"parent-snapshot-id": each - 1} if number > 1 else {})
            for number, each in enumerate(ids, 1)
        ],
        "snapshot-log": [{"snapshot-id": each, "timestamp-ms": 1000} for each in ids],
        "properties": {"lakeward.ledger.job": json.dumps({"sequence": snapshots})},
    }


def test_an_aged_table_has_one_unbroken_history_and_the_same_head() -> None:
    old = aged(metadata(3), 50, "job")
    by_id = {snapshot["snapshot-id"]: snapshot for snapshot in old["snapshots"]}
    walk, at = [], old["current-snapshot-id"]
    while at is not None:
        walk.append(by_id[at]["sequence-number"])
        at = by_id[at].get("parent-snapshot-id")
    assert walk == list(range(50, 0, -1))
    assert old["current-snapshot-id"] == 103
    assert old["last-sequence-number"] == 50
    assert json.loads(old["properties"]["lakeward.ledger.job"])["sequence"] == 50
    assert len(old["snapshot-log"]) == 50


def test_an_axis_has_round_steps_that_reach_the_largest_value() -> None:
    assert axis_up_to(169).ticks == [0, 50, 100, 150, 200]
    assert axis_up_to(0.9).end >= 0.9
    assert axis_up_to(0).ticks == [0, 1]


def bars(svg: str) -> list[tuple[float, float]]:
    """Return where each part of a bar begins, and how long it is."""
    rects = ET.fromstring(svg).iter(f"{SVG}rect")
    parts = [rect for rect in rects if rect.find(f"{SVG}title") is not None]
    return [(float(rect.get("x", "")), float(rect.get("width", ""))) for rect in parts]


def test_bars_are_as_long_as_their_figures_and_labels_may_hold_anything() -> None:
    svg = bar_chart(
        "a < b & c", "µs", [Row("<one>", {"x": 10, "y": 30}, 20), Row("two", {"x": 20})]
    )
    (start, ten), (after, thirty), (_, twenty) = bars(svg)
    assert after == pytest.approx(start + ten, abs=0.2)
    assert thirty == pytest.approx(3 * ten, abs=0.2)
    assert twenty == pytest.approx(2 * ten, abs=0.2)
    texts = [text.text for text in ET.fromstring(svg).iter(f"{SVG}text")]
    assert {"a < b & c", "<one>", "two", "µs", "x", "y", "bar to reach"} <= set(texts)


def test_lines_rise_where_figures_rise() -> None:
    svg = line_chart("t", ("n", "ms"), {"commit": [(1, 10), (100, 10), (1000, 40)]})
    line = next(ET.fromstring(svg).iter(f"{SVG}polyline"))
    points = [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
    assert points[0][1] == points[1][1] > points[2][1]
    # A logarithmic axis: two powers of ten, then one.
    assert points[1][0] - points[0][0] == pytest.approx(2 * (points[2][0] - points[1][0]), abs=0.3)


def race(name: str) -> dict[str, Any]:
    part = asdict(span(moment(0, 0, Cpu()), moment(2, 4000, Cpu(0.1, 0.2, 0.0))))  # type: ignore[arg-type]
    facts = {"whole": part, "steady": part, "peak_rss_mb": 1200, "files": 30}
    same = {"cpu": 1.0, "rate": 1.0}
    return {
        "benchmark": name,
        "machine": {"cores": "2"},
        "summary": {"lakeward": facts, "peer": {**facts, "steady": None}},
        "ratios": {"peer": {"whole": same, "steady": {"cpu": None, "rate": None}}},
        "bars": [Bar("cost", 1.4, 1.5).as_json(), Bar("rate", 5, None, at_least=True).as_json()],
    }


def test_the_page_names_what_was_missed_and_links_only_charts_it_has() -> None:
    page = build_page({"drain": race("drain")})
    text = page["benchmarks.md"]
    assert "| Drain | cost | at most 1.4 | 1.50 | **missed** |" in text
    assert "| Drain | rate | at least 5 |  | not measured |" in text
    linked = set(re.findall(r"\]\((benchmarks/.*?\.svg)\)", text))
    assert linked == set(page) - {"benchmarks.md"}
    for name in linked:
        ET.fromstring(page[name])


def test_a_benchmark_that_was_not_run_has_no_section() -> None:
    text = build_page({"drain": race("drain")})["benchmarks.md"]
    assert "## Drain" in text
    assert "## Freshness" not in text


def test_the_peers_lock_names_every_set_the_benchmarks_ask_for() -> None:
    lock = read_lock((BENCHMARKS / "locks" / "peers.toml").read_text())
    assert set(lock) == {"plain-spark", "connect", "iceberg-connect", "flink"}
    for jars in lock.values():
        assert len({jar.file_name for jar in jars}) == len(jars)
        assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in jars)
