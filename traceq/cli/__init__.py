"""The command line: parse, call, print. One module per command, imported when the command is called."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import ClassVar

import click

from traceq.cli._group import LazyGroup, os_error_words
from traceq.common import signals
from traceq.common.process import (
    address_space,
    block_pandas_import,
    lack_of_threads,
    open_files,
    spare_threads_and_collections,
)
from traceq.common.version import __version__


class LazyCommands(LazyGroup):
    """The commands of traceq."""

    default = "report"
    groups: ClassVar[Mapping[str, Mapping[str, tuple[str, str]]]] = {
        "Look at a trace": {
            "report": ("traceq.cli.report", "Report where each step's time goes, and what to fix first."),
            "open": ("traceq.cli.open_page:open_page", "Show a report in the browser, or follow a folder of traces."),
            "record": ("traceq.cli.record", "Record a training program without editing it, and report."),
            "goodput": ("traceq.cli.goodput:show_goodput", "Show where the time and money of a whole run went."),
            "collectives": ("traceq.cli.collectives:show_collectives", "Report on NCCL's own records of a job."),
            "compile-log": (
                "traceq.cli.compile_log:show_compile_log",
                "Show compile time, graph breaks and recompilations.",
            ),
            "kernels": ("traceq.cli.kernels:list_kernels", "List the hot kernels, and how to profile each of them."),
            "doctor": ("traceq.cli.doctor", "Show what a trace can answer, or what a capture needs."),
            "hang": ("traceq.cli.hang", "Say why a job hangs, from the flight recorders of its ranks."),
            "ingest": ("traceq.cli.ingest", "Read trace files into a database to query."),
            "sql": ("traceq.cli.sql", "Query a trace database in SQL."),
            "shell": ("traceq.cli.shell", "Query a trace database in SQL, interactively."),
            "demo": ("traceq.cli.demo", "Report on a trace that comes with traceq."),
        },
        "Compare runs": {
            "compare": ("traceq.cli.compare", "Show what changed from one run to another."),
            "check": ("traceq.cli.check", "Fail if a run exceeds a budget, or is slower than a baseline."),
            "baseline": ("traceq.cli.baseline", "Save runs to compare later ones with."),
            "history": ("traceq.cli.history", "Keep reports over months, and show what moved since when."),
            "noise": ("traceq.cli.noise", "Measure how much runs of one program differ."),
            "tradeoff": ("traceq.cli.tradeoff", "Weigh throughput against latency, for example over batch sizes."),
        },
        "Try a change": {
            "whatif": ("traceq.cli.whatif", "Predict what a change would save, before you make it."),
            "experiment": ("traceq.cli.experiment", "Run a program with several settings, and report which win."),
            "verify": ("traceq.cli.verify", "Check whether a fix saved what its finding predicted."),
            "estimate": (
                "traceq.cli.estimate:estimate_operator",
                "Say what an operator costs on a GPU, without a trace.",
            ),
            "replay-op": (
                "traceq.cli.replay_op:replay_operators",
                "Write a script that runs a trace's slow operators without the model.",
            ),
            "log": ("traceq.cli.log", "Show what was tried, what it won, and what was rejected."),
        },
        "Share a trace": {
            "export": ("traceq.cli.export", "Write traces for Perfetto, speedscope, pprof; tables as files."),
            "trim": ("traceq.cli.trim", "Cut a trace down to some of its steps."),
            "anonymise": ("traceq.cli.anonymise", "Write a copy of a trace without private names."),
            "mcp": ("traceq.cli.mcp", "Serve reports, findings and SQL to agents (MCP), or print a skill."),
        },
        "Look things up": {
            "help": ("traceq.cli.help:show_help", "Show what to type for a task, or the help of a command."),
            "explain": ("traceq.cli.explain", "Explain a rule: what it finds, how it is measured, what to try."),
            "rules": ("traceq.cli.rules", "List the rules behind a report, or test them."),
            "tables": ("traceq.cli.tables", "Show the data dictionary: tables, views, columns and macros."),
        },
        "Maintain": {
            "dataset": ("traceq.cli.dataset", "Manage a dataset: list, drop, compact, verify."),
            "convert": ("traceq.cli.convert", "Turn a database into a dataset, or a dataset into a database."),
            "upgrade": ("traceq.cli.upgrade", "Bring a database made by an older traceq up to date."),
            "cache": ("traceq.cli.cache", "Show or clear the cache of traces already read."),
            "completion": ("traceq.cli.completion", "Print the completion script for a shell."),
        },
    }
    lazy: ClassVar[Mapping[str, tuple[str, str]]] = {
        name: command for group in groups.values() for name, command in group.items()
    }


@click.command("traceq", cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Ask GPU training traces where the time went.

    Reads exports of Nsight Systems (nsys), traces of PyTorch's profiler, of ROCm (rocprofv3, rocpd, RPD) and of JAX
    (XSpace), PyTorch's memory snapshots, and tables of a job's operations (Parquet). Reports where the time of each step
    goes, and answers SQL over one DuckDB database of documented tables.

    \b
    New here?                traceq demo
    Not sure what to type?   traceq help tasks

    `traceq TRACE` is short for `traceq report TRACE`.

    Exit status: 0 done, 1 an error (one line on stderr), 2 wrong usage; check also has 3 failed and 4 cannot judge.
    """  # noqa: D301 - click wants the backspace itself


# Commands whose answers may be data frames.
_WITH_FRAMES = frozenset({"export", "mcp", "sql", "shell", "tables"})

# Bytes. Threads of DuckDB, Arrow and NumPy reserve most of it.
LEAST_ADDRESS_SPACE = 2 << 30

# DuckDB ends the process where it cannot open its own files; most commands need fewer than 40, datasets more.
LEAST_OPEN_FILES, USUAL_OPEN_FILES = 64, 1024

# Commands that start programs of the user, which inherit the environment.
_RUNS_OTHERS = frozenset({"record", "experiment"})


def _lack_of_resources() -> str | None:
    """Return the message on a limit of addresses, files or threads under which libraries would crash; None if there is none."""
    addresses, files = address_space(), open_files(USUAL_OPEN_FILES)
    if addresses is not None and addresses < LEAST_ADDRESS_SPACE:
        return (
            f"the address space is limited to {addresses >> 20:,} MiB (ulimit -v), and libraries reserve"
            f" {LEAST_ADDRESS_SPACE >> 20:,} MiB without using it: raise the limit, and limit memory with --memory-limit"
        )
    if files < LEAST_OPEN_FILES:
        return f"this process may open {files} files (ulimit -n), and traceq needs {LEAST_OPEN_FILES}: raise the limit"
    return lack_of_threads()


def run() -> None:
    """Run the program `traceq` with the arguments of the process, and exit with its code."""
    signals.end_on_signals()
    if (lack := _lack_of_resources()) is not None:
        click.echo(f"traceq: error: {lack}", err=True)
        raise SystemExit(1)
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command not in _WITH_FRAMES:
        block_pandas_import()
    if command not in _RUNS_OTHERS:
        spare_threads_and_collections()
    try:
        main(prog_name="traceq")
    except OSError as error:  # of help and of errors themselves, which click prints
        click.echo(f"traceq: error: {os_error_words(error)}", err=True)
        raise SystemExit(1) from error
