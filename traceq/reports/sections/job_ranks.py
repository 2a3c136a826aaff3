"""The ranks of a job, of many the late ones and a typical one of each stage; and its collectives by kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import msgspec

from traceq.common.units import count, duration, format_bandwidth, maybe, share, short_size, some
from traceq.reports.document import Block, Paragraph, Reference, make_table
from traceq.reports.model import Job, JobCollective, JobRank

_MOST_LINES = 16
_STRIP = 28
_LEVELS = "▁▂▃▄▅▆▇█"
_ON_TIME = "·"


class _RankLine(msgspec.Struct, frozen=True):
    """A rank in the table, and the number of ranks like it that are left out."""

    rank: JobRank
    others: int = 0


def list_ranks_of_job(
    job: Job, opened: Collection[int] = (), *, strip: bool = True, most: int = _MOST_LINES
) -> Iterator[Block]:
    """Yield a table of ranks: own work, transfers, waiting, and how much each holds up the others; nothing if unknown.

    It has at most `most` lines: of more ranks those that are alike share one. Ranks in `opened` (trace_ids) are links; `strip`
    adds a line of characters on when a rank is late.
    """
    if job.dur_ns is None:
        return
    late_when = _draw_strips(job) if strip else {}
    columns: dict[str, Callable[[_RankLine], str]] = {
        "rank": _name_rank,
        "trace": lambda line: _link_trace(line.rank, opened),
        "own": lambda line: per_step(line.rank.own_ns, job),
        "transfer": lambda line: per_step(line.rank.transfer_ns, job),
        "waits": lambda line: per_step(line.rank.wait_ns, job),
        "holds up": lambda line: per_step(line.rank.holds_up_ns, job),
        "saves alone": lambda line: _saving_alone(line.rank, job),
    }
    if late_when:
        columns["late over time"] = lambda line: late_when.get(line.rank.rank, "")
    lines = _choose_lines(job, most)
    yield make_table(lines[:most], columns, text=(0, 1, 7))
    if len(lines) > most:
        yield Paragraph((f"{some(len(lines) - most, 'more rank')} that others wait for.",))


def per_step(value: int | None, job: Job) -> str:
    """Return as text the time per step of `value`, which is ns over all steps; a dash if unknown."""
    return "-" if value is None else duration(value / job.steps)


def _saving_alone(rank: JobRank, job: Job) -> str:
    """Return as text what fixing this rank alone saves per step; a dash where that is below the job's limit for claims.

    Of a large job only the ranks that are named have been tried.
    """
    win = rank.win_ns
    if win is None:
        win = next((named.win_ns for named in job.stragglers if tuple(named.ranks) == (rank.rank,)), None)
    return per_step(None if (win or 0) < (job.claim_limit_ns or 1) else win, job)


def find_usual_rank(job: Job) -> JobRank:
    """Return the rank with the median own time of the ranks that nobody waits for.

    Raises StopIteration for a job that cannot be judged.
    """
    return next(each for each in job.members if each.is_usual)


def _choose_lines(job: Job, most: int) -> list[_RankLine]:
    """Return the ranks to list: all of up to `most`, else the late ones and a typical rank for the others of each stage."""
    if len(job.members) <= most:
        return [_RankLine(each) for each in job.members]
    late = {rank: place for place, each in enumerate(job.stragglers) for rank in each.ranks}
    suspects = sorted((each for each in job.members if each.rank in late), key=lambda each: late[each.rank])
    by_stage: dict[int | None, list[JobRank]] = {}
    for each in job.members:
        if each.rank not in late:
            by_stage.setdefault(each.stage, []).append(each)
    alike = [_RankLine(_typical_rank(each), len(each) - 1) for each in by_stage.values()]
    return [*(_RankLine(each) for each in suspects[: max(most - len(alike), 0)]), *alike]


def _typical_rank(ranks: list[JobRank]) -> JobRank:
    """Return the rank with the median own time."""
    return sorted(ranks, key=lambda each: (each.own_ns or 0, each.rank))[len(ranks) // 2]


def _name_rank(line: _RankLine) -> str:
    if not line.others:
        return str(line.rank.rank)
    return f"{line.rank.rank} and {line.others} similar"


def _link_trace(rank: JobRank, opened: Collection[int]) -> str:
    name = f"t{rank.trace_id}"
    return Reference(name) if rank.trace_id in opened else name


def _draw_strips(job: Job) -> dict[int, str]:
    """Return rank -> a line of characters over time: the higher a character, the later the rank; empty if no rank is late."""
    if not job.lateness:
        return {}
    places = max(each.places for each in job.lateness)
    columns = min(places, _STRIP)
    late = {each.rank: [0] * columns for each in job.members}
    for each in job.lateness:
        late[each.rank][each.place * columns // places] += each.late_by
    most = max(max(row) for row in late.values())
    return {rank: "".join(_level_of(value, most) for value in row) for rank, row in late.items()}


def _level_of(value: int, most: int) -> str:
    return _LEVELS[round(value / most * (len(_LEVELS) - 1))] if value else _ON_TIME


_MOST_KINDS = 6


def list_collectives_of_job(job: Job, most: int = _MOST_KINDS) -> Iterator[Block]:
    """Yield the table of the job's collectives by kind, with their level if hosts are known; nothing without any."""
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
        "bandwidth": lambda each: maybe(format_bandwidth, each.transfer_bandwidth),
        "waiting": lambda each: share(each.wait_ns / ((each.wait_ns + each.transfer_ns) or 1)),
    }
    if any(each.level for each in found):
        columns["level"] = lambda each: each.level or "-"
    yield make_table(found[:most], columns, text=(0, 9))
    if len(found) > most:
        left = sum(each.wait_ns + each.transfer_ns for each in found[most:])
        whole = sum(each.wait_ns + each.transfer_ns for each in found) or 1
        yield Paragraph((f"{some(len(found) - most, 'more kind')} with {share(left / whole)} of the time.",))
