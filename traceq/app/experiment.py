"""Experiment: a program is run at several settings, interleaved and repeated, and what each wins is judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from traceq.analysis.categories import BUSY
from traceq.app.ingest import ingest
from traceq.app.program_log import keep_experiment
from traceq.app.source import read_runs_of
from traceq.app.view import View
from traceq.capture import files
from traceq.capture import trial as capture
from traceq.capture.knobs.registry import ABLATE
from traceq.common.process import usable_cpus
from traceq.common.units import duration, round_time, some
from traceq.diagnosis.rules.registry import all_rules
from traceq.errors import ProgramFailed, TraceqError, UnusableTrace, WrongUse
from traceq.reports.document import Block
from traceq.reports.renderers.experiment_to_json import experiment_to_json
from traceq.reports.trials.experiment import compose_experiment
from traceq.reports.trials.words import describe_not_tried, describe_promise
from traceq.runs.run import Run
from traceq.runs.trials import plan as plans
from traceq.runs.trials.budget import LEAST_ROUNDS, RunCost, count_rounds, count_settings
from traceq.runs.trials.compare_losses import compare_with_baseline
from traceq.runs.trials.experiment import Experiment, Goal, Predicted, TrialLimits
from traceq.runs.trials.findings import list_lines, promise_of
from traceq.runs.trials.folder import Folder, file_name
from traceq.runs.trials.outcome import read_tail, trial_of
from traceq.runs.trials.plan import TrialPlan
from traceq.runs.trials.remedies import ALL, cost_of, list_by_hand, settings_for
from traceq.runs.trials.study_experiment import study_experiment
from traceq.runs.trials.trial import BASELINE, LEAST_SECONDS, Setting, Trial
from traceq.runs.verify.calibration import append

# Steps that are recorded after those that count, once for each setting.
_PROFILED = 5

# In the folder of an experiment: the predictions that it checked, as `traceq verify --append` has them.
CHECKED = "calibration.jsonl"

Tell = Callable[[str], None]


class Running(msgspec.Struct, frozen=True):
    """Options that may differ when an experiment is resumed. Times are seconds; `tell` receives lines of progress.

    `outputs` also compares the norms of the model's outputs, beside the losses.
    """

    repeats: int
    time_limit: float | None
    budget: float | None
    goal: Goal
    limits: TrialLimits
    tell: Tell
    outputs: bool = False


class ExperimentView(View[Experiment]):
    """The result of an experiment; `content` is the result as plain data."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_experiment(self.content)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return experiment_to_json(self.content)


def experiment(plan: TrialPlan, directory: Path, running: Running) -> ExperimentView:
    """Run the trials of the plan that are missing in `directory`, store them there, and judge all of them.

    Raises WrongUse for an impossible plan or the folder of another experiment, ProgramFailed when the unchanged program
    fails.
    """
    plans.check(plan)
    folder = Folder(directory)
    folder.begin(plan)
    with folder.lock():
        if kept := folder.trials():
            running.tell(f"{some(len(kept), 'run')} kept in {directory}, started {folder.start_time()}, also count")
        runner = _Runner(plan, folder, running)
        try:
            settings, trials = runner.run()
        except (KeyboardInterrupt, SystemExit):
            running.tell(
                f"{some(len(folder.trials()), 'run')} kept in {directory}: the same command continues from here"
            )
            raise
        found = _judge_trials(plan, folder, running, settings, trials)
        for untried in found.not_tried:
            running.tell("".join(("not tried: ", *describe_not_tried(untried))))
        keep_experiment(found, folder.path, plan.command, running.tell)
        return ExperimentView(found)


def _judge_trials(
    plan: TrialPlan, folder: Folder, running: Running, settings: Sequence[Setting], trials: Sequence[Trial]
) -> Experiment:
    """Judge the trials, write the checked predictions to the experiment's folder, and return the result."""
    profiles = {setting.name: run for setting in settings if (run := profile_of(folder, setting)) is not None}
    predictions = _list_predictions(settings, profiles.get(BASELINE))
    found = study_experiment(
        settings,
        trials,
        goal=running.goal,
        limits=running.limits,
        predictions=predictions,
        profiles=profiles,
        tries_findings=bool(plan.tries),
    )
    checked = folder.path / CHECKED
    try:
        _keep_checked(found, profiles, checked, " ".join(plan.command))
    except (OSError, TraceqError) as error:
        running.tell(f"{checked} is not written: {error}")
    return found


def _keep_checked(found: Experiment, profiles: Mapping[str, Run], file: Path, program: str) -> None:
    """Replace the file of checked predictions by those of this result, as more rounds make them more precise."""
    file.unlink(missing_ok=True)
    for line in list_lines(found, profiles, program=program, cores=usable_cpus()):
        append(file, line)


def _list_predictions(settings: Sequence[Setting], own: Run | None) -> dict[str, Predicted]:
    """Return the predicted saving by name of setting: of the finding that it tries, or of the part that it leaves out.

    `own` is the recording of the baseline; empty without it.
    """
    if own is None:
        return {}
    findings = {each.finding_id: each for each in own.findings}
    found: dict[str, Predicted] = {}
    for setting in settings:
        finding = findings.get(setting.finding or "") or cost_of(setting.values.get(ABLATE, ""), own.findings)
        if finding is not None:
            found[setting.name] = promise_of(finding, own)
    return found


class _Runner:
    """Runs the trials of an experiment that are missing, and holds all of them."""

    def __init__(self, plan: TrialPlan, folder: Folder, running: Running) -> None:
        self._plan = plan
        self._folder = folder
        self._running = running
        self._trials = _drop_timed_out(folder.trials(), running.time_limit)
        self._began = time.monotonic()
        self._ran = 0
        self._recording_seconds = 0.0
        self._is_used_up = False

    def run(self) -> tuple[list[Setting], list[Trial]]:
        """Choose the settings and run them, then the combination of the winners; return the settings and all trials."""
        settings = self._folder.settings() or self._choose_settings()
        alone = [setting for setting in settings if not plans.is_together(setting)]
        wanted = self._drop_beyond_budget(alone)
        is_whole = self._run_rounds(wanted, range(1)) and self._run_equal(wanted)
        repeats = self._count_rounds(wanted, 1)
        if self._running.budget is not None:
            repeats = min(repeats, LEAST_ROUNDS)
        is_whole = is_whole and self._run_rounds(wanted, range(repeats))
        # Runs that took less time than was expected leave some for further settings, and then for rounds.
        for setting in alone:
            if is_whole and setting not in wanted and self._has_time(alone, repeats):
                wanted.append(setting)
                is_whole = self._run_rounds([setting], range(repeats))
        while is_whole and (more := self._count_rounds(wanted, repeats)) > repeats:
            repeats = more
            is_whole = self._run_rounds(wanted, range(repeats))
        if is_whole and ALL in self._plan.tries:
            together = [setting for setting in settings if plans.is_together(setting)] or self._combine_wins(alone)
            settings = [*alone, *together]
            self._folder.keep_settings(settings)
            if together:
                self._run_rounds([alone[0], *together], plans.rounds_together(repeats))
        return settings, self._trials

    def _choose_settings(self) -> list[Setting]:
        """Run the baseline once, then return the settings to try: the plan's own, and remedies for findings of the baseline."""
        own = plans.baseline_setting(self._plan)
        self._describe_begin()
        self._run_rounds([own], range(1))
        values = next((trial.own_values for trial in self._trials if trial.setting == BASELINE), {})
        asked = plans.list_settings(self._plan, values)
        for setting in plans.list_settings(self._plan):
            if setting not in asked and len(setting.values) == 1:
                self._running.tell(f"{setting.name} is skipped: it is already the program's value")
        tried = self._choose_fixes(own, values) if self._plan.tries else []
        if self._trials and not (asked or self._plan.tries):
            raise WrongUse(
                "The program has all of these values itself, so there is nothing to compare; give other values."
            )
        by_values = {tuple(each.values.items()): each for each in (own, *asked)}
        for setting in tried:
            same = by_values.setdefault(tuple(setting.values.items()), setting)
            # Asked for twice: it keeps its name, and is held against the prediction as well.
            if same is not own:
                by_values[tuple(setting.values.items())] = replace(same, finding=same.finding or setting.finding)
        turned = {name for setting in by_values.values() for name in plans.knobs_at(self._plan, setting)}
        kept = {name: value for name, value in values.items() if name in turned}
        settings = [replace(own, values={**kept, **own.values}), *list(by_values.values())[1:]]
        if self._trials:
            self._folder.keep_settings(settings)
            self._describe_order(settings)
        return settings

    def _describe_begin(self) -> None:
        """Tell at once what is run first, and why."""
        steps = f"{self._plan.warmup} + {self._plan.steps} steps"
        why = "its recording says what to try" if self._plan.tries else "all else is compared with it"
        self._running.tell(f"runs the program as it is first: {why}. A run is ended after {steps}")

    def _describe_order(self, settings: Sequence[Setting]) -> None:
        """Tell which settings are tried, in which order, and with what prediction."""
        predictions = _list_predictions(settings, profile_of(self._folder, settings[0]))
        tried = [setting for setting in settings if setting.name != BASELINE]
        first = ", the largest predicted saving first" if predictions else ""
        self._running.tell(f"tries {some(len(tried), 'setting')}{first}:")
        for place, setting in enumerate(tried, 1):
            found = predictions.get(setting.name)
            promise = () if found is None else (": ", *describe_promise(found))
            self._running.tell("".join((f"  {place}. {setting.name}", *promise)))

    def _drop_beyond_budget(self, alone: Sequence[Setting]) -> list[Setting]:
        """Return the baseline and the settings that the budget allows enough rounds of, in order; those that were begun stay."""
        left = self._seconds_left()
        taken = [trial.seconds for trial in self._trials if trial.seconds is not None]
        if left is None or not taken:
            return list(alone)
        begun = {trial.setting for trial in self._trials}
        cost = RunCost(sum(taken) / len(taken), self._recording_seconds)
        combines = self._may_combine(alone)
        number = count_settings(left, cost, len(alone) - 1, self._running.repeats, combines=combines)
        kept = [setting for place, setting in enumerate(alone) if place <= number or setting.name in begun]
        dropped = [setting.name for setting in alone if setting not in kept]
        if dropped:
            self._running.tell(
                f"the budget is enough for {some(len(kept) - 1, 'setting')}, and perhaps not for {', '.join(dropped)}"
            )
        return kept

    def _may_combine(self, settings: Sequence[Setting]) -> bool:
        """Return whether changes of the settings that win may be run together: of two knobs or more."""
        knobs = {tuple(setting.values) for setting in settings if setting.kind in ("vary", "try")}
        return ALL in self._plan.tries and len(knobs) > 1

    def _has_time(self, settings: Sequence[Setting], rounds: int) -> bool:
        """Return whether the budget has time for one more setting in `rounds` rounds, and for the winners together."""
        left = self._seconds_left()
        taken = [trial.seconds for trial in self._trials if trial.seconds is not None]
        if left is None or not taken:
            return True
        cost = rounds * sum(taken) / len(taken) + self._recording_seconds
        return left >= (3 if self._may_combine(settings) else 1) * cost

    def _count_rounds(self, wanted: Sequence[Setting], done: int) -> int:
        """Return the number of rounds: as many as asked for, or as the budget allows, with the `done` ones."""
        left = self._seconds_left()
        seconds = {trial.setting: trial.seconds or 0.0 for trial in self._trials}
        if left is None or self._is_used_up:
            return self._running.repeats
        combines = self._may_combine(wanted)
        return count_rounds(
            left,
            done,
            self._running.repeats,
            sum(seconds.get(setting.name, 0.0) for setting in wanted if self._may_run(setting)),
            2 * seconds.get(BASELINE, 0.0) if combines else 0.0,
            self._recording_seconds if combines else 0.0,
        )

    def _seconds_left(self) -> float | None:
        """Return what is left of the budget, s; None without one."""
        return None if self._running.budget is None else self._running.budget - (time.monotonic() - self._began)

    def _may_run(self, setting: Setting) -> bool:
        """Return whether the setting has not failed; the baseline may at any time."""
        return setting.name == BASELINE or all(
            trial.outcome == "ok" for trial in self._trials if trial.setting == setting.name
        )

    def _run_equal(self, settings: Sequence[Setting]) -> bool:
        """Run the baseline once more with the first round's seed where a setting's losses differ from its, to see by how much.

        Return False when the time budget is used up.
        """
        found = [compare_with_baseline(self._trials, setting) for setting in settings]
        if not any(losses is not None and (losses.size or losses.first_step) for losses in found):
            return True
        return self._run_rounds(settings[:1], range(plans.EQUAL_ROUND, plans.EQUAL_ROUND + 1))

    def _choose_fixes(self, own: Setting, values: Mapping[str, str]) -> list[Setting]:
        """Return the settings that try the baseline's findings that the plan asks for, and fewer threads if there are too many.

        Without those that change nothing, as the program has these `values` of knobs. Raises UnusableTrace without a
        recording of the baseline.
        """
        run = profile_of(self._folder, own)
        if run is None:
            raise UnusableTrace(
                f"{self._folder.traces}: no recording of the baseline, so there are no findings to --try"
            )
        cores = usable_cpus()
        for finding in list_by_hand(run.findings, self._plan.tries, cores):
            self._running.tell(f"no setting is known for {finding.rule} ({finding.title}): change it by hand")
        tried = [
            setting
            for setting in settings_for(run.findings, self._plan.tries, cores)
            if not all(plans.is_own_value(name, value, values) for name, value in setting.values.items())
        ]
        threads = next((trial.threads for trial in self._trials if trial.threads), None)
        if (
            ALL in self._plan.tries
            and threads
            and threads > cores
            and not any("threads" in setting.values for setting in tried)
        ):
            self._running.tell(f"operators use {threads} threads on {cores} cores")
            tried.append(Setting(f"threads={cores}", "try", {"threads": str(cores)}))
        return tried

    def _combine_wins(self, alone: Sequence[Setting]) -> list[Setting]:
        """Return one setting that combines all changes that won alone; empty for fewer than two."""
        choice = study_experiment(alone, self._trials, goal=self._running.goal, limits=self._running.limits).choice
        by_name = {each.name: each for each in alone}
        values: dict[str, str] = {}
        for win in choice.wins if choice else ():
            setting = by_name[win.setting]
            if setting.kind != "ablate":
                # Of two values of a knob the larger win, which comes first.
                values |= {name: value for name, value in setting.values.items() if name not in values}
        return [Setting(plans.name_of(values), "try", values)] if len(values) > 1 else []

    def _run_rounds(self, settings: Sequence[Setting], rounds: range) -> bool:
        """Run the missing trials of these rounds; return whether all were run, False when the time budget is used up."""
        order = list(plans.order(settings, rounds))
        while left := self._list_left(order):
            round_, setting = left[0]
            if self._is_over_budget(setting):
                if not self._is_used_up:
                    self._running.tell("the budget is used up: the same command continues from here")
                self._is_used_up = True
                return False
            trial = self._run_trial(setting, round_)
            self._folder.keep_trial(trial)
            self._trials.append(trial)
            self._ran += 1
            self._running.tell(
                f"{plans.round_name(round_)}, {setting.name}: {_describe_trial(trial)}{self._describe_rest(order)}"
            )
        return True

    def _is_over_budget(self, setting: Setting) -> bool:
        """Return whether a run of the setting, if it takes as long as its last one, would end after the budget."""
        left = self._seconds_left()
        last = next((trial.seconds for trial in reversed(self._trials) if trial.setting == setting.name), None)
        return left is not None and left < (last or 0.0)

    def _is_done(self, setting: Setting, round_: int) -> bool:
        """Return whether the setting need not run in this round: it ran in it, or failed in any round.

        A baseline that failed in another round runs again.
        """
        of_setting = [trial for trial in self._trials if trial.setting == setting.name]
        return any(each.round == round_ or (each.outcome != "ok" and setting.name != BASELINE) for each in of_setting)

    def _describe_rest(self, order: Sequence[tuple[int, Setting]]) -> str:
        """Return text on the next trial, how many are left and how long they may take; empty without any."""
        left = self._list_left(order)
        if not left:
            return ""
        took = (time.monotonic() - self._began) / self._ran
        return f"; next {left[0][1].name}, {some(len(left), 'run')}, about {round_time(took * len(left))}"

    def _list_left(self, order: Sequence[tuple[int, Setting]]) -> list[tuple[int, Setting]]:
        """Return the rounds and settings still to run, in order, without baselines of rounds in which nothing else runs."""
        left = [(number, each) for number, each in order if not self._is_done(each, number)]
        ran = {trial.round for trial in self._trials if trial.outcome == "ok" and trial.setting != BASELINE}
        others = ran | {number for number, each in left if each.name != BASELINE}
        return [(number, each) for number, each in left if number in others or len(order) == 1]

    def _run_trial(self, setting: Setting, round_: int) -> Trial:
        """Run the program once at the setting, recorded if the setting has no recording yet, and return the trial.

        Raises ProgramFailed if the very first trial, of the baseline, fails.
        """
        has_profile = any(trial.trace for trial in self._trials if trial.setting == setting.name)
        launch = self._launch(setting, round_, profiled=0 if has_profile else _PROFILED)
        if launch.profiled:
            for trace in self._traces_of(launch):  # of a run that was ended
                trace.unlink()
        where = f"{plans.round_name(round_)}, {setting.name}"
        ran = capture.run(launch, lambda text: self._running.tell(f"{where}: {text}"))
        trial = trial_of(ran, setting.name, round_, launch.seed, launch.warmup + launch.steps)
        trial = replace(trial, time_limit=launch.time_limit)
        if setting.name == BASELINE and trial.outcome != "ok" and not self._trials:
            self._fail(trial, launch.log)
        return self._add_profile(trial, launch) if launch.profiled and trial.outcome == "ok" else trial

    def _launch(self, setting: Setting, round_: int, profiled: int) -> capture.TrialLaunch:
        """Return how to start the program at the setting in this round.

        `profiled` steps are recorded after those that count.
        """
        return capture.TrialLaunch(
            plans.command_at(self._plan, setting),
            plans.knobs_at(self._plan, setting),
            plans.variables_at(self._plan, setting),
            plans.seed_of(round_),
            self._plan.warmup,
            self._plan.steps,
            LEAST_SECONDS,
            profiled,
            self._folder.traces,
            file_name(setting),
            self._folder.log_of(setting, round_),
            self._running.time_limit,
            self._running.outputs,
        )

    def _traces_of(self, launch: capture.TrialLaunch) -> list[Path]:
        """Return the trace files that the launched program wrote, one for each rank."""
        return sorted(self._folder.traces.glob(f"{launch.name}.rank*{files.SUFFIX}.gz"))

    def _fail(self, trial: Trial, log: Path) -> None:
        """Print the end of the baseline's log and raise ProgramFailed."""
        for line in read_tail(log):
            self._running.tell(f"| {line}")
        raise ProgramFailed(
            f"the unchanged program gives nothing to compare with ({trial.outcome}: {trial.reason}); its output: {log}"
        )

    def _add_profile(self, trial: Trial, launch: capture.TrialLaunch) -> Trial:
        """Return the trial with the database of its recording and the GPU's busy share (0..1).

        Unchanged without a readable one.
        """
        traces = self._traces_of(launch)
        database = self._folder.traces / f"{launch.name}.duckdb"
        if not traces:
            return trial
        began = time.monotonic()
        try:
            ingest(traces, database, force=True)
            run = read_runs_of(database)[0]
        except TraceqError as error:
            self._running.tell(f"{trial.setting}: its recording cannot be read: {error}")
            return trial
        finally:
            self._recording_seconds = time.monotonic() - began
        return replace(trial, trace=str(database.relative_to(self._folder.path)), gpu_share=_gpu_share(run))


def _drop_timed_out(trials: Sequence[Trial], time_limit: float | None) -> list[Trial]:
    """Return the trials without those that timed out and were run again since, or may run longer with this `time_limit`."""

    def is_over(place: int, trial: Trial) -> bool:
        is_longer = trial.time_limit is not None and (time_limit is None or time_limit > trial.time_limit)
        return is_longer or any(later.setting == trial.setting for later in trials[place + 1 :])

    return [each for place, each in enumerate(trials) if each.outcome != "timed out" or not is_over(place, each)]


def profile_of(folder: Folder, setting: Setting) -> Run | None:
    """Return the recorded run of a setting, with findings of all rules, also of the extra pack.

    None without a recording.
    """
    database = folder.traces / f"{file_name(setting)}.duckdb"
    return read_runs_of(database, rules=all_rules())[0] if database.exists() else None


def _gpu_share(run: Run) -> float | None:
    """Return the share (0..1) of counted steps in which the GPU was busy; None without a GPU or a ledger."""
    if run.device is None:
        return None
    total = sum(step.dur for step in run.counted if step.ledger)
    busy = sum(step.ledger.get(name, 0) for step in run.counted for name in BUSY)
    return busy / total if total else None


def _describe_trial(trial: Trial) -> str:
    """Return the trial's mean step as text, or its outcome with the reason."""
    return (
        f"{duration(round(sum(trial.steps_ns) / len(trial.steps_ns)))} a step"
        if trial.steps_ns
        else f"{trial.outcome}: {trial.reason}"
    )
