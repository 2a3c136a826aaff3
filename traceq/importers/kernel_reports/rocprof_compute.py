"""CSV of rocprof-compute and of Omniperf, its older name: counters of each dispatch (pmc_perf.csv), and tables of analyze.

`analyze --save-dfs FOLDER` writes a table a file; that of the speed of light stands for its folder, and the others are read
beside it. Such a table is about the kernels that analyze was asked for: only of a single kernel it says what limits it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from traceq.importers.kernel_reports.cells import NumberStyle, find_delimiter, read_head, read_rows, split_cells
from traceq.importers.kernel_reports.records import ReportedLaunch, ReportedStall, ReportFile

TOOL = "rocprof-compute"
_POINTS = NumberStyle(has_comma_decimals=False)
_COUNTER = re.compile(r"(SQC?|TCC|TCP|TA|TD|SPI|CPC|CPF|GRBM|GL2C)_\w+(\[\d+\])?")
_MOST_TABLES = 200
# Columns of pmc_perf.csv, by version: of rocprof of 2022, of rocprofv2 and rocprofv3.
_DISPATCH = {
    "kernel": ("Kernel_Name", "KernelName"),
    "launch_id": ("Dispatch_ID", "Index"),
    "device": ("GPU_ID", "gpu-id"),
    "threads": ("Grid_Size", "grd"),
    "threads_per_block": ("Workgroup_Size", "wgr"),
    "shared_memory": ("LDS_Per_Workgroup", "lds"),
    "registers": ("Arch_VGPR", "arch_vgpr", "vgpr"),
    "accumulators": ("Accum_VGPR", "accum_vgpr"),
    "begin": ("Start_Timestamp", "BeginNs"),
    "end": ("End_Timestamp", "EndNs"),
    "waiting": ("SQ_WAIT_ANY",),
    "waiting_to_issue": ("SQ_WAIT_INST_ANY",),
    "wave_cycles": ("SQ_WAVE_CYCLES",),
}
# Rows of the table Speed-of-Light of which the share of the peak is taken; of several the greatest.
_SHARES = {
    "compute_throughput": re.compile(r"(VALU|MFMA) Util(ization)?( \(\w+\))?"),
    "memory_throughput": re.compile(r"(vL1D|Vector L1D) Cache BW|L2 Cache BW|L2-Fabric (Read|Write) BW|HBM Bandwidth|LDS BW"
                                    r"|Theoretical LDS Bandwidth"),
    "dram_throughput": re.compile(r"HBM Bandwidth"),
    "l2_throughput": re.compile(r"L2 Cache BW"),
    "l1_throughput": re.compile(r"(vL1D|Vector L1D) Cache BW"),
    "achieved_occupancy": re.compile(r"Wave(front)? Occupancy"),
}  # fmt: skip


class _Tables(NamedTuple):
    """The tables in a folder: shares (0..1) by column, means by name of the metric, and the kernels analysed."""

    shares: dict[str, float]
    means: dict[str, float]
    kernels: list[tuple[str, int]]


def sniff_head(lines: Sequence[str]) -> bool:
    """Return whether a file begins like the counters of dispatches, or like the table of the speed of light."""
    header = split_cells(lines[0]) if lines else []
    return _is_dispatches(header) or _is_speed_of_light(header, lines[1:])


def has_dispatches(path: Path) -> bool:
    """Return whether the file holds counters of dispatches. Raises OSError."""
    lines = read_head(path)
    return bool(lines) and _is_dispatches(split_cells(lines[0]))


def read_report(path: Path) -> ReportFile:
    """Return the dispatches in a file of counters, or what the tables beside that of the speed of light say. Raises OSError."""
    lines = read_head(path)
    if _is_dispatches(split_cells(lines[0])):
        return _read_dispatches(path, lines[0])
    return _read_tables(path)


def _is_dispatches(header: Sequence[str]) -> bool:
    """Return whether a header has a kernel's name, its size and counters of the hardware."""
    names = set(header)
    needed = (names & set(_DISPATCH[part]) for part in ("kernel", "threads", "threads_per_block"))
    return all(needed) and any(_COUNTER.fullmatch(name) for name in header)


def _is_speed_of_light(header: Sequence[str], lines: Sequence[str]) -> bool:
    return (
        {"Metric", "Unit", "Peak"} <= set(header)
        and bool({"Pct of Peak", "PoP"} & set(header))
        and any("VALU" in line for line in lines)
    )


def _read_dispatches(path: Path, header_line: str) -> ReportFile:
    """Return a launch for each dispatch, with the shares of their time that its waves waited."""
    counts: Counter[str] = Counter()
    launches = []
    header: Sequence[str] = ()
    places: dict[str, int] = {}
    for row in read_rows(path, 0, find_delimiter(header_line)):
        if not header and row:
            header = row
            places = {
                part: next(header.index(name) for name in names if name in header)
                for part, names in _DISPATCH.items()
                if any(name in header for name in names)
            }
        elif row is None or (row and (len(row) != len(header) or not row[places["kernel"]])):
            counts["rows_left_out"] += 1
        elif row:
            numbers = {part: _read_number(row[place], counts) for part, place in places.items() if part != "kernel"}
            launches.append(_make_dispatch(row[places["kernel"]], numbers))
    return ReportFile(TOOL, _read_version(path.parent), tuple(launches), **counts)


def _make_dispatch(kernel: str, numbers: Mapping[str, float | None]) -> ReportedLaunch:
    """Return the launch of a dispatch. Grids of AMD count threads; registers are those of vectors and of the matrix cores."""
    known = {part: value for part, value in numbers.items() if value is not None}
    values: dict[str, float] = {name: known[name] for name in ("threads_per_block", "shared_memory") if name in known}
    if known.get("threads_per_block") and "threads" in known:
        values["blocks"] = -(-known["threads"] // known["threads_per_block"])
    if "registers" in known:
        values["registers_per_thread"] = known["registers"] + known.get("accumulators", 0)
    if known.get("end", 0) > known.get("begin", 0) > 0:
        values["dur"] = known["end"] - known["begin"]
    stalls = [
        ReportedStall(reason, known[part] / known["wave_cycles"], None)
        for reason, part in (("dependency", "waiting"), ("issue", "waiting_to_issue"))
        if part in known and known.get("wave_cycles")
    ]
    return ReportedLaunch(
        kernel=kernel,
        page="counters",
        launch_id=_to_integer(known.get("launch_id")),
        device=_to_integer(known.get("device")),
        values=values,
        stalls=tuple(sorted(stalls, key=lambda stall: -(stall.share or 0))),
    )


def _read_tables(path: Path) -> ReportFile:
    """Return the launch that the tables in the file's folder are about, without any where they are about several kernels."""
    counts: Counter[str] = Counter()
    tables = _Tables({}, {}, [])
    _add_table(path, tables, counts, is_speed_of_light=True)
    for other in sorted(path.parent.glob("*.csv"))[:_MOST_TABLES]:
        if other != path:
            _add_table(other, tables, counts, is_speed_of_light=False)
    if len(tables.kernels) != 1:
        return ReportFile(TOOL, None, (), **counts)
    ((kernel, launches),) = tables.kernels
    means = tables.means
    values = dict(tables.shares)
    grid, block = means.get("Grid Size"), means.get("Workgroup Size")
    if block:
        values["threads_per_block"] = block
        if grid is not None and (grid / block).is_integer():
            values["blocks"] = grid / block
    if "VGPRs" in means:
        values["registers_per_thread"] = means["VGPRs"] + means.get("AGPRs", 0)
    for name in ("LDS Allocation", "LDS_Per_Workgroup Allocation"):
        if name in means:
            values["shared_memory"] = means[name]
    if "Kernel Time (Nanosec)" in means or "Kernel Time" in means:
        values["dur"] = means.get("Kernel Time (Nanosec)", means.get("Kernel Time", 0))
    waves = means.get("Wave Cycles")
    stalls = [
        ReportedStall(reason, means[name] / waves, means[name])
        for reason, name in (("dependency", "Dependency Wait Cycles"), ("issue", "Issue Wait Cycles"))
        if waves and name in means
    ]
    launch = ReportedLaunch(
        kernel=kernel,
        page="tables",
        launches=launches,
        values=values,
        stalls=tuple(sorted(stalls, key=lambda stall: -(stall.share or 0))),
    )
    return ReportFile(TOOL, _read_version(path.parent), (launch,), **counts)


def _add_table(path: Path, tables: _Tables, counts: Counter[str], *, is_speed_of_light: bool) -> None:
    """Add what the table in a file says: shares of peaks, means of metrics, or the kernels analysed."""
    rows = (row for row in read_rows(path, 0, ",") if row)
    header = next(rows, [])
    if {"Kernel_Name", "KernelName"} & set(header) and "Count" in header:
        _add_kernels(header, rows, tables)
        return
    mean = next((header.index(name) for name in ("Avg", "Value") if name in header), None)
    if "Metric" not in header or mean is None:
        return
    metric = header.index("Metric")
    share = next((header.index(name) for name in ("Pct of Peak", "PoP") if name in header), None)
    for row in rows:
        if len(row) != len(header):
            counts["rows_left_out"] += 1
        elif is_speed_of_light and share is not None:
            _add_share(tables.shares, row[metric], _read_number(row[share], counts))
        elif share is None and (value := _read_number(row[mean], counts)) is not None:
            tables.means.setdefault(row[metric], value)


def _add_share(shares: dict[str, float], name: str, percent: float | None) -> None:
    """Keep a share of a peak, which is given in percent, where it is the greatest of its column."""
    for column, pattern in _SHARES.items():
        if percent is not None and percent >= 0 and pattern.fullmatch(name):
            shares[column] = max(shares.get(column, 0.0), percent / 100)


def _add_kernels(header: Sequence[str], rows: Iterable[Sequence[str]], tables: _Tables) -> None:
    """Add the kernels that were analysed: those with a star where some have one, else all."""
    place = header.index("Kernel_Name" if "Kernel_Name" in header else "KernelName")
    star = header.index("S") if "S" in header else None
    listed = [row for row in rows if len(row) == len(header)]
    chosen = [row for row in listed if star is not None and row[star].strip() == "*"] or listed
    for row in chosen:
        number = _read_number(row[header.index("Count")], Counter())
        tables.kernels.append((row[place], max(1, _to_integer(number) or 1)))


def _read_version(folder: Path) -> str | None:
    """Return the version of ROCm in the folder's sysinfo.csv, as "ROCm 6.2.1"; None where it does not say."""
    path = folder / "sysinfo.csv"
    if not path.is_file():
        return None
    rows = (row for row in read_rows(path, 0, ",") if row)
    facts = dict(zip(next(rows, []), next(rows, []), strict=False))
    version = facts.get("rocm_version") or facts.get("host_rocmver")
    return f"ROCm {version}" if version else None


def _read_number(text: str, counts: Counter[str]) -> float | None:
    """Return the number in a cell, None for none; text is counted."""
    try:
        return _POINTS.read_number(text)
    except ValueError:
        counts["values_left_out"] += 1
        return None


def _to_integer(value: float | None) -> int | None:
    return int(value) if value is not None and 0 <= value < 1 << 53 else None
