"""Predict how long the steps of a trace would take on another GPU, or among another number of ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from traceq.analysis.communication.more_ranks import (
    CannotScale,
    Fabric,
    NeedsBandwidth,
    RecordedCollective,
    group_collectives,
    price_collectives,
    read_collectives,
    rescale_exchanges,
)
from traceq.analysis.kernels.known_gpu import KnownGpu, choose_gpu, list_models
from traceq.analysis.kernels.other_gpu import GpuPair, Rescaled, read_work, rescale_work
from traceq.analysis.replay.rescaled import RescaledSteps, RescaledTimes, replay_rescaled
from traceq.analysis.replay.whatif import NothingToReplay
from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.source import Source, open_source
from traceq.app.trace_selection import select_traces
from traceq.app.view import View
from traceq.app.whatif_platform_request import PlatformRequest
from traceq.common.factor_range import FactorRange
from traceq.common.units import share
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.database.user_sql import run_interruptibly
from traceq.errors import WrongUse
from traceq.reports.document import Block
from traceq.reports.renderers.whatif_to_json import platform_to_json
from traceq.reports.whatif.answer import TimePart
from traceq.reports.whatif.platform import PlatformAnswer, PlatformCost, PlatformGroup, PlatformPart
from traceq.reports.whatif.platform_words import PARTS, compose_platform, order_parts

if TYPE_CHECKING:
    import duckdb

_LACKING = (
    "none of its collectives is known to be data parallel, so what copies would exchange is not in the trace"
    " (traceq ingest --axes says which groups are)"
)
_ALONE = "the trace has no collectives, so what ranks would exchange is not known"

# Of the work of the GPU, what may keep its time as no limit of it is published: more, and nothing can be told.
_MOST_KEPT = 0.05

# What the replay leaves out: as in savings.py.
_MARGIN = 0.02


class PlatformView(View[PlatformAnswer]):
    """The predicted step on another GPU or among other ranks; `content` is plain data, times are ns per counted step."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_platform(self.content)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return platform_to_json(self.content)


class _PlatformTrace(NamedTuple):
    """The trace of an answer: its id, file, rank and ranks of the job, and its GPU, or why that is not known."""

    trace_id: int
    file: str
    rank: int | None
    world_size: int | None
    gpu: KnownGpu | None
    unknown_gpu: str


def whatif_platform(
    source: Source,
    request: PlatformRequest,
    read: ReadOptions = AS_FOUND,
    *,
    trace: int | None = None,
    rank: int | None = None,
) -> PlatformView:
    """Predict the duration of the steps on another GPU, among another number of ranks, or both.

    `trace` is a trace_id, by default the first, `rank` its rank. Raises WrongUse for an unknown GPU, given or of the trace,
    for a part of a GPU, and where a bandwidth has to be given.
    """
    if request.gpu is None and request.ranks is None:
        raise WrongUse("Give --gpu NAME, --ranks N, or both.")
    request.check_figures()
    host = request.parse_host_factor()
    with open_source(source, "replayed", read) as connection:
        return run_interruptibly(connection, lambda: _predict_steps(connection, request, host, trace, rank))


def _predict_steps(
    connection: duckdb.DuckDBPyConnection,
    request: PlatformRequest,
    host: FactorRange,
    trace: int | None,
    rank: int | None,
) -> PlatformView:
    """Return the prediction for one trace of the database."""
    models = list_models(connection)
    facts = _read_facts(connection, models, trace, rank)
    chosen = None if request.gpu is None else choose_gpu(request.gpu, models)
    if chosen is not None and facts.gpu is None:
        raise WrongUse(f"Trace {facts.trace_id} cannot be compared with another GPU: {facts.unknown_gpu}.")
    if request.ranks is not None and facts.world_size is None:
        raise WrongUse("--ranks: the trace does not say how many ranks its job has.")
    then = facts.gpu if chosen is None else chosen.gpu
    empty = PlatformAnswer(
        trace_id=facts.trace_id,
        file=facts.file,
        rank=facts.rank,
        steps=0,
        gpu=None if facts.gpu is None else facts.gpu.model,
        gpu_then=None if then is None else then.model,
        gpu_might_be=() if chosen is None else chosen.others,
        ranks=facts.world_size,
        ranks_then=request.ranks,
        host_factor_low=host.low,
        host_factor_high=host.high,
        reason="",
    )
    collectives = read_collectives(connection, facts.trace_id)
    exchanges: Mapping[int, FactorRange] = {}
    if request.ranks is not None:
        empty = replace(empty, groups=_describe_groups(collectives, facts.world_size or 1, request.ranks))
        try:
            exchanges = _price_exchanges(collectives, facts, then, request)
        except CannotScale as error:
            return PlatformView(replace(empty, reason=str(error)))
        if not exchanges:
            return PlatformView(replace(empty, reason=_LACKING if collectives else _ALONE))
    pair = None if chosen is None or facts.gpu is None else GpuPair(facts.gpu, chosen.gpu)
    if pair is None:
        rescaled = rescale_exchanges(collectives, exchanges)
    else:
        with closing(connection.cursor()) as own:
            rescaled = rescale_work(pair, read_work(own, facts.trace_id), exchanges)
    times = [
        RescaledTimes({one.slice_id: one.then[place] / one.dur for one in rescaled if one.dur}, host[place])
        for place in range(3)
    ]
    with closing(connection.cursor()) as own:
        try:
            steps = replay_rescaled(own, facts.trace_id, times)
        except NothingToReplay as error:
            return PlatformView(replace(empty, reason=str(error)))
    answer = _fill_answer(empty, steps, rescaled)
    kept, whole = (sum(part.dur_ns for part in answer.parts if part.part in parts) for parts in (("kept",), PARTS))
    if pair is not None and kept > _MOST_KEPT * whole:
        both = f"{pair.now.model} and {pair.then.model}"
        lacking = f"no data sheet says how fast both {both} are at {share(kept / whole)} of the work"
        return PlatformView(replace(empty, steps=answer.steps, recorded_ns=answer.recorded_ns, reason=lacking))
    costs = ask(connection, statement("reports/sql/whatif_platform_cost.sql"), trace_id=facts.trace_id)
    assumed = tuple(_list_assumptions(pair, request, host, rescaled))
    return PlatformView(replace(answer, costs=tuple(_list_costs(answer, costs)), assumed=assumed))


def _fill_answer(empty: PlatformAnswer, steps: RescaledSteps, rescaled: Sequence[Rescaled]) -> PlatformAnswer:
    """Return the answer with the replayed steps: times of the recorded step, changed as the replay says."""
    recorded = steps.recorded_ns
    low, likely, high = (recorded * after / steps.before_ns for after in steps.after_ns)
    # what the replay does not know of the step changes as the step does, or not at all
    doubt = (_MARGIN + steps.told.error) * abs(likely - recorded)
    is_likely = steps.told.is_tied
    return replace(
        empty,
        steps=steps.steps,
        recorded_ns=recorded,
        replayed_ns=steps.before_ns,
        after_low_ns=max(min(low, likely - doubt), 0.0),
        after_ns=likely if is_likely else None,
        after_high_ns=max(high, likely + doubt),
        error_share=steps.told.error,
        unexplained_share=steps.told.unexplained,
        reason=None if is_likely else "the trace does not show which calls launched the work of the GPU",
        parts=_sum_parts(rescaled, steps),
        limits_before=tuple(TimePart(part.category, part.dur_ns) for part in steps.limits_before),
        limits=tuple(TimePart(part.category, part.dur_ns) for part in steps.limits),
    )


def _sum_parts(rescaled: Iterable[Rescaled], steps: RescaledSteps) -> tuple[PlatformPart, ...]:
    """Return the work of the GPU in the replayed steps by what limits it, per step."""
    sums: dict[str, list[float]] = {}
    for one in rescaled:
        if one.slice_id in steps.slice_ids:
            values = sums.setdefault(one.part, [0.0] * 5)
            for place, value in enumerate((1, one.dur, *one.then)):
                values[place] += value
    return order_parts(
        [PlatformPart(part, *(value / steps.steps for value in values)) for part, values in sums.items()]
    )


def _list_costs(answer: PlatformAnswer, rows: Iterable[dict[str, object]]) -> Iterable[PlatformCost]:
    """Yield what one of the things costs of which a step does several, now and then."""
    times = (answer.recorded_ns, answer.after_low_ns, answer.after_ns, answer.after_high_ns)
    now, low, likely, high = (time or 0.0 for time in times)
    if answer.after_ns is None:
        return
    for row in rows:
        per_step = float(str(row["per_step"]))
        yield PlatformCost(
            str(row["what"]), per_step, now / per_step, low / per_step, likely / per_step, high / per_step
        )


def _list_assumptions(
    pair: GpuPair | None, request: PlatformRequest, host: FactorRange, rescaled: Sequence[Rescaled]
) -> Iterable[str]:
    """Yield what the prediction assumes, and what it leaves out."""
    if pair is not None:
        if host.low == host.high:
            yield (
                "The host is as fast as now."
                if host.likely == 1
                else f"The host takes {host.likely:g} times as long as now."
            )
        else:
            given = "" if request.host_factor is not None else "; --host-factor 1 if the GPU goes into the same machine"
            yield f"The host takes {host.low:g} to {host.high:g} times as long, likely {host.likely:g}{given}."
        yield "Kernels change with the ratio of the GPUs' limits; the first 5 us of a kernel may not change at all."
        if not pair.is_same_maker:
            yield "The other maker's libraries reach another share of these limits; bounds hold the range that was published."
        yield "Program, shapes and number formats stay. Whether all fits into the GPU's memory is not checked."
        if any(one.part == "kept" for one in rescaled):
            yield "Work of which a limit is not published for one of the GPUs keeps its time."
        for work, what in (("host_copy", "the host"), ("communication", "other GPUs")):
            if any(one.part == work for one in rescaled) and pair.link_factor(work) is None:
                yield f"The link to {what} is not published for one of the GPUs: transfers over it keep their time."
    if request.ranks is not None:
        yield "Ranks are added as copies in data parallel: each computes as much, and sends messages as large, as now."
        yield "Waits for other ranks stay as recorded, and so do groups of other axes and of unknown axis."


def _price_exchanges(
    collectives: Sequence[RecordedCollective], facts: _PlatformTrace, then: KnownGpu | None, request: PlatformRequest
) -> dict[int, FactorRange]:
    """Return the factors of the collectives among the other ranks. Raises WrongUse where a bandwidth has to be given."""
    here, there = (
        request.link or (None if gpu is None else gpu.peer_link_bandwidth or gpu.host_link_bandwidth)
        for gpu in (facts.gpu, then)
    )
    try:
        return price_collectives(
            collectives,
            facts.world_size or 1,
            request.ranks or 1,
            Fabric(request.ranks_per_node, here, request.network),
            Fabric(request.ranks_per_node, there, request.network),
        )
    except NeedsBandwidth as error:
        where = "between nodes" if error.option == "network" else "within a node"
        raise WrongUse(
            f"--ranks {request.ranks}: groups of {error.ranks} ranks lie on {error.nodes} nodes of {request.ranks_per_node};"
            f" give --{error.option} GB/S, the bandwidth per rank and direction {where}."
        ) from None


def _describe_groups(
    collectives: Sequence[RecordedCollective], ranks: int, ranks_then: int
) -> tuple[PlatformGroup, ...]:
    """Return the groups of the trace, with their ranks now and then. Raises WrongUse for a number that no group can have."""
    try:
        return tuple(PlatformGroup(*group) for group in group_collectives(collectives, ranks, ranks_then))
    except CannotScale as error:
        raise WrongUse(f"--ranks {ranks_then}: {error}.") from None


def _read_facts(
    connection: duckdb.DuckDBPyConnection, models: Sequence[KnownGpu], trace: int | None, rank: int | None
) -> _PlatformTrace:
    """Return what an answer needs of the trace. Raises WrongUse without a trace or work of a GPU."""
    chosen = () if trace is None else (trace,)
    trace_id = next(iter(select_traces(connection, chosen, rank)), None)
    if trace_id is None:
        raise WrongUse("The database has no trace.")
    rows = {row["trace_id"]: row for row in ask(connection, statement("database/trace.sql"))}
    row = rows[trace_id]
    gpus = ask(connection, statement("reports/sql/whatif_platform_gpu.sql"), trace_id=trace_id)
    if not gpus:
        raise WrongUse(f"Trace {trace_id} has no work of a GPU, so another platform changes nothing.")
    gpu, unknown = _identify_gpu(gpus, models)
    return _PlatformTrace(trace_id, PurePath(row["path"]).name, row["rank"], row["world_size"], gpu, unknown)


def _identify_gpu(gpus: Sequence[dict[str, Any]], models: Sequence[KnownGpu]) -> tuple[KnownGpu | None, str]:
    """Return the model of the GPUs that worked (rows, the busiest first); else None, and why it is not known."""
    first = gpus[0]
    model, size, whole = first["model"], first["sm_count"], first["model_sm_count"]
    if model is None:
        name = first["name"] or "a GPU that it does not name"
        return None, f"it was recorded on {name}, of which traceq has no data sheet, or which is a part of a GPU"
    if size is not None and whole is not None and size < whole:
        return None, f"it was recorded on a part of {model}, {size} of {whole} multiprocessors"
    others = {gpu["model"] for gpu in gpus} - {model, None}
    if others:
        return None, f"it was recorded on several models, {model} and {', '.join(sorted(others))}"
    return next(gpu for gpu in models if gpu.model == model), ""
