"""Loaded by Python itself when this folder is on its path: makes the decoder crash on one word.

It stands for a bug in a native library that some records hit.
"""

from __future__ import annotations

import os
import signal
import sys

WORD = b"poison"


def crash_on_the_word() -> None:
    from lakeward.records.chunk import Chunk
    from lakeward.records.decode_json import Decoded, JsonDecoder

    decode = JsonDecoder.decode

    def fragile(self: JsonDecoder, chunk: Chunk) -> Decoded:
        if any(value is not None and WORD in value for value in chunk.values):
            os.kill(os.getpid(), signal.SIGSEGV)
        return decode(self, chunk)

    JsonDecoder.decode = fragile  # type: ignore[method-assign]


if "lakeward.job.daemon" in sys.orig_argv:
    crash_on_the_word()
