"""The text of a Prometheus exporter, such as NVIDIA's DCGM exporter: one scrape, or several one after the other.

A line has a time of its own (ms) or none; a scrape's is taken from a line `# 1764124253.5` (or an ISO time) before it, as
`while sleep 1; do date '+# %s.%N'; curl -s localhost:9400/metrics; done` writes it.
"""

from __future__ import annotations

import re

from traceq.importers.monitors import prometheus_names as names
from traceq.importers.monitors.reading import Log, LogBuilder, Rates, Sample, parse_number, parse_time

TOOL = "Prometheus exporter"

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(\d+))?\s*$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def sniff(head: str) -> bool:
    """Return whether the text has a line with the type of a metric, or a metric of DCGM."""
    return bool(
        re.search(r"^# TYPE [\w:]+ (gauge|counter)\s*$", head, re.MULTILINE)
        or re.search(r"^DCGM_FI_\w+\{", head, re.MULTILINE)
    )


def read(text: str) -> Log:
    """Return the log of all scrapes: gauges as they are, known counters as their growth per second since the scrape before.

    Raises UnusableTrace for metrics of several machines.
    """
    log, rates = LogBuilder(TOOL, {}), Rates()
    machines: set[str | None] = set()
    now = None
    for line in text.splitlines():
        if line.startswith("#") or parse_time(line) is not None:
            now = parse_time(line.lstrip("# ")) or now
            continue
        found = _SAMPLE.match(line)
        value = parse_number(found[3]) if found else None
        if not found or value is None:
            log.left_out += bool(line.strip())
            continue
        labels = dict(_LABEL.findall(found[2] or ""))
        machines.add(names.host_of(labels))
        time = (int(found[4]) * 1_000_000, True) if found[4] else now
        log.times.append(time)
        at = time[0] if time else 0
        device, instance = names.gpu_of(labels), names.instance_of(labels)
        meant = names.meaning_of_total(found[1], labels)
        if meant is None:
            told = names.convert_gauge(found[1], value)
            log.left_out += not told
            log.samples += [Sample(at, device, instance, *series) for series in told]
        else:
            log.samples += rates.add_total(meant, at, device, instance, value)
    names.check_one(machines)
    return log.log(None, max(filter(None, machines), default=None))
