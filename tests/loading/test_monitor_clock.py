"""Where a log lies on the clock of a trace: found where that can be told, and "cannot tell" where it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from traceq.importers.monitors.reading import Log, Sample
from traceq.loading.monitor_clock import SECOND, GpuLoad, TraceClock, fits_best, load_of, place_log

# 2026-11-26 02:30:53 UTC at the trace's own 0
ORIGIN = 1_795_660_253 * SECOND
HOUR = 3600 * SECOND
SAME = [(0, 0)]


def make_bursts(seed=1, seconds=60, device_share=0.5):
    """A load of bursts of random lengths, from 100 s on."""
    rng = np.random.default_rng(seed)
    at, starts, ends = 0.0, [], []
    while at < seconds:
        busy, idle = rng.exponential(device_share * 3), rng.exponential((1 - device_share) * 3)
        starts.append(at)
        ends.append(min(at + busy, seconds))
        at += busy + idle
    since = 100 * SECOND
    scaled = [since + (np.array(each) * SECOND).astype(np.int64) for each in (starts, ends)]
    return GpuLoad(scaled[0], scaled[1], since, since + seconds * SECOND)


def make_clock(load, origin=ORIGIN, zone=None):
    return TraceClock(load.since, load.until, origin, {0: load}, zone)


def log_of(load, ahead=0, *, beat=SECOND, pad=20, kind="local", origin=ORIGIN, noise=2.0, device=0, **rest):
    """What nvidia-smi would write beside it, its clock `ahead` (ns) of UTC."""
    rng = np.random.default_rng(7)
    times = np.arange(load.since - pad * SECOND + beat // 3, load.until + pad * SECOND, beat)
    share = np.clip(np.round(load.share_before(times, min(beat, SECOND)) + rng.normal(0, noise, times.size)), 0, 100)
    outside = (times < load.since) | (times > load.until)
    share[outside] = rng.integers(0, 100, outside.sum())
    samples = [
        Sample(int(time) + origin + ahead, device, None, "gpu_utilization", "percent", float(value))
        for time, value in zip(times, share, strict=True)
    ]
    return Log("made up", samples, kind, **rest)


def test_the_share_of_a_load():
    load = load_of(np.array([0, 5, 20]), np.array([10, 2, 10]), 0, 40)
    assert list(load.share_before(np.array([10, 15, 30, 40]), 10)) == [100, 50, 100, 0]


def test_utc_is_what_it_says():
    placed = place_log(log_of(make_bursts(), kind="utc"), make_clock(make_bursts()), SAME, None, set())
    assert (placed.add, placed.by, placed.zone) == (-ORIGIN, "utc", None)
    assert abs(placed.residual) <= SECOND / 4
    assert placed.correlation > 0.95


@pytest.mark.parametrize("zone", [-9.5, -5, 0, 1, 5.5, 5.75, 14])
def test_one_zone_only_fits_a_short_log(zone):
    placed = place_log(log_of(make_bursts(), round(zone * HOUR)), make_clock(make_bursts()), SAME, None, set())
    assert (placed.add, placed.by, placed.zone) == (-ORIGIN - round(zone * HOUR), "zone", zone * HOUR)


@pytest.mark.parametrize("zone", [-7, 0, 5.5])
@pytest.mark.parametrize("pad", [20, 4000])
def test_the_zone_of_the_trace_is_that_of_local_times(zone, pad):
    ahead = round(zone * HOUR)
    log = log_of(make_bursts(), ahead, pad=pad)
    placed = place_log(log, make_clock(make_bursts(), zone=ahead), SAME, None, set())
    assert (placed.add, placed.by, placed.zone) == (-ORIGIN - ahead, "zone", ahead)
    # of another hour by the clock of that machine: it is of another run, whatever other zone it fits in
    other = place_log(log, make_clock(make_bursts(), zone=ahead - 3 * HOUR), SAME, None, {ahead})
    assert other.add is None
    assert "another time" in other.words
    # a log in UTC is in UTC
    utc = place_log(log_of(make_bursts(), kind="utc"), make_clock(make_bursts(), zone=ahead), SAME, None, set())
    assert (utc.add, utc.by, utc.zone) == (-ORIGIN, "utc", None)


def test_a_longer_log_that_fits_in_one_zone_need_not_be_of_the_run():
    # nvidia-smi of another run, begun 3 h 7 min before the trace: 15 minutes, part of which fit in UTC-3
    log = log_of(make_bursts(9), -3 * HOUR - 420 * SECOND, pad=420)
    placed = place_log(log, make_clock(make_bursts(1)), SAME, None, set())
    assert placed.add is None
    assert "--offset 10800 for UTC-3" in placed.words
    # the load of the run itself does tell
    placed = place_log(log_of(make_bursts(), -3 * HOUR, pad=420), make_clock(make_bursts()), SAME, None, set())
    assert (placed.add, placed.by, placed.zone) == (-ORIGIN + 3 * HOUR, "load", -3 * HOUR)


def test_the_load_tells_the_zone_of_a_long_log():
    placed = place_log(log_of(make_bursts(), 2 * HOUR, pad=4000), make_clock(make_bursts()), SAME, None, set())
    assert (placed.by, placed.zone) == ("load", 2 * HOUR)
    assert placed.add == -ORIGIN - 2 * HOUR


def test_without_load_a_long_log_fits_in_several_zones_and_cannot_be_placed():
    log = log_of(make_bursts(), 2 * HOUR, pad=4000)
    host = Log("vmstat", [each._replace(device=None, name="cpu_user") for each in log.samples], "local")
    placed = place_log(host, make_clock(make_bursts()), [], None, set())
    assert placed.add is None
    assert "--offset" in placed.words
    # the zone of another log of the same ingest decides
    again = place_log(host, make_clock(make_bursts()), [], None, {2 * HOUR})
    assert (again.add, again.by) == (-ORIGIN - 2 * HOUR, "zone")


def test_day_and_month_the_other_way_round():
    load = make_bursts()
    wrong = 29 * 86_400 * SECOND
    placed = place_log(log_of(load, HOUR - wrong, other_date=wrong), make_clock(load), SAME, None, set())
    assert (placed.add, placed.zone) == (wrong - ORIGIN - HOUR, HOUR)


@pytest.mark.parametrize("kind", ["utc", "local"])
def test_a_log_of_another_day_is_not_placed(kind):
    placed = place_log(log_of(make_bursts(), 40 * HOUR, kind=kind), make_clock(make_bursts()), SAME, None, set())
    assert placed.add is None
    assert "another time" in placed.words


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("beat", [SECOND, SECOND // 2])
def test_without_an_absolute_time_the_load_decides(seed, beat):
    load = make_bursts(seed)
    placed = place_log(log_of(load, 123 * SECOND, beat=beat), make_clock(load, None), SAME, None, set())
    assert placed.by == "load"
    assert abs(placed.add - (-ORIGIN - 123 * SECOND)) <= beat / 2


@pytest.mark.parametrize("seed", range(8))
def test_the_load_of_another_run_fits_nowhere(seed):
    placed = place_log(log_of(make_bursts(seed + 100)), make_clock(make_bursts(seed), None), SAME, None, set())
    assert placed.add is None


def test_a_load_that_repeats_itself_has_no_one_place():
    starts = np.arange(100, 160, 4) * SECOND
    load = GpuLoad(starts, starts + 2 * SECOND, 100 * SECOND, 160 * SECOND)
    log = log_of(load)
    repeated = [each._replace(value=float(100 * (each.ts // SECOND % 4 < 2))) for each in log.samples]
    assert place_log(Log("made up", repeated, "local"), make_clock(load, None), SAME, None, set()).add is None


def test_a_load_that_does_not_change_tells_nothing():
    load = GpuLoad(np.array([100 * SECOND]), np.array([160 * SECOND]), 100 * SECOND, 160 * SECOND)
    assert place_log(log_of(load), make_clock(load, None), SAME, None, set()).add is None
    placed = place_log(log_of(load, kind="utc"), make_clock(load), SAME, None, set())
    assert (placed.add, placed.residual, placed.correlation) == (-ORIGIN, None, None)


def test_a_clock_that_is_wrong_by_seconds_shows():
    load = make_bursts()
    placed = place_log(log_of(load, 5 * SECOND, kind="utc"), make_clock(load), SAME, None, set())
    assert placed.by == "load"
    assert abs(placed.add - (-ORIGIN - 5 * SECOND)) <= SECOND / 2


def test_the_user_knows_better():
    load = make_bursts()
    placed = place_log(log_of(load, 40 * HOUR), make_clock(load), SAME, -40 * 3600, set())
    assert (placed.add, placed.by) == (-ORIGIN - 40 * HOUR, "offset")
    assert abs(placed.residual) <= SECOND / 4
    # of a trace without an absolute time: from its start to the first sample
    log = log_of(load)
    assert place_log(log, make_clock(load, None), SAME, -20, set()).add == load.since - 20 * SECOND - log.samples[0].ts


def test_a_log_without_times_cannot_be_placed():
    load = make_bursts()
    placed = place_log(log_of(load, kind="none"), make_clock(load), SAME, 5, set())
    assert placed.add is None


def test_times_that_cannot_be_read_are_said():
    placed = place_log(
        log_of(make_bursts(), kind="none", odd_time="26/11/26 10:00:00"), make_clock(make_bursts()), SAME, None, set()
    )
    assert "its times cannot be read: '26/11/26 10:00:00'" in placed.words


def test_the_gpu_of_the_trace_is_found_by_its_load():
    load = make_bursts(3)
    samples = [each for seed in (1, 2, 3) for each in log_of(make_bursts(seed), device=seed, kind="utc").samples]
    log = Log("made up", samples, "utc")
    assert fits_best(log, load, [1, 2, 3], -ORIGIN) == 3
    assert fits_best(log, make_bursts(9), [1, 2, 3], -ORIGIN) is None
