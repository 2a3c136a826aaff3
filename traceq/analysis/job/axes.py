"""The axis of parallelism of each process group of a job, and the time of its ranks in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from traceq.analysis.communication.mesh import (
    AXES,
    WORLD,
    GroupAxis,
    Mesh,
    MeshAxis,
    axis_of_members,
    axis_of_size,
    stride_of,
)
from traceq.database import sql
from traceq.database.query import ask

if TYPE_CHECKING:
    import duckdb

_GROUP_AXIS = pa.schema({
    "number": pa.int64(), "group_name": pa.string(), "description": pa.string(), "group_size": pa.int32(),
    "units": pa.list_(pa.int32()), "stride": pa.int32(), "axis": pa.string(), "axis_source": pa.string(),
})  # fmt: skip

# What tells an axis, the surest first.
_SOURCES = ("given", "description", "mesh", "inferred")


def fill_groups(connection: duckdb.DuckDBPyConnection) -> None:
    """Fill the tables on process groups of jobs: job_group, job_axis_rank and job_pair."""
    sql.run(connection, "analysis/job/job_group_time.sql")
    mesh = _read_mesh(connection)
    groups = ask(connection, sql.statement("analysis/job/job_group_found.sql"))
    rows = [_build_row(group, find_axis_of_group(group, groups, mesh)) for group in groups]
    connection.register("_job_rows", pa.Table.from_pylist(rows, _GROUP_AXIS))
    connection.execute("create or replace temp table _job_group_axis as from _job_rows")
    connection.unregister("_job_rows")
    sql.run(connection, "analysis/job/job_group.sql")


def _read_mesh(connection: duckdb.DuckDBPyConnection) -> Mesh:
    """Return the mesh that was given for the traces; empty where none was, or different ones were."""
    meshes = connection.execute(
        "select distinct list({'name': axis, 'size': size} order by place) from mesh_axis group by trace_id"
    ).fetchall()
    return tuple(MeshAxis(axis["name"], axis["size"]) for axis in meshes[0][0]) if len(meshes) == 1 else ()


def _build_row(group: Mapping[str, Any], found: GroupAxis) -> dict[str, Any]:
    """Return the row of _job_group_axis of a group of job_group_found.sql."""
    kept = {name: group[name] for name in ("number", "group_name", "description", "group_size")}
    return {
        **kept,
        "units": sorted(group["units"]),
        "stride": found.stride,
        "axis": found.axis,
        "axis_source": found.source,
    }


def find_axis_of_group(group: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], mesh: Mesh) -> GroupAxis:
    """Return the axis of a job's group, which is the world where it has all ranks and no axis, and others have fewer.

    `groups` are all that job_group_found.sql returns.
    """
    found = axis_of_group(group, mesh)
    if found.axis is not None or len(group["ranks"]) != (group["world_size"] or group["job_ranks"]):
        return found
    several = [
        other for other in groups if (other["job"], other["time_window"]) == (group["job"], group["time_window"])
    ]
    is_among_smaller = any(len(other["ranks"]) < len(group["ranks"]) for other in several)
    return found._replace(axis=WORLD, source="mesh") if is_among_smaller else found


def axis_of_group(group: Mapping[str, Any], mesh: Mesh) -> GroupAxis:
    """Return the axis of a job's group: by the mesh given, its ranks' coordinates, or what their traces say.

    `group` has what job_group_found.sql returns.
    """
    ranks = sorted(group["ranks"])
    is_whole = group["group_size"] in (None, len(ranks))
    stride = stride_of(ranks) if is_whole else None
    given = axis_of_members(mesh, ranks) if is_whole else axis_of_size(mesh, group["group_size"])
    if given is not None:
        return GroupAxis(given, "given", stride)
    (axis, source) = _find_agreement(group["axes"] or (), group["sources"] or ())
    varying = [name for name in AXES if (group.get(name) or 0) > 1]
    if len(varying) == 1 and source != "given":
        return GroupAxis(varying[0], "coordinates", stride)
    if source in ("given", "description"):
        return GroupAxis(axis, source, stride)
    # ranks that no trace lists alone are known here
    is_part = stride is not None and len(ranks) < (group["world_size"] or 0)
    return GroupAxis(axis, "mesh" if axis is not None and is_part else source, stride)


def _find_agreement(axes: Sequence[str], sources: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the axis that all ranks tell, and the surest source of it; None, None where they tell none or several."""
    if len(axes) != 1:
        return None, None
    return axes[0], min(sources, key=_SOURCES.index)
