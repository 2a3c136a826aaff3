"""`amd-smi monitor --csv` and `amd-smi metric --csv`, with --watch (which writes times)."""

from __future__ import annotations

import csv

from traceq.importers.monitors.log import Log, Sample
from traceq.importers.monitors.reading import clock_of, number, stamp
from traceq.importers.monitors.series import MIB, Meant, named

TOOL = "amd-smi"

_KNOWN = {
    "power_usage": Meant("gpu_power"),
    "socket_power": Meant("gpu_power"),
    "max_power": Meant("gpu_power_limit"),
    "hotspot_temperature": Meant("gpu_temperature"),
    "hotspot": Meant("gpu_temperature"),
    "memory_temperature": Meant("gpu_memory_temperature"),
    "gfx": Meant("gpu_utilization"),
    "gfx_activity": Meant("gpu_utilization"),
    "mem": Meant("gpu_memory_utilization"),
    "umc_activity": Meant("gpu_memory_utilization"),
    "gfx_clk": Meant("gpu_sm_clock"),
    "gfx_clock": Meant("gpu_sm_clock"),
    "gfx_0_clk": Meant("gpu_sm_clock"),
    "gfx_0_max_clk": Meant("gpu_sm_clock_max"),
    "mem_clock": Meant("gpu_memory_clock"),
    "mem_0_clk": Meant("gpu_memory_clock"),
    "mem_0_max_clk": Meant("gpu_memory_clock_max"),
    "vram_used": Meant("gpu_memory_used", MIB),
    "used_vram": Meant("gpu_memory_used", MIB),
    "vram_free": Meant("gpu_memory_free", MIB),
    "free_vram": Meant("gpu_memory_free", MIB),
    "vram_total": Meant("gpu_memory_total", MIB),
    "total_vram": Meant("gpu_memory_total", MIB),
}
# Of `metric`, mem is a temperature.
_OF_METRIC = {"mem": Meant("gpu_memory_temperature")}


def sniff(head: str) -> bool:
    """Return whether the first line names columns of amd-smi."""
    names = _names(head.partition("\n")[0])
    return "gpu" in names[:2] and bool(_KNOWN.keys() & set(names))


def _names(line: str) -> list[str]:
    return [each.strip().lower() for each in line.lstrip("\ufeff").split(",")]


def read(text: str) -> Log:
    """Return the log; without --watch it has no times."""
    lines = text.lstrip("\ufeff").splitlines()
    names = _names(lines[0])
    known = _KNOWN | (_OF_METRIC if "gfx_activity" in names else {})
    samples: list[Sample] = []
    left_out, odd = 0, ""
    stamps: list[tuple[int, bool] | None] = []
    for row in csv.reader(lines[1:]):
        if [each.strip().lower() for each in row] == names:
            continue
        cells = dict(zip(names, row, strict=False))
        device = number(cells.get("gpu"))
        if len(row) != len(names) or device is None:
            left_out += bool(row)
            continue
        time = stamp(cells.get("timestamp", ""))
        stamps.append(time)
        odd = odd or ("" if time else cells.get("timestamp", ""))
        for name, cell in cells.items():
            if name in ("gpu", "xcp", "timestamp"):
                continue
            value = number(cell)
            if value is None:
                left_out += 1
            else:
                samples.append(
                    Sample(time[0] if time else 0, int(device), None, *named(TOOL, name, None, value, known))
                )
    return Log(TOOL, samples, clock_of(stamps), None, 0, left_out, odd)
