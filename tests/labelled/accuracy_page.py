"""docs/accuracy.md: how well the rules judge, as `python tools/accuracy.py` measures it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from pairs.measurements import load, section

from labelled import real, real_page, rule_cases
from labelled.measure import LEAST_OF_TRUE, MOST_OF_HEALTHY, Accuracy, Measured, accuracy, cases, measure
from traceq.diagnosis.grading.shares import compute_shares
from traceq.diagnosis.rules.registry import RULES

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"

_TITLE = """\
# How well the rules judge
"""
_INTRODUCTION = """\

## Simulated programs

Written by `python tools/accuracy.py -o docs/accuracy.md`, from traces whose bottleneck is known. *First* is right when
what stands first in the report was put into the program (of two, when both are among the first three), and nothing forbidden
was found. The rules of all packs are asked, and ranked as equals: `--rules extra` shows the same findings, but those of the pack
extra apart from the rest. *By default* is how often the first is right where only the rules are asked that are asked by default.
*Recall* is the share of bottlenecks found at all. A finding is *true* when taking its cause out of the simulated program makes
steps at least {least} faster; *precision* is the share of true ones. *Inside* is how often what the fix really wins lies between
the finding's bounds, and *error* the median distance of the likely saving from it, as a share of it; both of the findings that
name the only bottleneck.

"""

_GROUPS = {
    "single": "one bottleneck, simulated",
    "pair": "two bottlenecks, simulated",
    "clean": "healthy loops, simulated",
}


def written(only: str | None, jobs: int) -> tuple[str, list[str]]:
    """The page, and what is broken: cases of rules that end otherwise than they say, and rules that failed."""
    wanted = [case for case in cases() if only is None or re.search(only, case.name)]
    small = [(rule, name) for rule in RULES for name in rule_cases.functions(rule)]
    small = [each for each in small if only is None or re.search(only, each[0])]
    with ProcessPoolExecutor(jobs) as pool:
        ended = list(pool.map(_ended, small, chunksize=8))
    measured = measure(wanted, jobs)
    broken = [
        f"{rule}: case {name} ends as {end}"
        for (rule, name), end in zip(small, ended, strict=True)
        if end != rule_cases.expected(name)
    ]
    broken += [f"{each.name}: {failure}" for each in measured for failure in each.failed]
    lines = [
        *_table(measured),
        "",
        *_missed(measured),
        *_of_rules(small),
        "",
        *_wrong(measured),
        *_kept("calibration"),
        "",
        *_causes(measured),
    ]
    lines += [
        "",
        *section(load()),
        "",
        *_kept("jobs"),
        "",
        *_kept("perturbed"),
        "",
        *_kept("replay"),
        "",
        *_kept("compared"),
    ]
    first = [_TITLE, *_kept("blind"), "", *_kept("judged3"), "", *_kept("real"), ""]
    return "\n".join(first) + _INTRODUCTION.format(least=_share(LEAST_OF_TRUE)) + "\n".join(
        lines
    ).rstrip() + "\n", broken


def of_real_traces(only: str | None, jobs: int, *, sensitivity: bool, keeps: bool) -> tuple[str, list[str]]:
    """The page with the section on real traces written anew, and what broke or became worse.

    With `keeps` what is reached is kept, as what later runs must not fall below.
    """
    truths = [each for each in real.truths() if only is None or re.search(only, each.name)]
    results = real.compared(truths, jobs)
    changed = (
        real_page.sensitivity(truths, jobs)[0] if sensitivity else real_page.last_sensitivity(PAGE.read_text("utf-8"))
    )
    unseen = real.compared(
        [each for each in real.truths("judged3") if only is None or re.search(only, each.name)], jobs
    )
    lines = "\n".join([*real_page.unseen_section(unseen), "", *real_page.section(results, changed)])
    reached = compute_shares(results)
    broken = [f"{each.truth.name}: {failure}" for each in [*results, *unseen] for failure in each.failed]
    if not keeps:
        return lines + "\n", broken if only else broken + real_page.worse(reached)
    real_page.keep(reached)
    page = PAGE.read_text("utf-8")
    begin, _, rest = page.partition(real_page.BEGIN_UNSEEN if real_page.BEGIN_UNSEEN in page else real_page.BEGIN)
    return begin + lines + rest.partition(real_page.END)[2], broken


def _kept(name: str) -> Iterator[str]:
    """The section between the marks of this name, as it stands on the page: others write it."""
    found = re.search(f"<!-- {name}: begin -->.*<!-- {name}: end -->", PAGE.read_text("utf-8"), re.DOTALL)
    yield from [found[0]] if found else []


def _ended(case: tuple[str, str]) -> str:
    return rule_cases.outcome(*case)


def _table(measured: Sequence[Measured]) -> Iterator[str]:
    yield "| traces | cases | first | by default | recall | precision | inside | error |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for kind, label in _GROUPS.items():
        group = [each for each in measured if each.kind == kind]
        if group:
            yield _row(label, accuracy(group))
    clean = accuracy([each for each in measured if each.kind == "clean"])
    if clean.worst_healthy is not None:
        yield ""
        worst, aim = _share(clean.worst_healthy), _share(MOST_OF_HEALTHY)
        yield f"The largest finding of a healthy loop is {worst} of its step; the aim is below {aim}."


def _row(label: str, numbers: Accuracy) -> str:
    right = f"{_share(numbers.right / numbers.cases)} | {_share(numbers.right_by_default / numbers.cases)}"
    cells = (numbers.recall, numbers.precision, numbers.inside, numbers.median_error)
    return f"| {label} | {numbers.cases} | {right} | " + " | ".join(map(_share, cells)) + " |"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.3g} %"


def _missed(measured: Sequence[Measured]) -> Iterator[str]:
    """By cause the bottlenecks that only rules of the pack extra find."""
    expected = Counter(rules for each in measured for rules in each.expected)
    missed = Counter(rules for each in measured for rules in each.missed)
    if not missed:
        return
    yield "What the rules asked by default miss of these programs, and those of the pack extra find, by cause:"
    yield ""
    yield "| rules that name the cause | bottlenecks | missed by default |"
    yield "|---|---:|---:|"
    for rules, count in sorted(missed.items(), key=lambda each: (-each[1], sorted(each[0]))):
        yield f"| {', '.join(sorted(rules))} | {expected[rules]} | {count} |"
    yield ""


def _of_rules(small: Sequence[tuple[str, str]]) -> Iterator[str]:
    rules = len({rule for rule, _ in small})
    kinds = {kind: sum(rule_cases.expected(name) == kind for _, name in small) for kind in rule_cases.KINDS}
    yield (
        f"Beside these each of {rules} rules has cases of a few lines: {kinds['found']} in which it has to find something,"
        f" {kinds['clean']} in which it must not, and {kinds['cannot_tell']} in which it has to say that it cannot tell."
    )


def _wrong(measured: Sequence[Measured]) -> Iterator[str]:
    wrong = [each for each in measured if not each.is_right]
    if wrong:
        yield "## Not right"
        yield ""
        for each in wrong:
            expected = ", ".join("/".join(sorted(rules)) for rules in each.expected)
            yield f"* {each.name}: {', '.join(each.rules[:3]) or 'nothing'} instead of {expected}"
        yield ""


def _causes(measured: Sequence[Measured]) -> Iterator[str]:
    yield "## Predicted and real savings"
    yield ""
    yield "Per step, in microseconds; of one bottleneck each."
    yield ""
    yield "| trace | finding | likely | range | really |"
    yield "|---|---|---:|---:|---:|"
    for each in measured:
        named = each.named if each.kind != "pair" else None
        if named is not None and named.won is not None:
            yield (
                f"| {each.name} | {named.rule} | {named.saving / 1e3:,.0f} |"
                f" {named.low / 1e3:,.0f} to {named.high / 1e3:,.0f} | {named.won / 1e3:,.0f} |"
            )
