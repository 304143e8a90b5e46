"""One place where an exception becomes one line on stderr and an exit code."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from typing import NoReturn

import click

from lakeward.errors import LakewardError, StorageFull

INTERRUPTED = 130


def run_reporting_failures(command: click.Command) -> NoReturn:
    """Run a click command; exit 0 ok, 1 failed, 2 usage, 130 interrupted."""
    try:
        code = command.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Abort:
        _stop("interrupted", "Interrupted", INTERRUPTED)
    except KeyboardInterrupt:
        _stop("interrupted", "Interrupted", INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message())
        sys.exit(2)
    except click.ClickException as wrong:
        context = getattr(wrong, "ctx", None)
        hint = f" Try '{context.command_path} --help'." if context is not None else ""
        message = wrong.format_message()
        end = "" if message.endswith((".", "?", "!")) else "."
        _stop("UsageError", f"{message}{end}{hint}", 2)
    except LakewardError as failure:
        _stop(type(failure).__name__, str(failure), failure.exit_code)
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as failure:
        _stop(type(failure).__name__, str(explain_os_error(failure)), 1)
    except Exception as surprise:  # noqa: BLE001 - a traceback helps us, not the user
        _stop(type(surprise).__name__, _keep_trace(surprise), 1)


def explain_os_error(failure: OSError) -> LakewardError:
    """Turn an operating system error into one of ours, with a next step."""
    where = str(failure.filename or "")
    if failure.errno == 28:
        return StorageFull(
            "No space left on the device", where=where, next_step="Free some space and try again."
        )
    return LakewardError(
        failure.strerror or str(failure),
        where=where,
        next_step="Check the path and its permissions.",
    )


def _keep_trace(surprise: Exception) -> str:
    """Put the trace of an error we did not foresee into a file; return what to say."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="lakeward-", suffix=".trace", delete=False, encoding="utf-8"
    ) as file:
        traceback.print_exception(surprise, file=file)
    first = (str(surprise).splitlines() or [""])[0]
    return f"Unexpected {type(surprise).__name__}: {first}. Please report it with {file.name}."


def _stop(kind: str, message: str, code: int) -> NoReturn:
    if "--json" in sys.argv:
        print(json.dumps({"error": kind, "message": message}), file=sys.stderr)
    else:
        click.secho(f"Error: {message}" if code != INTERRUPTED else message, err=True, fg="red")
    sys.exit(code)
