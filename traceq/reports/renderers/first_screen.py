"""The blocks that a report for a terminal begins with: verdict, ledger and ranking."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.text import printable, shortened, width
from traceq.reports.document import Ledger, LedgerRow, Literal, RankedFinding, Ranking, Spans, Verdict
from traceq.reports.renderers.colour import Paint
from traceq.reports.renderers.wrapping import to_plain_text, wrap_text

_INDENT = "  "
_GAP = "  "
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEAST_BAR, _MOST_BAR = 10, 44
# What is not cut to its line is cut to so many lines.
_MOST_LINES = 2
_LEAST_TITLE = 34
_LEAST_LABEL = 8


def verdict_lines(block: Verdict, room: int, paint: Paint) -> Iterator[str]:
    """Yield the verdict's lines: its sentence with its confidence at the right, then its further lines, such as the saving.

    `room` is the width in columns, `paint` colours the text.
    """
    text = to_plain_text(block.spans)
    beside = f"{_GAP}{block.beside}" if block.beside else ""
    lines = [text[start:end] for start, end in wrap_text(text, room, whole=True)] or [""]
    is_beside = width(lines[-1]) + width(beside) <= room
    for number, line in enumerate(lines, 1):
        blanks = " " * (room - width(line) - width(beside) + len(_GAP))
        right = blanks + paint(block.beside, block.beside.partition(" ")[0]) if block.beside and is_beside else ""
        yield paint(line, "verdict") + (right if number == len(lines) else "")
    if block.beside and not is_beside:
        yield _INDENT + block.beside
    for spans in block.lines:
        yield from _wrap_line(spans, room)


def _wrap_line(spans: Spans, room: int) -> Iterator[str]:
    """Yield a further line of the verdict in at most two lines; a command that does not fit has a line of its own, uncut."""
    is_wide = width(to_plain_text(spans)) > room - len(_INDENT)
    if is_wide and isinstance(spans[-1], Literal) and len(spans) > 1:
        yield from _cut_lines(spans[:-1], room, _INDENT)
        yield 2 * _INDENT + printable(spans[-1])
    else:
        yield from _cut_lines(spans, room, _INDENT)


def ledger_lines(block: Ledger, room: int, paint: Paint) -> Iterator[str]:
    """Yield the ledger's lines: its title with the time of a step, then a line of label, bar, share, time, findings per row."""
    title = to_plain_text(block.title)
    if width(title) + width(block.total) + len(_GAP) <= room:
        yield paint(title, "heading") + " " * (room - width(title) - width(block.total)) + block.total
    else:
        yield paint(shortened(title, room), "heading")
        yield shortened(block.total, room)
    labels = max(width(row.label) for row in block.rows)
    times = max(width(row.text) for row in block.rows)
    owners = max(width(_list_owners(row)) for row in block.rows)
    # Columns besides the label and the bar: indent, gaps, "100.0 %".
    left = room - len(_INDENT) - times - owners - len("100.0 %") - 2 * len(_GAP)
    labels = min(labels, max(left, _LEAST_LABEL))
    bar = min(left - labels - len(_GAP), _MOST_BAR)
    for row in block.rows:
        drawn = _draw_bar(row, bar, paint) + _GAP if bar >= _LEAST_BAR else ""
        label = shortened(row.label, labels)
        start = f"{_INDENT}{label}{' ' * (labels - width(label))}{_GAP}{drawn}"
        line = f"{start}{_format_percent(row.share)}{_GAP}{row.text.rjust(times)}{_list_owners(row)}".rstrip()
        yield line if drawn else shortened(line, room)


def _format_percent(share: float) -> str:
    smallest = 0.0005
    return ("< 0.1 %" if 0 < share < smallest else f"{share:.1%}".replace("%", " %")).rjust(len("100.0 %"))


def _draw_bar(row: LedgerRow, columns: int, paint: Paint) -> str:
    eighths = max(round(min(row.share, 1.0) * columns * 8), int(row.share > 0))
    drawn = _EIGHTHS[8] * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    return paint(drawn, row.category) + " " * (columns - width(drawn))


def _list_owners(row: LedgerRow) -> str:
    owners = f"<- {' '.join(row.owners)}" if row.owners else ""
    rest = f"{'rest ' if owners else ''}{row.verdict}" if row.verdict else ""
    said = "; ".join(filter(None, (owners, rest)))
    return f"{_GAP}{said}" if said else ""


def ranking_lines(block: Ranking, room: int, paint: Paint) -> Iterator[str]:
    """Yield the ranking's lines: column titles, then each finding's title with its numbers, and below it what to do.

    Where `room` (columns) is too narrow for columns, the numbers stand below the title.
    """
    columns = [
        ("saves", [row.saves for row in block.rows], False),
        ("share", [row.share for row in block.rows], False),
        ("cumulative", [row.cumulative for row in block.rows], False),
        ("confidence", [row.confidence for row in block.rows], True),
    ]
    sizes = [max(map(width, (title, *cells))) for title, cells, _ in columns]
    title_room = room - sum(sizes) - len(sizes) * len(_GAP)
    if title_room < _LEAST_TITLE:
        yield from _narrow_ranking(block, room, paint)
        return
    heads = [
        head.ljust(size) if left else head.rjust(size) for (head, _, left), size in zip(columns, sizes, strict=True)
    ]
    yield (paint("What to fix".ljust(title_room), "heading") + _GAP + _GAP.join(heads)).rstrip()
    for row in block.rows:
        cells = (row.saves, row.share, row.cumulative, row.confidence)
        styles = ("saving", "", "", row.confidence)
        numbers = _GAP.join(
            _pad_text(paint(cell, style), cell, size, left=left)
            for cell, style, size, (_, _, left) in zip(cells, styles, sizes, columns, strict=True)
        )
        yield from _title_lines(row, numbers.rstrip(), title_room, paint)
        yield from _cut_lines(row.deed, room, "   ")


def _pad_text(painted: str, cell: str, size: int, *, left: bool) -> str:
    blanks = " " * (size - width(cell))
    return painted + blanks if left else blanks + painted


def _title_lines(row: RankedFinding, numbers: str, room: int, paint: Paint) -> Iterator[str]:
    """Yield the lines of a finding's title, with its `numbers` at the end of the last line."""
    text = printable(row.title)
    lines = [text[start:end] for start, end in wrap_text(text, room - len("F10 "), whole=True)][: _MOST_LINES + 1]
    for number, line in enumerate(lines, 1):
        first = f"{paint(row.anchor, 'heading')} " if number == 1 else "   "
        used = len(row.anchor) + 1 if number == 1 else len("   ")
        last = " " * (room - used - width(line)) + _GAP + numbers if number == len(lines) else ""
        yield first + line + last


def _narrow_ranking(block: Ranking, room: int, paint: Paint) -> Iterator[str]:
    yield paint("What to fix", "heading")
    for row in block.rows:
        text = f"{row.anchor} {printable(row.title)}"
        yield from (text[start:end] for start, end in wrap_text(text, room, whole=True))
        yield from _cut_lines((f"{row.saves} ({row.share}), {row.confidence} confidence",), room, "   ")
        yield from _cut_lines(row.deed, room, "   ")


def _cut_lines(spans: Spans, room: int, indent: str) -> Iterator[str]:
    """Yield the spans in at most two lines, indented by `indent`; what does not fit the second line is cut."""
    text = to_plain_text(spans)
    inside = room - len(indent)
    lines = [text[start:end] for start, end in wrap_text(text, inside, whole=True)]
    for line in lines[: _MOST_LINES - 1]:
        yield indent + line
    if len(lines) >= _MOST_LINES:
        rest = " ".join(lines[_MOST_LINES - 1 :])
        yield indent + (rest if width(rest) <= inside else shortened(rest, inside))
