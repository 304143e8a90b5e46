"""Who may import whom; heavy libraries stay in the rooms that own them; modules stay short."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lakeward"
SHARED = {"clock", "errors", "failpoints", "settings", "logs"}
ROOMS = {"connect", "schemas", "records", "kafka", "sinks", "catalogs"}
WORK = {"job", "query"}
MAY_IMPORT = {
    "model": set(),
    **{room: {"model", *ROOMS} for room in ROOMS},
    "job": {"model", "session", "job", *ROOMS},
    "query": {"model", "query", *ROOMS},
    "stack": {"model", "schemas"},
    "produce": {"model", "schemas", "kafka"},
    "verify": {"model", "schemas", "kafka", "catalogs"},
    "session": set(),
}
BESIDE = {
    "produce": {"lakeward.kafka.client"},
    "verify": {"lakeward.kafka.client", "lakeward.catalogs.open", "lakeward.catalogs.warehouse"},
}
"""What the rooms that stand beside may use of the rooms they check."""
SPARK_ROOMS = {"session.py", "job/run.py", "job/daemon.py"}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    room = room_of(path)
    if room not in MAY_IMPORT:
        return
    for module in imports(path):
        if not module.startswith("lakeward."):
            continue
        target = module.split(".")[1]
        allowed = target == room or target in MAY_IMPORT[room] | SHARED
        assert allowed, f"{name_of(path)} imports {module}"
        if room in BESIDE and target in {"kafka", "catalogs"}:
            assert module in BESIDE[room], f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_only_a_few_modules_know_spark(path: Path) -> None:
    knows = any(module.split(".")[0] == "pyspark" for module in imports(path))
    assert not knows or name_of(path) in SPARK_ROOMS


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_is_short_and_says_what_it_is(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 300
    assert not text or text.startswith('"""')


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_module_has_a_telling_name(path: Path) -> None:
    assert path.stem not in {"utils", "helpers", "common", "base", "core", "manager"}
