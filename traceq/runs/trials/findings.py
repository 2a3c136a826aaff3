"""The baseline's findings in the recordings of settings, and predictions held against what was won."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from traceq.runs.run import FindingKept, Run
from traceq.runs.trials.experiment import (
    Ablation,
    CheckedPrediction,
    Experiment,
    NotTried,
    Predicted,
    Removed,
    SettingResult,
)
from traceq.runs.trials.remedies import is_tried
from traceq.runs.trials.results import ResultTable
from traceq.runs.trials.trial import BASELINE, Setting
from traceq.runs.trials.values import is_work_known
from traceq.runs.verify.calibration import Calibrated, Hardware, KnobChange, Won, line_of, pair_of, prediction_of
from traceq.runs.verify.verify import Prediction, State, find_again, hardware_of, state_of

Interval = tuple[float, float]


def promise_of(finding: FindingKept, run: Run) -> Predicted:
    """Return the finding's predicted saving, as shares of its run's mean counted step."""
    step = mean_step_of(run)
    return Predicted(
        finding.rule,
        finding.finding_id,
        finding.title,
        finding.saving_ns / step,
        finding.saving_low_ns / step,
        finding.saving_high_ns / step,
    )


def mean_step_of(run: Run) -> float:
    """Return the mean counted step of the run, ns; 1 if it is 0 or there is none, so that it can divide."""
    return sum(step.dur for step in run.counted) / max(len(run.counted), 1) or 1.0


def find_removed(profiles: Mapping[str, Run]) -> Iterator[Removed]:
    """Yield, for each setting with a recording, which findings of the baseline are gone, smaller or new in it.

    `profiles` are the recorded runs by setting; nothing if the baseline's is missing.
    """
    base = profiles.get(BASELINE)
    if base is None:
        return
    for name, run in profiles.items():
        if name == BASELINE:
            continue
        states = {finding.finding_id: _compare_state(finding, base, run) for finding in base.findings}
        known = {each.rule for each in base.found}
        yield Removed(
            name,
            gone=_in_state(base, states, "gone"),
            smaller=_in_state(base, states, "smaller"),
            new=tuple(finding for finding in run.findings if finding.rule not in known),
            unsure=_in_state(base, states, "cannot tell"),
        )


def _compare_state(finding: FindingKept, base: Run, run: Run) -> State:
    """Return whether the finding is gone, smaller, ... in `run`, as `traceq verify` does.

    It is "smaller" only if the bounds of both savings do not overlap, because each side is a single recording.
    """
    now = find_again(finding, [base], [run])
    state = state_of(finding, now, is_silent=finding.rule in run.cannot_tell)
    may_be_as_large = isinstance(now, FindingKept) and now.saving_high_ns >= finding.saving_low_ns
    return "still there" if state == "smaller" and may_be_as_large else state


def _in_state(base: Run, states: Mapping[str, State], state: State) -> tuple[FindingKept, ...]:
    """Return the baseline's findings with that state; `states` are by id of the finding."""
    return tuple(finding for finding in base.findings if states[finding.finding_id] == state)


def find_untried(settings: Sequence[Setting], profiles: Mapping[str, Run]) -> Iterator[FindingKept]:
    """Yield the baseline's findings that no setting tries or removed from its recording, largest saving first."""
    base = profiles.get(BASELINE)
    if base is None:
        return
    tried = {setting.finding for setting in settings}
    runs = [
        profiles[setting.name] for setting in settings if setting.kind in ("vary", "try") and setting.name in profiles
    ]
    for finding in sorted(base.findings, key=lambda each: (-each.saving_ns, each.finding_id)):
        # Several findings may ask for one setting, which is that of the first.
        is_asked = finding.finding_id in tried or is_tried(finding.rule, settings)
        if not is_asked and not any(_compare_state(finding, base, run) == "gone" for run in runs):
            yield finding


def list_not_tried(
    results: Sequence[SettingResult],
    untried: Sequence[FindingKept],
    predictions: Mapping[str, Predicted],
    profiles: Mapping[str, Run],
) -> tuple[NotTried, ...]:
    """Return the settings that did not run or act, and the `untried` findings; the largest predicted saving first.

    `predictions` and `profiles` are by name of setting.
    """
    found = [
        NotTried(
            result.setting.name,
            predictions.get(result.setting.name),
            "the budget" if result.outcome == "not run" else "no knob acts",
        )
        for result in results
        if result.outcome in ("not run", "nothing to act on") and result.setting.name != BASELINE
    ]
    found += [NotTried(None, promise_of(finding, profiles[BASELINE]), "by hand") for finding in untried]
    return tuple(sorted(found, key=lambda one: -(one.predicted.share if one.predicted else 0.0)))


def check_predictions(
    table: ResultTable,
    results: Sequence[SettingResult],
    predictions: Mapping[str, Predicted],
    profiles: Mapping[str, Run],
) -> Iterator[CheckedPrediction]:
    """Yield the predicted and the measured saving of each setting that tries a finding and ran in all rounds.

    `predictions` and `profiles` (the recorded runs) are by name of setting.
    """
    for result in results:
        name = result.setting.name
        if name not in predictions or result.setting.kind not in ("vary", "try") or result.outcome != "ok":
            continue
        prediction = predictions[name]
        share, interval = measure_gain(table, result)
        state = _find_state(prediction, profiles, name)
        judged = _judge_prediction(prediction, interval)
        is_sure = interval is not None and interval[0] > 0
        error = abs(prediction.share - share) / share if share and is_sure else None
        yield CheckedPrediction(name, prediction, share, interval, judged, error, state)


def measure_gain(table: ResultTable, result: SettingResult) -> tuple[float | None, Interval | None]:
    """Return the saving of a setting as a share of the baseline's time for the same work, and its interval.

    It counts all steps, also rare long ones. None where throughput was not measured, or a step's work is not known and
    the setting may change it.
    """
    trials = [trial for trial in table.trials if trial.setting in (BASELINE, result.setting.name)]
    found = result.differences.get("throughput")
    if found is None or not is_work_known(result.setting.values, trials, table.work):
        return None, None
    interval = None if found.interval is None else (1 - 1 / found.interval[0], 1 - 1 / found.interval[1])
    return 1 - 1 / found.ratio, interval


def _find_state(prediction: Predicted, profiles: Mapping[str, Run], name: str) -> State:
    """Return whether the predicted finding is gone, smaller or still there in the setting's recording.

    "cannot tell" without both recordings, or if the baseline's lacks the finding.
    """
    base, run = profiles.get(BASELINE), profiles.get(name)
    found = None if base is None else next((e for e in base.findings if e.finding_id == prediction.finding_id), None)
    return "cannot tell" if base is None or run is None or found is None else _compare_state(found, base, run)


def _judge_prediction(prediction: Predicted, interval: Interval | None) -> Prediction:
    """Judge the predicted bounds by the interval of the measured gain; "cannot tell" without an interval."""
    if interval is None:
        return "cannot tell"
    return prediction_of(prediction.low_share, prediction.high_share, *interval)


def find_ablations(
    table: ResultTable, results: Sequence[SettingResult], predictions: Mapping[str, Predicted]
) -> Iterator[Ablation]:
    """Yield the share of time saved without a part of the program (data, communication, logging), for each ablation that ran."""
    for result in results:
        if result.setting.kind == "ablate" and result.outcome == "ok":
            share, interval = measure_gain(table, result)
            found = result.differences.get("throughput")
            what = " and ".join(result.setting.values.values())
            prediction = predictions.get(result.setting.name)
            verdict = "cannot tell" if found is None or share is None else found.verdict
            yield Ablation(result.setting.name, what, share, interval, prediction, verdict)


_NS_PER_S = 1_000_000_000


def list_lines(
    found: Experiment,
    profiles: Mapping[str, Run],
    *,
    program: str | None = None,
    cores: int | None = None,
    is_public: bool = False,
) -> Iterator[Calibrated]:
    """Yield a calibration line for each finding that a setting removed: its predicted saving and the gain that was measured.

    If several settings remove it, the first in the plan counts: the one with the largest gain would be biased by
    chance. A finding that is still there was not fixed, so that its gain says nothing. `program` is any name of the
    program, of which a hash is kept; `is_public` keeps the name itself.
    """
    first: dict[str, CheckedPrediction] = {}
    for check in found.checked:
        if check.state == "gone" and check.won is not None:
            first.setdefault(check.predicted.finding_id, check)
    for each in first.values():
        line = _make_line(found, profiles, each, program, cores, is_public=is_public)
        if line is not None:
            yield line


def _make_line(
    found: Experiment,
    profiles: Mapping[str, Run],
    each: CheckedPrediction,
    program: str | None,
    cores: int | None,
    *,
    is_public: bool,
) -> Calibrated | None:
    """Return the calibration line of a prediction and its measured gain.

    None where the gain or its interval is not known.
    """
    base, after = profiles[BASELINE], profiles[each.setting]
    own = found.result(BASELINE)
    rate = own.measures.get("throughput")
    if each.won is None or each.won_interval is None or rate is None or not rate.value:
        return None
    timed = own.work * _NS_PER_S / rate.value
    return line_of(
        next(one for one in base.findings if one.finding_id == each.predicted.finding_id),
        Won(each.won * timed, each.won_interval[0] * timed, each.won_interval[1] * timed, timed),
        how="experiment",
        pair=pair_of(base.sha256, after.sha256),
        step_ns=mean_step_of(base),
        format=base.format,
        hardware=Hardware(hardware_of([base]), base.device_name, cores),
        program=program,
        is_public=is_public,
        knob=_only_knob(found, each),
        also_gone=sum(len(one.gone) - 1 for one in found.removed if one.setting == each.setting),
    )


def _only_knob(found: Experiment, each: CheckedPrediction) -> KnobChange | None:
    """Return the knob that the setting turns, with its values before and after; None if it turns several."""
    values = list(found.result(each.setting).setting.values.items())
    if len(values) != 1:
        return None
    name, value = values[0]
    return KnobChange(name, found.result(BASELINE).setting.values.get(name, "default"), value)
