"""Collectives of a claim, summed up and in words."""

from __future__ import annotations

from typing import Any

from traceq.common.units import duration, share, short
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.wording import byte_size
from traceq.diagnosis.subject import Subject


def require_communication(subject: Subject) -> None:
    """Raise CannotTell where GPU work or steps are lacking, and NothingThere where no communication ran on the GPU."""
    subject.needs("gpu", "steps")
    if not subject.present["communication"]:
        raise NothingThere("no communication ran on the GPU")


def sum_up_collectives(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Return what the collectives of a claim have in common: the row of collective_summary.sql."""
    return subject.ask_of(claim, "collective_summary")[0]


def describe_collectives(facts: dict[str, Any]) -> str:
    """Return the row of `sum_up_collectives` in a few words: "84 all_reduce per step, typically 64 MiB each, among 8 ranks"."""
    what = "collectives of unknown kind" if facts["ops"] == "unknown" else facts["ops"]
    words = [f"{short(facts['per_step'])} {what} per step"]
    if facts["bytes"]:
        words.append(f"typically {byte_size(facts['bytes'])} each")
    if facts["group_size"]:
        words.append(f"among {facts['group_size']} ranks")
    return ", ".join(words)


def describe_claim(subject: Subject, claim: Claim) -> str:
    """Return the collectives of a claim in a few words: "84 all_reduce per step, typically 64 MiB each, among 8 ranks"."""
    return describe_collectives(sum_up_collectives(subject, claim))


def describe_overlap(facts: dict[str, Any]) -> str:
    """Return a sentence on the row of `sum_up_collectives`: the collectives, and the share hidden behind compute."""
    return f"{describe_collectives(facts)}; {share(facts['overlap_share'])} of their time overlaps compute."


def describe_late_device(subject: Subject) -> str:
    """Return a sentence on the GPU of the trace that the critical device waits for in collectives; "" for none.

    That GPU is in as many collectives, for a far shorter time.
    """
    if subject.devices <= 1:
        return ""
    found = {row["device"]: row for row in subject.ask("collective_devices")}
    own, last = found.get(subject.device), next(iter(found.values()), None)
    if own is None or last is None or last["collectives"] != own["collectives"]:
        return ""
    if last["step_ns"] > subject.threshold("collective_devices", "far_shorter") * own["step_ns"]:
        return ""
    return (
        f" GPU {last['device']} of this trace spends {duration(last['step_ns'])} per step in the same number of "
        f"collectives, GPU {own['device']} {duration(own['step_ns'])}: most of the difference is waiting for "
        f"GPU {last['device']}, so first find out what makes that one late."
    )
