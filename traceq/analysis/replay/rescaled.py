"""Replays the counted steps of a trace with other times for the work of its GPU and of its host."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from traceq.analysis.categories import CATEGORIES
from traceq.analysis.replay.counterfactual import ReplayChange, Scenario, apply_change
from traceq.analysis.replay.critical_path import find_critical_path
from traceq.analysis.replay.savings import ReplayAccuracy, marks_of, measure_accuracy, sum_unexplained
from traceq.analysis.replay.whatif import A_LITTLE, NO_TIME, ReplayLimit, order_limits, read_one_world

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from traceq.analysis.replay.counterfactual import ReplayWorld


class RescaledTimes(NamedTuple):
    """Factors of the durations of GPU slices by slice_id (1 where not named), and the factor of the host's time."""

    factors: Mapping[int, float]
    host: float = 1.0


class RescaledSteps(NamedTuple):
    """The steps as replayed with other times: ns per step, means over `steps`.

    `recorded_ns` is the step as recorded, `before_ns` as replayed; `after_ns` has the step with each of the times.
    `limits_before` and `limits` are the parts of the critical path before, and with the second of the times.
    """

    steps: int
    recorded_ns: float
    before_ns: float
    after_ns: tuple[float, ...]
    told: ReplayAccuracy
    limits_before: tuple[ReplayLimit, ...]
    limits: tuple[ReplayLimit, ...]
    slice_ids: frozenset[int]
    """GPU slices of the steps."""


def replay_rescaled(
    connection: duckdb.DuckDBPyConnection, trace_id: int, times: Sequence[RescaledTimes]
) -> RescaledSteps:
    """Replay the counted steps of a trace with each of `times` (at the least, likely, and at the most).

    Raises NothingToReplay without counted steps. The connection gets temp views that hide other traces: open it for this.
    """
    world = read_one_world(connection, trace_id)
    scenarios = [world.baseline, *(_rescale_weights(world, one) for one in times)]
    likely = scenarios[2]
    names = [name for name in CATEGORIES if name not in NO_TIME]
    shorter = [
        apply_change(world, scenario, ReplayChange("scale", name, 1 - A_LITTLE))
        for scenario in (world.baseline, likely)
        for name in names
    ]
    marks = marks_of([*scenarios, *shorter])
    spans = (marks[:, -1] - marks[:, 0]).tolist()
    told = measure_accuracy(world, marks[0], sum_unexplained(find_critical_path(world.recorded, world.graph)))
    count, first = len(world.recorded.steps), len(scenarios)
    before, after = (
        dict(zip(names, [max(whole - span, 0.0) / A_LITTLE for span in spans[start : start + len(names)]], strict=True))
        for whole, start in ((spans[0], first), (spans[2], first + len(names)))
    )
    return RescaledSteps(
        steps=count,
        recorded_ns=told.span / count,
        before_ns=spans[0] / count,
        after_ns=tuple(span / count for span in spans[1:first]),
        told=told,
        limits_before=order_limits(before, spans[0], count),
        limits=order_limits(after, spans[2], count),
        slice_ids=frozenset(world.recorded.work.slice_id.tolist()),
    )


def _rescale_weights(world: ReplayWorld, times: RescaledTimes) -> Scenario:
    """Return the baseline with other times of GPU slices, and of the host's work inside the window."""
    weights, events = world.baseline.weights, world.recorded.events
    factors = np.array([times.factors.get(one, 1.0) for one in world.recorded.work.slice_id.tolist()], dtype=np.float64)
    changed = replace(weights, dur=weights.dur * factors)
    if times.host != 1:
        # clocks of what was launched before the window hold when that was, and no work of this host
        gap = np.where(
            events.is_outside, weights.gap, np.maximum(weights.gap, 0.0) * times.host + np.minimum(weights.gap, 0.0)
        )
        changed = replace(changed, gap=gap, call=weights.call * times.host, lead=weights.lead * times.host)
    return replace(world.baseline, weights=changed)
