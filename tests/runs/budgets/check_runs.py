"""Runs made by hand, one in a line; times are ms."""

from __future__ import annotations

import handmade_runs

from traceq.diagnosis.finding import Confidence
from traceq.runs.budgets.budget import MeasuredBudget
from traceq.runs.run import FindingKept

MS = 1_000_000


def run(*durations, ledger=None, name="run.json", **facts):
    """Counted steps of these durations; `ledger` holds shares of each step by category."""
    shares = {"compute": 1.0} if ledger is None else ledger
    parts = [{key: round(dur * MS * share) for key, share in shares.items()} for dur in durations] if shares else {}
    return handmade_runs.run(*(round(dur * MS) for dur in durations), ledger=parts, name=name, **facts)


def measured(*runs):
    return [MeasuredBudget(each, trace_id=1) for each in runs]


def finding(rule, saving, title="A thing", confidence: Confidence = "high"):
    return FindingKept(rule, rule, title, saving * MS, saving * MS / 2, saving * MS * 2, confidence)
