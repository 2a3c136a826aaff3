from __future__ import annotations

from labelled.gpu_work import GEMM, kernel, run
from labelled.monitors import gpu

TIMES = range(0, 6_000_000, 50_000)


def _loop(trace):
    run(trace, lambda _number: [kernel(GEMM, 100_000) for _ in range(8)], steps=5)


def _monitored(trace, clock, thermal, utilization=98, **series):
    gpu(
        trace,
        TIMES,
        sm_clock=clock,
        sm_clock_max=1980,
        throttle_thermal_hw=thermal,
        utilization=utilization,
        temperature=88,
        **series,
    )


def found(trace):
    """From the first millisecond on hardware halves the clock; the trace alone shows nothing, all steps are alike."""
    _loop(trace)
    _monitored(trace, lambda ts: 1740 if ts < 1_000_000 else 870, lambda ts: ts >= 1_000_000)


def found_all_along(trace):
    """It is hot from before the capture."""
    _loop(trace)
    _monitored(trace, 1095, 1)


def found_power_brake(trace):
    _loop(trace)
    _monitored(trace, 990, 0, throttle_power_brake=1)


def clean_capped(trace):
    """The clock is lower, as the limit of power is reached: that is how the GPU is meant to work."""
    _loop(trace)
    _monitored(trace, 1500, 0, throttle_power_cap=1)


def clean_hot_and_fast(trace):
    """The driver says that it is hot and takes away a few steps of the clock."""
    _loop(trace)
    _monitored(trace, lambda ts: 1740 if ts < 1_000_000 else 1735, lambda ts: ts >= 1_000_000)


def cannot_tell_without_reasons(trace):
    """The clock is known, what holds it down is not."""
    _loop(trace)
    gpu(trace, TIMES, sm_clock=870, utilization=98)


def cannot_tell(trace):
    """No log."""
    _loop(trace)
