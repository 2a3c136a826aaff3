"""Match the launches that a kernel profiler measured with the kernels of the trace, by name and launch geometry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from traceq.common.kernel_names import are_same_kernel, function_of_kernel, template_of_kernel

if TYPE_CHECKING:
    import duckdb

_SIZES = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
_Size = tuple[int | None, ...]


class TraceKernel(NamedTuple):
    """A kernel of the trace: its name, and blocks in x, y, z with threads per block in x, y, z."""

    name: str
    size: _Size


class ReportRow(NamedTuple):
    """A row of kernel_report: its number, the kernel's name, its size as in TraceKernel, and products of that."""

    report_id: int
    kernel: str
    size: _Size
    blocks: int | None
    threads: int | None


class ReportMatch(NamedTuple):
    """A kernel of the trace with the report that is about it."""

    kernel: TraceKernel
    report_id: int
    matched_by: str


def match_reports(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Fill the table reported_kernel for the trace."""
    kernels = connection.execute(
        "select distinct name, grid_x, grid_y, grid_z, block_x, block_y, block_z"
        " from gpu_slice where trace_id = $1 and kind = 'kernel' order by all",
        [trace_id],
    ).fetchall()
    every_report = connection.execute(
        "select report_id, kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, blocks, threads_per_block,"
        " compute_capability from kernel_report where trace_id = $1 order by report_id",
        [trace_id],
    ).fetchall()
    capabilities = {
        capability
        for (capability,) in connection.execute(
            "select compute_capability from device where trace_id = $1", [trace_id]
        ).fetchall()
    }
    reports = [row[:-1] for row in every_report if not _is_of_another_gpu(row[-1], capabilities)]
    _note_other_gpus(connection, trace_id, len(every_report) - len(reports), capabilities)
    found = find_matches(
        [TraceKernel(name, tuple(size)) for name, *size in kernels],
        [ReportRow(number, kernel, tuple(rest[:6]), rest[6], rest[7]) for number, kernel, *rest in reports],
    )
    _note_others(connection, trace_id, reports, {match.report_id for match in found})
    if not found:
        return
    columns = {
        "trace_id": pa.array([trace_id] * len(found), pa.int32()),
        "name": pa.array((match.kernel.name for match in found), pa.string()),
        **{
            name: pa.array((match.kernel.size[place] for match in found), pa.int32())
            for place, name in enumerate(_SIZES)
        },
        "report_id": pa.array((match.report_id for match in found), pa.int64()),
        "matched_by": pa.array((match.matched_by for match in found), pa.string()),
    }
    connection.register("_rows", pa.table(columns))
    connection.execute("insert into reported_kernel by name from _rows")
    connection.unregister("_rows")


def _is_of_another_gpu(capability: str | None, capabilities: set[str | None]) -> bool:
    """Return whether a report's compute capability is none of those of the trace's GPUs, all of which are known."""
    return capability is not None and bool(capabilities) and not {capability, None} & capabilities


def _note_other_gpus(
    connection: duckdb.DuckDBPyConnection, trace_id: int, launches: int, capabilities: set[str | None]
) -> None:
    """Insert a note on the launches in reports that another model of GPU ran, which say nothing of the trace's kernels."""
    if not launches:
        return
    text = (
        "launches in reports of kernel profilers that ran on a GPU of another compute capability than the trace's"
        f" ({', '.join(sorted(filter(None, capabilities)))}): they are matched with no kernel"
    )
    connection.execute(
        "insert into import_note by name select $trace_id as trace_id, 'data_loss' as severity,"
        " 'kernel_report_of_another_gpu' as code, $count as count, $text as text",
        {"trace_id": trace_id, "count": launches, "text": text},
    )


def _note_others(
    connection: duckdb.DuckDBPyConnection, trace_id: int, reports: Sequence[tuple[int, str]], matched: set[int]
) -> None:
    """Insert a note on the rows of reports that are about no launch of the trace."""
    others = sum(number not in matched for number, *_ in reports)
    if not others:
        return
    text = (
        "launches in reports of kernel profilers whose kernel the trace does not launch with the same grid and block, or of which"
        " several kernels could be meant: those of kernel_report that reported_kernel lacks"
    )
    connection.execute(
        "insert into import_note by name select $trace_id as trace_id, 'info' as severity,"
        " 'kernel_report_not_matched' as code, $count as count, $text as text",
        {"trace_id": trace_id, "count": others, "text": text},
    )


def find_matches(kernels: Sequence[TraceKernel], reports: Sequence[ReportRow]) -> list[ReportMatch]:
    """Return each kernel of the trace with the reports about it, in the order of both.

    The same name goes before the same template, and that before a name without one; where only the function's name agrees,
    several kernels or reports that could be meant are none.
    """
    by_function: defaultdict[str, list[ReportRow]] = defaultdict(list)
    for report in reports:
        by_function[function_of_kernel(report.kernel) or report.kernel].append(report)
    alike: defaultdict[str, list[TraceKernel]] = defaultdict(list)
    for kernel in kernels:
        function = function_of_kernel(kernel.name) or kernel.name
        if function in by_function:
            alike[function].append(kernel)
    found: list[ReportMatch] = []
    for function, members in alike.items():
        found += _match_alike(members, by_function[function])
    return found


def _match_alike(kernels: Sequence[TraceKernel], reports: Sequence[ReportRow]) -> list[ReportMatch]:
    """Return the matches among kernels and reports of one function."""
    sizes_of: defaultdict[str, set[_Size]] = defaultdict(set)
    for kernel in kernels:
        sizes_of[kernel.name].add(kernel.size)
    pairs: defaultdict[tuple[TraceKernel, int], list[tuple[ReportRow, str]]] = defaultdict(list)
    meant: defaultdict[ReportRow, set[str]] = defaultdict(set)
    of_size: defaultdict[_Size, list[ReportRow]] = defaultdict(list)
    for report in reports:
        of_size[report.size if None not in report.size else ()].append(report)
    for kernel in kernels:
        # those of another size cannot be meant where both are known
        candidates = reports if None in kernel.size else sorted(of_size.get(kernel.size, []) + of_size.get((), []))
        for report in candidates:
            matched_by = _compare_sizes(kernel, report, is_only_size=len(sizes_of[kernel.name]) == 1)
            if matched_by is not None and are_same_kernel(kernel.name, report.kernel):
                rank = _rank_names(kernel.name, report.kernel)
                pairs[kernel, rank].append((report, matched_by))
                if rank == _BY_FUNCTION:
                    meant[report].add(kernel.name)
    found: list[ReportMatch] = []
    for kernel in kernels:
        best = next((rank for rank in range(_BY_FUNCTION + 1) if (kernel, rank) in pairs), None)
        if best is None:
            continue
        matched = pairs[kernel, best]
        if best == _BY_FUNCTION and (
            _count_distinct(report.kernel for report, _ in matched) > 1
            or any(len(meant[report]) > 1 for report, _ in matched)
        ):
            continue
        found += [ReportMatch(kernel, report.report_id, matched_by) for report, matched_by in matched]
    return found


_BY_FUNCTION = 2


def _rank_names(one: str, other: str) -> int:
    """Return how well two names of the same kernel agree: 0 for the same text, 1 for the same template, else 2."""
    if one == other:
        return 0
    template = template_of_kernel(one)
    return 1 if template is not None and template == template_of_kernel(other) else _BY_FUNCTION


def _compare_sizes(kernel: TraceKernel, report: ReportRow, *, is_only_size: bool) -> str | None:
    """Return what shows that the report is of a launch of the kernel's size; None where it is of another, or may be."""
    if None not in kernel.size and None not in report.size:
        return "launch" if kernel.size == report.size else None
    blocks, threads = _multiply_numbers(kernel.size[:3]), _multiply_numbers(kernel.size[3:])
    if blocks is not None and report.blocks is not None:
        is_same = blocks == report.blocks and (threads == report.threads or report.threads is None)
        return "size" if is_same else None
    return "name" if is_only_size else None


def _multiply_numbers(numbers: Iterable[int | None]) -> int | None:
    product = 1
    for number in numbers:
        if number is None:
            return None
        product *= number
    return product


def _count_distinct(names: Iterable[str]) -> int:
    return len(set(names))
