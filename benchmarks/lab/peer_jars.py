"""Jars that only benchmarks run: a lock of their own, fetched and checked as the product's are."""

from __future__ import annotations

from pathlib import Path

from lab.ground import say
from lakeward.settings import Settings
from lakeward.stack.jars import are_in, fetch_into, read_lock

LOCK = Path(__file__).parents[1] / "locks" / "peers.toml"


def folder_of(jar_set: str, settings: Settings) -> Path:
    """Return where the jars of a set lie, beside the product's."""
    return settings.cache / "jars" / f"bench-{jar_set}"


def have(jar_set: str, settings: Settings) -> bool:
    """Say whether a set is here."""
    return are_in(folder_of(jar_set, settings), read_lock(LOCK.read_text())[jar_set])


def fetch(jar_set: str, settings: Settings) -> list[Path]:
    """Return the jars of a set, fetching what is missing."""
    jars = read_lock(LOCK.read_text())[jar_set]
    if not have(jar_set, settings):
        size = sum(jar.size for jar in jars) // 1_000_000
        say(f"fetching {len(jars)} jars of {jar_set}, {size} MB")
    return fetch_into(folder_of(jar_set, settings), jars, settings)
