"""Programs whose steps are known, and what traceq makes of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
from simulator import simulate, write_kineto, write_nsys
from simulator.engine import Simulated
from simulator.kinds import KINDS, Draw, Known
from tables import filled
from transformations import Change, unchanged

from traceq import importers

WRITERS = {"nsys": (write_nsys, "sqlite"), "kineto": (write_kineto, "json")}
# Of a step: so far from where a program shows a boundary one may be found.
NEAR = 0.01


class Boundary(NamedTuple):
    """Where a step starts: between the end of what comes before it and its first launch, on the host and on the GPU."""

    earliest: int
    latest: int
    gpu_earliest: int
    gpu_latest: int

    def is_near(self, ts: int, tolerance: float) -> bool:
        host = self.earliest - tolerance <= ts <= self.latest + tolerance
        return host or self.gpu_earliest - tolerance <= ts <= self.gpu_latest + tolerance


class Made(NamedTuple):
    """A program that has run, and its trace file."""

    known: Known
    run: Simulated
    trace_format: str
    path: Path


class Found(NamedTuple):
    """What traceq makes of a trace; `steps` are (start, end) of those that count."""

    source: str
    steps: list[tuple[int, int]]
    window: tuple[int, int]
    possible: list[int]  # numbers of the other units that the step may be


def make_program(kind: str, seed: int, trace_format: str, folder: Path, times: int = 1) -> Made:
    known = KINDS[kind](Draw(f"{kind} {seed}", times))
    run = simulate(known.program)
    write, suffix = WRITERS[trace_format]
    path = folder / f"{kind} {seed} {times}.{suffix}".replace(" ", "-")
    write(run, path)
    return Made(known, run, trace_format, path)


def fill_unit_tables(path: Path, *analyses: str, change: Change = unchanged) -> duckdb.DuckDBPyConnection:
    """The tables of the trace, changed, with its steps, and what else is asked for."""
    (importer,) = (one for one in importers.IMPORTERS if one.sniff(path))
    rows = (
        (table, changed) for table, batch in importer.read(path) for changed in change(table, batch) if changed.num_rows
    )
    return filled(rows, *analyses, format_=importer.NAME)


def find_unit(connection: duckdb.DuckDBPyConnection) -> Found:
    steps = connection.execute("select source, ts, ts + dur from step where excluded is null order by ts").fetchall()
    window = connection.execute("select ts, ts + dur from phase_of_run where phase = 'window'").fetchone()
    possible = connection.execute("select count from unit where is_possible and not is_step").fetchall()
    return Found(steps[0][0], [step[1:] for step in steps], window, [count for (count,) in possible])


def list_boundaries(known: Known, run: Simulated) -> list[Boundary]:
    """Return where each step starts, and where the last one ends."""
    (process,) = run.processes
    marks = sorted((one.ts, one.ts + one.dur) for one in process.slices if re.search(known.mark, one.name))
    work = sorted((one.ts, one.item.start, one.item.end) for one in process.started)
    calls = sorted(one.ts + one.dur for one in process.slices if one.kind in ("runtime", "driver", "operator"))
    return [_make_boundary(ts, work, calls) for ts in (*(ts for ts, _ in marks), *(end for _, end in marks[-1:]))]


def _make_boundary(ts: int, work: Sequence[tuple[int, int, int]], calls: Sequence[int]) -> Boundary:
    place, call = bisect_left(work, (ts,)), bisect_left(calls, ts + 1)
    before, after = work[:place], work[place:]
    gpu_end = max((end for _, _, end in before), default=0)
    latest, gpu_start = min((each[:2] for each in after), default=(1 << 62, 1 << 62))
    gpu = min(gpu_end, gpu_start), max(gpu_end, gpu_start)
    return Boundary(calls[call - 1] if call else 0, latest, *gpu)


def judge_unit(said: Found, known: Known, shown: list[Boundary]) -> str:
    """Return right, abstained, or what is wrong."""
    counted = len(said.steps)
    if said.source == "window":
        return "right" if known.steps <= 1 else "abstained"
    if known.steps <= 1 and counted != known.steps:
        return f"{counted} steps where none recur"
    # the first may be a warm-up, and of the last the time after it may be unknown
    if not known.steps - 2 <= counted <= known.steps + 1:
        is_told = any(abs(count - known.steps) <= 2 for count in said.possible)
        return "abstained" if is_told else f"{counted} steps of {known.steps}"
    near = NEAR * (said.steps[-1][1] - said.steps[0][0]) / counted
    elsewhere = [ts for ts, _ in said.steps if not any(one.is_near(ts, near) for one in shown[:-1])]
    return f"{len(elsewhere)} steps start elsewhere" if known.is_shown and elsewhere else "right"
