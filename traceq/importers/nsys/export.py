"""Reports in nsys' own format (.nsys-rep, before 2021.4 .qdrep): only nsys can read and export them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from traceq.errors import MissingTool, UnusableTrace

# The format is not documented and has no signature anybody documents either, so the name has to tell.
SUFFIXES = (".nsys-rep", ".qdrep")


def is_report(path: Path, head: bytes) -> bool:
    """Whether the file looks like nsys' own format: named so, and not something else that was named so."""
    return path.suffix in SUFFIXES and bool(head) and not head.startswith((b"{", b"[", b"\x1f\x8b", b"SQLite format 3"))


def command(report: Path, output: Path, *, blobs: bool) -> list[str]:
    """The command that exports a report to SQLite; `blobs` are payloads of NVTX ranges: NCCL's sizes, peers, communicators."""
    return [
        "nsys",
        "export",
        "--type",
        "sqlite",
        *(["--include-blobs=true"] if blobs else []),
        "--output",
        str(output),
        "--force-overwrite",
        "true",
        str(report),
    ]


def export(report: Path, output: Path) -> None:
    """Write the report as SQLite. Raises MissingTool without nsys, UnusableTrace when nsys fails."""
    if shutil.which("nsys") is None:
        by_hand = " ".join(command(report, report.with_suffix(".sqlite"), blobs=False))
        raise MissingTool(f"{report}: only nsys can read this format and it is not on PATH; export it first: {by_hand}")
    # nsys before 2024 has no payloads, and does not know the option either.
    for blobs in (True, False):
        call = command(report, output, blobs=blobs)
        done = subprocess.run(call, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode == 0 and output.exists():
            return
    said = (done.stderr or done.stdout).strip().splitlines()
    reason = said[-1].strip() if said else f"exit code {done.returncode}"
    raise UnusableTrace(f"{report}: nsys export failed ({reason}); use an nsys at least as new as the report")
