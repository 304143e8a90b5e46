"""Jars: fetched once, verified, offline afterwards. Ivy is played by a script behind `java`."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lakeward.errors import JarsUnavailable
from lakeward.settings import Settings
from lakeward.stack import ivy, jars
from lakeward.stack.jars import Jar, bytes_to_fetch, fetch, is_fetched, jar_folder, take_stock

# Does what Ivy does for us: reads ivy.xml in its folder, brings what the repository has.
IVY = """
import os, pathlib, re, shutil, sys
repository = pathlib.Path(os.environ["REPOSITORY"])
with open(repository / "calls", "a") as calls:
    calls.write("called\\n")
wanted = re.findall(r'name="([^"]+)" rev="([^"]+)"', pathlib.Path("ivy.xml").read_text())
missing = 0
for name, version in wanted:
    source = repository / f"{name}-{version}.jar"
    once = repository / f"{name}-{version}.jar.first"
    if once.exists():
        once.rename(source.name)
    elif source.exists():
        shutil.copy(source, source.name)
    else:
        missing += 1
sys.exit(1 if missing else 0)
"""

CONTENTS = {"kafka": b"the broker" * 100, "clients": b"the clients" * 50}


@pytest.fixture
def repository(
    tmp_path: Path, python_java: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    lock = []
    for name, content in CONTENTS.items():
        (folder / f"{name}-1.0.jar").write_bytes(content)
        lock.append(Jar("org", name, "1.0", hashlib.sha256(content).hexdigest(), len(content)))
    monkeypatch.setattr(jars, "locked_jars", lambda _jar_set: tuple(lock))
    monkeypatch.setenv("JAVA_HOME", str(python_java(IVY)))
    monkeypatch.setenv("REPOSITORY", str(folder))
    return folder


def calls(repository: Path) -> int:
    path = repository / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_jars_are_fetched_once_and_then_taken_from_the_cache(
    repository: Path, settings: Settings
) -> None:
    seen: list[int] = []
    total = sum(map(len, CONTENTS.values()))
    assert bytes_to_fetch("kafka", settings) == total
    paths = fetch("kafka", settings, seen.append)
    assert [path.read_bytes() for path in paths] == list(CONTENTS.values())
    assert seen[-1] == total
    assert fetch("kafka", settings) == paths
    assert (calls(repository), bytes_to_fetch("kafka", settings)) == (1, 0)


def test_a_truncated_jar_is_noticed_and_fetched_again(repository: Path, settings: Settings) -> None:
    broken = fetch("kafka", settings)[0]
    broken.write_bytes(b"the bro")
    assert not is_fetched("kafka", settings)
    assert fetch("kafka", settings)[0].read_bytes() == CONTENTS["kafka"]
    assert calls(repository) == 2


def test_a_jar_altered_in_place_is_found_by_a_full_check_and_repaired(
    repository: Path, settings: Settings
) -> None:
    altered = fetch("kafka", settings)[1]
    altered.write_bytes(altered.read_bytes().replace(b"t", b"T"))
    stock = take_stock("kafka", settings)
    assert [jar.name for jar in stock.damaged] == ["clients"]
    assert [jar.name for jar in stock.intact] == ["kafka"]
    fetch("kafka", settings, recheck=True)
    assert altered.read_bytes() == CONTENTS["clients"]


def test_an_altered_jar_that_cannot_be_fetched_again_is_an_error(
    repository: Path, settings: Settings
) -> None:
    altered = fetch("kafka", settings)[1]
    altered.write_bytes(altered.read_bytes().replace(b"t", b"T"))
    (repository / altered.name).unlink()
    with pytest.raises(JarsUnavailable, match=r"1 of 2 jars.*org:clients:1\.0"):
        fetch("kafka", settings, recheck=True)


def test_a_jar_that_arrives_damaged_is_fetched_again_once(
    repository: Path, settings: Settings
) -> None:
    (repository / "kafka-1.0.jar.first").write_bytes(b"cut off")
    assert fetch("kafka", settings)[0].read_bytes() == CONTENTS["kafka"]
    assert calls(repository) == 2


def test_a_jar_that_is_not_the_one_of_the_lock_is_refused(
    repository: Path, settings: Settings
) -> None:
    other = b"something else"
    (repository / "kafka-1.0.jar").write_bytes(other)
    with pytest.raises(JarsUnavailable) as caught:
        fetch("kafka", settings)
    assert hashlib.sha256(other).hexdigest() in str(caught.value)
    assert hashlib.sha256(CONTENTS["kafka"]).hexdigest() in str(caught.value)
    assert calls(repository) == 2
    assert not (jar_folder("kafka", settings) / "kafka-1.0.jar").exists()


def test_without_a_network_the_message_says_what_where_and_what_next(
    repository: Path, settings: Settings
) -> None:
    for path in repository.glob("*.jar"):
        path.unlink()
    with pytest.raises(JarsUnavailable) as caught:
        fetch("kafka", settings)
    assert "2 of 2 jars could not be fetched from Maven Central" in caught.value.what
    assert Path(caught.value.where).exists()
    assert "lakeward doctor --fetch" in caught.value.next_step
    assert not is_fetched("kafka", settings)


def test_what_arrived_before_a_failure_is_kept(repository: Path, settings: Settings) -> None:
    late = (repository / "clients-1.0.jar").rename(repository / "late")
    with pytest.raises(JarsUnavailable):
        fetch("kafka", settings)
    assert bytes_to_fetch("kafka", settings) == len(CONTENTS["clients"])
    late.rename(repository / "clients-1.0.jar")
    assert len(fetch("kafka", settings)) == 2


def test_jars_copied_by_hand_need_no_network(repository: Path, settings: Settings) -> None:
    folder = jar_folder("kafka", settings)
    folder.mkdir(parents=True)
    for path in repository.glob("*.jar"):
        path.rename(folder / path.name)
    assert len(fetch("kafka", settings)) == 2
    assert calls(repository) == 0


def test_two_at_once_fetch_only_once(repository: Path, settings: Settings) -> None:
    threads = [threading.Thread(target=fetch, args=("kafka", settings)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert is_fetched("kafka", settings)
    assert calls(repository) == 1


def test_nothing_is_left_of_a_fetch_but_jars_and_its_log(
    repository: Path, settings: Settings
) -> None:
    stale = settings.cache / "jars" / ".fetching-kafka-killed"
    stale.mkdir(parents=True)
    fetch("kafka", settings)
    left = {path.name for path in (settings.cache / "jars").iterdir()}
    assert left == {"kafka", "kafka.lock", "kafka.log"}


def test_a_network_that_hangs_is_given_up(
    repository: Path,
    settings: Settings,
    make_java: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java("hanging", script="exec sleep 60")))
    monkeypatch.setattr(ivy, "STALLED_SECONDS", 0.3)
    with pytest.raises(JarsUnavailable, match="did not answer"):
        fetch("kafka", settings)


def test_a_full_disk_is_named_before_anything_is_fetched(
    repository: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: type("Usage", (), {"free": 10}))
    with pytest.raises(JarsUnavailable, match="are free"):
        fetch("kafka", settings)
    assert calls(repository) == 0


def test_the_lock_pins_every_jar_by_sum_and_size_and_names_no_host() -> None:
    kafka, spark = (jars.locked_jars(name) for name in jars.JAR_SETS)
    assert "org.apache.kafka:kafka_2.13:4.3.1" in [jar.coordinates for jar in kafka]
    assert [jar.name for jar in spark] == ["iceberg-spark-runtime-4.1_2.13", "sqlite-jdbc"]
    assert len({jar.file_name for jar in kafka}) == len(kafka) == 46
    assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) and jar.size > 0 for jar in kafka + spark)


def test_java_is_told_about_the_proxy_of_the_environment() -> None:
    env = {"HTTPS_PROXY": "http://proxy.test:3128", "http_proxy": "http://plain.test"}
    assert ivy.proxy_options(env) == [
        "-Dhttp.proxyHost=plain.test",
        "-Dhttp.proxyPort=80",
        "-Dhttps.proxyHost=proxy.test",
        "-Dhttps.proxyPort=3128",
    ]
    assert ivy.proxy_options({}) == []
