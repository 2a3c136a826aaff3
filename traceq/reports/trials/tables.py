"""What was measured at each setting, as tables: what ran on a GPU and what ran without one never stand in the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from traceq.reports.document import Block, Heading, Table, table
from traceq.reports.trials.words import NAMED, changed, measured, per_second, setting, titled
from traceq.runs.trials.experiment import Experiment, Quantity, Result

_RESOURCES: tuple[Quantity, ...] = ("gpu_memory", "host_memory", "gpu_share", "energy")
_LATENCIES: tuple[Quantity, ...] = ("p50", "p95", "p99")


def compared(found: Experiment) -> Iterator[Block]:
    """The settings that ran, and by how much each differs."""
    for heading, results in kinds(found):
        yield from heading
        yield _compared(found, results)


def detailed(found: Experiment) -> Iterator[Block]:
    """Steps, percentiles and resources, each with its interval."""
    for heading, results in kinds(found):
        yield from heading
        yield _table(results, {"step": "step", per_second(found): "throughput"})
        yield _table(results, {NAMED[name]: name for name in _LATENCIES})
        known = {titled(found, name): name for name in _RESOURCES if any(name in each.measures for each in results)}
        if known:
            yield _table(results, known)


def kinds(found: Experiment) -> Iterator[tuple[list[Block], list[Result]]]:
    """The results that ran on a GPU and those that did not, under headings where there are both."""
    ran = [each for each in found.results if each.measures]
    groups = [(name, [each for each in ran if each.on_gpu is on_gpu]) for name, on_gpu in _KINDS]
    kept = [(name, results) for name, results in groups if results]
    for name, results in kept:
        yield ([Heading(4, (name,))] if len(kept) > 1 else []), results


_KINDS = (("On a GPU", True), ("On the CPU alone", False))


def _compared(found: Experiment, results: Sequence[Result]) -> Table:
    varies = len({round(each.work, 6) for each in results}) > 1
    quantities: list[Quantity] = [] if found.quantity is None else [found.quantity]
    # A longer step that does more, and throughput that a longer step pays for.
    other: Quantity = "throughput" if found.quantity == "step" else "step"
    quantities += [other] if varies or found.goal == "memory" or found.quantity is None else []
    columns: dict[str, Callable[[Result], str]] = {
        "setting": lambda each: setting(each.setting.name),
        "step": lambda each: measured("step", each.measures.get("step")).partition(" (")[0],
        **{f"{titled(found, each)}, 95 %": _change(each) for each in quantities},
        "verdict": lambda each: _judged(found, each),
    }
    return table(results, columns, text=(0, len(columns) - 1))


def _change(quantity: Quantity) -> Callable[[Result], str]:
    return lambda each: changed(each.differences.get(quantity))


def _judged(found: Experiment, result: Result) -> str:
    """The verdict on the goal's quantity, or why there is none."""
    if result.setting.kind == "baseline":
        return ""
    if result.outcome != "ok":
        return result.outcome
    if result.setting.kind == "ablate":
        return "a bound"
    verdict = None if found.quantity is None else result.differences.get(found.quantity)
    return "cannot tell" if verdict is None else verdict.verdict


def _table(results: Sequence[Result], quantities: Mapping[str, Quantity]) -> Table:
    def cell(quantity: Quantity) -> Callable[[Result], str]:
        return lambda each: measured(quantity, each.measures.get(quantity))

    cells = {title: cell(quantity) for title, quantity in quantities.items()}
    return table(results, {"setting": lambda each: setting(each.setting.name), **cells})
