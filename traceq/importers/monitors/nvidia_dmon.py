"""`nvidia-smi dmon -o DT`: a table in columns of blanks or commas, its header repeated now and then."""

from __future__ import annotations

import re

from traceq.importers.monitors.log import Log, Sample
from traceq.importers.monitors.reading import clock_of, number, stamp
from traceq.importers.monitors.series import MIB, Meant, named

TOOL = "nvidia-smi dmon"

_KNOWN = {
    "pwr": Meant("gpu_power"),
    "gtemp": Meant("gpu_temperature"),
    "mtemp": Meant("gpu_memory_temperature"),
    "sm": Meant("gpu_utilization"),
    "mem": Meant("gpu_memory_utilization"),
    "mclk": Meant("gpu_memory_clock"),
    "pclk": Meant("gpu_sm_clock"),
    "fb": Meant("gpu_memory_used", MIB),
    "pviol": Meant("gpu_power_violation"),
    "tviol": Meant("gpu_thermal_violation"),
}
_HEADER = re.compile(r"#\s*((date\W+)?(time\W+)?)gpu\W+\w", re.IGNORECASE)


def sniff(head: str) -> bool:
    """Return whether it begins with dmon's header."""
    return bool(_HEADER.match(head.lstrip()))


def read(text: str) -> Log:
    """Return the log; without -o DT it has no times."""
    names: list[str] = []
    units: list[str] = []
    samples: list[Sample] = []
    left_out = 0
    stamps: list[tuple[int, bool] | None] = []
    for line in text.splitlines():
        words = line.replace(",", " ").replace("#", " # ").split()
        if words[:1] == ["#"]:
            if _HEADER.match(line.lstrip()):
                names = [each.lower() for each in words[1:]]
            else:
                units = words[1:]
            continue
        if len(words) != len(names):
            left_out += bool(words)
            continue
        row = dict(zip(names, words, strict=True))
        time = stamp(f"{row['date']} {row['time']}") if {"date", "time"} <= row.keys() else None
        device = number(row["gpu"])
        stamps.append(time)
        for place, name in enumerate(names):
            if name in ("date", "time", "gpu"):
                continue
            value = number(words[place])
            if value is None or device is None:
                left_out += 1
                continue
            unit = units[place] if place < len(units) else None
            told = named(TOOL, name, "percent" if unit == "%" else unit, value, _KNOWN)
            samples.append(Sample(time[0] if time else 0, int(device), None, *told))
    return Log(TOOL, samples, clock_of(stamps), left_out=left_out)
