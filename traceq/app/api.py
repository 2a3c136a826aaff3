"""The functions of `import traceq`: each takes its options as keywords, and calls a use case within the limits that are given.

All functions that read sources take what is said about traces, as for `ingest`; `cache`: without it a trace is ingested into a
temporary database; and `memory_limit`, the bytes that DuckDB may hold, by default a quarter of the memory at hand. `trace` and
`rank` name a trace by its trace_id and by its rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.app.read_options import CompareOptions, KnownNoiseOf, ReadOptions, Which
from traceq.common.limits import TIMEOUT, Limits, within
from traceq.common.process import usable_cpus
from traceq.common.progress import Progress, Silent
from traceq.loading.options import Paths, TraceOptions

if TYPE_CHECKING:
    from traceq.app.check import CheckView
    from traceq.app.compare import ComparisonView
    from traceq.app.compare_memory import MemoryComparisonView
    from traceq.app.convert import Converted
    from traceq.app.doctor import HealthView
    from traceq.app.export import Format
    from traceq.app.noise import NoiseView
    from traceq.app.open import Traces
    from traceq.app.report import ReportView
    from traceq.app.source import Source, Sources
    from traceq.app.tradeoff import TradeoffView
    from traceq.app.trim import Trimmed
    from traceq.app.verify import VerificationView
    from traceq.app.whatif import WhatIfChoicesView, WhatIfView
    from traceq.app.whatif_request import Named, Numbered
    from traceq.diagnosis.subject import Goal
    from traceq.exports.trace_file import Written
    from traceq.loading.ingest import Failure, IngestResult
    from traceq.runs.statistics import Statistic
    from traceq.runs.trials.tradeoff import Percentile


def _within_limits(memory_limit: int | None, timeout: float = TIMEOUT) -> AbstractContextManager[None]:
    return within(Limits(memory_limit, usable_cpus(), timeout))


def ingest(
    sources: str | Path | Sequence[str | Path],
    database: str | Path | None = None,
    *,
    run: str | None = None,
    jobs: int = 1,
    force: bool = False,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    memory_limit: int | None = None,
    progress: Progress | None = None,
    logs: Sequence[str | Path] = (),
    offset: float | None = None,
    cluster: str | None = None,
    wait: float = 0,
    failed: Callable[[Failure], None] = lambda _failure: None,
) -> IngestResult:
    """Read trace files, directories or globs into one trace database, beside what it holds already, and run the rules.

    Content that is there (same SHA-256) is skipped, with `force` replaced. `jobs` is the number of processes to use.
    `step_range` is a regular expression for the annotations that mark the steps; `steps_per`, how many there are in each unit
    found (2; 1/2 when two units are one); `window`, what to judge (gpu, 3.2s..4s, NAME..NAME). `capture` are traces of the same
    program, of the capture of its CUDA graphs or without them: they give the kernels of graphs their operators, shapes, modules
    and source lines. `inductor` are files or folders that torch.compile wrote of its kernels (torch_compile_debug), by default
    those beside each trace. DuckDB holds at most `memory_limit` bytes in all processes together, by default a quarter of the
    memory at hand; no more processes are used than have 128 MiB each. `logs` are logs of monitors that ran beside (nvidia-smi,
    iostat and others, docs/monitors.md): traces that are there already are then read again. `offset` is what to add to
    their times (s), where that cannot be told. What the rules find is in the table finding, and reports
    take it from there. Raises a TraceqError and leaves the database as it was when any source fails; when the
    rules cannot run, the result's `not_judged` says why.

    A `database` that ends in a slash, or is an address, is a dataset (docs/scale.md): it takes what can be read, and the result's
    `failures` are the others, of each of which `failed` is told at once. `cluster` is the address of the scheduler of
    dask.distributed whose workers read the traces; `wait` is how long another one may write the dataset before (s).
    """
    from traceq.app.ingest import ingest as work

    options = TraceOptions(step_range, steps_per, window, capture, inductor)
    with within(Limits(memory_limit, jobs, progress=progress or Silent())):
        return work(
            sources,
            database,
            options,
            run=run,
            force=force,
            logs=logs,
            offset=offset,
            cluster=cluster,
            wait=wait,
            failed=failed,
        )


def open_traces(
    path: str | Path,
    *,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    cache: bool = True,
    memory_limit: int | None = None,
) -> Traces:
    """Open the trace database at `path`, read-only, or a temporary one that is made of the traces at `path`.

    The database of traces is kept in the cache (`traceq cache`), without `cache` only as long as it is open. DuckDB holds at most
    `memory_limit` bytes, by default a quarter of the memory at hand.
    """
    from traceq.app.open import Traces

    with _within_limits(memory_limit):
        return Traces(path, ReadOptions(step_range, steps_per, window, cache=cache))


def report(
    source: Source,
    top: int = 10,
    *,
    goal: Goal = "throughput",
    rules: Sequence[str | Path] = (),
    timeout: float = TIMEOUT,
    store: bool = False,
    drawn: bool = True,
    ticket: bool = False,
    traces: Sequence[int] = (),
    rank: int | None = None,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> ReportView:
    """Report on every trace of a trace database, or on traces, with at most `top` findings for each.

    `goal` is what the advice optimises for: "throughput" (samples per second) or "latency" (the time of a step). `rules` are
    files or directories of rules of your own, each of which may take `timeout` seconds for a trace; the word "extra" asks the
    rules that no labelled trace has confirmed. `store` puts all findings into the table finding of the database. `drawn`: with
    timelines, which only HTML shows. `ticket`: to be shown to others, with hosts, users and paths replaced. `traces` are the
    trace_ids to report on, all when it is empty, `rank` the rank.
    Raises ValueError when `top` or `goal` is none of these, StoreError when the database is damaged, UnusableTrace where
    nothing was recorded.
    """
    from traceq.app.report import report as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    with _within_limits(memory_limit, timeout):
        return work(
            source, top, read, goal=goal, rules=rules, store=store, drawn=drawn, ticket=ticket, traces=traces, rank=rank
        )


def compare(
    base: Sources,
    new: Sources,
    *,
    rank: int | None = None,
    trace: int | None = None,
    level: float = 0.02,
    floor_share: float = 0.01,
    sensitivity_share: float = 0.05,
    statistic: Statistic = "typical",
    noise: KnownNoiseOf | None = None,
    anyway: bool = False,
    drawn: bool = False,
    ticket: bool = False,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> ComparisonView:
    """Compare `new` with `base`: each a trace database, a trace or a baseline, by path or name, or several, pooled.

    When neither `rank` nor `trace` is given, jobs are compared where both sides are jobs of several ranks, else the lowest rank
    of each. `level` is how often chance may pass for a change, `floor_share` the smallest
    change to call one, as a share of the base; "no change" is said only when one of `sensitivity_share` would have been found.
    `statistic` is "typical" (the middle half of the steps) or "mean". `noise` is what runs of one program are known to differ
    by, a standard deviation as a share of the step, or the baseline whose runs tell it. `anyway` gives a verdict although GPUs,
    shapes or settings differ. `drawn`: with the typical step of both, for HTML. `ticket`: in at most 10 KB, with hosts, users
    and paths replaced. Raises StoreError for what cannot be read, ValueError for a rank that is not there.
    """
    from traceq.app.compare import compare as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    options = CompareOptions(level, floor_share, sensitivity_share, statistic, noise, anyway)
    with _within_limits(memory_limit):
        return work(base, new, Which(rank, trace), read, options, drawn=drawn, ticket=ticket)


def compare_memory(
    base: Source, new: Source, *, cache: bool = True, memory_limit: int | None = None
) -> MemoryComparisonView:
    """Compare two memory snapshots: the peak, what it is made of, and who holds it.

    Each is a file of torch.cuda.memory._dump_snapshot(), or a database of one. Raises WrongUse for anything else.
    """
    from traceq.app.compare_memory import compare_memory as work

    with _within_limits(memory_limit):
        return work(base, new, ReadOptions(cache=cache))


def check(
    sources: Sources,
    *,
    budgets: str | Path | None = None,
    baseline: str | Path | None = None,
    max_regression: float | None = None,
    fail_on_likely: bool = False,
    noise: KnownNoiseOf | None = None,
    rank: int | None = None,
    trace: int | None = None,
    timeout: float = TIMEOUT,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> CheckView:
    """Check that runs of a program keep their budgets, and that the step is as fast as in a baseline.

    `sources` are trace databases, traces or baselines, judged together. `budgets` is their file, by default traceq.toml if
    it is there. `max_regression` is by how much the step may be slower, a share of it; None allows none that the
    steps show, and with `fail_on_likely` none that is likely. `noise` is as in `compare`. `rank` is the rank to check, the
    lowest when it is None. The query of a budget may take `timeout` seconds.
    Raises ValueError when there is nothing to check, UnusableBudget and UnusableBaseline.
    """
    from traceq.app.check import check as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    with _within_limits(memory_limit, timeout):
        return work(
            sources,
            Which(rank, trace),
            read,
            budgets=budgets,
            baseline=baseline,
            max_regression=max_regression,
            fail_on_likely=fail_on_likely,
            noise=noise,
        )


def noise(
    sources: Sources,
    *,
    rank: int | None = None,
    trace: int | None = None,
    statistic: Statistic = "typical",
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> NoiseView:
    """Measure how far runs of one program differ beyond what steps explain; `sources` are its databases, traces or baselines.

    Raises WrongUse for fewer than two runs, and for runs that cannot be compared.
    """
    from traceq.app.noise import noise as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    with _within_limits(memory_limit):
        return work(sources, Which(rank, trace), read, statistic=statistic)


def verify(
    finding: str,
    before: Sources,
    after: Sources,
    *,
    rank: int | None = None,
    trace: int | None = None,
    noise: KnownNoiseOf | None = None,
    anyway: bool = False,
    calibration: Path | None = None,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> VerificationView:
    """Check whether `finding` of the runs before (an id, a rule or F1) is gone after a fix, and how much was saved.

    `before` and `after` are trace databases, traces or baselines. `noise` is as in `compare`. `anyway` measures although GPUs,
    shapes or settings differ. `calibration` is a file of checked predictions, of which those of the rule are told instead of
    this project's. Raises NoSuchFinding when the runs before have no such finding.
    """
    from traceq.app.verify import verify as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    with _within_limits(memory_limit):
        return work(
            finding, before, after, Which(rank, trace), read, noise=noise, anyway=anyway, calibration=calibration
        )


def tradeoff(
    sources: Mapping[float, Sources] | Sources,
    *,
    knob: str | None = None,
    work: str | None = None,
    latency_budget: int | None = None,
    percentile: Percentile = "p95",
    rank: int | None = None,
    trace: int | None = None,
    plot: Path | None = None,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> TradeoffView:
    """Weigh throughput against latency over the values of a parameter.

    `sources` maps values of the parameter to runs: trace databases, traces or baselines. Without values those that
    traceq.annotate marked are taken, else those of what runs were made with, or of names of files. `knob` is what the
    parameter is called, `work` what throughput counts; `latency_budget` is the longest step allowed, ns, and `percentile` the
    step it is about. `plot` is a picture to write.
    Raises ValueError when runs have no value, or `work` is not marked.
    """
    from traceq.app.tradeoff import tradeoff as weigh

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    with _within_limits(memory_limit):
        return weigh(
            sources,
            Which(rank, trace),
            read,
            knob=knob,
            work=work,
            latency_budget=latency_budget,
            percentile=percentile,
            plot=plot,
        )


def whatif(
    source: Source,
    *,
    remove: Named = (),
    scale: Numbered = (),
    overlap: Named = (),
    move: Numbered = (),
    graph: bool = False,
    transfer_only: bool = False,
    finding: str | None = None,
    trace: int | None = None,
    rank: int | None = None,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> WhatIfView:
    """Predict how long the steps would take with all changes together, and what would limit them then.

    What is changed is a category of the ledger ("idle_data", "compute"), "copies", "host:GLOB" or "kernel:GLOB": host slices
    or GPU work by name. `remove` takes its time away, `scale` multiplies it ({"kernel:*flash*": 0.5}), `overlap` lets
    communication or copies run beside kernels, `move` lets host work run in so many other threads ({"idle_data": 4}), `graph`
    launches kernels as a CUDA graph does, `transfer_only` lets no collective wait for other ranks. `finding` (F1, its id or
    its rule) takes away what the finding owns of each category. `trace` is a trace_id, by default the first, `rank` its rank.
    Raises ValueError for an impossible change or what the trace does not have, StoreError for a finding that is not there.
    """
    from traceq.app.whatif import whatif as work
    from traceq.app.whatif_request import WhatIfRequest

    request = WhatIfRequest(remove, scale, overlap, move, graph, transfer_only, finding)
    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    with _within_limits(memory_limit):
        return work(source, request, read, trace=trace, rank=rank)


def whatif_choices(
    source: Source,
    *,
    trace: int | None = None,
    rank: int | None = None,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> WhatIfChoicesView:
    """List what `whatif` can change in a trace; `trace` is a trace_id, by default the first, `rank` its rank."""
    from traceq.app.whatif import whatif_choices as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    with _within_limits(memory_limit):
        return work(source, read, trace=trace, rank=rank)


def doctor(
    source: Source,
    *,
    traces: Sequence[int] = (),
    rank: int | None = None,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> HealthView:
    """List the metrics that each trace has, and what would bring the others.

    `traces` are the trace_ids to examine, all when it is empty, `rank` the rank.
    """
    from traceq.app.doctor import doctor as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    with _within_limits(memory_limit):
        return work(source, read, traces=traces, rank=rank)


def trim(
    source: str | Path,
    output: str | Path,
    *,
    steps: str | None = None,
    window: str | None = None,
    ranks: Sequence[int] = (),
    force: bool = False,
    step_range: str | None = None,
    steps_per: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> list[Trimmed]:
    """Write a part of a trace: the `steps` (3 or 3..5), or the `window` (as of a report); of a job, those of `ranks`.

    A step's number is that in its own name, where it has one (ProfilerStep#3), else that of the table step. Slices that
    touch the part are whole, and what its ledger is worked out from is kept with it: docs/sharing.md. `output` is a file,
    of a source with several traces a directory; what is there already is replaced with `force` only. Raises WrongUse for
    what does not go together or is not there.
    """
    from traceq.app.trim import trim as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    with _within_limits(memory_limit):
        return work(source, output, read, steps=steps, ranks=ranks, force=force)


def convert(source: str | Path, target: str | Path, *, memory_limit: int | None = None, wait: float = 0) -> Converted:
    """Make a dataset `target` of the trace database `source`, or a trace database of a dataset, as an ingest would have made it.

    trace_ids stay what they are. Traces without a run are listed under the name of the folder that holds them. DuckDB holds at
    most `memory_limit` bytes, by default a quarter of the memory at hand. Raises WrongUse when the target is there already or is
    not of the other kind. `wait` is for how many seconds another one may write the dataset before.
    """
    from traceq.app.convert import convert as work

    with _within_limits(memory_limit):
        return work(source, target, wait=wait)


def export(
    source: Source,
    output: str | Path,
    *,
    format: Format | None = None,  # noqa: A002 - the name of the option
    finding: str | None = None,
    traces: Sequence[int] = (),
    rank: int | None = None,
    ranks: Sequence[int] = (),
    tables: Sequence[str] = (),
    goal: Goal = "throughput",
    rules: Sequence[str | Path] = (),
    timeout: float = TIMEOUT,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> Written | None:
    """Write a trace with its findings for Perfetto, or tables as files; how many events a trace got, None for tables.

    A .json or .json.gz file is a Chrome trace for ui.perfetto.dev: all of it, or the time around `finding` (its id, its
    rule, or F1, F2, ...). .parquet and .csv hold one table; with `format` and a new directory every table and view that has
    rows, or those named in `tables`, becomes a file of its own. `traces` are the trace_ids to write, all when empty;
    `rank` is theirs, and so are `ranks`; ranks of a job are on one clock. `goal`, `rules` and `timeout` are those of a report.
    Raises ValueError for what does not go together, StoreError for what cannot be read or written, QueryError for a
    table that is not there.
    """
    from traceq.app.export import export as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache)
    with _within_limits(memory_limit, timeout):
        return work(
            source,
            output,
            read,
            format=format,
            finding=finding,
            traces=traces,
            rank=rank,
            ranks=ranks,
            tables=tables,
            goal=goal,
            rules=rules,
        )
