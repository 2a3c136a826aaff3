"""The functions of `import traceq`: each takes its options as keywords, and calls a use case within the limits that are given.

All functions that read sources take what is said about traces, as for `ingest`; `cache`: without it a trace is ingested into a
temporary database; and `memory_limit`, the bytes that DuckDB may hold, by default a quarter of the memory at hand. `trace` and
`rank` name a trace by its trace_id and by its rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.app.read_options import CompareOptions, KnownNoiseOf, ReadOptions, Which
from traceq.common.limits import TIMEOUT, Limits, within
from traceq.common.process import usable_cpus
from traceq.common.progress import Progress, Silent
from traceq.loading.options import Paths, TraceOptions

if TYPE_CHECKING:
    from traceq.app.batch_limits import BatchLimitsView
    from traceq.app.check import CheckView
    from traceq.app.compare import ComparisonView
    from traceq.app.compare_memory import MemoryComparisonView
    from traceq.app.compile_log import CompileLogView
    from traceq.app.convert import Converted
    from traceq.app.doctor import HealthView
    from traceq.app.estimate import EstimateView
    from traceq.app.export import Format
    from traceq.app.goodput import GoodputView
    from traceq.app.hang import HangView
    from traceq.app.history import HistoryView
    from traceq.app.history_add import HistoryAdded
    from traceq.app.noise import NoiseView
    from traceq.app.open import Traces
    from traceq.app.report import ReportView
    from traceq.app.source import Source, Sources
    from traceq.app.tradeoff import TradeoffView
    from traceq.app.trim import Trimmed
    from traceq.app.verify import VerificationView
    from traceq.app.whatif import WhatIfChoicesView, WhatIfView
    from traceq.app.whatif_platform import PlatformView
    from traceq.app.whatif_request import Named, Numbered
    from traceq.diagnosis.subject import Goal
    from traceq.exports.stacks import Measure
    from traceq.exports.trace_file import Written
    from traceq.loading.ingest import Failure, IngestResult
    from traceq.reports.model import Scope
    from traceq.runs.statistics import Statistic
    from traceq.runs.trials.tradeoff import Percentile


def _within_limits(memory_limit: int | None, timeout: float = TIMEOUT) -> AbstractContextManager[None]:
    """Return a context with the limits on memory (bytes) and on the time of the user's queries and rules (seconds)."""
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
    axes: str | None = None,
    memory_limit: int | None = None,
    progress: Progress | None = None,
    logs: Sequence[str | Path] = (),
    offset: float | None = None,
    cluster: str | None = None,
    wait: float = 0,
    failed: Callable[[Failure], None] = lambda _failure: None,
    log_formats: Sequence[str | Path] = (),
) -> IngestResult:
    """Read trace files, directories or globs into one trace database, beside what it holds already, and run the rules.

    Traces with the same content (SHA-256) are skipped, or with `force` replaced. `jobs` is the number of processes to
    use. `step_range` is a regular expression for annotations that mark steps; `steps_per`, the number of steps in each
    detected unit (2; 1/2 when two units are one step); `window`, the time to judge (gpu, 3.2s..4s, NAME..NAME).
    `capture` are traces of the same program that recorded the capture of its CUDA graphs, or ran without graphs: they
    give kernels in graphs their operators, shapes, modules and source lines. `inductor` are files or folders that
    torch.compile wrote about its kernels (torch_compile_debug), by default those beside each trace. DuckDB holds at
    most `memory_limit` bytes in all processes together, by default a quarter of the usable memory; each process gets at
    least 128 MiB, so that there may be fewer. `logs` are logs of monitors that ran at the same time (nvidia-smi, iostat
    and others, docs/monitors.md) and of the training (docs/run-logs.md): existing traces are then read again. `offset` is
    added to the logs' times (s), where it cannot be found out; `log_formats` are TOML files that declare formats of
    training logs. `axes` are the axes of parallelism with their numbers of ranks (tp=8,dp=4), the one of
    neighbouring ranks first, by default those of the process groups (docs/axes.md). Findings are stored in the table
    finding, from which reports take them.

    Raises a TraceqError and leaves the database unchanged when any source fails; when rules cannot run, the result's
    `not_judged` says why. A `database` that ends in a slash, or is an address, is a dataset (docs/scale.md): it takes
    all readable sources, the result's `failures` are the others, and `failed` is called with each at once. `cluster` is
    the address of the dask.distributed scheduler whose workers read the traces; `wait` is how many seconds to wait for
    another writer of the dataset.
    """
    from traceq.app.ingest import ingest as work

    options = TraceOptions(step_range, steps_per, window, capture, inductor, axes)
    with within(Limits(memory_limit, jobs, progress=progress or Silent())):
        return work(
            sources,
            database,
            options,
            run=run,
            force=force,
            logs=logs,
            offset=offset,
            log_formats=log_formats,
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
    """Open the trace database at `path`, read-only, or a database made of the traces at `path`.

    A database made of traces is kept in the cache (`traceq cache`); with `cache=False` it is removed when it is closed.
    DuckDB holds at most `memory_limit` bytes, by default a quarter of the usable memory.
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
    cost_per_gpu_hour: float | None = None,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    axes: str | None = None,
    cache: bool = True,
    memory_limit: int | None = None,
    logs: Paths = (),
    offset: float | None = None,
    log_formats: Paths = (),
) -> ReportView:
    """Report on every trace of a trace database, or on traces, with at most `top` findings for each.

    `goal` is what the advice optimises for: "throughput" (samples per second) or "latency" (the time of a step).
    `rules` are files or directories of your own rules, each of which may take `timeout` seconds per trace; the word
    "extra" adds the rules that no labelled trace has confirmed. `store` writes all findings into the table finding of
    the database. `drawn` adds timelines, which only HTML shows. `ticket` makes a report to be shown to others: hosts,
    users and paths are replaced. `traces` are the trace_ids to report on (all if empty), `rank` the rank. With
    `cost_per_gpu_hour`, the report says what savings are worth in an hour of a GPU.
    `logs` are logs of monitors and of the training that ran beside the traces, `offset` the seconds to add to their times,
    `log_formats` TOML files that declare formats of training logs.
    `axes` are as of ingest().

    Raises ValueError for a wrong `top` or `goal`, StoreError when the database is damaged, UnusableTrace if nothing was
    recorded.
    """
    from traceq.app.report import report as work

    read = ReadOptions(
        step_range,
        steps_per,
        window,
        capture,
        inductor,
        axes,
        cache=cache,
        logs=logs,
        offset=offset,
        log_formats=log_formats,
    )
    with _within_limits(memory_limit, timeout):
        scope: Scope = "drawing" if drawn else "document"
        return work(
            source,
            top,
            read,
            goal=goal,
            rules=rules,
            store=store,
            scope=scope,
            ticket=ticket,
            traces=traces,
            rank=rank,
            cost_per_gpu_hour=cost_per_gpu_hour,
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
    """Compare `new` with `base`: each is a trace database, a trace or a baseline, by path or name, or several, which are pooled.

    Without `rank` and `trace`, jobs are compared if both sides are jobs of several ranks, else the lowest rank of each.
    `level` is the accepted probability of taking chance for a change, `floor_share` the smallest change that counts, as
    a share of the base; "no change" means that a change of `sensitivity_share` would have been found. `statistic` is
    "typical" (the middle half of the steps) or "mean". `noise` is the known noise between runs of one program: a
    standard deviation as a share of the step, or a baseline with several runs. `anyway` gives a verdict although GPUs,
    shapes or settings differ. `drawn` adds the typical step of both, for HTML. `ticket` makes a document of at most 10
    KB, with hosts, users and paths replaced. Raises StoreError for unreadable sources, ValueError for a missing rank.
    """
    from traceq.app.compare import compare as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
    options = CompareOptions(level, floor_share, sensitivity_share, statistic, noise, anyway)
    with _within_limits(memory_limit):
        return work(base, new, Which(rank, trace), read, options, drawn=drawn, ticket=ticket)


def compare_memory(
    base: Source, new: Source, *, cache: bool = True, memory_limit: int | None = None
) -> MemoryComparisonView:
    """Compare two memory snapshots: their peaks, and the categories and owners of the memory in them.

    Each is a file of torch.cuda.memory._dump_snapshot(), or a database made of one. Raises WrongUse for anything else.
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
    history: str | Path | None = None,
    quantities: Sequence[str] = (),
    program: str | None = None,
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

    `sources` are trace databases, traces or baselines, judged together. `budgets` is the budget file, by default
    traceq.toml if that exists. `max_regression` is how much slower the step may be, as a share; None allows no
    regression that the steps show, and with `fail_on_likely` no likely one. `noise` is as in `compare`. `history` is the
    file of a history: its `quantities` (by default the step) must not have become worse than `max_regression` (2 %)
    since they were accepted, at once or little by little; `program` is the one of the sources, where the history has
    several. `rank` is the rank to check, by default the lowest. A budget's query may take `timeout` seconds. Raises
    ValueError when there is nothing to check, UnusableBudget and UnusableBaseline.
    """
    from traceq.app.check import check as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
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
            history=history,
            quantities=quantities,
            program=program,
        )


def history_add(
    sources: Sources,
    path: str | Path | None = None,
    *,
    label: str | None = None,
    commit: str | None = None,
    branch: str | None = None,
    program: str | None = None,
    at: datetime | None = None,
    facts: Mapping[str, str] | None = None,
    wait: float = 60.0,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> HistoryAdded:
    """Add reports to the history at `path`: of traces, databases, datasets, JSON reports, and those of other histories.

    `path` is by default TRACEQ_HISTORY, else .traceq/history.duckdb. The same trace counts once. `commit` and `branch`
    are by default those that a CI system or git names, of a single source only. `at` is when it ran, by default the
    trace's own clock, else now. `facts` are kept beside what the run was made with. Raises StoreError when another
    process writes for longer than `wait` seconds.
    """
    from traceq.app.history_add import HistoryOptions
    from traceq.app.history_add import history_add as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
    options = HistoryOptions(label, commit, branch, program, at, facts or {})
    with _within_limits(memory_limit):
        return work(sources, None if path is None else Path(path), read, options, wait=wait)


def history_show(
    path: str | Path | None = None,
    *,
    quantities: Sequence[str] = (),
    since: datetime | None = None,
    where: Mapping[str, str] | None = None,
    series: str | None = None,
    floor: float = 0.02,
    memory_limit: int | None = None,
) -> HistoryView:
    """Show how the quantities of comparable reports moved, since when, and what else changed then.

    `path` is as for `history_add`. `quantities` are all that are worth a look if empty. Reports are chosen by `since`
    and by `where`: columns of the table report, and facts. `series` is the one to show, by default that of the latest
    report; `floor` is the least change worth telling, as a share. Raises StoreError without a history,
    UnusableBaseline where nothing is chosen.
    """
    from traceq.app.history import history_show as work
    from traceq.runs.history.series import SeriesChoice

    choice = SeriesChoice(since, tuple((where or {}).items()), series)
    with _within_limits(memory_limit):
        return work(None if path is None else Path(path), choice, quantities=quantities, floor=floor)


def explain_hang(
    dumps: str | Path | Sequence[str | Path], *, world_size: int | None = None, memory_limit: int | None = None
) -> HangView:
    """Say why a job hangs from dumps of PyTorch's flight recorder: files, folders and globs with one a rank.

    `world_size` is how many ranks the job has, which gloo's dumps do not tell. DuckDB holds at most `memory_limit`
    bytes, by default a quarter of the usable memory. Raises NoTraces, UnknownFormat or UnusableTrace where no dump can
    be read.
    """
    from traceq.app.hang import explain_hang as work

    with _within_limits(memory_limit):
        return work(dumps, world_size=world_size)


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
    """Measure the noise between runs of one program beyond that of their steps; sources are databases, traces or baselines.

    Raises WrongUse for fewer than two runs, and for runs that cannot be compared.
    """
    from traceq.app.noise import noise as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
    with _within_limits(memory_limit):
        return work(sources, Which(rank, trace), read, statistic=statistic)


def estimate(
    operator: str,
    *shape: str,
    gpu: str,
    dtype: str = "bf16",
    backward: bool = False,
    causal: bool = False,
    ranks: int | None = None,
    link: float | None = None,
) -> EstimateView:
    """Estimate the cost of an operator on a GPU, without a trace: `estimate("matmul", "8192x8192x8192", gpu="H100")`.

    `content` has operations, bytes, the bound, and times in ns: `least_ns` (no program is faster), `reachable_ns` (libraries
    in this shape) and `filled_ns` (full tiles and waves). `ranks` and `link` (GB/s per rank and direction) are of collectives.
    Raises WrongUse for unknown names and shapes, and says which are known.
    """
    from traceq.app.estimate import estimate_operator as work
    from traceq.app.estimate_request import EstimateChoices

    choices = EstimateChoices(dtype=dtype, backward=backward, causal=causal, ranks=ranks, link=link)
    return work(operator, shape, gpu, choices)


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
    """Check whether `finding` of the runs before (an id, a rule or F1) is gone after a fix, and how much that saved.

    `before` and `after` are trace databases, traces or baselines. `noise` is as in `compare`. `anyway` measures
    although GPUs, shapes or settings differ. `calibration` is a file of checked predictions, whose accuracy for the
    rule is reported instead of this project's. Raises NoSuchFinding when the runs before have no such finding.
    """
    from traceq.app.verify import verify as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
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
    """Weigh throughput against latency over the values of a parameter, such as the batch size.

    `sources` maps values of the parameter to runs: trace databases, traces or baselines. Without values, those that
    traceq.annotate marked are used, else recorded settings or numbers in file names. `knob` is the parameter's name,
    `work` the unit that throughput counts. `latency_budget` is the longest step allowed, ns, at the `percentile` of
    steps. `plot` is the path of a picture to write. Raises ValueError when runs have no value, or `work` is not marked.
    """
    from traceq.app.tradeoff import tradeoff as weigh

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
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


def batch_limits(
    source: Source,
    limits: Sequence[int],
    *,
    logs: Paths = (),
    offset: float | None = None,
    max_num_seqs: int | None = None,
    latency_budget: int | None = None,
    percentile: Percentile = "p95",
    rank: int | None = None,
    trace: int | None = None,
    step_range: str | None = None,
    cache: bool = True,
    memory_limit: int | None = None,
) -> BatchLimitsView:
    """Predict what other limits of batched tokens would give for a server: time to first token, between tokens, throughput.

    `source` is a trace of a server or its database, `limits` are tokens a step, `logs` logs of requests beside the trace and
    `offset` the seconds to add to their times. `max_num_seqs` is the most requests at a time, by default as recorded.
    `latency_budget` is the longest time between tokens, ns, at the `percentile`. Raises ValueError for limits below 1.
    """
    from traceq.app.batch_limits import predict_batch_limits
    from traceq.runs.batching.limit_study import LimitTerms

    read = ReadOptions(step_range, cache=cache, logs=logs, offset=offset)
    with _within_limits(memory_limit):
        terms = LimitTerms(tuple(limits), max_num_seqs, latency_budget, percentile)
        return predict_batch_limits(source, terms, Which(rank, trace), read)


def goodput(
    logs: str | Path | Sequence[str | Path],
    *,
    monitors: Paths = (),
    log_formats: Paths = (),
    gpus: int | None = None,
    cost_per_gpu_hour: float | None = None,
    ideal_step: int | None = None,
    offset: float | None = None,
    save: str | Path | None = None,
    memory_limit: int | None = None,
) -> GoodputView:
    """Say where the wall time of a whole run went, from its training logs alone, and what it cost.

    `logs` are training logs of one run, and what Slurm or Kubernetes says of its jobs. `monitors` are logs with the power of
    GPUs, `log_formats` TOML files of text formats. `gpus` is the number of GPUs where no log says it, `cost_per_gpu_hour`
    the price, `ideal_step` the step (ns) that the program could reach. `offset` are the seconds to add to times that do not
    name their zone. `save` is a database that keeps the tables of the run. Raises ValueError for a trace instead of a log,
    and for logs of several runs at the same time.
    """
    from traceq.app.goodput import measure_goodput
    from traceq.loading.sources import paths_of
    from traceq.runs.goodput.goodput import Terms

    with _within_limits(memory_limit):
        return measure_goodput(
            [Path(log) for log in paths_of(logs)],
            [Path(log) for log in paths_of(monitors)],
            [Path(file) for file in paths_of(log_formats)],
            Terms(gpus, cost_per_gpu_hour, ideal_step),
            offset=offset,
            save=None if save is None else Path(save),
        )


def compile_log(
    logs: str | Path | Sequence[str | Path], *, save: str | Path | None = None, memory_limit: int | None = None
) -> CompileLogView:
    """Say what torch.compile did, from its structured logs alone: compile time, graph breaks, recompilations, caches.

    `logs` are files that PyTorch wrote into the folder that TORCH_TRACE names, or that folder. `save` is a database that
    keeps their tables. Raises ValueError for a file of something else.
    """
    from traceq.app.compile_log import summarise_compile_logs
    from traceq.loading.sources import paths_of

    with _within_limits(memory_limit):
        return summarise_compile_logs([Path(log) for log in paths_of(logs)], save=None if save is None else Path(save))


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

    A change affects a category of the ledger ("idle_data", "compute"), "copies", or host slices or GPU work by name:
    "host:GLOB", "kernel:GLOB". `remove` removes its time, `scale` multiplies it ({"kernel:*flash*": 0.5}), `overlap`
    runs communication or copies beside kernels, `move` runs host work in that many other threads ({"idle_data": 4}),
    `graph` launches kernels as one CUDA graph, `transfer_only` lets no collective wait for other ranks. `finding` (F1,
    its id or its rule) removes the time that the finding owns. `trace` is a trace_id, by default the first, `rank` its
    rank. Raises ValueError for an impossible change or one of something that the trace lacks, StoreError for a missing
    finding.
    """
    from traceq.app.whatif import whatif as work
    from traceq.app.whatif_request import WhatIfRequest

    request = WhatIfRequest(remove, scale, overlap, move, graph, transfer_only, finding)
    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
    with _within_limits(memory_limit):
        return work(source, request, read, trace=trace, rank=rank)


def whatif_platform(
    source: Source,
    *,
    gpu: str | None = None,
    ranks: int | None = None,
    host_factor: str | None = None,
    link: float | None = None,
    network: float | None = None,
    ranks_per_node: int = 8,
    trace: int | None = None,
    rank: int | None = None,
    step_range: str | None = None,
    steps_per: str | None = None,
    window: str | None = None,
    capture: Paths = (),
    inductor: Paths = (),
    cache: bool = True,
    memory_limit: int | None = None,
) -> PlatformView:
    """Predict how long the steps would take on another GPU (`gpu`, as "B200"), in a job of `ranks` ranks, or both.

    `host_factor` is how much longer the host takes, as "0.8-1.25" or "1". `link` and `network` are GB/s per rank and
    direction within a node of `ranks_per_node` and between nodes. `trace` is a trace_id, by default the first, `rank` its
    rank. Raises ValueError for an unknown GPU, given or of the trace, and where a bandwidth has to be given.
    """
    from traceq.app.whatif_platform import whatif_platform as work
    from traceq.app.whatif_platform_request import PlatformRequest

    request = PlatformRequest(gpu, ranks, host_factor, link, network, ranks_per_node)
    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
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

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
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
    """List the metrics that each trace has, what would bring the others, and whether its numbers add up.

    `traces` are the trace_ids to examine (all if empty), `rank` the rank.
    """
    from traceq.app.doctor import doctor as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
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
    """Write a part of a trace: the `steps` (3 or 3..5) or the `window` (as of a report); for a job, only its `ranks`.

    A step's number is the one in its name, if there is one (ProfilerStep#3), else that of the table step. Slices that
    overlap the part are kept whole, and so is what its ledger depends on: docs/sharing.md. `output` is a file, or a
    directory for several traces; existing files are replaced with `force` only. Raises WrongUse for options that do not
    fit or name nothing.
    """
    from traceq.app.trim import trim as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
    with _within_limits(memory_limit):
        return work(source, output, read, steps=steps, ranks=ranks, force=force)


def convert(source: str | Path, target: str | Path, *, memory_limit: int | None = None, wait: float = 0) -> Converted:
    """Convert a trace database `source` to a dataset `target`, or a dataset to a database, as an ingest would have made it.

    trace_ids stay the same. Traces without a run are listed under the name of their folder. DuckDB holds at most
    `memory_limit` bytes, by default a quarter of the usable memory. `wait` is how many seconds to wait for another
    writer of the dataset. Raises WrongUse when the target exists or is of the wrong kind.
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
    measure: Measure | None = None,
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
    """Write a trace for Perfetto, speedscope or pprof, or tables as files; return how much was written, None for tables.

    A .json or .json.gz file is a Chrome trace for ui.perfetto.dev: all of it, or the time around `finding` (its id, its
    rule, or F1, F2, ...). .speedscope.json, .pb.gz (pprof) and .folded hold the call paths of the counted steps with
    their own time on the host, of GPU work, and in which GPUs were idle; folded stacks that of one `measure`, "host",
    "gpu" or "idle". .et is an execution trace of Chakra for simulators, of one rank. .parquet and .csv hold one table;
    with `format` and a new directory every table and view with rows, or those named in `tables`, becomes a file of its
    own. `traces` are the trace_ids to write (all if empty), `rank` or `ranks` choose by rank; ranks of a job share one
    clock. `goal`, `rules` and `timeout` are as for a report.
    Raises ValueError for options that do not fit together, StoreError for unreadable or unwritable files, QueryError
    for a missing table.
    """
    from traceq.app.export import export as work

    read = ReadOptions(step_range, steps_per, window, capture, inductor, cache=cache)
    with _within_limits(memory_limit, timeout):
        return work(
            source,
            output,
            read,
            format=format,
            finding=finding,
            measure=measure,
            traces=traces,
            rank=rank,
            ranks=ranks,
            tables=tables,
            goal=goal,
            rules=rules,
        )
