"""A machine made of folders: homes, caches, and a `java` that is a small script."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lakeward.settings import Settings, load_settings
from lakeward.stack.ports import free_ports

MakeJava = Callable[..., Path]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    external, internal, controller = free_ports(3)
    return load_settings(
        {
            "LAKEWARD_HOME": str(tmp_path / "home"),
            "LAKEWARD_CACHE": str(tmp_path / "cache"),
            "KAFKA_EXTERNAL_PORT": str(external),
            "KAFKA_INTERNAL_PORT": str(internal),
            "KAFKA_CONTROLLER_PORT": str(controller),
        }
    )


@pytest.fixture
def make_java(tmp_path: Path) -> MakeJava:
    """Return a function that makes a Java home: a release file and a script as `bin/java`."""

    def make(
        name: str, release: str | None = 'JAVA_VERSION="17.0.9"', script: str = "exit 1"
    ) -> Path:
        home = tmp_path / name
        (home / "bin").mkdir(parents=True)
        if release is not None:
            (home / "release").write_text(release)
        binary = home / "bin" / "java"
        binary.write_text(f"#!/bin/sh\n{script}\n")
        binary.chmod(0o755)
        return home

    return make


@pytest.fixture
def python_java(make_java: MakeJava, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that makes a Java home whose `java` runs a piece of Python."""

    def make(program: str) -> Path:
        path = tmp_path / "java.py"
        path.write_text(program)
        return make_java("jdk-17", script=f'exec "{sys.executable}" "{path}" "$@"')

    return make
