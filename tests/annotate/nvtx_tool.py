"""Runs Python code under a tool for NVTX that writes down every call."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_VARIANTS = {"knows": ["-DEXTENSION=1"], "refuses": ["-DEXTENSION=0"], "lacks": []}


class Call(NamedTuple):
    """A call of NVTX, as the tool gets it."""

    kind: str
    domain: str
    thread: int
    text: str
    colour: str


def build(folder: Path, extension: str) -> Path:
    """The tool that knows, refuses or lacks extensions of NVTX; skips the test without a C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("needs a C compiler")
    pytest.importorskip("nvtx")
    library = folder / f"{extension}.so"
    options = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", *_VARIANTS[extension]]
    subprocess.run([compiler, *options, "-o", library, _HERE / "nvtx_tool.c"], check=True)
    return library


def run(code: str, library: Path, log: Path, **variables: str) -> list[Call]:
    """What the tool is called with while Python runs the code, with traceq's annotate imported."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(_ROOT),
        "NVTX_INJECTION64_PATH": str(library),
        "TRACEQ_TEST_NVTX_LOG": str(log),
        "TRACEQ_ANNOTATE": "all",
        **variables,
    }
    program = f"from traceq import annotate\n{code}"
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, env=environment, timeout=100)
    lines = log.read_text().splitlines() if log.exists() else []
    return [
        Call(kind, domain, int(thread), *rest) for kind, domain, thread, *rest in (line.split("\t") for line in lines)
    ]


def render_shape(calls: list[Call]) -> list[str]:
    """Ranges and marks without threads and colours: `push NAME`, `pop`, `start NAME`, `end 1`, `mark NAME`."""
    return [f"{call.kind} {call.text}".strip() for call in calls if call.kind != "string"]
