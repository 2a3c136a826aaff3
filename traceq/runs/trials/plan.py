"""Plan an experiment: settings around a baseline, interleaved in rounds."""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from traceq.capture.knobs import registry
from traceq.errors import WrongUse
from traceq.runs.trials.trial import BASELINE, Setting

# Seeds of rounds begin here.
_FIRST_SEED = 1000

# Rounds of what won together have numbers from here on: the baseline runs again beside it.
_TOGETHER = 1000
# In this round the baseline runs once more with the seed of the first round, to see how much the losses of equal runs differ.
EQUAL_ROUND = 2000


class TrialPlan(msgspec.Struct, frozen=True):
    """The user's request: `vary` and `env` are values by name, `tries` are findings to try, or `all`.

    A name in `vary` replaces {name} where that is in the command; otherwise it is a knob that is turned inside the
    program. `ablate` are parts of the program to leave out. `factorial` asks for all combinations of values. `steps`
    are measured in a trial after `warmup` steps.
    """

    command: tuple[str, ...]
    vary: Mapping[str, tuple[str, ...]]
    env: Mapping[str, tuple[str, ...]]
    tries: tuple[str, ...]
    ablate: tuple[str, ...]
    factorial: bool
    steps: int
    warmup: int

    @property
    def in_command(self) -> tuple[str, ...]:
        """The names of `vary` that stand as {name} in the command."""
        return tuple(name for name in self.vary if any(_place_of(name) in word for word in self.command))


def check(plan: TrialPlan) -> None:
    """Raise WrongUse, with the way out, if the plan is impossible: no command, nothing to try, or wrong names or values."""
    if not plan.command:
        raise WrongUse("No command to run: traceq experiment [OPTIONS] -- python train.py")
    if not (plan.vary or plan.env or plan.tries or plan.ablate):
        raise WrongUse(
            "Nothing to try: give --vary num_workers=0,2,4, --env NAME=a,b, --try all (what a profile finds) or --ablate data."
        )
    _check_names(plan)
    for name, values in plan.vary.items():
        for value in values if name not in plan.in_command else ():
            try:
                registry.check(name, value)
            except ValueError as error:
                raise WrongUse(f"--vary {error}") from error
    if not (plan.tries or list_settings(plan)):
        raise WrongUse("These values are all the baseline's: give at least two, the unchanged program's first.")


def _check_names(plan: TrialPlan) -> None:
    """Raise WrongUse if the command has a {name} of a knob without values, or a name is in --vary and in --env."""
    for name in re.findall(r"\{(\w+)\}", " ".join(plan.command)):
        if name not in plan.vary and name in registry.KNOBS:
            raise WrongUse(f"{{{name}}} is in the command but has no values: --vary {name}=A,B")
    both = set(plan.vary) & set(plan.env)
    if both:
        raise WrongUse(f"{both.pop()} is in --vary and in --env: it can be in only one of them.")


def baseline_setting(plan: TrialPlan) -> Setting:
    """Return the baseline: the first value of each name in the command, and the environment's values of --env names."""
    values = {name: plan.vary[name][0] for name in plan.in_command}
    values |= {name: os.environ[name] for name in plan.env if name in os.environ}
    return Setting(BASELINE, "baseline", values)


def list_settings(plan: TrialPlan, own_values: Mapping[str, str] | None = None) -> list[Setting]:
    """Return the settings of --vary, --env and --ablate besides the baseline, without values that the program has anyway.

    They change one knob each, or with `factorial` all combinations. `own_values` are the program's own of knobs, where
    they are known.
    """
    usual, knobs = baseline_setting(plan).values, own_values or {}
    inside = [name for name in plan.vary if name not in plan.in_command]
    offered = {
        name: [
            value
            for value in values
            if usual.get(name) != value and not (name in inside and is_own_value(name, value, knobs))
        ]
        for name, values in {**plan.vary, **plan.env}.items()
    }
    if plan.factorial:
        choices = [[None, *values] for values in offered.values()]
        combined = [dict(zip(offered, each, strict=True)) for each in itertools.product(*choices)]
        found = [{name: value for name, value in each.items() if value is not None} for each in combined]
    else:
        found = [{name: value} for name, values in offered.items() for value in values]
    settings = [Setting(name_of(values), "vary", values) for values in found if values]
    return [*settings, *(Setting(f"without {each}", "ablate", {registry.ABLATE: each}) for each in plan.ablate)]


def is_own_value(knob: str, value: str, own_values: Mapping[str, str]) -> bool:
    """Return whether the program gives this value to what the knob sets, as far as is known."""
    if knob not in own_values or knob not in registry.KNOBS:
        return False
    check = registry.KNOBS[knob].check
    try:
        return check(value) == check(own_values[knob])
    except ValueError:  # what no knob can set: compile is off
        return False


def name_of(values: Mapping[str, str]) -> str:
    """Return a name for the setting with these values: "num_workers=2 amp=bf16"."""
    return " ".join(f"{name}={value}" for name, value in values.items())


def command_at(plan: TrialPlan, setting: Setting) -> tuple[str, ...]:
    """Return the words of the command, with the setting's values (else the baseline's) in the places of {name}."""
    words = list(plan.command)
    for name in plan.in_command:
        value = setting.values.get(name, plan.vary[name][0])
        words = [word.replace(_place_of(name), value) for word in words]
    return tuple(words)


def knobs_at(plan: TrialPlan, setting: Setting) -> dict[str, str]:
    """Return the values of the knobs and the ablation that the setting turns inside the program, by name.

    None for the baseline: its values are the program's own.
    """
    if setting.name == BASELINE:
        return {}
    known = (*registry.KNOBS, registry.ABLATE)
    return {n: v for n, v in setting.values.items() if n in known and n not in plan.in_command and n not in plan.env}


def variables_at(plan: TrialPlan, setting: Setting) -> dict[str, str]:
    """Return the environment variables (--env) of the setting, by name."""
    return {name: value for name, value in setting.values.items() if name in plan.env}


def seed_of(round_: int) -> int:
    """Return the random seed of a round, which all its settings share."""
    return _FIRST_SEED + (0 if round_ == EQUAL_ROUND else round_)


def order(settings: Sequence[Setting], rounds: range) -> Iterator[tuple[int, Setting]]:
    """Yield round and setting in the order to run: all settings once per round, shuffled with the round's seed.

    The first round runs the baseline, without which there is nothing to compare, and then the settings as they are given:
    what is predicted to win most comes first.
    """
    for round_ in rounds:
        if round_ == 0:
            ordered = sorted(settings, key=lambda setting: setting.name != BASELINE)
        else:
            ordered = sorted(settings, key=lambda setting: setting.name)
            random.Random(seed_of(round_)).shuffle(ordered)  # noqa: S311 - an order, no secret
        yield from ((round_, setting) for setting in ordered)


def is_together(setting: Setting) -> bool:
    """Return whether the setting is one that combines several changes, each of which won alone."""
    return setting.kind == "try" and len(setting.values) > 1


def rounds_together(repeats: int) -> range:
    """Return the numbers of `repeats` rounds in which the winning changes are run together."""
    return range(_TOGETHER, _TOGETHER + repeats)


def round_name(round_: int) -> str:
    """Return the round's name for messages: "round 1", "all together, round 1", or "an equal run"."""
    if round_ == EQUAL_ROUND:
        return "an equal run"
    return f"round {round_ + 1}" if round_ < _TOGETHER else f"all together, round {round_ - _TOGETHER + 1}"


def _place_of(name: str) -> str:
    """Return the place of a name in the command: {name}."""
    return f"{{{name}}}"


# FROM..TO and how to get from one value to the next: x2 or +32.
_RANGE = re.compile(r"(-?[0-9.]+)\.\.(-?[0-9.]+)([x+])([0-9.]+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# More settings than anybody waits for.
_MOST = 100


def read_vary(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse NAME=VALUES into the name and its values, with ranges expanded.

    Raises ValueError, which says what is accepted.
    """
    name, equals, values = text.partition("=")
    if not equals or not _NAME.fullmatch(name) or not values:
        raise ValueError(
            f"{text!r} is not NAME=VALUES: write num_workers=0,2,4, batch_size=32..256x2 or batch_size=32..256+32"
        )
    found = tuple(dict.fromkeys(value for each in values.split(",") for value in _expand_values(each.strip(), text)))
    if len(found) > _MOST:
        raise ValueError(f"{text!r} has {len(found)} values; at most {_MOST} can be tried")
    return name, found


def _expand_values(part: str, text: str) -> list[str]:
    """Return the values of a part of --vary: itself, or those of a range such as 32..256x2, one more than allowed at most.

    Raises ValueError, naming the whole `text`, for a wrong one.
    """
    match = _RANGE.fullmatch(part)
    if match is None:
        if not part or re.search(r"[0-9]\.\.[0-9]", part):
            raise ValueError(
                f"{text!r}: {part!r} is neither a value nor a range: write 32..256x2 (times 2) or 32..256+32 (plus 32)"
            )
        return [part]
    low, high, by = (_parse_number(each, text) for each in (match[1], match[2], match[4]))
    times = match[3] == "x"
    if low > high or by <= (1 if times else 0) or (times and low <= 0):
        raise ValueError(f"{text!r}: a range goes up from a smaller number to a larger one: 32..256x2 or 32..256+32")
    found: list[str] = []
    while low <= high and len(found) <= _MOST:
        found.append(f"{low.normalize():f}")
        low = low * by if times else low + by
    return found


def _parse_number(text: str, whole: str) -> Decimal:
    """Return the number in the text. Raises ValueError, naming the `whole` argument."""
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError(f"{whole!r}: {text!r} is not a number") from None
