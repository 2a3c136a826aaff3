"""How many rounds and steps an experiment needs."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.runs.experiment.trial import Setting, Trial

# docs/experiment.md, "How sure", says by which measurements they are chosen.
ROUNDS = 7
STEPS = 20

# What an experiment should see.
EFFECT = 0.05


def rounds_needed(settings: Sequence[Setting], trials: Sequence[Trial], effect: float = EFFECT) -> int | None:
    """The rounds with which a true `effect` (a share of the step) is called in 8 of 10 experiments; None before there are two."""
    raise NotImplementedError
