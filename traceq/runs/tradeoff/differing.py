"""What differs between the runs besides the knob, and may be why their steps do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.runs.run import Run


def differing(runs: Sequence[Run]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What the runs say and say differently, with all they say; GPUs are judged elsewhere."""
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
