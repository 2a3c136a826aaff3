"""Events one at a time, in Python: those that the fast way leaves over, with members and arguments of any type."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from traceq.importers.chrome import gpu, host, uncategorized
from traceq.importers.chrome.rows import BlockRows
from traceq.importers.chrome.times import is_inexact, parse_durations, parse_starts

# Stands for an event that could not be decoded and was counted as such.
DROPPED = "dropped"

# Phases of flow events: redundant with correlation and external ids.
_FLOWS = frozenset("stf")

# Phase of other events than X -> family of rows.
_FAMILY_OF_PHASE = {"i": "instant", "I": "instant", "C": "counter", **dict.fromkeys("BEbneSTF", "range")}

# Chrome category -> family of rows. Capitalised names are those of 2021.
FAMILY_OF_CATEGORY = {
    "cpu_op": "op", "operator": "op", "hpu_op": "op",
    "user_annotation": "annotation",
    "cuda_runtime": "runtime", "cuda_driver": "runtime", "runtime": "runtime", "mtia_runtime": "runtime",
    "glow_runtime": "runtime", "xpu_runtime": "runtime", "xpu_driver": "runtime", "privateuse1_runtime": "runtime",
    "privateuse1_driver": "runtime",
    "python_function": "python",
    "overhead": "overhead",
    "kernel": "kernel", "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset", "memset": "memset",
    "gpu_user_annotation": "gpu_annotation",
    "cuda_sync": "synchronization", "xpu_sync": "synchronization",
    "cuda_event": "cuda_event",
}  # fmt: skip

# In 2021 user annotations were written as operators; these are the ones PyTorch itself makes.
_OLD_ANNOTATIONS = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)")


_EMPTY = msgspec.Raw(b"{}")
LooseEvent: Any = msgspec.defstruct(
    "LooseEvent",
    [
        *((name, Any, None) for name in ("ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "id2", "scope")),
        ("args", msgspec.Raw, _EMPTY),
    ],
)
"""An event whose members may have any type; args stays text."""
_loose_event = msgspec.json.Decoder(LooseEvent)


def add_loosely(rows: BlockRows, texts: Sequence[Any], numbers: Sequence[int]) -> None:
    """Decode events (JSON texts) one by one, in Python, and add their rows to `rows`; `numbers` are their numbers.

    Text that is no event is counted as malformed_event, and its number stays unused.
    """
    groups: dict[tuple[str, Any], list[tuple[int, Any]]] = defaultdict(list)
    for number, text in zip(numbers, texts, strict=True):
        event = _decode_event(text, rows.notes)
        groups[event.ph, event.cat].append((number, event))
    for (phase, category), members in groups.items():
        _add_group(phase, category, members, rows)


def _decode_event(text: Any, notes: Counter[str]) -> Any:
    """Return the event in a JSON text as a LooseEvent; text that is none is counted, and its phase is DROPPED.

    Times too large for an exact double are Decimal.
    """
    try:
        event: Any = _loose_event.decode(text)
        if is_inexact(event.ts) or is_inexact(event.dur):
            members = json.loads(bytes(text), parse_float=Decimal)
            event.ts, event.dur = members.get("ts"), members.get("dur")
        # Here, where a list that is nested too deep to be written costs its event only.
        for name in ("pid", "tid", "cat", "name", "id", "scope"):
            if isinstance(getattr(event, name), (list, dict)):
                setattr(event, name, str(getattr(event, name)))
    except (ValueError, RecursionError):
        notes["malformed_event"] += 1
        event = LooseEvent(ph=DROPPED)
    event.ph = event.ph if isinstance(event.ph, str) else ""
    return event


def _add_group(phase: str, category: Any, members: list[tuple[int, Any]], rows: BlockRows) -> None:
    """Add the rows of events, given as (number, event), of one phase and category; count those that no table holds."""
    chosen = [event for _, event in members]
    families = _split_families(phase, category, members)
    for family, of_family in families.items():
        _build_family(family, category, of_family, rows)
    if phase == "M":
        rows.metadata += [(str(event.name), (event.pid, event.tid), bytes(event.args)) for event in chosen]
    elif phase in _FLOWS:
        rows.notes["flow_not_stored"] += len(chosen)
    elif not families and phase != DROPPED:
        empty = sum(not event.ph and event.name is None and event.ts is None for event in chosen)
        rows.notes["empty_event"] += empty
        rows.notes["phase_not_stored"] += len(chosen) - empty


def _split_families(phase: str, category: Any, members: list[tuple[int, Any]]) -> dict[str, list[tuple[int, Any]]]:
    """Return (number, event) pairs of one phase and category by family of rows; {} when no table holds such events."""
    if phase == "X" and category == "Operator":
        families: dict[str, list[tuple[int, Any]]] = {"annotation": [], "op": []}
        for number, event in members:
            is_annotation = str(event.name).startswith(_OLD_ANNOTATIONS)
            families["annotation" if is_annotation else "op"].append((number, event))
        return families
    if phase == "X" and category is None:
        of_family: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        for number, event in members:
            of_family[uncategorized.find_family(event)].append((number, event))
        return of_family
    if phase == "X":
        return {FAMILY_OF_CATEGORY.get(str(category).lower(), "other"): members}
    return {_FAMILY_OF_PHASE[phase]: members} if phase in _FAMILY_OF_PHASE else {}


def _build_family(family: str, category: Any, members: list[tuple[int, Any]], rows: BlockRows) -> None:
    """Add the rows of events of one family, given as (number, event); those without a usable time are counted instead."""
    ids = np.array([number for number, _ in members], dtype=np.int64)
    events = [event for _, event in members]
    ts, valid = parse_starts([event.ts for event in events], rows.notes)
    if not valid.all():
        events = [event for event, usable in zip(events, valid, strict=True) if usable]
        ids, ts = ids[valid], ts[valid]
    if not events:
        return
    if family == "counter":
        rows.batches += host.build_counter_batches(events, ts, rows.notes)
        return
    if family == "range":
        of_category = FAMILY_OF_CATEGORY.get(str(category).lower())
        rows.ranges += host.build_range_ends(events, ids, ts, _number_threads(events, ids, rows), of_category)
        return
    dur = parse_durations([event.dur for event in events], rows.notes) if family != "instant" else np.zeros_like(ts)
    if family in gpu.FAMILIES:
        rows.batches += gpu.build_batches(family, events, ids, ts, dur, rows.notes)
        return
    rows.batches += host.build_batches(
        family, category, events, ids, ts, dur, _number_threads(events, ids, rows), rows.notes
    )


def _number_threads(events: Sequence[Any], ids: npt.NDArray[np.int64], rows: BlockRows) -> list[int]:
    """Return the number of each event's track (process and thread) in `rows`, where new tracks are added."""
    return [rows.number((event.pid, event.tid), number) for event, number in zip(events, ids.tolist(), strict=True)]
