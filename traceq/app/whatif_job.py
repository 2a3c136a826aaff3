"""Predict how long a job would take if some ranks, or all ranks of a host, were like the usual one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from traceq.analysis.job.recorded import durations_without, read_times
from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.source import Source, open_source
from traceq.app.view import View
from traceq.common.ranks import list_ranks
from traceq.database.user_sql import run_interruptibly
from traceq.errors import WrongUse
from traceq.reports.build import read_jobs
from traceq.reports.document import Block
from traceq.reports.model import Job
from traceq.reports.renderers.whatif_to_json import job_answer_to_json
from traceq.reports.sections.jobs import find_job
from traceq.reports.whatif.answer import JobAnswer
from traceq.reports.whatif.words import compose_job_answer

if TYPE_CHECKING:
    import duckdb

# The only thing that ranks can be made like so far.
LIKE = "median"

# A replay that is further off what was recorded tells nothing.
_MOST_ERROR = 0.02


class JobWhatIfView(View[JobAnswer]):
    """The predicted step of a job without slow ranks; `content` is plain data, times are ns per step of the job."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_job_answer(self.content)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return job_answer_to_json(self.content)


def whatif_job(
    source: Source, read: ReadOptions = AS_FOUND, *, ranks: Sequence[int] = (), hosts: Sequence[str] = ()
) -> JobWhatIfView:
    """Predict the duration of the job's steps if these ranks, and all ranks of these hosts, were like the median rank.

    Raises WrongUse for missing ranks or hosts, and for traces that are not one job that can be replayed.
    """
    with open_source(source, "replayed", read) as connection:
        return run_interruptibly(connection, lambda: _replay_job(connection, ranks, hosts))


def _replay_job(connection: duckdb.DuckDBPyConnection, ranks: Sequence[int], hosts: Sequence[str]) -> JobWhatIfView:
    """Replay the job without the slowness of the chosen ranks. Raises WrongUse if it cannot be replayed."""
    job = find_job(tuple(read_jobs(connection)))
    if job is None:
        raise WrongUse("These traces are not one job of several ranks: `like median` needs the traces of its ranks.")
    if job.dur_ns is None or job.claim_limit_ns is None:
        raise WrongUse(f"This job cannot be replayed: {job.cannot_tell or 'its collectives have no usable times'}.")
    chosen = _choose_ranks(job, ranks, hosts)
    times = read_times(connection, job.job, job.time_window, len(job.members), job.claim_limit_ns)
    if times is None:
        raise WrongUse("This job cannot be replayed: none of its collectives was matched.")
    units = [unit for unit, member in enumerate(job.members) if member.rank in chosen]
    before, after = durations_without(times, units)
    if abs(before - job.dur_ns) > _MOST_ERROR * job.dur_ns:
        raise WrongUse(f"This job cannot be replayed: the replay is {abs(before / job.dur_ns - 1):.1%} off.")
    left = [straggler.name for straggler in job.stragglers if not set(straggler.ranks) <= set(chosen)]
    return JobWhatIfView(
        JobAnswer(
            name=job.name,
            ranks=tuple(chosen),
            of_ranks=len(job.members),
            steps=job.steps,
            recorded_ns=job.dur_ns / job.steps,
            after_ns=(job.dur_ns - (before - after)) / job.steps,
            ideal_ns=(job.ideal_ns or job.dur_ns) / job.steps,
            error_share=abs(before - job.dur_ns) / job.dur_ns,
            waited_for=tuple(left),
        )
    )


def _choose_ranks(job: Job, ranks: Sequence[int], hosts: Sequence[str]) -> list[int]:
    """Return the ranks, and those of the hosts, sorted. Raises WrongUse for one that the job does not have."""
    there = {member.rank for member in job.members}
    missing = sorted(set(ranks) - there)
    if missing:
        raise WrongUse(f"The job has no {list_ranks(missing)}; there are {list_ranks(there)}.")
    by_host: dict[str, list[int]] = {}
    for member in job.members:
        if member.host is not None:
            by_host.setdefault(member.host, []).append(member.rank)
    for host in hosts:
        if host not in by_host:
            known = ", ".join(sorted(by_host)) or "none that a trace names"
            raise WrongUse(f"The job has no host {host}; there is {known}.")
    return sorted({*ranks, *(rank for host in hosts for rank in by_host[host])})
