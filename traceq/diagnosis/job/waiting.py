"""Communication that waits for other ranks, present or absent, or for a later recording, or that has a slow link."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.ranks import list_ranks
from traceq.common.units import duration, share, short_size
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.job.subject import JobSubject
from traceq.diagnosis.needs import CannotTell

# So much of the time in collectives is waiting: a faster network wins little.
_MOSTLY = 0.5

# A job that is slower than this is held up by its ranks.
_SLOWED = 1.05

# Waiting for absent ranks is told from this share of the time of the ranks on.
_ABSENT = 0.03

# Of fewer matched collectives nothing is said of absent ranks.
_MATCHED = 0.9

# Of the job's time: a later start is told from here on.
_LATE_START = 0.01

# A recording that begins later by less of how much later the rank came does not explain it.
_EXPLAINS = 0.5

# The best transfers of a group take so many times what those of its sister groups take.
_TIMES_USUAL = 1.2


def waiting_not_network(job: JobSubject) -> Iterator[JobFinding]:
    """More than half of the time in matched collectives is waiting for ranks, in a job that late ranks slow down.

    What the last rank of a collective needed is its transfer, the rest of the others waiting. It saves nothing by itself.
    """
    job.judged()
    facts = job.facts
    waits = facts["wait_share"]
    held_up = bool(job.stragglers) or (facts["slowdown"] or 0) >= _SLOWED
    if waits is None or waits <= _MOSTLY or not held_up:
        return
    lacks = facts["absent"] or facts["lacks_members"]
    is_whole = facts["absent"] == 0 or facts["knows_groups"]
    is_pipeline = facts["stages"] > 1 and (facts["has_sends"] or facts["stage_win"] is not None)
    yield job.finding(
        "waiting-not-network",
        "all ranks",
        "waits",
        because=f"{share(waits)} of collective time",
        confidence="high" if is_whole and not lacks else "medium",
        reason=(
            "The time that the last rank spent in each collective counts as transfer"
            + (
                "; ranks that were not captured may be later still."
                if lacks
                else ", and all ranks were captured."
                if is_whole
                else "."
            )
            + (" In a pipeline the bubble is part of the waiting." if is_pipeline else "")
        ),
        fix="Leave network, bucket sizes and overlap as they are: collectives become shorter once the late "
        "ranks are on time.",
    )


def absent_late_rank(job: JobSubject) -> Iterator[JobFinding]:
    """At least 3 % of the time of the ranks is waiting in collectives for ranks whose traces are not here (`job.wait_absent`).

    Told of 90 % matched collectives and more, and of one rank alone. What the absent ranks do is not known: no saving.
    """
    facts = job.facts
    if not facts["absent"] and not facts["wait_absent"]:
        return
    if facts["ranks"] > 1 and (facts["matched_share"] or 0) < _MATCHED:
        matched = "an unknown share" if facts["matched_share"] is None else share(facts["matched_share"])
        raise CannotTell(f"only {matched} of the collectives are matched between ranks")
    if facts["wait_absent"] is None:
        raise CannotTell("no collective of known size recurs eight times in a group")
    if not facts["counted"]:
        raise CannotTell("no counted step has GPU work to compare the waiting with")
    if facts["wait_absent"] < _ABSENT * facts["counted"]:
        return
    missing = set(range(facts["world_size"] or 0)) - set(facts["present"])
    per_rank = facts["wait_absent"] / facts["ranks"] / job.steps
    yield job.finding(
        "absent-late-rank",
        list_ranks(missing) or "absent ranks",
        "absent",
        because=f"{duration(per_rank)} per rank ({share(facts['wait_absent'] / facts['counted'])})",
        confidence="medium",
        reason=(
            "Collectives took that much longer than the fastest with the same operation, group and size; a link "
            "that is sometimes slow would look the same."
        ),
        fix=f"Also capture {list_ranks(missing) or 'the other ranks of their groups'}: only their traces show "
        "why they are late.",
    )


def late_start(job: JobSubject) -> Iterator[JobFinding]:
    """Find a rank that came to the first collective later than the first one, by more than 1 % of the job.

    Recordings begin apart, which the program does not lose; the rest the rank needed itself. No replay has
    tried it, and several ranks may be as late: no saving. Needs clocks that collectives align.
    """
    job.judged()
    if job.facts["clock_residual"] is None:
        raise CannotTell("no collective aligns the ranks' clocks")
    first = next((arrival for arrival in job.ask("first_arrivals") if arrival["on_path"]), None)
    if first is None:
        return
    # Time on the critical path before the first collective that is waited for: what all ranks do then is no rank's lateness.
    late = min(job.facts["late_start"] or 0, first["later_ns"])
    least = max(_LATE_START * job.facts["dur"], job.facts["claim_limit"] or 0)
    if late <= least:
        return
    if first["of_send"]:
        raise CannotTell("the first wait is for data from another pipeline stage")
    if first["begins_later_ns"] is None:
        raise CannotTell("the traces do not say when they begin")
    begins_later = max(first["begins_later_ns"], 0)
    own = max(late - begins_later, 0)
    is_recording = begins_later > _EXPLAINS * late
    if is_recording:
        fix = "Start recording on all ranks after a barrier, and record several steps, so that the first matters less."
    else:
        fix = (
            f"Report on rank {first['rank']} alone (`traceq report DB --rank {first['rank']}`): what it does "
            "before its first collective takes longer than on other ranks."
        )
    yield job.finding(
        "late-start",
        f"rank {first['rank']}",
        "first_arrivals",
        ranks=(first["rank"],),
        because=f"came {duration(late)} later",
        confidence="high" if is_recording else "medium",
        reason=(
            f"By aligned clocks it came {duration(late)} later, and its recording began {duration(begins_later)} later"
            + (f"; the other {duration(own)} are its own." if own > least else ".")
        ),
        fix=fix,
    )


def slow_link(job: JobSubject) -> Iterator[JobFinding]:
    """Name the group whose transfers take more than 1.2 times what those of the median group of its kind take.

    Of complete groups with at least eight all-reduces, all-gathers or reduce-scatters of one size the 5th percentiles are
    compared, within hosts and between them apart; three groups are needed. No replay has tried it: no saving.
    """
    job.judged()
    groups = job.ask("link")
    if not groups:
        raise CannotTell(
            "fewer than three complete groups have eight collectives of the same operation and size to compare"
        )
    worst = groups[0]
    if worst["times_usual"] <= _TIMES_USUAL or not worst["is_clear"]:
        return
    ranks = tuple(worst["ranks"])
    op = worst["op"].replace("_", "-")
    yield job.finding(
        "slow-link",
        f"group of {list_ranks(ranks)}",
        "link",
        ranks=ranks,
        because=f"transfers take {worst['times_usual']:.2f}x the usual time",
        # No real job at hand has had one.
        confidence="medium",
        reason=(
            f"At best, {op} of {short_size(worst['bytes'])} takes {duration(worst['best_ns'])}; in the median "
            f"of {worst['groups']} similar groups it takes {duration(worst['usual_ns'])}."
        ),
        fix="Check the links between these ranks: topology, the network card that each uses, routes, error counters.",
    )
