"""Histories made by hand: reports in a line, and thousands of them by one statement."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np

from traceq.runs.history.entry import HistoryEntry, HistoryQuantity, HistoryReport, name_report, name_series
from traceq.runs.history.series import HistorySeries, SeriesSummary
from traceq.runs.history.store import write_history

BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
MS = 1_000_000


def entry(number, step=100 * MS, *, days=1.0, facts=None, quantities=None, name="r", **columns):
    """The report `number` of a program that runs every `days`, with a step of so many ns."""
    ran_at = BEGIN + timedelta(days=days * number)
    sha256 = f"{name}{number}"
    facts_of_series = {"program": "train", "gpu": "NVIDIA H100", "ranks": 8, "batch": 32.0, "format": "chrome"}
    facts_of_series |= {key: value for key, value in columns.items() if key in facts_of_series or key == "step_name"}
    defaults = {
        "report_id": name_report(sha256, 0),
        "added_at": ran_at,
        "ran_at": ran_at,
        "ran_at_from": "option",
        "label": None,
        "commit": f"{number:040x}",
        "branch": "main",
        "step_name": "ProfilerStep#",
        "steps": 30,
        "rank": 0,
        "file": "trace.json",
        "sha256": sha256,
        "traceq": "0.1.0",
        "outcome": "healthy",
        "verdict": "Healthy",
    }
    report = {**defaults, **facts_of_series, **columns}
    report["series"] = name_series(
        *(report[key] for key in ("program", "gpu", "ranks", "batch", "format", "step_name"))
    )
    values = {"step.typical": (step, "ns"), **(quantities or {})}
    return HistoryEntry(
        HistoryReport(**report),
        tuple(HistoryQuantity(key, float(value), None, None, unit) for key, (value, unit) in values.items()),
        facts or {},
    )


def series_of(values, *, days=1.0, name="step.typical", unit="ns", is_timed=True):
    """A series of reports every `days`, with these values of one quantity."""
    found = np.asarray(values, dtype=float)
    seconds = BEGIN.timestamp() + 86_400 * days * np.arange(len(found))
    summary = SeriesSummary("s", None, None, 1, None, "chrome", None, len(found), BEGIN, BEGIN)
    return HistorySeries(
        summary, [str(number) for number in range(len(found))], seconds, is_timed, {name: found}, {name: unit}
    )


def noisy_steps(levels, share=0.01, seed=0, outliers=0.0):
    """Steps around `levels` (ns), normally distributed with this standard deviation, a few of them far too long."""
    random = Random(f"{seed}")  # noqa: S311
    return [level * (1 + random.gauss(0, share)) * (1.3 if random.random() < outliers else 1) for level in levels]


def creeping(count, share=0.005, begin=100 * MS):
    """Levels that grow by this share from report to report."""
    return [begin * (1 + share) ** number for number in range(count)]


# Names of a report's quantities, and what part of the step each is.
_PARTS = {f"ledger.part{number}": 0.5 / 2**number for number in range(30)}


def fill_history(path, count, *, change_at=None, ratio=1.05, seed=0):
    """Write a history of `count` hourly reports with 40 quantities and 60 facts, whose step is longer from `change_at` on."""
    random = np.random.default_rng(seed)
    names = ["step.typical", "step.mean", "step.p50", "step.p90", "step.max", "gpu.busy", *_PARTS, "memory.peak"]
    shares = np.array([1, 1, 1, 1.05, 1.3, 0, *_PARTS.values(), 0])
    values = 100e6 * shares * (1 + 0.01 * random.standard_normal((count, len(names))))
    if change_at is not None:
        values[change_at:] *= ratio
    values[:, names.index("gpu.busy")] = 0.8 + 0.01 * random.standard_normal(count)
    values[:, names.index("memory.peak")] = 60 << 30
    with write_history(path) as connection:
        connection.execute(
            """insert into report select
                md5(i::varchar)[:16], timestamp '2025-01-01' + interval 1 hour * i, timestamp '2025-01-01' + interval 1 hour * i,
                'option', 'made', null, 'train', md5((i // 7)::varchar), 'main', 'NVIDIA H100', 8, 32, 'chrome',
                'ProfilerStep#', 50, 0, 'trace.json', md5(i::varchar), '0.1.0', 'healthy', 'Healthy'
            from range($count) as t (i)""",
            {"count": count},
        )
        connection.execute(
            """insert into quantity select md5((p // $names)::varchar)[:16], ($list)[p % $names + 1], v, null, null,
                case ($list)[p % $names + 1] when 'gpu.busy' then 'share' when 'memory.peak' then 'bytes' else 'ns' end
            from (select unnest(range($total)) as p, unnest($values) as v)""",
            {"names": len(names), "list": names, "total": values.size, "values": values.ravel().tolist()},
        )
        connection.execute(
            """insert into fact select md5(i::varchar)[:16], 'fact' || j,
                case when j = 3 and i >= $change then 'new' when j = 5 then (i // 100)::varchar else 'old' end
            from range($count) as t (i), range(60) as u (j)""",
            {"count": count, "change": count if change_at is None else change_at},
        )
