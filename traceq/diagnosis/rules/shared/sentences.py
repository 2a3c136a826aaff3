"""Facts of a claim or a trace in phrases and sentences: copies, allocations, waits and input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from traceq.common.units import duration, share, short_size, some
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import cut_name, gb_per_s, per_step, round_count, share_of, times_per_step
from traceq.diagnosis.subject import Subject

_WAY = {"h2d": "to the device", "d2h": "to the host", "d2d": "within the device", "p2p": "between devices"}
# What to do where the work is too little to be worth the copies, by category of the ledger.
_POINTLESS = {
    "copy_h2d": "Do this work on the host, where the data is, or do more on the GPU with what was copied.",
    "copy_d2h": "Do this work on the host, or do more on the GPU before the result leaves it.",
    "copy_other": "Do this work where the data is, or do more with what was copied.",
}


def describe_allocations(subject: Subject, rows: list[dict[str, Any]]) -> str:
    """Return the first rows of allocation_facts.sql as a phrase: "cudaMalloc 12 per step (0.4 ms)"."""
    return ", ".join(
        f"{row['name']} {times_per_step(subject, row['calls'])} ({per_step(subject, row['dur_ns'] / subject.steps)})"
        for row in rows[:3]
    )


def describe_waits(subject: Subject, rows: list[dict[str, Any]]) -> str:
    """Return rows of host_wait_place.sql as a phrase: "cudaStreamSynchronize in aten::item: 2 per step, 0.3 ms per step"."""
    return "; ".join(_describe_wait(subject, row) for row in rows)


def _describe_wait(subject: Subject, row: dict[str, Any]) -> str:
    within = cut_name(row["operator"]) if row["operator"] else ""
    around = [cut_name(row["annotation"]) if row["annotation"] else "", row["phase"] or ""]
    where = ", ".join(dict.fromkeys(filter(None, around)))
    return (
        f"{row['name']}{f' in {within}' if within and within != row['name'] else ''}{f' ({where})' if where else ''}: "
        f"{times_per_step(subject, row['calls'])}, {per_step(subject, row['claimed_ns'] / subject.steps)}"
    )


def describe_copies(subject: Subject, claim: Claim) -> str:
    """Return a sentence on the number, bytes and speed of a claim's copies by direction; "" without copies."""
    parts = []
    for row in subject.ask_of(claim, "copy_sums"):
        number = round_count(row["copies"])
        way = f" {_WAY[row['direction']]}" if row["direction"] in _WAY else ""
        speed = f", {gb_per_s(row['bandwidth'])}" if row["bandwidth"] else ""
        parts.append(
            f"{number} {'copy' if number == '1' else 'copies'}{way} ({short_size(row['bytes'])} in all{speed})"
        )
    return f"These are {' and '.join(parts)}{'' if subject.is_window else ' per step'}." if parts else ""


def describe_exposed_copies(subject: Subject, facts: Mapping[str, Any], claimed_ns: float, remedy: str) -> str:
    """Return advice: the `remedy`, how the copies were asked for, and how much of their time compute could hide.

    `facts` is a row of exposed_copy_facts.sql, `claimed_ns` the time of the copies per step.
    """
    asked = _describe_calls(facts)
    if facts["waiting_for_other"]:
        asked += (
            f"{facts['waiting_for_other']} copies in one direction were requested on another stream while a "
            "copy in the other direction was running, and began only when that was done: the GPU, or its "
            "driver, has one engine for both directions (see the device's asyncEngineCount). "
        )
    if facts["hidden_share"] >= subject.threshold("exposed_copy_facts", "hiding"):
        return f"{remedy} {asked}The compute that follows them could hide {share(facts['hidden_share'])} of the time."
    compute = duration(facts["compute"] / subject.steps)
    asked += f"There is too little compute ({compute}) to hide {duration(claimed_ns)} behind."
    if facts["is_pointless"]:
        return (
            f"{_POINTLESS[facts['category']]} So little work is not worth moving the data for. What has to be "
            f"moved takes half as long in 16 bits as in 32. {asked}"
        )
    return f"Copy fewer bytes. {remedy} {asked}"


def _describe_calls(facts: Mapping[str, Any]) -> str:
    if facts["blocking"] and facts["blocking"] == facts["copies"]:
        return "Their calls block the host until they are done. "
    if facts["returning"] == facts["copies"] and facts["pinned"] == facts["copies"]:
        streams = facts["streams"]
        return (
            f"Their calls return at once and their memory is pinned; they run on {streams} stream{'s'[: streams > 1]}. "
        )
    return ""


def workers_needed(subject: Subject, facts: dict[str, Any]) -> int:
    """Return how many workers must each prepare a batch to keep up with steps: at least 2, at most the cores.

    `facts` is a row of input_facts.sql.
    """
    most = int(subject.threshold("input_facts", "most_workers"))
    elsewhere = facts["total_ns"] - facts["fetch_ns"]
    needed = math.ceil(facts["fetch_ns"] / elsewhere) if elsewhere > 0 else most
    return int(min(max(2, min(needed, most)), facts.get("cores") or most))


def describe_fetch_work(subject: Subject, facts: dict[str, Any]) -> str:
    """Return a sentence on the functions that the time of fetching input goes to; "" where the trace does not show it."""
    if not facts["fetch_ns"]:
        return ""
    least = subject.threshold("input_work", "worth_naming")
    rows = [(row["name"], row["own_ns"] / facts["fetch_ns"]) for row in subject.ask("input_work")]
    listed = ", ".join(f"{cut_name(name)} {share(part)}" for name, part in rows if part >= least)
    return f"Most of the fetching time goes to {listed}. " if listed else ""


def describe_worker_work(subject: Subject) -> str:
    """Return sentences on what the loader's workers were sampled in; "" where none were, or too few times."""
    rows = subject.ask("worker_work")
    if not rows:
        return ""
    first = rows[0]
    sampled = f"{some(first['workers'], 'sampled worker')} of the loader"
    verb = "prepares" if first["workers"] == 1 else "prepare"
    said = f"{sampled} {verb} input {share(first['fetching'])} of the time"
    listed = ", ".join(f"{cut_name(row['function'])} {share(row['share'])}" for row in rows if row["function"])
    return f"{said}: {listed}. " if listed else f"{said}. "


def mean_fetch(facts: dict[str, Any]) -> str:
    """Return the mean length of a fetch of input as text with its unit; 0 without fetches."""
    return duration(share_of(facts["fetch_ns"], facts["fetches"]))
