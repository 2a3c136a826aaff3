"""One try: a file is made, read in a process of its own with a limit of CPU time and memory, and what becomes of it is told."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import mutate_database
import mutate_kineto
import mutate_logs
import mutate_nsys
import mutate_snapshot
import plain_reader

import traceq.app.doctor
import traceq.app.ingest
import traceq.app.report
from traceq import importers
from traceq.errors import TraceqError
from traceq.importers.monitors import read_log

FORMATS: dict[str, Callable[[random.Random], tuple[bytes, str]]] = {
    "kineto": mutate_kineto.mutate_trace,
    "nsys": mutate_nsys.mutate_trace,
    "snapshot": mutate_snapshot.mutate_snapshot,
    "log": mutate_logs.log,
    "database": mutate_database.mutate_database,
}
_RUN = Path(__file__).resolve().parents[2] / "fixtures" / "run"
_TRACE, _EXPORT = _RUN / "kineto_2024_base_after.json.gz", _RUN / "nsys_2026.2.sqlite"
_HEAVY = (
    "traceq",
    "pyarrow",
    "numpy",
    "pandas",
    "matplotlib",
    "adbc",
    "isal",
    "sqlite3",
    "jinja2",
    "markupsafe",
    "fsspec",
    "duckdb",
    "rich",
)

_CPU_SECONDS, _WALL_SECONDS = 60, 600
_ADDRESSES = 6 << 30
_MEMORY_LIMIT = 512 << 20
_MOST_RESIDENT = _MEMORY_LIMIT + (300 << 20)

# The outcomes that a user can live with come first.
GOOD = ("ok", "error", "damage told")
OUTCOMES = (
    *GOOD,
    "broken numbers",
    "traceback",
    "hang",
    "crash",
    "over memory",
    "leftover",
    "wrong data",
    "odd output",
)


# Numbers of a report that can be below 0 and, of shares, above 1.
_ANY_NUMBER = re.compile("error|grow|change|offset|drift|slack|^ts|start|end|^win_ns$")


@dataclass(frozen=True)
class Outcome:
    """What became of a try: one of OUTCOMES, in words why, the peak of memory (bytes) and the CPU time (s)."""

    outcome: str
    why: str = ""
    resident: int = 0
    seconds: float = 0.0


def make_file(format_: str, seed: int, number: int) -> tuple[bytes, str]:
    """Make the file of a try: the same each time for the same numbers."""
    return FORMATS[format_](random.Random(f"{seed}/{format_}/{number}"))


def attempt(make: Callable[[], tuple[bytes, str]], format_: str, *, whole: bool) -> Outcome:
    """Make a file and read it; `whole`: ingest, doctor and reports, too."""
    with tempfile.TemporaryDirectory(prefix="fuzz.") as folder:
        place = Path(folder)
        (place / "tmp").mkdir()
        # Making a database or an export runs other people's code on what is broken: it may end the process.
        child = os.fork()
        if not child:
            _run(place, lambda: _make(place, make))
        _, status, _ = os.wait4(child, 0)
        name = next((each.name for each in place.iterdir() if each.name.startswith("t.")), None)
        if name is None:
            return Outcome("ok", "no file could be made")
        child = os.fork()
        if not child:
            _run(place, lambda: _read(place, place / name, format_, whole=whole))
        _, status, used = os.wait4(child, 0)
        return _judge_process(place, name, status, used)


def prepare(formats: Iterable[str]) -> None:
    """Import here what the tries need, so that each process that is forked for a try has it already."""
    if "database" in formats:
        mutate_database.prepare()
    mutate_kineto.prepare()
    with tempfile.TemporaryDirectory(prefix="fuzz.") as folder:
        child = os.fork()
        if not child:
            place = Path(folder)
            (place / "tmp").mkdir()
            _run(place, lambda: _warm_up(place))
        os.waitpid(child, 0)
        told = json.loads((Path(folder) / "outcome").read_text())
    for name in told["why"].split():
        with suppress(ImportError):
            import_module(name)


def _warm_up(place: Path) -> Outcome:
    """The names of all modules that tries of every format import."""
    before = set(sys.modules)
    nsys, snapshot = place / "t.sqlite", place / "t.pickle"
    nsys.write_bytes(_EXPORT.read_bytes())
    snapshot.write_bytes(mutate_snapshot.plain_snapshot())
    for number, path in enumerate((_TRACE, nsys, snapshot)):
        database = place / f"{number}.duckdb"
        traceq.ingest([path], database)
        _report_database(database)
    return Outcome("ok", " ".join(name for name in sys.modules if name not in before and name.startswith(_HEAVY)))


def _make(place: Path, make: Callable[[], tuple[bytes, str]]) -> Outcome:
    content, suffix = make()
    (place / f"t{suffix}").write_bytes(content)
    return Outcome("ok")


def _run(place: Path, work: Callable[[], Outcome]) -> None:
    """Do the work in this child, write its outcome down, and end it."""
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_WALL_SECONDS)
    os.environ["TMPDIR"] = str(place / "tmp")
    tempfile.tempdir = None
    with (place / "said").open("wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    try:
        outcome = work()
    except BaseException:  # noqa: BLE001 - whatever comes is an outcome
        outcome = Outcome("traceback", traceback.format_exc())
    (place / "outcome").write_text(json.dumps(asdict(outcome)))
    sys.stdout.flush()
    os._exit(0)


def _judge_process(place: Path, name: str, status: int, used: resource.struct_rusage) -> Outcome:
    seconds, resident = used.ru_utime + used.ru_stime, used.ru_maxrss << 10
    said = (place / "said").read_text(errors="replace")
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        is_slow = number in (signal.SIGXCPU, signal.SIGALRM)
        return Outcome("hang" if is_slow else "crash", f"signal {number}: {said[-300:]}", resident, seconds)
    told = json.loads((place / "outcome").read_text())
    outcome, why = told["outcome"], told["why"]
    if outcome in GOOD:
        expected = {"tmp", "said", "outcome", name} | ({"x.duckdb"} if outcome != "error" else set())
        left = [
            str(each.relative_to(place)) for each in place.rglob("*") if str(each.relative_to(place)) not in expected
        ]
        if left:
            outcome, why = "leftover", f"{left}; {why}"
        elif said:
            outcome, why = "odd output", said[-2000:]
        elif resident > _MOST_RESIDENT:
            outcome, why = "over memory", f"{resident >> 20} MiB"
    return Outcome(outcome, why, resident, seconds)


def _read(place: Path, path: Path, format_: str, *, whole: bool) -> Outcome:
    try:
        if format_ == "database":
            return _report_database(path)
        if format_ == "log":
            read_log(path)
        elif told := read_rows(path):
            return Outcome("wrong data", told)
        if not whole:
            return Outcome("ok")
        logs = [path] if format_ == "log" else []
        database = place / "x.duckdb"
        result = traceq.ingest([_TRACE if logs else path], database, memory_limit=_MEMORY_LIMIT, logs=logs)
        if result.not_judged is not None:
            return Outcome("broken numbers", f"the rules could not run: {result.not_judged}")
        try:
            return _report_database(database)
        except TraceqError:
            database.unlink()  # it was ingested well: no half file
            raise
    except TraceqError as error:
        is_line = "\n" not in str(error) and str(error).strip()
        return Outcome("error" if is_line else "odd output", f"{type(error).__name__}: {error}"[:2000])


def _report_database(database: Path) -> Outcome:
    examined = traceq.doctor(database, memory_limit=_MEMORY_LIMIT)
    examined.to_text()
    _parse_strict(examined.to_json())
    report = traceq.report(database, memory_limit=_MEMORY_LIMIT)
    impossible = list(_list_impossible(_parse_strict(report.to_json())))
    for text in (report.to_html(), report.to_text(), report.to_text(detail="full"), report.to_markdown()):
        text.encode("utf-8", "strict")
    if impossible:
        return Outcome("broken numbers", f"cannot be: {', '.join(impossible[:5])}")
    if not examined.broken or database.name != "x.duckdb":
        return Outcome("ok")
    told = f"identities: {', '.join(examined.broken)}; {', '.join(examined.damage)}"
    return Outcome("damage told" if examined.damage else "broken numbers", told)


def _list_impossible(value: Any, name: str = "") -> Iterator[str]:
    """Shares beyond 0 and 1, and sizes and times below 0, by their names; errors, growth and offsets can be any number."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _list_impossible(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from _list_impossible(each, name)
    elif isinstance(value, (int, float)) and not _ANY_NUMBER.search(name) and _cannot_be(value, name):
        yield f"{name} {value}"


def _cannot_be(value: float, name: str) -> bool:
    if name.endswith("share"):
        return not -1e-9 <= value <= 1 + 1e-9
    return name.endswith(("_bytes", "_ns")) and value < 0


def _parse_strict(text: str) -> Any:
    """Return the value of a text that is JSON, without NaN. Raise ValueError otherwise."""

    def no_constant(token: str) -> None:
        raise ValueError(f"{token} in JSON")

    return json.loads(text, parse_constant=no_constant)


def read_rows(path: Path) -> str:
    """Read all rows; in words what a plain reading finds otherwise."""
    importer = importers.find(path)
    tables: dict[str, list[Any]] = defaultdict(list)
    for table, batch in importer.read(path):
        batch.validate(full=True)
        tables[table].append(batch)
    notes = {row["code"]: row["count"] for batch in tables["import_note"] for row in batch.to_pylist()}
    if importer.NAME == "chrome" and not notes.keys() & {"truncated", "malformed_event"}:
        facts = plain_reader.chrome_facts(path)
        return "; ".join(plain_reader.chrome_differences(facts, plain_reader.chrome_rows(tables))) if facts else ""
    if importer.NAME == "nsys" and not notes.keys() & {"truncated", "table_damaged"}:
        facts = plain_reader.nsys_facts(path)
        return "; ".join(plain_reader.nsys_differences(facts, plain_reader.chrome_rows(tables))) if facts else ""
    return ""
