"""`nvidia-smi dmon -o DT`: a table in columns of blanks or commas, its header repeated now and then."""

from __future__ import annotations

import re

from traceq.importers.monitors.reading import Log, LogBuilder, parse_device, parse_time
from traceq.importers.monitors.series import MIB, Meaning

TOOL = "nvidia-smi dmon"

_KNOWN = {
    "pwr": Meaning("gpu_power"), "gtemp": Meaning("gpu_temperature"), "mtemp": Meaning("gpu_memory_temperature"),
    "sm": Meaning("gpu_utilization"), "mem": Meaning("gpu_memory_utilization"), "mclk": Meaning("gpu_memory_clock"),
    "pclk": Meaning("gpu_sm_clock"), "fb": Meaning("gpu_memory_used", MIB), "pviol": Meaning("gpu_power_violation"),
    "tviol": Meaning("gpu_thermal_violation"),
}  # fmt: skip
_HEADER = re.compile(r"#\s*((date\W+)?(time\W+)?)gpu\W+\w", re.IGNORECASE)


def sniff(head: str) -> bool:
    """Return whether the text begins with the header of nvidia-smi dmon."""
    return bool(_HEADER.match(head.lstrip()))


def read(text: str) -> Log:
    """Return the log of all GPUs in dmon's table; without -o DT its samples have no times (clock "none")."""
    names: list[str] = []
    units: list[str] = []
    log = LogBuilder(TOOL, _KNOWN)
    for line in text.splitlines():
        words = line.replace(",", " ").replace("#", " # ").split()
        if words[:1] == ["#"]:
            if _HEADER.match(line.lstrip()):
                names = [word.lower() for word in words[1:]]
            else:
                units = words[1:]
            continue
        if len(words) != len(names):
            log.left_out += bool(words)
            continue
        row = dict(zip(names, words, strict=True))
        time = parse_time(f"{row['date']} {row['time']}") if {"date", "time"} <= row.keys() else None
        device = parse_device(row["gpu"])
        log.times.append(time)
        for place, name in enumerate(names):
            if name in ("date", "time", "gpu"):
                continue
            unit = units[place] if place < len(units) else None
            value = None if device is None else words[place]
            log.add(time[0] if time else 0, device or 0, None, name, value, "percent" if unit == "%" else unit)
    return log.log()
