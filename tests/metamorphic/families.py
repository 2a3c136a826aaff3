"""The four families of traces: their files here and beside the checkout, their changes, and how a changed file is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import chrome_changes
import nsys_changes
import rocm_changes
import rocm_files
import sqlite_changes
import xplane_changes
from reports import report_json

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"


class Family(NamedTuple):
    """Traces of one kind of files, and their changes by name.

    `write` writes a changed trace: (trace's file, folder, changes, how to write it).
    """

    fixture: str
    real: tuple[str, ...]
    means_the_same: Mapping[str, Any]
    amounts: Mapping[str, Any]
    moved: Mapping[str, tuple[Any, int]]
    writers: Mapping[str, Any]
    write: Callable[[Path, Path, tuple[Any, ...], str], Path]

    @property
    def changes(self) -> list[str]:
        """The names of all changes after which a report is equal, or moved."""
        return [*self.means_the_same, *self.moved, *self.writers]

    def write_named(self, source: Path, folder: Path, *names: str) -> tuple[Path, int]:
        """Return the trace with the changes of these names made to it, and by how many ns it is moved."""
        changes = tuple(self.means_the_same[name] for name in names if name in self.means_the_same)
        moves = [self.moved[name] for name in names if name in self.moved]
        how = next((name for name in names if name in self.writers), "")
        written = self.write(source, folder, (*changes, *(move for move, _ in moves)), how)
        return written, sum(by for _, by in moves)


def _write_chrome(source: Path, folder: Path, changes: tuple[Any, ...], how: str) -> Path:
    trace = chrome_changes.load_trace(source)
    for change in changes:
        trace = change(trace)
    return chrome_changes.WRITERS.get(how, chrome_changes.write_dense)(trace, folder)


def _write_sqlite(source: Path, folder: Path, changes: tuple[Any, ...], how: str) -> Path:
    path = sqlite_changes.write_changed(source, folder, *changes)
    return sqlite_changes.WRITERS[how](path) if how else path


def _write_xplane(source: Path, folder: Path, changes: tuple[Any, ...], how: str) -> Path:
    space = xplane_changes.load_space(source)
    for change in changes:
        space = change(space)
    return xplane_changes.WRITERS.get(how, xplane_changes.write_plain)(space, folder)


FAMILIES = {
    "chrome": Family(
        "fixtures/run/kineto_2026.json.gz",
        (
            "traces/torch/hta_amd_mi250_train.json.gz",
            "traces/torch/kineto_2026_before_fix_trace.json",
            "traces/torch/sidnb13_h100_transformer.pt.trace.json",
            "judged/torch/dlrm/worker0_step_12.1694128201545.pt.trace.json.gz",
            "judged/torch/hta_alexnet_critical_path.json.gz",
        ),
        chrome_changes.MEANS_THE_SAME,
        chrome_changes.AMOUNTS,
        chrome_changes.MOVED,
        chrome_changes.WRITERS,
        _write_chrome,
    ),
    "nsys": Family(
        "fixtures/run/nsys_2026.2.sqlite",
        (
            "traces/nsys/nsysai_mock.sqlite",
            "traces/nsys/testcuda_4streams_report1.sqlite",
            "judged/nsys/mordred_report1b_old.sqlite",
            "judged3/nsys/trixi_julia_v100.sqlite",
        ),
        nsys_changes.MEANS_THE_SAME,
        nsys_changes.AMOUNTS,
        nsys_changes.MOVED,
        sqlite_changes.WRITERS,
        _write_sqlite,
    ),
    "rpd": Family(
        "steps.rpd",
        ("judged/rocm/rpd_matmul.rpd", "judged3/rocm/rpd_matmul_large.rpd"),
        rocm_changes.MEANS_THE_SAME,
        rocm_changes.AMOUNTS,
        rocm_changes.MOVED,
        sqlite_changes.WRITERS,
        _write_sqlite,
    ),
    "rocpd": Family(
        "process.db",
        (),
        rocm_changes.MEANS_THE_SAME,
        {"twice as long": rocm_changes.scale_times},
        rocm_changes.MOVED,
        sqlite_changes.WRITERS,
        _write_sqlite,
    ),
    "xplane": Family(
        "steps.xplane.pb",
        (
            "judged3/xplane/tl_jax08_gemm_mi300.xplane.pb",
            "judged/xplane/tracelens_jax_conv_mi300.xplane.pb",
        ),
        xplane_changes.MEANS_THE_SAME,
        xplane_changes.AMOUNTS,
        xplane_changes.MOVED,
        xplane_changes.WRITERS,
        _write_xplane,
    ),
}

# Traces that are no file of the project, written anew.
_MADE_UP = {
    "steps.rpd": rocm_changes.write_steps,
    "process.db": rocm_files.write_rocpd,
    "steps.xplane.pb": xplane_changes.write_steps,
}


def find_trace(name: str, folder: Path) -> Path:
    """Return the file of a trace by its name in FAMILIES, which is made in the folder where the project has none."""
    if name in _MADE_UP:
        path = folder / name
        return path if path.exists() else _MADE_UP[name](path)
    return ROOT / name if name.startswith("fixtures/") else SHARED / name


@cache
def report_unchanged(source: Path) -> Any:
    """Return the report of a trace as it is."""
    return report_json(source)
