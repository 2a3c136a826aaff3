"""64 ranks made of the 8 real Megatron ranks: are the groups, the wins and the clocks found that were put in?

Eight tensor-parallel groups of eight ranks. A group is the recorded job on a time axis of its own, stretched and squeezed by
up to 3 % from one 10 ms to the next, alike on all its ranks, so that no two groups are copies. Then every rank gets a clock
that is off by up to 50 ms and drifts by up to 50 ppm. Of their groups ranks say what PyTorch 2.1 and 2.2 recorded: the address
of an object in the rank's own memory, its size, and a number that counts its collectives.
"""

from __future__ import annotations

import gzip
import json
import random
import tempfile
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import duckdb
from benchmark_files import options
from measure import ROOT, tell

SHARED = ROOT.parent / "shared"
RANKS = 8
_PIECE = 10_000.0  # us
_MOST_OFFSET = 50_000.0  # us
_MOST_DRIFT = 50e-6

Event = dict[str, Any]


def recorded(rank: int) -> dict[str, Any]:
    """The trace of a Megatron rank."""
    name = f"megatron_tp8_rank{rank}.json.gz"
    found = [*SHARED.glob(f"traces/torch/{name}"), *SHARED.glob(f"judged/torch/megatron_tp8/{name}")]
    if not found:
        raise SystemExit(f"{name}: not beside the checkout")
    trace: dict[str, Any] = json.loads(gzip.decompress(found[0].read_bytes()))
    return trace


def axis_of_group(first: float, last: float, seed: int, stretch: float) -> Callable[[float], float]:
    """A time axis: us as recorded to us of the group, piecewise linear from `first` to `last`."""
    chance = random.Random(seed)  # noqa: S311 - made-up times
    rates = [1 + chance.uniform(-stretch, stretch) for _ in range(int((last - first) / _PIECE) + 2)]
    knots = [first, *(first + each for each in accumulate(rate * _PIECE for rate in rates))]

    def axis(time: float) -> float:
        piece = min(max(int((time - first) // _PIECE), 0), len(rates) - 1)
        return knots[piece] + rates[piece] * (time - first - piece * _PIECE)

    return axis


def times_of(trace: dict[str, Any]) -> list[float]:
    """All times of a trace's events, us."""
    return [float(event["ts"]) for event in trace["traceEvents"] if "ts" in event]


def edited(
    trace: dict[str, Any], rank: int, axis: Callable[[float], float], clock: Callable[[float], float]
) -> dict[str, Any]:
    """The trace as rank `rank` of 64, on the axis of its group and by its own clock."""
    address = str(140_000_000_000_000 + 4_096 * rank)
    events = [dict(event) for event in trace["traceEvents"]]
    collectives = [event for event in events if event.get("cat") == "kernel" and event["name"].startswith("nccl")]
    for number, event in enumerate(sorted(collectives, key=lambda each: float(each["ts"]))):
        group = {"Collective name": "allreduce", "Process Group Name": address, "Group size": RANKS, "Seq": number}
        event["args"] = event["args"] | group
    for event in events:
        if "ts" not in event:
            continue
        begin = float(event["ts"])
        if "dur" in event:
            end = clock(axis(begin + float(event["dur"])))
            event["dur"] = round(end - clock(axis(begin)), 3)
        event["ts"] = round(clock(axis(begin)), 3)
    return trace | {"traceEvents": events, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 64}}


def make(folder: Path, groups: int, stretch: float) -> dict[int, tuple[float, float]]:
    """Write the ranks of so many groups; offset (us) and drift of each rank."""
    traces = [recorded(rank) for rank in range(RANKS)]
    every = [time for trace in traces for time in times_of(trace)]
    first, last = min(every), max(every)
    chance = random.Random(64)  # noqa: S311 - made-up clocks
    clocks: dict[int, tuple[float, float]] = {}
    for group in range(groups):
        axis = axis_of_group(first, last, group, stretch)
        for place, trace in enumerate(traces):
            rank = RANKS * group + place
            offset, drift = chance.uniform(-_MOST_OFFSET, _MOST_OFFSET), chance.uniform(-_MOST_DRIFT, _MOST_DRIFT)
            clocks[rank] = offset, drift

            def clock(time: float, offset: float = offset, drift: float = drift) -> float:
                return time + offset + drift * (time - first)

            name = folder / f"rank{rank}.json"
            name.write_text(json.dumps(edited(trace, rank, axis, clock), separators=(",", ":")))
    return clocks


def main() -> None:
    """Run from the command line."""
    parser = options(__doc__)
    parser.add_argument("--groups", type=int, default=8, help="groups of eight ranks")
    parser.add_argument(
        "--stretch", type=float, default=0.03, help="how far time axes of groups are stretched and squeezed"
    )
    arguments = parser.parse_args()
    from traceq.common.limits import Limits, within
    from traceq.loading.ingest import ingest

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clocks = make(folder, arguments.groups, arguments.stretch)
        database = folder / "job.duckdb"
        with within(Limits(jobs=2)):
            ingest([folder], database)
        with duckdb.connect(str(database), read_only=True) as connection:
            _tell_job(connection)
            _tell_groups(connection)
            _tell_clocks(connection, clocks)


def _tell_job(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.sql("select ranks, matched_share, slowdown, replay_error, cannot_tell from job").fetchall()
    for ranks, share, slowdown, error, why in rows:
        tell(f"{ranks} ranks, matched {share:.1%}, slowdown {slowdown}, replay error {error}, {why or 'judged'}")


def _tell_groups(connection: duckdb.DuckDBPyConnection) -> None:
    groups = connection.sql(
        "select list_sort(list(distinct rank)) as ranks, count(distinct match_id)"
        " from collective_match join collective_member using (job, time_window, match_id)"
        " join job_rank using (job, time_window, unit) group by group_id order by ranks"
    ).fetchall()
    tell(f"{len(groups)} groups")
    wins = dict(connection.sql("select rank, group_win / 1e6 from job_rank").fetchall())
    for ranks, count in groups:
        told = ", ".join("-" if wins[rank] is None else f"{wins[rank]:.1f}" for rank in ranks)
        tell(f"  {ranks}: {count} collectives; wins in the group {told} ms")
    for row in connection.sql("select name, win / 1e6, adds / 1e6, cause from straggler order by place").fetchall():
        tell(f"  {row}")


def _tell_clocks(connection: duckdb.DuckDBPyConnection, clocks: dict[int, tuple[float, float]]) -> None:
    """Offsets are known up to one that all ranks of a group share, of one group: nothing ties the groups to each other."""
    found = connection.sql(
        "select rank, clock_offset / 1e3, clock_drift * 1e6 from job_rank where clock_offset is not null order by rank"
    ).fetchall()
    worst_offset = worst_drift = 0.0
    for group in range(len(clocks) // RANKS):
        mine = [row for row in found if row[0] // RANKS == group]
        if not mine:
            continue
        for which, scale in ((1, 1.0), (2, 1e6)):
            errors = sorted(row[which] - clocks[row[0]][which - 1] * scale for row in mine)
            spread = max(abs(each - errors[len(errors) // 2]) for each in errors)
            if which == 1:
                worst_offset = max(worst_offset, spread)
            else:
                worst_drift = max(worst_drift, spread)
    tell(f"{len(found)} clocks; largest error {worst_offset:.1f} us and {worst_drift:.2f} ppm")


if __name__ == "__main__":
    main()
