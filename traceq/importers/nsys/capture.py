"""The row of `trace`: nsys version, time, machine, and options of the capture."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from traceq.importers.rows import pseudonym_of

if TYPE_CHECKING:
    from traceq.importers.nsys.context import ImportState
    from traceq.importers.nsys.source import NsysExport

# Captures' own words for what was recorded; everything else in META_DATA_CAPTURE may be private.
OPTIONS = {
    "CAPTURE_EVENT_TYPE", "CUDA_GRAPH_TRACE_OPTIONS:MODE", "COLLECT_GPU_MEMORY_USAGE",
    "COLLECT_UVM_CPU_PAGE_FAULTS", "COLLECT_UVM_GPU_PAGE_FAULTS", "COLLECT_GPU_CTX_SW_TRACE", "RUN_DURATION_MS",
}  # fmt: skip
PLAIN_WORD = re.compile(r"[A-Za-z0-9]{1,30}")
# Zones differ by quarters of an hour.
_QUARTER, _FURTHEST_ZONE, _SAME = timedelta(minutes=15), timedelta(hours=14), timedelta(seconds=2)
_VERSION = re.compile(r"[0-9][0-9A-Za-z.-]{0,40}")
# (rank, world size) as launchers announce them.
RANK_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def build_trace_row(state: ImportState) -> dict[str, Any]:
    """Return the columns of the capture's one row of `trace`; the columns that the file does not tell are None."""
    exported = _read_export_data(state.source)
    rank, world_size = _find_rank(state)
    options = _read_options(state.source) | _recording_length(state.source) | _read_own_record(state.source)
    return {
        "producer": "Nsight Systems",
        "producer_version": _find_version(exported, "EXPORT_PRODUCT_VERSION"),
        "schema_version": _find_version(exported, "EXPORT_SCHEMA_VERSION"),
        "host": _find_host(state.source),
        "rank": rank,
        "world_size": world_size,
        "utc_origin_ns": _utc_origin(state.source),
        "utc_zone_ns": _utc_zone(state.source),
        "args": json.dumps(options) if options else None,
    }


def _read_export_data(source: NsysExport) -> dict[str, str]:
    """Return the export's description as texts by name: versions of nsys and of the schema. {} for files before 2021.

    The table is EXPORT_META_DATA until 2023.2 and META_DATA_EXPORT since.
    """
    tables = ("EXPORT_META_DATA", "META_DATA_EXPORT")
    return {str(name): str(value) for table in tables for name, value in source.fetch_rows(table, ["name", "value"])}


def _find_version(exported: dict[str, str], name: str) -> str | None:
    """Return the version under `name` in the export's description; None where missing or no plain version number."""
    found = _VERSION.fullmatch(exported.get(name, ""))
    return found[0] if found else None


def _read_options(source: NsysExport) -> dict[str, object]:
    """Return the recording options that are safe to keep (see OPTIONS) by lower-cased name.

    "captured" is the sorted list of the kinds of events that were recorded.
    """
    options: dict[str, object] = {}
    kinds: list[str] = []
    for name, value in source.fetch_rows("META_DATA_CAPTURE", ["name", "value"]):
        if name not in OPTIONS or not PLAIN_WORD.fullmatch(str(value)):
            continue
        if name == "CAPTURE_EVENT_TYPE":
            kinds.append(str(value))
        else:
            options[str(name).lower().replace(":", "_")] = str(value)
    return options | ({"captured": sorted(kinds)} if kinds else {})


def _recording_length(source: NsysExport) -> dict[str, object]:
    """Return {"recording": {"dur_ns": ...}}, for how long nsys recorded (ns); {} where the file does not tell.

    The events may cover less: of a cut file, or of a program that hardly used a GPU.
    """
    durations = [
        dur for (dur,) in source.fetch_rows("ANALYSIS_DETAILS", ["duration"]) if isinstance(dur, int) and dur > 0
    ]
    return {"recording": {"dur_ns": max(durations)}} if durations else {}


def _read_own_record(source: NsysExport) -> dict[str, object]:
    """Return {"traceq": ...}, the record that traceq writes into a part cut out of another file; {} in other files."""
    for (text,) in source.fetch_rows("TRACEQ", ["value"]):
        with suppress(ValueError, RecursionError):
            return {"traceq": json.loads(str(text))}
    return {}


def _find_host(source: NsysExport) -> str | None:
    """Return a pseudonym of the recorded machine, None where its name is unknown."""
    rows = source.fetch_rows("TARGET_INFO_SYSTEM_ENV", ["value"], "name = 'Hostname'")
    name = rows[0][0] if rows else None
    if not isinstance(name, str) or not name:
        return None
    return pseudonym_of(name)


def _utc_origin(source: NsysExport) -> int | None:
    """Return the UTC time of the capture's time 0, ns since 1970; None where the file does not tell."""
    rows = source.fetch_rows("TARGET_INFO_SESSION_START_TIME", ["utcEpochNs"])
    return rows[0][0] if rows and isinstance(rows[0][0], int) and rows[0][0] > 0 else None


def _utc_zone(source: NsysExport) -> int | None:
    """Return by how much local time was ahead of UTC at the capture's start (ns), a multiple of a quarter of an hour.

    None where the file does not tell it, or what it tells is no time zone.
    """
    for times in source.fetch_rows("TARGET_INFO_SESSION_START_TIME", ["utcTime", "localTime"]):
        with suppress(ValueError, TypeError):
            utc, local = (datetime.fromisoformat(str(time)) for time in times)
            zone = _QUARTER * round((local - utc) / _QUARTER)
            is_zone = abs(local - utc - zone) <= _SAME and abs(zone) <= _FURTHEST_ZONE
            return int(zone.total_seconds()) * 1_000_000_000 if is_zone else None
    return None


def _find_rank(state: ImportState) -> tuple[int | None, int | None]:
    """Return (rank, world size), None for what is unknown or differs within the file.

    They come from the first source that tells them: MPI's own record (rank only); the launcher's environment variables,
    if a single process used a GPU (with more, they may be those of a parent of several ranks); NCCL's largest
    communicator, which in most programs is that of all ranks.
    """
    ranks = {rank for (rank,) in state.source.fetch_rows("MPI_RANKS", ["rank"])} | set(state.threads.mpi_ranks())
    if ranks:
        rank = ranks.pop()
        return (rank, None) if not ranks and isinstance(rank, int) and rank >= 0 else (None, None)
    return _rank_of_launcher(state) or _rank_of_nccl(state)


def _rank_of_launcher(state: ImportState) -> tuple[int, int] | None:
    """Return (rank, world size) from the launcher's environment variables (see RANK_VARIABLES).

    None where no pair of them is set and sensible, or not exactly one process used a GPU.
    """
    if len(state.gpu_pids) != 1:
        return None
    variables = _numeric_variables(state.source)
    for rank_name, size_name in RANK_VARIABLES:
        rank, size = variables.get(rank_name), variables.get(size_name)
        if rank is not None and size is not None and 0 <= rank < size:
            return rank, size
    return None


def _rank_of_nccl(state: ImportState) -> tuple[int | None, int | None]:
    """Return (rank, world size) by NCCL's largest communicator of each process with GPU work.

    The rank is None unless exactly one process has GPU work, the size is None unless the processes agree on it.
    """
    members = [state.members.get(pid) for pid in state.gpu_pids]
    sizes = {member.ranks if member else None for member in members}
    rank = members[0].rank if len(members) == 1 and members[0] else None
    return rank, sizes.pop() if len(sizes) == 1 else None


def _numeric_variables(source: NsysExport) -> dict[str, int]:
    """Return the launchers' rank variables (see RANK_VARIABLES) that are numbers, by name.

    Nothing else of the recorded environment is kept.
    """
    wanted = {name for pair in RANK_VARIABLES for name in pair}
    found = {}
    where = "name like 'PROCESS%:ENVIRONMENT_VARIABLE'"
    for (text,) in source.fetch_rows("META_DATA_CAPTURE", ["value"], where):
        name, _, value = str(text).partition("=")
        if name in wanted and re.fullmatch(r"[0-9]{1,7}", value):
            found[name] = int(value)
    return found
