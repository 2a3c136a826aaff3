"""What runs of one program differ by on this machine, and how often compare takes that for a change.

    python tests/benchmarks/run_noise.py [--runs 12] [--work DIR]

Three training loops on the CPU (small operators, matrix products, samples that the loop decompresses itself), each in so many
processes of its own, profiled for two cycles of 16 steps by torch.profiler. Prints, per loop, the noise as `traceq noise` has it
and the verdicts of compare on pairs of cycles of a run and on pairs of runs: nothing changed, so each is wrong.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from contextlib import closing
from itertools import combinations
from pathlib import Path

LOOPS = ("small operators", "matrix products", "decompression")
STEPS, CYCLES = 16, 2
_WAIT, _WARM_UP = 5, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--work", type=Path, help="keep the traces there")
    parser.add_argument("--loop", nargs=2, metavar=("LOOP", "FILE"), help="run one loop and write FILE.0 and FILE.1")
    asked = parser.parse_args()
    if asked.loop:
        train(asked.loop[0], asked.loop[1])
        return
    with tempfile.TemporaryDirectory(prefix="traceq.") as folder:
        work = asked.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        for run in range(asked.runs):
            for number, loop in enumerate(LOOPS):
                command = [sys.executable, __file__, "--loop", loop, str(work / f"{number}.{run}")]
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        for number, loop in enumerate(LOOPS):
            judge(
                loop, [[work / f"{number}.{run}.{cycle}.json" for cycle in range(CYCLES)] for run in range(asked.runs)]
            )


def train(loop: str, file: str) -> None:
    """The loop, profiled for two cycles."""
    import numpy as np
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    torch.manual_seed(0)
    torch.set_num_threads(1)
    width, batch = (32, 16) if loop == LOOPS[0] else (512, 256)
    if loop == LOOPS[0]:
        layers = [each for _ in range(24) for each in (torch.nn.Linear(width, width), torch.nn.ReLU())]
        model = torch.nn.Sequential(*layers)
    else:
        model = torch.nn.Sequential(torch.nn.Linear(width, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, width))
    random = np.random.default_rng(0)
    packed = [zlib.compress((10 * random.standard_normal(40 * width)).astype(np.int8).tobytes()) for _ in range(64)]
    samples = torch.randn(batch, width)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def fetched(step: int) -> torch.Tensor:
        if loop != LOOPS[2]:
            return samples
        raw = (zlib.decompress(packed[(step * batch + place) % 64]) for place in range(batch))
        return torch.stack([torch.from_numpy(np.frombuffer(each, np.int8)[:width].astype(np.float32)) for each in raw])

    written = iter(range(CYCLES))
    cycle = schedule(wait=_WAIT, warmup=_WARM_UP, active=STEPS, repeat=CYCLES)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=cycle,
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(f"{file}.{next(written)}.json"),
    ) as profiler:
        for step in range(CYCLES * (_WAIT + _WARM_UP + STEPS)):
            optimizer.zero_grad()
            model(fetched(step)).square().mean().backward()
            optimizer.step()
            profiler.step()


def judge(loop: str, files: Sequence[Sequence[Path]]) -> None:
    """Print the noise of the loop's runs and the verdicts on pairs of them."""
    from traceq.database.connect import connect
    from traceq.loading.ingest import ingest
    from traceq.runs.compare.compare import compare
    from traceq.runs.compare.known_noise import KnownNoise
    from traceq.runs.compare.noise import measure_noise
    from traceq.runs.read import read_runs

    runs = []
    for cycles in files:
        runs.append([])
        for file in cycles:
            database = ingest([file], file.with_suffix(".duckdb")).database
            with closing(connect(database)) as connection:
                runs[-1] += read_runs(connection, file.name).values()
    found = measure_noise([run[0] for run in runs])
    print(f"{loop}: {len(runs)} runs differ by {found.between:.1%} ({found.low:.1%} to {found.high:.1%})")
    pairs = {"cycles of one run": runs, "runs": list(combinations([run[0] for run in runs], 2))}
    for what, each in pairs.items():
        for said, known in (("assumed", None), ("none", KnownNoise(0))):
            verdicts = [compare([base], [new], noise=known).verdict for base, new in each]
            wrong = sum(verdict in ("regression", "improvement") for verdict in verdicts)
            print(f"  {len(verdicts)} pairs of {what}, noise of runs {said}: {wrong} verdicts on a change")


if __name__ == "__main__":
    main()
