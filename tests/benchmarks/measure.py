"""What a command costs: wall time, CPU time and peak memory of the process and all its descendants. Linux only."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

ROOT = Path(__file__).resolve().parents[2]
_SECONDS_BETWEEN_SAMPLES = 0.02
_LAST_LINES = 15
_MEMORY = re.compile(r"^(Vm\w+):\s+(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True)
class Cost:
    """Seconds of wall and CPU (user + system) time, peak resident bytes, and what the command wrote."""

    wall: float
    cpu: float
    peak: int
    output: str


def cost(command: Sequence[str | Path], root: Path = ROOT, **variables: str) -> Cost:
    """Run a command from the root of a checkout to its end, with these variables; SystemExit when it fails."""
    # Compiling is no part of what a command costs: compiled modules are kept.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | variables
    words = [str(word) for word in command]
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = subprocess.Popen(words, cwd=root, env=environment, stdout=output, stderr=subprocess.STDOUT)
        with _Watch(process.pid) as watch:
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if process.returncode:
        last = "\n".join(text.splitlines()[-_LAST_LINES:])
        raise SystemExit(f"{' '.join(map(str, command))}\nended with code {process.returncode}:\n{last}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, watch.peak, text)


class _Watch:
    """Samples the memory of a process tree in a thread until the end of the block."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_SECONDS_BETWEEN_SAMPLES):
            sizes = _sizes(_tree(self._pid))
            # The kernel's own high-water mark of a single process misses no peak between two samples.
            highest = max((high for _, high in sizes), default=0)
            self.peak = max(self.peak, highest, sum(now for now, _ in sizes))


def _tree(pid: int) -> list[int]:
    """The process and all its living descendants."""
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, _text(children).split())
    return found


def _sizes(pids: list[int]) -> list[tuple[int, int]]:
    """Resident bytes of each process: now, and the most so far."""
    # A child that is just being started has its parent's memory, number for number, and is not counted.
    distinct = {tuple(_MEMORY.findall(_text(Path(f"/proc/{pid}/status")))) for pid in pids}
    sizes = [{name: int(kilobytes) << 10 for name, kilobytes in fields} for fields in distinct if fields]
    return [(each["VmRSS"], each["VmHWM"]) for each in sizes]


def _text(path: Path) -> str:
    """A file of /proc, empty when its process has ended meanwhile."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alternate(times: int, *actions: Callable[[], Cost]) -> list[list[Cost]]:
    """Run each action `times` times, in turns, so that what else the machine does meets all of them alike."""
    costs: list[list[Cost]] = [[] for _ in actions]
    for _ in range(times):
        for action, mine in zip(actions, costs, strict=True):
            mine.append(action())
    return costs


def traceq(*arguments: str | Path) -> Cost:
    """What a traceq command costs, start of Python included."""
    return cost([sys.executable, "-m", "traceq", *arguments])


def ingest(source: Path, database: Path, *options: str) -> Cost:
    """What it costs to ingest one trace into a new database, with more options of the command."""
    database.unlink(missing_ok=True)
    return traceq("ingest", source, "-o", database, *options)


def first_report(checkout: Path, trace: Path, *, page: bool = False) -> Cost:
    """Measure the first report of a checkout's traceq on a trace, with an empty cache, as text or as a page."""
    with tempfile.TemporaryDirectory() as folder:
        output = ["-o", f"{folder}/report.html"] if page else []
        variables = {"PYTHONPATH": str(checkout), "TRACEQ_CACHE": f"{folder}/cache", "TRACEQ_NO_CACHE": ""}
        return cost([sys.executable, "-m", "traceq", "report", trace, *output], checkout, **variables)


def warm(path: Path) -> None:
    """Read a file, so that the first command that reads it finds it in memory like those after it."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def describe(name: str, costs: Iterable[Cost]) -> str:
    """One line: best and median wall time, CPU time and highest peak."""
    every = list(costs)
    walls = [each.wall for each in every]
    return (
        f"{name:<12} wall best {min(walls):.2f} s, median {statistics.median(walls):.2f} s;"
        f" CPU {min(each.cpu for each in every):.2f} s; peak {megabytes(max(each.peak for each in every))}"
    )


def megabytes(size: float) -> str:
    """A size in MB of 10^6 bytes."""
    return f"{size / 1e6:,.1f} MB"


def tell(line: str = "") -> None:
    """Write a line at once, so that long runs can be watched."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
