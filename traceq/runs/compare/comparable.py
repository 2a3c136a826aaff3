"""Decide whether two sides can be compared, and what has to be known before a difference is believed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from traceq.analysis.categories import OF_HOST
from traceq.common.units import change_share, duration, rate, share, some
from traceq.runs.compare.comparison import Side
from traceq.runs.compare.names import OF_LIBRARIES, family_name, find_role, stable_name
from traceq.runs.compare.profiling import compare_profiling, explain_unmeasured, may_explain
from traceq.runs.compare.same_work import hides_kernels
from traceq.runs.compare.side import describe_other_gpu, explain_left_out, kinds_of
from traceq.runs.compare.units import find_unlike_units, find_unlike_windows
from traceq.runs.run import Item, Run

_OTHER_SETTINGS = (
    "record_shapes",
    "with_flops",
    "nccl_version",
    "cuda_runtime_version",
    "cuda_driver_version",
    "hip_runtime_version",
    "cupti_version",
    "cuda_graph_trace_options_mode",
)
Shapes = Mapping[str, Mapping[str, int]]

_SAME_WORK = 0.01
_SAME_SHAPES = 0.5
_SAME_PROGRAM = 0.1
_AS_OFTEN = 0.1
_SAME_MIX = 0.05
_OTHER_CONDITION = 0.02
_LISTED = 3


def find_obstacles(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each reason why the sides cannot be compared; none when they can be."""
    for name, runs in (("base", base), ("new", new)):
        if not any(run.counted for run in runs):
            yield f"the {name} has no steps that count" if runs else f"the {name} is empty"
    if any(run.counted for run in base) and any(run.counted for run in new):
        yield from _compare_machines(base, new)
        yield from find_unlike_units(base, new)
        yield from _compare_work(base, new)
        yield from _compare_settings(base, new)


def _compare_machines(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each difference in GPUs, their number, and the world size."""
    ledgers = [any(step.gpu_ledger for run in runs for step in run.counted) for runs in (base, new)]
    if ledgers[0] != ledgers[1]:
        yield f"only the {'base' if ledgers[0] else 'new'} has work on a GPU"
    for name, runs in (("base", base), ("new", new)):
        mixed = _distinct_values(runs, lambda run: run.device_name)
        if len(mixed) > 1:
            yield f"the {name} mixes runs of several GPUs: {', '.join(mixed)}"
    gpus = describe_other_gpu(base, new)
    if gpus:
        yield f"another GPU: {gpus}"
    yield from _compare_values("number of GPUs in use", base, new, lambda run: run.devices or None)
    yield from _compare_values("world size", base, new, lambda run: run.world_size)


def _compare_work(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each difference in work: marks, batches, shapes; kernels only if both sides ran on one kind of GPU."""
    first, second = kinds_of(base), kinds_of(new)
    if first and second and not first.keys() & second.keys():
        yield f"the server ran different steps: {', '.join(sorted(first))} against {', '.join(sorted(second))}"
    yield from _compare_payload(base, new)
    yield from _compare_batches(base, new)
    shapes = list(_compare_shapes(base, new))
    yield from shapes or find_unlike_windows(base, new)
    if describe_other_gpu(base, new) is None:
        yield from _compare_programs(base, new)


def _compare_settings(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each profiler setting that is costly and differs, and for a different profiling overhead."""
    # What these add to every call is more than most changes.
    for setting in dict.fromkeys(name for run in (*base, *new) for name in run.costly_settings):
        cost = f"profiler setting {setting}"
        yield from _compare_values(cost, base, new, lambda run: run.costly_settings.get(setting))  # noqa: B023 - asked at once
    yield from _compare_overhead(base, new)


def _distinct_values(runs: Iterable[Run], of: Callable[[Run], str | int | None]) -> list[str]:
    """Return the distinct values of a property of the runs (`of` returns it) as sorted texts, without None."""
    return sorted({str(value) for run in runs if (value := of(run)) is not None})


def _compare_values(
    what: str, base: Sequence[Run], new: Sequence[Run], of: Callable[[Run], str | int | None]
) -> Iterator[str]:
    """Yield a sentence if a property of runs, which `of` returns and `what` names, is known on both sides and differs."""
    first, second = _distinct_values(base, of), _distinct_values(new, of)
    if first and second and first != second:
        yield f"{what}: {', '.join(first)} against {', '.join(second)}"


def _compare_payload(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each payload key (samples, tokens, ...) of both sides whose work per step differs by more than 1 %."""
    sides = [_mean_payload(runs) for runs in (base, new)]
    for key in sorted(sides[0].keys() & sides[1].keys()):
        before, after = sides[0][key], sides[1][key]
        if abs(after - before) > _SAME_WORK * max(abs(before), abs(after)):
            yield f"{key} per step: {rate(before)} against {rate(after)}; traceq tradeoff compares runs that do different work"


def _compare_batches(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence if the data loaders' batch sizes differ; nothing where payload marks say how much work a step does."""
    if not any(run.payload for run in (*base, *new)):
        for difference in _compare_values("batch_size", base, new, lambda run: run.made_with.get("batch_size")):
            yield f"{difference}; traceq tradeoff compares runs that do different work"


def _mean_payload(runs: Sequence[Run]) -> dict[str, float]:
    """Return the mean work per step over the runs, by payload key; only keys that every run has."""
    keys = set.intersection(*(set(run.payload) for run in runs)) if runs else set()
    return {key: sum(run.payload[key] for run in runs) / len(runs) for key in keys}


def _compare_shapes(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield one sentence if less than half of the GPU time of operators that both sides run is in input shapes of both.

    It names the operator with most time on the base, and its main shape on each side.
    """
    first, second = _all_shapes(base), _all_shapes(new)
    common = sorted(first.keys() & second.keys())
    if min((_share_alike(first, second, common), _share_alike(second, first, common))) < _SAME_SHAPES:
        name = max(common, key=lambda each: sum(first[each].values()))
        before, after = (max(side[name], key=lambda dims: (side[name][dims], dims)) for side in (first, second))
        yield f"input shapes: {name} mostly {before} against {after}"


def _share_alike(shapes: Shapes, others: Shapes, names: Sequence[str]) -> float:
    """Return the share (0..1) of the named operators' GPU time that is in input shapes which `others` has, too.

    1 without time.
    """
    total = sum(sum(shapes[name].values()) for name in names)
    alike = sum(dur for name in names for dims, dur in shapes[name].items() if dims in others[name])
    return alike / total if total else 1.0


def _all_shapes(runs: Iterable[Run]) -> dict[str, Counter[str]]:
    """Return the GPU time, ns, by operator and input shape, summed over the runs."""
    shapes: dict[str, Counter[str]] = {}
    for run in runs:
        for operator, dims in run.shapes.items():
            shapes.setdefault(operator, Counter()).update(dims)
    return shapes


def _compare_programs(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence if under a tenth of a side's kernel time is in kernels, operators or roles that the other side has.

    Nothing where most of a side's kernels are hidden in CUDA graphs that were traced as a whole.
    """
    if any(hides_kernels(runs) for runs in (base, new)):
        return
    known = [_kernel_names(runs) for runs in (base, new)]
    roles = _alike_roles(base, new)
    shares = []
    for side, other in ((0, 1), (1, 0)):
        computing = _list_kernels((base, new)[side])
        total = sum(item.every.dur for item, _ in computing)
        alike = sum(
            item.every.dur
            for item, name in computing
            if family_name(name) in known[other]
            or stable_name(item.operator or "") in known[other]
            or find_role(name, item.family) in roles
        )
        if total:
            shares.append(alike / total)
    if len(shares) > 1 and min(shares) < _SAME_PROGRAM:
        yield f"they do not run the same program: only {share(min(shares))} of one side's kernel time is in kernels of the other"


def _list_kernels(runs: Iterable[Run]) -> list[tuple[Item, str]]:
    """Return the runs' kernel items that have a name, each with its name."""
    items = (item for run in runs for item in run.items if item.category == "compute")
    return [(item, item.name) for item in items if item.name is not None]


def _alike_roles(base: Sequence[Run], new: Sequence[Run]) -> set[str | None]:
    """Return the roles of library kernels (matrix products, ...) that both sides launch equally often per step, within 10 %."""
    counts = []
    for runs in (base, new):
        called: Counter[str | None] = Counter()
        for item, name in _list_kernels(runs):
            called[find_role(name, item.family)] += item.every.count
        steps = sum(len(run.counted) for run in runs)
        counts.append({each: number / steps for each, number in called.items()})
    return {
        each
        for each in OF_LIBRARIES
        if (before := counts[0].get(each)) and abs(counts[1].get(each, 0.0) - before) <= _AS_OFTEN * before
    }


def _kernel_names(runs: Iterable[Run]) -> set[str]:
    """Return the family names of the runs' kernels, and the stable names of the operators that launched them."""
    computing = _list_kernels(runs)
    return {family_name(name) for _, name in computing} | {
        stable_name(item.operator) for item, _ in computing if item.operator
    }


def _compare_overhead(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence if the profiler's cost differs, and that may make more than a quarter of the step's change."""
    profiling = compare_profiling(base, new)
    if profiling and may_explain(profiling, base, new):
        yield (
            f"{profiling.told}; record both with the same options of traceq record (--skip 20 or more measures that better), or "
            "compare --anyway"
        )


def find_remarks(base: Side, new: Side) -> Iterator[str]:
    """Yield a sentence for each thing to know before a difference is believed: steps left out, other profiler, clocks, ..."""
    for name, side in (("base", base), ("new", new)):
        yield from _remark_side(name, side)
    if base.counted and new.counted and base.counted != new.counted:
        yield f"{base.counted} steps are compared with {new.counted}: each side is judged by its own spread"
    for name, side in (("base", base), ("new", new)):
        if hides_kernels(side.runs):
            yield f"{name}: CUDA graphs were traced as a whole, so it is not known whether both sides run the same program"
    named = [any(run.device_name for run in side.runs) for side in (base, new)]
    if named[0] != named[1]:
        yield f"the {'new' if named[0] else 'base'} does not say which GPU it ran on"
    lacking = side_without_ledger(base.runs, new.runs)
    if lacking is not None:
        yield (
            f"the {lacking} has no host times (baselines of earlier versions have none), so what the change is made of is not "
            "known; save it again with traceq baseline save"
        )
    snapshots = [any(run.made_with for run in side.runs) for side in (base, new)]
    if snapshots[0] != snapshots[1]:
        yield f"only the {'base' if snapshots[0] else 'new'} has its settings, so it is not known which settings changed"
    yield from _compare_values("rank", base.runs, new.runs, lambda run: run.rank)
    yield from _compare_values("profiler", base.runs, new.runs, lambda run: run.producer or run.format)
    yield from _compare_conditions(base.runs, new.runs)
    yield from _compare_values("version of the profiler", base.runs, new.runs, lambda run: run.producer_version)
    yield from _compare_values("steps found by", base.runs, new.runs, lambda run: run.step_source)
    for setting in _OTHER_SETTINGS:
        yield from _compare_values(setting, base.runs, new.runs, lambda run: run.settings.get(setting))  # noqa: B023 - asked at once


def _compare_conditions(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each mean clock, power or temperature that differs by more than 2 %, if both sides sampled it."""
    for series in sorted({name for run in (*base, *new) for name in run.conditions}):
        sides = [[run.conditions[series] for run in runs if series in run.conditions] for runs in (base, new)]
        if all(sides):
            before, after = (sum(side) / len(side) for side in sides)
            if abs(after - before) > _OTHER_CONDITION * max(abs(before), abs(after)):
                changed = change_share((after - before) / before if before else None)
                yield f"{series}: {rate(before)} against {rate(after)} ({changed})"


def compare_mix(base: Sequence[Run], new: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence if the shares of step kinds (prompts, next tokens) differ by more than 5 points.

    None unless both serve.
    """
    first, second = kinds_of(base), kinds_of(new)
    shares = [{kind: steps / sum(each.values()) for kind, steps in each.items()} for each in (first, second)]
    kinds = sorted(first.keys() | second.keys())
    if first and second and max(abs(shares[1].get(kind, 0) - shares[0].get(kind, 0)) for kind in kinds) > _SAME_MIX:
        said = (f"{kind} {share(shares[0].get(kind, 0))} against {share(shares[1].get(kind, 0))}" for kind in kinds)
        yield f"the server ran different steps: {', '.join(said)}; steps are compared with steps of the same kind"


def _remark_side(name: str, side: Side) -> Iterator[str]:
    """Yield a sentence for each thing to know about one side: steps left out, runs incomplete, drift, outliers, ...

    `name` is base or new.
    """
    yield from (f"{name}: {reason}" for reason in explain_left_out(side.runs))
    keys = {key for run in side.runs for key in run.payload}
    for key in sorted(key for key in keys if any(key not in run.payload for run in side.runs)):
        yield f"{name}: not every run says how many {key} a step has; they are not compared"
    for run in side.runs:
        if not run.counted and len(side.runs) > 1:
            yield f"{name}: {run.file} has no steps that count and is left out"
        if len(run.ranks) > 1:
            yield f"{name}: rank {run.rank} of {len(run.ranks)} in {run.source}; --rank chooses another"
        if run.loader_queue is not None:
            yield f"{name}: {explain_unmeasured(run.loader_queue)}"
        if run.lost:
            yield f"{name}: {run.file} is incomplete: {run.lost[0]}"
    for drift in side.drifts[:_LISTED]:
        way = "longer" if drift.change_ns > 0 else "shorter"
        yield (
            f"{name}: steps of {drift.file} get {way} during the run, by {duration(abs(drift.change_ns))} from the first to "
            "the last"
        )
    if side.outliers:
        worst = max(side.outliers, key=lambda each: each.dur - each.typical_ns)
        yield (
            f"{name}: {some(len(side.outliers), 'outlier')}, {worst.name} ({duration(worst.dur)} where "
            f"{duration(worst.typical_ns)} is usual){' first' if len(side.outliers) > 1 else ''}"
        )


def drop_host_ledgers(base: Sequence[Run], new: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """Return the runs of both sides, without ledgers of the training thread unless every run has one.

    Compared with a ledger of the GPU, or with none, all categories of the host would be new or gone.
    """
    if all(_is_of_host(run) for run in (*base, *new)):
        return list(base), list(new)
    return [_drop_host_ledger(run) for run in base], [_drop_host_ledger(run) for run in new]


def side_without_ledger(base: Sequence[Run], new: Sequence[Run]) -> Literal["base", "new"] | None:
    """Return the side that has runs without any ledger while the other has ledgers of the training thread; None otherwise."""
    has_host = [any(_is_of_host(run) for run in runs) for runs in (base, new)]
    has_none = [any(run.counted and not _has_ledger(run) for run in runs) for runs in (base, new)]
    if has_host[1] and has_none[0]:
        return "base"
    return "new" if has_host[0] and has_none[1] else None


def _has_ledger(run: Run) -> bool:
    """Return whether any counted step has a ledger."""
    return any(step.ledger for step in run.counted)


def _is_of_host(run: Run) -> bool:
    """Return whether the run has ledgers, and all are of the training thread, as where no GPU works."""
    return _has_ledger(run) and not any(step.gpu_ledger for step in run.counted)


def _drop_host_ledger(run: Run) -> Run:
    """Return the run without ledgers and items of the training thread; unchanged if its ledgers are of a GPU."""
    if not _is_of_host(run):
        return run
    return replace(
        run,
        steps=tuple(replace(step, ledger={}) for step in run.steps),
        items=tuple(item for item in run.items if not item.category.startswith(OF_HOST)),
    )
