"""Advice on a run: the changes that would save most of its time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from traceq.common.units import share, time_span
from traceq.reports.document import Literal, Spans
from traceq.reports.run_words import write_cost
from traceq.runs.goodput.goodput import Goodput

# Less than this share of the wall time is worth no advice.
_LEAST = 0.01


class RunAdvice(NamedTuple):
    """Advice on a loss: the time of it (ns), its cost, and the sentences."""

    dur: int
    cost: float | None
    spans: Spans


def list_advice(found: Goodput) -> list[RunAdvice]:
    """Return the advice on the largest losses, the costliest first; none for what takes less than 1 % of the wall time."""
    every = [*_on_checkpoints(found), *_on_slow_starts(found), *_on_changes(found), *_on_categories(found)]
    useful = [advice for advice in every if advice.dur >= _LEAST * found.wall_ns]
    return sorted(useful, key=lambda advice: (-(advice.cost or 0), -advice.dur))


def _cost_of(found: Goodput, dur: int) -> float | None:
    """Return what so much time costs, at the mean price of the time that is paid for; None: cannot tell."""
    if found.total_cost is None:
        return None
    paid = sum(row.dur for row in found.ledger if row.category not in ("queue", "not_submitted"))
    return found.total_cost * dur / paid if paid else None


def _on_checkpoints(found: Goodput) -> Iterator[RunAdvice]:
    """Yield the advice on how often to write checkpoints, where they and failures are known."""
    known = found.checkpoints
    lost = next((row for row in found.ledger if row.category == "lost"), None)
    if known is None:
        if lost is not None:
            text = (
                f"{_say_what_went(lost.dur, lost.cost)} into steps that were lost. How often to write checkpoints, traceq"
                " cannot tell: no log says how long one takes."
            )
            yield RunAdvice(lost.dur, lost.cost, (text,))
        return
    if known.saves_ns < _LEAST * found.wall_ns:
        return
    more = "more" if known.best_interval_ns < known.interval_ns else "less"
    text = (
        f"Write checkpoints {more} often: every {time_span(known.best_interval_ns)} of steps instead of every"
        f" {time_span(known.interval_ns)} would save about {_say_amount(known.saves_ns, _cost_of(found, known.saves_ns))}, if"
        f" one takes {time_span(known.dur)} and the run ends early every {time_span(known.between_failures_ns)} (the formula"
        " of Young and Daly)."
    )
    if sum(end.ended_by != "restart" for end in found.early_ends) < 3:  # noqa: PLR2004 - what a mean needs
        text += " Few failures: how often they come is a guess."
    yield RunAdvice(known.saves_ns, _cost_of(found, known.saves_ns), (text,))


def _on_slow_starts(found: Goodput) -> Iterator[RunAdvice]:
    """Yield the advice on starts that took much longer than the others."""
    for start in found.slow_starts:
        text = (
            f"Attempt {start.attempt} took {time_span(start.dur)} to start and compile, the others {time_span(start.usual_dur)}:"
            f" {_say_amount(start.excess_ns, start.cost)} more. Look for a slow node or a cold file system then."
        )
        yield RunAdvice(start.excess_ns, start.cost, (text,))


def _on_changes(found: Goodput) -> Iterator[RunAdvice]:
    """Yield the advice on steps that became longer; of a steady growth the mean is what it costs."""
    for change in found.changes:
        last = change.until_step if change.until_step is not None else found.pace.last_step
        if change.ratio <= 1 or last is None:
            continue
        part = 0.5 if change.kind == "slope" else 1.0
        dur = round((change.after - change.before) * max(last - change.step + 1, 0) * part)
        cost = _cost_of(found, dur)
        text = (
            f"Steps {change.step:,} to {last:,} take up to {share(change.ratio - 1)} longer than those before:"
            f" {_say_amount(dur, cost)} more. Record some before and some then, and compare: "
        )
        yield RunAdvice(dur, cost, (text, Literal("traceq compare"), "."))


def _on_categories(found: Goodput) -> Iterator[RunAdvice]:
    """Yield the advice on categories of the ledger that one change makes smaller."""
    rows = {row.category: row for row in found.ledger}
    for category, spans in _DEEDS.items():
        row = rows.get(category)
        if row is not None:
            yield RunAdvice(row.dur, row.cost, (f"{_say_what_went(row.dur, row.cost)} ", *spans))
    unclear = rows.get("unattributed")
    if unclear is not None and unclear.share > _LEAST:
        words = f"{share(unclear.share)} of the time lies between lines that do not say what it was. Let the program say it: "
        yield RunAdvice(
            unclear.dur, unclear.cost, (words, Literal("with annotate.run_phase('evaluation'):"), " (docs/goodput.md).")
        )


def _say_what_went(dur: int, cost: float | None) -> str:
    return f"{_say_amount(dur, cost)} went"


def _say_amount(dur: int, cost: float | None) -> str:
    """Return a time with its cost, where that is known."""
    return time_span(dur) if not cost else f"{time_span(dur)} ({write_cost(cost)})"


_DEEDS: dict[str, Spans] = {
    "hang": (
        "into hangs before failures: a shorter timeout of collectives ends them sooner (",
        Literal("init_process_group(timeout=...)"),
        ").",
    ),
    "start_up": (
        "into start-up: restart the processes within the job, keep nodes and containers, and read data sets lazily.",
    ),
    "compile": (
        "into compilation and first steps: keep the caches of compilers between starts (",
        Literal("TORCHINDUCTOR_CACHE_DIR"),
        ").",
    ),
    "checkpoint": (
        "into checkpoints: write them while steps go on (",
        Literal("torch.distributed.checkpoint.async_save"),
        ").",
    ),
    "evaluation": ("into evaluation: evaluate less often, on fewer batches, or on other GPUs.",),
    "data": ("into waiting for data: ", Literal("traceq record"), " shows what the loader waits for."),
    "restart": ("from failures to the next start: let the launcher restart at once, with spare nodes.",),
    "idle": ("by with GPUs that were held and did nothing: end the job with the program.",),
    "queue": ("by in the queue, which costs no GPUs: spare nodes, or a higher priority for restarts.",),
}
