"""Links: groups whose transfers are slow against groups of the same kind, though nobody is late."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.ranks import list_ranks
from traceq.common.units import duration, short_size
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.job.subject import JobSubject
from traceq.diagnosis.needs import CannotTell

# The best transfers of a group take so many times what those of its sister groups take.
_TIMES_USUAL = 1.2


def slow_link(job: JobSubject) -> Iterator[JobFinding]:
    """Name the group whose transfers take more than 1.2 times what those of the median group of its kind take.

    Of complete groups with at least eight all-reduces, all-gathers or reduce-scatters of one size the 5th percentiles are
    compared, within hosts and between them apart; three groups are needed. No replay has tried it: no saving.
    """
    job.judged()
    groups = job.ask("link")
    if not groups:
        raise CannotTell("no three complete groups have eight collectives each of one operation and size to compare")
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
        because=f"transfers take {worst['times_usual']:.2f}x the usual",
        # No real job at hand has had one.
        confidence="medium",
        reason=(
            f"At best {op} of {short_size(worst['bytes'])} takes {duration(worst['best_ns'])}, in the usual one of "
            f"{worst['groups']} groups of the same kind {duration(worst['usual_ns'])}."
        ),
        fix="Look at the links between these ranks: topology, the network card each uses, routes, error counters.",
    )
