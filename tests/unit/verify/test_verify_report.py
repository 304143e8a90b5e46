"""The verdict, and what a report keeps."""

from __future__ import annotations

import json
from collections import Counter

from lakeward.verify.report import Category, Finding, Findings, Report, Tally


def report(**counts: int) -> Report:
    tally = Tally("j", "db.t", "t", 0, 0, 300_000, records=300_000)
    return Report(("j",), (tally,), Counter(counts), ())


def test_a_clean_verdict_says_so_in_the_words_people_look_for() -> None:
    clean = report()
    assert clean.clean
    assert clean.verdict() == (
        "Verified 300,000 records: 0 lost, 0 duplicated, 0 altered, 0 misplaced"
    )


def test_a_bad_verdict_never_contains_the_good_words() -> None:
    for category in Category:
        for count in (1, 10, 100):
            bad = report(**{category: count})
            assert not bad.clean
            assert "0 lost, 0 duplicated" not in bad.verdict()
            assert f"{category} {count}" in bad.verdict()


def test_what_could_not_be_compared_is_said() -> None:
    tally = Tally("j", "db.t", "t", 0, 0, 100, unverifiable=40)
    assert Report(("j",), (tally,), {}, ()).verdict().endswith("(40 could not be compared)")


def test_the_first_findings_are_kept_and_at_least_one_of_each_kind() -> None:
    findings = Findings(keep=2)
    for offset in range(1000):
        findings.add(Finding(Category.LOST, "j", "gone", "db.t", "t", 0, offset))
    findings.add(Finding(Category.FILES, "j", "data file missing", "db.t"))
    assert findings.counts == {"lost": 1000, "files": 1}
    assert [(kept.category, kept.offset) for kept in findings.kept] == [
        ("lost", 0),
        ("lost", 1),
        ("files", None),
    ]


def test_a_finding_says_where_it_is() -> None:
    assert Finding(Category.LOST, "j", "w", "db.t", "t", 0, 7).where == "t-0 offset 7"
    assert Finding(Category.SENT, "j", "w", "db.t", "t", 0).where == "t-0"
    assert Finding(Category.FILES, "j", "w", "db.t").where == "db.t"


def test_a_report_is_json() -> None:
    text = json.dumps(report(lost=3).to_json())
    assert json.loads(text)["counts"]["lost"] == 3
    assert json.loads(text)["partitions"][0]["records"] == 300_000
