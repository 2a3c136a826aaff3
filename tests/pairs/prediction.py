"""What a fix would win by a recorded trace: the change that a pair names, applied to each counted step."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pairs.catalogue import Change, Pair
from traceq.app.open import Traces

MOST_OF_AN_EVENT = (
    2_000  # ns: recording an event takes 600 to 1,600 here; where it seems to be more, other programs disturbed
)
RESAMPLED, OUTSIDE = 1_000, 1  # the bounds hold the saving in all but so many percent of resampled steps, at each end

STEPS = "select step, ts, ts_end from step where excluded is null order by step"
SLICES = """
select s.step, greatest(c.ts, s.ts) as ts, least(c.ts_end, s.ts_end) as ts_end
from cpu_slice as c
inner join step as s on s.trace_id = c.trace_id and c.ts < s.ts_end and c.ts_end > s.ts
where s.excluded is null and c.name glob $slices
order by ts
"""
EVENTS = """
select s.step, c.ts
from cpu_slice as c
inner join step as s on s.trace_id = c.trace_id and c.ts >= s.ts and c.ts < s.ts_end
where s.excluded is null
order by c.ts
"""
INSIDE = """
select s.step, greatest(o.ts, s.ts) as ts, least(o.ts_end, s.ts_end) as ts_end
from cpu_slice as c
inner join cpu_slice as o
    on o.trace_id = c.trace_id and o.thread_id = c.thread_id and o.ts >= c.ts and o.ts_end <= c.ts_end and o.kind = 'op'
inner join step as s on s.trace_id = o.trace_id and o.ts < s.ts_end and o.ts_end > s.ts
where s.excluded is null and c.name glob $slices
order by o.ts
"""
OPERATORS = """
select count(*) / count(distinct c.slice_id)
from cpu_slice as c
inner join cpu_slice as o
    on o.trace_id = c.trace_id and o.thread_id = c.thread_id and o.parent_id = c.slice_id and o.kind = 'op'
where c.name glob $slices
"""

Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """Shares of a step that the fix wins; `recorded` is the likely one of the steps as they were recorded.

    Recording makes steps longer where there are many events. Which of them, the trace does not show: `likely` lies in the
    middle between all events alike and all time alike.
    """

    low: float
    likely: float
    high: float
    recorded: float


@dataclass(frozen=True)
class Recorded:
    """A trace with one list of counted steps: their times, and what an event of it cost."""

    traces: Traces
    cores: int
    numbers: npt.NDArray[np.int64]
    steps: Times
    events: npt.NDArray[np.int64]  # when each began
    event_steps: npt.NDArray[np.int64]
    event_ns: float


def of_rule(rule: str, traces: Traces) -> float | None:
    """The share of a step that the report says a rule's finding likely wins; None where it is no finding."""
    found = traces.report().findings
    shares = found.loc[found["rule"] == rule, "saving_share"]
    return None if shares.empty else float(shares.iloc[0])


def recorded(traces: Traces, cores: int) -> Recorded:
    """The counted steps of a database of one trace."""
    numbers, begins, ends = _columns(traces, STEPS)
    event_steps, events = _columns(traces, EVENTS)
    per_step = len(events) / len(numbers)
    steps = (ends - begins).astype(float)
    return Recorded(traces, cores, numbers, steps, events, event_steps, _event_ns(traces, per_step))


def _columns(traces: Traces, query: str, **values: Any) -> list[npt.NDArray[np.int64]]:
    return list(traces.sql(query, values or None).fetchnumpy().values())


def _event_ns(traces: Traces, per_step: float) -> float:
    """What recording an event takes: the steps that were recorded against those before, as the trace itself tells."""
    ((text,),) = traces.sql("select json_extract(args, '$.traceq') from trace").fetchall()
    if text is None:
        return 0
    capture = json.loads(text)
    longer = capture["profiled_step_ns"] - capture["unprofiled_step_ns"]
    return float(min(max(longer / per_step, 0), MOST_OF_AN_EVENT))


def predicted(pair: Pair, traces: Traces, cores: int) -> Prediction | None:
    """What the pair's fix wins of a step by the trace of the slow program; None where the trace does not show.

    `cores` is how many the program could use, which the trace does not say.
    """
    if not pair.changes:
        return None
    run = recorded(traces, cores)
    statistic = np.mean if pair.mean else np.median
    plain = _shares(pair, run, 0, statistic)
    less = _shares(pair, run, run.event_ns, statistic)
    return Prediction(min(plain[0], less[0]), (plain[1] + less[1]) / 2, max(plain[2], less[2]), plain[1])


def _shares(pair: Pair, run: Recorded, event_ns: float, statistic: Callable[..., Any]) -> tuple[float, float, float]:
    """What goes at least, likely, at most, if recording an event takes `event_ns`; the bounds are those of resampled steps."""
    steps = run.steps - event_ns * _count(run, run.event_steps)
    parts = [_removed(change, run, steps, event_ns) for change in pair.changes]
    low, likely, high = (np.sum(each, axis=0) for each in zip(*parts, strict=True))
    drawn = np.random.default_rng(0).integers(0, len(steps), (RESAMPLED, len(steps)))

    def won(removed: Times) -> Any:
        before, after = statistic(steps[drawn], axis=1), statistic((steps - removed)[drawn], axis=1)
        return 1 - after / before

    share = float(1 - statistic(steps - likely) / statistic(steps))
    bounds = np.percentile(won(low), OUTSIDE), np.percentile(won(high), 100 - OUTSIDE)
    return max(0.0, min(float(bounds[0]), share)), share, max(float(bounds[1]), share)


def _removed(change: Change, run: Recorded, steps: Times, event_ns: float) -> tuple[Times, Times, Times]:
    """What the change takes out of each step: at least, likely, at most; ns without what recording took."""
    numbers, begins, ends = _columns(run.traces, SLICES, slices=change.slices)
    if not len(numbers):
        raise ValueError(f"no slice of the counted steps is called {change.slices}")
    time = _time_in(run, numbers, begins, ends, event_ns)
    none = np.zeros_like(time)
    match change.how:
        case "kept":
            return (time * (1 - change.amount),) * 3
        case "python":
            inside = _time_in(run, *_columns(run.traces, INSIDE, slices=change.slices), event_ns)
            return (np.maximum(time - inside, 0),) * 3
        case "usual":
            longer = np.maximum(ends - begins - np.median(ends - begins), 0)
            extra = np.bincount(np.searchsorted(run.numbers, numbers), longer, len(run.numbers))
            return (extra,) * 3
        case "beside":
            return none, *_beside(time, steps - time, int(change.amount), run.cores)
        case "one pass":
            ((operators,),) = run.traces.sql(OPERATORS, {"slices": change.slices}).fetchall()
            return none, time * (1 - 1 / operators), time
        case "one":
            many = _count(run, numbers)
            return (many - 1) * (ends - begins).min(), time * (1 - 1 / np.maximum(many, 1)), time


def _beside(fetch: Times, rest: Times, workers: int, cores: int) -> tuple[Times, Times]:
    """What goes where the fetch runs in workers beside the rest: with the cores there are, and with as many as it likes."""
    free = np.maximum(rest, fetch / workers)
    shared = np.maximum(free, (fetch + rest) / cores)
    return fetch + rest - shared, fetch + rest - free


def _time_in(run: Recorded, numbers: Any, begins: Any, ends: Any, event_ns: float) -> Times:
    """How much of each step lies in at least one of the intervals, less what recording the events in it took."""
    covered = np.maximum.accumulate(ends)
    start = np.concatenate(([True], begins[1:] > covered[:-1]))
    first = np.flatnonzero(start)
    union_begin, union_end = begins[first], np.maximum.reduceat(ends, first)
    place = np.searchsorted(run.numbers, numbers[first])
    time = np.bincount(place, union_end - union_begin, len(run.numbers))
    inside = np.searchsorted(run.events, union_end) - np.searchsorted(run.events, union_begin)
    return np.maximum(time - event_ns * np.bincount(place, inside, len(run.numbers)), 0)


def _count(run: Recorded, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many of these there are in each step."""
    return np.bincount(np.searchsorted(run.numbers, numbers), minlength=len(run.numbers))
