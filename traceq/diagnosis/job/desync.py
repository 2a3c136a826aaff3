"""Ranks of one group that do not ask for the same collectives: the results are wrong, or the job hangs later."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from traceq.common.ranks import list_ranks
from traceq.common.units import some
from traceq.diagnosis.differing_calls import advise_on_difference
from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.job.subject import JobSubject
from traceq.diagnosis.needs import CannotTell

# Of so many that differ it is told what they have.
_MOST_LISTED = 3

_HOW_SURE: dict[str, tuple[Confidence, str]] = {
    "operation": ("high", "All ranks of a group number its collectives in the same way"),
    # no real job at hand has had one
    "bytes": ("medium", "This operation needs the same number of bytes from all ranks"),
    "missing": (
        "medium",
        "All ranks have collectives before and after it; a profiler that lost one would look the same",
    ),
}


def find_desync(job: JobSubject) -> Iterator[JobFinding]:
    """Ranks of one group have another operation at the same sequence number, other bytes, or none; the first place is named.

    Bytes are compared where the operation needs equal ones. One that a rank lacks counts only between collectives that all ranks
    have, as captures begin and end apart. Groups with sends and receives are left out: their numbers differ. No saving: results
    are wrong, or the job hangs.
    """
    if job.facts["usual_source"] == "operation":
        raise CannotTell("a table of operations has no sequence numbers of collectives")
    if not job.ask("numbered"):
        raise CannotTell(job.facts["cannot_tell"] or "groups without sends and receives have no sequence numbers")
    for _, variants in groupby(job.ask("desync"), key=lambda each: each["group_id"]):
        yield _make_finding(job, list(variants))


def _make_finding(job: JobSubject, variants: list[dict[str, Any]]) -> JobFinding:
    """Return the finding on a group; `variants` are its rows of desync.sql, on what only some of its ranks have."""
    first = variants[0]
    group, most = first["group_ranks"], first["other_ranks"]
    # without a majority nobody knows who is wrong
    has_majority = 2 * len(most) > len(group)
    ranks = tuple(sorted(rank for variant in variants for rank in variant["ranks"]) if has_majority else group)
    confidence, reason = _HOW_SURE[first["differs"]]
    place = f"{_hyphenate(first['op']) if first['differs'] == 'bytes' else 'collective'} {first['sequence']}"
    return job.finding(
        "desync",
        list_ranks(ranks),
        "desync",
        ranks=ranks,
        because=f"{place}: {_describe_variants(variants, has_majority=has_majority)}",
        confidence=confidence,
        reason=f"{reason}; the group of {list_ranks(group)} differs in {some(first['places'], 'place')}.",
        fix=advise_on_difference(list_ranks(ranks), place),
    )


def _describe_variants(variants: list[dict[str, Any]], *, has_majority: bool) -> str:
    """Return a clause that says which ranks have what at the place, and what the others have."""
    first = variants[0]
    if has_majority and len(variants) == 1:
        fewer = [_describe_share(first, "")]
    else:
        fewer = [
            f"{list_ranks(variant['ranks'])} {_describe_share(variant, '')}" for variant in variants[:_MOST_LISTED]
        ]
    left = len(variants) - len(fewer)
    # a rank that lacks it is none of those that differ in it
    is_all = sum(len(variant["ranks"]) for variant in variants) + len(first["other_ranks"]) == len(first["group_ranks"])
    others = "others" if has_majority and is_all and not left else list_ranks(first["other_ranks"])
    return ", ".join([*fewer, *([f"{left} more"] if left else []), f"{others} {_describe_share(first, 'other_')}"])


def _describe_share(each: dict[str, Any], whose: str) -> str:
    """Return the operation, or the exact bytes, that ranks have at the place; "none" for a missing one.

    `whose` is "" for the ranks that differ, "other_" for the others.
    """
    if each["differs"] == "bytes":
        return f"{each[f'{whose}bytes']:,} bytes"
    return _hyphenate(each[f"{whose}op"] or "none")


def _hyphenate(op: str) -> str:
    """Return the operation with hyphens for underscores."""
    return op.replace("_", "-")
