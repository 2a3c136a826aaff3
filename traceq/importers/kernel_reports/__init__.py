"""Reports of kernel profilers as CSV: pages of Nsight Compute, counters and tables of rocprof-compute. One module a tool.

They say what no trace does: how far a kernel is from the limits of its GPU, and what its warps wait for. docs/kernel-reports.md
lists what is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from traceq.errors import UnknownFormat, UnusableTrace
from traceq.importers.kernel_reports import ncu, rocprof_compute
from traceq.importers.kernel_reports.cells import read_head
from traceq.importers.kernel_reports.records import ReportFile


class KernelReportReader(Protocol):
    """Interface of the modules of this folder that read files."""

    def sniff_head(self, lines: Sequence[str]) -> bool:
        """Return whether a file that begins with these lines is of this tool."""

    def read_report(self, path: Path) -> ReportFile:
        """Return what the file says. Raises OSError where it cannot be read."""


_READERS: tuple[KernelReportReader, ...] = (ncu, rocprof_compute)
_ALL_COUNTERS = "pmc_perf.csv"
_SUFFIXES = frozenset((".csv", ".txt", ".log", ".out"))


def is_kernel_report(path: Path) -> bool:
    """Return whether the content of the file is a CSV of a kernel profiler; False where it cannot be read."""
    try:
        return path.is_file() and any(reader.sniff_head(read_head(path)) for reader in _READERS)
    except OSError:
        return False


def find_kernel_reports(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder that are CSVs of kernel profilers, sorted by name; others are skipped.

    Of the files of one workload of rocprof-compute it is the one with all counters.
    """
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in _SUFFIXES and is_kernel_report(path)]
    whole = {path.parent for path in found if path.name == _ALL_COUNTERS}
    return (
        path
        for path in found
        if path.name == _ALL_COUNTERS or path.parent not in whole or not rocprof_compute.has_dispatches(path)
    )


def read_kernel_report(path: Path) -> ReportFile:
    """Return what a CSV of a kernel profiler says.

    Rows that are damaged or cut are counted, and what stands around them is read. Raises UnknownFormat for another file,
    UnusableTrace for one that cannot be read, or tells of no launch.
    """
    try:
        head = read_head(path)
        reader = next((reader for reader in _READERS if reader.sniff_head(head)), None)
        if reader is None:
            raise UnknownFormat(f"{path}: no CSV of a kernel profiler that traceq knows (docs/kernel-reports.md)")
        report = reader.read_report(path)
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror}") from error
    if not report.launches:
        raise UnusableTrace(
            f"{path}: a CSV of {report.tool} without a launch that can be read; was it cut? ncu says on its terminal"
            " whether it profiled any kernel"
        )
    return report
