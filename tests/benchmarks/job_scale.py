"""What judging a job of very many ranks costs: CPU time and peak memory of the cross-rank stage alone, and of its parts.

    python tests/benchmarks/job_scale.py [--ranks 1024] [--steps 12]

Ranks are in tensor-parallel groups of eight (384 collectives a step) and data-parallel groups across them (13 a step); one rank
computes 10 % longer. What the stage reads is written straight into the tables, without operators of the host.
"""

from __future__ import annotations

import resource
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from benchmark_files import options
from measure import cost, megabytes, tell

OF_A_GROUP = 8
PLACES = 397
EVERY = 30
OWN, TRANSFER, JITTER = 1e6, 2e5, 5e3  # ns
LATE, LATE_BY = 77, 0.1
AT_ONCE = 64

_SLICES = """
create or replace temp table made as
select rank + 1 as trace_id, slice_id, 0 as device, number // $places as step, number, begins, ts, ts_end - ts as dur,
    number % $places % $every = $every - 1 as across,
    if(across, 'dp ' || rank % $group, 'tp ' || rank // $group) as group_name,
    if(across, $ranks // $group, $group) as group_size,
    if(across, 'all_gather', 'all_reduce') as op, if(across, 67108864, 1048576) as bytes, if(across, 13, 7) as stream
from _rows
"""
_TABLES = {
    "gpu_slice": "select *, 'kernel' as kind, 'ncclDevKernel' as name, true as is_communication",
    "collective_slice": "select *, 0 as overlapped, dur as exposed, dur as blocking",
    "collective": "select *, number as sequence",
    "device_activity": "select * replace (begins as ts, ts - begins - 50000 as dur), 'compute' as category,"
    " 1 as compute, 0 as communication, 0 as copy_h2d, 0 as copy_d2h, 0 as copy_other, 0 as memset, 0 as graph",
    "idle_gap": "select * replace (ts - 50000 as ts, 50000 as dur), slice_id as gap_id, 'idle_launch' as cause",
    "idle_gap_cause": "select * replace (ts - 50000 as ts, 50000 as dur), slice_id as gap_id, 'idle_launch' as cause",
    "step": "select trace_id, step, 'step ' || step as name, 'marked' as source, min(begins) as ts,"
    " max(ts + dur) - min(begins) as dur group by trace_id, step",
}
_TRACES = """
insert into trace by name
select range + 1 as trace_id, 'made up' as run, 'rank' || range as path, range::varchar as sha256, 0 as size_bytes,
    'made up' as format, 'host' || range // 8 as host, range as rank, $ranks as world_size, 0 as utc_origin_ns, 0 as ts,
    1000000000000 as dur, timestamp '2026-01-01' as ingested_at
from range($ranks)
"""


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__)
    parser.add_argument("--ranks", type=int, default=1024, help="a multiple of 64")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--memory-limit", default="1GiB", help="of DuckDB")
    parser.add_argument("--judge", type=Path, help="judge the job in this database; the process that is measured")
    asked = parser.parse_args()
    if asked.judge:
        _judge(asked.judge, asked.memory_limit)
        return
    kept = filled(asked.work, asked.ranks, asked.steps)
    judged = kept.with_suffix(".judged")
    shutil.copy(kept, judged)
    limit = ("--memory-limit", asked.memory_limit)
    found = cost([sys.executable, __file__, *limit, "--judge", judged])
    tell(found.output.rstrip())
    tell(f"whole process: CPU {found.cpu:.1f} s, wall {found.wall:.1f} s, peak {megabytes(found.peak)}")


def filled(work: Path, ranks: int, steps: int) -> Path:
    """A database of such a job that is not judged yet, made unless an earlier run has left it in `work`."""
    work.mkdir(parents=True, exist_ok=True)
    kept = work / f"job-{ranks}-{steps}.duckdb"
    if not kept.exists():
        tell(f"writing {kept}")
        _fill(kept.with_suffix(".part"), ranks, steps)
        kept.with_suffix(".part").replace(kept)
    return kept


def _fill(database: Path, ranks: int, steps: int) -> None:
    """Write the tables that the stage reads."""
    from traceq.database.connect import create_schema

    count = steps * PLACES
    begins, starts, ends = _made(ranks, count)
    clock = np.random.default_rng(1).integers(-1_000_000, 1_000_000, (ranks, 1)) + 10**9
    database.unlink(missing_ok=True)
    with closing(duckdb.connect(str(database))) as connection:
        create_schema(connection)
        connection.execute(_TRACES, {"ranks": ranks})
        for first in range(0, ranks, AT_ONCE):
            some = slice(first, first + AT_ONCE)
            rows = {
                name: (each[some] + clock[some]).reshape(-1)
                for name, each in zip(("begins", "ts", "ts_end"), (begins, starts, ends), strict=True)
            }
            slice_id = np.arange(first * count, (first + AT_ONCE) * count)
            connection.register(
                "_rows", pa.table(rows | {"rank": slice_id // count, "number": slice_id % count, "slice_id": slice_id})
            )
            connection.execute(_SLICES, {"places": PLACES, "every": EVERY, "group": OF_A_GROUP, "ranks": ranks})
            for table, query in _TABLES.items():
                _insert(connection, table, query)


def _insert(connection: duckdb.DuckDBPyConnection, table: str, query: str) -> None:
    """Insert those columns of a query on `made` that the table has."""
    before, _, after = query.partition(" group by")
    rows = connection.sql(f"{before} from made{f' group by{after}' if after else ''}")
    has = {name for name, *_ in connection.execute(f"describe {table}").fetchall()} - {"ts_end"}
    rows.project(", ".join(name for name in rows.columns if name in has)).query(
        "_made", f"insert into {table} by name from _made"
    )


def _made(ranks: int, count: int) -> tuple[Any, Any, Any]:
    """When each rank begins to work for each collective, arrives there, and is done: ns, ranks x collectives."""
    chance = np.random.default_rng(ranks)
    own = OWN * np.maximum(1 + 0.02 * chance.standard_normal((ranks, count), np.float32), 0.5)
    own[LATE % ranks] *= 1 + LATE_BY
    begins, starts, ends = (np.empty((ranks, count), np.int64) for _ in range(3))
    now = np.zeros(ranks)
    for number in range(count):
        arrival = now + own[:, number]
        groups = arrival.reshape(-1, OF_A_GROUP)
        across = number % PLACES % EVERY == EVERY - 1
        last = np.broadcast_to(groups.max(axis=0 if across else 1, keepdims=True), groups.shape).reshape(-1)
        begins[:, number], starts[:, number] = now, arrival
        now = last + TRANSFER + chance.uniform(-JITTER, JITTER, ranks)
        ends[:, number] = now
    return begins, starts, ends


def _judge(database: Path, memory_limit: str) -> None:
    """Fill the tables of jobs, and tell what each part of that costs."""
    from traceq.analysis.job import job, window
    from traceq.database import sql

    parts: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    running: list[float] = []

    def timed(function: Callable[..., Any], name_of: Callable[..., str]) -> Callable[..., Any]:
        def run(*arguments: Any, **more: Any) -> Any:
            begin = time.process_time()
            running.append(0.0)
            result = function(*arguments, **more)
            took = time.process_time() - begin
            name = name_of(*arguments)
            # what others inside it took is told of these
            parts[name] += took - running.pop()
            calls[name] += 1
            if running:
                running[-1] += took
            return result

        return run

    sql.run = timed(sql.run, lambda _, name, *__: name)
    for module, names in (
        (job, "infer_groups _read_slices clocks_of find_violations judge_window _own_times _insert fill_groups"),
        (window, "build_graph find_stages usual_own find_stragglers critical_path _is_random group_medians"),
        (window, "find_parts find_part_stragglers divide_rank_time"),
    ):
        for name in names.split():
            setattr(module, name, timed(getattr(module, name), lambda *_, name=name: name))
    with closing(duckdb.connect(str(database))) as connection:
        connection.execute(f"set memory_limit = '{memory_limit}'")
        before = resource.getrusage(resource.RUSAGE_SELF)
        begin = time.process_time()
        job.fill_jobs(connection)
        took = time.process_time() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        told = connection.execute("select name, adds, cause from straggler order by place").fetchall()
        why = connection.execute("select ranks, matched_share, cannot_tell from job").fetchall()
    for name, seconds in parts.most_common():
        if seconds >= 0.05:
            tell(f"  {seconds:6.2f} s  {name}" + (f", {calls[name]} times" if calls[name] > 1 else ""))
    tell(f"{why} {told}")
    tell(f"stage: CPU {took:.1f} s, peak {megabytes(peak)} (before it {megabytes(before.ru_maxrss << 10)})")


if __name__ == "__main__":
    main()
