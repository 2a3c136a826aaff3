"""The words about checked predictions, in Markdown: how right each rule was, its misses, and the shares that are fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from traceq.common.text import markdown
from traceq.common.units import change_share, share, some
from traceq.diagnosis.calibrated import Hardware
from traceq.runs.verify.accuracy import group_by_hardware, group_by_rule, measure_accuracy
from traceq.runs.verify.calibration import Calibrated
from traceq.runs.verify.shares import (
    COVERED,
    LEAST_PROGRAMS,
    MOST_BEYOND,
    PROGRAMS_FOR_BOUNDS,
    ShareFit,
    Shares,
    fit_all,
)

HEADING = "## Predictions that were checked"

_INTRODUCTION = """\
{predictions} of real programs before and after a fix, as `traceq verify --append`, experiments and pairs kept them
([compare.md](compare.md#did-the-fix-work)). *Inside*: the gain of the fix lies between the finding's bounds, both as
shares of their step; *by interval*: it does not, but the interval of the gain reaches them (or, for a pair, the range
of its turns). *Error* is the median distance of the likely saving from the gain, as a share of the gain (of 1 % of
the step, if the gain was less), *bias* the same with its sign: above 0, more was predicted than gained. Unnamed
programs count as one."""

_FITTED = f"""\
The share of the claimed time that fixes removed, in proportion to the saving: each program has one vote, the median
of its predictions. *Error* is the mean distance of the likely share from that of a program, *inside* how many
programs lie between the bounds: for a fit to all other programs (leave one out), next to the same for the assumption;
*beyond* are programs whose fix gained more than removing all of the claim would, which no share can describe:
something else improved, too. They are left out of the fit, and count as outside. A fit is used from {LEAST_PROGRAMS}
other programs on, if it is closer or covers more, unless more than {share(MOST_BEYOND)} of the programs are beyond,
or less than {share(COVERED)} lie inside; its bounds end where the assumed ones end. Below {PROGRAMS_FOR_BOUNDS}
programs, the number needed for bounds that cover {share(COVERED)}, they are only widened. Fits without a GPU are
never used for traces with one, and vice versa."""

_ON: Mapping[Hardware | None, str] = {"cpu": "CPU", "gpu": "GPU", None: "not said"}


def calibration_section(lines: Sequence[Calibrated]) -> Iterator[str]:
    """Yield the Markdown lines on how predictions of savings compare with measured savings, by rule and hardware."""
    yield HEADING
    yield ""
    if not lines:
        yield "None yet."
        yield ""
        return
    yield _INTRODUCTION.format(predictions=some(len(lines), "prediction"))
    yield ""
    yield "| rule | on | predictions | programs | inside | by interval | error | bias |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for kind, group in group_by_hardware(lines).items():
        yield _format_row("all", kind, group)
    for rule, of_rule in group_by_rule(lines).items():
        for kind, group in group_by_hardware(of_rule).items():
            yield _format_row(rule, kind, group)
    yield ""
    yield from _list_misses([line for line in lines if not line.is_inside])
    yield from _list_fits(fit_all(lines))


def _format_row(name: str, kind: Hardware | None, lines: Sequence[Calibrated]) -> str:
    found = measure_accuracy(lines)
    inside = f"{found.inside} ({share(found.inside / found.predictions)})"
    numbers = f"{found.predictions} | {found.programs} | {inside} | {found.reaching}"
    return f"| {name} | {_ON[kind]} | {numbers} | {share(found.error)} | {change_share(found.bias)} |"


def _list_misses(missed: Sequence[Calibrated]) -> Iterator[str]:
    if not missed:
        return
    yield "### Misses"
    yield ""
    yield (
        "Shares of the step; *recording* is how much longer it was with the profiler, *from, to* the interval "
        "of the gain (for pairs, the range of their turns), *why* the `note` of the line."
    )
    yield ""
    yield "| rule | on | program | pair | changed | recording | likely | range | won | from, to | why |"
    yield "|---|---|---|---|---|---:|---:|---:|---:|---:|---|"
    for line in missed:
        low, high = line.saving_low_ns / line.step_ns, line.saving_high_ns / line.step_ns
        cells = (
            *(
                line.rule,
                _ON[line.hardware],
                line.program or "not named",
                line.pair,
                (f"{line.knob} {line.knob_before} to {line.knob_after}" if line.knob else "-"),
                _format_recording(line),
            ),
            *(share(line.likely_share), f"{share(low)} to {share(high)}", change_share(line.won_share)),
            f"{change_share(line.won_low_ns / line.base_ns)} to {change_share(line.won_high_ns / line.base_ns)}",
            line.note or "not explained yet",
        )
        yield f"| {' | '.join(map(markdown, cells))} |"
    yield ""


def _format_recording(line: Calibrated) -> str:
    """Return how much longer the step was while recorded, as a share; a dash if the measured saving is from recordings too."""
    return "-" if line.how == "verify" else change_share(line.step_ns / line.base_ns - 1)


def _list_fits(found: Mapping[str, Mapping[Hardware, ShareFit]]) -> Iterator[str]:
    if not found:
        return
    yield "### Shares of claimed time"
    yield ""
    yield _FITTED
    yield ""
    yield "| rule | on | programs | beyond | assumed | fitted | error | of assumed | inside | of assumed | used |"
    yield "|---|---|---:|---:|---|---|---:|---:|---:|---:|---|"
    for rule, of_rule in found.items():
        for kind, fit in of_rule.items():
            score = fit.score
            cells = (
                *(
                    rule,
                    _ON[kind],
                    str(fit.programs),
                    str(fit.beyond),
                    _format_shares(fit.assumed),
                    _format_shares(fit.fitted),
                ),
                *(_format_number(score.error if score else None), _format_number(fit.score_assumed.error)),
                *(share(score.coverage) if score else "-", share(fit.score_assumed.coverage)),
                _format_shares(fit.taken) if fit.taken else "assumed",
            )
            yield f"| {' | '.join(cells)} |"
    yield ""


def _format_shares(shares: Shares | None) -> str:
    if shares is None:
        return "-"
    low, likely, high = (f"{each:.2g}" for each in shares)
    return f"{likely} ({low} to {high})"


def _format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
