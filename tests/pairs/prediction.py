"""What a fix would win by a recorded trace: what the report's finding of the pair's rule says."""

from __future__ import annotations

from dataclasses import dataclass

from pairs.catalogue import Pair
from traceq.app.open import Traces


@dataclass(frozen=True)
class Prediction:
    """Shares of a step that the fix wins."""

    low: float
    likely: float
    high: float


def predicted(pair: Pair, traces: Traces) -> Prediction | None:
    """What the finding on the flaw says in the report; None where there is no such finding."""
    found = traces.report().findings
    for _, row in found[found["rule"] == pair.rule].iterrows():
        step = row["saving_ns"] / row["saving_share"]
        return Prediction(row["saving_low_ns"] / step, row["saving_share"], row["saving_high_ns"] / step)
    return None
