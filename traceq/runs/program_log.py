"""The log of a program: what recordings found, what was tried, what it won, and what was decided; a line of JSON entry.

The file only grows. Several processes may append to it at once; a line that cannot be read is counted and left out.
"""

from __future__ import annotations

import fcntl
import os
import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from traceq.common.units import per_cent
from traceq.common.version import __version__
from traceq.errors import StoreError
from traceq.runs.trials.experiment import CheckedPrediction, Experiment, SettingResult, Verdict
from traceq.runs.trials.trial import BASELINE
from traceq.runs.verify.verify import Prediction, State, Verification

NAME = "traceq-log.jsonl"
VERSION = 1

# Not through a link that lies there.
_TO_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_PRIVATE = 0o600
# More rounds nobody runs.
_MOST_ROUNDS = 50

By = Literal["record", "experiment", "verify", "hand"]
Decision = Literal["keep", "reject"]


class LogEntry(msgspec.Struct, frozen=True):
    """A finding of a recording, a try, or a decision; what an entry does not say is None. Shares are of the step before.

    `at` is in UTC. `program` is the command, `source` the database, the experiment's folder or the runs. `number` is F1,
    F2, ... in the report of the recording. A recording without a finding is one entry with its verdict as the `reason`.
    `where` is the line of the program. `step_ns` is the recorded step, of a try the one without the change. `predicted`
    and `won` have a low and a high bound. `outcome` is what became of the step or of the run, `state` of the finding.
    """

    at: str
    by: By
    version: int = VERSION
    traceq: str = __version__
    program: str | None = None
    source: str | None = None
    number: str | None = None
    rule: str | None = None
    finding_id: str | None = None
    title: str | None = None
    where: str | None = None
    confidence: str | None = None
    step_ns: int | None = None
    predicted: float | None = None
    predicted_low: float | None = None
    predicted_high: float | None = None
    change: str | None = None
    won: float | None = None
    won_low: float | None = None
    won_high: float | None = None
    outcome: str | None = None
    state: State | None = None
    prediction: Prediction | None = None
    decision: Decision | None = None
    reason: str = ""

    @property
    def entry_key(self) -> tuple[str | None, ...]:
        """The values that a later entry shares with the one that it replaces: an experiment that goes on judges anew."""
        if self.by == "experiment":
            return self.by, self.program, self.change, None if self.change else self.finding_id
        return self.by, self.at, self.source, self.finding_id, self.change, self.reason


class LogRead(msgspec.Struct, frozen=True):
    """The entries of log files in the order of time, each with its file, and what was wrong with lines that were left out."""

    entries: tuple[LogEntry, ...]
    files: tuple[str, ...]
    faults: tuple[str, ...]


def format_now() -> str:
    """Return the time as entries have it: UTC, in seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def append_entries(folder: Path, entries: Sequence[LogEntry]) -> Path:
    """Append the entries to the log in the folder, which is made if needed, in one piece; return the log's path.

    The file is locked meanwhile. Raises StoreError if it cannot be written.
    """
    path = folder / NAME
    lines = b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, _TO_APPEND, _PRIVATE), "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                # A line that was cut short must not take the next one with it.
                lines = lines if file.read(1) == b"\n" else b"\n" + lines
            try:
                file.write(lines)
                file.flush()
            except OSError:
                os.ftruncate(file.fileno(), size)
                raise
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}; choose another folder") from error
    return path


def read_log(files: Iterable[Path]) -> LogRead:
    """Read the log files; of entries with the same key in a file the last one counts. Raises StoreError if one cannot be read."""
    entries: list[LogEntry] = []
    names, faults = [], []
    for path in files:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise StoreError(f"{path}: cannot be read: {error.strerror or error}; check its permissions") from error
        names.append(str(path))
        found: dict[tuple[str | None, ...], LogEntry] = {}
        for number, line in enumerate(content.split(b"\n"), 1):
            if not line.strip():
                continue
            entry, fault = _parse_entry(line)
            if entry is None:
                faults.append(f"{path}: line {number} is left out: {fault}")
                continue
            found.pop(entry.entry_key, None)
            found[entry.entry_key] = entry
        entries += found.values()
    return LogRead(tuple(sorted(entries, key=lambda entry: entry.at)), tuple(names), tuple(faults))


def _parse_entry(line: bytes) -> tuple[LogEntry | None, str]:
    """Return the entry in a line; None if there is none, with the reason."""
    try:
        entry = msgspec.json.decode(line, type=LogEntry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, f"it is damaged ({error})"
    if entry.version > VERSION:
        return None, f"traceq {entry.traceq} wrote it, and this one reads version {VERSION}"
    return entry, ""


def log_experiment(
    found: Experiment, command: Sequence[str], source: str, changed_results: dict[str, str] | None = None
) -> list[LogEntry]:
    """Return an entry for each change of an experiment, and for each finding that it had no setting for.

    `changed_results` says of settings by name how the results of the program (its loss) differ from the baseline's: such
    a change is rejected, whatever it won.
    """
    at, program = format_now(), shlex.join(command)
    checked = {check.setting: check for check in found.checked}
    step = found.result(BASELINE).measures.get("step")
    step_ns = None if step is None else round(step.value)
    entries = [
        _log_setting(found, result, checked.get(result.setting.name), (changed_results or {}).get(result.setting.name))
        for result in found.results
        if result.setting.name != BASELINE
    ]
    untried = [
        LogEntry(
            at,
            "experiment",
            rule=entry.rule,
            finding_id=entry.finding_id,
            title=entry.title,
            confidence=entry.confidence,
            outcome="not tried",
            reason="no setting is known: change it by hand",
        )
        for entry in found.untried
    ]
    return [
        msgspec.structs.replace(entry, at=at, program=program, source=source, step_ns=step_ns)
        for entry in (*entries, *untried)
    ]


def _log_setting(
    found: Experiment, result: SettingResult, check: CheckedPrediction | None, changed_results: str | None
) -> LogEntry:
    """Return the entry of a setting, without the date and the program."""
    decision, outcome, reason = _decide_on_setting(found, result, changed_results)
    won, interval = _measure_won(found, result, check)
    low, high = interval or (None, None)
    entry = LogEntry(
        "",
        "experiment",
        change=result.setting.name,
        won=won,
        won_low=low,
        won_high=high,
        outcome=outcome,
        decision=decision,
        reason=reason,
    )
    if check is None:
        return entry
    return msgspec.structs.replace(
        entry,
        rule=check.predicted.rule,
        finding_id=check.predicted.finding_id,
        title=check.predicted.title,
        predicted=check.predicted.share,
        predicted_low=check.predicted.low_share,
        predicted_high=check.predicted.high_share,
        state=check.state,
        prediction=check.judged,
    )


def _measure_won(
    found: Experiment, result: SettingResult, check: CheckedPrediction | None
) -> tuple[float | None, tuple[float, float] | None]:
    """Return the saved share of the time for the same work, with its interval; of a step where the goal is its latency."""
    ablation = next((entry for entry in found.ablations if entry.setting == result.setting.name), None)
    if check is not None:
        return check.won, check.won_interval
    if ablation is not None:
        return ablation.share, ablation.interval
    if found.quantity == "throughput" and (rate := result.differences.get("throughput")) is not None:
        return 1 - 1 / rate.ratio, rate.interval and (1 - 1 / rate.interval[0], 1 - 1 / rate.interval[1])
    if found.quantity == "step" and (step := result.differences.get("step")) is not None:
        return 1 - step.ratio, step.interval and (1 - step.interval[1], 1 - step.interval[0])
    return None, None


def _decide_on_setting(
    found: Experiment, result: SettingResult, changed_results: str | None
) -> tuple[Decision | None, str, str]:
    """Return the decision on a setting, if there is one, its outcome, and the reason."""
    if result.outcome == "not run":
        return None, "not run", "the budget left no run for it"
    if result.outcome != "ok":
        return "reject", result.outcome, result.reason or result.outcome
    if result.setting.kind == "ablate":
        return None, "a bound", "without a part of the program: the most that this part can cost"
    difference = None if found.quantity is None else result.differences.get(found.quantity)
    verdict = "cannot tell" if difference is None else difference.verdict
    if changed_results is not None:
        return "reject", verdict, changed_results
    return _decide_by_verdict(found, result.setting.name, verdict)


def _decide_by_verdict(found: Experiment, name: str, verdict: Verdict) -> tuple[Decision | None, str, str]:
    """Return the decision on a setting that ran, its verdict, and the reason."""
    if verdict == "better":
        return _decide_on_win(found, name)
    if verdict == "cannot tell":
        is_near = found.needed is not None and found.needed <= _MOST_ROUNDS
        way = (
            f"{found.needed} rounds would show it"
            if is_near
            else "a quieter machine or more steps per run would show it"
        )
        return None, verdict, f"cannot tell a difference of 5 %: {way}"
    reason = "is worse" if verdict == "worse" else f"differs by less than {per_cent(found.least)}"
    return "reject", verdict, f"{found.quantity} {reason}"


def _decide_on_win(found: Experiment, name: str) -> tuple[Decision | None, str, str]:
    """Return the decision on a setting that is better than the baseline, its outcome, and the reason."""
    choice = found.choice
    over = () if choice is None else choice.over.get(name, ())
    if over:
        return "reject", "better", f"above the limit of {', '.join(over)}"
    by = next((entry.by for entry in found.dominated if entry.setting == name and entry.is_sure), None)
    if by is not None:
        return "reject", "better", f"{by} is better"
    costs = next((win.costs for win in (choice.wins if choice else ()) if win.setting == name), ())
    return "keep", "better", f"at the cost of {', '.join(costs)}" if costs else ""


def log_verification(
    verification: Verification, before: str, after: str, changed_results: str | None = None
) -> LogEntry:
    """Return the entry of a verification: the fix is kept if it surely saved time, rejected if it cost some.

    `before` and `after` name the runs. With `changed_results`, which says how the results of the program (its loss)
    differ, it is rejected.
    """
    finding, change = verification.finding, verification.comparison.change
    low, high = verification.won_interval_ns or (None, None)
    step = None if change is None else change.base_ns

    def share_of(value: float | None) -> float | None:
        return None if value is None or not step else value / step

    return LogEntry(
        format_now(),
        "verify",
        source=f"{before} -> {after}",
        rule=finding.rule,
        finding_id=finding.finding_id,
        title=finding.title,
        confidence=finding.confidence,
        step_ns=step,
        predicted=None if finding.only_bounds else share_of(finding.saving_ns),
        predicted_low=share_of(finding.saving_low_ns),
        predicted_high=share_of(finding.saving_high_ns),
        change="the fix",
        won=share_of(verification.won_ns),
        won_low=share_of(low),
        won_high=share_of(high),
        outcome=verification.comparison.verdict,
        state=verification.state,
        prediction=verification.prediction,
        decision=_decide_on_fix(verification, changed_results),
        reason=changed_results or verification.reason or "",
    )


def _decide_on_fix(verification: Verification, changed_results: str | None) -> Decision | None:
    """Return the decision on a fix that was verified, None where nothing is sure."""
    if changed_results is not None or verification.comparison.verdict == "regression":
        return "reject"
    return "keep" if verification.is_saved else None
