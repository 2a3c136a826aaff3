"""Real traces with what limits them, judged by people from the raw files (tests/truth/traces), beside what findings say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, get_args

import duckdb

from traceq.database.connect import connect
from traceq.diagnosis.grading.grade import GradedResult, grade, grade_refused
from traceq.diagnosis.grading.labels import parse_label, truth_of
from traceq.diagnosis.grading.output import summarize_report
from traceq.diagnosis.grading.truth import Truth
from traceq.diagnosis.judge import judge
from traceq.diagnosis.record import load_record
from traceq.diagnosis.rules.registry import Rule, all_rules
from traceq.errors import TraceqError
from traceq.loading.ingest import ingest

TRUTH = Path(__file__).resolve().parents[1] / "truth"
SHARED = Path(__file__).resolve().parents[2].parent / "shared"

# Those at hand while the rules were written, those that no rule had met when they were labelled, and the blind batches once they
# are measured: what is said of them now is no blind result.
Sample = Literal["known", "judged3", "blind"]


@cache
def _programs() -> tuple[tuple[str, str], ...]:
    return tuple(json.loads((TRUTH / "programs.json").read_text("utf-8")).items())


def program_of(name: str) -> str:
    """The program of a trace: all its versions and ranks are one; that of a trace that stands alone is its name."""
    return next((program for pattern, program in _programs() if re.search(pattern, name)), name)


def truth_by_name(name: str) -> Truth:
    """The truth of a trace by its name, whether or not it lies beside the checkout."""
    content = next(each for each in _label_files() if each.stem == name).read_bytes()
    return truth_of(parse_label(content, f"{name}.json"), name, SHARED / json.loads(content)["trace"])


def _label_files() -> list[Path]:
    """Return the labels, those of blind batches last."""
    return [*sorted((TRUTH / "traces").glob("*.json")), *sorted((TRUTH / "blind").glob("*/*.json"))]


def labelled() -> list[tuple[str, Path]]:
    """The names and files of all traces of which a label says what slows them down."""
    found = []
    for label in _label_files():
        told = json.loads(label.read_text("utf-8"))
        if "judged" in told:
            found.append((label.stem, SHARED / told["trace"]))
    return found


def truths(sample: Sample = "known") -> Iterator[Truth]:
    """Yield the truth of every labelled trace of the sample that lies beside the checkout."""
    for name, path in labelled():
        folder = path.relative_to(SHARED).parts[0]
        is_of_sample = folder == sample if folder in get_args(Sample) else sample == "known"
        if is_of_sample and path.is_file():
            yield truth_by_name(name)


def compared(wanted: Sequence[Truth], jobs: int = 1, *, extra: bool = False) -> list[GradedResult]:
    """Compare what the rules say of each trace with the truth; `extra` asks the pack extra, too."""
    judge_one = partial(one, extra=extra)
    if jobs == 1:
        return [judge_one(each) for each in wanted]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(judge_one, wanted))


def one(truth: Truth, *, extra: bool = False) -> GradedResult:
    """Compare what the rules say of a trace with the truth. Of a file that is refused nothing is said."""
    with TemporaryDirectory(prefix="traceq.") as folder:
        database = Path(folder) / "real.duckdb"
        try:
            ingest([str(truth.path)], database)
        except TraceqError:
            return grade_refused(truth)
        with closing(connect(database)) as connection:
            return result(truth, connection, all_rules() if extra else None)


def result(truth: Truth, connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule] | None = None) -> GradedResult:
    """Compare what `rules`, else those asked by default, say of the only trace of a database with the truth."""
    # a trace is no proof of what is said of its own program
    (judged,) = judge(connection, rules=rules, record=load_record().without_program(program_of(truth.name)))
    return grade(truth, summarize_report(judged))
