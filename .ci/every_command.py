"""Run every command of the installed traceq on the fixtures, and check its exit status and a fact of its output.

    python .ci/every_command.py ENVIRONMENT

ENVIRONMENT is the folder of the virtual environment in which traceq, its extras and PyTorch are installed. The list of commands
is that environment's own: a command without a case here fails, so that no new one is forgotten.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"

# Prints the path of every command that is no group: report, rules list, ...
_LIST_COMMANDS = """
import click
from traceq.cli import main

def walk(command, path):
    if not isinstance(command, click.Group):
        print(*path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        walk(command.get_command(context, name), [*path, name])

walk(main, [])
"""

_PROGRAM = """
import sys, time
import torch
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.randn(64), index % 10

model = torch.nn.Linear(64, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for samples, labels in DataLoader(Samples(), batch_size=8):
    torch.nn.functional.cross_entropy(model(samples), labels).backward()
    optimizer.step()
    optimizer.zero_grad()
"""

_INITIALIZE = (
    '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},'
    ' "clientInfo": {"name": "ci", "version": "0"}}}\n'
)


class Case(NamedTuple):
    """A call of traceq in a folder that holds what earlier cases wrote.

    `fact` is a regular expression of its output; a command that would run on gets Ctrl-C after `interrupt_s` seconds.
    """

    command: str
    fact: str
    status: int = 0
    stdin: str = ""
    interrupt_s: int = 0


# In the order in which they run: some read what others wrote.
CASES = (
    Case("demo -o demo.duckdb", r"Fix first: Load batches in worker processes"),
    Case("hang {root}/fixtures/hangs/skip", r"rank 2 never called it: it is in\s+all_reduce #8 of the world"),
    Case("ingest {run}/kineto_2026.json.gz -o torch.duckdb", r"torch\.duckdb: 1 trace, 170 GPU slices"),
    Case("ingest {run}/nsys_2026.2.sqlite -o nsys.duckdb", r"nsys\.duckdb: 1 trace, 170 GPU slices"),
    Case("report torch.duckdb", r"10\.03 ms per step \(mean of 5 steps"),
    Case("report {run}/nsys_2026.2.sqlite -o report.html", r"wrote report\.html: Fix first"),
    Case("open report.html --no-browser", r"http://127\.0\.0\.1:\d+/", status=130, interrupt_s=5),
    Case("tables gpu_slice", r"trace_id +integer +Trace"),
    Case("help tasks", r"Attach it to a ticket +traceq report TRACE --ticket"),
    Case("sql demo.duckdb --task gaps", r"31\.713  idle_data  NULL  ProfilerStep#\d+ > data > enumerate\(DataLoader\)"),
    Case("sql demo.duckdb 'select count(*) as kernels from kernel'", r"kernels\n-+\n +1560"),
    Case("shell demo.duckdb", r"\b1560\b", stdin="select count(*) from kernel;\n"),
    Case("explain launch-latency", r"launch-latency: GPU idle"),
    Case("collectives {records}", r"Others wait for rank 3"),
    Case("doctor demo.duckdb", r"ok +steps +6 steps"),
    Case("whatif demo.duckdb --gpu H200", r"On H200 SXM the step would take"),
    Case("whatif demo.duckdb --remove idle_data", r"The step would be 1\d\.\d+ ms \(2\d\.\d %\) shorter"),
    Case("export demo.duckdb -o perfetto.json", r"perfetto\.json: [\d,]+ events"),
    Case("export demo.duckdb -o demo.0.et", r"demo\.0\.et: [\d,]+ nodes"),
    Case("trim {run}/kineto_2026.json.gz --steps 3..5 -o first.json.gz", r"first\.json\.gz: [\d,]+"),
    Case("trim {run}/kineto_2026.json.gz --steps 5..7 -o last.json.gz", r"last\.json\.gz: [\d,]+"),
    Case("anonymise {run}/kineto_2026.json.gz -o shared.json.gz", r"shared\.json\.gz: [\d,]+ records"),
    Case("convert nsys.duckdb -o dataset", r"dataset: 1 trace"),
    Case("dataset list dataset", r"1 window, 1 trace"),
    Case("dataset verify dataset", r"1 trace, 0 faults"),
    Case("dataset compact dataset", r"\d+ files removed"),
    Case("dataset drop dataset --run run --rank 0", r"dataset: "),
    Case("compare {run}/kineto_2025_base_before.json.gz {run}/kineto_2024_base_after.json.gz", r"\(base\) against"),
    Case("noise first.json.gz last.json.gz", r"Runs differ by"),
    Case("baseline save main demo.duckdb", r"main\.json: 1 run, 6 steps"),
    Case("baseline list", r"main +1 +6"),
    Case("baseline show main", r"typical step +49\.36 ms"),
    Case("check demo.duckdb --baseline main", r"Passed: 1 budget kept"),
    Case("baseline drop main", r"main\.json: deleted"),
    Case("report demo.duckdb --format json -o report.json", r"wrote report\.json"),
    Case("history add demo.duckdb torch.duckdb --set machine=ci", r"history\.duckdb: 2 reports added"),
    Case("history add report.json", r"1 report was there already and count once"),
    Case("history show --where gpu='NVIDIA H100 80GB HBM3'", r"step\.typical +27\.00 ms +- +cannot tell: 2 reports"),
    Case("history list", r"training\.pt"),
    Case("check demo.duckdb --against history", r"comparable reports? with step\.typical", status=4),
    Case("history accept --from 56986392 --because CI", r"all quantities: counts from report 56986392 on"),
    Case("history export history.parquet", r"history\.parquet"),
    Case("history remove 56986392", r"1 report removed"),
    Case("tradeoff 1=demo.duckdb 2=torch.duckdb", r"Throughput and latency by batch_size"),
    Case("tradeoff demo.duckdb --batched-tokens 256", r"Cannot tell: no step belongs to a server of language models"),
    Case("estimate matmul 8192x8192x8192 --gpu H100", r"Arithmetic is the limit on H100 SXM"),
    Case("replay-op torch.duckdb --op addmm -o replay.py", r"aten::addmm: 10 calls, [\s\S]*Run it: python replay\.py"),
    Case("goodput {root}/fixtures/run_logs/failures/train.log", r"57\.8 % of 2 h 53 min went into steps that count"),
    Case("compile-log {root}/fixtures/compile_logs", r"PyTorch gave up on choose"),
    Case("kernels torch.duckdb --top 3 --ncu", r"--filter-mode per-launch-config --launch-skip \d+ --launch-count 1"),
    Case("verify F1 --before demo.duckdb --after demo.duckdb", r"Load batches in worker processes"),
    Case("rules list", r"launch-latency"),
    Case("rules thresholds", r"# Thresholds"),
    Case("rules advice", r"# Advice by program"),
    Case("rules test --calibration {root}/docs/calibration.jsonl", r"Predictions that were checked"),
    Case("rules test --causes", r"input-loading: fetching"),
    Case("upgrade old.duckdb", r"old\.duckdb: schema version \d+, was 4"),
    Case("cache", r"\d entries, "),
    Case("completion bash", r"_traceq_completion\(\)"),
    Case("mcp", r'"serverInfo"', stdin=_INITIALIZE),
    Case("mcp --http", r"http://127\.0\.0\.1:\d+/[\w-]{22}/mcp", status=130, interrupt_s=8),
    Case("mcp --install-skill skills", r"skills/traceq/SKILL\.md"),
    Case("record -o recorded -- {python} program.py", r"\(--rules\s+extra\)"),
    Case("rules test --blind recorded", r"the results on 1 trace are frozen"),
    Case("experiment --vary num_workers=0,2 --repeats 2 -o tried -- {python} program.py", r"num_workers"),
    Case("log --note 'tried in CI'", r"traceq-log\.jsonl: noted: tried in CI"),
    Case("log", r"(?s)program\.py.*num_workers=2.*tried in CI"),
)


def main() -> None:
    """Run all cases in a new folder; exit with 1 when one fails or a command has none."""
    binaries = Path(sys.argv[1]).resolve() / "bin"
    with tempfile.TemporaryDirectory(prefix="traceq-commands-") as name:
        folder = Path(name)
        (folder / "program.py").write_text(_PROGRAM)
        (folder / "old.duckdb").write_bytes(gzip.decompress((FIXTURES / "release_0_1/run.duckdb.gz").read_bytes()))
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "100"}
        environment.pop("PYTHONPATH", None)
        failed = [line for case in CASES for line in _failures(case, binaries, folder, environment)]
        failed += [f"traceq {command}: has no case in {__file__}" for command in _without_case(binaries, folder)]
    print(*failed, sep="\n")
    print(f"{len(CASES)} cases, {len(failed)} failures")
    sys.exit(bool(failed))


def _failures(case: Case, binaries: Path, folder: Path, environment: dict[str, str]) -> list[str]:
    """Run a case; return what is wrong with its exit status and its output."""
    words = shlex.split(
        case.command.format(root=ROOT, run=FIXTURES / "run", records=FIXTURES / "inspector", python=binaries / "python")
    )
    limit = ["timeout", "--signal=INT", "--preserve-status", str(case.interrupt_s)] if case.interrupt_s else []
    begin = time.monotonic()
    done = subprocess.run(
        [*limit, binaries / "traceq", *words],
        cwd=folder,
        env=environment,
        input=case.stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    print(f"{time.monotonic() - begin:6.1f} s  traceq {case.command}", flush=True)
    if done.returncode == case.status and re.search(case.fact, done.stdout) and "Traceback" not in done.stdout:
        return []
    return [
        f"traceq {case.command}: exit status {done.returncode}, not {case.status}, or no {case.fact!r} in:\n{done.stdout}"
    ]


def _without_case(binaries: Path, folder: Path) -> list[str]:
    """Return the commands of the installed traceq that no case runs."""
    listed = subprocess.run(
        [binaries / "python", "-c", _LIST_COMMANDS], cwd=folder, capture_output=True, text=True, check=True
    )
    called = [case.command for case in CASES]
    return [
        command
        for command in listed.stdout.splitlines()
        if not any(f"{call} ".startswith(f"{command} ") for call in called)
    ]


if __name__ == "__main__":
    main()
