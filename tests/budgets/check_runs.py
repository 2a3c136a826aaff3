"""Runs made by hand, one in a line; times are ms."""

from __future__ import annotations

from traceq.budgets.budget import Measured
from traceq.findings import Confidence
from traceq.runs.run import FindingKept, Run, RunStep

MS = 1_000_000


def run(*durations, ledger=None, name="run.json", **facts):
    """Counted steps of these durations; `ledger` holds shares of each step by category."""
    shares = {"compute": 1.0} if ledger is None else ledger
    steps = tuple(
        RunStep(
            number,
            f"step {number}",
            round(dur * MS),
            None,
            {key: round(dur * MS * each) for key, each in shares.items()},
        )
        for number, dur in enumerate(durations)
    )
    defaults = {
        "source": name,
        "file": name,
        "sha256": name,
        "format": "chrome",
        "producer": None,
        "producer_version": None,
        "rank": None,
        "world_size": None,
        "device": 0,
        "device_name": "NVIDIA H100",
        "devices": 1,
        "step_source": "profiler_step",
        "overhead_share": None,
        "settings": {},
        "payload": {},
        "shapes": {},
        "steps": steps,
        "items": (),
        "findings": (),
    }
    return Run(**(defaults | facts))


def measured(*runs):
    return [Measured(each, trace_id=1) for each in runs]


def finding(rule, saving, title="A thing", confidence: Confidence = "high"):
    return FindingKept(rule, rule, title, saving * MS, saving * MS / 2, saving * MS * 2, confidence)
