"""Judge a job: findings, and the rules that cannot tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import getdoc
from typing import TYPE_CHECKING

import msgspec

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.broken import catch_outcomes
from traceq.diagnosis.finding import Failed, NotApplicable
from traceq.diagnosis.job.compute import slow_gpu, work_imbalance
from traceq.diagnosis.job.desync import find_desync
from traceq.diagnosis.job.experts import expert_load
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.job.late import job_straggler, slow_host, stage_imbalance, wandering_straggler
from traceq.diagnosis.job.subject import JobSubject
from traceq.diagnosis.job.waiting import absent_late_rank, late_start, slow_link, waiting_not_network

if TYPE_CHECKING:
    import duckdb

_Rule = Callable[[JobSubject], Iterator[JobFinding]]

# By name, in the order in which findings are listed: what makes results wrong, who is late, what that is not, then what only
# changes what to do.
RULES: dict[str, tuple[str, _Rule]] = {
    "desync": ("Ranks of a group disagree on its collectives", find_desync),
    "job-straggler": ("Ranks that the others wait for", job_straggler),
    "slow-gpu": ("A rank is late because its GPU is slow", slow_gpu),
    "work-imbalance": ("A rank is late because it has more to do", work_imbalance),
    "expert-load": ("A rank's experts get more than those of others", expert_load),
    "slow-host": ("The ranks of one host are late together", slow_host),
    "stage-imbalance": ("A pipeline stage has more to do", stage_imbalance),
    "wandering-straggler": ("A different rank is late each time", wandering_straggler),
    "waiting-not-network": ("Collectives wait for ranks, not for the network", waiting_not_network),
    "absent-late-rank": ("Collectives wait for ranks that were not captured", absent_late_rank),
    "slow-link": ("A group transfers more slowly than similar groups", slow_link),
    "late-start": ("A rank was late to the first collective", late_start),
}


def rule_page(name: str) -> str:
    """Return the manual page of the rule of jobs `name`, which is the docstring of its function, as a single line."""
    return " ".join((getdoc(RULES[name][1]) or "").split())


class JudgedJob(msgspec.Struct, frozen=True):
    """Findings on a time window of a job, and the rules of jobs that cannot tell or broke."""

    findings: tuple[JobFinding, ...]
    not_applicable: tuple[NotApplicable, ...]
    failed: tuple[Failed, ...]


def judge_job(connection: duckdb.DuckDBPyConnection, job: int, time_window: int) -> JudgedJob:
    """Judge the window `time_window` of a job by all rules of jobs; `job` is its number in the table job."""
    query = statement("diagnosis/job/sql/facts.sql")
    (facts,) = ask(connection, query, job=job, time_window=time_window)
    subject = JobSubject(connection, job, time_window, facts)
    findings: list[JobFinding] = []
    unknown: list[NotApplicable] = []
    broken: list[Failed] = []
    for name, (title, rule) in RULES.items():
        with catch_outcomes(name, title, unknown, broken):
            findings += list(rule(subject))
    return JudgedJob(tuple(_order_findings(findings)), tuple(unknown), tuple(broken))


def _order_findings(findings: list[JobFinding]) -> Iterator[JobFinding]:
    """Yield the findings in the order of their rules, but let those on stragglers change places.

    The first of these places gets the straggler to fix first, and so on.
    """
    placed = iter(
        sorted((finding for finding in findings if finding.place is not None), key=lambda each: each.place or 0)
    )
    for finding in findings:
        yield finding if finding.place is None else next(placed)
