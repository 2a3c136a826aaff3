from __future__ import annotations

from labelled.gpu_work import GEMM, kernel, run
from labelled.monitors import gpu

TIMES = range(0, 6_000_000, 50_000)


def _loop(trace):
    run(trace, lambda _number: [kernel(GEMM, 100_000) for _ in range(8)], steps=5)


def _monitored(trace, clock, utilization=98, **series):
    gpu(trace, TIMES, sm_clock=clock, sm_clock_max=1980, utilization=utilization, **series)


def found(trace):
    """Somebody locked the clocks for a measurement."""
    _loop(trace)
    _monitored(trace, 1200, throttle_clock_setting=1, throttle_power_cap=0, throttle_thermal_hw=0)


def found_limit_of_power(trace):
    """The limit of power is below what the GPU can have."""
    _loop(trace)
    _monitored(trace, 1100, throttle_power_cap=1, power=398, power_limit=400, power_limit_max=700)


def found_without_reason(trace):
    """It draws little power, and nothing says why the clock is low."""
    _loop(trace)
    _monitored(trace, 1000, power=200, power_limit=700, power_limit_max=700)


def clean_at_its_limit(trace):
    """It is at the highest limit of power that it can have: that is what it can do."""
    _loop(trace)
    _monitored(trace, 1400, throttle_power_cap=1, power=698, power_limit=700, power_limit_max=700)


def clean_idle(trace):
    """The clock rests while there is nothing to do."""
    _loop(trace)
    _monitored(trace, 345, utilization=3, throttle_idle=1, power=90, power_limit=700, power_limit_max=700)


def clean_high(trace):
    _loop(trace)
    _monitored(trace, 1900, throttle_power_cap=0)


def cannot_tell(trace):
    """No log."""
    _loop(trace)
