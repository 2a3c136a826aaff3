"""What a mark costs: a phase with each tool listening and with none, switched off, and ten marks in a step of 10 ms.

Every case runs in a Python of its own, in turns. NVTX is listened to by a tool that does nothing (compiled with the system's C
compiler from tests/annotate/nvtx_tool.c), and with --nsys by Nsight Systems.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import ROOT, tell

# Each prints nanoseconds, or ratios of CPU time; `timed` is what all of them share.
_TIMED = """
import statistics, sys, time
from traceq import annotate
def timed(marked, plain, loops=20000, times=15):
    def once(function):
        begin = time.perf_counter_ns()
        for _ in range(loops):
            function()
        return (time.perf_counter_ns() - begin) / loops
    return min(once(marked) for _ in range(times)) - min(once(plain) for _ in range(times))
def marked():
    with annotate.phase("forward"):
        pass
def plain():
    pass
"""
_PHASE = "print(timed(marked, plain))"
_PROFILED = """
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU]):
    cost = timed(marked, plain, loops=5000)
print(cost)
"""
_ABSENT = """
import sys
sys.modules.update(torch=None, nvtx=None)
"""
_STEPS = """
import torch
torch.set_num_threads(1)
one = torch.ones(256, 256)
def work():
    for _ in range(repeats):
        torch.mm(one, one)
def step(number):
    with annotate.step(number, samples=32, tokens=4096):
        for label in ("data", "forward", "forward", "forward", "backward", "backward", "optimizer", "evaluate"):
            with annotate.phase(label):
                work()
def bare(number):
    for _ in range(8):
        work()
def seconds(function, number):
    begin = time.thread_time()
    function(number)
    return time.thread_time() - begin
def pair(number):
    if number % 2:
        return seconds(step, number), seconds(bare, number)
    return tuple(reversed((seconds(bare, number), seconds(step, number))))
repeats = 1
repeats = max(1, round(0.010 / min(seconds(bare, 0) for _ in range(200))))
pairs = [pair(number) for number in range(400)]
marked, plain = zip(*pairs)
print(min(marked) / min(plain), statistics.median(marked) / statistics.median(plain), statistics.median(plain) * 1000)
"""
# Title, code, whether a tool listens to NVTX.
_PHASES = (
    ("neither torch nor nvtx installed", _ABSENT + _TIMED + _PHASE, False),
    ("switched off", _TIMED + "import torch\nannotate.disable()\n" + _PHASE, False),
    ("torch imported, nobody listens", _TIMED + "import torch\n" + _PHASE, False),
    ("PyTorch profiler on", _TIMED + _PROFILED, False),
    ("NVTX tool attached", _TIMED + _PHASE, True),
    ("NVTX tool attached, torch imported", _TIMED + "import torch\n" + _PHASE, True),
    ("both: profiler on, NVTX tool attached", _TIMED + _PROFILED, True),
)


def _build(folder: Path) -> Path:
    library = folder / "silent.so"
    source = ROOT / "tests" / "annotate" / "nvtx_tool.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-DEXTENSION=1", "-DSILENT", "-o", library, source], check=True)
    return library


def _numbers(code: str, library: Path | None, prefix: list[str]) -> list[float]:
    """The numbers on the last line that the code prints."""
    variables = {} if library is None else {"NVTX_INJECTION64_PATH": str(library), "TRACEQ_TEST_NVTX_LOG": os.devnull}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [*prefix, sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return next([float(word) for word in line.split()] for line in done.stdout.splitlines() if _is_numbers(line))


def _is_numbers(line: str) -> bool:
    return bool(line.strip()) and all(word.replace(".", "").replace("e-", "").isdigit() for word in line.split())


def _tell_phases(library: Path, times: int, nsys: list[str]) -> None:
    cases = [(title, code, library if listened else None, []) for title, code, listened in _PHASES]
    if nsys:
        cases.append(("Nsight Systems attached", _TIMED + _PHASE, None, nsys))
        cases.append(("both: profiler on, Nsight Systems attached", _TIMED + _PROFILED, None, nsys))
    costs: dict[str, list[float]] = {title: [] for title, *_ in cases}
    for _ in range(times):
        for title, code, tool, prefix in cases:
            costs[title] += _numbers(code, tool, prefix)
    for title, nanoseconds in costs.items():
        best, median = min(nanoseconds) / 1000, statistics.median(nanoseconds) / 1000
        tell(f"{title:<44} best {best:.2f} us, median {median:.2f} us a phase")


def _tell_steps(library: Path) -> None:
    whole = _TIMED + _STEPS
    head, tail = whole.split("pairs = ")
    profiled = (
        head + "import torch.profiler\nwith torch.profiler.profile():\n    pairs = " + tail.replace("\n", "\n    ", 1)
    )
    for title, code, tool in (
        ("marks switched off", whole.replace("import torch\n", "import torch\nannotate.disable()\n", 1), None),
        ("nobody listens", whole, None),
        ("NVTX tool attached", whole, library),
        ("profiler on", profiled, None),
        ("profiler on, NVTX tool attached", profiled, library),
    ):
        best, median, milliseconds = _numbers(code, tool, [])
        tell(
            f"ten marks in a step of {milliseconds:.1f} ms, {title:<32} best {best:.4f}, median {median:.4f} times the plain step"
        )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--times", type=int, default=3, metavar="N", help="runs of each case")
    parser.add_argument("--nsys", metavar="PROGRAM", help="Nsight Systems, to measure with it, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = _build(Path(folder))
        report = ["-o", f"{folder}/report", "-f", "true", "-s", "none", "--cpuctxsw=none", "-t", "nvtx"]
        _tell_phases(library, arguments.times, [arguments.nsys, "profile", *report] if arguments.nsys else [])
        _tell_steps(library)


if __name__ == "__main__":
    main()
