"""Samples that `traceq record` takes itself: lines of JSON after one that names the format; ns since 1970, UTC."""

from __future__ import annotations

import json

from traceq.importers.monitors.log import Log, Sample
from traceq.importers.monitors.reading import number
from traceq.importers.monitors.series import SERIES

TOOL = "traceq record"
SUFFIX = ".monitor.jsonl"


def sniff(head: str) -> bool:
    """Return whether the first line is that of such a log."""
    return head.startswith('{"traceq_monitor":')


def read(text: str) -> Log:
    """Return the log; a last line that was not written to its end is left out."""
    first, *lines = text.splitlines()
    told = json.loads(first)
    samples: list[Sample] = []
    left_out = 0
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            left_out += 1
            continue
        for device, instance, name, raw in row["values"]:
            value = number(raw)
            if value is None:
                left_out += 1
            else:
                samples.append(Sample(row["ts"], device, instance, name, SERIES[name][0] or None, value))
    if samples:
        samples.append(Sample(samples[0].ts, None, None, "cpu_count", None, float(told["cpus"])))
    return Log(TOOL, samples, "utc", told.get("host"), 0, left_out)
