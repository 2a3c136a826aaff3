"""The words on where the steps of a run changed: since when, until when, how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from traceq.common.units import change_share, duration, rate, share, size, time_span
from traceq.reports.document import Block, Items, Paragraph
from traceq.runs.run_change import RunChange

_MOST = 8
# The product of a change of time and one of throughput that are one and the same is as close to 1.
_ALIKE = 0.02


def describe_changes(changes: Sequence[RunChange], *, most: int = _MOST) -> Iterator[Block]:
    """Yield a list of the changes of a run, and how many more there are; nothing without one.

    Throughput that changes because the step does is left out.
    """
    own = [change for change in changes if not _is_mirrored(change, changes)]
    if own:
        yield Items(tuple((say_change(change, has_attempts=spans_attempts(changes)),) for change in own[:most]))
    if len(own) > most:
        yield Paragraph((f"{len(own) - most:,} more changes: table run_change.",))


def say_change(change: RunChange, *, has_attempts: bool = False) -> str:
    """Return a sentence on a change: where it begins and ends with the bounds, how much it is, and what a slow window cost.

    With `has_attempts` steps are named with their attempt, as numbers fall back at restarts.
    """
    begin = _say_place(change.step, change.step_low, change.step_high, change.attempt if has_attempts else None)
    begin += _say_moment(change.at_ns, change.is_local)
    amount, values = (
        _say_amount(change),
        f"{_write_value(change, change.before)} to {_write_value(change, change.after)}",
    )
    if change.kind == "level" or change.until_step is None:
        return f"Since {begin}: {amount}, {values}."
    end = _say_place(
        change.until_step, change.until_low, change.until_high, change.until_attempt if has_attempts else None
    )
    end += _say_moment(change.until_at_ns, change.is_local)
    if change.kind == "slope":
        return f"From {begin} to {end}: steadily {amount} in all, {values}."
    return f"From {begin} until {end}: {amount}, {values}{_say_cost(change)}."


def spans_attempts(changes: Sequence[RunChange]) -> bool:
    """Return whether any change is in another attempt than the first."""
    return any((change.until_attempt or change.attempt) > 1 for change in changes)


def _is_mirrored(change: RunChange, changes: Sequence[RunChange]) -> bool:
    """Return whether a change of throughput is the other side of one of the time a step, at the same place."""
    return change.quantity == "throughput" and any(
        other.quantity == "step_time"
        and (other.kind, other.log_id, other.attempt) == (change.kind, change.log_id, change.attempt)
        and abs(change.ratio * other.ratio - 1) < _ALIKE
        and (change.kind == "slope" or _begin_together(change, other))
        for other in changes
    )


def _begin_together(one: RunChange, other: RunChange) -> bool:
    """Return whether the bounds of where both begin have a step in common."""
    bounds = (one.step_low, one.step_high, other.step_low, other.step_high)
    low, high, other_low, other_high = (step if step is not None else one.step for step in bounds)
    return low <= other_high and other_low <= high


def _say_place(step: int, low: int | None, high: int | None, attempt: int | None) -> str:
    """Return a step with its bounds: step 4,310 (4,290 to 4,330)."""
    of_attempt = f" of attempt {attempt}" if attempt is not None else ""
    bounds = f" ({low:,} to {high:,})" if low is not None and high is not None and low < high else ""
    return f"step {step:,}{of_attempt}{bounds}"


def _say_moment(at_ns: int | None, is_local: bool) -> str:
    """Return a comma and a moment with its day of the week, and its zone if known: , Mon 2026-01-05 14:05 UTC."""
    if at_ns is None:
        return ""
    text = datetime.fromtimestamp(at_ns / 1e9, tz=UTC).strftime("%a %Y-%m-%d %H:%M")
    return f", {text}" if is_local else f", {text} UTC"


def _say_amount(change: RunChange) -> str:
    """Return how much a quantity changed, with its bounds: 8.1 % slower (7.4 to 8.9 %)."""
    is_more = change.ratio > 1
    words = {
        "step_time": "slower" if is_more else "faster",
        "throughput": "more throughput" if is_more else "less throughput",
        "memory": "more memory" if is_more else "less memory",
    }
    low, high = sorted((change.ratio_low - 1, change.ratio_high - 1), key=abs)
    if low * high < 0:  # the interval has both signs
        bounds = f"{change_share(min(low, high))} to {change_share(max(low, high))}"
    else:
        bounds = f"{share(abs(low)).removesuffix(' %')} to {share(abs(high))}"
    return f"{share(abs(change.ratio - 1))} {words[change.quantity]} ({bounds})"


def _say_cost(change: RunChange) -> str:
    """Return what a window of slower steps cost, where its number of steps is known: within one attempt."""
    if change.quantity != "step_time" or change.after <= change.before or change.until_attempt != change.attempt:
        return ""
    steps = (change.until_step or change.step) - change.step + 1
    return f"; that cost {time_span((change.after - change.before) * steps)}"


def _write_value(change: RunChange, value: float) -> str:
    """Return a value of the quantity with its unit."""
    if change.quantity == "step_time":
        return duration(value)
    return size(round(value)) if change.quantity == "memory" else f"{rate(value)} {change.unit or ''}".rstrip()
