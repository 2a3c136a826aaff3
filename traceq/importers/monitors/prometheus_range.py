"""The answer of Prometheus to `/api/v1/query_range`: JSON, a matrix of series, times in seconds since 1970."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

from traceq.importers.monitors import prometheus_names as names
from traceq.importers.monitors.reading import SECOND, Log, Sample, parse_number
from traceq.importers.monitors.series import SERIES

TOOL = "Prometheus range"


def sniff(head: str) -> bool:
    """Return whether the text begins an answer of Prometheus whose result is a matrix."""
    return head.lstrip().startswith("{") and bool(re.search(r'"resultType"\s*:\s*"matrix"', head))


def read(text: str) -> Log:
    """Return the log in the answer: gauges as they are, known counters as their growth per second, times in UTC.

    Raises UnusableTrace for series of several machines.
    """
    samples: list[Sample] = []
    left_out, host = 0, None
    result = json.loads(text)["data"]["result"]
    for whose in (names.host_of, names.address_of):
        names.check_one(whose(series["metric"]) for series in result)
    for series in result:
        labels = series["metric"]
        host = host or names.host_of(labels)
        found = [(round(float(at) * SECOND), parse_number(value)) for at, value in series["values"]]
        points = [(at, value) for at, value in found if value is not None]
        told = _samples_of(labels, points)
        is_total = names.meaning_of_total(labels.get("__name__", ""), labels) is not None
        kept = points if is_total and told else {sample.ts for sample in told}
        left_out += len(found) - len(kept)
        samples += told
    return Log(TOOL, samples, "utc", host, 0, left_out)


def _samples_of(labels: dict[str, Any], points: list[tuple[int, float]]) -> list[Sample]:
    name = labels.get("__name__", "unnamed")
    device, instance = names.gpu_of(labels), names.instance_of(labels)
    meant = names.meaning_of_total(name, labels)
    if meant is None:
        return [
            Sample(at, device, instance, *series) for at, value in points for series in names.convert_gauge(name, value)
        ]
    unit = SERIES[meant.name][0] or None
    return [
        Sample(at, device, instance, meant.name, unit, (value - old) / ((at - since) / SECOND) * meant.factor)
        for (since, old), (at, value) in pairwise(points)
        if at > since and value >= old
    ]
