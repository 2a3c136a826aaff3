"""Logs of monitors that bring what rules need: beside a trace of any format."""

from __future__ import annotations

_GPU = "a log of nvidia-smi, DCGM or amd-smi (traceq ingest TRACE --with gpu.csv, docs/monitors.md)"
_HOST = "a log of {} (traceq ingest TRACE --with LOG, docs/monitors.md)"

MONITOR_WAYS = {
    "gpu_clocks": _GPU,
    "throttle_reasons": _GPU,
    "disk_samples": _HOST.format("iostat -x or sar"),
    "cpu_samples_logged": _HOST.format("vmstat or sar"),
    "steal": _HOST.format("vmstat or sar"),
    "cpu_count": _HOST.format("iostat or sar, which say it,"),
    "swap_samples": _HOST.format("vmstat or sar"),
}
