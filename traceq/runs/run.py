"""The shape of a run: its steps with their ledgers, what the ledger is made of, and what it ran on.

Times are ns, of the critical device: the one that is busy longest. Whatever is compared, checked or kept as a
baseline is computed from a Run alone, so that a baseline says the same as the trace it was made from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from traceq.analysis.categories import OF_HOST
from traceq.diagnosis.finding import Confidence
from traceq.formats.capabilities import format_of
from traceq.runs.job.job import JobOfRun

TRIM = 4
"""The shortest and the longest 1/TRIM of the counted steps are left out of the typical step."""


@dataclass(frozen=True)
class RunStep:
    """A step of the trace; `excluded` says why it does not count. The parts of the ledger add up to `dur`, or are none.

    Where no GPU works the ledger is that of the training thread, whose categories begin with OF_HOST, and none in baselines of
    traceq 0.1. `kind` is what a step of a server does (decode of 8 to 15 requests), None of other programs.
    """

    step: int
    name: str
    dur: int
    excluded: str | None
    ledger: Mapping[str, int]
    kind: str | None = None

    @property
    def gpu_ledger(self) -> Mapping[str, int]:
        """The ledger where it is that of a GPU, else nothing."""
        return {} if any(name.startswith(OF_HOST) for name in self.ledger) else self.ledger


@dataclass(frozen=True)
class Amount:
    """The number of events, their time in the ledger (ns) and their bytes, over several steps.

    `deviation` is the standard deviation of its time from step to step, ns; None of a single step, and where it was not measured
    (baselines of traceq 0.1).
    """

    count: int
    dur: int
    bytes: int
    deviation: float | None = None


@dataclass(frozen=True)
class Item:
    """A part of a category of the ledger: kernels of one name, launch shape, phase and operator, or what an idle GPU waited for.

    Of the training thread's ledger it is the time in host slices of one name.
    `name` is as the trace has it, None for what is left of a category when the largest items are listed. `every` is the
    amount over all counted steps, `typical` over those that make up the typical step. `kind` is that of its steps, as in RunStep:
    then both are over the steps of that kind.
    """

    category: str
    name: str | None
    shape: str | None
    family: str | None
    phase: str | None
    operator: str | None
    every: Amount
    typical: Amount
    kind: str | None = None


@dataclass(frozen=True)
class FindingKept:
    """The likely saving as in a report, ns per counted step.

    `owned_ns`, `assumed_share`, `only_bounds`, `rule_share` and `is_extra` are those of Finding; None where baselines of traceq
    0.1 do not have them.
    """

    rule: str
    finding_id: str
    title: str
    saving_ns: float
    saving_low_ns: float
    saving_high_ns: float
    confidence: Confidence
    owned_ns: float | None = None
    assumed_share: float | None = None
    only_bounds: bool = False
    rule_share: float | None = None
    is_extra: bool = False


@dataclass(frozen=True)
class PartKept:
    """A rule's claim on time that another finding, `owner`, has: its saving alone, ns per counted step."""

    rule: str
    finding_id: str
    title: str
    saving_ns: float
    owner: str


@dataclass(frozen=True)
class CaptureFacts:
    """Hold the kind of a capture, and how much of it single events and other steps make, ns.

    `vendor` (nvidia, amd, intel) is the maker of the GPUs, None where nothing tells. `kind` is the reason in the table triage
    (cold, whole_run, marked, ...), `once_ns` how long one-off work takes in the window; 0 where several steps count, None where
    that is not known. `longest_waits_ns` are the five longest idle gaps of a step together. `foreign_ns` is how long the GPU
    works in all counted steps on what others launched, `idle_tail_ns` how long it idles in the last step after its mark.
    """

    vendor: str | None = None
    kind: str | None = None
    once_ns: int | None = None
    longest_waits_ns: int = 0
    foreign_ns: int = 0
    idle_tail_ns: int = 0


@dataclass(frozen=True)
class Run:
    """One rank's trace of a run, on its critical device.

    `file` is the name of the trace's file, `source` the database or trace it was read from (of a baseline its name).
    `device` is None where the trace has no GPU ledger; `devices` counts those in use. `settings` is what the
    profiler was told and which libraries ran, `payload` the work per counted step by what is counted, `shapes` the
    GPU time (ns) by operator and the dimensions of its inputs, where they were recorded. `saturated` is what the rule
    gpu-saturated says, None where it says nothing; `cannot_tell` names rules that could not judge, with the reason.
    `lost` is what the import notes say is missing, `ranks` are those of the job that the same database holds. `unit` and
    `unit_name` are level and name of what a step is, as in the table unit, `conditions` are means of clocks, power
    and temperatures over the counted steps, by series. `made_with` are facts and knobs by their names in the table made_with,
    none where there was no snapshot. `job` is that of several ranks whose trace this is part of. `overhead_share` and
    `loader_queue` are as in database/trace.sql. `start_up_ns` is what of a single step or window only happens the first time:
    creating contexts, loading and compiling code. `capture` knows nothing in baselines of traceq 0.1.
    """

    source: str
    file: str
    sha256: str
    format: str
    producer: str | None
    producer_version: str | None
    rank: int | None
    world_size: int | None
    device: int | None
    device_name: str | None
    devices: int
    step_source: str | None
    overhead_share: float | None
    settings: Mapping[str, str]
    payload: Mapping[str, float]
    shapes: Mapping[str, Mapping[str, int]]
    steps: tuple[RunStep, ...]
    items: tuple[Item, ...]
    findings: tuple[FindingKept, ...]
    parts: tuple[PartKept, ...] = ()
    saturated: str | None = None
    cannot_tell: Mapping[str, str] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    unit: str | None = None
    unit_name: str | None = None
    conditions: Mapping[str, float] = field(default_factory=dict)
    job: JobOfRun | None = None
    made_with: Mapping[str, str] = field(default_factory=dict)
    loader_queue: int | None = None
    start_up_ns: int = 0
    capture: CaptureFacts = CaptureFacts()

    @property
    def counted(self) -> tuple[RunStep, ...]:
        """The steps that count, in the order of time."""
        return tuple(step for step in self.steps if step.excluded is None)

    @property
    def typical(self) -> tuple[RunStep, ...]:
        """The counted steps without the shortest and the longest quarter, in the order of time."""
        ordered = sorted(self.counted, key=lambda step: (step.dur, step.step))
        left_out = len(ordered) // TRIM
        return tuple(sorted(ordered[left_out : len(ordered) - left_out], key=lambda step: step.step))

    @property
    def found(self) -> tuple[FindingKept | PartKept, ...]:
        """The findings, and what rules found in time that another finding has."""
        return (*self.findings, *self.parts)

    @property
    def costly_settings(self) -> dict[str, str]:
        """Per setting that lengthens every call on the host, on or off; nothing if the profiler does not record it."""
        names = format_of(self.format).costly_settings if self.producer is not None else ()
        return {name: "off" if self.settings.get(name, "0") in ("0", "False") else "on" for name in names}

    @property
    def is_window(self) -> bool:
        """Whether no steps were found, so that the window is one."""
        return self.step_source == "window"
