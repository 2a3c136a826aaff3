"""Horizontal bars of stacked parts to one scale, with a label before and a text behind each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traceq.reports.charts.sheet import WIDTH, bar, caption, inches, sheet
from traceq.reports.document import BarRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches.
_ROW = 0.36
_TOP = 0.34
_BOTTOM = 0.08
_APART = 0.12


def bars(title: str, rows: Sequence[BarRow], legend: Sequence[tuple[str, str]] = ()) -> Figure:
    """One bar below the other. The kind of a part is its label; `legend` is (kind, label) of those to be explained."""
    left = max(inches(row.label) for row in rows) + 2 * _APART
    room = max(inches(row.text) for row in rows) + 2 * _APART
    high = len(rows) * _ROW + _TOP + _BOTTOM
    figure, axes = sheet(height=high, left=left, right=room, top=_TOP, bottom=_BOTTOM, legend=legend)
    longest = max(sum(amount for _, amount in row.parts) for row in rows) or 1
    for number, row in enumerate(rows):
        start = 0.0
        for kind, amount in row.parts:
            if amount:
                bar(axes, number, start, amount, kind)
            start += amount
        axes.text(start + _APART / (WIDTH - left - room) * longest, number, row.text, va="center_baseline")
    axes.set_xlim(0, longest)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    caption(figure, title)
    return figure
