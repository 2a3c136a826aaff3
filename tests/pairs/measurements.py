"""What was measured of the pairs, as fixtures/pairs/measured.json keeps it, and docs/accuracy.md shows it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from pairs.catalogue import FIRST, PAIRS, Pair

FOLDER = Path(__file__).parents[2] / "fixtures" / "pairs"
FILE = FOLDER / "measured.json"
TRUTH = Path(__file__).parents[1] / "truth" / "pairs.json"
LEAST = 0.01  # of a step; errors are shares of what was won, or of this where it is less
NEAR = 0.25
HEADING = "## Pairs run on a CPU"

_INTRODUCTION = """\
Programs of `fixtures/make/pairs`, with a flaw and with its fix, run by `python tests/benchmarks/cpu_pairs.py --write` with
PyTorch on {cores} cores: slow and fixed in turns, {runs} times each, without a profiler. Both end with the same loss where the
fix changes no result. *Slow* and *fixed* are milliseconds a step: the median of a run, or its mean where the flaw is in some
steps only, and the median of the runs. They are CPU time, which other programs change little, except where a program waits or
needs several cores: *clock*. *Won* is 1 - fixed / slow: median and range of the turns. Freed memory stays with the process
(MALLOC_TRIM_THRESHOLD_), since the page faults of a few steps else decide which run is the faster.

*Likely* and *range* are shares of the step that the finding says in the report of a trace of the slow program; `traceq explain
RULE` says what they follow from. The finding is that of the first rule that may name the flaw (`tests/pairs/catalogue.py`) and
found something. These lists are no blind prediction: for the first {first} pairs they were written together with the rules, which
had these programs at hand; for {changed} later ones they were changed after reports had been seen (*changed*).
The first predictions held in 35 of 43 pairs. host-anomaly-mode, host-attention, the backward pass of host-item-loop, the upper
bound of host-many-operators and Student's t for few steps were made when these misses were known, each by what a fix of its
kind does: what lies inside now is no blind prediction either. *Marked*: the program has a `record_function` around the flaw.
*Error* is the distance of likely from the median won, as a share of that.
*Inside*: the median won lies in the range, or that of some turns: the range of a few turns is no interval of confidence.
*Advised*: the fix that the rule advises, where another one was measured; what the one wins says little of the other.
"""


class Predicted(TypedDict):
    """Shares of a step that the finding of a rule says."""

    rule: str
    low: float
    likely: float
    high: float


class Measured(TypedDict):
    """One pair: nanoseconds a step of each run, and shares of a step that the report of a trace of the slow program says."""

    slow_ns: list[int]
    fixed_ns: list[int]
    predicted: Predicted | None


class Measurements(TypedDict):
    """All pairs, how many cores they had, and those that failed when they were run last."""

    cores: int
    pairs: dict[str, Measured]
    failed: NotRequired[list[str]]


def load() -> Measurements:
    """What was measured last."""
    content: Measurements = json.loads(FILE.read_text("utf-8"))
    return content


def won(measured: Measured) -> list[float]:
    """The share of a step that the fix won in each turn, ascending."""
    return sorted(1 - fixed / slow for slow, fixed in zip(measured["slow_ns"], measured["fixed_ns"], strict=True))


def section(measurements: Measurements) -> Iterator[str]:
    """The lines of the page's section."""
    known = [(pair, measurements["pairs"][pair.name]) for pair in PAIRS if pair.name in measurements["pairs"]]
    runs = max(len(measured["slow_ns"]) for _, measured in known)
    yield HEADING
    yield ""
    changed = sum(pair.changed for pair in PAIRS)
    yield _INTRODUCTION.format(cores=measurements["cores"], runs=runs, first=FIRST, changed=changed)
    if failed := measurements.get("failed"):
        yield f"Failed when they were run last, and not in the tables: {', '.join(failed)}."
        yield ""
    yield "| pairs | all | predicted | median error | within 25 % | inside | of all | of predicted | more in some turns |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, group in _groups(known).items():
        yield _summary(name, group)
    yield ""
    yield "| pair | fix | slow | fixed | won | finding | likely | range | error | inside |"
    yield "|---|---|---:|---:|---:|---|---:|---:|---:|---|"
    for pair, measured in known:
        yield _row(pair, measured)
    yield ""
    yield "| pair | time | with | marked | may be named by | advised | what goes, and what stays |"
    yield "|---|---|---|---|---|---|---|"
    for pair, _ in known:
        rules, needs = ", ".join(pair.rules) or "no rule yet", ", ".join(pair.needs) or "-"
        rules += " (changed)" if pair.changed else ""
        time, marked = "clock" if pair.clock else "CPU", "yes" if is_marked(pair) else "-"
        yield f"| {pair.name} | {time} | {needs} | {marked} | {rules} | {pair.advised or '-'} | {pair.why} |"
    yield ""


def truth(measurements: Measurements) -> dict[str, Any]:
    """Labels of the slow programs' traces, as tests/truth has them: from the programs and their times, not from a report.

    A fix that lost in a turn shows no bottleneck, and has no label.
    """
    known = {pair: measurements["pairs"][pair.name] for pair in PAIRS if pair.name in measurements["pairs"]}
    return {pair.name: _label(pair, measured) for pair, measured in known.items() if won(measured)[0] > 0}


def _label(pair: Pair, measured: Measured) -> dict[str, Any]:
    """What a performance engineer would tell of a step, ns without the profiler, by the clock or of CPU."""
    step, shares = statistics.median(measured["slow_ns"]), won(measured)
    low, size, high = (round(share * step) for share in (shares[0], statistics.median(shares), shares[-1]))
    trace = f"fixtures/pairs/{pair.name}.pt.trace.json.gz"
    bottleneck = {
        "cause": pair.cause,
        "what": pair.why,
        "size_ns": size,
        "low_ns": low,
        "high_ns": high,
        "fix": pair.fix,
        "evidence": {
            "how": f"fixtures/make/pairs/{pair.name}.py slow and fixed in turns, by {'the clock' if pair.clock else 'CPU time'}",
            "found": {"slow_ns": measured["slow_ns"], "fixed_ns": measured["fixed_ns"]},
        },
    }
    return {
        "trace": trace if (FOLDER.parents[1] / trace).is_file() else None,
        "rules": list(pair.rules),
        "judged": {
            "per": "step",
            "step_ns": round(step),
            "busy_ns": 0,
            "bottlenecks": [bottleneck],
            "first": [pair.cause],
            "also_true": [],
            "nothing": False,
            "cannot_tell": [],
            "must_not_say": [],
            "note": pair.note,
        },
    }


def is_marked(pair: Pair) -> bool:
    """Whether the program names the flaw's time for the profiler."""
    program = FOLDER.parents[1] / "fixtures" / "make" / "pairs" / f"{pair.name}.py"
    return "record_function(" in program.read_text("utf-8")


def _groups(known: Sequence[tuple[Pair, Measured]]) -> dict[str, list[Measured]]:
    """What is shown apart: pairs that were at hand when rules were written, and flaws that their programs mark."""
    first = {pair.name for pair in PAIRS[:FIRST]}
    return {
        "all": [measured for _, measured in known],
        f"first {FIRST}": [measured for pair, measured in known if pair.name in first],
        "later": [measured for pair, measured in known if pair.name not in first],
        "marked": [measured for pair, measured in known if is_marked(pair)],
        "not marked": [measured for pair, measured in known if not is_marked(pair)],
        "lists not changed": [measured for pair, measured in known if not pair.changed],
    }


def _summary(name: str, measured: Sequence[Measured]) -> str:
    errors = [error for each in measured if (error := _error(each)) is not None]
    if not errors:
        return f"| {name} | {len(measured)} | 0 | - | - | - | - | - | - |"
    inside = [_inside(each) for each in measured]
    counts = f"{len(measured)} | {len(errors)} | {_percent(statistics.median(errors))} | {sum(error <= NEAR for error in errors)}"
    yes = inside.count("yes")
    shares = f"{_percent(yes / len(measured))} | {_percent(yes / len(errors))}"
    return f"| {name} | {counts} | {yes} | {shares} | {inside.count('some turns')} |"


def _row(pair: Pair, measured: Measured) -> str:
    shares, predicted = won(measured), measured["predicted"]
    cells = [
        pair.name,
        pair.fix,
        f"{statistics.median(measured['slow_ns']) / 1e6:.2f}",
        f"{statistics.median(measured['fixed_ns']) / 1e6:.2f}",
        f"{_percent(statistics.median(shares))} ({_percent(shares[0])} to {_percent(shares[-1])})",
    ]
    if predicted is None:
        cells += ["none", "-", "-", "-", "-"]
    else:
        cells += [
            predicted["rule"],
            _percent(predicted["likely"]),
            f"{_percent(predicted['low'])} to {_percent(predicted['high'])}",
            _percent(_error(measured)),
            _inside(measured),
        ]
    return f"| {' | '.join(cells)} |"


def _error(measured: Measured) -> float | None:
    if measured["predicted"] is None:
        return None
    truth = statistics.median(won(measured))
    return abs(measured["predicted"]["likely"] - truth) / max(truth, LEAST)


def _inside(measured: Measured) -> str:
    """Whether the median of the turns lies in the range; "some turns" where only the range of the turns meets it."""
    predicted = measured["predicted"]
    if predicted is None:
        return "-"
    shares = won(measured)
    if predicted["low"] <= statistics.median(shares) <= predicted["high"]:
        return "yes"
    return "some turns" if predicted["low"] <= shares[-1] and shares[0] <= predicted["high"] else "no"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
