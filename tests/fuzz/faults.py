"""Faults around a running traceq, counted by how it ends: signals, kills, too little of everything, files that change.

    python tests/fuzz/faults.py --tries 500 --seed 1
    python tests/fuzz/faults.py --tries 100 --large 50     # signals during an ingest of 50 MB, and nothing else

Each try has folders of its own. It is right to be done, or to end with one line and leave nothing: any other outcome is wrong,
and the exit code is then 1. Needs Linux; a small disk needs root, and is left out without.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "traceq/app/demo/training.pt.trace.json.gz"
HANG = 60.0

# A signal comes within so many seconds of a command's first line.
LONGEST = 4.0
LONGEST_OF_PROGRAMS = 20.0
LONGEST_OF_LARGE = 120.0

# What DuckDB would have the user do to DuckDB.
HINTS = re.compile(
    r"https?://|\bSET \w|PRAGMA|-readonly|duckdb --|preserve_insertion_order|LaunchCommand", re.IGNORECASE
)

# A line of a traceback of the command's own.
OF_TRACEQ = re.compile(r'File "[^"]*/traceq/(?:cli|app)/')

RIGHT = ("done", "ended", "one line")


@dataclass
class Place:
    """The folders of a try, and what of them was there before."""

    folder: Path
    token: str
    before: dict[str, bytes | None] = field(default_factory=dict)
    ended: float = 0.0  # when the command ended, on the monotonic clock
    took: float | None = None  # seconds from a signal to the end

    @property
    def environment(self) -> dict[str, str]:
        own = {name: str(self.folder / name) for name in ("tmp", "cache")}
        return {
            **os.environ,
            "TMPDIR": own["tmp"],
            "TRACEQ_CACHE": own["cache"],
            "TRACEQ_NO_CACHE": "",
            "TRACEQ_FAULT": self.token,
            "PYTHONPATH": str(ROOT),
            # a limit on files would cut off what Python compiles, for all who import it after
            "PYTHONDONTWRITEBYTECODE": "1",
            # PyTorch makes a folder in TMPDIR where nothing says another place
            "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor"),
        }

    def files(self) -> dict[str, bytes | None]:
        """Content by path of what is to stay as it was, None for folders and for scratch."""
        found: dict[str, bytes | None] = {}
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            found[name] = path.read_bytes() if path.is_file() and name.startswith("work/") else None
        return found

    def left(self) -> list[str]:
        """What no traceq may leave: all in tmp, and hidden files."""
        return [
            name
            for name in self.files()
            # A dataset keeps the pieces that are made for the ingest that goes on.
            # An experiment keeps the file that it locks.
            if name.startswith("tmp/")
            or any(part.startswith(".") and part not in (".pieces", ".lock") for part in Path(name).parts)
        ]

    def children(self) -> list[int]:
        """Processes of the try that still run."""
        mark = f"TRACEQ_FAULT={self.token}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def end(self) -> None:
        """Kill them."""
        for pid in self.children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def new_place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        for each in ("tmp", "cache", "work"):
            (folder / each).mkdir()
        shutil.copyfile(DEMO, folder / "work" / "t.json.gz")
        yield Place(folder, folder.name)


LARGE = "ingest, large"
COMMANDS: dict[str, list[str]] = {
    "ingest": ["ingest", "t.json.gz", "-o", "new.duckdb"],
    "ingest, added": ["ingest", "u.json", "-o", "old.duckdb"],
    "ingest, jobs": ["ingest", "t.json.gz", "u.json", "-o", "new.duckdb", "--jobs", "2"],
    "ingest, dataset": ["ingest", "t.json.gz", "u.json", "-o", "new/", "--jobs", "2"],
    "report TRACE": ["report", "t.json.gz"],
    "report DB": ["report", "old.duckdb"],
    "report, page": ["report", "old.duckdb", "-o", "report.html"],
    "compare": ["compare", "t.json.gz", "old.duckdb"],
    "sql": ["sql", "old.duckdb", "select count(*) from range(3000000000) a where hash(a.range) % 7 = 0"],
    "export": ["export", "old.duckdb", "-o", "tables", "--format", "parquet"],
    "trim": ["trim", "t.json.gz", "-o", "small.json.gz", "--steps", "21", "--force"],
    "doctor": ["doctor", "t.json.gz"],
    "record": ["record", "-o", "traces", "--steps", "5", "--", sys.executable, "train.py", "0"],
    "experiment": [
        *("experiment", "--vary", "n=0.001,0.002", "--repeats", "2", "--steps", "5", "--warmup", "1"),
        *("-o", "trials", "--", sys.executable, "train.py", "{n}"),
    ],
    "mcp": ["mcp"],
    LARGE: ["ingest", "large.json", "-o", "new.duckdb"],
}
# They run a program of the user's, and say more than one line.
RUNNING = ("record", "experiment")

TRAIN = """
import signal, sys, time
import torch
signal.signal(signal.SIGINT, signal.SIG_DFL)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(60):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    time.sleep(0.02 + float(sys.argv[1]))
"""


def _send_request(number: int, method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


# What an agent asks of `traceq mcp`; the last takes long.
TALK = b"".join(
    (
        _send_request(
            1,
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "faults", "version": "1"},
        ),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n',
        _send_request(2, "tools/call", name="open", arguments={"path": "t.json.gz"}),
        _send_request(3, "tools/call", name="report", arguments={"source": "old.duckdb"}),
        _send_request(
            4,
            "tools/call",
            name="sql",
            arguments={"source": "db1", "query": "select sum(range) from range(2000000000)"},
        ),
    )
)
# The end of a pipe that each server is asked through, by its process.
talks: dict[int, int] = {}


def fill(place: Place, made: Path) -> None:
    """A second trace, a database of the first and a program beside it."""
    (place.folder / "work" / "train.py").write_text(TRAIN)
    shutil.copyfile(made / "u.json", place.folder / "work" / "u.json")
    shutil.copyfile(made / "old.duckdb", place.folder / "work" / "old.duckdb")
    if (made / "large.json").exists():
        os.link(made / "large.json", place.folder / "work" / "large.json")
    place.before = place.files()


def start(place: Place, command: list[str], through: Sequence[str] = (), **options: object) -> subprocess.Popen[bytes]:
    stdin, talk = os.pipe()
    child: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
        [*through, sys.executable, "-m", "traceq", *command],
        cwd=place.folder / "work",
        env=place.environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **options,
    )
    os.close(stdin)
    if command[0] == "mcp":
        os.write(talk, TALK)
        talks[child.pid] = talk
    else:
        os.close(talk)
    return child


def wait_for_handlers(child: subprocess.Popen[bytes]) -> None:
    """Until traceq's first line has run: from then on SIGTERM is caught."""
    while child.poll() is None:
        status = Path(f"/proc/{child.pid}/status").read_text()
        caught = re.search(r"SigCgt:\s*(\w+)", status)
        if caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.001)


def _describe_process(pid: int) -> str:
    process = Path(f"/proc/{pid}")
    try:
        state = (process / "stat").read_text().rpartition(")")[2].split()[:2]
        return f"{pid} {state} {(process / 'wchan').read_text()} {(process / 'cmdline').read_bytes()[-200:]!r}"
    except OSError:
        return f"{pid} gone"


def judge_outcome(
    place: Place, child: subprocess.Popen[bytes], ending: tuple[int, ...], *, kept: bool = True
) -> tuple[str, str]:
    """How it ended, and what was said; `ending` are exit codes of a signal that was sent."""
    talk = talks.pop(child.pid, None)
    if talk is not None and not ending:  # a server ends with what it is asked; by a signal it is to end before
        os.close(talk)
    try:
        _, said = child.communicate(timeout=HANG)
    except subprocess.TimeoutExpired:
        told = " ".join(map(_describe_process, place.children()))
        place.end()
        child.communicate()
        return "hang", told
    finally:
        place.ended = time.monotonic()
        if talk is not None and ending:
            os.close(talk)
    text = said.decode(errors="replace")
    alive, left, now = [*map(_describe_process, place.children())], place.left(), place.files()
    place.end()
    changed = [name for name, content in place.before.items() if content is not None and now.get(name) != content]
    runs_program = child.args[3] in RUNNING  # type: ignore[index]
    wrong = {
        # Programs of the user's have tracebacks of their own when Ctrl-C ends them.
        "traceback": OF_TRACEQ.search(text) if runs_program else "Traceback" in text,
        "children left": alive,
        "files left": left,
        "old files changed": kept and child.returncode and changed,
        "hint of DuckDB": HINTS.search(text),
    }
    told = f"exit {child.returncode}: {text[-600:]} {alive or ''} {left or ''}"
    return next(
        (name for name, found in wrong.items() if found),
        _judge_ending(child.returncode, text, ending, runs_program=runs_program),
    ), told


def _judge_ending(code: int, text: str, ending: tuple[int, ...], *, runs_program: bool) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("traceq: note:")]
    if runs_program:  # which says what it wants
        lines = [line for line in lines if line.startswith("traceq: ")]
    if code == 0:
        return "done"
    if code in ending:
        is_told = lines and all(line.startswith("traceq: ") for line in lines)
        return "ended" if is_told and (len(lines) == 1 or runs_program) else "other words"
    # Of a dataset each trace that fails has a line; a recording says where the trace is that could not be ingested.
    lines = [line for line in lines if not line.startswith(("traceq: failed: ", "traceq: trace: "))] or lines[:1]
    is_told = lines and re.match(r"traceq: (error|failed): ", lines[-1]) and (len(lines) == 1 or runs_program)
    return "one line" if code == 1 and is_told else "other end"


# Kinds of faults. Each gets a place, a random number generator and how long the command takes.


def by_signal(number: signal.Signals, name: str, place: Place, dice: random.Random, seconds: float) -> tuple[str, str]:
    child = start(place, COMMANDS[name])
    wait_for_handlers(child)
    time.sleep(dice.random() * seconds)
    sent = time.monotonic()
    if dice.random() < 0.2:  # Ctrl-C of a terminal reaches all processes of the group
        os.killpg(child.pid, number)
    else:
        child.send_signal(number)
    if dice.random() < 0.2:
        time.sleep(dice.random() * 0.02)
        child.send_signal(number)
    outcome = judge_outcome(place, child, (128 + number,))
    place.took = place.ended - sent
    return outcome


def by_kill(name: str, place: Place, dice: random.Random, seconds: float) -> tuple[str, str]:
    """SIGKILL; what it leaves is gone after the next run."""
    child = start(place, COMMANDS[name])
    wait_for_handlers(child)
    time.sleep(dice.random() * seconds)
    child.kill()
    child.wait()
    deadline = time.monotonic() + 10
    while place.children() and time.monotonic() < deadline:  # children see that they are alone
        time.sleep(0.05)
    return judge_outcome(place, start(place, COMMANDS[name]), ())


def run_limited(
    name: str, limits: dict[int, int], place: Place, _dice: random.Random, _seconds: float
) -> tuple[str, str]:
    def limit() -> None:
        for which, value in limits.items():
            resource.setrlimit(which, (value, value))

    return judge_outcome(place, start(place, COMMANDS[name], preexec_fn=limit), ())


def address_space(name: str, place: Place, dice: random.Random, seconds: float) -> tuple[str, str]:
    return run_limited(name, {resource.RLIMIT_AS: dice.randrange(800, 1_200) * 1_000_000}, place, dice, seconds)


def file_size(name: str, place: Place, dice: random.Random, seconds: float) -> tuple[str, str]:
    return run_limited(name, {resource.RLIMIT_FSIZE: int(10 ** dice.uniform(3, 6.6))}, place, dice, seconds)


def open_files(name: str, place: Place, dice: random.Random, seconds: float) -> tuple[str, str]:
    return run_limited(name, {resource.RLIMIT_NOFILE: dice.randrange(8, 120)}, place, dice, seconds)


def no_threads(name: str, place: Place, dice: random.Random, _seconds: float) -> tuple[str, str]:
    """Hardly any threads, for a user without a name: root has no limit. The user may read what root may, Python among it."""
    most, user = dice.randrange(1, 120), str(1_000_000 + os.getpid())
    for path in (place.folder, *place.folder.rglob("*")):
        os.chown(path, int(user), int(user))
    as_user = ("setpriv", "--reuid", user, "--regid", user, "--clear-groups")
    rights = ("--inh-caps", "+dac_override", "--ambient-caps", "+dac_override")
    limit = partial(resource.setrlimit, resource.RLIMIT_NPROC, (most, most))
    return judge_outcome(place, start(place, COMMANDS[name], (*as_user, *rights), preexec_fn=limit), ())


def run_short_of_memory(name: str, place: Place, dice: random.Random, _seconds: float) -> tuple[str, str]:
    limit = f"{dice.randrange(256, 512)}MiB"
    return judge_outcome(place, start(place, [*COMMANDS[name], "--memory-limit", limit]), ())


def small_disk(name: str, place: Place, dice: random.Random, _seconds: float) -> tuple[str, str]:
    """Where the database, the cache or temporary files go there is hardly room."""
    full = place.folder / dice.choice(("work", "tmp", "cache"))
    kept = full.with_name("kept")
    full.rename(kept)
    full.mkdir()
    used = sum(path.stat().st_size for path in kept.iterdir()) >> 10
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={used + dice.randrange(8, 3_000)}k", "none", full], check=True)
    try:
        for path in kept.iterdir():
            shutil.copyfile(path, full / path.name)
        shutil.rmtree(kept)
        return judge_outcome(place, start(place, COMMANDS[name]), ())
    finally:
        subprocess.run(["umount", "-l", full], check=True)


def read_only(name: str, place: Place, dice: random.Random, _seconds: float) -> tuple[str, str]:
    """One of the places cannot be written."""
    closed = place.folder / dice.choice(("work", "tmp", "cache"))
    subprocess.run(["mount", "--bind", closed, closed], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", closed], check=True)
        return judge_outcome(place, start(place, COMMANDS[name]), ())
    finally:
        subprocess.run(["umount", "-l", closed], check=True)


def change_source(name: str, place: Place, dice: random.Random, seconds: float) -> tuple[str, str]:
    """The trace is another one from some moment on. Done is right only where the database has rows of the file it names."""
    trace, other = place.folder / "work" / "t.json.gz", place.folder / "other.json.gz"
    contents = [trace.read_bytes(), OTHER]
    change = dice.choice(CHANGES)
    child = start(place, COMMANDS[name])
    wait_for_handlers(child)
    time.sleep(dice.random() * seconds)
    change(trace, other)
    how, told = judge_outcome(place, child, (), kept=False)
    other.unlink(missing_ok=True)
    if how == "done" and name == "ingest":
        return _compare_rows(place, contents), told
    return how, f"{change.__name__} {told}"


def _compare_rows(place: Place, contents: list[bytes]) -> str:
    """Return why the rows are not those of the file whose hash stands beside them; empty if they are."""
    from hashlib import sha256

    import duckdb

    with duckdb.connect(str(place.folder / "work/new.duckdb"), read_only=True) as connection:
        ((stored, rows),) = connection.execute("select sha256, (select count(*) from gpu_slice) from trace").fetchall()
    first, other = contents
    # All that the file held at some time, and the rows that are in it; of the one that is cut short they are not known.
    versions = [(first + b" " * 1000 * number, ROWS[0]) for number in range(21)]
    versions += [(other, ROWS[1]), (first[: len(first) // 2], rows)]
    return (
        "done"
        if (stored, rows) in [(sha256(content).hexdigest(), count) for content, count in versions]
        else "wrong data"
    )


def replace_trace(trace: Path, other: Path) -> None:
    other.write_bytes(OTHER)
    other.replace(trace)


def rewrite_trace(trace: Path, _other: Path) -> None:
    trace.write_bytes(OTHER)


def link_trace(trace: Path, other: Path) -> None:
    other.write_bytes(OTHER)
    trace.unlink()
    trace.symlink_to(other)


def cut_trace(trace: Path, _other: Path) -> None:
    os.truncate(trace, trace.stat().st_size // 2)


def grow_trace(trace: Path, _other: Path) -> None:
    for _ in range(20):
        with trace.open("ab") as file:
            file.write(b" " * 1000)
        time.sleep(0.02)


def remove_trace(trace: Path, _other: Path) -> None:
    trace.unlink()


CHANGES = (replace_trace, rewrite_trace, link_trace, cut_trace, grow_trace, remove_trace)
OTHER = b""
ROWS: list[int] = []

Fault = Callable[[Place, random.Random, float], tuple[str, str]]

_WRITERS = (
    "ingest",
    "ingest, added",
    "ingest, jobs",
    "ingest, dataset",
    "report TRACE",
    "report, page",
    "export",
    "trim",
)


def list_faults() -> dict[str, tuple[str, Fault]]:
    """Return by name the command, and the fault that it meets."""
    traces = ("ingest", "ingest, added", "ingest, jobs", "report TRACE")
    running = (*(RUNNING if find_spec("torch") else ()), *(("mcp",) if find_spec("mcp") else ()))
    known = [name for name in COMMANDS if name not in (*RUNNING, "mcp", LARGE) or name in running]
    root = (*_WRITERS, *running) if os.getuid() == 0 else ()
    kinds: dict[str, tuple[Callable[..., tuple[str, str]], Sequence[str]]] = {
        "SIGINT": (partial(by_signal, signal.SIGINT), known),
        "SIGTERM": (partial(by_signal, signal.SIGTERM), known),
        "SIGKILL": (by_kill, (*traces, "report, page", "trim", *running)),
        "address space": (address_space, (*_WRITERS, "report DB")),
        "open files": (open_files, (*_WRITERS, "report DB", *running)),
        "file size": (file_size, (*_WRITERS, "report DB", *running)),
        "memory": (run_short_of_memory, (*traces, "report DB")),
        "source changes": (change_source, ("ingest", "report TRACE", "doctor")),
        "small disk": (small_disk, root),
        "read-only": (read_only, root),
        "no threads": (no_threads, (*_WRITERS, "compare", "report DB") if root and shutil.which("setpriv") else ()),
    }
    return {f"{kind}: {name}": (name, partial(fault, name)) for kind, (fault, names) in kinds.items() for name in names}


def list_signals_of_large() -> dict[str, tuple[str, Fault]]:
    """Return by name the ingest of a large trace, and the signal that it gets."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return {f"{number.name}: {LARGE}": (LARGE, partial(by_signal, number, LARGE)) for number in numbers}


def write_large(trace: Path, megabytes: float) -> None:
    """Write a Chrome trace of that size: operators that launch one kernel each."""
    with trace.open("w") as file:
        file.write('{"traceEvents": [')
        number = 0
        while file.tell() < 1_000_000 * megabytes:
            for category, name, row, offset, length in (
                ("cpu_op", "aten::mm", 1, 0, 9),
                ("cuda_runtime", "cudaLaunchKernel", 1, 2, 4),
                ("kernel", "gemm", 7, 8, 7),
            ):
                event = {"ph": "X", "cat": category, "name": name, "pid": int(row == 1), "tid": row}
                event |= {"ts": 10 * number + offset, "dur": length}
                event |= {"args": {"correlation": number, "device": 0, "stream": 7}}
                file.write(json.dumps(event) + ",\n")
            number += 1
        file.write('{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]}')


def prepare(made: Path, megabytes: float = 0.0) -> None:
    """Make the files of all tries."""
    global OTHER  # noqa: PLW0603 - what the changes change files to
    import gzip

    if megabytes:
        write_large(made / "large.json", megabytes)
    content = json.loads(gzip.decompress(DEMO.read_bytes()))
    content["traceEvents"] = content["traceEvents"][: len(content["traceEvents"]) * 3 // 4]
    (made / "u.json").write_text(json.dumps(content))
    OTHER = gzip.compress((made / "u.json").read_bytes())
    (made / "v.json.gz").write_bytes(OTHER)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRACEQ_NO_CACHE": "1"}
    for trace, name in ((DEMO, "old.duckdb"), ("v.json.gz", "v.duckdb")):
        subprocess.run(
            [sys.executable, "-m", "traceq", "ingest", trace, "-o", name], cwd=made, env=environment, check=True
        )
    import duckdb

    for name in ("old.duckdb", "v.duckdb"):
        with duckdb.connect(str(made / name), read_only=True) as connection:
            ROWS.append(connection.execute("select count(*) from gpu_slice").fetchall()[0][0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no try later than that")
    parser.add_argument("--only", default="", metavar="REGEX", help="faults whose name it matches")
    parser.add_argument("--large", type=float, default=0.0, metavar="MB", help="signals during an ingest of so much")
    arguments = parser.parse_args()
    # Started in the background it is ignored, and that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faults = list_signals_of_large() if arguments.large else list_faults()
    chosen = {name: fault for name, fault in faults.items() if re.search(arguments.only, name)}
    counts: Counter[tuple[str, str]] = Counter()
    wrong = 0
    times: list[tuple[float, int, str]] = []
    with tempfile.TemporaryDirectory(prefix="faults-") as made:
        prepare(Path(made), arguments.large)
        seconds: dict[str, float] = {}
        end = time.monotonic() + 60 * arguments.minutes
        for number in range(arguments.tries):
            if time.monotonic() > end:
                break
            name = list(chosen)[number % len(chosen)]
            command, fault = chosen[name]
            if command not in seconds:
                seconds[command] = measure_duration(command, Path(made))
            dice = random.Random(f"{arguments.seed} {number}")
            with new_place() as place:
                fill(place, Path(made))
                how, told = fault(place, dice, seconds[command])
            if place.took is not None and how == "ended":
                times.append((place.took, number, name))
            counts[name.partition(":")[0], how] += 1
            if how not in RIGHT:
                wrong += 1
                print(f"try {number}, {name}: {how}: {told}\n", file=sys.stderr, flush=True)
    kinds = sorted({kind for kind, _ in counts})
    outcomes = sorted({how for _, how in counts}, key=lambda how: (how not in RIGHT, how))
    print(f"| fault | {' | '.join(outcomes)} |\n|---|{'---:|' * len(outcomes)}")
    for kind in kinds:
        print(f"| {kind} | {' | '.join(str(counts[kind, how]) for how in outcomes)} |")
    if times:
        took, number, name = max(times)
        print(f"\nlongest from a signal to the end: {took:.2f} s, try {number}, {name}")
    return int(wrong > 0)


def measure_duration(command: str, made: Path) -> float:
    """Seconds that a command takes from traceq's first line on."""
    with new_place() as place:
        fill(place, made)
        child = start(place, COMMANDS[command])
        wait_for_handlers(child)
        began = time.monotonic()
        try:
            longest = {LARGE: LONGEST_OF_LARGE, **dict.fromkeys(RUNNING, LONGEST_OF_PROGRAMS)}.get(command, LONGEST)
            _, said = child.communicate(timeout=longest)
        except subprocess.TimeoutExpired:
            place.end()
            child.communicate()
        else:
            if child.returncode:
                raise SystemExit(f"{command}: {said.decode()}")
        finally:
            if (talk := talks.pop(child.pid, None)) is not None:
                os.close(talk)
        return time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
