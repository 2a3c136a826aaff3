"""Durations in one scenario: the lags and lengths of a dependency graph, as predicted or as changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traceq.analysis.replay.graph import Graph
    from traceq.analysis.replay.recorded import Floats


@dataclass(frozen=True)
class Weights:
    """Lengths of host events (gap, call, lead), GPU slices (dur) and edges (the others), ns; -inf drops an edge."""

    gap: Floats
    call: Floats
    lead: Floats
    dur: Floats
    launch: Floats
    stream: Floats
    awaiting: Floats
    engine: Floats
    tail: Floats
    pace: Floats


def as_predicted(graph: Graph) -> Weights:
    """Return the baseline: lengths as recorded, lags as predicted or as changed. from the other half of the steps."""
    return Weights(
        gap=graph.gap,
        call=graph.call,
        lead=graph.lead,
        dur=graph.dur,
        launch=graph.launch.whole,
        stream=graph.stream.whole,
        awaiting=graph.awaiting.whole,
        engine=graph.dur * 0.0,
        tail=graph.tail.whole,
        pace=graph.paces.lag,
    )
