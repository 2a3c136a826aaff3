"""Measurements at each setting as tables: results on a GPU and results without one never share a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from traceq.reports.document import Block, Heading, Table, make_table
from traceq.reports.trials.words import NAMED, format_change, format_measure, name_setting, per_second, title_of
from traceq.runs.trials.experiment import Experiment, Quantity, Result

_RESOURCES: tuple[Quantity, ...] = ("gpu_memory", "host_memory", "gpu_share", "energy")
_LATENCIES: tuple[Quantity, ...] = ("p50", "p95", "p99")


def compose_compared(found: Experiment) -> Iterator[Block]:
    """Yield the settings that ran, and by how much each differs."""
    for heading, results in split_by_device(found):
        yield from heading
        yield _tabulate_compared(found, results)


def compose_detailed(found: Experiment) -> Iterator[Block]:
    """Yield steps, percentiles and resources, each with its interval."""
    for heading, results in split_by_device(found):
        yield from heading
        yield _tabulate(results, {"step": "step", per_second(found): "throughput"})
        yield _tabulate(results, {NAMED[name]: name for name in _LATENCIES})
        known = {
            title_of(found, name): name for name in _RESOURCES if any(name in result.measures for result in results)
        }
        if known:
            yield _tabulate(results, known)


def split_by_device(found: Experiment) -> Iterator[tuple[list[Block], list[Result]]]:
    """Yield results on a GPU and on the CPU, with a heading each if there are both."""
    ran = [result for result in found.results if result.measures]
    groups = [(name, [result for result in ran if result.on_gpu is on_gpu]) for name, on_gpu in _KINDS]
    kept = [(name, results) for name, results in groups if results]
    for name, results in kept:
        yield ([Heading(4, (name,))] if len(kept) > 1 else []), results


_KINDS = (("On a GPU", True), ("On the CPU alone", False))


def _tabulate_compared(found: Experiment, results: Sequence[Result]) -> Table:
    varies = len({round(result.work, 6) for result in results}) > 1
    quantities: list[Quantity] = [] if found.quantity is None else [found.quantity]
    # A longer step that does more, and throughput that a longer step pays for.
    other: Quantity = "throughput" if found.quantity == "step" else "step"
    quantities += [other] if varies or found.goal == "memory" or found.quantity is None else []
    columns: dict[str, Callable[[Result], str]] = {
        "setting": lambda each: name_setting(each.setting.name),
        "step": lambda each: format_measure("step", each.measures.get("step")).partition(" (")[0],
        **{f"{title_of(found, quantity)}, 95 %": _change_cell(quantity) for quantity in quantities},
        "verdict": lambda each: _verdict_cell(found, each),
    }
    return make_table(results, columns, text=(0, len(columns) - 1))


def _change_cell(quantity: Quantity) -> Callable[[Result], str]:
    return lambda each: format_change(each.differences.get(quantity))


def _verdict_cell(found: Experiment, result: Result) -> str:
    """Return the verdict on the goal's quantity, or why there is none."""
    if result.setting.kind == "baseline":
        return ""
    if result.outcome != "ok":
        return result.outcome
    if result.setting.kind == "ablate":
        return "a bound"
    verdict = None if found.quantity is None else result.differences.get(found.quantity)
    return "cannot tell" if verdict is None else verdict.verdict


def _tabulate(results: Sequence[Result], quantities: Mapping[str, Quantity]) -> Table:
    def cell(quantity: Quantity) -> Callable[[Result], str]:
        return lambda each: format_measure(quantity, each.measures.get(quantity))

    cells = {title: cell(quantity) for title, quantity in quantities.items()}
    return make_table(results, {"setting": lambda each: name_setting(each.setting.name), **cells})
