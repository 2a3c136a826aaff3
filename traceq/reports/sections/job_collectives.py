"""The collectives of a job by kind: what they move, how fast when nobody is waited for, and how much of them is waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from traceq.common.units import count, duration, maybe, rate, share, short_size, some
from traceq.reports.document import Block, Paragraph, make_table
from traceq.reports.model import Job, JobCollective

_MOST = 6


def list_collectives_of_job(job: Job) -> Iterator[Block]:
    """List the kinds of collectives, that with most time first; with their level if hosts are known."""
    found = job.collectives
    if not found:
        return
    columns: dict[str, Callable[[JobCollective], str]] = {
        "collective": lambda each: each.op.replace("_", "-"),
        "size": lambda each: short_size(each.bytes) if each.bytes is not None else "-",
        "ranks": lambda each: count(each.ranks),
        "groups": lambda each: count(each.groups),
        "count": lambda each: count(each.count),
        "transfer": lambda each: duration(each.typical_ns),
        "best": lambda each: duration(each.best_ns),
        "bus GB/s": lambda each: maybe(rate, each.bus_bandwidth),
        "waiting": lambda each: share(each.wait_ns / ((each.wait_ns + each.transfer_ns) or 1)),
    }
    if any(each.level for each in found):
        columns["level"] = lambda each: each.level or "-"
    yield make_table(found[:_MOST], columns, text=(0, 9))
    if len(found) > _MOST:
        left = sum(each.wait_ns + each.transfer_ns for each in found[_MOST:])
        whole = sum(each.wait_ns + each.transfer_ns for each in found) or 1
        yield Paragraph((f"{some(len(found) - _MOST, 'more kind')} with {share(left / whole)} of the time.",))
