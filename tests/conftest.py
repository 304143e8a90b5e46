"""What holds for every test."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A run started in the background ignores Ctrl-C, and so would every process it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
