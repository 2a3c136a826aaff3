"""The text of a Prometheus exporter, such as NVIDIA's DCGM exporter: one scrape, or several one after the other.

A line has a time of its own (ms) or none; a scrape's is taken from a line `# 1764124253.5` (or an ISO time) before it, as
`while sleep 1; do date '+# %s.%N'; curl -s localhost:9400/metrics; done` writes it.
"""

from __future__ import annotations

import re

from traceq.importers.monitors import prometheus_names as names
from traceq.importers.monitors.log import Log, Sample
from traceq.importers.monitors.reading import clock_of, number, stamp
from traceq.importers.monitors.series import SERIES

TOOL = "Prometheus exporter"

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(\d+))?\s*$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def sniff(head: str) -> bool:
    """Return whether there is a line of a metric with a type, or one of DCGM's fields."""
    return bool(
        re.search(r"^# TYPE [\w:]+ (gauge|counter)\s*$", head, re.MULTILINE)
        or re.search(r"^DCGM_FI_\w+\{", head, re.MULTILINE)
    )


def read(text: str) -> Log:
    """Return the log: gauges as they are, of totals that are known what they grow by in a second."""
    samples: list[Sample] = []
    before: dict[tuple[str, int | None, str | None], tuple[int, float]] = {}
    stamps: list[tuple[int, bool] | None] = []
    machines: set[str | None] = set()
    now, left_out = None, 0
    for line in text.splitlines():
        if line.startswith("#") or stamp(line) is not None:
            now = stamp(line.lstrip("# ")) or now
            continue
        found = _SAMPLE.match(line)
        value = number(found[3]) if found else None
        if not found or value is None:
            left_out += bool(line.strip())
            continue
        labels = dict(_LABEL.findall(found[2] or ""))
        machines.add(names.host(labels))
        time = (int(found[4]) * 1_000_000, True) if found[4] else now
        stamps.append(time)
        at = time[0] if time else 0
        device, instance = names.gpu(labels), names.instance(labels)
        meant = names.total(found[1], labels)
        if meant is None:
            told = names.values(found[1], value)
            left_out += not told
            samples += [Sample(at, device, instance, *each) for each in told]
            continue
        key = (meant.name, device, instance)
        if key in before and at > before[key][0] and value >= before[key][1]:
            rate = (value - before[key][1]) / ((at - before[key][0]) / 1e9)
            samples.append(Sample(at, device, instance, meant.name, SERIES[meant.name][0] or None, rate * meant.factor))
        before[key] = (at, value)
    names.check_one(machines)
    return Log(TOOL, samples, clock_of(stamps), max(filter(None, machines), default=None), 0, left_out)
