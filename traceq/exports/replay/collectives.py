"""Collectives of a trace as a script that runs them again on processes of one machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.exports.replay.arguments import ELEMENT_TYPES
from traceq.exports.replay.script import format_text, replace_data

if TYPE_CHECKING:
    import duckdb

# By the words of NCCL, gloo, PyTorch and FSDP; the first that fits.
_KINDS = (
    ("reduce_scatter", re.compile(r"reduce_?scatter")),
    ("all_reduce", re.compile(r"all_?reduce")),
    ("all_gather", re.compile(r"all_?gather")),
    ("all_to_all", re.compile(r"all_?to_?all")),
    ("broadcast", re.compile(r"broadcast")),
)
_TYPES = {
    **{name.casefold().removeprefix("c10::"): type_ for name, type_ in ELEMENT_TYPES.items()},
    "byte": "uint8",
    "char": "int8",
}
_REDUCTIONS = frozenset({"SUM", "AVG", "MAX", "MIN", "PRODUCT"})


class CollectiveCalls(NamedTuple):
    """A collective of a trace with equal sizes: how often and how long it ran, in ns. None is what the trace does not say."""

    trace: str
    name: str
    dtype: str | None
    in_elements: int | None
    out_elements: int | None
    group_size: int | None
    reduction: str | None
    bytes: int | None
    calls: int
    total_dur: int
    median_dur: int
    least_dur: int
    step: int | None
    device: str | None
    on_gpu: bool
    is_wanted: bool


def read_collectives(
    connection: duckdb.DuckDBPyConnection, trace_id: int, slices: Sequence[int] = ()
) -> list[CollectiveCalls]:
    """Return the collectives of a trace, those with most time first; `slices` are those that are wanted (`is_wanted`)."""
    rows = ask(connection, statement("exports/replay/collectives.sql"), trace_id=trace_id, slices=list(slices))
    return [CollectiveCalls(**row) for row in rows]


def name_kind(op: str) -> str | None:
    """Return all_reduce, all_gather, ...; None for an operation that is none of them."""
    return next((kind for kind, pattern in _KINDS if pattern.search(op.casefold())), None)


def check_replayable(collective: CollectiveCalls) -> None:
    """Raise ValueError for a collective that cannot be run again, which says what the trace lacks."""
    if name_kind(collective.name) is None:
        raise ValueError(f"it is none of {', '.join(kind for kind, _ in _KINDS)}")
    if collective.group_size is None:
        raise ValueError(
            "the trace lacks the size of its process group; record the trace with record_shapes=True in PyTorch 2.2 or newer"
        )
    if collective.group_size < 2:  # noqa: PLR2004
        raise ValueError("its process group is of one rank: nothing is sent")
    if not collective.in_elements and not collective.out_elements:
        raise ValueError("the trace lacks how many elements it has; record the trace with record_shapes=True")
    if (collective.dtype or "").casefold().removeprefix("c10::") not in _TYPES:
        raise ValueError(f"its elements are of the type {collective.dtype!r}, which cannot be made again")


def write_collectives(collectives: Sequence[CollectiveCalls]) -> str:
    """Return the text of a script that runs the collectives, which must be replayable; it needs PyTorch only."""
    harness = Path(__file__).with_name("collective_harness.py").read_text("utf-8")
    data = "".join(_format_collective(collective) for collective in collectives)
    return replace_data(harness, f"COLLECTIVES: list[CollectiveCall] = [\n{data}]\n")


def _format_collective(collective: CollectiveCalls) -> str:
    """Return the collective as source text, a field a line."""
    ranks = collective.group_size or 0
    kind = name_kind(collective.name)
    into = collective.in_elements or 0
    out = collective.out_elements or 0
    # one follows from the other
    into = into or {"all_gather": out // max(ranks, 1), "reduce_scatter": out * ranks}.get(str(kind), out)
    out = out or {"all_gather": into * ranks, "reduce_scatter": into // max(ranks, 1)}.get(str(kind), into)
    reduction = (collective.reduction or "SUM").upper()
    fields: dict[str, Any] = {
        "name": format_text(collective.name),
        "kind": format_text(str(kind)),
        "dtype": format_text(_TYPES[(collective.dtype or "").casefold().removeprefix("c10::")]),
        "in_elements": f"{into:_}",
        "out_elements": f"{out:_}",
        "ranks": ranks,
        "reduction": format_text(reduction if reduction in _REDUCTIONS else "SUM"),
        "trace": format_text(collective.trace),
        "step": collective.step,
        "calls": collective.calls,
        "median_ns": f"{collective.median_dur:_}",
        "least_ns": f"{collective.least_dur:_}",
        "on_gpu": collective.on_gpu,
        "device": None if collective.device is None else format_text(collective.device),
    }
    lines = "".join(f"        {name}={value},\n" for name, value in fields.items())
    return f"    CollectiveCall(\n{lines}    ),\n"
