"""The shape of predictions for other limits of batched tokens. Times are ns; bounds are the least and the most expected."""

from __future__ import annotations

from typing import Literal

import msgspec

from traceq.runs.batching.step_cost import StepCost

LimitQuantity = Literal["ttft_p50", "ttft_p95", "gap_p50", "gap_p95", "gap_p99", "tokens_per_s"]
QUANTITIES: tuple[LimitQuantity, ...] = ("ttft_p50", "ttft_p95", "gap_p50", "gap_p95", "gap_p99", "tokens_per_s")
_WORDS = {"ttft": "time to first token", "gap": "time between tokens", "tokens": "throughput"}
Trust = Literal["within", "extrapolated", "refused"]


class Bounded(msgspec.Struct, frozen=True):
    """A predicted value with its bounds."""

    value: float
    low: float
    high: float


class LimitPrediction(msgspec.Struct, frozen=True):
    """The prediction for a limit of batched tokens; `values` are empty where it is refused, for the `reason`.

    `trust`: within the recorded steps, extrapolated beyond them, or refused. `largest_step` has the most tokens of all
    scheduled steps, by what the limit counts.
    """

    limit: int
    trust: Trust
    reason: str
    values: dict[LimitQuantity, Bounded]
    largest_step: int | None


class ReplayedQuantity(msgspec.Struct, frozen=True):
    """A quantity as recorded, and as the schedule at the recorded limit gives it: how far they are apart widens bounds."""

    quantity: LimitQuantity
    recorded: float
    scheduled: float

    @property
    def quantity_words(self) -> str:
        """The quantity in words, without its percentile."""
        return _WORDS[self.quantity.partition("_")[0]]

    @property
    def replay_factor(self) -> float:
        """Recorded over scheduled, or its inverse: at least 1."""
        low, high = sorted((max(self.recorded, 1e-9), max(self.scheduled, 1e-9)))
        return high / low


class LimitTerms(msgspec.Struct, frozen=True):
    """The question: the limits, the most requests at a time (None: as recorded), and a budget for the time between tokens."""

    limits: tuple[int, ...]
    slots: int | None = None
    budget_ns: int | None = None
    percentile: Literal["p50", "p95", "p99"] = "p95"


class LimitStudy(msgspec.Struct, frozen=True):
    """Predictions for other limits of batched tokens, or the `reason` why there are none, with a `way_out`: what to record.

    `recorded_limit` is the largest step; `is_filled` says whether several steps are as large, which makes it the limit.
    `requests` were scheduled: of a log (`log_file`), or inferred from the steps. `slots` is the most requests at a time
    that was assumed, None for any number. `residual_error` is the mean relative error on steps left out of the fit.
    """

    asked: LimitTerms
    reason: str | None
    way_out: str
    dialect: str | None = None
    mixes: bool = False
    steps: int = 0
    fitted_steps: int = 0
    recorded_limit: int | None = None
    is_filled: bool = False
    most_decoding: int | None = None
    slots: int | None = None
    requests: int = 0
    other_requests: int = 0
    log_file: str | None = None
    cost: StepCost | None = None
    residual_error: float | None = None
    replay: tuple[ReplayedQuantity, ...] = ()
    predictions: tuple[LimitPrediction, ...] = ()
