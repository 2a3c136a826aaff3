"""`amd-smi monitor --csv` and `amd-smi metric --csv`, with --watch (which writes times)."""

from __future__ import annotations

import csv

from traceq.importers.monitors.reading import Log, LogBuilder, parse_device, parse_time
from traceq.importers.monitors.series import MIB, Meaning

TOOL = "amd-smi"

_KNOWN = {
    "power_usage": Meaning("gpu_power"), "socket_power": Meaning("gpu_power"),
    "max_power": Meaning("gpu_power_limit"), "hotspot_temperature": Meaning("gpu_temperature"),
    "hotspot": Meaning("gpu_temperature"), "memory_temperature": Meaning("gpu_memory_temperature"),
    "gfx": Meaning("gpu_utilization"), "gfx_activity": Meaning("gpu_utilization"),
    "mem": Meaning("gpu_memory_utilization"), "umc_activity": Meaning("gpu_memory_utilization"),
    "gfx_clk": Meaning("gpu_sm_clock"), "gfx_clock": Meaning("gpu_sm_clock"), "gfx_0_clk": Meaning("gpu_sm_clock"),
    "gfx_0_max_clk": Meaning("gpu_sm_clock_max"), "mem_clock": Meaning("gpu_memory_clock"),
    "mem_0_clk": Meaning("gpu_memory_clock"), "mem_0_max_clk": Meaning("gpu_memory_clock_max"),
    "vram_used": Meaning("gpu_memory_used", MIB), "used_vram": Meaning("gpu_memory_used", MIB),
    "vram_free": Meaning("gpu_memory_free", MIB), "free_vram": Meaning("gpu_memory_free", MIB),
    "vram_total": Meaning("gpu_memory_total", MIB), "total_vram": Meaning("gpu_memory_total", MIB),
}  # fmt: skip
# Of `metric`, mem is a temperature.
_OF_METRIC = {"mem": Meaning("gpu_memory_temperature")}


def sniff(head: str) -> bool:
    """Return whether the first line of `head` names columns of amd-smi."""
    names = _column_names(head.partition("\n")[0])
    return "gpu" in names[:2] and bool(_KNOWN.keys() & set(names))


def _column_names(line: str) -> list[str]:
    return [name.strip().lower() for name in line.lstrip("\ufeff").split(",")]


def read(text: str) -> Log:
    """Return the log of all GPUs in amd-smi's CSV text; without --watch its samples have no times (clock "none")."""
    lines = text.lstrip("\ufeff").splitlines()
    names = _column_names(lines[0])
    log = LogBuilder(TOOL, _KNOWN | (_OF_METRIC if "gfx_activity" in names else {}))
    odd = ""
    for row in csv.reader(lines[1:]):
        if [cell.strip().lower() for cell in row] == names:
            continue
        cells = dict(zip(names, row, strict=False))
        device = parse_device(cells.get("gpu"))
        if len(row) != len(names) or device is None:
            log.left_out += bool(row)
            continue
        time = parse_time(cells.get("timestamp", ""))
        log.times.append(time)
        odd = odd or ("" if time else cells.get("timestamp", ""))
        for name, cell in cells.items():
            if name not in ("gpu", "xcp", "timestamp"):
                log.add(time[0] if time else 0, device, None, name, cell)
    return log.log(odd_time=odd)
