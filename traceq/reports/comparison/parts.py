"""The words about parts of a change: inside a category, kernels that are others, other cuts through the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from traceq.common.text import shortened
from traceq.common.units import change, change_share, count, duration, rate, size
from traceq.reports.comparison.words import both_sides, describe_same_copy
from traceq.reports.document import Block, Heading, Literal, Name, Paragraph, Table
from traceq.runs.compare.comparison import Cause, ChangePart, Comparison, Count, Row
from traceq.runs.compare.names import canonical_name

_NAME_WIDTH = 48

# Sentences that say how a part was found again; "same" needs none.
_KINDS = {
    "same": "",
    "resized": "other launch shape or size",
    "renamed": "renamed",
    "re-tuned": "re-tuned",
    "same role": "same role",
    "new": "new",
    "vanished": "vanished",
    "graphed": "in CUDA graphs on one side",
}


def compose_inside(cause: Cause, top: int, sure: str) -> Iterator[Block]:
    """Yield a table of a category's parts, those that changed most first; beyond `top` they are summed in one row.

    `sure` is the confidence of the intervals as text, as "98 %".
    """
    yield Heading(4, ("Inside ", Literal(cause.category), f", {change(cause.delta_ns)}"))
    shown = [part for part in cause.parts if part.delta_ns][:top]
    rows = [_make_row(part) for part in shown]
    others = cause.parts[len(shown) :]  # what has not changed comes last
    if sum(part.delta_ns for part in others):
        rows.append((f"{count(len(others))} others", "", "", *both_sides(*others), ""))
    yield Table(
        ("what", "matched", "a step", "base", "new", "change", f"\u00b1 ({sure})"), tuple(rows), text_columns=(0, 1)
    )


def _make_row(part: ChangePart) -> tuple[str, ...]:
    """Return the table cells of a category's part: name, how matched, count, time on both sides, change, half its interval."""
    counts = f"{_format_number(part.base_count)} -> {_format_number(part.new_count)}"
    return (
        _name_part(part),
        describe_same_copy(part) if part.kind == "other memory" else _KINDS[part.kind],
        counts if part.base_count or part.new_count else "",
        duration(part.base_ns) if part.kind != "new" else "-",
        duration(part.new_ns) if part.kind != "vanished" else "-",
        change(part.delta_ns),
        "-" if part.interval_ns is None else duration((part.interval_ns[1] - part.interval_ns[0]) / 2),
    )


def _name_part(part: ChangePart) -> str:
    """Return the part's kernel or copy name and shape, shortened; "not told apart" for a part without a name."""
    if part.name is None:
        return "not told apart"
    names = part.new_names or part.base_names
    return Name(_shorten_names(names, part.category) + (f" {part.shape}" if part.shape else ""))


def _shorten_names(names: Sequence[str], category: str) -> str:
    """Return the first name, shortened, and the number of the others as "+2"; "-" without names.

    A kernel's name is reduced to what distinguishes it.
    """
    if not names:
        return "-"
    first = canonical_name(names[0]) if category == "compute" else names[0]
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return shortened(first, _NAME_WIDTH) + more


def _format_number(value: float) -> str:
    """Return a count per step as text, without decimals if it is whole."""
    return count(round(value)) if abs(value - round(value)) < 1e-9 else rate(value)  # noqa: PLR2004 - rounding of floats


def compose_kernels(comparison: Comparison, top: int) -> Iterator[Block]:
    """Yield a section on kernels that are new, gone, renamed or otherwise not the same on both sides; nothing without any.

    Its table has at most `top` rows, the longest kernels first.
    """
    changed = [
        part
        for cause in comparison.causes
        if cause.category == "compute"
        for part in cause.parts
        if part.kind != "same"
    ]
    if not changed:
        return
    yield Heading(3, ("Kernels that changed",), anchor="kernels")
    numbers: Counter[str] = Counter(part.kind for part in changed)
    kinds = ("new", "vanished", "re-tuned", "same role", "renamed", "resized", "graphed")
    yield Paragraph((", ".join(f"{count(numbers[kind])} {kind}" for kind in kinds if numbers[kind]) + ".",))
    rows = [
        (
            Name(_shorten_names(part.base_names, part.category)),
            Name(_shorten_names(part.new_names, part.category)),
            _KINDS[part.kind],
            Name(part.operator) if part.operator else part.role or "-",
            change(part.delta_ns),
        )
        for part in sorted(changed, key=lambda part: -max(part.base_ns, part.new_ns))[:top]
    ]
    yield Table(("base", "new", "how", "operator or role", "change"), tuple(rows), text_columns=(0, 1, 2, 3))
    if len(changed) > top:
        yield Paragraph((f"... and {count(len(changed) - top)} more.",))


def compose_cut(title: str, what: str, rows: Sequence[Row], top: int) -> Iterator[Block]:
    """Yield a section with a table of GPU time by operator or phase; nothing if no row changed.

    `what` is "operator" or "phase". Rows beyond `top` are summed in one.
    """
    if not any(row.delta_ns for row in rows):
        return
    yield Heading(3, (title,))
    yield Paragraph((f"GPU work by the {what} that launched it: another view of the same time, without idle time.",))
    shown = [
        (
            Name(row.name) if row.name is not None else f"no {what} known",
            f"{_format_number(row.base_count)} -> {_format_number(row.new_count)}",
            *both_sides(row),
        )
        for row in rows[:top]
    ]
    if len(rows) > top:
        shown.append((f"{count(len(rows) - top)} others", "", *both_sides(*rows[top:])))
    yield Table((what, "slices a step", "base", "new", "change"), tuple(shown))


def compose_counts(counts: Sequence[Count]) -> Iterator[Block]:
    """Yield a section with a table of counts per step (kernels, copies, bytes) on both sides; nothing without counts."""
    if not counts:
        return
    yield Heading(3, ("How many a step",))
    rows = [
        (
            each.what,
            *(size(round(value)) if each.unit == "bytes" else _format_number(value) for value in (each.base, each.new)),
            change_share((each.new - each.base) / each.base if each.base else None),
        )
        for each in counts
    ]
    yield Table(("what", "base", "new", "change"), tuple(rows))
