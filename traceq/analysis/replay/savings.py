"""Savings of a scenario: likely, at least and at most, with the replay's own error."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.replay.scan import Replay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from traceq.analysis.replay.counterfactual import ReplayWorld, Scenario
    from traceq.analysis.replay.critical_path import CriticalPath
    from traceq.analysis.replay.graph import Graph
    from traceq.analysis.replay.recorded import Floats

# Beyond this a saving is a bound, never a likely value: published replays of real jobs are 0.5 to 3.3 % off.
MOST_ERROR = 0.03
MOST_UNEXPLAINED = 0.05
# What is known to a nanosecond in the model is not so in the world: medians stand for lags that vary.
_MARGIN = 0.02


class ReplayAccuracy(NamedTuple):
    """Accuracy of the replay of the counted steps.

    `span` is the length of the steps as recorded, `baseline` as replayed, ns. `error` is how far the replay is off,
    `unexplained` the critical path without a reason; both are shares of the steps. `is_tied` tells whether launches tie the
    GPU's work to the host that marks the steps.
    """

    span: float
    baseline: float
    error: float
    unexplained: float
    is_tied: bool

    @property
    def is_likely(self) -> bool:
        """Whether the replay is accurate enough to give a likely saving besides the bounds."""
        return self.is_tied and self.error <= MOST_ERROR and self.unexplained <= MOST_UNEXPLAINED


class ReplaySaving(NamedTuple):
    """The saving of a scenario over all replayed steps, ns, with its bounds; `likely` is None where only bounds can be given."""

    likely: float | None
    low: float
    high: float


def marks_of(scenarios: Iterable[Scenario]) -> Floats:
    """Return the start of each step and the end of the last, ns from the first recorded start (a row per scenario).

    Scenarios of the same graph are replayed together. Steps shorter than the scenario's least time are stretched to it.
    """
    replays: dict[int, tuple[Graph, Replay]] = {}
    places: list[tuple[int, int, float]] = []
    counts: dict[int, int] = {}
    for scenario in scenarios:
        key = id(scenario.graph)
        # A graph is kept with its replay, so that no other gets its id.
        _, one = (
            replays.setdefault(key, (scenario.graph, Replay(scenario.graph))) if key not in replays else replays[key]
        )
        one.add(scenario.weights)
        places.append((key, counts.get(key, 0), scenario.least))
        counts[key] = counts.get(key, 0) + 1
    found = {key: one.take_marks() for key, (_, one) in replays.items()}
    rows = []
    for key, place, least in places:
        marks = found[key][place]
        missing = least - (marks[-1] - marks[0])
        rows.append(marks + np.linspace(0.0, max(missing, 0.0), len(marks)))
    return np.stack(rows)


def sum_unexplained(path: CriticalPath) -> float:
    """Return the time on the critical path for which the trace has no reason, ns."""
    # One after the other, as the sum of a list is.
    return float(np.cumsum(path.unexplained)[-1]) if len(path.ts) else 0.0


def measure_accuracy(world: ReplayWorld, marks: Floats, unexplained: float) -> ReplayAccuracy:
    """Return the accuracy of a replay of the baseline, with step marks `marks`; `unexplained` is its critical path's, ns."""
    span, baseline = world.graph.span, float(marks[-1] - marks[0])
    recorded = marks_as_recorded(world)
    errors = np.abs(np.diff(marks) - np.diff(recorded)) / np.maximum(np.diff(recorded), 1.0)
    whole = abs(baseline - span) / max(span, 1.0)
    error = max(float(np.median(errors)), whole)
    return ReplayAccuracy(span, baseline, error, unexplained / max(span, 1.0), _is_tied(world))


def _is_tied(world: ReplayWorld) -> bool:
    """Return whether the calls that launched at least half of the GPU time are known, or the steps begin and end on the GPU."""
    work = world.recorded.work
    on_gpu = (world.graph.marked_by_slice[1:] >= 0).all() and world.graph.ends_on_gpu
    dur = work.ts_end - work.ts
    known = dur[work.is_launched | work.is_migration].sum()
    return bool(on_gpu or 2 * known >= dur.sum())


def marks_as_recorded(world: ReplayWorld) -> Floats:
    """Return the start of each step and the end of the last as recorded, ns after the first start."""
    starts = [step.ts - world.recorded.ts for step in world.recorded.steps]
    return np.array([*starts, world.graph.span], dtype=np.float64)


def estimate_saving(saved: float, told: ReplayAccuracy, most: float | None = None) -> ReplaySaving:
    """Return the likely saving and its bounds for a replayed saving of `saved` ns.

    `most` is the time on the critical path that the scenario is about, ns; None for no such limit. Unexplained time widens
    the bounds, as it may replace the time taken away or go with it. The replay's error counts as a share of the saving, and
    of all steps too where the replay is not accurate enough for a likely saving.
    """
    unexplained = told.unexplained * told.span
    doubt = unexplained + (_MARGIN + told.error) * abs(saved)
    if not told.is_likely:
        doubt += told.error * told.span
    low, high = max(saved - doubt, 0.0), saved + doubt
    high = max(min(high, told.span if most is None else most), saved)
    return ReplaySaving(saved if told.is_likely else None, min(low, saved), max(high, 0.0))
