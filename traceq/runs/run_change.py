"""A change of a quantity of a run's steps, as plain data."""

from __future__ import annotations

from typing import Literal

import msgspec

Quantity = Literal["step_time", "throughput", "memory"]
Kind = Literal["level", "window", "slope"]


class RunChange(msgspec.Struct, frozen=True):
    """A row of run_change; times are ns since 1970, in UTC unless `is_local`: then of a zone that the log does not name.

    `before` and `after` are in `unit`. What begins with until_ is None for a level, and bounds are None for a slope.
    """

    log_id: int
    quantity: Quantity
    kind: Kind
    attempt: int
    step: int
    step_low: int | None
    step_high: int | None
    at_ns: int | None
    until_attempt: int | None
    until_step: int | None
    until_low: int | None
    until_high: int | None
    until_at_ns: int | None
    before: float
    after: float
    unit: str | None
    ratio: float
    ratio_low: float
    ratio_high: float
    is_local: bool
