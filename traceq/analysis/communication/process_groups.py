"""The process groups of a trace: what the source says of them, and the axis of parallelism that each runs along."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from traceq.analysis.communication.mesh import (
    GroupAxis,
    Mesh,
    ProcessGroup,
    Traffic,
    check_mesh,
    find_axes,
    strides_of,
)
from traceq.database import sql
from traceq.database.query import ask

if TYPE_CHECKING:
    import duckdb

_TRAFFIC = ("op", "count", "steps", "phased", "forward", "early", "hidden", "tensor", "data", "experts", "context")

# What PyTorch calls groups of which it knows no more.
_UNTOLD = ("default_pg", "undefined", "")


def fill_process_groups(connection: duckdb.DuckDBPyConnection, trace_id: int, mesh: Mesh) -> None:
    """Fill process_group and mesh_axis for a trace; `mesh` is what the user gave, empty without.

    Raises WrongUse if the mesh does not have as many ranks as the trace says.
    """
    world, args = connection.execute(
        "select world_size, args from trace where trace_id = $1", [trace_id]
    ).fetchone() or (None, None)
    check_mesh(mesh, world)
    strides = strides_of(mesh)
    if mesh:
        connection.executemany(
            "insert into mesh_axis values ($1, $2, $3, $4, $5)",
            [(trace_id, place, axis.name, axis.size, strides[axis.name]) for place, axis in enumerate(mesh)],
        )
    groups = list(_list_groups(_read_configured(args), _read_traffic(connection)))
    if groups:
        found = find_axes(groups, world, mesh)
        connection.executemany(
            "insert into process_group values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                _build_row(trace_id, group, axis, is_only=_is_only(group, groups))
                for group, axis in zip(groups, found, strict=True)
            ],
        )


def _build_row(trace_id: int, group: ProcessGroup, axis: GroupAxis, *, is_only: bool) -> tuple[Any, ...]:
    """Return the row of process_group of a group."""
    ranks = None if group.ranks is None else list(group.ranks)
    return trace_id, group.name, group.described, group.size, ranks, axis.stride, axis.axis, axis.source, is_only


def _is_only(group: ProcessGroup, groups: Sequence[ProcessGroup]) -> bool:
    """Return whether no other group of the trace has several ranks."""
    several = [other for other in groups if other.size is None or other.size > 1]
    return several == [group]


def _read_traffic(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return the rows of process_group.sql: by group and operation."""
    return ask(connection, sql.statement("analysis/communication/process_group.sql"))


def _read_configured(args: str | None) -> dict[str, ProcessGroup]:
    """Return, by name, the groups that PyTorch lists in pg_config; `args` is the JSON of trace.args."""
    try:
        listed = (json.loads(args) if args else {}).get("pg_config")
    except (ValueError, AttributeError):
        return {}
    found = (_read_group(entry) for entry in listed if isinstance(entry, dict)) if isinstance(listed, list) else ()
    # a group of Gloo carries nothing that a GPU does
    return {group.name: group for group in found if group is not None and group.name is not None}


def _read_group(entry: Mapping[str, Any]) -> ProcessGroup | None:
    """Return a group of pg_config; None for one without a name, or that has no backend for GPUs."""
    name = entry.get("pg_name", entry.get("uid"))
    backend = str(entry.get("backend_config", ""))
    if name is None or ("gloo" in backend and "nccl" not in backend):
        return None
    ranks = _read_ranks(entry.get("ranks"))
    size = entry.get("pg_size")
    size = size if isinstance(size, int) else len(ranks) if ranks else None
    return ProcessGroup(
        str(name), _keep_description(entry.get("pg_desc")), size, ranks if ranks and len(ranks) == size else None
    )


def _keep_description(described: object) -> str | None:
    """Return a description that says something, else None."""
    return described if isinstance(described, str) and described not in _UNTOLD else None


def _read_ranks(listed: object) -> tuple[int, ...] | None:
    """Return ranks in order, from a list or its text; None for anything else (PyTorch cuts lists of more than 30)."""
    if isinstance(listed, str):
        try:
            listed = msgspec.json.decode(listed)
        except msgspec.DecodeError:
            return None
    if not isinstance(listed, list) or not all(isinstance(rank, int) and 0 <= rank < 1 << 31 for rank in listed):
        return None
    return tuple(sorted(set(listed))) or None


def _list_groups(configured: dict[str, ProcessGroup], rows: Sequence[Mapping[str, Any]]) -> Iterator[ProcessGroup]:
    """Yield the process groups of a trace: those that carry something first, then those that are only listed.

    Collectives that name no group count for the only listed one of several ranks; without one they are of no group.
    """
    several = [group for group in configured.values() if group.size is None or group.size > 1]
    only = several[0].name if len(several) == 1 else None
    named = [{**row, "group_name": row["group_name"] or only} for row in rows]
    used = [row for row in named if row["group_name"] is not None]
    seen = set()
    for name, parts in groupby(sorted(used, key=itemgetter("group_name")), key=itemgetter("group_name")):
        every = list(parts)
        seen.add(name)
        known = configured.get(name, ProcessGroup(name, None, None, None))
        yield _join_facts(known, every)
    yield from (group for name, group in configured.items() if name not in seen)


def _join_facts(known: ProcessGroup, rows: Sequence[Mapping[str, Any]]) -> ProcessGroup:
    """Return what is known of a group together with what its collectives say."""
    size = known.size or max((row["group_size"] for row in rows if row["group_size"] is not None), default=None)
    ranks = known.ranks or next(
        (found for row in rows if (found := _read_ranks(row["ranks"])) and len(found) == size), None
    )
    described = known.described or next(filter(None, (_keep_description(row["described"]) for row in rows)), None)
    traffic = tuple(msgspec.convert({name: row[name] or 0 for name in _TRAFFIC}, Traffic, strict=False) for row in rows)
    return ProcessGroup(known.name, described, size, ranks, traffic)
