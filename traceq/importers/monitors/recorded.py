"""Samples that `traceq record` takes itself: lines of JSON after one that names the format; ns since 1970, UTC."""

from __future__ import annotations

import json

from traceq.importers.monitors.reading import Log, LogBuilder
from traceq.importers.monitors.series import SERIES, Meaning

TOOL = "traceq record"
SUFFIX = ".monitor.jsonl"


def sniff(head: str) -> bool:
    """Return whether the first line is the one that `traceq record` writes at the beginning of its samples."""
    return head.startswith('{"traceq_monitor":')


def read(text: str) -> Log:
    """Return the log that `traceq record` wrote; lines that are no whole JSON (the last may be cut) are counted in `left_out`."""
    first, *lines = text.splitlines()
    told = json.loads(first)
    log = LogBuilder(TOOL, {name: Meaning(name) for name in SERIES})
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            log.left_out += 1
            continue
        for device, instance, name, raw in row["values"]:
            log.add(row["ts"], device, instance, name, raw)
    log.add_cpu_count(told["cpus"] if log.samples else None)
    return log.log("utc", told.get("host"))
