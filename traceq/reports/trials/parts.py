"""The parts of the report on an experiment: measurements, predictions, ablations, removed findings, effects and scaling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from traceq.common.units import rate, share
from traceq.reports.document import Block, Heading, Items, Name, Paragraph, Spans, Table, Title, make_table
from traceq.reports.losses import describe_losses, name_losses
from traceq.reports.trials.words import (
    NAMED,
    format_change,
    format_measure,
    format_roughly,
    format_share,
    has_losses,
    list_settings,
    name_setting,
    per_second,
    title_of,
)
from traceq.runs.losses import LossState
from traceq.runs.run import FindingKept
from traceq.runs.trials.curve import MOST_ERROR
from traceq.runs.trials.experiment import (
    Ablation,
    CheckedPrediction,
    Experiment,
    Interaction,
    Quantity,
    Removed,
    Scaling,
    SettingResult,
)

_RESOURCES: tuple[Quantity, ...] = ("gpu_memory", "host_memory", "gpu_share", "energy")
_LATENCIES: tuple[Quantity, ...] = ("p50", "p95", "p99")


def compose_compared(found: Experiment) -> Iterator[Block]:
    """Yield a table of the settings that ran: step, change against the baseline, verdict; one each for GPU and CPU runs."""
    for heading, results in split_by_device(found):
        yield from heading
        yield _tabulate_compared(found, results)


def compose_detailed(found: Experiment) -> Iterator[Block]:
    """Yield tables of step, throughput, percentiles and resources of each setting, with 95 % intervals."""
    for heading, results in split_by_device(found):
        yield from heading
        yield _tabulate(results, {"step": "step", per_second(found): "throughput"})
        yield _tabulate(results, {NAMED[name]: name for name in _LATENCIES})
        known = {
            title_of(found, name): name for name in _RESOURCES if any(name in result.measures for result in results)
        }
        if known:
            yield _tabulate(results, known)


def split_by_device(found: Experiment) -> Iterator[tuple[list[Block], list[SettingResult]]]:
    """Yield (heading, results) of the settings that ran on a GPU, then of those that ran on the CPU alone.

    The heading is a list of one block, empty if all ran on the same kind of device.
    """
    ran = [result for result in found.results if result.measures]
    groups = [(name, [result for result in ran if result.on_gpu is on_gpu]) for name, on_gpu in _KINDS]
    kept = [(name, results) for name, results in groups if results]
    for name, results in kept:
        yield ([Heading(4, (name,))] if len(kept) > 1 else []), results


_KINDS = (("On a GPU", True), ("On the CPU only", False))


def _tabulate_compared(found: Experiment, results: Sequence[SettingResult]) -> Table:
    """Return a table of the results: setting, step, changes against the baseline, verdict."""
    varies = len({round(result.work, 6) for result in results}) > 1
    quantities: list[Quantity] = [] if found.quantity is None else [found.quantity]
    # A longer step that does more, and throughput that a longer step pays for.
    other: Quantity = "throughput" if found.quantity == "step" else "step"
    quantities += [other] if varies or found.goal == "memory" or found.quantity is None else []
    columns: dict[str, Callable[[SettingResult], str]] = {
        "setting": lambda each: name_setting(each.setting.name),
        "step": lambda each: format_measure("step", each.measures.get("step")).partition(" (")[0],
        **{f"{title_of(found, quantity)}, 95 %": _change_cell(quantity) for quantity in quantities},
        "verdict": lambda each: _verdict_cell(found, each),
    }
    texts = [0, len(columns) - 1]
    if has_losses(found):
        texts.append(len(columns))
        columns["results"] = lambda one: "" if one.setting.kind == "baseline" else name_losses(one.losses)
    return make_table(results, columns, text=tuple(texts))


def _change_cell(quantity: Quantity) -> Callable[[SettingResult], str]:
    """Return the function from a result to the text of its change in `quantity`."""
    return lambda each: format_change(each.differences.get(quantity))


def _verdict_cell(found: Experiment, result: SettingResult) -> str:
    """Return the verdict on the judged quantity, or the outcome of a setting that failed; empty for the baseline."""
    if result.setting.kind == "baseline":
        return ""
    if result.outcome != "ok":
        return result.outcome
    if result.setting.kind == "ablate":
        return "a bound"
    verdict = None if found.quantity is None else result.differences.get(found.quantity)
    return "cannot tell" if verdict is None else verdict.verdict


def _tabulate(results: Sequence[SettingResult], quantities: Mapping[str, Quantity]) -> Table:
    """Return a table with a row for each setting and a column for each quantity, given as title -> quantity."""

    def cell(quantity: Quantity) -> Callable[[SettingResult], str]:
        return lambda each: format_measure(quantity, each.measures.get(quantity))

    cells = {title: cell(quantity) for title, quantity in quantities.items()}
    return make_table(results, {"setting": lambda each: name_setting(each.setting.name), **cells})


def compose_predictions(found: Experiment) -> Iterator[Block]:
    """Yield the section on predicted savings of findings against the measured gains of their fixes."""
    if not found.checked:
        return
    yield Heading(3, ("Predicted and measured savings",), anchor="predicted")
    for name, on_gpu in (("On a GPU", True), ("On the CPU only", False)):
        rows = [check for check in found.checked if found.result(check.setting).on_gpu is on_gpu]
        if rows and len(rows) < len(found.checked):
            yield Heading(4, (name,))
        if rows:
            yield _tabulate_predictions(rows)
    yield Paragraph(
        (
            (
                "Shares are of the baseline's time for the same work, including rare long steps; bounds are those "
                "of the finding."
            ),
            " Whether a finding is gone is judged from one recording of a few steps per setting.",
        )
    )


def _tabulate_predictions(rows: list[CheckedPrediction]) -> Table:
    return make_table(
        rows,
        {
            "setting": lambda each: name_setting(each.setting),
            "for the finding": lambda each: Name(each.predicted.rule),
            "predicted": lambda each: format_roughly(
                each.predicted.share, (each.predicted.low_share, each.predicted.high_share)
            ),
            "saved, 95 %": lambda each: format_roughly(each.won, each.won_interval),
            "prediction": lambda each: each.judged,
            "finding": lambda each: each.state,
        },
        text=(0, 1, 4, 5),
    )


def compose_losses(found: Experiment) -> Iterator[Block]:
    """Yield the section on whether settings compute what the baseline does, a line for each kind of answer."""
    judged = [(result.setting.name, result.losses) for result in found.results if result.losses is not None]
    if not judged:
        return
    yield Heading(3, ("Same results",), anchor="losses")
    lines: dict[str, list[str]] = {}
    for name, losses in judged:
        lines.setdefault(f"{_STATES[losses.state]}{describe_losses(losses)}", []).append(name)
    yield Items(tuple((*list_settings(names), ": ", line, ".") for line, names in lines.items()))
    yield Paragraph((_HOW_SAME,))


_STATES: Mapping[LossState, str] = {
    "same": "same: ",
    "slightly changed": "slightly changed, as by other rounding: ",
    "changed": "changed: ",
    "cannot tell": "",
}
_HOW_SAME = (
    "Compared are the losses of the first steps with those of the baseline of the same round and seed: the numbers on "
    "which the program calls backward()."
)


def compose_ablations(found: Experiment) -> Iterator[Block]:
    """Yield the section on parts of the program that were taken out: the most that each costs."""
    if not found.ablations:
        return
    yield Heading(3, ("The most that parts can cost",), anchor="ablations")
    yield Items(tuple(_describe_ablation(ablation) for ablation in found.ablations))


def _describe_ablation(each: Ablation) -> Spans:
    """Return a sentence on a part that was taken out: the most that it costs, as a share of the baseline, or "cannot tell"."""
    findings = "" if each.predicted is None else f"; its findings say {format_share(each.predicted.share, None)}"
    if each.share is None:
        return (
            Name(each.what),
            f": cannot tell by ablation (no baseline in its rounds, or its work is not known){findings}.",
        )
    if each.verdict == "cannot tell":
        return (Name(each.what), f": cannot tell by ablation ({format_share(each.share, each.interval)}){findings}.")
    if each.verdict == "no difference" or each.share <= 0:
        high = max(each.interval[1] if each.interval else each.share, 0.0)
        return (Name(each.what), f": nothing to save, at most {share(high)} (ablation){findings}.")
    return (Name(each.what), f": at most {format_share(each.share, each.interval)} (ablation){findings}.")


def compose_removed(found: Experiment) -> Iterator[Block]:
    """Yield the section on findings that are gone, smaller or new in the recording of each setting."""
    rows = [removal for removal in found.removed if removal.gone or removal.smaller or removal.new]
    if not rows:
        return
    yield Heading(3, ("What became of the findings",), anchor="removed")
    yield make_table(
        rows,
        {
            "setting": lambda each: name_setting(each.setting),
            "gone": lambda each: _list_rules(each.gone),
            "smaller": lambda each: _list_rules(each.smaller),
            "new": lambda each: _list_rules(each.new),
        },
        text=(0, 1, 2, 3),
    )
    yield Paragraph(
        ("Judged from one recording of a few steps per setting: a small finding may be gone or new by chance.",)
    )
    silent = [row for row in rows if row.unsure]
    if silent:
        yield Items(tuple(_describe_unsure(each) for each in silent))


def _list_rules(findings: tuple[FindingKept, ...]) -> str:
    """Return the distinct rules of the findings, separated by commas; a dash without any."""
    return Title(", ".join(dict.fromkeys(finding.rule for finding in findings)) or "-")


def _describe_unsure(each: Removed) -> Spans:
    return ("Cannot tell at ", name_setting(each.setting), f" whether {_list_rules(each.unsure)} is gone.")


def compose_effects(found: Experiment) -> Iterator[Block]:
    """Yield the section on the mean effect of each knob's value over all settings of the others, and on interactions.

    Nothing unless the experiment was factorial.
    """
    if not found.effects or found.quantity is None:
        return
    yield Heading(3, ("What each setting does, whatever the others are",), anchor="effects")
    yield make_table(
        found.effects,
        {
            "knob": lambda each: Name(f"{each.knob}={each.value}"),
            f"{title_of(found, found.quantity)}, 95 %": lambda each: format_change(each.difference),
            "judged": lambda each: each.difference.verdict,
            "combinations": lambda each: f"{each.pairs} of {each.of}",
        },
        text=(0, 2),
    )
    if found.interactions:
        yield Items(tuple(_describe_interaction(pair, title_of(found, found.quantity)) for pair in found.interactions))
    else:
        yield Paragraph(
            ("No two values are certain to do more, or less, together than their separate effects add up to.",)
        )


def _describe_interaction(each: Interaction, title: str) -> Spans:
    """Return a sentence on two values whose joint effect is more or less than their single effects come to."""
    names = list_settings(f"{knob}={value}" for knob, value in zip(each.knobs, each.values, strict=True))
    worse = "worse" if each.difference.verdict == "worse" else "better"
    return (
        *names,
        f" together are {worse} than their separate effects add up to: {title} {format_change(each.difference)}.",
    )


def compose_scaling(found: Experiment) -> Iterator[Block]:
    """Yield the section on how speed scales with each knob that counts workers, devices or threads, by Amdahl's law."""
    if not found.scaling:
        return
    yield Heading(3, ("How it scales",), anchor="scaling")
    yield Items(tuple(_describe_scaling(law) for law in found.scaling))


def _describe_scaling(each: Scaling) -> Spans:
    """Return sentences on the serial share of the work by Amdahl's law over the tried counts, or why it cannot be told."""
    counts = f"{each.counts[0]} to {each.counts[-1]}"
    knob = Name(each.knob)
    if each.serial is None and each.error <= MOST_ERROR:
        return (knob, f": cannot tell. None of the counts ({counts}) is certain to differ from {each.counts[0]}.")
    if each.serial is None:
        misses = f"Amdahl's law misses the measurements by up to {share(each.error)} (allowed: {share(MOST_ERROR)})"
        return (knob, f": cannot tell. {misses}, so there is no serial share.")
    if each.serial >= 1:
        return (knob, f": no count from {counts} is faster than {each.counts[0]}: all of the work is serial.")
    first = "" if each.has_one else f" 1 was not run (the counts are {counts}), so its time is extrapolated by the law."
    law = f"{format_share(each.serial, each.serial_interval)} of the work is serial (Amdahl's law over {counts})."
    error = (
        f"The law misses the measurements by up to {share(each.error)}, and a count left out of the fit by "
        f"{share(each.left_out_error)}."
    )
    return (knob, f": {law} {_describe_most(each, each.serial)} {error}{first}")


def _describe_most(each: Scaling, serial: float) -> str:
    """Return a sentence on the highest speed, either measured or extrapolated; `serial` is the serial share (0..1)."""
    last = each.counts[-1]
    if each.effective is not None:
        speed = 1 / (serial + (1 - serial) / each.effective)
        between = "" if each.effective_interval is None else f" ({_format_ends(*each.effective_interval)})"
        return (
            f"More than about {rate(each.effective)}{between} gain nothing: {rate(speed)} times the speed of 1 "
            "is the limit."
        )
    limit = f"at most {rate(1 / serial)} times the speed of 1" if serial else "unlimited speed"
    return f"More still help at {last}, the largest count that was run; beyond that, the law allows {limit}."


def _format_ends(low: float, high: float | None) -> str:
    """Return a range of counts as "2.00 to 4.00"; "2.00 or more" without an upper end."""
    return f"{rate(low)} or more" if high is None else f"{rate(low)} to {rate(high)}"
