"""The file of predictions that were checked: a line of JSON each, with no name of a file, a host or a kernel in it.

`traceq verify --append`, experiments and the pairs of tests/benchmarks add lines. Lines of traceq 0.1 (version 1, which they
do not say) lack what has a default here.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from traceq.common.keyed import hashed
from traceq.common.public_names import PUBLIC
from traceq.common.version import __version__
from traceq.diagnosis.finding import Finding
from traceq.diagnosis.rules.registry import RULES
from traceq.errors import UnusableCalibration
from traceq.runs.compare.comparison import LIKELY
from traceq.runs.run import FindingKept
from traceq.runs.verify.verify import Prediction, Verification, hardware_of

VERSION = 2

How = Literal["verify", "experiment", "pair"]

# Findings of these rules are told apart by names that the program gives.
_KEYED_BY_NAMES = frozenset({"host-range"})
# Values of knobs that say nothing of who set them: numbers, and words such as true, bf16 and max-autotune.
_PLAIN = re.compile(r"[-+]?\d[\d.e+-]{0,15}|[a-z][a-z0-9-]{0,15}", re.IGNORECASE)
_KNOB = re.compile(r"\w{1,32}")
_OTHER = "other"


class Won(NamedTuple):
    """The gain of a fix, ns per step, with its interval, and the step before the fix, ns, all timed alike."""

    ns: float
    low_ns: float
    high_ns: float
    base_ns: float


class Hardware(NamedTuple):
    """The hardware of the program: `cpu` if nothing ran on a GPU, else `gpu`; the GPU's name, and the number of CPU cores."""

    kind: Literal["cpu", "gpu"]
    device: str | None = None
    cores: int | None = None


class KnobChange(NamedTuple):
    """The one knob that was changed, with its values before and after."""

    name: str
    before: str
    after: str


class Calibrated(msgspec.Struct, frozen=True):
    """A predicted saving and the gain that was measured, ns per step. `pair` is a hash that identifies the compared traces.

    The prediction is for a recorded step of `step_ns`. `claimed_ns` is the time that the finding owns, `assumed` the
    share `likely` of its rule at that time (shares of single pieces and the cost of recording are not in it). The gain
    is of a step of `base_ns`, which differs where it was timed without the profiler. `kind` tells findings of a rule
    apart. `program` is the name of a program of this project, or a hash of another name, whose key never leaves its
    machine. `note` explains a prediction that failed.
    """

    pair: str
    rule: str
    format: str
    step_ns: int
    saving_ns: int
    saving_low_ns: int
    saving_high_ns: int
    won_ns: int
    won_low_ns: int
    won_high_ns: int
    also_gone: int
    prediction: Prediction
    traceq: str
    version: int = 1
    how: How = "verify"
    kind: str = ""
    program: str | None = None
    hardware: Literal["cpu", "gpu"] | None = None
    device: str | None = None
    cores: int | None = None
    knob: str | None = None
    knob_before: str | None = None
    knob_after: str | None = None
    claimed_ns: int | None = None
    assumed: float | None = None
    only_bounds: bool = False
    timed_ns: int | None = None
    note: str = ""

    @property
    def base_ns(self) -> int:
        """The step before the fix, ns, to which `won_ns` belongs."""
        return self.step_ns if self.timed_ns is None else self.timed_ns

    @property
    def won_share(self) -> float:
        """The gain as a share of the step before the fix."""
        return self.won_ns / self.base_ns

    @property
    def likely_share(self) -> float:
        """The predicted saving as a share of the recorded step."""
        return self.saving_ns / self.step_ns

    @property
    def is_inside(self) -> bool:
        """Whether the gain is between the predicted bounds, each as a share of its step."""
        return self.saving_low_ns / self.step_ns <= self.won_share <= self.saving_high_ns / self.step_ns

    @property
    def error(self) -> float:
        """The predicted less the gained share of the step; above 0 where more was predicted."""
        return self.likely_share - self.won_share


def line_of(
    finding: Finding | FindingKept,
    won: Won,
    *,
    how: How,
    pair: str,
    step_ns: float,
    format: str,  # noqa: A002 - as the field
    hardware: Hardware,
    program: str | None = None,
    is_public: bool = False,
    knob: KnobChange | None = None,
    also_gone: int = 0,
    note: str = "",
) -> Calibrated:
    """Return the calibration line of a finding in a recorded step of `step_ns` and of the gain `won` by its fix.

    `pair` comes from `pair_of`. `program` is any name of the program, of which a hash is kept; `is_public` keeps the
    name.
    """
    low, high = finding.saving_low_ns / step_ns, finding.saving_high_ns / step_ns
    return Calibrated(
        version=VERSION,
        how=how,
        pair=pair,
        rule=finding.rule,
        kind=_kind_of(finding),
        format=format,
        program=program if is_public or program is None else hashed(program),
        hardware=hardware.kind,
        device=hardware.device if hardware.device is None or PUBLIC.fullmatch(hardware.device) else _OTHER,
        cores=hardware.cores,
        knob=None if knob is None else _hide_name(knob.name, _KNOB),
        knob_before=None if knob is None else _hide_name(knob.before),
        knob_after=None if knob is None else _hide_name(knob.after),
        step_ns=round(step_ns),
        claimed_ns=None if finding.owned_ns is None else round(finding.owned_ns),
        assumed=finding.rule_share,
        only_bounds=finding.only_bounds,
        saving_ns=round(finding.saving_ns),
        saving_low_ns=round(finding.saving_low_ns),
        saving_high_ns=round(finding.saving_high_ns),
        timed_ns=round(won.base_ns),
        won_ns=round(won.ns),
        won_low_ns=round(won.low_ns),
        won_high_ns=round(won.high_ns),
        also_gone=also_gone,
        prediction=prediction_of(low, high, won.low_ns / won.base_ns, won.high_ns / won.base_ns),
        traceq=__version__,
        note=note,
    )


def _kind_of(finding: Finding | FindingKept) -> str:
    """Return what tells findings of one rule apart: the id without the rule and without what follows "@".

    Empty if the rule's ids hold names of the program, and for rules that are not traceq's own.
    """
    is_named = finding.rule in _KEYED_BY_NAMES or finding.rule.replace("-", "_") not in RULES
    key = finding.finding_id.removeprefix(finding.rule).partition("@")[0].removeprefix(":")
    return "" if is_named else key


def _hide_name(text: str, pattern: re.Pattern[str] = _PLAIN) -> str:
    """Return the text if it matches the pattern of harmless values, else "other"."""
    return text if pattern.fullmatch(text) else _OTHER


def prediction_of(low: float, high: float, won_low: float, won_high: float) -> Prediction:
    """Judge a prediction by its bounds and the interval of the gain, all as shares of the step.

    It is right when something was surely gained and the interval overlaps the bounds, as in `traceq verify`.
    """
    if won_high < low:
        return "too high"
    if won_low <= 0:
        return "cannot tell"
    return "too low" if won_low > high else "right"


def pair_of(*texts: str) -> str:
    """Return a short hash over texts that identify the compared traces, such as their SHA-256."""
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()[:12]


def calibrate(verification: Verification, program: str | None = None, *, is_public: bool = False) -> Calibrated | None:
    """Return the calibration line of a verification; None when the gain cannot be told or the finding is not gone.

    Gains too small to be sure of are kept: without them a rule would seem to gain more than it does.
    """
    comparison, won = verification.comparison, verification.won_interval_ns
    change, sides = comparison.change, (comparison.base, comparison.new)
    drifts = comparison.verdict in ("cannot tell", *LIKELY) and any(side.drifts for side in sides)
    if change is None or won is None or verification.won_ns is None or verification.state != "gone" or drifts:
        return None
    base, new = sides[0].runs, sides[1].runs
    line = line_of(
        verification.finding,
        Won(verification.won_ns, *won, change.base_ns),
        how="verify",
        pair=pair_of(*(run.sha256 for run in (*base, *new))),
        step_ns=change.base_ns,
        format=base[0].format,
        hardware=Hardware(hardware_of(base), base[0].device_name),
        program=program,
        is_public=is_public,
        also_gone=len(verification.also_gone),
    )
    return replace(line, prediction=verification.prediction)


def append(path: Path, line: Calibrated) -> bool:
    """Append the line to the file unless this has one for the same pair, finding and version of traceq; return whether it did.

    The file is locked meanwhile. Raises UnusableCalibration if it is no calibration file or cannot be written.
    """
    try:
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            content = file.read()
            if any(_key_of(each) == _key_of(line) for each in _parse_lines(path, content)):
                return False
            begins = b"\n" if content and not content.endswith(b"\n") else b""
            try:
                file.write(begins + msgspec.json.encode(line) + b"\n")
                file.flush()
            except OSError:
                os.ftruncate(file.fileno(), len(content))
                raise
    except OSError as error:
        raise UnusableCalibration(f"{path}: cannot be written: {error}") from error
    return True


def _key_of(line: Calibrated) -> tuple[str, ...]:
    """Return the key by which two lines are the same prediction: pair, rule, kind and version of traceq."""
    return line.pair, line.rule, line.kind, line.traceq


def read(path: Path) -> Iterator[Calibrated]:
    """Yield the lines of the calibration file.

    Raises UnusableCalibration if it cannot be read, or at the first wrong line, with its number.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnusableCalibration(f"{path}: cannot be read: {error}") from error
    yield from _parse_lines(path, content)


def _parse_lines(path: Path, content: bytes) -> Iterator[Calibrated]:
    """Yield the lines of the file's content.

    Raises UnusableCalibration, naming `path` and the line, at the first wrong one.
    """
    for number, line in enumerate(content.splitlines(), 1):
        try:
            found = msgspec.json.decode(line, type=Calibrated)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnusableCalibration(f"{path}: line {number} is not a line of checked predictions: {error}") from error
        if wrong := _find_impossible(found):
            raise UnusableCalibration(f"{path}: line {number}: {wrong}")
        yield found


def _find_impossible(line: Calibrated) -> str:
    """Return the reason why no prediction can have the line's numbers, or its version is too new.

    Empty if there is none.
    """
    if line.version > VERSION:
        return f"it is of version {line.version}, which traceq {line.traceq} wrote; this one reads {VERSION}"
    if line.step_ns <= 0 or line.base_ns <= 0:
        return "a step of no length"
    if not line.saving_low_ns <= line.saving_ns <= line.saving_high_ns:
        return "the likely saving is not between its bounds"
    if line.won_low_ns > line.won_high_ns:
        return "the interval of the gain ends before it begins"
    return ""
