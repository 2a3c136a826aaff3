"""Ranks of one group that do not ask for the same collectives: the results are wrong, or the job hangs later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traceq.common.ranks import numbers
from traceq.common.units import some
from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.job.subject import JobSubject
from traceq.diagnosis.needs import CannotTell

_HOW_SURE: dict[str, tuple[Confidence, str]] = {
    "operation": ("high", "All ranks of a group number its collectives alike"),
    # no real job at hand has had one
    "bytes": ("medium", "This operation needs the same bytes of all ranks"),
    "missing": ("medium", "All have collectives before and after it; a profiler that lost one would look the same"),
}


def desync(job: JobSubject) -> Iterator[JobFinding]:
    """Ranks of one group have another operation at the same sequence number, other bytes, or none; the first place is named.

    Bytes are compared where the operation needs equal ones. One that a rank lacks counts only between collectives that all ranks
    have, as captures begin and end apart. Groups with sends and receives are left out: their numbers differ. No saving: results
    are wrong, or the job hangs.
    """
    if job.facts["usual_source"] == "operation":
        raise CannotTell("a table of operations does not number collectives")
    if not job.ask("numbered"):
        raise CannotTell(job.facts["cannot_tell"] or "no group without sends and receives numbers its collectives")
    for each in job.ask("desync"):
        yield _finding(job, each)


def _finding(job: JobSubject, each: dict[str, Any]) -> JobFinding:
    # without a majority nobody knows who is wrong
    is_minority = len(each["ranks"]) < len(each["other_ranks"])
    group = sorted([*each["ranks"], *each["other_ranks"]])
    ranks = tuple(each["ranks"] if is_minority else group)
    confidence, reason = _HOW_SURE[each["differs"]]
    who, others = ("", "others") if is_minority else (f"{numbers(each['ranks'])} ", numbers(each["other_ranks"]))
    place = f"{_words(each['op']) if each['differs'] == 'bytes' else 'collective'} {each['sequence']}"
    return job.finding(
        "desync",
        numbers(ranks),
        "desync",
        ranks=ranks,
        because=f"{place}: {who}{_has(each, '')}, {others} {_has(each, 'other_')}",
        confidence=confidence,
        reason=f"{reason}; the group of {numbers(group)} differs at {some(each['places'], 'place')}.",
        fix=(
            f"Find what makes {numbers(ranks)} skip, add or resize {place} or one before: a branch on rank, data or "
            "loss, another number of batches or parameters. `TORCH_DISTRIBUTED_DEBUG=DETAIL` stops at the first that differs."
        ),
    )


def _has(each: dict[str, Any], whose: str) -> str:
    """What ranks have at the place, in words; bytes to the last one, as they may differ by one."""
    if each["differs"] == "bytes":
        return f"{each[f'{whose}bytes']:,} bytes"
    return _words(each[f"{whose}op"] or "none")


def _words(op: str) -> str:
    return op.replace("_", "-")
