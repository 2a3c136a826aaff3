"""The command lines that run a kernel profiler on the hot kernels of a trace, and export what it finds as CSV."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from shlex import quote
from typing import NamedTuple

from traceq.common.kernel_names import kernel_word
from traceq.reports.kernels.model import HotKernel, ProfilerCommand

# What traceq reads of a report: fewer passes over each launch than --set full.
_SECTIONS = ("SpeedOfLight", "LaunchStats", "Occupancy", "WarpStateStats", "SchedulerStats", "MemoryWorkloadAnalysis")
_NVTX_SPECIAL = re.compile(r"([@,\[\]/*+\\])")
_PLACEHOLDER = "PROGRAM"


class SteadyStep(NamedTuple):
    """Where a steady step lies: `skipped` steps are before it; `range_name` is the NVTX range of one alone, None without."""

    skipped: int
    range_name: str | None


def write_ncu_commands(
    kernels: Sequence[HotKernel], steady: SteadyStep, program: str = _PLACEHOLDER
) -> tuple[ProfilerCommand, ...]:
    """Return commands of Nsight Compute, one for each number of launches to skip, and for each the export as CSV.

    The filter applies to each kernel and launch geometry apart, so that one launch of each is measured.
    """
    skips: defaultdict[int, list[str]] = defaultdict(list)
    for kernel in kernels:
        word = kernel_word(kernel.name)
        skip = 0 if steady.range_name is not None else math.ceil(steady.skipped * kernel.kernels_per_step)
        if word is not None and word not in skips[skip]:
            skips[skip].append(word)
    commands = []
    written = [(skip, words) for skip, words in skips.items() if words]
    for number, (skip, words) in enumerate(written):
        report = "hot_kernels" if len(written) == 1 else f"hot_kernels_{number + 1}"
        commands.append(
            ProfilerCommand(f"Measure {', '.join(words)}", _write_ncu(words, skip, steady, report, program))
        )
        export = f"ncu --import {report}.ncu-rep --csv --page raw --print-units base > {report}.csv"
        commands.append(ProfilerCommand("Export it as CSV", export))
    return tuple(commands)


def _write_ncu(words: Sequence[str], skip: int, steady: SteadyStep, report: str, program: str) -> str:
    """Return a command of Nsight Compute for kernels with these words as names."""
    names = re.escape(words[0]) if len(words) == 1 else f"({'|'.join(map(re.escape, words))})"
    parts = [
        "ncu --target-processes all",
        *(f"--section {section}" for section in _SECTIONS),
        "--kernel-name-base function",
        f"--kernel-name {quote(f'regex:^{names}$')}",
        "--filter-mode per-launch-config",
        *([f"--launch-skip {skip}"] if skip else []),
        "--launch-count 1",
    ]
    if steady.range_name is not None:
        include = f"{_NVTX_SPECIAL.sub(_ESCAPED, steady.range_name)}/"
        parts += ["--nvtx", f"--nvtx-include {quote(include)}"]
    return " ".join([*parts, f"-f -o {report}", program])


_ESCAPED = r"\\\1"


def write_rocprof_commands(kernels: Sequence[HotKernel], program: str = _PLACEHOLDER) -> tuple[ProfilerCommand, ...]:
    """Return commands of rocprof-compute: one that measures the kernels, and for each one that writes its tables as CSV."""
    words = list(dict.fromkeys(word for kernel in kernels if (word := kernel_word(kernel.name)) is not None))
    if not words:
        return ()
    measure = f"rocprof-compute profile -n hot_kernels -k {' '.join(words)} -- {program}"
    tables = [
        ProfilerCommand(
            f"Write the tables of kernel {number}",
            f"rocprof-compute analyze -p workloads/hot_kernels/* -k {number} --save-dfs hot_kernels/{number}",
        )
        for number in range(len(words))
    ]
    return (ProfilerCommand(f"Measure {', '.join(words)}", measure), *tables)


def write_report_command(source: str, profiler: str) -> ProfilerCommand:
    """Return the command that reports on the trace together with what the profiler found."""
    found = "hot_kernels*.csv" if profiler == "ncu" else "hot_kernels"
    if profiler == "ncu":
        return ProfilerCommand("Bring it back", f"traceq report {quote(source)} --with hot_kernels.csv")
    return ProfilerCommand("Bring them back", f"traceq report {quote(source)} --with {found}")
