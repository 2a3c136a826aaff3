"""What differs between the runs besides the knob, and may be why their steps do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.runs.made_with import differences
from traceq.runs.run import Run
from traceq.runs.tradeoff.values import AMOUNTS


def differing(runs: Sequence[Run], knob: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What the runs say and say differently besides the knob, with all they say; GPUs are judged elsewhere."""
    facts: dict[str, Sequence[object]] = {
        "world size": [run.world_size for run in runs],
        "GPUs in use": [run.devices or None for run in runs],
        "profiler": [run.producer or run.format for run in runs],
        "steps found by": [run.step_source for run in runs],
    }
    # What these add to every call is more than most changes of a knob.
    for name in dict.fromkeys(name for run in runs for name in run.costly_settings):
        facts[f"profiler setting {name}"] = [run.costly_settings.get(name) for run in runs]
    for what, values in facts.items():
        known = sorted({str(value) for value in values if value is not None})
        if len(known) > 1:
            yield what, tuple(known)
    for difference in differences([[run] for run in runs]):
        if not {difference.name, difference.follows} & _of_knob(knob):
            yield difference.words, tuple(sorted({value for values in difference.values for value in values}))


def _of_knob(knob: str) -> frozenset[str]:
    """What goes with the knob: an amount of work is set by the batch, and both by the command line."""
    return frozenset((knob, "command_line", *(("batch_size",) if knob in AMOUNTS else ())))
