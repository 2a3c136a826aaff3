"""Bars and curves of the document as inline SVG, each with its legend in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from traceq.reports.charts.palette import variable
from traceq.reports.html.markup import tag, text
from traceq.units import share

if TYPE_CHECKING:
    from markupsafe import Markup

    from traceq.reports.document import Bar, BarRow, Bars, Curve

_WIDTH, _HEIGHT, _STEP = 1000, 20, 10


def bar(block: Bar) -> Markup:
    """One bar, and what its parts are."""
    parts = [(label, amount) for label, amount in block.parts if amount > 0]
    words = ", ".join(f"{label} {share(amount)}" for label, amount in parts)
    legend = (tag("li", swatch(label), text(f"{label} {share(amount)}")) for label, amount in parts)
    return tag("figure", _drawn(parts, 1.0, words), tag("ul", *legend, class_="legend"), class_="bar")


def bars(block: Bars) -> Markup:
    """Bars to one scale, a row each: label, bar, and what is said after it."""
    longest = max(sum(amount for _, amount in row.parts) for row in block.rows) or 1.0
    labels = dict.fromkeys(label for row in block.rows for label, _ in row.parts if label)
    legend = tag("ul", *(tag("li", swatch(label), text(label)) for label in labels), class_="legend")
    rows = tag("table", tag("tbody", *(_row(row, longest) for row in block.rows)), class_="bars")
    return tag("figure", tag("div", rows, class_="scroll", tabindex=0, role="group", aria_label="bars"), legend)


def _row(row: BarRow, longest: float) -> Markup:
    words = f"{row.label}: {row.text}"
    drawn = tag("td", _drawn(row.parts, longest, words), class_="drawn")
    return tag("tr", tag("th", text(row.label), scope="row"), drawn, tag("td", text(row.text)))


def curve(block: Curve) -> Markup:
    """A column for each value, from 0 to the highest."""
    highest = max(block.values, default=0.0) or 1.0
    columns = (
        _rect(index * _STEP, _STEP, _HEIGHT * 3 * value / highest, "allocated", _HEIGHT * 3)
        for index, value in enumerate(block.values)
    )
    box = f"0 0 {max(1, len(block.values)) * _STEP} {_HEIGHT * 3}"
    drawn = tag(
        "svg", *columns, viewBox=box, preserveAspectRatio="none", role="img", aria_label=block.text, class_="curve"
    )
    return tag("figure", drawn, tag("figcaption", text(block.text)))


def _drawn(parts: Sequence[tuple[str, float]], longest: float, words: str) -> Markup:
    box = f"0 0 {_WIDTH} {_HEIGHT}"
    return tag(
        "svg",
        *_stacked(parts, longest),
        viewBox=box,
        preserveAspectRatio="none",
        role="img",
        aria_label=words,
        class_="stack",
    )


def _stacked(parts: Iterable[tuple[str, float]], longest: float) -> Iterator[Markup]:
    x = 0.0
    for label, amount in parts:
        size = amount / longest * _WIDTH
        yield _rect(x, size, _HEIGHT, label, _HEIGHT)
        x += size


def _rect(x: float, size: float, height: float, kind: str, base: float) -> Markup:
    fill = f"var({variable(kind)})"
    return tag("rect", x=f"{x:.1f}", y=f"{base - height:.1f}", width=f"{size:.1f}", height=f"{height:.1f}", fill=fill)


def swatch(kind: str) -> Markup:
    """A square in the colour of a kind, for legends."""
    square = tag("rect", width=10, height=10, fill=f"var({variable(kind)})")
    return tag("svg", square, viewBox="0 0 10 10", class_="swatch", aria_hidden="true")
