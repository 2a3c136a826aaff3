"""The programs of fixtures/make/compiled: what is slow in each, and what a report of a trace and a log of it has to name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, TypedDict

import traceq
from pairs.measurements import Predicted

FOLDER = Path(__file__).parents[2] / "fixtures" / "make" / "compiled"
MEASURED = Path(__file__).parents[2] / "fixtures" / "compile_logs" / "measured.json"


class Compiled(NamedTuple):
    """A program, the rule that names its flaw, and the texts that a report has to say of it: the line, and the remedy."""

    program: str
    rule: str
    names: tuple[str, ...]


PROGRAMS = (
    Compiled("print_in_forward", "host-graph-break", ("print_in_forward.py:26", "print_in_forward.py:29", "print")),
    Compiled("item_branch", "host-graph-break", ("item_branch.py:24", "item_branch.py:29", "torch.where")),
    Compiled("compressed", "host-graph-break", ("compressed.py:25", "custom_op")),
    Compiled("varying_length", "host-recompilation", ("varying_length.py:11", "mark_dynamic(batch")),
    Compiled("counted_calls", "host-recompilation", ("counted_calls.py:21", "self.calls", "as a tensor")),
    Compiled("growing_list", "host-recompilation", ("growing_list.py:13", "length of states", "one tensor")),
    Compiled("named_schedule", "host-recompilation", ("named_schedule.py:14", "stage", "text")),
    Compiled("new_closure", "host-recompilation", ("new_closure.py:17", "length of scales")),
    Compiled("mode_flips", "host-recompilation", ("mode_flips.py:21", "type of batch")),
    Compiled("cold_cache", "host-compilation", ("cold_cache.py:14", "force_disable_caches")),
)


class Measured(TypedDict):
    """Mean CPU time of a step without a profiler, ns, slow and fixed in turns; what was said of it, and if it was named."""

    slow_ns: list[int]
    fixed_ns: list[int]
    predicted: Predicted | None
    names: bool


def load_measured() -> dict[str, Measured]:
    """Return what was measured last, by name of the program."""
    found: dict[str, Measured] = json.loads(MEASURED.read_text("utf-8"))
    return found


def run_program(program: str, variant: str, cache: Path, *options: str, log: Path | None = None) -> list[int]:
    """Run the program, with `cache` as the compiler's folder, and return its steps' CPU time, ns; `log` gets its compile log."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("TORCH_TRACE", "TORCHINDUCTOR"))
    }
    environment |= {"TORCHINDUCTOR_CACHE_DIR": str(cache)} | ({"TORCH_TRACE": str(log)} if log else {})
    command = [sys.executable, f"{program}.py", variant, *options]
    run = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if run.returncode:
        raise RuntimeError(f"{program}: {run.stderr[-2000:]}")
    steps: list[int] = json.loads(run.stdout.splitlines()[-1])["cpu_ns"]
    return steps


def drop_graphs(cache: Path) -> None:
    """Leave in the compiler's folder what all programs share (headers, checks of the CPU), without the graphs of this one."""
    for name in ("fxgraph", "aotautograd"):
        shutil.rmtree(cache / name, ignore_errors=True)


def record_program(program: str, cache: Path, folder: Path) -> tuple[Path, Path]:
    """Run the slow program with the profiler and the log of torch.compile; return the trace, and the folder of the log."""
    trace, log = folder / f"{program}.json", folder / "log"
    run_program(program, "slow", cache, "--trace", str(trace), log=log)
    return trace, log


def predict(compiled: Compiled, trace: Path, log: Path) -> tuple[Predicted | None, bool]:
    """Return what the report says of the flaw, as shares of a step, and whether it says all that it has to name."""
    database = trace.with_suffix(".duckdb")
    traceq.ingest([trace], database, logs=[log])
    with traceq.open(database) as traces:
        (content,) = traces.report().content.traces
        ((step_ns,),) = traces.sql("select avg(dur) from step where excluded is null").fetchall()
    named = next((each for each in content.every_finding if each.rule == compiled.rule), None)
    if named is None:
        return None, False
    said = f"{named.title} {named.fix}"
    low, likely, high = (
        float(saving or 0) / step_ns for saving in (named.saving_low_ns, named.saving_ns, named.saving_high_ns)
    )
    return {"rule": named.rule, "low": low, "likely": likely, "high": high}, all(
        text in said for text in compiled.names
    )
