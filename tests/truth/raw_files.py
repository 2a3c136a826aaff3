"""The slices of a raw trace file, read with sqlite3, json and bytes only: no import of traceq, so that labels owe it nothing."""

import gzip
import json
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

import raw_others

SHARED = Path(__file__).parents[3] / "shared"

_ENDS = (".json", ".json.gz", ".sqlite", ".sqlite.gz", ".rpd", ".xplane.pb", ".db")
_FOLDERS = (
    "traces",
    *(f"judged/{folder}" for folder in ("nsys", "torch", "rocm", "xplane")),
    *(f"judged3/{folder}" for folder in ("nsys", "torch", "odd", "rocm", "xplane")),
)
_POINTER = b"version https://git-lfs"
_MEMCPY = {"gpu_memcpy", "Memcpy"}
_MEMSET = {"gpu_memset", "Memset"}
_CALLS = {"cuda_runtime", "cuda_driver", "Runtime"}
_MARKS = {"user_annotation", "Operator", "cpu_op", "python_function"}


@dataclass(frozen=True, slots=True)
class Slice:
    """One stretch of time of the raw file. Times in ns on the file's own clock; `launch` is the start of the launch call."""

    kind: str
    name: str
    start: int
    end: int
    track: str
    shape: tuple[int, ...] = ()
    launch: int | None = None
    caller: str | None = None


@dataclass(frozen=True)
class Raw:
    """All slices of a file: what ran on GPUs (by start), what the host marked or ran, and the API calls."""

    gpu: list[Slice]
    host: list[Slice]
    calls: list[Slice]
    other: list[Slice]

    def every(self) -> list[Slice]:
        return [*self.gpu, *self.host, *self.calls, *self.other]


def list_traces() -> list[Path]:
    """The traces of ../shared that have a label."""
    files = sorted(file for folder in _FOLDERS for file in (SHARED / folder).rglob("*") if file.name.endswith(_ENDS))
    return [file for file in files if not file.name.startswith("._")]


def strip_endings(file: Path) -> str:
    """The name of a trace without the endings that tell its format."""
    name = file.name
    for end in (".gz", ".json", ".sqlite", ".s37", ".trace", ".pt", ".rpd", ".pb", ".xplane"):
        name = name.removesuffix(end)
    return name


@lru_cache(maxsize=1)
def read(file: Path) -> Raw:
    """The slices of a trace, by its folder and its ending; none of a pointer to a file, and of a database without rows."""
    if file.read_bytes().startswith(_POINTER) or (file.suffix == ".db" and not _count_rows(file)):
        return Raw([], [], [], [])
    if ".sqlite" in file.name:
        return _read_nsys(file)
    if file.name.endswith(".xplane.pb"):
        return _sort_rows(raw_others.read_xplane(file))
    if file.name.endswith(".rpd"):
        return _sort_rows(raw_others.read_rpd(file))
    if file.parent.name == "rocm" and file.read_bytes().startswith(b"["):
        return _sort_rows(raw_others.rpd_chrome(json.loads(file.read_bytes())))
    return _sort_rows(raw_others.read_rocprofv3(file)) if file.parent.name == "rocm" else _read_chrome(file)


def _count_rows(database: Path) -> int:
    with sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True) as connection:
        tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
        return sum(connection.execute(f'select count(*) from "{table}"').fetchone()[0] for table in tables)


def _sort_rows(rows: Iterable[raw_others.Row]) -> Raw:
    """The slices of another format, each in the group of its kind."""
    groups: dict[str, list[Slice]] = defaultdict(list)
    names = {"range": "host", "call": "calls", "other": "other"}
    for kind, name, start, end, track, shape, launch in rows:
        launched, caller = launch or (None, None)
        groups[names.get(kind, "gpu")].append(Slice(kind, name, start, end, track, shape, launched, caller))
    return Raw(*(_by_start(groups[name]) for name in ("gpu", "host", "calls", "other")))


def _read_nsys(file: Path) -> Raw:
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as copy:
        path = file
        if file.name.endswith(".gz"):
            copy.write(gzip.decompress(file.read_bytes()))
            copy.flush()
            path = Path(copy.name)
        with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as connection:
            connection.row_factory = sqlite3.Row
            return _nsys_slices(connection)


def _nsys_slices(connection: sqlite3.Connection) -> Raw:
    strings = dict(connection.execute("select id, value from StringIds").fetchall())
    tables = {row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")}

    def read_rows(table: str) -> list[dict]:
        return [dict(row) for row in connection.execute(f"select * from {table}")] if table in tables else []

    calls, by_correlation = [], {}
    for row in read_rows("CUPTI_ACTIVITY_KIND_RUNTIME"):
        call = Slice("call", strings.get(row["nameId"], ""), row["start"], row["end"], str(row["globalTid"]))
        calls.append(call)
        if row["correlationId"]:
            by_correlation[row["globalTid"] >> 24, row["correlationId"]] = call

    def make_gpu_slice(row: dict, kind: str, name: str, shape: tuple[int, ...] = ()) -> Slice:
        pid = (row.get("globalPid") or 0) >> 24
        if "globalPid" not in row:  # exports before 2021 hold one process
            pid = next(iter(by_correlation), (0,))[0]
        call = by_correlation.get((pid, row["correlationId"])) if row.get("correlationId") else None
        launch, caller = (call.start, call.track) if call else (None, None)
        return Slice(
            kind, name, row["start"], row["end"], f"{row['deviceId']}/{row['streamId']}", shape, launch, caller
        )

    work = [
        make_gpu_slice(
            row,
            "kernel",
            strings.get(row["demangledName"], ""),
            (row["gridX"], row["gridY"], row["gridZ"], row["blockX"]),
        )
        for row in read_rows("CUPTI_ACTIVITY_KIND_KERNEL")
    ]
    work += [
        make_gpu_slice(row, "memcpy", f"copyKind {row['copyKind']}", (row["bytes"],))
        for row in read_rows("CUPTI_ACTIVITY_KIND_MEMCPY")
    ]
    work += [
        make_gpu_slice(row, "memset", "memset", (row["bytes"],)) for row in read_rows("CUPTI_ACTIVITY_KIND_MEMSET")
    ]
    work += [
        make_gpu_slice(row, "graph", f"graph {row['graphId']}") for row in read_rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
    ]
    host = [
        Slice(
            "range", row["text"] or strings.get(row.get("textId"), ""), row["start"], row["end"], str(row["globalTid"])
        )
        for row in read_rows("NVTX_EVENTS")
        if row["start"] is not None and row["end"] is not None
    ]
    other = [
        Slice("other", table, row["start"], row["end"], "")
        for table in ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "OSRT_API")
        for row in read_rows(table)
        if row["end"] is not None
    ]
    if not (work or host or calls or other):  # only the profiler's own samples tell that the program ran
        other = [
            Slice("other", table, row["start"], row["start"], "")
            for table in ("COMPOSITE_EVENTS", "SCHED_EVENTS")
            for row in read_rows(table)
        ]
    return Raw(_by_start(work), _by_start(host), _by_start(calls), other)


def _read_chrome(file: Path) -> Raw:
    text = gzip.decompress(file.read_bytes()) if file.name.endswith(".gz") else file.read_bytes()
    document = json.loads(text.decode(errors="replace"), parse_float=Decimal, strict=False)
    events = document if isinstance(document, list) else document["traceEvents"]
    events = [event for event in events if event.get("ph") == "X"]
    groups: dict[str, list[Slice]] = defaultdict(list)
    launches = {}
    for event in events:
        if event.get("cat") in _CALLS:
            launches.setdefault(_read_correlation(event), event)
    for event in events:
        group, slice_ = _chrome_slice(event, launches)
        groups[group].append(slice_)
    return Raw(*(_by_start(groups[name]) for name in ("gpu", "host", "calls", "other")))


def _chrome_slice(event: dict, launches: dict) -> tuple[str, Slice]:
    category, args = event.get("cat", ""), event.get("args") or {}
    start, end = _to_ns(event["ts"]), _to_ns(Decimal(event["ts"]) + Decimal(event.get("dur", 0)))
    track = f"{event.get('pid')}/{event.get('tid')}"
    if category.lower() == "kernel" or category in _MEMCPY | _MEMSET:
        kind = "kernel" if category.lower() == "kernel" else "memcpy" if category in _MEMCPY else "memset"
        call = launches.get(_read_correlation(event))
        shape = tuple(args.get("grid") or ()) or ((args["bytes"],) if "bytes" in args else ())
        launch, caller = (_to_ns(call["ts"]), f"{call['pid']}/{call['tid']}") if call else (None, None)
        return "gpu", Slice(kind, str(event["name"]), start, end, track, shape, launch, caller)
    if category in _CALLS:
        return "calls", Slice("call", str(event["name"]), start, end, track)
    group = "host" if category in _MARKS else "other"
    return group, Slice(category, str(event["name"]), start, end, track)


def _read_correlation(event: dict) -> object:
    args = event.get("args") or {}
    return args.get("correlation", args.get("External id", args.get("external id")))


def _to_ns(microseconds: Decimal | int) -> int:
    return int((Decimal(microseconds) * 1000).to_integral_value())


def _by_start(slices: list[Slice]) -> list[Slice]:
    return sorted(slices, key=lambda slice_: (slice_.start, slice_.end))
