"""Whether traceq names a cause that was put into a real trace: tests/perturbed makes the traces and says what must follow.

    python tests/benchmarks/perturbed_truth.py [--write] [--work DIR] [NAME ...]

Prints a table, a row a perturbed trace; --write puts it into its section of docs/accuracy.md.

* **First**: the first finding names the cause (rules of its words in causes.json). Where the unchanged trace has a
  larger bottleneck, which still stands first, it is the first finding of those that are new or have grown.
* **Size**: what these rules say more than of the unchanged trace, beside what the trace grew by; 30 % is near enough.
* The rules of all packs are asked as equals; **by default** says of each trace whether it is right of those asked by default.
* **False**: a finding of at least 1 % of the step that the unchanged trace does not have and that is neither the cause nor its
  consequence, among all findings of at least 1 %.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "perturbed"), str(TESTS)]

from labelled.packs import as_if_confirmed  # noqa: E402
from perturbations import CASES, MS, Perturbation, strip_endings  # noqa: E402

from traceq.database.connect import connect  # noqa: E402
from traceq.diagnosis.grading.causes import all_causes  # noqa: E402
from traceq.diagnosis.judge import Judged, judge  # noqa: E402
from traceq.loading.ingest import ingest  # noqa: E402

PAGE = TESTS.parent / "docs" / "accuracy.md"
BEGIN, END = "<!-- perturbed: begin -->", "<!-- perturbed: end -->"
LEAST = 0.01  # of the step: below it nothing has to be said, and nothing that is said is judged
ABSENT = 0.005  # of the step: what the unchanged trace says less of it does not have
GROWN = 1.25  # a finding that stood there before is larger from this on
NEAR = 0.3  # of the true size


class Said(NamedTuple):
    """Findings of a trace by rule, ns per step, the largest first; what is listed under them; and its mean step."""

    savings: Mapping[str, float]
    under: Mapping[str, float]
    step: float

    def has(self, rule: str) -> bool:
        """Whether it is said of the trace, as a finding or under another."""
        return max(self.savings.get(rule, 0), self.under.get(rule, 0)) >= ABSENT * self.step


class Row(NamedTuple):
    """How a perturbed trace was judged: sizes in ns per step; `false` are rules; `said` counts findings of at least 1 %."""

    name: str
    edit: str
    causes: tuple[str, ...]
    first: str
    is_right: bool
    true_size: float
    size: float
    step: float
    false: tuple[str, ...]
    said: int
    is_right_by_default: bool = False

    @property
    def is_near(self) -> bool:
        """Whether the size is within 30 %."""
        return abs(self.size - self.true_size) <= NEAR * self.true_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true", help="into docs/accuracy.md")
    parser.add_argument("--work", type=Path, help="keep the perturbed traces there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="traceq.") as folder:
        work = asked.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        rows = list(_rows([case for case in CASES if not asked.names or case.name in asked.names], work))
    text = "\n".join(told(rows))
    print(text)
    if asked.write:
        PAGE.write_text(placed(PAGE.read_text(), text))


def _rows(cases: Sequence[Perturbation], work: Path) -> Iterator[Row]:
    before: dict[str, tuple[Said, Said]] = {}
    for case in cases:
        if case.trace not in before:
            before[case.trace] = said(case.source, work)
        path, truth = case.make(work)
        row, by_default = (scored(truth, *each) for each in zip(before[case.trace], said(path, work), strict=True))
        row = row._replace(is_right_by_default=by_default.is_right)
        mark = "right" if row.is_right else "WRONG"
        print(
            f"{row.name}: {mark}, {row.first}, {row.size / MS:.2f} of {row.true_size / MS:.2f} ms, false {row.false}",
            file=sys.stderr,
            flush=True,
        )
        yield row


def said(path: Path, work: Path) -> tuple[Said, Said]:
    """Judge a trace twice: by the rules of all packs, and by those asked by default."""
    database = work / f"{strip_endings(path)}.duckdb"
    database.unlink(missing_ok=True)
    ingest([path], database)
    with closing(connect(database)) as connection:
        (step,) = connection.execute("select mean from step_stats").fetchone() or (0,)
        of_all, by_default = (_said(judge(connection, rules=rules), step or 0) for rules in (as_if_confirmed(), None))
    return of_all, by_default


def _said(judgements: Sequence[Judged], step: float) -> Said:
    savings: dict[str, float] = {}
    under: dict[str, float] = {}
    for judged in judgements:
        for finding in judged.findings:
            savings[finding.rule] = max(savings.get(finding.rule, 0), finding.saving_ns)
            for part in finding.parts:
                under[part.rule] = max(under.get(part.rule, 0), part.saving_ns)
    return Said(dict(sorted(savings.items(), key=lambda item: -item[1])), under, float(step))


def scored(truth: Mapping[str, Any], before: Said, after: Said) -> Row:
    """What was said beside what must follow."""
    rules = {rule for cause in truth["causes"] for rule in all_causes()[cause].rules}
    consequences = {rule for cause in truth["may_follow"] for rule in all_causes()[cause].rules}
    grown = [rule for rule, saving in after.savings.items() if saving > GROWN * before.savings.get(rule, 0)]
    first = next(iter(after.savings), "nothing")
    if first not in rules and first in before.savings and first not in grown:
        first = next(iter(grown), "nothing")
    large = [rule for rule, saving in after.savings.items() if saving >= LEAST * after.step]
    false = [rule for rule in large if rule not in rules | consequences and not before.has(rule)]
    size = sum(after.savings.get(rule, 0) - before.savings.get(rule, 0) for rule in rules)
    return Row(
        truth["name"],
        f"{strip_endings(Path(truth['trace']))}: {truth['edit']}",
        tuple(truth["causes"]),
        first,
        first in rules if rules else not false,
        truth["size_ns"],
        size,
        after.step,
        tuple(false),
        len(large),
    )


def told(rows: Sequence[Row]) -> Iterator[str]:
    """The section: sums first, then a row a trace."""
    caused = [row for row in rows if row.causes]
    false, all_said = sum(len(row.false) for row in rows), sum(row.said for row in rows)
    right, near = sum(row.is_right for row in caused), sum(row.is_near for row in caused)
    yield (
        f"{len(rows)} real traces changed by a script that imports no traceq: the cause comes first in {right} of {len(caused)}"
        f" ({right / max(len(caused), 1):.1%}), its size is within {NEAR:.0%} in {near}; {false} of {all_said} findings of at"
        f" least {LEAST:.0%} are false. Where only the clock was set wrong nothing new may be said. The rules of all packs are"
        f" asked, as equals; of those asked by default the cause comes first in {sum(row.is_right_by_default for row in caused)}."
    )
    missed = Counter(" or ".join(row.causes) for row in caused if row.is_right and not row.is_right_by_default)
    if missed:
        told = ", ".join(
            f"{cause} ({count})" for cause, count in sorted(missed.items(), key=lambda each: (-each[1], each))
        )
        yield f"What these miss, by cause: {told}."
    yield ""
    yield "| trace | what was done | cause | first | by default | true size | said | share | false |"
    yield "|---|---|---|---|---|---:|---:|---:|---|"
    for row in rows:
        cells = (
            row.name,
            row.edit,
            " or ".join(row.causes) or "none",
            row.first if row.is_right else f"**{row.first}**",
            "right" if row.is_right_by_default else "**missed**",
            f"{row.true_size / MS:.2f} ms" if row.causes else "",
            f"{row.size / MS:.2f} ms" if row.causes else "",
            f"{row.true_size / row.step:.0%}" if row.causes else "",
            ", ".join(row.false),
        )
        yield "| " + " | ".join(cells) + " |"


def placed(page: str, text: str) -> str:
    """The page with `text` in its section, which is added when it is not there."""
    section = f"{BEGIN}\n\n## Known causes in real traces\n\nWritten by `tests/benchmarks/perturbed_truth.py`. {text}\n\n{END}"
    if BEGIN in page:
        return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: section, page, flags=re.DOTALL)
    return f"{page.rstrip()}\n\n{section}\n"


if __name__ == "__main__":
    main()
