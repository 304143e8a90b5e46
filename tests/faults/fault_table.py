"""`docs/faults.md`: a table of every fault, written from the suite's own results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

GROUPS = {
    "coordinator": "The coordinator dies, stalls, or is not alone",
    "catalog": "The catalog lies, is silent or refuses",
    "table": "Somebody else touches the tables",
    "kafka": "Kafka changes under the job",
    "tasks": "Spark's processes die",
    "storage": "The warehouse has no space",
}
OPENING = """# Faults

Everything below is done on purpose by `tests/faults/`, and every case ends with a verification that
compares each record in Kafka with the tables. `make faults` runs the suite and writes this page;
all cases without Spark, and the most telling with it, are also part of `make test`.
"""


@dataclass
class Case:
    """One fault and how its runs went."""

    group: str
    name: str
    injected: str
    must: str
    outcomes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def result(self) -> str:
        passed = self.outcomes.count("passed")
        total = len(self.outcomes)
        if self.outcomes.count("skipped") == total:
            return "skipped"
        verdict = "passed" if passed == total else "**FAILED**"
        return f"{verdict} {passed} of {total}, {self.seconds:.1f} s"


class FaultTable:
    """Collects what became of each fault while the tests run; writes the page at the end."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._cases: dict[tuple[str, str], Case] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        report: pytest.TestReport = yield
        marker = item.get_closest_marker("fault")
        if marker is not None and (report.when == "call" or report.outcome != "passed"):
            self._note(_case(marker, item), report)
        return report

    def pytest_sessionfinish(self) -> None:
        self._target.write_text("\n".join(self._lines()) + "\n")

    def _note(self, case: Case, report: pytest.TestReport) -> None:
        known = self._cases.setdefault((case.group, case.name), case)
        known.outcomes.append(report.outcome)
        known.seconds = max(known.seconds, report.duration)

    def _lines(self) -> Iterator[str]:
        yield OPENING
        yield f"Last run: {datetime.now(UTC):%Y-%m-%d}. Seconds are those of the slowest round."
        for group, title in GROUPS.items():
            cases = [case for case in self._cases.values() if case.group == group]
            if cases:
                yield f"\n## {title}\n"
                yield "| fault | how injected | what must happen | last result |"
                yield "|---|---|---|---|"
                yield from (_row(case) for case in cases)


def _case(marker: pytest.Mark, item: pytest.Item) -> Case:
    """Fill a test's parameters into the texts of its marker."""
    call: Any = getattr(item, "callspec", None)
    params = dict(call.params) if call else {}
    group, name = marker.args
    assert group in GROUPS, f"{item.nodeid} has no such group: {group}"
    texts = (name, marker.kwargs["injected"], marker.kwargs["must"])
    return Case(group, *(text.format(**params) for text in texts))


def _row(case: Case) -> str:
    return f"| {case.name} | {case.injected} | {case.must} | {case.result} |"
