"""Words on whether a change of a program changes what it computes."""

from __future__ import annotations

from traceq.runs.losses import LossDifference

# Below this share a difference of losses has digits enough in exponential form.
_TINY = 1e-6


def format_difference(value: float | None) -> str:
    """Return a relative difference of losses as per cent with two digits, as "2.1 %" or "0.00012 %"; None is infinite."""
    if value is None:
        return "infinity"
    if not value:
        return "0 %"
    return (
        f"{100 * value:.1e} %" if value < _TINY else f"{float(f'{100 * value:.2g}'):f}".rstrip("0").rstrip(".") + " %"
    )


def name_losses(found: LossDifference | None) -> str:
    """Return in a few words whether results stay the same, for a table; a dash where nothing is known."""
    if found is None:
        return "-"
    if found.state in ("same", "cannot tell"):
        return found.state
    return f"{found.state}, {format_difference(found.size)}"


def describe_losses(found: LossDifference) -> str:
    """Return how far losses (or outputs) differ, and what equal runs show, as a clause; a reason where nothing can be told."""
    if found.state == "cannot tell":
        return f"cannot tell: {found.reason}"
    if found.size == 0:
        return f"every {found.what} of the first {found.steps} steps is equal"
    equal = "no two equal runs were made" if found.equal is None else f"equal runs: {format_difference(found.equal)}"
    where = f"in the first {found.steps} steps ({equal})"
    if found.state == "same":
        return f"the {found.what} differs by at most {format_difference(found.size)} {where}"
    because = f"; {found.reason}" if found.reason else ""
    return (
        f"the {found.what} differs by up to {format_difference(found.size)} {where}, from step"
        f" {found.first_step} on{because}"
    )
