"""The report of traceq goodput: headline, ledger, early ends, pace, advice, logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from traceq.common.units import UNKNOWN, count, duration, format_energy, rate, share, some, time_span
from traceq.reports.document import (
    Block,
    Facts,
    Heading,
    Items,
    Ledger,
    LedgerRow,
    Literal,
    Name,
    Outcome,
    Spans,
    Table,
    Verdict,
    Warn,
)
from traceq.reports.goodput.advice import list_advice
from traceq.reports.run_words import COLOURED_AS, ENDS, LABELS, list_parts, write_cost, write_moment
from traceq.reports.sections.run_changes import say_change, spans_attempts
from traceq.runs.goodput.goodput import EarlyEnd, Goodput, LedgerCategory

# From here on a run is called healthy.
_HEALTHY = 0.9
_MOST_CHANGES = 3
_MOST_LOGS = 5


class Room(NamedTuple):
    """The size of a document: rows of early ends, ends whose parts it lists, and pieces of advice."""

    ends: int
    explained: int
    advice: int


WHOLE = Room(1_000, 1_000, 10)
# What fits on a screen, from the most to the least.
SCREENS = (Room(12, 3, 3), Room(8, 2, 3), Room(6, 1, 2), Room(4, 0, 1))


def compose_goodput(found: Goodput, room: Room = WHOLE, *, is_page: bool = False) -> Iterator[Block]:
    """Yield the whole report of traceq goodput; on pages the run has a heading, below which sections stand."""
    yield Heading(1, ("traceq goodput",))
    if is_page:
        yield Heading(2, ("The whole run",), anchor="goodput")
    yield Verdict(_say_headline(found), _choose_outcome(found), lines=tuple(_list_lines(found)), label="Goodput")
    for spans in _list_warnings(found):
        yield Warn(spans)
    if found.ledger:
        yield _compose_ledger(found)
    if found.early_ends:
        yield Heading(3, ("What ended early",), anchor="early-ends")
        yield _tabulate_ends(found, room.ends)
        notes = tuple(_list_end_notes(found, room))
        if notes:
            yield Items(notes)
    advice = list_advice(found)[: room.advice]
    if advice:
        yield Heading(3, ("What would save most",), anchor="advice")
        yield Items(tuple(entry.spans for entry in advice))
    yield Heading(3, ("Steps and logs",), anchor="pace")
    yield Facts(tuple(_list_facts(found)))


def _list_end_notes(found: Goodput, room: Room) -> Iterator[Spans]:
    """Yield what the costliest early ends consist of, and how many the table leaves out."""
    costliest = sorted(found.early_ends, key=lambda end: (-(end.cost or 0), -end.dur))
    yield from (_explain_end(end) for end in costliest[: room.explained])
    more = len(found.early_ends) - room.ends
    if more > 0:
        yield (f"{count(more)} more, which cost less: ", Literal("-o goodput.html"), " has all.")


def _choose_outcome(found: Goodput) -> Outcome:
    if found.cannot_tell:
        return "cannot tell"
    return "healthy" if found.good_share >= _HEALTHY else "problem"


def _say_headline(found: Goodput) -> Spans:
    """Return the first sentence: the share of the wall time that went into steps that count, or why there is none."""
    if found.cannot_tell:
        return (f"Cannot tell where the time went: {found.cannot_tell}.",)
    return (f"{share(found.good_share)} of {time_span(found.wall_ns)} went into steps that count.",)


def _list_lines(found: Goodput) -> Iterator[Spans]:
    """Yield the lines below the headline: what it cost, and what the ideal step would make of it."""
    if found.cannot_tell:
        yield ("Let the program write a log with times, for example: ", Literal("TRACEQ_RUN_LOG=run.jsonl"))
        return
    if found.total_cost is not None:
        good = next((row.cost or 0.0 for row in found.ledger if row.category == "step"), 0.0)
        yield (
            (
                f"Of {write_cost(found.total_cost)} ({_write_gpus(found)} at {write_cost(found.terms.price)} an hour),"
                f" {write_cost(found.total_cost - good)} went into something else."
            ),
        )
    elif found.terms.price is not None:
        yield ("What it cost, traceq cannot tell: no log says the number of GPUs. Say it: ", Literal("--gpus N"))
    if found.ideal_share is not None and found.terms.ideal_step_ns is not None:
        ideal = duration(found.terms.ideal_step_ns)
        yield (f"At the ideal {ideal} a step, these steps would take {share(found.ideal_share)} of the time.",)


def _write_gpus(found: Goodput) -> str:
    """Return the number of GPUs, of an elastic job in order of time: 64, then 32, then 64 GPUs."""
    if len(found.gpus) > _MOST_CHANGES:
        return f"{min(found.gpus):,} to {max(found.gpus):,} GPUs"
    return f"{', then '.join(map(count, found.gpus))} GPU{'s' if found.gpus != (1,) else ''}"


def _list_warnings(found: Goodput) -> Iterator[Spans]:
    """Yield warnings: lines that could not be read, lost steps that are not known, power of a part of the GPUs or time."""
    for log in found.logs:
        if log.left_out:
            yield (f"{some(log.left_out, 'line')} of ", Name(log.file), " could not be read.")
    if any(end.lost_steps is None for end in found.early_ends):
        yield (
            "The run failed in the end. How many of its last steps are lost, traceq cannot tell: no log tells of a checkpoint.",
        )
    if found.power is not None and not found.cannot_tell:
        held = max(found.gpus, default=0)
        if held and found.power.devices < held:
            yield (f"Energy is that of {some(found.power.devices, 'GPU')} of {held:,}: the logs have no others.",)


def _compose_ledger(found: Goodput) -> Ledger:
    """Return the ledger: categories with time, cost and energy, the longest first."""
    columns = [[time_span(row.dur) for row in found.ledger]]
    if found.terms.price is not None:
        columns.append([_write_row_cost(row) for row in found.ledger])
    if found.power is not None:
        columns.append([format_energy(row.joules) if row.joules is not None else UNKNOWN for row in found.ledger])
    widths = [max(map(len, column)) for column in columns]
    texts = [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in zip(*columns, strict=True)
    ]
    rows = tuple(
        LedgerRow(LABELS[row.category], row.category, row.share, text, kind=COLOURED_AS[row.category])
        for row, text in zip(found.ledger, texts, strict=True)
    )
    return Ledger(("Where the time went",), time_span(found.wall_ns), rows)


def _write_row_cost(row: LedgerCategory) -> str:
    """Return what a row cost; the queue costs nothing."""
    return "$0" if row.cost == 0 else write_cost(row.cost)


def _tabulate_ends(found: Goodput, most: int) -> Table:
    """Return a table of the costliest early ends, in order of time."""
    costliest = sorted(found.early_ends, key=lambda end: (-(end.cost or 0), -end.dur))[:most]
    has_price = found.terms.price is not None
    columns = ("attempt", "ended", "by", "why", "lost steps", "cost in time", *(("cost",) if has_price else ()))
    rows = tuple(
        (
            count(end.attempt),
            write_moment(end.ended_at, is_local=found.is_local),
            ENDS[end.ended_by],
            end.reason or "-",
            UNKNOWN if end.lost_steps is None else count(end.lost_steps),
            time_span(end.dur),
            *((write_cost(end.cost),) if has_price else ()),
        )
        for end in sorted(costliest, key=lambda end: end.attempt)
    )
    return Table(columns, rows, text_columns=(1, 2, 3))


def _explain_end(end: EarlyEnd) -> Spans:
    """Return what the time of an early end went into."""
    return (f"Attempt {end.attempt}: {list_parts(end.parts) or 'no time is known'}.",)


def _list_facts(found: Goodput) -> Iterator[tuple[str, Spans]]:
    """Yield facts on steps and logs."""
    pace = found.pace
    if pace.steps:
        counted = "" if pace.counted is None or pace.counted == pace.steps else f", {pace.counted:,} of them count"
        yield "steps", (f"{pace.steps:,} done{counted}",)
    if pace.step_ns is not None:
        spread = (
            f" (9 of 10 from {duration(pace.low_ns)} to {duration(pace.high_ns)})"
            if pace.low_ns != pace.high_ns
            else ""
        )
        yield "a step", (f"{duration(pace.step_ns)}{spread}",)
    for change in found.changes[:_MOST_CHANGES]:
        yield "changed", (say_change(change, has_attempts=spans_attempts(found.changes)),)
    if pace.throughput is not None:
        yield "throughput", (f"{rate(pace.throughput)} {pace.throughput_unit or ''}".rstrip(),)
    if pace.loss is not None:
        (first, before), (last, after) = pace.loss
        yield "loss", (f"{before:.4g} at step {first:,}, {after:.4g} at step {last:,}",)
    yield "logs", tuple(_list_logs(found))
    zone = ", of a zone that the logs do not name" if found.is_local else ""
    if found.wall_ns:
        begin, end = (
            write_moment(at, is_local=found.is_local) for at in (found.first_at, found.first_at + found.wall_ns)
        )
        yield "time", (f"{begin} to {end}{zone}",)


def _list_logs(found: Goodput) -> Iterator[str]:
    """Yield spans with the name, format and lines of each log."""
    for place, log in enumerate(found.logs[:_MOST_LOGS]):
        yield "; " if place else ""
        yield Name(log.file)
        yield f" ({log.format}, {some(log.lines, 'line')})"
    if len(found.logs) > _MOST_LOGS:
        yield f" and {len(found.logs) - _MOST_LOGS} more"
