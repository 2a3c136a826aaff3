"""Other tools' figures for the same files, read as they are; see README.md beside them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from trace_files import PEER_FACTS, strip_container


def read_nsys_report(path: Path, report: str) -> list[dict[str, str]]:
    """Rows of an nsys report; skips where nsys had nothing to report."""
    file = PEER_FACTS / "nsys" / strip_container(path) / f"{report}.csv"
    if not file.exists():
        pytest.skip(f"nsys made no {report} of this file")
    header, *lines = [line for line in file.read_text().splitlines() if line]
    columns = header.split(",")
    cells = _name_first if columns[0] == "Range" else _name_last
    return [dict(zip(columns, cells(line, len(columns)), strict=True)) for line in lines]


# nsys quotes a name that has commas, but escapes no quotes inside: only the other cells tell where it ends.


def _name_last(line: str, columns: int) -> list[str]:
    *numbers, name = line.split(",", columns - 1)
    return [*numbers, _unquote(name)]


def _name_first(line: str, columns: int) -> list[str]:
    name, *numbers = line.rsplit(",", columns - 1)
    return [_unquote(name), *numbers]


def _unquote(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name


def read_perfetto(path: Path) -> dict[str, tuple[int, int]]:
    """Slices and their summed duration, ns, per category."""
    with (PEER_FACTS / "perfetto" / f"{strip_container(path)}.csv").open(newline="") as file:
        return {row["cat"]: (int(row["n"]), int(row["dur_ns"])) for row in csv.DictReader(file)}


def read_hta(path: Path) -> dict:
    """HolisticTraceAnalysis' figures; skips where it could not read the file."""
    facts = json.loads((PEER_FACTS / "hta" / f"{strip_container(path)}.json").read_text())
    if not isinstance(facts.get("temporal_breakdown"), list):
        pytest.skip("HTA failed on this file")
    return facts["temporal_breakdown"][0] | facts["comm_comp_overlap"][0]


def hta_kinds(path: Path) -> list[dict]:
    """HolisticTraceAnalysis' time per kind of GPU work and what it overlaps, us; skips where it could not read the file."""
    facts = json.loads((PEER_FACTS / "hta" / f"{strip_container(path)}.json").read_text())
    if not facts.get("kernel_breakdown"):
        pytest.skip("HTA failed on this file")
    return facts["kernel_breakdown"]
