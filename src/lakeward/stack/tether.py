"""A tie between two processes: when this one ends, however it ends, the other is asked to."""

from __future__ import annotations

import os
import subprocess

# Reads from a pipe that only we hold open: its end is our end, even by kill -9.
WATCH = 'read -r _; kill -TERM "$0" 2>/dev/null'


class Tether:
    """Ties a process to this one; holds the watcher and our end of the pipe it reads."""

    def __init__(self, pid: int) -> None:
        theirs, self._ours = os.pipe()
        try:
            self._watcher = subprocess.Popen(
                ["/bin/sh", "-c", WATCH, str(pid)],
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            os.close(theirs)

    def cut(self) -> None:
        """Untie: the watcher ends without touching the process. Cutting twice does no harm."""
        if self._watcher.poll() is None:
            self._watcher.kill()
            self._watcher.wait()
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1
