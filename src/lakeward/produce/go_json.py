"""Values as Go's encoding/json writes them, since MinIO is written in Go."""

from __future__ import annotations

import json

_ESCAPES = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_SECOND = 1_000_000_000
_UNITS = ((1_000_000, "ms"), (1_000, "\N{MICRO SIGN}s"), (1, "ns"))


def encode(value: object) -> bytes:
    """Return compact JSON with the characters escaped that Go escapes for the sake of HTML."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text.encode()


def escape(text: str) -> bytes:
    """Return text as it stands between the quotes of a JSON string."""
    return encode(text)[1:-1]


def duration(nanoseconds: int) -> str:
    """Return what Go's `Duration.String()` returns: `850µs`, `1.234567ms`, `1m2.5s`."""
    if nanoseconds < _SECOND:
        size, unit = next((size, unit) for size, unit in _UNITS if nanoseconds >= size or size == 1)
        return _decimal(nanoseconds, size) + unit if nanoseconds else "0s"
    minutes, rest = divmod(nanoseconds, 60 * _SECOND)
    hours, minutes = divmod(minutes, 60)
    leading = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{leading}{_decimal(rest, _SECOND)}s"


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0") if rest else str(whole)
