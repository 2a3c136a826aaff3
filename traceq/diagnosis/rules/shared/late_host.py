"""What the host did while it was late, in words."""

from __future__ import annotations

from traceq.common.units import duration, share
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.culprits import Place, places
from traceq.diagnosis.rules.shared.wording import cut
from traceq.diagnosis.subject import Subject

# Of parts so many are named: more are no sentence.
_MOST = 4
_MOST_INSIDE = 3


def described(subject: Subject, claim: Claim) -> str:
    """Where the time of a claim went, per step and as a share: "preprocess 178 ms (81 %; rescale 15 %), decode 36 ms (16 %)"."""
    found = places(subject.culprits(claim))[:_MOST]
    return ", ".join(_part(subject, place) for place in found) or "nothing with a name"


def _part(subject: Subject, place: Place) -> str:
    inside = ", ".join(f"{cut(each.name)} {share(each.share)}" for each in place.parts[:_MOST_INSIDE])
    return f"{cut(place.name)} {duration(place.dur / subject.steps)} ({share(place.share)}{f'; {inside}' if inside else ''})"
