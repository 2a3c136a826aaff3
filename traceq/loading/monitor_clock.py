"""When the samples of a monitor's log were taken, on the clock of a trace; and "cannot tell" where that cannot be told.

Of a log in UTC that is known, where the trace knows its own absolute time. Times of day without a zone are of that of the
trace, where it names one. Else they fit the trace in some zones: of a short log in which they do so in one, it is that one,
else the load decides: how busy the GPU was by the trace, against the utilization in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from traceq.common.text import shortened
from traceq.importers.monitors.reading import Log

Array = NDArray[Any]
# GPUs of the log and of the trace that may be the same.
Pairs = Sequence[tuple[int, int]]

SECOND = 1_000_000_000
_QUARTER = 900 * SECOND

# All offsets from UTC that are in use (IANA time zones), in quarters of an hour.
_ZONES = (
    *(4 * hour for hour in range(-12, 15)),
    *(-38, -14, -10, 14, 18, 22, 23, 26, 35, 38, 42, 51, 55),
)  # fmt: skip

_FURTHEST_ZONE = 14 * 3600 * SECOND

# A log of any other hour fits in some zone by chance more often the longer it is: one of this length in one of ten cases.
_SHORT = 300 * SECOND

# Fewer samples can look alike by chance however well they agree.
_FEWEST = 8
# Standard errors of Fisher's z: one in three million by chance, and most searches try some thousand places.
_CERTAIN = 5.0
# By so many the best place has to be better than the next.
_BETTER = 3.0
# Percentage points: a load that hardly changes has no place where it fits better than elsewhere.
_LEAST_CHANGE = 5.0
# nvidia-smi and DCGM look back a second at most (nvmlDeviceGetUtilizationRates: 1/6 s to 1 s).
_LOOK_BACK = SECOND
# More places are not tried: days at a beat of a second.
_MOST_PLACES = 100_000
# Intervals around the place that the clocks give in which the load is looked for.
_AROUND = 10


class GpuLoad(msgspec.Struct, frozen=True):
    """Busy times of a GPU: disjoint spans in order, ns on the trace's clock; the trace lasts from `since` to `until`."""

    starts: Array
    ends: Array
    since: int
    until: int

    def share_before(self, times: Array, width: int) -> Array:
        """Return for each time the percentage (0 to 100) of the `width` ns before it in which the GPU was busy."""
        before = np.concatenate([[0], np.cumsum(self.ends - self.starts)])
        edges = np.column_stack([self.starts, self.ends]).ravel().astype(float)
        busy = np.column_stack([before[:-1], before[1:]]).ravel().astype(float)
        total = np.interp(times, edges, busy) - np.interp(times - width, edges, busy)
        percent: Array = 100 * total / width
        return percent


class TraceClock(msgspec.Struct, frozen=True):
    """Clock of a trace: its extent (ns), UTC at 0 (ns, None: unknown), and the load of its GPUs by number.

    `zone` is how far local time is ahead of UTC (ns), None where the trace does not say.
    """

    since: int
    until: int
    utc_origin: int | None
    loads: dict[int, GpuLoad]
    zone: int | None = None


class LoadFit(msgspec.Struct, frozen=True):
    """A place where the log's GPU utilization matches the trace's GPU load: `add` ns to the log's times.

    `correlation` (-1 to 1) says how well they match, over this number of samples.
    """

    add: int
    correlation: float
    samples: int


class Placement(msgspec.Struct, frozen=True):
    """Offset to add (ns) to the log's times to have them on the trace's clock; None where that cannot be told.

    `words` explain it to the user. `by` is utc, zone, load or offset; `zone` is how far (ns) the log's local times are
    ahead of UTC. `residual` (ns) is how much later than this offset the load fits best; None where the load does not
    tell.
    """

    add: int | None
    words: str
    by: str | None = None
    zone: int | None = None
    residual: int | None = None
    correlation: float | None = None


def load_of(starts: Array, durations: Array, since: int, until: int) -> GpuLoad:
    """Return the load of one GPU in a trace that lasts from `since` to `until` (ns).

    `starts` and `durations` (ns) are its slices in the order of start; they may overlap.
    """
    ends = np.maximum.accumulate(starts + durations)
    first = np.concatenate([[True], starts[1:] > ends[:-1]])
    last = np.concatenate([first[1:], [True]])
    return GpuLoad(starts[first], ends[last], since, until)


def place_log(log: Log, trace: TraceClock, pairs: Pairs, offset: float | None, zones: set[int]) -> Placement:
    """Return how the log's times convert to the trace's clock, or why that cannot be told.

    `pairs` are (GPU of the log, GPU of the trace) that may be the same; `offset` is the user's --offset in seconds.
    `zones` are the time zones (ns ahead of UTC) found for other logs of the same machine.
    """
    first, _ = _extent_of(log)
    if log.clock == "none" and log.odd_time:
        odd = shortened(log.odd_time, 40)
        return Placement(
            None,
            f"its times cannot be read: {odd!r}; traceq reads 2026-11-26 14:05:09, 2026/11/26 and seconds since 1970",
        )
    if log.clock == "none":
        return Placement(None, "it has no times: record it with them (docs/monitors.md has the commands)")
    if offset is not None:
        start = trace.since - first if trace.utc_origin is None else -trace.utc_origin
        return _check_by_load(
            log, trace, pairs, Placement(start + round(offset * SECOND), "placed by --offset", "offset")
        )
    return _place_by_load(log, trace, pairs) if trace.utc_origin is None else _place_by_clock(log, trace, pairs, zones)


def _place_by_load(log: Log, trace: TraceClock, pairs: Pairs) -> Placement:
    """Place a log beside a trace without an absolute time: where the log's GPU utilization fits the trace's GPU load."""
    first, last = _extent_of(log)
    fit = _find_best_fit(log, trace, pairs, trace.since - last, trace.until - first)
    if fit is None:
        return Placement(
            None,
            "the trace has no absolute time, and its load fits the log nowhere, or in several places: give --offset,"
            " the seconds from the start of the trace to the first sample",
        )
    words = "the trace has no absolute time: placed where the load fits"
    return Placement(fit.add, words, "load", residual=0, correlation=fit.correlation)


def _place_by_clock(log: Log, trace: TraceClock, pairs: Pairs, zones: set[int]) -> Placement:
    """Place a log beside a trace whose absolute time is known: in a time zone in which the log and the trace overlap."""
    first, last = _extent_of(log)
    origin = trace.utc_origin or 0
    is_utc = log.clock == "utc"
    stated = 0 if is_utc else trace.zone
    offered = [zone * _QUARTER for zone in _ZONES] if stated is None else [stated]
    shifts = {0} if is_utc else {0, log.other_date}
    places = [(shift - zone - origin, zone) for shift in shifts for zone in offered]
    fitting = [place for place in places if first + place[0] <= trace.until and last + place[0] >= trace.since]
    if not fitting:
        return Placement(
            None, _explain_gap(first - origin, last - origin, trace, None if is_utc else trace.zone, is_utc=is_utc)
        )
    if len(fitting) > 1:
        fitting = [place for place in fitting if place[1] in zones] or fitting
    is_told = stated is not None or last - first < _SHORT or {zone for _, zone in fitting} <= zones
    if len(fitting) > 1 or not is_told:
        return _place_in_zone(log, trace, pairs, fitting)
    ((add, zone),) = fitting
    if is_utc:
        return _check_by_load(log, trace, pairs, Placement(add, "its times are UTC", "utc"))
    words = "its times fit in only one zone" if stated is None else "its times are in the trace's zone"
    return _check_by_load(log, trace, pairs, Placement(add, f"{words}, UTC{_zone_text(zone)}", "zone", zone))


def _place_in_zone(log: Log, trace: TraceClock, pairs: Pairs, places: list[tuple[int, int]]) -> Placement:
    """Return the placement in the time zone, of `places` (ns to add, zone in ns), in which the GPU load fits best.

    The offset of the placement is None where no zone fits, or several fit about as well.
    """
    step = 2 * beat_of(log)
    fits = [
        (fit, zone, add)
        for add, zone in places
        if (fit := _find_best_fit(log, trace, pairs, add - step, add + step)) is not None
    ]
    fits.sort(key=lambda found_fit: -_certainty_of(found_fit[0].correlation, found_fit[0].samples))
    if not fits or (len(fits) > 1 and _distance_between(fits[0][0], fits[1][0]) < _BETTER):
        told = ", ".join(f"UTC{_zone_text(zone)}" for _, zone in places[:6])
        fitting = (
            f"in several ({told})" if len(places) > 1 else f"in one ({told}), which can be chance for such a long log"
        )
        return Placement(
            None,
            f"neither its times nor the trace name a zone, it fits the trace {fitting}, and the load does not decide: give"
            f" --offset {-places[0][1] // SECOND} for UTC{_zone_text(places[0][1])}, or record times with their zone"
            " (S_TIME_FORMAT=ISO; TZ=UTC and --offset 0)",
        )
    fit, zone, add = fits[0]
    where = f"of {len(places)} zones that fit, the load matches" if len(places) > 1 else "its times and its load fit in"
    return Placement(add, f"{where} UTC{_zone_text(zone)}", "load", zone, fit.add - add, fit.correlation)


def _check_by_load(log: Log, trace: TraceClock, pairs: Pairs, placed: Placement) -> Placement:
    """Return the placement with the residual that the GPU load shows; unchanged where the load does not tell.

    Where the load fits only some seconds away, return the placement by load instead, unless --offset was given.
    """
    if placed.add is None:
        return placed
    beat = beat_of(log)
    fit = _find_best_fit(log, trace, pairs, placed.add - _AROUND * beat, placed.add + _AROUND * beat)
    if fit is None:
        return placed
    away = fit.add - placed.add
    if abs(away) > 2 * beat + _LOOK_BACK and placed.by != "offset":
        words = f"{placed.words}, but the load is {_seconds_text(away)} later: placed where the load fits"
        return Placement(fit.add, words, "load", placed.zone, 0, fit.correlation)
    return Placement(placed.add, placed.words, placed.by, placed.zone, away, fit.correlation)


def _find_best_fit(log: Log, trace: TraceClock, pairs: Pairs, low: int, high: int) -> LoadFit | None:
    """Return the best fit of a GPU's load between `low` and `high` (ns to add); None where no load fits one place only."""
    fits = [
        fit
        for of_log, of_trace in pairs
        if of_trace in trace.loads
        and (fit := _find_fit(*_utilization_of(log, of_log), trace.loads[of_trace], low, high))
    ]
    return max(fits, key=lambda one: _certainty_of(one.correlation, one.samples), default=None)


def fits_best(log: Log, load: GpuLoad, devices: Sequence[int], add: int) -> int | None:
    """Return the GPU of the log, placed by `add` ns, whose utilization matches the load; None unless one clearly does.

    `devices` are the GPUs of the log to try.
    """
    beat = beat_of(log)
    found = [
        (fit, device)
        for device in devices
        if (fit := _find_fit(*_utilization_of(log, device), load, add - 2 * beat, add + 2 * beat))
    ]
    found.sort(key=lambda found_fit: -_certainty_of(found_fit[0].correlation, found_fit[0].samples))
    if not found or (len(found) > 1 and _distance_between(found[0][0], found[1][0]) < _BETTER):
        return None
    return found[0][1]


def _utilization_of(log: Log, device: int) -> tuple[Array, Array]:
    """Return the times (ns, the log's clock) and values (per cent) of the utilization of a GPU in the log, by time."""
    rows = sorted(
        (sample.ts, sample.value)
        for sample in log.samples
        if sample.name == "gpu_utilization" and sample.device == device
    )
    return np.array([ts for ts, _ in rows], dtype=np.int64), np.array([value for _, value in rows], dtype=float)


def beat_of(log: Log) -> int:
    """Return the median time between samples of the log's first series, ns; 1 s for a single sample."""
    series = log.samples[0][1:4]
    gaps = np.diff([sample.ts for sample in log.samples if sample[1:4] == series])
    return int(np.median(gaps)) if gaps.size else SECOND


def _find_fit(times: Array, values: Array, load: GpuLoad, low: int, high: int) -> LoadFit | None:
    """Return where between `low` and `high` (ns to add) the utilization in a log correlates best with a GPU's load.

    `times` (ns) and `values` (per cent) are its samples. None for too few samples, or unless one place is clearly best.
    """
    if times.size < _FEWEST:
        return None
    beat = int(np.median(np.diff(times)))
    if beat <= 0:
        return None
    width = min(beat, _LOOK_BACK)
    step = max(beat // 8, (high - low) // _MOST_PLACES, 1)
    places = np.arange(low, high + 1, step)
    scores = np.full(places.size, -np.inf)
    correlations = np.zeros(places.size)
    counts = np.zeros(places.size, dtype=int)
    for number, add in enumerate(places):
        # Outside of the trace nothing is known of the load.
        begin, end = np.searchsorted(times, [load.since + width - add, load.until - add + 1])
        if end - begin < _FEWEST:
            continue
        told, seen = values[begin:end], load.share_before(times[begin:end] + add, width)
        if told.std() < _LEAST_CHANGE or seen.std() < _LEAST_CHANGE:
            continue
        correlations[number] = np.corrcoef(told, seen)[0, 1]
        counts[number] = end - begin
        scores[number] = _certainty_of(correlations[number], counts[number])
    best = int(np.argmax(scores))
    if scores[best] < _CERTAIN:
        return None
    fit = LoadFit(int(places[best]), float(correlations[best]), int(counts[best]))
    elsewhere = np.abs(places - places[best]) > 2 * beat
    others = [
        LoadFit(0, float(correlation), int(count))
        for correlation, count in zip(correlations[elsewhere], counts[elsewhere], strict=True)
        if count
    ]
    if others and min(_distance_between(fit, other) for other in others) < _BETTER:
        return None
    return fit


def _certainty_of(correlation: float, samples: int) -> float:
    """Return how many standard errors a correlation lies above zero (Fisher's z); `samples` is at least 4."""
    return float(np.arctanh(np.clip(correlation, -0.9999, 0.9999)) * np.sqrt(samples - 3))


def _distance_between(one: LoadFit, other: LoadFit) -> float:
    """Return by how many standard errors the first fit's correlation exceeds the second's."""
    spread = np.sqrt(1 / (one.samples - 3) + 1 / (other.samples - 3))
    ends = np.arctanh(np.clip([one.correlation, other.correlation], -0.9999, 0.9999))
    return float((ends[0] - ends[1]) / spread)


def _zone_text(zone: int) -> str:
    """Return a time zone (ns ahead of UTC) as text: +1, -3:30."""
    minutes = zone // (60 * SECOND)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60}" + (f":{abs(minutes) % 60:02}" if minutes % 60 else "")


def _seconds_text(ns: int) -> str:
    """Return a time in ns as text in seconds, with three digits."""
    return f"{ns / SECOND:.3g} s"


def _extent_of(log: Log) -> tuple[int, int]:
    """Return the times of the first and the last sample, on the log's own clock, ns."""
    times = [sample.ts for sample in log.samples]
    return min(times), max(times)


def _explain_gap(first: int, last: int, trace: TraceClock, zone: int | None, *, is_utc: bool) -> str:
    """Return words on why a log cannot be placed: its samples, from `first` to `last`, lie outside of the trace.

    Both are ns on the trace's clock if the log's times were UTC; `zone` is how far local times are ahead of UTC (ns).
    """
    first, last = first - (zone or 0), last - (zone or 0)
    away = first - trace.until if first > trace.until else trace.since - last
    side = "after the end" if first > trace.until else "before the start"
    if zone is not None:
        return (
            f"in the trace's zone, UTC{_zone_text(zone)}, it covers another time, {_span_text(away)} {side} of the trace;"
            " if it was written in another zone (a container), give --offset: 0 for times in UTC, -3600 for UTC+1"
        )
    if is_utc or away > _FURTHEST_ZONE:
        return f"it covers another time, {_span_text(away)} {side} of the trace; if a clock was wrong, give --offset"
    return "its times do not fit the trace in any time zone; if a clock was wrong, give --offset"


def _span_text(ns: int) -> str:
    """Return a time in ns as text: in whole seconds, or in hours if it is an hour or longer."""
    return f"{ns / SECOND:,.0f} s" if ns < 3600 * SECOND else f"{ns / 3600 / SECOND:,.1f} h"
