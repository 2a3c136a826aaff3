"""What monitors log beside a made-up trace: samples at a beat, each of the time since the one before."""

from __future__ import annotations


def gpu(trace, times, **series):
    """Samples of GPU 0 at these times (ns); a value, or a function of the time."""
    _log(trace, times, 0, None, 0, {f"gpu_{name}": value for name, value in series.items()})


def host(trace, times, instance=None, **series):
    """Samples of the host, or of one disk of it."""
    _log(trace, times, None, instance, 1, series)


def _log(trace, times, device, instance, log_id, series):
    for ts in times:
        for name, value in series.items():
            told = float(value(ts) if callable(value) else value)
            trace.add("counter", device=device, instance=instance, name=name, ts=ts, value=told, log_id=log_id)
