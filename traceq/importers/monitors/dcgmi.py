"""`dcgmi dmon -e ...`: entities and fields by their short names.

It writes no times: `dcgmi dmon ... | ts '%.s'` puts them in front.
"""

from __future__ import annotations

import re

from traceq.importers.monitors.reading import Log, LogBuilder, Sample, parse_number, parse_time
from traceq.importers.monitors.series import MIB, Meaning, decode_reasons

TOOL = "dcgmi dmon"

_KNOWN = {
    "GPUTL": Meaning("gpu_utilization"), "MCUTL": Meaning("gpu_memory_utilization"), "POWER": Meaning("gpu_power"),
    "TMPTR": Meaning("gpu_temperature"), "MMTMP": Meaning("gpu_memory_temperature"),
    "SMCLK": Meaning("gpu_sm_clock"), "MMCLK": Meaning("gpu_memory_clock"),
    "FBTTL": Meaning("gpu_memory_total", MIB), "FBFRE": Meaning("gpu_memory_free", MIB),
    "FBUSD": Meaning("gpu_memory_used", MIB),
}  # fmt: skip
_MASK = "DVCCTR"
_LINE = re.compile(r"(?P<time>.*?)\s*(?P<entity>#\s*Entity|GPU[\s:]+\d+)[\s,]+(?P<rest>.*)$")


def sniff(head: str) -> bool:
    """Return whether one of the first five lines is dcgmi's header, which names entities and fields."""
    return any(re.search(r"#\s*Entity\s+\S", line) for line in head.splitlines()[:5])


def read(text: str) -> Log:
    """Return the log of all GPUs in the table that dcgmi dmon prints; other entities (CPUs, MIG instances) are left out."""
    names: list[str] = []
    log = LogBuilder(TOOL, _KNOWN)
    for line in text.splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        words = found["rest"].replace(",", " ").split()
        if "Entity" in found["entity"]:
            names = words
            continue
        if len(words) != len(names):
            log.left_out += 1
            continue
        time = parse_time(found["time"])
        log.times.append(time)
        at = time[0] if time else 0
        device = int(re.sub(r"\D", "", found["entity"]))
        for name, word in zip(names, words, strict=True):
            if name == _MASK and (mask := parse_number(word)) is not None:
                reasons = decode_reasons(mask)
                log.left_out += not reasons
                log.samples += [Sample(at, device, None, reason, None, bit) for reason, bit in reasons]
            else:
                log.add(at, device, None, name, word)
    return log.log()
