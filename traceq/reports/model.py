"""The report as plain data: filled by build.py, read by every renderer. Times are ns, never rounded.

None means that the trace does not say; renderers print it as such, never as 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from traceq.diagnosis.account.line import Line
from traceq.diagnosis.finding import Clean, Failed, Finding, NotApplicable, Observation
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.triage import Triage
from traceq.health.verdict import MetricHealth
from traceq.reports.flame import FlameGraph
from traceq.reports.timeline import Timeline
from traceq.reports.topics import Topics

# Of the JSON form: names docs/report.schema.json.
SCHEMA_VERSION = 4


@dataclass(frozen=True)
class TraceFacts:
    """Facts of a capture. `file` is the source's path below what all sources share: no home directory.

    `overhead_share` is how much longer steps took because they were profiled, as measured by traceq.profile; None where it was
    not, and where the steps without it may have been fed from the full queue of a loader, of `loader_queue` batches.
    `recorded_ns` is how long the profiler recorded, where it says so.
    """

    trace_id: int
    run: str | None
    file: str
    sha256: str
    size_bytes: int
    format: str
    producer: str | None
    producer_version: str | None
    rank: int | None
    world_size: int | None
    dur_ns: int | None
    overhead_share: float | None
    unprofiled_step_ns: float | None
    profiled_step_ns: float | None
    loader_queue: int | None
    recorded_ns: int | None
    cpu_slices: dict[str, int]
    gpu_slices: dict[str, int]


@dataclass(frozen=True)
class Device:
    """A GPU the trace lists or uses, and how many slices it ran."""

    device: int
    name: str | None
    compute_capability: str | None
    slices: int


@dataclass(frozen=True)
class ProgramFact:
    """A property that the trace shows of the program, and how many names or slices show it: a row of the table program."""

    property: str
    value: str
    count: int


@dataclass(frozen=True)
class MadeWith:
    """A fact or knob of the run: a row of the table made_with. `text` is its value."""

    topic: str
    instance: int
    name: str
    text: str
    unit: str | None
    is_knob: bool


@dataclass(frozen=True)
class ExcludedStep:
    """A step that does not count, and why."""

    step: int
    name: str
    dur_ns: int
    reason: str


@dataclass(frozen=True)
class Steps:
    """Statistics over the counted steps, ns. `source` is step.source, `example` a counted step's name."""

    source: str | None
    example: str | None
    counted: int
    excluded: tuple[ExcludedStep, ...]
    total_ns: int | None = None
    mean_ns: float | None = None
    stddev_ns: float | None = None
    min_ns: int | None = None
    p50_ns: float | None = None
    p90_ns: float | None = None
    p95_ns: float | None = None
    p99_ns: float | None = None
    max_ns: int | None = None

    @property
    def is_window(self) -> bool:
        """Return whether no steps were found, so that the window counts as one."""
        return self.source == "window"


@dataclass(frozen=True)
class Unit:
    """A level at which the trace recurs, as in the table unit: what holds several steps, the steps, what is inside them."""

    level: str
    source: str
    name: str
    count: int
    period_ns: int | None
    launches: int | None
    coverage_share: float | None
    recurring_share: float | None
    is_step: bool
    is_possible: bool
    evidence: str


@dataclass(frozen=True)
class PhaseOfRun:
    """A part of the capture, as in the table phase_of_run: start_up, left_out, window (what is judged) or tail."""

    phase: str
    ts_ns: int
    dur_ns: int
    run_share: float | None
    gpu_busy_ns: int
    text: str


@dataclass(frozen=True)
class Phase:
    """A phase the program marked, over the counted steps: instances, time, median per step, share of the steps' time.

    Times of several threads are added, and phases may nest: they are not parts of a step.
    """

    phase: str
    count: int
    dur_ns: int
    median_ns: float
    step_share: float | None


@dataclass(frozen=True)
class Throughput:
    """Work the program counted (samples, tokens), over the `steps` counted ones that say how much it was."""

    key: str
    steps: int
    total: float
    per_second: float


@dataclass(frozen=True)
class Condition:
    """A series that monitors logged, over the counted steps; `device` is None for the host, `instance` what of it it is of."""

    device: int | None
    instance: str | None
    name: str
    unit: str | None
    mean: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class LedgerPart:
    """Time of one category on one device: over all counted steps, per step, and as a share of the steps."""

    category: str
    dur_ns: int
    per_step_ns: float
    step_share: float


@dataclass(frozen=True)
class DeviceLedger:
    """Time of the counted steps on a device by category; the parts, longest first, add up to `total` exactly."""

    device: int
    name: str | None
    total: int
    parts: tuple[LedgerPart, ...]


@dataclass(frozen=True)
class StepLedger:
    """A counted step and where its time went on a device, as (category, ns); the parts add up to `dur`."""

    device: int
    step: int
    dur: int
    parts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Gap:
    """A gap in which nothing ran on a device: its main cause, and by name what the host did and what ended it."""

    device: int
    step: int
    ts_ns: int
    dur_ns: int
    cause: str
    host: str | None
    operator: str | None
    annotation: str | None
    drained_by: str | None
    next_work: str | None


@dataclass(frozen=True)
class GapSize:
    """Number and total time of the gaps of one size."""

    bucket: str
    gaps: int
    dur_ns: int


@dataclass(frozen=True)
class Outlier:
    """A ledger category of a device in which an unusually long step exceeds the typical one."""

    step: int
    dur_ns: int
    typical_step: int
    device: int | None
    category: str | None
    change_ns: int | None


@dataclass(frozen=True)
class HostPart:
    """Own time of the training thread by what it did and in which phase; the parts add up to the counted steps."""

    category: str
    phase: str
    dur_ns: int


@dataclass(frozen=True)
class AnnotationTime:
    """Time of all outermost annotations of one name on the host."""

    name: str
    count: int
    dur_ns: int
    longest_ns: int


@dataclass(frozen=True)
class OperatorTime:
    """Own time of all operators of one name on the host."""

    name: str
    count: int
    self_dur_ns: int
    longest_ns: int


@dataclass(frozen=True)
class Host:
    """The contents of a trace without GPU activity. Times are sums over threads, no parts of a step."""

    annotations: tuple[AnnotationTime, ...]
    operators: tuple[OperatorTime, ...]


@dataclass(frozen=True)
class Note:
    """A kind of oddity met while importing: severity info, data_loss or error."""

    severity: str
    code: str
    count: int
    text: str


@dataclass(frozen=True)
class TraceReport:
    """All that is reported of one trace. `host` is there only when no GPU activity was traced.

    `extra_findings` are those of rules that no labelled real trace has confirmed, where they were asked, `extra_left_out`
    how many more such rules there are. `small` are the rules that found something not worth listing; `replay_error` is the
    share (0..1) by which the replay behind the savings misses the steps as they were recorded, `is_replayed` whether it could
    be used. Where `rules_asked` is false, other ranks of the job stand for this one: there are no findings because no rule was
    asked.
    `step_ledgers` are about the device that findings are about. `over_time`, `flame` and `close_ups`, the latter by the
    id of a finding, are there only when the report was built to be drawn.
    """

    trace: TraceFacts
    triage: Triage | None
    program: tuple[ProgramFact, ...]
    made_with: tuple[MadeWith, ...]
    devices: tuple[Device, ...]
    steps: Steps
    units: tuple[Unit, ...]
    phases_of_run: tuple[PhaseOfRun, ...]
    throughput: tuple[Throughput, ...]
    phases: tuple[Phase, ...]
    conditions: tuple[Condition, ...]
    ledger: tuple[DeviceLedger, ...]
    step_ledgers: tuple[StepLedger, ...]
    gaps: tuple[Gap, ...]
    gap_sizes: tuple[GapSize, ...]
    outliers: tuple[Outlier, ...]
    host_ledger: tuple[HostPart, ...]
    topics: Topics
    findings: tuple[Finding, ...]
    account: tuple[Line, ...]
    findings_left_out: int
    extra_findings: tuple[Finding, ...]
    extra_left_out: int
    observations: tuple[Observation, ...]
    small: tuple[str, ...]
    replay_error: float | None
    is_replayed: bool
    clean: tuple[Clean, ...]
    not_applicable: tuple[NotApplicable, ...]
    failed: tuple[Failed, ...]
    rules_asked: bool
    notes: tuple[Note, ...]
    quality: tuple[MetricHealth, ...]
    host: Host | None
    queries: dict[str, str]
    over_time: Timeline | None = None
    flame: FlameGraph | None = None
    close_ups: Mapping[str, tuple[Timeline, ...]] = field(default_factory=dict)

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """Return the findings, then those of the pack extra."""
        return (*self.findings, *self.extra_findings)

    @property
    def unit(self) -> str:
        """Name the unit that times and savings are per."""
        return "window" if self.steps.is_window else "step"

    @property
    def run_ns(self) -> int | None:
        """Return the length of the whole capture, ns; None when unknown."""
        return sum(phase.dur_ns for phase in self.phases_of_run) or None

    @property
    def judged_share(self) -> float | None:
        """Return the share of the capture that is judged; None when unknown."""
        judged = sum(phase.dur_ns for phase in self.phases_of_run if phase.phase == "window")
        return judged / self.run_ns if self.run_ns else None

    @property
    def period(self) -> str:
        """Name the period that every number is about."""
        return "window" if self.steps.is_window else "counted steps"


@dataclass(frozen=True)
class JobRank:
    """A rank of a job: its own time, transfers and waiting in matched collectives, and what it alone would save; ns.

    `late_ns` is its own time beyond the usual; `holds_up` the part of it on the critical path, which all wait for. Times are None
    where the job cannot be judged; `win_ns` also in jobs of more than 64 ranks. `compute_ns` and `communication_ns` are parts of
    `counted_ns`, its steps on its GPU from the first counted one to the last; None without a ledger. `recorded_ns` is how
    long its trace is. `is_usual`: it has the median own time of those that nobody waits for; `dp` is its copy of the model.
    """

    trace_id: int
    device: int | None
    rank: int
    rank_source: str
    host: str | None
    stage: int | None
    clock_offset_ns: int | None
    own_ns: int | None
    transfer_ns: int | None
    wait_ns: int | None
    late_ns: int | None
    holds_up: int | None
    late_count: int | None
    win_ns: int | None
    compute_ns: int | None
    communication_ns: int | None
    counted_ns: int | None
    recorded_ns: int | None
    is_usual: bool = False
    dp: int | None = None


@dataclass(frozen=True)
class JobCollective:
    """Matched collectives of one kind in `groups` groups of `ranks` ranks.

    `best_ns`, `typical_ns` (the median) and `longest` are what a rank needs that waits for nobody, ns; `bus_bandwidth` goes with
    `typical_ns`, GB/s.
    `transfer_ns` and `wait_ns` are those of all ranks together, ns. `level`: within a host or between hosts; None when unknown.
    """

    op: str
    bytes: int | None
    ranks: int
    level: str | None
    groups: int
    count: int
    best_ns: int
    typical_ns: float
    longest: int
    bus_bandwidth: float | None
    transfer_ns: int
    wait_ns: int


@dataclass(frozen=True)
class Lateness:
    """Time (ns) by which a rank worked longer than the usual one before collectives, in column `place` of `places`.

    A column is a step, or a collective of a job of one step, or several of them.
    """

    rank: int
    place: int
    places: int
    is_step: bool
    late_by: int


@dataclass(frozen=True)
class WorstArrival:
    """A rank at the collective that a rank came to latest: own time, then waiting, then transfer, ns. All end at once."""

    rank: int
    op: str
    bytes: int | None
    step: int | None
    own: int
    wait: int
    transfer: int


@dataclass(frozen=True)
class Straggler:
    """A rank, host or stage that makes the others wait: what it saves once those before it are fixed (`adds_ns`), and alone; ns.

    `cause` is the ledger's category with most time beyond that of the usual rank; `operator` the call that took longest
    beyond the same call on `usual_rank`. `trace_id` is that of the first of its `ranks`.
    """

    kind: str
    name: str
    trace_id: int
    ranks: Sequence[int]
    adds_ns: int
    win_ns: int
    late_steps_share: float | None
    cause: str | None
    cause_ns: int | None
    operator: str | None
    operator_dur_ns: int | None
    usual_operator_dur_ns: int | None
    usual_rank: int | None


@dataclass(frozen=True)
class Job:
    """Several ranks of one program, recorded at the same time; one row of the table job. Times in ns, of all `steps`.

    `dur_ns` is the sum of `late_start_ns`, `transfer_ns`, `late_ns` (time beyond the usual on the critical path) and usual work;
    `wait_share` is that of waiting in the time of matched collectives beside which ranks do no work of their own. `lateness`
    and `worst` are there to be drawn. `findings` are what its rules say, `not_applicable` those that cannot tell, `failed`
    those that broke.
    """

    job: int
    time_window: int
    windows: int
    name: str | None
    world_size: int | None
    ranks: int
    hosts: int | None
    absent: int | None
    short_ranks: int
    steps: int
    matched_share: float | None
    mismatched: int
    clock_residual_ns: int | None
    claim_limit_ns: int | None
    replay_error: float | None
    dur_ns: int | None
    ideal_ns: int | None
    slowdown: float | None
    transfer_ns: int | None
    late_start_ns: int | None
    late_ns: int | None
    wait_share: float | None
    pattern: str | None
    cannot_tell: str | None
    wait_absent_ns: int | None
    members: tuple[JobRank, ...]
    stragglers: tuple[Straggler, ...]
    collectives: tuple[JobCollective, ...] = ()
    lateness: tuple[Lateness, ...] = ()
    worst: tuple[WorstArrival, ...] = ()
    findings: tuple[JobFinding, ...] = ()
    not_applicable: tuple[NotApplicable, ...] = ()
    failed: tuple[Failed, ...] = ()


@dataclass(frozen=True)
class Report:
    """The traces of one database, by trace_id, and the jobs that they belong to; `query` lists the traces."""

    traces: tuple[TraceReport, ...]
    query: str
    jobs: tuple[Job, ...] = ()
