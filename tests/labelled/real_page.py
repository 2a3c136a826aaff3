"""The first section of docs/accuracy.md: how right reports of real traces are, trace by trace, and whether that became worse."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from labelled.real import TRUTH
from labelled.sensitivity import FACTORS, changes
from traceq.diagnosis.grading.grade import GradedResult
from traceq.diagnosis.grading.shares import CONFIDENCES, compute_shares, count_findings
from traceq.diagnosis.grading.truth import Truth
from traceq.diagnosis.query import all_thresholds

REACHED = TRUTH / "reached.json"
BEGIN, END = "<!-- real: begin -->", "<!-- real: end -->"
BEGIN_UNSEEN, END_UNSEEN = "<!-- judged3: begin -->", "<!-- judged3: end -->"

_HOW = """\
Written by `python tools/accuracy.py --real -o docs/accuracy.md`: {traces} public traces of training, inference, serving and HPC,
labelled from the raw files by readers who had run no traceq (tests/truth). A first finding is *right* when its cause is one
that the label accepts as the first and its likely saving is within 30 % of the label's, or between the label's bounds;
*partly* when it is true but another cause is larger, or its size is another. Where the label says that nothing can be won, or
that the capture cannot tell, no finding may be wrong. A first "cannot tell" counts as in the section above, and a label that
accepts "saturated", "before the capture" or "unattributed" first says so, too. A finding is *true* by its cause and its size.
What may be said beside the bottlenecks is in the labels, too. **These traces were at hand while the
rules were written**: what is reached here is a fit to them, and says little of other traces.
"""

_HOW_UNSEEN = """\
Written with the section below: {traces} traces (judged3) of the 127 above. No rule was written for them when readers said what is
true of them. Labels were made of that, and checked against the raw files, before the rules were changed; since then the rules
have been mended by the kinds of errors that these traces showed. They are **not unseen any more**: what is reached says that
kinds are mended, and the blind rows above say what to expect. A first "cannot tell" is right where the label says so, too,
*partly* where it names the label's line of the ledger or is followed by what may stand first, else wrong. Confidence is that of
the record ([decision 0030](decisions/0030-account.md)) without the traces of the program that is judged.
"""

_AIMS_UNSEEN = {"first_right": 0.85, "findings_true": 0.85, "high_true": 0.95}
_AIMS = {"first_right": 0.95, "findings_true": 0.90, "high_true": 0.98}
_WORDS = {
    "first_right": "first finding right",
    "first_wrong": "first finding wrong",
    "found": "bottlenecks found",
    "findings_true": "findings true",
    "high_true": "findings of high confidence true",
}


def worse(reached: dict[str, float]) -> list[str]:
    """What is worse than tests/truth/reached.json says it was."""
    before = json.loads(REACHED.read_text("utf-8"))
    return [
        f"{_WORDS[name]}: {_percent(reached[name])}, was {_percent(share)}"
        for name, share in before.items()
        if (reached[name] > share + 1e-9 if name == "first_wrong" else reached[name] < share - 1e-9)
    ]


def keep(reached: dict[str, float]) -> None:
    """Write what was reached into tests/truth/reached.json."""
    REACHED.write_text(json.dumps(reached, indent=2) + "\n", "utf-8")


def unseen_section(results: Sequence[GradedResult]) -> Iterator[str]:
    """The lines of the section on judged3, between its marks."""
    yield BEGIN_UNSEEN
    yield ""
    yield "## Real traces that no rule was written for, after their kinds were mended"
    yield ""
    yield _HOW_UNSEEN.format(traces=len(results))
    yield from _reached(results, _AIMS_UNSEEN)
    untold = [each.untold for each in results if each.untold is not None]
    share = _percent(_mean(untold))
    yield f"Of {len(untold)} traces with work of a GPU {share} of the time cannot be told, on average (aim: 25 %)."
    yield ""
    yield from _by_confidence(results)
    yield ""
    yield from _rows(results)
    yield END_UNSEEN


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _by_confidence(results: Sequence[GradedResult]) -> Iterator[str]:
    yield "| findings of confidence | true | partly | wrong |"
    yield "|---|---:|---:|---:|"
    for confidence in CONFIDENCES:
        true, partly, wrong = count_findings(results, confidence)
        yield f"| {confidence} | {true} | {partly} | {wrong} |"


def section(results: Sequence[GradedResult], changed: Sequence[str] = ()) -> Iterator[str]:
    """The lines of the section, between its marks; `changed` are those of `sensitivity`."""
    yield BEGIN
    yield ""
    yield "## Real traces at hand"
    yield ""
    yield _HOW.format(traces=len(results))
    yield from _reached(results, _AIMS)
    yield from changed
    yield from _rows(results)
    yield END


def _reached(results: Sequence[GradedResult], aims: Mapping[str, float]) -> Iterator[str]:
    reached = compute_shares(results)
    yield "| | reached | aim |"
    yield "|---|---:|---:|"
    for name, words in _WORDS.items():
        aim = f"{aims[name]:.0%}".replace("%", " %") if name in aims else ""
        yield f"| {words} | {_percent(reached[name])} | {aim} |"
    yield ""


def _rows(results: Sequence[GradedResult]) -> Iterator[str]:
    yield "| trace | first | said first | size | true of it | size | findings true |"
    yield "|---|---|---|---:|---|---:|---:|"
    for each in sorted(results, key=lambda result: result.truth.name):
        yield _row(each)
    yield ""


def _row(result: GradedResult) -> str:
    truth = result.truth
    said = result.said[0] if result.said else None
    said_first = said.rule if said else ", ".join(result.remarks[:1]) or "nothing"
    largest = truth.bottlenecks[0] if truth.bottlenecks and not truth.nothing else None
    right = sum(each.verdict == "right" for each in result.said)
    truth_told = f"{largest.cause} | {_percent(largest.size)}" if largest else "nothing to win |"
    size = _percent(said.share) if said else ""
    return f"| {truth.name} | {result.first} | {said_first} | {size} | {truth_told} | {right} of {len(result.said)} |"


def sensitivity(truths: Sequence[Truth], jobs: int) -> tuple[list[str], float]:
    """Lines on which first findings change with which threshold, and the largest share of traces that one of them changes."""
    with ProcessPoolExecutor(jobs) as pool:
        found = list(zip(truths, pool.map(changes, truths), strict=True))
    times = Counter((key, factor) for _, changed in found for key, factor, _, _ in changed)
    most = max(times.values(), default=0) / max(len(truths), 1)
    lines = [
        (
            f"Each of {len(all_thresholds())} thresholds times and divided by {FACTORS[0]}: one changes the first finding of at"
            f" most {_percent(most)} of the traces (aim: 5 %)."
        ),
        "",
    ]
    for ((place, name), factor), count in times.most_common(10):
        lines.append(f"* `{place}.{name}` x {factor:.2f}: {count} of {len(truths)} traces")
    return [*lines, ""], most


def last_sensitivity(page: str) -> list[str]:
    """The lines of `sensitivity` that the page has: it takes half an hour, and is not measured every time."""
    found = re.search(r"^Each of \d+ thresholds .*?\n(?=\| trace )", page, re.MULTILINE | re.DOTALL)
    return [*found[0].rstrip("\n").split("\n"), ""] if found else []


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
