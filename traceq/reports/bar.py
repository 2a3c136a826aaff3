"""Pictures in block characters: a stacked bar, bars to one scale, a curve."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from traceq.reports.names import width

if TYPE_CHECKING:
    from traceq.reports.document import BarRow

WIDTH = 60
_SCALED_WIDTH = 48

_SYMBOLS = {
    "compute": "█",
    "communication": "▓",
    "copy_h2d": "▒",
    "copy_d2h": "▚",
    "copy_other": "▞",
    "memset": "▂",
    "idle": "░",
    "behind compute": "█",
    "behind other work": "▓",
    "exposed": "░",
    "blocking": "▒",
    "allocated": "█",
    "cached": "▒",
    "free": "░",
    "hidden": "█",
    "costs the GPU": "░",
    "": "█",
}
_OTHERS = "▙▟▛▜"
_LEVELS = " ▁▂▃▄▅▆▇█"


def draw(parts: Sequence[tuple[str, float]]) -> tuple[str, str]:
    """The bar, WIDTH columns wide, and its legend. Parts too small for a column are in the legend only."""
    symbols = _symbols([label for label, _ in parts])
    columns = _apportion([share * WIDTH for _, share in parts], WIDTH)
    bar = "".join(symbols[label] * number for (label, _), number in zip(parts, columns, strict=True))
    return bar, _legend(symbols)


def draw_rows(rows: Sequence[BarRow]) -> list[str]:
    """A line for each row: label, bar, text; then the legend of the parts that have names."""
    longest = max(sum(amount for _, amount in row.parts) for row in rows) or 1
    symbols = _symbols([label for row in rows for label, _ in row.parts])
    margin = max(width(row.label) for row in rows)
    lines = []
    for row in rows:
        exact = [amount / longest * _SCALED_WIDTH for _, amount in row.parts]
        columns = _apportion(exact, round(sum(exact)))
        bar = "".join(symbols[label] * number for (label, _), number in zip(row.parts, columns, strict=True))
        lines.append(f"{row.label}{' ' * (margin - width(row.label))}  {bar:<{_SCALED_WIDTH}}  {row.text}")
    named = {label: symbol for label, symbol in symbols.items() if label}
    return [*lines, _legend(named)] if named else lines


def curve(values: Sequence[float]) -> str:
    """A column for each value, from 0 to the highest; what is not 0 never looks like 0."""
    highest = max(values, default=0) or 1
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[max(round(value / highest * top), int(value > 0))] for value in values)


def _symbols(labels: Sequence[str]) -> dict[str, str]:
    others = cycle(_OTHERS)
    return {label: _SYMBOLS.get(label) or next(others) for label in dict.fromkeys(labels)}


def _legend(symbols: dict[str, str]) -> str:
    return "  ".join(f"{symbol} {label}" for label, symbol in symbols.items())


def _apportion(exact: Sequence[float], total: int) -> list[int]:
    """Whole columns that add up to `total`, by largest remainder."""
    columns = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: (columns[i] - exact[i], i))
    for index in by_remainder[: total - sum(columns)]:
        columns[index] += 1
    return columns
