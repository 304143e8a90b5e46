"""What users may rely on does not change by accident."""

from __future__ import annotations

import subprocess
import sys

import lakeward
from lakeward import errors
from lakeward.cli.main import COMMANDS
from lakeward.model.ledger import property_name
from lakeward.records.dead_letters import Reason
from lakeward.schemas.dead_letter import DEAD_LETTER, SUFFIX


def test_the_package_shows_its_version_and_nothing_else() -> None:
    assert lakeward.__all__ == ["__version__"]


def test_the_commands_are_these() -> None:
    assert sorted(COMMANDS) == [
        "demo", "doctor", "groups", "init", "job", "produce", "query", "start", "status", "stop",
        "tables", "topics", "verify", "worker",
    ]  # fmt: skip


def test_reasons_of_dead_letters_are_these() -> None:
    assert sorted(Reason) == [
        "crashes-decoder", "duplicate-key", "lossy-value", "missing-field", "not-an-object",
        "not-json", "not-utf8", "too-big", "wrong-type",
    ]  # fmt: skip


def test_names_kept_in_tables_are_these() -> None:
    assert property_name("j") == "lakeward.ledger.j"
    assert SUFFIX == "__dead_letters"
    assert [field.name for field in DEAD_LETTER.fields.fields] == [
        "topic", "partition", "offset", "timestamp", "key", "value", "reason", "field", "message",
    ]  # fmt: skip


def test_every_error_says_when_it_is_raised_and_has_an_exit_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    ours = [kind for kind in kinds if issubclass(kind, errors.LakewardError)]
    assert len(ours) > 10
    for kind in ours:
        assert kind.__doc__
        assert kind.exit_code in (1, 2)
        assert kind.__name__ in (errors.__doc__ or "")


def test_help_needs_no_heavy_library() -> None:
    probe = (
        "import sys\n"
        "sys.argv = ['lakeward', '--help']\n"
        "from lakeward.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'pyarrow', 'pyspark', 'duckdb', 'pyiceberg', 'confluent_kafka', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    assert shown.stdout.splitlines()[-1] == "[]"
