"""A stacked bar in block characters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

WIDTH = 60

_SYMBOLS = {
    "compute": "█",
    "communication": "▓",
    "copy_h2d": "▒",
    "copy_d2h": "▚",
    "copy_other": "▞",
    "memset": "▂",
    "idle": "░",
}
_OTHERS = "▙▟▛▜"


def draw(parts: Sequence[tuple[str, float]]) -> tuple[str, str]:
    """The bar, WIDTH columns wide, and its legend. Parts too small for a column are in the legend only."""
    others = cycle(_OTHERS)
    symbols = [_SYMBOLS.get(label) or next(others) for label, _ in parts]
    columns = _apportion([share for _, share in parts])
    bar = "".join(symbol * width for symbol, width in zip(symbols, columns, strict=True))
    legend = "  ".join(f"{symbol} {label}" for symbol, (label, _) in zip(symbols, parts, strict=True))
    return bar, legend


def _apportion(shares: Sequence[float]) -> list[int]:
    """Whole columns that add up to WIDTH, by largest remainder."""
    exact = [share * WIDTH for share in shares]
    columns = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: (columns[i] - exact[i], i))
    for index in by_remainder[: WIDTH - sum(columns)]:
        columns[index] += 1
    return columns
