"""Nsight Systems: the command lines that profile a training program and export what came of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from traceq.common.process import find_tool
from traceq.errors import UnusableTrace

# nsys of 2022 writes .nsys-rep, older ones .qdrep.
_REPORTS = (".nsys-rep", ".qdrep")


def profile_command(output: Path, *, windowed: bool, memory: bool = False) -> list[str]:
    """Return the words of `nsys profile` and its options, to stand before the program's command; it writes OUTPUT.nsys-rep.

    If `windowed`, collection starts at the program's cudaProfilerStart and stops at its cudaProfilerStop, after
    which the program goes on; else all of it is collected. With `memory`, CUDA's memory use is recorded as well.
    """
    window = ["--capture-range=cudaProfilerApi", "--capture-range-end=stop"] if windowed else []
    return [
        "nsys",
        "profile",
        "--trace=cuda,nvtx,osrt,cudnn,cublas",
        # Kernels inside CUDA graphs are otherwise one opaque block, and the GPU seems to have no kernels.
        "--cuda-graph-trace=node",
        # What the launching thread computes between its calls, and when it has no core; nsys goes on without where it may not.
        "--sample=process-tree",
        "--cpuctxsw=process-tree",
        # A DataLoader's workers are forked and never start another program: without this they are not in the capture.
        "--trace-fork-before-exec=true",
        *window,
        *(["--cuda-memory-usage=true"] if memory else []),
        f"--output={_escape_path(output)}",
        "--force-overwrite=true",
    ]


def find_report(output: Path) -> Path | None:
    """Return the path of the report (OUTPUT.nsys-rep or OUTPUT.qdrep) that nsys wrote for `output`; None if there is none."""
    return next((path for suffix in _REPORTS if (path := Path(f"{output}{suffix}")).exists()), None)


def export_command(report: Path, output: Path, *, blobs: bool = True) -> list[str]:
    """Return the words of the `nsys export` command that writes the report as the SQLite file `output`.

    With `blobs`, the payloads of NCCL's ranges (size, peer, communicator) are exported too.
    """
    return [
        "nsys",
        "export",
        "--type=sqlite",
        *(["--include-blobs=true"] if blobs else []),
        "--force-overwrite=true",
        f"--output={output}",
        str(report),
    ]


def export(report: Path) -> Path:
    """Write the report as a SQLite file beside it, and return that file's path. Raises UnusableTrace when nsys cannot."""
    output = report.with_suffix(".sqlite")
    # nsys before 2024 has no payloads, and does not know the option either.
    for blobs in (True, False):
        done = subprocess.run(
            export_command(report, output, blobs=blobs),
            executable=find_tool("nsys"),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode == 0 and output.exists():
            return output
    said = (done.stderr or done.stdout).strip().splitlines()
    reason = said[-1].strip() if said else f"exit code {done.returncode}"
    raise UnusableTrace(
        f"{report}: nsys export failed ({reason}), but the report was written: open it in nsys-ui, or export it with the nsys"
        " that wrote it"
    )


def _escape_path(path: Path) -> str:
    """Return the path as text for nsys's option --output, with % doubled, since nsys replaces %h, %p and %q{NAME}."""
    return str(path).replace("%", "%%")
