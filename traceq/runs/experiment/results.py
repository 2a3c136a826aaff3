"""What was measured at each setting, and how it differs from the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from traceq.runs.experiment.experiment import MORE_IS_BETTER, Difference, Measure, Quantity, Result
from traceq.runs.experiment.measure import QUANTITIES, by_round, measure, percentiles, work_of
from traceq.runs.experiment.paired import Mean, Rounds, judged, less, logs, mean_of
from traceq.runs.experiment.trial import BASELINE, Setting, Trial

# Of which the difference to the baseline is judged.
COMPARED: tuple[Quantity, ...] = ("step", "throughput", "gpu_memory", "host_memory", "energy")


@dataclass(frozen=True)
class Table:
    """The trials by quantity, setting and round. `work` is what throughput counts, `least` the least effect, a share."""

    settings: tuple[Setting, ...]
    trials: tuple[Trial, ...]
    work: str
    least: float

    @cached_property
    def values(self) -> Mapping[Quantity, Mapping[str, Rounds]]:
        """Of each quantity that any trial knows."""
        found = {quantity: by_round(self.trials, quantity, self.work) for quantity in QUANTITIES}
        return {quantity: each for quantity, each in found.items() if each}

    def ratios(self, quantity: Quantity, name: str, base: str = BASELINE) -> list[float]:
        """Log ratios of a setting to another one, a round each."""
        rounds = self.values.get(quantity, {})
        return logs(rounds.get(name, {}), rounds.get(base, {}))

    def mean(self, quantity: Quantity, name: str, base: str = BASELINE) -> Mean | None:
        """The mean of the ratios; how they scatter at the other settings counts as well.

        What never ran in the same rounds is held against each other by the baseline, which runs in all of them.
        """
        ratios = self.ratios(quantity, name, base)
        if len(ratios) < 2 and base != BASELINE:  # noqa: PLR2004 - to scatter
            return less(self.mean(quantity, name), self.mean(quantity, base))
        others = [each.name for each in self.settings if each.name not in (name, base, BASELINE)]
        return mean_of(ratios, [self.ratios(quantity, other) for other in others])


def results_of(table: Table) -> tuple[Result, ...]:
    """A result a setting, the baseline first. Ablations are tests of another question, and a family of their own."""
    changes = [each.name for each in table.settings if each.kind != "ablate"]
    ablations = [each.name for each in table.settings if each.kind == "ablate"]
    differences = {
        quantity: {**_differences(table, quantity, changes), **_differences(table, quantity, ablations)}
        for quantity in COMPARED
    }
    ordered = sorted(table.settings, key=lambda each: each.name != BASELINE)
    return tuple(
        _result(table, each, {name: found[each.name] for name, found in differences.items() if each.name in found})
        for each in ordered
    )


def _differences(table: Table, quantity: Quantity, names: Sequence[str]) -> dict[str, Difference]:
    means = {name: table.mean(quantity, name) for name in names if name != BASELINE}
    known = {name: mean for name, mean in means.items() if mean is not None}
    return judged(known, table.least, more_is_better=quantity in MORE_IS_BETTER)


def _result(table: Table, setting: Setting, differences: Mapping[Quantity, Difference]) -> Result:
    trials = [each for each in table.trials if each.setting == setting.name]
    failed = [each for each in trials if each.outcome != "ok"]
    fine = [each for each in trials if each.outcome == "ok"]
    works = [work_of(each, table.work) for each in fine]
    measures: dict[Quantity, Measure] = percentiles(trials)
    for quantity, settings in table.values.items():
        others = [rounds for name, rounds in settings.items() if name != setting.name]
        found = measure(settings.get(setting.name, {}), others)
        if found is not None:
            measures[quantity] = found
    return Result(
        setting=setting,
        outcome=failed[0].outcome if failed else "ok" if trials else "not run",
        reason=failed[0].reason if failed else None,
        trials=len(trials),
        failed=len(failed),
        steps=sum(len(each.steps_ns) for each in fine),
        work=sum(works) / len(works) if works else 0.0,
        on_gpu=any(each.gpu_memory_peak or each.gpu_share for each in fine),
        measures=measures,
        differences=differences,
    )
