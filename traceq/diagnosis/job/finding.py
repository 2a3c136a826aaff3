"""Findings on a job: on a rank, host, stage, group, or all ranks."""

from __future__ import annotations

import msgspec

from traceq.diagnosis.finding import Confidence, Evidence


class JobFinding(msgspec.Struct, frozen=True):
    """A problem of a job, with the query that proves it; times in ns per step of the job.

    `saving_ns` is the replayed saving of fixing this alone, `adds_ns` its saving once the findings before it are fixed;
    None where no replay tried it. `place` is its position, from 1, in the order in which to fix stragglers; None for
    others. `because` is the reason in a few words. `ranks` are the ranks it is about, `unit` the words for them.
    """

    rule: str
    unit: str
    ranks: tuple[int, ...]
    because: str
    saving_ns: float | None
    adds_ns: float | None
    place: int | None
    confidence: Confidence
    confidence_reason: str
    fix: str
    evidence: Evidence
