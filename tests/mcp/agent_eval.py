"""Ten questions about five traces, which a scripted agent answers by calls of the tools of `traceq mcp` alone.

    python tests/mcp/agent_eval.py [--http]      # print the table of docs/agents.md

The script knows the paths of the traces and what the tools say of themselves: it derives each call from the answers before.
What is true comes from raw_truth.py, which reads the files without traceq.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "importers")]

import raw_truth  # noqa: E402
import rocm_files  # noqa: E402
import snapshots  # noqa: E402
from http_server import serve_over_http  # noqa: E402

NSYS, KINETO, CPU, ROCM, MEMORY = (
    "run.sqlite",
    "run.json.gz",
    "cpu.pt.trace.json.gz",
    "rocm_results.json",
    "snapshot.pickle",
)
_COPIED = {
    NSYS: "run/nsys_2026.2.sqlite",
    KINETO: "run/kineto_2026.json.gz",
    CPU: "pairs/json_lines.pt.trace.json.gz",
}
_HISTORY = """
    10 alloc 1000 400000 init
    20 alloc 5000 300000 forward
    30 alloc 9000 900000 forward
    40 alloc 20000 250000 optimizer
    50 free 9000 900000 backward
    51 freed 9000 900000 backward
    60 alloc 40000 500000 backward
"""


def write_traces(folder):
    """Write the five traces: two exports of one run, a recording of a CPU, a file of rocprofv3, and a memory snapshot."""
    for name, fixture in _COPIED.items():
        shutil.copy(ROOT / "fixtures" / fixture, folder / name)
    dispatches = [
        rocm_files.make_dispatch(start, start + 100 * (2 * gpu + 1), gpu=gpu, correlation=2 + gpu)
        for start, gpu in ((200, 0), (320, 0), (500, 1))
    ]
    rocm_files.write_file(folder / ROCM, rocm_files.make_rocprofv3(kernel_dispatch=dispatches))
    snapshots.write_file(folder, snapshots.make_snapshot(snapshots.make_history(_HISTORY)))


class Agent:
    """A client that counts its calls and the characters of their answers."""

    def __init__(self, client):
        self._client = client
        self.calls: list[str] = []
        self.characters = 0

    async def call(self, tool, **arguments) -> tuple[str, Any]:
        """Return the text and the data that the tool answers with."""
        result = await self._client.call_tool(tool, arguments)
        text = "".join(part.text for part in result.content)
        if result.is_error:
            raise AssertionError(f"{tool}({arguments}): {text}")
        self.calls.append(tool)
        self.characters += len(text) + len(json.dumps(result.structured_content or ""))
        return text, result.structured_content

    async def open(self, path) -> dict[str, Any]:
        return (await self.call("open", path=path))[1]

    async def ask(self, source, query) -> list[list[Any]]:
        return (await self.call("sql", source=source, query=query))[1]["rows"]

    async def find_table(self, source, words) -> str:
        """Return the name of the table or view whose comment has these words."""
        query = (
            "select name from (select table_name as name, comment from duckdb_tables()"
            f" union all select view_name, comment from duckdb_views()) where comment ilike '%{words}%' order by length(comment)"
        )
        return (await self.ask(source, query))[0][0]

    async def find_column(self, source, table, words) -> str:
        """Return the name of the table's column whose comment, there or in the table that it is a view of, has these words."""
        query = (
            f"select column_name from duckdb_columns() where comment ilike '{words}%' and column_name in"
            f" (select column_name from duckdb_columns() where table_name = '{table}')"
        )
        return (await self.ask(source, query))[0][0]


async def count_steps(agent):
    opened = await agent.open(NSYS)
    (trace,) = opened["traces"]
    return trace["steps"], trace["step_ns"]


async def measure_idle_of_first_finding(agent):
    """The finding says which category it explains; the ledger has all of it."""
    opened = await agent.open(NSYS)
    _, found = await agent.call("finding", source=opened["id"], finding=opened["findings"][0]["finding"])
    columns = found["evidence"]["columns"]
    (cause,) = {row[columns.index("cause")] for row in found["evidence"]["rows"]}
    ledger = await agent.find_table(opened["id"], "device, step and category that has time")
    (row,) = await agent.ask(opened["id"], f"select sum(dur) from {ledger} where category = '{cause}'")
    return row[0] / opened["traces"][0]["steps"]


async def find_top_kernel(agent):
    opened = await agent.open(NSYS)
    (row,) = await agent.ask(
        opened["id"], "select name, sum(dur) from kernel group by name order by sum(dur) desc limit 1"
    )
    return tuple(row)


async def measure_copies_to_gpu(agent):
    opened = await agent.open(KINETO)
    table = await agent.find_table(opened["id"], "per copy:")
    way = await agent.find_column(opened["id"], table, "h2d")
    ways = await agent.ask(opened["id"], f"select {way}, count(*), sum(bytes) from {table} group by {way}")
    ((number, size),) = [row[1:] for row in ways if row[0] == "h2d"]
    return number, size


async def find_longest_step(agent):
    opened = await agent.open(KINETO)
    (row,) = await agent.ask(
        opened["id"], "select arg_max(name, dur), max(dur) / median(dur) from step where excluded is null"
    )
    return tuple(row)


async def compare_two_profilers(agent):
    base, new = [(await agent.open(path))["id"] for path in (NSYS, KINETO)]
    _, compared = await agent.call("compare", base=base, new=new)
    return compared["delta_ns"], compared["verdict"]


async def predict_step_without_loader(agent):
    """The tool lists what can be taken out; the largest part that stands for data is."""
    opened = await agent.open(CPU)
    _, listed = await agent.call("whatif", source=opened["id"])
    data = next(each["what"] for each in listed["choices"] if "data" in each["meaning"])
    _, found = await agent.call("whatif", source=opened["id"], remove=[data])
    return found["after_ns"]


async def ask_of_a_gpu_that_is_not_there(agent):
    opened = await agent.open(CPU)
    _, found = await agent.call("finding", source=opened["id"], finding="tensor-cores-unused")
    return found["outcome"], found["finding"]


async def measure_kernels_by_gpu(agent):
    opened = await agent.open(ROCM)
    rows = await agent.ask(opened["id"], "select device, sum(dur) from kernel group by device order by device")
    return dict(rows)


async def find_holder_of_peak(agent):
    opened = await agent.open(MEMORY)
    table = await agent.find_table(opened["id"], "per device of a memory snapshot")
    ((peak,),) = await agent.ask(opened["id"], f"select max(bytes) from {table}")
    ((owner, _),) = await agent.ask(
        opened["id"],
        "select owner, sum(requested_bytes) from allocation join allocation_stack using (trace_id, stack_id)"
        " where at_peak group by owner order by 2 desc limit 1",
    )
    return peak, owner


class Question(NamedTuple):
    """A question, how the agent answers it, what is true, whether the two agree, and how both are shown."""

    text: str
    answer: Callable[[Agent], Awaitable[Any]]
    truth: Callable[[Path], Any]
    agree: Callable[[Any, Any], bool]
    show: Callable[[Any], str] = str


def is_near(most=0.001):
    """Return the function that says whether two numbers, or the last of two tuples, differ by at most this share."""

    def agree(answer, truth):
        *first, answered = answer if isinstance(answer, tuple) else (answer,)
        *expected, true = truth if isinstance(truth, tuple) else (truth,)
        return first == expected and abs(answered - true) <= most * abs(true)

    return agree


def in_ms(value):
    *first, ns = value if isinstance(value, tuple) else (value,)
    return ", ".join([*map(str, first), f"{ns / 1e6:.3f} ms"])


def is_same(answer, truth):
    return answer == truth


QUESTIONS = (
    Question(
        "nsys: how many steps, and how long is one in the mean?",
        count_steps,
        lambda folder: raw_truth.nsys_steps(folder / NSYS),
        is_near(),
        in_ms,
    ),
    Question(
        "nsys: how long does the GPU idle per step for what is to be fixed first?",
        measure_idle_of_first_finding,
        lambda folder: raw_truth.nsys_idle_in_loader(folder / NSYS),
        is_near(0.02),
        in_ms,
    ),
    Question(
        "nsys: which kernel takes most time, and how much?",
        find_top_kernel,
        lambda folder: raw_truth.nsys_top_kernel(folder / NSYS),
        is_same,
        in_ms,
    ),
    Question(
        "Kineto: how many copies to the GPU, of how many bytes?",
        measure_copies_to_gpu,
        lambda folder: raw_truth.copied_to_gpu(folder / KINETO),
        is_same,
        lambda value: f"{value[0]}, {value[1]:,} bytes",
    ),
    Question(
        "Kineto: which step is the longest, how many times the median?",
        find_longest_step,
        lambda folder: raw_truth.longest_step(folder / KINETO),
        is_near(),
        lambda value: f"{value[0]}, {value[1]:.2f}",
    ),
    Question(
        "nsys and Kineto: does one run differ between two profilers?",
        compare_two_profilers,
        lambda folder: raw_truth.difference_of_means(folder / NSYS, folder / KINETO),
        lambda answer, truth: answer[0] == round(truth) == 0 and answer[1] in ("no change", "cannot tell"),
        lambda value: f"{round(value[0])} ns, {value[1]}" if isinstance(value, tuple) else f"{round(value)} ns",
    ),
    Question(
        "CPU: how long would a step be without loading data?",
        predict_step_without_loader,
        lambda folder: raw_truth.step_without_loader(folder / CPU),
        is_near(0.02),
        in_ms,
    ),
    Question(
        "CPU: are tensor cores left unused?",
        ask_of_a_gpu_that_is_not_there,
        lambda folder: raw_truth.events_of_gpu(folder / CPU),
        lambda answer, truth: (answer, truth) == (("cannot tell", None), 0),
        lambda value: value[0] if isinstance(value, tuple) else f"{value} events of a GPU",
    ),
    Question(
        "ROCm: how long do kernels run on each GPU?",
        measure_kernels_by_gpu,
        lambda folder: raw_truth.rocm_kernel_times(folder / ROCM),
        is_same,
        lambda value: ", ".join(f"GPU {gpu} {ns} ns" for gpu, ns in value.items()),
    ),
    Question(
        "Memory snapshot: what is the peak, and who holds most of it?",
        find_holder_of_peak,
        lambda folder: raw_truth.memory_peak(folder / MEMORY),
        is_same,
        lambda value: f"{value[0]:,} bytes, {value[1]}",
    ),
)


class Answered(NamedTuple):
    """A question with its answer, what is true, and the cost: the tools called, and characters of their answers."""

    question: Question
    answer: Any
    truth: Any
    calls: list[str]
    characters: int

    @property
    def is_right(self) -> bool:
        return self.question.agree(self.answer, self.truth)


def answer_questions(folder, *, over_http=False):
    """Write the traces to the folder, and return the answers of an agent, who asks a server there."""
    write_traces(folder)
    if over_http:
        with serve_over_http(folder=folder) as address:
            return asyncio.run(_answer_questions(address, folder))
    from mcp import StdioServerParameters, stdio_client

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "traceq", "mcp"], env=environment, cwd=folder
    )
    return asyncio.run(_answer_questions(stdio_client(parameters), folder))


async def _answer_questions(server, folder):
    from mcp import Client

    answered = []
    async with Client(server) as client:
        for question in QUESTIONS:
            agent = Agent(client)
            answer = await question.answer(agent)
            answered.append(Answered(question, answer, question.truth(folder), agent.calls, agent.characters))
    return answered


def tabulate_answers(answered):
    """Return the table as Markdown."""
    rows = [
        f"| {each.question.text} | {each.question.show(each.answer)} | {each.question.show(each.truth)} |"
        f" {', '.join(each.calls)} | {each.characters:,} |"
        for each in answered
    ]
    head = ["| question | answer | true, from the raw file | calls | characters |", "|---|---|---|---|---:|"]
    return "\n".join([*head, *rows])


def main():
    with tempfile.TemporaryDirectory(prefix="traceq-eval-") as name:
        answered = answer_questions(Path(name), over_http="--http" in sys.argv)
    click.echo(tabulate_answers(answered))
    wrong = [each.question.text for each in answered if not each.is_right]
    click.echo("\n".join([f"{len(answered) - len(wrong)} of {len(answered)} right", *wrong]), err=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
