"""The first screen: what to set, its gain and cost, what was no use, what failed, and what is left to try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from traceq.common.units import duration, per_cent, size, some
from traceq.reports.document import Block, Facts, Literal, Name, Outcome, Spans, Table, Title, Verdict
from traceq.reports.losses import describe_losses, name_losses
from traceq.reports.trials.words import (
    NAMED,
    describe_not_tried,
    format_change,
    format_range,
    format_ratio,
    has_losses,
    list_settings,
    name_setting,
    per_second,
    title_of,
)
from traceq.runs.trials.experiment import Experiment, NotTried, Quantity, SettingChoice, SettingResult, TrialLimits, Win
from traceq.runs.trials.study_experiment import EFFECT
from traceq.runs.trials.trial import BASELINE
from traceq.runs.trials.values import is_of_work, number_in

_LISTED = 4
_UNTESTED = 2
# Knobs that change what is computed, and with it what is learned, as those do that change the work of a step.
_LEARNS_ELSE = frozenset({"amp", "tf32"})
# More rounds nobody runs.
_MOST_ROUNDS = 50
_NOTHING, _NOT_RUN = "nothing to act on", "not run"


def compose_first_screen(found: Experiment) -> Iterator[Block]:
    """Yield the first screen on an experiment: verdict, changes worth making, and a line on each other result."""
    yield Verdict(_say_verdict(found), _judge_outcome(found))
    if found.choice is not None and found.choice.wins:
        yield _tabulate_wins(found, found.choice.wins)
    rows = tuple(_list_rest(found))
    if rows:
        yield Facts(rows)


def _judge_outcome(found: Experiment) -> Outcome:
    """Return "problem" if changes win, "healthy" if what was tried surely wins nothing, otherwise "cannot tell"."""
    if found.choice is None or not found.result(BASELINE).is_judged:
        return "cannot tell"
    if found.choice.wins:
        return "problem"
    if _list_untested(found):
        return "cannot tell"
    tried = [result for result in found.results if result.setting.kind not in ("baseline", "ablate")]
    is_told = any(_verdict_of(found, setting) != "cannot tell" for setting in tried) or not tried
    return "healthy" if is_told else "cannot tell"


def name_goal(found: Experiment) -> str:
    """Return the quantity that is judged, in words: "throughput", "the step", "memory"; without one, the experiment's goal."""
    if found.quantity is None:
        return found.goal
    return "the step" if found.quantity == "step" else NAMED[found.quantity]


def _say_verdict(found: Experiment) -> Spans:
    """Return the sentence on what to set for the goal, on keeping the baseline, or on why this cannot be told."""
    base, choice = found.result(BASELINE), found.choice
    if not base.is_judged:
        return ("Cannot tell: the unchanged program did not run (", Name(base.reason or base.outcome), ").")
    if choice is None:
        return _say_unknown(found)
    if choice.setting is None:
        return ("None of the tried settings keeps ", *_describe_limits(found.limits), ".")
    return _say_baseline(found, choice) if choice.setting == BASELINE else _say_setting(found, choice, choice.setting)


def _say_unknown(found: Experiment) -> Spans:
    if found.goal != "throughput":
        return (f"Cannot tell: no setting has a measured {found.goal}.",)
    mark = Literal("traceq.annotate.payload(samples=...)")
    return (
        ("Cannot tell: settings do different amounts of work per step, and nothing shows how much. Mark it: "),
        mark,
        ".",
    )


def _say_setting(found: Experiment, choice: SettingChoice, chosen: str) -> Spans:
    wins = [win.setting for win in choice.wins]
    others = [name for name in wins if name != chosen]
    changed = _warn_of_changes(found, chosen)
    end = (*_say_limits(found), *_say_untested(found))
    if choice.together:
        return (*changed, "Set ", name_setting(chosen), f", all together: {_describe_gain(found, chosen)}.", *end)
    also: Spans = ()
    if others and choice.combined is not None:
        also = (" It is not certain that adding more helps: ", *list_settings(others), ".")
    elif others:
        also = (" Also worthwhile on its own: ", *list_settings(others), ".")
    return (*changed, "Set ", name_setting(chosen), f": {_describe_gain(found, chosen)}.", *also, *end)


def _warn_of_changes(found: Experiment, chosen: str) -> Spans:
    """Return sentences on wins that change the program's losses, which come before what they win; empty without any."""
    wins = [win.setting for win in found.choice.wins] if found.choice else []
    warned: list[str] = []
    for state, words in (("changed", "changes"), ("slightly changed", "slightly changes")):
        for name in dict.fromkeys((chosen, *wins)):
            losses = found.result(name).losses
            if losses is not None and losses.state == state:
                warned += [name_setting(name), f" {words} the results: {describe_losses(losses)}. "]
    return tuple(warned)


def _list_untested(found: Experiment) -> list[NotTried]:
    """Return what was not tried and is predicted to save enough to count, the largest prediction first."""
    return [one for one in found.not_tried if one.predicted is not None and one.predicted.share >= found.least]


def _say_untested(found: Experiment) -> Spans:
    """Return a sentence on the largest predictions that were not tried, and why; empty without any."""
    untested = _list_untested(found)
    if not untested:
        return ()
    more = f"; and {len(untested) - _UNTESTED} more" if len(untested) > _UNTESTED else ""
    return (" Still untested: ", *_join_spans([describe_not_tried(one) for one in untested[:_UNTESTED]]), f"{more}.")


def _say_baseline(found: Experiment, choice: SettingChoice) -> Spans:
    changes = [result for result in found.results if result.setting.kind not in ("baseline", "ablate")]
    tried = [result for result in changes if result.outcome != _NOT_RUN]
    if not tried:
        return ("No change was tried.", *_say_untested(found))
    which = (
        (name_setting(tried[0].setting.name), " is not") if len(tried) == 1 else (f"none of {len(tried)} settings is",)
    )
    unsure = [name for name in choice.alike if name != BASELINE]
    open_ = (" It is within the noise of ", *list_settings(unsure, _LISTED), ".") if unsure else ()
    # What was tried says nothing of what may win more.
    first = ("Of what was tried, ",) if _list_untested(found) else ("Keep the baseline: ",)
    return (
        *first,
        *which,
        f" certain to be better for {name_goal(found)}.",
        *open_,
        *_say_limits(found),
        *_say_untested(found),
    )


def _describe_gain(found: Experiment, name: str) -> str:
    """Return by how much the setting `name` changes the judged quantity, in words; empty without one."""
    if found.quantity is None:
        return ""
    difference = found.result(name).differences.get(found.quantity)
    what = per_second(found) if found.quantity == "throughput" else name_goal(found)
    return f"{what} {format_change(difference)}"


def _say_limits(found: Experiment) -> Spans:
    """Return a sentence on whether the chosen setting and others keep the user's limits; empty if all do."""
    choice = found.choice
    if choice is None or not (choice.over or choice.unsure):
        return ()
    do = "does not" if len(choice.over) == 1 else "do not"
    over = ("; ", *list_settings(choice.over, _LISTED), f" {do}") if choice.over else ()
    unsure = ", although its interval reaches beyond" if choice.setting in choice.unsure else ""
    return (" It keeps ", *_describe_limits(found.limits), unsure, *over, ".")


def _describe_limits(limits: TrialLimits) -> Spans:
    """Return the user's limits in words: latency percentile within a time, GPU and host memory within a size."""
    latency = () if limits.latency_ns is None else (f"{limits.percentile} within {duration(round(limits.latency_ns))}",)
    memory = (("GPU", limits.gpu_memory), ("host", limits.host_memory))
    sizes = tuple(f"{what} memory within {size(limit)}" for what, limit in memory if limit is not None)
    return (" and ".join((*latency, *sizes)),)


def _tabulate_wins(found: Experiment, wins: Sequence[Win]) -> Table:
    """Return a table of the changes worth making, a row each: setting, gain, losses, cost, and settings not told from it."""
    title = per_second(found) if found.quantity == "throughput" else name_goal(found)
    rows = tuple(
        (
            name_setting(win.setting),
            format_ratio(win.ratio, win.interval),
            name_losses(found.result(win.setting).losses),
            _describe_costs(found, win),
            Title("".join(list_settings(win.alike, _LISTED))),
        )
        for win in wins
    )
    columns = ("what to set", f"{title}, 95 %", "results", "what it costs", "within the noise of")
    shown = [0, 1, *([2] if has_losses(found) else []), 3, *([4] if any(win.alike for win in wins) else [])]
    return Table(
        tuple(columns[place] for place in shown),
        tuple(tuple(row[place] for place in shown) for row in rows),
        text_columns=tuple(place for place in range(len(shown)) if place != 1),
    )


def _describe_costs(found: Experiment, win: Win) -> str:
    """Return which quantities a win makes worse, by how much, and which cannot be told."""
    differences = found.result(win.setting).differences
    costs = [f"{_name_cost(found, name)} {format_change(differences[name]).partition(' (')[0]}" for name in win.costs]
    result = found.result(win.setting)
    is_same = result.losses is not None and result.losses.state == "same"
    if any((knob in _LEARNS_ELSE and not is_same) or is_of_work(knob) for knob in result.setting.values):
        costs.append("perhaps accuracy")
    unsure = [_name_cost(found, name) for name, each in differences.items() if each.verdict == "cannot tell"]
    if unsure:
        costs.append(f"cannot tell: {' and '.join(unsure)}")
    return ", ".join(costs) or "nothing measured"


def _name_cost(found: Experiment, name: Quantity) -> str:
    return title_of(found, name) if name == "energy" else NAMED[name]


def _list_rest(found: Experiment) -> Iterator[tuple[str, Spans]]:
    """Yield (label, text) on results beside the wins: no use, worse, cannot tell, combined, not tried, failed, left to try."""
    tried = [result for result in found.results if result.setting.kind not in ("baseline", "ablate")]
    judged = [setting for setting in tried if setting.outcome == "ok"]
    for label, verdict in (("no use", "no difference"), ("worse", "worse"), ("cannot tell", "cannot tell")):
        results = [result for result in judged if _verdict_of(found, result) == verdict]
        if results:
            yield label, tuple(_list_results(results, found.quantity))
    if found.choice is not None and found.choice.combined is not None:
        yield "together", (_describe_combined(found, found.choice, found.choice.combined),)
    useless = [setting.setting.name for setting in tried if setting.outcome == _NOTHING]
    if useless:
        yield _NOTHING, list_settings(useless)
    missing = [one for one in found.not_tried if one.why != "no knob acts"]
    if missing:
        yield "not tried", tuple(_join_spans([describe_not_tried(one) for one in missing[:_LISTED]]))
    failed = [result for result in found.results if result.outcome not in ("ok", _NOTHING, _NOT_RUN)]
    if failed:
        yield "failed", tuple(_list_failures(failed))
    left = tuple(_list_left(found))
    if left:
        yield "left to try", tuple(_join_spans(left))


def _describe_combined(found: Experiment, choice: SettingChoice, name: str) -> str:
    """Return the gain of the setting `name`, which makes several changes, and the product of their single gains."""
    alone = prod(win.ratio for win in choice.wins)
    return f"{_describe_gain(found, name)}; product of the single gains: {format_ratio(alone, None)}"


def _verdict_of(found: Experiment, result: SettingResult) -> str:
    """Return the verdict on the setting's judged quantity against the baseline; "cannot tell" without a difference."""
    difference = None if found.quantity is None else result.differences.get(found.quantity)
    return "cannot tell" if difference is None else difference.verdict


def _list_results(results: Sequence[SettingResult], quantity: Quantity | None) -> Iterator[str]:
    """Yield text pieces that list up to 4 settings with the intervals of their changes, and the number of others."""
    for place, result in enumerate(results[:_LISTED]):
        yield ", " if place else ""
        yield name_setting(result.setting.name)
        difference = None if quantity is None else result.differences.get(quantity)
        if difference is not None and difference.interval is not None:
            yield f" ({format_range(*(end - 1 for end in difference.interval))})"
    if len(results) > _LISTED:
        yield f" and {len(results) - _LISTED} more"


def _list_failures(failed: Sequence[SettingResult]) -> Iterator[str]:
    """Yield text pieces that list up to 4 failed settings, each with outcome and reason, and the number of others."""
    for place, result in enumerate(failed[:_LISTED]):
        yield "; " if place else ""
        yield name_setting(result.setting.name)
        times = f" in {result.failed} of {result.trials}" if result.failed < result.trials else ""
        yield f": {result.outcome}{times}"
        if result.reason and result.reason != result.outcome:
            yield from (", ", Name(result.reason))
    if len(failed) > _LISTED:
        yield f"; and {len(failed) - _LISTED} more"


def _list_left(found: Experiment) -> Iterator[Spans]:
    """Yield phrases on what is left to try: wins together, values beyond an end, unsure settings again, findings by hand."""
    choice = found.choice
    wins = choice.wins if choice else ()
    if choice is not None and len(wins) > 1 and choice.combined is None:
        yield (*list_settings(win.setting for win in wins), " together")
    for win in wins:
        edge = _find_edge(found, win)
        if edge:
            yield edge
    if found.unsure and found.needed is None:
        yield (*list_settings(found.unsure, _LISTED), " again: one round does not show how certain a difference is")
    if found.unsure and found.needed is not None and found.needed > found.rounds:
        yield (*list_settings(found.unsure, _LISTED), f" again: {rounds_that_show(found)}")
    if found.untried and not any(one.why == "by hand" for one in found.not_tried):
        titles = [Name(each.title) for each in found.untried[:2]]
        more = f"; and {some(len(found.untried) - 2, 'more finding')}" if len(found.untried) > 2 else ""  # noqa: PLR2004
        yield ("by hand: ", *_join_spans(tuple((title,) for title in titles)), more)


def rounds_that_show(found: Experiment) -> str:
    """Return a clause on how many rounds would show a 5 % difference; if over 50 or unknown, on a quieter machine."""
    if found.needed is None or found.needed > _MOST_ROUNDS:
        return f"{per_cent(EFFECT)} would show on a quieter machine, or with more steps per run"
    return f"{some(found.needed, 'round')} would show a difference of {per_cent(EFFECT)}"


def _find_edge(found: Experiment, win: Win) -> Spans:
    """Return the suggestion to try values beyond the winning one; empty unless it is the largest or smallest of 3 or more."""
    values = dict(found.result(win.setting).setting.values)
    if len(values) != 1:
        return ()
    knob, value = next(iter(values.items()))
    tried = (number_in(result.setting.values.get(knob, "")) for result in found.results)
    numbers = sorted({number for number in tried if number is not None})
    number = number_in(value)
    if number is None or len(numbers) < 3 or number not in (numbers[0], numbers[-1]):  # noqa: PLR2004 - for an end
        return ()
    side = ("above", "largest") if number == numbers[-1] else ("below", "smallest")
    return (Name(knob), f" {side[0]} {value}, the {side[1]} tried")


def _join_spans(parts: Sequence[Spans]) -> Iterator[str]:
    for place, part in enumerate(parts):
        if place:
            yield "; "
        yield from part
