"""The settings that an experiment runs, and the result of one run of the program (a trial)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["baseline", "vary", "try", "ablate"]
Outcome = Literal["ok", "failed", "out of memory", "timed out", "too few steps", "nothing to act on", "not run"]

BASELINE = "baseline"

# docs/experiment.md, "How sure", says by which measurements they are chosen.
ROUNDS = 9
STEPS = 20
# Steps of a run are measured for so long at least: of shorter ones what else the machine does is more than what they take.
LEAST_SECONDS = 1.0


@dataclass(frozen=True)
class Setting:
    """Values of knobs at which the program is run.

    `values` are those that differ from the baseline, as text (`num_workers` -> `2`); of an ablation it is what is left out
    (`ablate` -> `data`); of the baseline those that its command and environment have of what is varied. `finding` is the id of
    the finding that asked for it, None where the user did.
    """

    name: str
    kind: Kind
    values: Mapping[str, str] = field(default_factory=dict)
    finding: str | None = None


@dataclass(frozen=True)
class Trial:
    """One run of the program at one setting.

    `round` counts the turns in which all settings run once. `steps_ns` are the steps that count, without a profiler and after
    the warm-up, in the order of time; of several ranks those of the lowest. `work` is samples (or tokens, sequences) a step of
    all ranks, by name, as the program marks it or its batch shows. Peaks are bytes, energy is joules a step over all devices,
    `gpu_share` the share of the steps that the GPU is busy; None where not known. `reason` says in a line why the outcome is
    not ok; `nothing to act on`: the program has not what the knob changes. `threads` are those that an operator may use on the
    CPU. `trace` is the recording of some steps after those that count, relative to the folder of the experiment.
    `time_limit` is the one, in seconds, that it was run with.
    """

    setting: str
    round: int
    seed: int
    outcome: Outcome
    reason: str | None = None
    steps_ns: tuple[int, ...] = ()
    work: Mapping[str, float] = field(default_factory=dict)
    gpu_memory_peak: int | None = None
    host_memory_peak: int | None = None
    energy_j: float | None = None
    gpu_share: float | None = None
    threads: int | None = None
    trace: str | None = None
    time_limit: float | None = None
