"""Findings on a job: on a rank, host, stage, group, or all ranks."""

from __future__ import annotations

from dataclasses import dataclass

from traceq.diagnosis.finding import Confidence, Evidence


@dataclass(frozen=True)
class JobFinding:
    """A problem of the job, and the query that proves it. Times are nanoseconds per step of the job.

    `saving_ns` is what the replay of the job says that fixing this alone wins, `adds_ns` what it wins once the findings
    before it are fixed; None where no replay has tried it. `place` is its place in the order in which they are to be fixed, from
    1, where `adds_ns` is known. `because` is the reason in a few words. `ranks` are those it is about.
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
