"""Pictures in block characters: a stacked bar, bars to one scale, a curve."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

from traceq.analysis import categories
from traceq.common.text import shortened, width
from traceq.reports.charts import palette
from traceq.reports.document import BarRow
from traceq.reports.renderers.colour import Paint, paint_nothing

WIDTH = 60
_SCALED_WIDTH = 48
_LEAST_WIDTH = 10
_GAP = "  "

# Room for whatever is drawn.
_ANY = 1_000

_SYMBOLS = {name: look.symbol for name, look in palette.LOOKS.items()}
_SYMBOLS[""] = "█"
_OTHERS = "▙▟▛▜"
_LEVELS = " ▁▂▃▄▅▆▇█"


def draw_bar(parts: Sequence[tuple[str, float]], room: int = _ANY, paint: Paint = paint_nothing) -> list[str]:
    """Return the lines of text of a stacked bar and its legend, at most `room` columns wide (the bar at most WIDTH).

    `parts` are (label, share); parts too small for a column are in the legend only. `paint` colours the text.
    """
    columns = min(WIDTH, room)
    symbols = _choose_symbols([label for label, _ in parts])
    drawn = _draw_parts(parts, symbols, _apportion_columns([share * columns for _, share in parts], columns), paint)
    return [drawn, *_write_legend(symbols, room, paint)]


def draw_bar_rows(rows: Sequence[BarRow], room: int = _ANY, paint: Paint = paint_nothing) -> list[str]:
    """Return lines of text: for each row its label, bar and text, then the legend; bars are to the same scale.

    Where there is little `room` (columns), the bar stands below its label and text.
    """
    longest = max(sum(amount for _, amount in row.parts) for row in rows) or 1
    symbols = _choose_symbols([label for row in rows for label, _ in row.parts])
    margin = max(width(row.label) for row in rows)
    left = room - margin - 2 * len(_GAP) - max(width(row.text) for row in rows)
    columns = min(_SCALED_WIDTH, left if left >= _LEAST_WIDTH else room)
    lines = []
    for row in rows:
        exact = [amount / longest * columns for _, amount in row.parts]
        filled = round(sum(exact))
        drawn = _draw_parts(row.parts, symbols, _apportion_columns(exact, filled), paint)
        if left >= _LEAST_WIDTH:
            label = row.label + " " * (margin - width(row.label))
            lines.append(f"{label}{_GAP}{drawn}{' ' * (columns - filled)}{_GAP}{row.text}")
        else:
            lines += [shortened(f"{row.label}{_GAP}{row.text}", room), drawn]
    named = {label: symbol for label, symbol in symbols.items() if label}
    return [*lines, *_write_legend(named, room, paint)] if named else lines


def draw_curve(values: Sequence[float], room: int = _ANY) -> str:
    """Return a line of block characters, one for each value, as high as its share of the highest value.

    With more values than `room`, a character shows the highest of several. A value above 0 never looks like 0.
    """
    each = -(-len(values) // room) or 1
    peaks = [max(values[at : at + each]) for at in range(0, len(values), each)]
    highest = max(peaks, default=0) or 1
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[max(round(value / highest * top), int(value > 0))] for value in peaks)


def _choose_symbols(labels: Sequence[str]) -> dict[str, str]:
    others = cycle(_OTHERS)
    return {label: _SYMBOLS.get(label) or next(others) for label in dict.fromkeys(labels)}


def _draw_parts(
    parts: Sequence[tuple[str, float]], symbols: dict[str, str], numbers: Sequence[int], paint: Paint
) -> str:
    return "".join(paint(symbols[label] * number, label) for (label, _), number in zip(parts, numbers, strict=True))


def _write_legend(symbols: dict[str, str], room: int, paint: Paint) -> list[str]:
    """Return the lines of the legend, "SYMBOL words" for each category or label, at most `room` columns wide."""
    lines: list[list[str]] = [[]]
    used = 0
    for name, symbol in symbols.items():
        words = categories.label(name)
        size = len(symbol) + 1 + width(words)
        if lines[-1] and used + size > room:
            lines.append([])
            used = 0
        lines[-1].append(f"{paint(symbol, name)} {words}")
        used += size + len(_GAP)
    return [_GAP.join(line) for line in lines]


def _apportion_columns(exact: Sequence[float], total: int) -> list[int]:
    """Return `total` columns divided in proportion to `exact`, the largest remainders rounded up."""
    columns = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: (columns[i] - exact[i], i))
    for index in by_remainder[: total - sum(columns)]:
        columns[index] += 1
    return columns
