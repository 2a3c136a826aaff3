"""Runs made by hand, one in a line; times are ns."""

from __future__ import annotations

from random import Random

from traceq.runs.run import TRIM, Amount, Item, Run, RunStep

MS = 1_000_000


def run(*durations, ledger=None, items=(), name="run.json", excluded=(), names="step {}", rest="compute", **facts):
    """Counted steps of these durations, but for the numbers in `excluded`.

    `ledger` maps a category to its time in every step, or is a list with such a mapping for each step; what it leaves of
    the step is of the category `rest`. Steps have no ledger when it is {}.
    """
    steps = tuple(
        RunStep(number, names.format(number), dur, "warm-up" if number in excluded else None, parts)
        for number, (dur, parts) in enumerate(zip(durations, _ledgers(durations, ledger, rest), strict=True))
    )
    defaults = {
        "source": name,
        "file": name,
        "sha256": name,
        "format": "chrome",
        "producer": None,
        "producer_version": None,
        "rank": None,
        "world_size": None,
        "device": 0,
        "device_name": "NVIDIA H100",
        "devices": 1,
        "step_source": "profiler_step",
        "overhead_share": None,
        "settings": {},
        "payload": {},
        "shapes": {},
        "steps": steps,
        "items": tuple(items),
        "findings": (),
    }
    return Run(**(defaults | facts))


def _ledgers(durations, ledger, rest):
    if ledger == {}:
        return [{} for _ in durations]
    each = ledger if isinstance(ledger, list) else [ledger or {}] * len(durations)
    return [
        {rest: dur - sum(parts.values()), **parts} if parts is not None else {}
        for dur, parts in zip(durations, each, strict=True)
    ]


def on_host(*durations, **facts):
    """Make a run() of a program without a GPU; what `ledger` leaves of a step is time of operators on the training thread."""
    return run(*durations, rest="host_operator", device=None, device_name=None, devices=0, **facts)


def item(name, dur, count=1, *, category="compute", steps=1, shape=None, operator=None, size=0, **more):
    """Something that takes `dur` ns in each of so many steps, of which the middle half is typical."""
    typical = steps - 2 * (steps // TRIM)
    amounts = [Amount(count * number, dur * number, size * number, 0.0) for number in (steps, typical)]
    facts = {"family": None, "phase": None} | more
    return Item(
        category=category, name=name, shape=shape, operator=operator, every=amounts[0], typical=amounts[1], **facts
    )


def noisy(middle, count=30, share=0.02, seed=0):
    """`count` durations about `middle`, normally distributed with a standard deviation of `share` of it."""
    random = Random(f"{seed} {middle}")  # noqa: S311
    return [round(random.gauss(middle, share * middle)) for _ in range(count)]
