"""The settings that an experiment runs, and the result of one run of the program (a trial)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from traceq.runs.losses import LossRecord

Kind = Literal["baseline", "vary", "try", "ablate"]
Outcome = Literal["ok", "failed", "out of memory", "timed out", "too few steps", "nothing to act on", "not run"]

BASELINE = "baseline"

# docs/experiment.md, "How sure", says by which measurements they are chosen.
ROUNDS = 9
STEPS = 20
# Steps of a run are measured for so long at least: of shorter ones what else the machine does is more than what they take.
LEAST_SECONDS = 1.0


class Setting(msgspec.Struct, frozen=True):
    """The values of knobs at which the program is run.

    `values` are those that differ from the baseline, as text (`num_workers` -> `2`); for an ablation the part that is
    left out (`ablate` -> `data`); for the baseline its own values of what is varied. `finding` is the id of the finding
    that asked for it; None if the user did.
    """

    name: str
    kind: Kind
    values: Mapping[str, str] = msgspec.field(default_factory=dict)
    finding: str | None = None


class Trial(msgspec.Struct, frozen=True):
    """One run of the program at one setting.

    `round` numbers the turns in which all settings run once. `steps_ns` are the counted steps, without a profiler and
    after the warm-up, in the order of time; of several ranks those of the lowest. `work` is the work per step of all
    ranks, by unit (samples, tokens, sequences), as the program marks it or its batch shows. Peaks are bytes, energy is
    joules per step over all devices, `gpu_share` the share of time in which the GPU is busy; None where not known.
    `reason` explains an outcome that is not ok; `nothing to act on`: the program lacks what the knob changes. `threads`
    is the number of CPU threads of an operator. `trace` is the recording of some later steps, relative to the
    experiment's folder. `time_limit` is in seconds, `seconds` how long the run took. `warmup` is the number of steps
    before the counted ones, `cycle` after how many of these their pattern repeats (workers of a loader). `losses` are
    those of the first steps, `own_values` what the program itself gives to knobs (known of baselines).
    """

    setting: str
    round: int
    seed: int
    outcome: Outcome
    reason: str | None = None
    steps_ns: tuple[int, ...] = ()
    work: Mapping[str, float] = msgspec.field(default_factory=dict)
    gpu_memory_peak: int | None = None
    host_memory_peak: int | None = None
    energy_j: float | None = None
    gpu_share: float | None = None
    threads: int | None = None
    trace: str | None = None
    time_limit: float | None = None
    seconds: float | None = None
    warmup: int | None = None
    cycle: int = 1
    losses: LossRecord | None = None
    own_values: Mapping[str, str] = msgspec.field(default_factory=dict)
