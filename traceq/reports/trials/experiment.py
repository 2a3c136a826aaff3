"""The report on an experiment: the answer first, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from traceq.common.units import per_cent, share, some
from traceq.reports.document import Block, Heading, Items, Paragraph, Picture, Spans
from traceq.reports.trials import chart_front, chart_steps
from traceq.reports.trials.answer import compose_first_screen, rounds_that_show
from traceq.reports.trials.parts import (
    compose_ablations,
    compose_compared,
    compose_detailed,
    compose_effects,
    compose_losses,
    compose_predictions,
    compose_removed,
    compose_scaling,
)
from traceq.reports.trials.words import list_settings, name_setting
from traceq.runs.trials.experiment import Experiment

_HOW = (
    "A typical step is the mean of the middle half (of whole cycles, where workers load batches in turn), throughput is "
    "work divided by the time of all steps, and percentiles are over the steps of all trials. Brackets show 95 % "
    "intervals, from how much trials differ."
)


def compose_experiment(found: Experiment) -> Iterator[Block]:
    """Yield the whole report of traceq experiment: answer, comparison, charts, losses, predictions, effects and measurements."""
    yield Heading(1, ("traceq experiment",))
    yield Heading(2, (f"What to set for {found.goal}",), anchor="experiment")
    yield from compose_first_screen(found)
    yield from compose_compared(found)
    yield Items(tuple(_list_notes(found)))
    if chart_steps.has_data(found):
        yield Picture("experiment-steps", chart_steps.describe(found), partial(chart_steps.draw, found))
    if chart_front.has_data(found):
        yield Picture("experiment-front", chart_front.describe(found), partial(chart_front.draw, found))
    yield from compose_losses(found)
    yield from compose_predictions(found)
    yield from compose_ablations(found)
    yield from compose_effects(found)
    yield from compose_scaling(found)
    yield from compose_removed(found)
    yield Heading(3, ("What was measured",), anchor="measured")
    yield from compose_detailed(found)
    yield Paragraph((_HOW,))


def _list_notes(found: Experiment) -> Iterator[Spans]:
    """Yield notes on the method: rounds, the least difference that counts, noise, dominated settings, and ablations."""
    rounds = (
        f"{some(found.rounds, 'round')}, each setting run once per round and compared with the baseline of the "
        "same round"
    )
    tried = sum(result.setting.kind not in ("baseline", "ablate") for result in found.results)
    holm = f"; verdicts allow for {tried} settings (Holm)" if tried > 1 else ""
    yield (f"{rounds}{holm}. Differences below {per_cent(found.least)} do not count.",)
    if found.noise is not None:
        noise = f"Runs of one setting in a round scatter by {share(found.noise)} (standard deviation)"
        where = "; where the result is unclear, " if found.unsure else ": "
        yield (f"{noise}{where}{rounds_that_show(found)}.",)
    yield from _list_dominated(found)
    if any(result.setting.kind == "ablate" for result in found.results):
        yield ("Settings that leave out a part of the program give bounds and are not judged as changes.",)


def _list_dominated(found: Experiment) -> Iterator[Spans]:
    """Yield a line for each setting that is better than others in all quantities, with their names; sure ones first."""
    for is_sure, start in ((True, "Dominated by "), (False, "Dominated, perhaps by chance, by ")):
        for by in dict.fromkeys(loser.by for loser in found.dominated if loser.is_sure is is_sure):
            beaten = [loser.setting for loser in found.dominated if loser.by == by and loser.is_sure is is_sure]
            yield (start, name_setting(by), ": ", *list_settings(beaten), ".")
