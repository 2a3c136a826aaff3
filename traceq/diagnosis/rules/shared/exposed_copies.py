"""What exposed_copy_h2d, exposed_copy_d2h and exposed_copy_other say of the rest of a category of copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traceq.diagnosis.rules.shared.wording import percent, time
from traceq.diagnosis.subject import Subject

# What to do where the work is too little to be worth the copies, by category of the ledger.
_POINTLESS = {
    "copy_h2d": "Do this work on the host, where the data is, or do more on the GPU with what was copied.",
    "copy_d2h": "Do this work on the host, or do more on the GPU with what is there before the result leaves it.",
    "copy_other": "Do this work where the data is, or do more with what was copied.",
}


def described(subject: Subject, facts: Mapping[str, Any], claimed_ns: float, remedy: str) -> str:
    """What to do, how copies were asked for, and what could run beside them; `facts` as in exposed_copy_facts.sql."""
    asked = _asked(facts)
    if facts["waiting_for_other"]:
        asked += (
            f"{facts['waiting_for_other']} copies of one direction were asked for on another stream while one of the other "
            "direction was running, and began when that was done: the GPU, or its driver, has one engine for both directions "
            "(the device's asyncEngineCount). "
        )
    if facts["hidden_share"] >= subject.threshold("exposed_copy_facts", "hiding"):
        return f"{remedy} {asked}The compute that follows them could hide {percent(facts['hidden_share'])} of the time."
    compute = time(facts["compute"] / subject.steps)
    asked += f"There is little to hide {time(claimed_ns)} behind: compute takes {compute}."
    if facts["is_pointless"]:
        return (
            f"{_POINTLESS[facts['category']]} For so little work the data is not worth moving. What has to be moved takes half "
            f"as long in 16 bits as in 32. {asked}"
        )
    return f"Copy fewer bytes. {remedy} {asked}"


def _asked(facts: Mapping[str, Any]) -> str:
    if facts["blocking"] and facts["blocking"] == facts["copies"]:
        return "Their calls hold the host until they are done. "
    if facts["returning"] == facts["copies"] and facts["pinned"] == facts["copies"]:
        streams = facts["streams"]
        return (
            f"Their calls return at once and their memory is pinned; they run on {streams} stream{'s'[: streams > 1]}. "
        )
    return ""
