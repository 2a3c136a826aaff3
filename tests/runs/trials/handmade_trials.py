"""Trials made by hand: a setting a line with its step in each round, ms."""

from __future__ import annotations

from random import Random

from traceq.runs.trials.study_experiment import study_experiment
from traceq.runs.trials.trial import BASELINE, Setting, Trial

MS = 1_000_000
STEPS = 20


def made(text, *, work=None, seed=0, scatter=0.01, **facts):
    """Settings and trials of lines such as `num_workers=2 : 10 10.1 9.9 : host_memory_peak=100`.

    Before the first colon stand the values of knobs (`baseline` where there are none, `without data` for an ablation, `try` in
    front of what a finding asks for); a word instead of a step is an outcome: failed, oom; `-` is no trial in that round.
    `work` maps a name to samples a step.
    """
    settings, trials = [], []
    for line in filter(str.strip, text.splitlines()):
        name, steps, *more = (part.strip() for part in line.split(":"))
        own = dict(pair.split("=") for pair in (more[0].split() if more else ()))
        setting = _setting(name)
        settings.append(setting)
        for number, word in enumerate(steps.split()):
            if word == "-":
                continue
            known = facts | {key: float(value) for key, value in own.items() if key != "samples"}
            counted = {"samples": float(own["samples"])} if "samples" in own else (work or {})
            trials.append(_trial(setting.name, number, word, scatter, seed, work=counted, **known))
    return settings, trials


def _setting(name):
    if name.startswith("without "):
        return Setting(name, "ablate", {"ablate": name.removeprefix("without ")})
    kind = "try" if name.startswith("try ") else "vary"
    words = name.removeprefix("try ").split()
    if words[0] == BASELINE:
        return Setting(BASELINE, "baseline", dict(word.split("=") for word in words[1:]))
    return Setting(" ".join(words), kind, dict(word.split("=") for word in words))


def _trial(name, number, word, scatter, seed, **facts):
    outcomes = {"failed": "failed", "oom": "out of memory", "slow": "timed out"}
    if word in outcomes:
        return Trial(name, number, 1000 + number, outcomes[word], reason=f"{outcomes[word]} in round {number}")
    random = Random(f"{seed} {name} {number}")  # noqa: S311
    steps = tuple(round(float(word) * MS * (1 + random.gauss(0, scatter))) for _ in range(STEPS))
    return Trial(name, number, 1000 + number, "ok", steps_ns=steps, **facts)


def studied(text, *, work=None, scatter=0.01, facts=None, **options):
    """The result of such lines."""
    settings, trials = made(text, work=work, scatter=scatter, **(facts or {}))
    return study_experiment(settings, trials, **options)


def verdicts(found, quantity="step"):
    """By setting."""
    return {
        each.setting.name: each.differences[quantity].verdict for each in found.results if quantity in each.differences
    }
