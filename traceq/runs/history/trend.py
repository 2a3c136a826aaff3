"""Trends of the quantities of a series: steady, at other levels since certain reports, or creeping."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Literal

import msgspec
import numpy as np

from traceq.common.change_points import FLOOR, LevelChange, Slope, describe_series
from traceq.diagnosis.subject import WORTH_LISTING
from traceq.runs.history.entry import sign_of_worse
from traceq.runs.history.series import HistorySeries

FEWEST = 8
"""Reports below which nothing is said of a trend."""

STEP = ("step.typical", "step.p50", "step.mean")
"""The quantities that stand for the step, the first that a series has."""

TrendKind = Literal["level", "creep", "steady", "too few"]

_WEEK = 7.0
# Quantities in ns that are parts of a step.
_OF_STEP = ("ledger.", "findings.", "data.")


class TrendChange(msgspec.Struct, frozen=True):
    """A lasting change: between the report `last_before` and `first_after` (numbers in the series) with 95 % confidence.

    `number` is the first report at the new level by the best estimate. `begin` and `end` bound the reports whose levels
    are compared (`end` is the first that is not). `before` and `after` are medians.
    """

    number: int
    last_before: int
    first_after: int
    begin: int
    end: int
    before: float
    after: float
    ratio: float
    ratio_low: float
    ratio_high: float


class QuantityTrend(msgspec.Struct, frozen=True):
    """The trend of a quantity from the report number `start` on.

    `reports` have it, `latest` is the last of them, `now` the level at the end (of a creep, the end of the line).
    `ratio` is `now` by the level at the beginning, with its interval of 95 %; 1 for what is steady, None with too few
    reports. `per_week` is the slope as a share of the level per week, or per report where `is_per_report`.
    `worse` says whether the change as a whole is for the worse, None without a change or a direction. `impact` is the
    change as a share of the step for parts of a step, of its own level for others; above 0 is worse.
    """

    name: str
    unit: str
    kind: TrendKind
    start: int
    reports: int
    latest: float
    now: float
    changes: tuple[TrendChange, ...] = ()
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    slope: float | None = None
    slope_low: float | None = None
    slope_high: float | None = None
    is_per_report: bool = False
    worse: bool | None = None
    impact: float = 0.0

    @property
    def level_medians(self) -> tuple[float, ...]:
        """The levels in their order; empty unless the level changed."""
        return (self.changes[0].before, *(change.after for change in self.changes)) if self.changes else ()


def name_step(series: HistorySeries) -> str | None:
    """Return the quantity that stands for the step; None if the series has none."""
    return next((name for name in STEP if name in series.values), None)


def list_worth(series: HistorySeries) -> list[str]:
    """Return the quantities that are worth a look: parts of a step that never made 1 % of it are left out."""
    step = name_step(series)
    if step is None:
        return list(series.values)
    least = WORTH_LISTING * float(np.nanmedian(series.values[step]))
    return [
        name
        for name, values in series.values.items()
        if not name.startswith(_OF_STEP) or float(np.nanmax(values)) >= least
    ]


def describe_quantities(
    series: HistorySeries,
    names: Collection[str] | None = None,
    *,
    floor: float = FLOOR,
    starts: Mapping[str, int] | None = None,
) -> list[QuantityTrend]:
    """Return the trends of the quantities `names` (those worth a look if None), what got worse most first, then the rest.

    `floor` is the least change worth telling, as a share. `starts` are the numbers of the first reports that count.
    """
    step = name_step(series)
    level = float(np.nanmedian(series.values[step])) if step is not None else math.nan
    trends = [
        _with_impact(describe_quantity(series, name, (starts or {}).get(name, 0), floor), level)
        for name in (list_worth(series) if names is None else names)
    ]

    order = {name: place for place, name in enumerate(STEP)}

    def rank_trend(trend: QuantityTrend) -> tuple[bool, float, int, bool, float, str]:
        # Among equals what stands for the step comes first, then the largest part of it.
        is_part = trend.name.startswith(_OF_STEP)
        is_still = trend.kind not in ("level", "creep")
        return (
            is_still,
            -round(trend.impact, 3),
            order.get(trend.name, len(order)),
            not is_part,
            -trend.now if is_part else 0.0,
            trend.name,
        )

    return sorted(trends, key=rank_trend)


def describe_quantity(series: HistorySeries, name: str, start: int = 0, floor: float = FLOOR) -> QuantityTrend:
    """Return what became of a quantity from the report number `start` on; `floor` is the least change worth telling."""
    values, x = series.values[name][start:], series.report_places[start:]
    known = values[np.isfinite(values)]
    if not len(known):
        return QuantityTrend(name, series.units[name], "too few", start, 0, math.nan, math.nan)
    latest = float(known[-1])
    few = QuantityTrend(name, series.units[name], "too few", start, len(known), latest, float(np.median(known)))
    if len(known) < FEWEST:
        return few
    described = describe_series(x, values, floor=floor)
    if described.changes:
        return _with_levels(few, described.changes, start, len(series.report_ids))
    if described.slope is not None:
        return _with_slope(few, described.slope, series, start)
    return msgspec.structs.replace(few, kind="steady", ratio=1.0)


def _with_levels(trend: QuantityTrend, found: list[LevelChange], start: int, end: int) -> QuantityTrend:
    """Return the trend with the changes of its level; `end` is the number of reports of the series."""
    edges = [start, *(start + change.index for change in found), end]
    changes = tuple(_make_changes(found, start, edges))
    first, last = changes[0], changes[-1]
    ratio = last.after / first.before if first.before > 0 else None
    low, high = _join_intervals(changes)
    is_known = ratio is not None and math.isfinite(low)
    return msgspec.structs.replace(
        trend,
        kind="level",
        now=last.after,
        changes=changes,
        ratio=ratio,
        ratio_low=ratio * low if is_known and ratio is not None else None,
        ratio_high=ratio * high if is_known and ratio is not None else None,
        worse=_is_worse(trend.name, last.after - first.before),
    )


def _make_changes(found: list[LevelChange], start: int, edges: list[int]) -> Iterator[TrendChange]:
    """Yield the changes with numbers in the whole series; `edges` are where levels begin and the last one ends."""
    for place, change in enumerate(found):
        yield TrendChange(
            number=start + change.index,
            last_before=max(start + change.low - 1, edges[place]),
            first_after=start + change.high,
            begin=edges[place],
            end=edges[place + 2],
            before=change.before,
            after=change.after,
            ratio=change.ratio,
            ratio_low=change.ratio_low,
            ratio_high=change.ratio_high,
        )


def _join_intervals(changes: tuple[TrendChange, ...]) -> tuple[float, float]:
    """Return the factors from the ratio of all changes together to its bounds: the first and the last level are uncertain."""
    errors = [math.log(change.ratio_high / change.ratio) for change in changes if change.ratio > 0]
    if len(errors) < len(changes) or not all(map(math.isfinite, errors)):
        return math.nan, math.nan
    error = errors[0] if len(errors) == 1 else math.hypot(errors[0], errors[-1])
    return math.exp(-error), math.exp(error)


def _with_slope(trend: QuantityTrend, slope: Slope, series: HistorySeries, start: int) -> QuantityTrend:
    """Return the trend with a creep: what it makes from the first report that counts to the last."""
    x = series.report_places[start:]
    middle = float(x.mean())

    def ratio_of(per_unit: float) -> float:
        return max(1 + per_unit * (float(x[-1]) - middle), 0.0) / max(1 + per_unit * (float(x[0]) - middle), 1e-9)

    known = series.values[trend.name][start:]
    level = float(np.nanmedian(known))
    size = _WEEK if series.is_timed else 1.0
    return msgspec.structs.replace(
        trend,
        kind="creep",
        now=level * max(1 + slope.per_unit * (float(x[-1]) - middle), 0.0),
        ratio=ratio_of(slope.per_unit),
        ratio_low=ratio_of(slope.low),
        ratio_high=ratio_of(slope.high),
        slope=slope.per_unit * size,
        slope_low=slope.low * size,
        slope_high=slope.high * size,
        is_per_report=not series.is_timed,
        worse=_is_worse(trend.name, slope.per_unit),
    )


def _is_worse(name: str, delta: float) -> bool | None:
    """Return whether a change of the quantity by `delta` is for the worse; None where neither direction is."""
    sign = sign_of_worse(name)
    return None if not sign or not delta else sign * delta > 0


def _with_impact(trend: QuantityTrend, step: float) -> QuantityTrend:
    """Return the trend with its impact; `step` is the median step, ns."""
    if trend.ratio is None or trend.ratio <= 0 or trend.kind not in ("level", "creep"):
        return trend
    before = trend.now / trend.ratio
    change = (trend.now - before) / (step if trend.name.startswith(_OF_STEP) and step > 0 else before)
    return msgspec.structs.replace(trend, impact=sign_of_worse(trend.name) * change)
