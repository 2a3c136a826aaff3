"""`dcgmi dmon -e ...`: entities and fields by their short names.

It writes no times: `dcgmi dmon ... | ts '%.s'` puts them in front.
"""

from __future__ import annotations

import re

from traceq.importers.monitors.log import Log, Sample
from traceq.importers.monitors.reading import clock_of, number, stamp
from traceq.importers.monitors.series import MIB, Meant, named, reasons

TOOL = "dcgmi dmon"

_KNOWN = {
    "GPUTL": Meant("gpu_utilization"),
    "MCUTL": Meant("gpu_memory_utilization"),
    "POWER": Meant("gpu_power"),
    "TMPTR": Meant("gpu_temperature"),
    "MMTMP": Meant("gpu_memory_temperature"),
    "SMCLK": Meant("gpu_sm_clock"),
    "MMCLK": Meant("gpu_memory_clock"),
    "FBTTL": Meant("gpu_memory_total", MIB),
    "FBFRE": Meant("gpu_memory_free", MIB),
    "FBUSD": Meant("gpu_memory_used", MIB),
}
_MASK = "DVCCTR"
_LINE = re.compile(r"(?P<time>.*?)\s*(?P<entity>#\s*Entity|GPU[\s:]+\d+)[\s,]+(?P<rest>.*)$")


def sniff(head: str) -> bool:
    """Return whether one of the first lines names entities and fields."""
    return any(re.search(r"#\s*Entity\s+\S", line) for line in head.splitlines()[:5])


def read(text: str) -> Log:
    """Return the log of all GPUs; of other entities nothing."""
    names: list[str] = []
    samples: list[Sample] = []
    left_out = 0
    stamps: list[tuple[int, bool] | None] = []
    for line in text.splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        words = found["rest"].replace(",", " ").split()
        if "Entity" in found["entity"]:
            names = words
            continue
        if len(words) != len(names):
            left_out += 1
            continue
        time = stamp(found["time"])
        stamps.append(time)
        device = int(re.sub(r"\D", "", found["entity"]))
        for name, word in zip(names, words, strict=True):
            value = number(word)
            if value is None:
                left_out += 1
                continue
            told = (
                [(each, None, bit) for each, bit in reasons(int(value))]
                if name == _MASK
                else [named(TOOL, name, None, value, _KNOWN)]
            )
            samples += [Sample(time[0] if time else 0, device, None, *each) for each in told]
    return Log(TOOL, samples, clock_of(stamps), left_out=left_out)
