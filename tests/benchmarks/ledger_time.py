"""From trace to ledger and to the other analyses: what they cost beyond the ingest itself, as nsys and as Kineto.

The ingest runs in a child as the command runs it, with a clock around each of its parts. Plain is what it takes to fill the
tables of slices; finding steps and the first topic of analyses make the ledger, the other topics the rest. CPU seconds of
the parts are those of that process alone; Chrome traces are decoded by others.
"""

from __future__ import annotations

import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import grow_chrome
import grow_nsys
from benchmark_files import TRACES, grown, is_sqlite, options, stem
from measure import ROOT, Cost, cost, ingest, megabytes, tell, warm
from report_time import gpu_slices

# About five host slices a GPU slice, two launching threads, steps, and hardly a kernel that follows another without a gap.
KINETO = TRACES / "torch" / "kineto_resnet50_w0.v19.pt.trace.json.gz"
NSYS = TRACES / "nsys" / "nsysai_mfu_2gpu_before.sqlite"
_TIMED = "--timed-ingest"
_TOLD = re.compile(r"^parts=(.*)$", re.MULTILINE)
_TOPIC = "topic "
_OF_LEDGER = ("steps", f"{_TOPIC}device_activity")
TITLES = ("GPU slices", "host slices", "ingest", "ledger", "its CPU", "an event", "the rest", "its CPU", "peak memory")


@dataclass(frozen=True)
class Part:
    """A part of the ingest: its file of SQL or its function, seconds of wall and CPU time."""

    name: str
    wall: float
    cpu: float


@dataclass(frozen=True)
class Ledger:
    """One ingest: its size in events, its cost as a whole, and the parts that were timed."""

    gpu: int
    host: int
    whole: Cost
    parts: tuple[Part, ...]

    @property
    def ledger(self) -> tuple[Part, ...]:
        """The parts that make the ledger, steps included."""
        return tuple(part for part in self.parts if part.name in _OF_LEDGER)

    @property
    def rest(self) -> tuple[Part, ...]:
        """The topics of analyses beyond the ledger."""
        return tuple(part for part in self.parts if part.name.startswith(_TOPIC) and part not in self.ledger)


def timed_ingest(trace: str, database: str) -> None:
    """Ingest as the command does, in a process of its own, and print what each part took."""
    sys.path.insert(0, str(ROOT))
    import traceq
    from traceq.analysis import order
    from traceq.common.process import usable_cpus
    from traceq.database import sql

    parts: list[Part] = []

    def timed(function: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            with _clock(parts, name(*arguments)):
                return function(*arguments, **named)

        return run

    with (
        mock.patch.object(sql, "run", timed(sql.run, lambda _, file: file)),
        mock.patch.object(order, "find_steps", timed(order.find_steps, lambda *_: "steps")),
        mock.patch.object(order, "run", timed(order.run, lambda _, names, *__: f"{_TOPIC}{names[0]}")),
    ):
        traceq.ingest(trace, database, jobs=usable_cpus())
    sys.stdout.write(f"\nparts={json.dumps([vars(part) for part in parts])}\n")


@contextmanager
def _clock(parts: list[Part], name: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    parts.append(Part(name, time.perf_counter() - wall, time.process_time() - cpu))


def measure(trace: Path, database: Path) -> Ledger:
    """Ingest a trace with a clock around each part."""
    database.unlink(missing_ok=True)
    whole = cost([sys.executable, __file__, _TIMED, trace, database])
    found = _TOLD.search(whole.output)
    if not found:
        raise SystemExit(f"the ingest did not say how long it took:\n{whole.output}")
    parts = tuple(Part(**part) for part in json.loads(found[1]))
    return Ledger(gpu_slices(database), _host_slices(database), whole, parts)


def _host_slices(database: Path) -> int:
    import traceq as library

    with closing(library.open(database)) as traces:
        return int(traces.sql("select count(*) from cpu_slice").fetchall()[0][0])


def _grow(source: Path, copies: int, output: Path) -> None:
    """Repeat a trace of either format a number of times; a grown one has as many events as copies times its own."""
    if is_sqlite(source):
        rows = grow_nsys.grow(source, 1, output)
        grow_nsys.grow(source, rows * copies, output)
    else:
        text = grow_chrome.split(source)
        grow_chrome.grow(source, len(text.head) + len(text.events) * copies, output)


def tell_ledger(label: str, ledger: Ledger, *, each_part: bool) -> None:
    """A row of the table, and if wanted a line for each part below it."""
    wall, cpu = _seconds(ledger.ledger)
    rest_wall, rest_cpu = _seconds(ledger.rest)
    events = ledger.gpu + ledger.host
    columns = (
        f"{ledger.gpu:,}",
        f"{ledger.host:,}",
        f"{ledger.whole.wall - wall - rest_wall:.1f} s",
        f"{wall:.1f} s",
        f"{cpu:.1f} s",
        f"{cpu / events * 1e6:.2f} us",
        f"{rest_wall:.1f} s",
        f"{rest_cpu:.1f} s",
        megabytes(ledger.whole.peak),
    )
    tell(label + "".join(f"{column:>14}" for column in columns))
    for part in sorted(ledger.parts, key=lambda part: -part.wall) if each_part else ():
        tell(f"{'':>14}{part.name:<36}{part.wall:>8.2f} s wall{part.cpu:>8.2f} s CPU")


def _seconds(parts: tuple[Part, ...]) -> tuple[float, float]:
    return sum(part.wall for part in parts), sum(part.cpu for part in parts)


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__)
    parser.add_argument("--sources", type=Path, nargs="*", default=[NSYS, KINETO], metavar="TRACE", help="to grow")
    parser.add_argument("--gpu-slices", type=int, nargs="*", default=[20_000, 200_000, 1_000_000], metavar="N")
    parser.add_argument("--parts", action="store_true", help="say what each part took")
    parser.add_argument("--keep", action="store_true", help="keep the grown traces for the next run")
    arguments = parser.parse_args()
    database = arguments.work / "ledger_time.duckdb"
    for source in arguments.sources:
        single = _single(source, database)
        tell(source.name)
        tell("".join(f"{title:>14}" for title in TITLES))
        for wanted in arguments.gpu_slices:
            copies = math.ceil(wanted / single)
            trace = grown(source, arguments.work, f"ledger-{stem(source)}-{copies}", partial(_grow, source, copies))
            warm(trace)
            tell_ledger("", measure(trace, database), each_part=arguments.parts)
            if not arguments.keep:
                trace.unlink()
    database.unlink()


def _single(source: Path, database: Path) -> int:
    """GPU slices of a source as it is."""
    database.parent.mkdir(parents=True, exist_ok=True)
    ingest(source, database)
    found = gpu_slices(database)
    if not found:
        raise SystemExit(f"{source}: has no GPU slices; take another trace")
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == [_TIMED]:
        timed_ingest(*sys.argv[2:])
    else:
        main()
