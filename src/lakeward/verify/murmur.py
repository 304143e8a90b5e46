"""Murmur3, 32 bit, x86 variant, seed 0: the hash behind Iceberg's buckets."""

from __future__ import annotations

MASK = 0xFFFF_FFFF


def murmur3(data: bytes) -> int:
    """Return the hash as an unsigned number."""
    state = 0
    body = len(data) & ~3
    for start in range(0, body, 4):
        state ^= _scrambled(int.from_bytes(data[start : start + 4], "little"))
        state = (_rotated(state, 13) * 5 + 0xE654_6B64) & MASK
    if body < len(data):
        state ^= _scrambled(int.from_bytes(data[body:], "little"))
    return _finished(state ^ len(data))


def _scrambled(block: int) -> int:
    return (_rotated((block * 0xCC9E_2D51) & MASK, 15) * 0x1B87_3593) & MASK


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & MASK


def _finished(state: int) -> int:
    state = ((state ^ (state >> 16)) * 0x85EB_CA6B) & MASK
    state = ((state ^ (state >> 13)) * 0xC2B2_AE35) & MASK
    return state ^ (state >> 16)
