"""How long `traceq hang` takes on the dumps of many ranks, in a process of its own.

    python tests/benchmarks/many_dumps.py [RANKS [ENTRIES [FOLDER]]]

Writes dumps as PyTorch pickles them (by default 512 ranks with 2,000 entries each, in groups of 8, their copies and the world; a
rank leaves a collective out) into FOLDER, or into a temporary folder, and measures wall time, CPU time and memory.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "hang"))

from torch_pickler import Frame, TorchPickler  # noqa: E402

START_NS = 1_700_000_000_000_000_000
TP = 8


def make_dump(rank: int, ranks: int, entries: int, culprit: int) -> dict[str, Any]:
    """Return the dump of a rank of a job that hangs in its last iteration, as the culprit left a collective out there."""
    frames = [Frame(name=f"layer{number}", filename="train.py", line=number) for number in range(60)]
    groups = {
        "0": ("default_pg", list(range(ranks))),
        f"tp{rank // TP}": ("tp", list(range(rank // TP * TP, rank // TP * TP + TP))),
        f"dp{rank % TP}": ("dp", list(range(rank % TP, ranks, TP))),
    }
    names = list(groups)
    counts = dict.fromkeys(names, 0)
    rows = []
    # the last five calls: tp, tp, dp, world, tp; the culprit leaves out the dp one
    last = entries - 1
    while len(rows) < entries:
        place = len(rows)
        name = names[(1, 1, 2, 0)[place % 4]]
        is_end = place >= last - (last % 4) - 2
        if is_end and rank == culprit and name == names[2]:
            # it goes on to the world, and waits there
            name = names[0]
        counts[name] += 1
        is_waiting = is_end and (name == names[0] or (name == names[2] and rank % TP == culprit % TP))
        at = START_NS + place * 1_000_000 + rank
        size = [[1024 + 8 * names.index(name), 64]]
        rows.append({
            "frames": frames[place % 20 : place % 20 + 12],
            "record_id": place, "pg_id": names.index(name), "process_group": (name, groups[name][0]),
            "thread_name": "pt_main", "thread_id": "1", "collective_seq_id": counts[name], "p2p_seq_id": 0,
            "op_id": counts[name], "profiling_name": "nccl:all_reduce", "time_created_ns": at, "input_sizes": size,
            "input_dtypes": ["BFloat16"], "output_sizes": size, "output_dtypes": ["BFloat16"],
            "state": "started" if is_waiting else "completed", "time_discovered_started_ns": at + 500,
            "time_discovered_completed_ns": None if is_waiting else at + 5000, "retired": not is_waiting,
            "timeout_ms": 600_000, "is_p2p": False,
        })  # fmt: skip
        if is_waiting:
            break
    config = {name: {"name": name, "desc": text, "ranks": str(members)} for name, (text, members) in groups.items()}
    return {"version": "2.10", "pg_config": config, "comm_lib_version": "2.27.3", "pg_status": {}, "entries": rows}


def main() -> None:
    """Write the dumps and print what was measured."""
    ranks, entries = (
        int(sys.argv[place]) if len(sys.argv) > place else usual for place, usual in ((1, 512), (2, 2000))
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(temporary)
        folder.mkdir(exist_ok=True)
        for rank in range(ranks):
            file = folder / f"nccl_trace_rank_{rank}"
            if not file.exists():
                file.write_bytes(TorchPickler().dump(make_dump(rank, ranks, entries, ranks // 2 + 3)))
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "traceq", "hang", str(folder)],
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = after.ru_maxrss >> 10
    print(f"{ranks} ranks x {entries} entries: {wall:.1f} s wall, {cpu:.1f} s CPU, {memory} MiB in the largest process")


if __name__ == "__main__":
    main()
