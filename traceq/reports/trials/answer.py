"""What to set, what it wins and costs, what was no use, what failed, and what is left to try: the first screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from traceq.common.units import duration, per_cent, size, some
from traceq.reports.document import Block, Facts, Literal, Name, Outcome, Spans, Table, Title, Verdict
from traceq.reports.trials.words import (
    NAMED,
    between,
    changed,
    listed,
    per_second,
    ratio,
    setting,
    titled,
)
from traceq.runs.trials.experiment import Choice, Experiment, Limits, Quantity, Result, Win
from traceq.runs.trials.study_experiment import EFFECT
from traceq.runs.trials.trial import BASELINE
from traceq.runs.trials.values import is_of_work, number_in

_LISTED = 4
# Knobs that change what is computed, and with it what is learned, as those do that change the work of a step.
_LEARNS_ELSE = frozenset({"amp", "tf32"})
# More rounds nobody runs.
_MOST_ROUNDS = 50
_NOTHING, _NOT_RUN = "nothing to act on", "not run"


def answer(found: Experiment) -> Iterator[Block]:
    """The verdict, the changes that are worth making, and the rest in a line each."""
    yield Verdict(_verdict(found), _outcome(found))
    if found.choice is not None and found.choice.wins:
        yield _wins(found, found.choice.wins)
    rows = tuple(_rest(found))
    if rows:
        yield Facts(rows)


def _outcome(found: Experiment) -> Outcome:
    if found.choice is None or not found.result(BASELINE).is_judged:
        return "cannot tell"
    if found.choice.wins:
        return "problem"
    tried = [each for each in found.results if each.setting.kind not in ("baseline", "ablate")]
    is_told = any(_of(found, each) != "cannot tell" for each in tried) or not tried
    return "healthy" if is_told else "cannot tell"


def goal_of(found: Experiment) -> str:
    """What is judged: throughput, the step, memory."""
    if found.quantity is None:
        return found.goal
    return "the step" if found.quantity == "step" else NAMED[found.quantity]


def _verdict(found: Experiment) -> Spans:
    base, choice = found.result(BASELINE), found.choice
    if not base.is_judged:
        return ("Cannot tell: the program as it is did not run (", Name(base.reason or base.outcome), ").")
    if choice is None:
        return _unknown(found)
    if choice.setting is None:
        return ("No setting that was tried keeps ", *_limits(found.limits), ".")
    return _stays(found, choice) if choice.setting == BASELINE else _set(found, choice, choice.setting)


def _unknown(found: Experiment) -> Spans:
    if found.goal != "throughput":
        return (f"Cannot tell: no setting says what {found.goal} it has.",)
    mark = Literal("traceq.annotate.payload(samples=...)")
    return ("Cannot tell: settings do different work in a step, and nothing says how much. Mark it: ", mark, ".")


def _set(found: Experiment, choice: Choice, chosen: str) -> Spans:
    wins = [win.setting for win in choice.wins]
    others = [name for name in wins if name != chosen]
    if choice.together:
        return ("Set ", setting(chosen), f", all together: {_said(found, chosen)}.", *_within(found))
    also: Spans = ()
    if others and choice.combined is not None:
        also = (" It is not sure that anything is gained by adding ", *listed(others), ".")
    elif others:
        also = (" Also worth it, alone: ", *listed(others), ".")
    return ("Set ", setting(chosen), f": {_said(found, chosen)}.", *also, *_within(found))


def _stays(found: Experiment, choice: Choice) -> Spans:
    tried = [each for each in found.results if each.setting.kind not in ("baseline", "ablate")]
    if not tried:
        return ("No change was tried.",)
    which = (setting(tried[0].setting.name), " is not") if len(tried) == 1 else (f"none of {len(tried)} settings is",)
    unsure = [name for name in choice.alike if name != BASELINE]
    open_ = (" It cannot be told from ", *listed(unsure, _LISTED), ".") if unsure else ()
    return ("Keep the baseline: ", *which, f" surely better for {goal_of(found)}.", *open_, *_within(found))


def _said(found: Experiment, name: str) -> str:
    """By how much the setting changes the goal's quantity."""
    if found.quantity is None:
        return ""
    difference = found.result(name).differences.get(found.quantity)
    what = per_second(found) if found.quantity == "throughput" else goal_of(found)
    return f"{what} {changed(difference)}"


def _within(found: Experiment) -> Spans:
    """What of the limits is to be said."""
    choice = found.choice
    if choice is None or not (choice.over or choice.unsure):
        return ()
    do = "does not" if len(choice.over) == 1 else "do not"
    over = ("; ", *listed(choice.over, _LISTED), f" {do}") if choice.over else ()
    unsure = "; by its interval it may not" if choice.setting in choice.unsure else ""
    return (" It keeps ", *_limits(found.limits), unsure, *over, ".")


def _limits(limits: Limits) -> Spans:
    latency = () if limits.latency_ns is None else (f"{limits.percentile} within {duration(round(limits.latency_ns))}",)
    memory = (("GPU", limits.gpu_memory), ("host", limits.host_memory))
    sizes = tuple(f"{what} memory within {size(limit)}" for what, limit in memory if limit is not None)
    return (" and ".join((*latency, *sizes)),)


def _wins(found: Experiment, wins: Sequence[Win]) -> Table:
    title = per_second(found) if found.quantity == "throughput" else goal_of(found)
    rows = tuple(
        (
            setting(win.setting),
            ratio(win.ratio, win.interval),
            _costs(found, win),
            Title("".join(listed(win.alike, _LISTED))),
        )
        for win in wins
    )
    columns = ("what to set", f"{title}, 95 %", "what it costs", "cannot be told from")
    kept = len(columns) - (not any(win.alike for win in wins))
    return Table(columns[:kept], tuple(row[:kept] for row in rows), text_columns=(0, 2, 3)[: kept - 1])


def _costs(found: Experiment, win: Win) -> str:
    """What is surely worse, and by how much; and what cannot be told."""
    differences = found.result(win.setting).differences
    costs = [f"{_cost(found, name)} {changed(differences[name]).partition(' (')[0]}" for name in win.costs]
    if any(knob in _LEARNS_ELSE or is_of_work(knob) for knob in found.result(win.setting).setting.values):
        costs.append("perhaps accuracy")
    unsure = [_cost(found, name) for name, each in differences.items() if each.verdict == "cannot tell"]
    if unsure:
        costs.append(f"cannot tell: {' and '.join(unsure)}")
    return ", ".join(costs) or "nothing that was measured"


def _cost(found: Experiment, name: Quantity) -> str:
    return titled(found, name) if name == "energy" else NAMED[name]


def _rest(found: Experiment) -> Iterator[tuple[str, Spans]]:
    tried = [each for each in found.results if each.setting.kind not in ("baseline", "ablate")]
    judged = [each for each in tried if each.outcome == "ok"]
    for label, verdict in (("no use", "no difference"), ("worse", "worse"), ("cannot tell", "cannot tell")):
        results = [each for each in judged if _of(found, each) == verdict]
        if results:
            yield label, tuple(_each(results, found.quantity))
    useless = [each.setting.name for each in tried if each.outcome == _NOTHING]
    if useless:
        yield _NOTHING, listed(useless)
    if found.choice is not None and found.choice.combined is not None:
        yield "together", (_combined(found, found.choice, found.choice.combined),)
    missing = [each.setting.name for each in found.results if each.outcome == _NOT_RUN]
    if missing:
        yield _NOT_RUN, listed(missing)
    failed = [each for each in found.results if each.outcome not in ("ok", _NOTHING, _NOT_RUN)]
    if failed:
        yield "failed", tuple(_failures(failed))
    left = tuple(_left(found))
    if left:
        yield "left to try", tuple(_joined(left))


def _combined(found: Experiment, choice: Choice, name: str) -> str:
    """What several changes win at once, beside what they would if none stood in another's way."""
    alone = prod(win.ratio for win in choice.wins)
    return f"{_said(found, name)}; each alone, multiplied: {ratio(alone, None)}"


def _of(found: Experiment, result: Result) -> str:
    difference = None if found.quantity is None else result.differences.get(found.quantity)
    return "cannot tell" if difference is None else difference.verdict


def _each(results: Sequence[Result], quantity: Quantity | None) -> Iterator[str]:
    """Settings with the interval of what they change."""
    for place, result in enumerate(results[:_LISTED]):
        yield ", " if place else ""
        yield setting(result.setting.name)
        difference = None if quantity is None else result.differences.get(quantity)
        if difference is not None and difference.interval is not None:
            yield f" ({between(*(end - 1 for end in difference.interval))})"
    if len(results) > _LISTED:
        yield f" and {len(results) - _LISTED} more"


def _failures(failed: Sequence[Result]) -> Iterator[str]:
    for place, result in enumerate(failed[:_LISTED]):
        yield "; " if place else ""
        yield setting(result.setting.name)
        times = f" in {result.failed} of {result.trials}" if result.failed < result.trials else ""
        yield f": {result.outcome}{times}"
        if result.reason and result.reason != result.outcome:
            yield from (", ", Name(result.reason))
    if len(failed) > _LISTED:
        yield f"; and {len(failed) - _LISTED} more"


def _left(found: Experiment) -> Iterator[Spans]:
    """What the experiment leaves open."""
    choice = found.choice
    wins = choice.wins if choice else ()
    if choice is not None and len(wins) > 1 and choice.combined is None:
        yield (*listed(win.setting for win in wins), " together")
    for win in wins:
        edge = _edge(found, win)
        if edge:
            yield edge
    if found.unsure and found.needed is None:
        yield (*listed(found.unsure, _LISTED), " again: one round does not say how sure a difference is")
    if found.unsure and found.needed is not None and found.needed > found.rounds:
        yield (*listed(found.unsure, _LISTED), f" again: {rounds_that_show(found)}")
    if found.untried:
        titles = [Name(each.title) for each in found.untried[:2]]
        more = f"; and {some(len(found.untried) - 2, 'more finding')}" if len(found.untried) > 2 else ""  # noqa: PLR2004
        yield ("by hand: ", *_joined(tuple((title,) for title in titles)), more)


def rounds_that_show(found: Experiment) -> str:
    """How many rounds show a difference of 5 %, or what else would, where that is far too many."""
    if found.needed is None or found.needed > _MOST_ROUNDS:
        return f"{per_cent(EFFECT)} would show on a quieter machine, or with more steps a run"
    return f"{some(found.needed, 'round')} show a difference of {per_cent(EFFECT)}"


def _edge(found: Experiment, win: Win) -> Spans:
    """A value beyond the largest, or the smallest, that was tried where that is the best."""
    values = dict(found.result(win.setting).setting.values)
    if len(values) != 1:
        return ()
    knob, value = next(iter(values.items()))
    tried = (number_in(each.setting.values.get(knob, "")) for each in found.results)
    numbers = sorted({number for number in tried if number is not None})
    number = number_in(value)
    if number is None or len(numbers) < 3 or number not in (numbers[0], numbers[-1]):  # noqa: PLR2004 - for an end
        return ()
    side = ("above", "largest") if number == numbers[-1] else ("below", "smallest")
    return (Name(knob), f" {side[0]} {value}, the {side[1]} tried")


def _joined(parts: Sequence[Spans]) -> Iterator[str]:
    for place, part in enumerate(parts):
        if place:
            yield "; "
        yield from part
