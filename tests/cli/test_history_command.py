"""traceq history, as it is typed, and traceq check --against history."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import duckdb
import pytest
from builder import TraceBuilder
from made_histories import MS, entry, noisy_steps

from traceq.runs.history.store import add_entries

FIXTURE = Path(__file__).parents[2] / "fixtures" / "history"
CI = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "BUILD_SOURCEVERSION")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Eight steps of 1 ms."""
    folder = tmp_path_factory.mktemp("history")
    trace = TraceBuilder()
    for number in range(8):
        trace.annotation(f"ProfilerStep#{number}", number * MS, MS)
        trace.kernel("gemm", number * MS + 100, MS // 2, launched=(number * MS + 10, 50))
    trace.build(folder)
    return folder / "trace.duckdb"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name in ("TRACEQ_HISTORY", *CI):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def report(source, traceq):
    return json.loads(traceq("report", source, "--format", "json").stdout)


def write_reports(report, shares, folder):
    """Write a JSON report for each share: as `report`, but every time is so many times as long."""
    paths = []
    for number, share in enumerate(shares):
        trace = json.loads(json.dumps(report["traces"][0]))
        trace["trace"]["sha256"] = f"{number + 1:064x}"
        for step in trace["step_ledger"]:
            step["dur_ns"] = round(step["dur_ns"] * share)
        for name, value in trace["steps"].items():
            if name.endswith("_ns") and value is not None:
                trace["steps"][name] = value * share
        paths.append(folder / f"r{number}.json")
        content = {"jobs": report["jobs"], "schema_version": report["schema_version"], "traces": [trace]}
        paths[-1].write_text(json.dumps(content), "utf-8")
    return paths


def made(path, steps, **facts):
    add_entries(path, [entry(number, step, facts={"torch": "2.3.1"}, **facts) for number, step in enumerate(steps)])
    return path


def test_a_history_from_beginning_to_end(source, traceq):
    added = traceq("history", "add", source, "--label", "nightly", "--set", "cluster=a", "--commit", "c" * 40)
    assert (added.exit_code, added.stdout) == (0, ".traceq/history.duckdb: 1 report added\n")
    again = traceq("history", "add", source)
    assert again.stdout == ".traceq/history.duckdb: 0 reports added\n"
    assert again.stderr == "1 report was there already and count once\n"
    shown = traceq("history", "show")
    assert "Cannot tell: 1 report, a trend needs 8." in shown.stdout
    assert re.search(r"step\.typical +1\.000 ms +- +cannot tell: 1 report", shown.stdout)
    listed = json.loads(traceq("history", "list", "--format", "json").stdout)["reports"]
    assert [(row["label"], row["commit"], row["ran_at_from"]) for row in listed] == [("nightly", "c" * 40, "added")]
    assert "nightly" in traceq("history", "list").stdout
    assert traceq("history", "export", "dashboard").stdout == "dashboard/history.parquet\ndashboard/facts.parquet\n"
    assert duckdb.sql("select value from 'dashboard/facts.parquet' where key = 'cluster'").fetchall() == [("a",)]
    tidy = "select label, quantity, value, unit from 'dashboard/history.parquet' where quantity = 'step.typical'"
    assert duckdb.sql(tidy).fetchall() == [("nightly", "step.typical", 1e6, "ns")]
    assert traceq("history", "remove", listed[0]["report_id"][:8]).stdout == "1 report removed\n"
    assert traceq("history", "show").stderr.startswith("traceq: error: .traceq/history.duckdb: holds no report")


def test_json_reports_and_other_histories_are_added_once(source, report, traceq, tmp_path):
    paths = write_reports(report, [1.0] * 3, tmp_path)
    assert "3 reports added" in traceq("history", "add", *paths, "--in", "theirs.duckdb").stdout
    assert "3 reports added" in traceq("history", "add", "theirs.duckdb").stdout
    done = traceq("history", "add", source, *paths, "theirs.duckdb")
    assert "1 report added" in done.stdout
    assert "6 reports were there already" in done.stderr


def test_a_gate_that_passes_and_fails(source, report, traceq, tmp_path):
    for folder, share in (("even", 1.0), ("slower", 0.9)):
        (tmp_path / folder).mkdir()
        paths = write_reports(report, noisy_steps([share] * 20, 0.002), tmp_path / folder)
        traceq("history", "add", *paths, "--in", f"{folder}.duckdb")
    passed = traceq("check", source, "--against", "history:even.duckdb")
    assert (passed.exit_code, "Passed: 1 budget kept." in passed.stdout) == (0, True)
    failed = traceq("check", source, "--against", "history:slower.duckdb", "--junit", "junit.xml", "--sarif", "s.sarif")
    assert failed.exit_code == 3
    assert re.search(r"FAIL +history of step\.typical +\+1\d\.\d % +at most 2\.0 %", failed.stdout)
    assert "worse than the level of the 20 reports before" in " ".join(failed.stdout.split())
    assert 'failures="1"' in (tmp_path / "junit.xml").read_text()
    assert json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "traceq/history"
    assert traceq("check", source, "--against", "history:slower.duckdb", "--max-regression", "20%").exit_code == 0
    found = json.loads(traceq("check", source, "--against", "history:slower.duckdb", "--format", "json").stdout)
    assert [(each["table"], each["name"], each["state"]) for each in found["budgets"]] == [
        ("history", "step.typical", "fail")
    ]


def test_a_gate_without_enough_or_comparable_reports_cannot_judge(source, report, traceq, tmp_path):
    traceq("history", "add", *write_reports(report, [1.0] * 3, tmp_path))
    few = traceq("check", source, "--against", "history")
    assert few.exit_code == 4
    assert "has 3 comparable reports with step.typical beside the new one; 7 are needed" in " ".join(few.stdout.split())
    made(tmp_path / "other.duckdb", [100 * MS] * 9)
    other = traceq("check", source, "--against", "history:other.duckdb")
    assert other.exit_code == 4
    assert "it holds no comparable report: gpu: NVIDIA H100 there" in " ".join(other.stdout.split())


def test_an_accepted_change_no_longer_fails(source, report, traceq, tmp_path):
    shares = [*noisy_steps([0.9] * 12, 0.002), *noisy_steps([1.0] * 12, 0.002, seed=1)]
    traceq("history", "add", *write_reports(report, shares, tmp_path))
    failed = traceq("check", source, "--against", "history")
    assert failed.exit_code == 3
    assert "it is worse since" in " ".join(failed.stdout.lower().split())
    accepted = traceq("history", "accept", "--quantity", "step.typical", "--because", "a better loss")
    assert re.fullmatch(r"step\.typical: counts from report [0-9a-f]{8} on\n", accepted.stdout)
    assert traceq("check", source, "--against", "history").exit_code == 0
    assert "accepted" in traceq("history", "show").stdout
    nothing = traceq("history", "accept", "--quantity", "ledger.compute", "--because", "x")
    assert "nothing changed in 24 reports" in nothing.stderr


def test_the_fixture_creeps_and_changed_once(traceq):
    added = traceq("history", "add", *sorted(FIXTURE.glob("*.json")))
    assert added.stdout == ".traceq/history.duckdb: 36 reports added\n"
    shown = " ".join(traceq("history", "show", env={"COLUMNS": "100"}).stdout.split())
    assert "The step creeps: +0.65 % a week, +25.8 % (+22.5 to +29.3 %) so far." in shown
    assert re.search(r"ledger\.communication 20\.74 ms \+29\.8 % \(\+29\.0 to \+30\.6 %\) since 2026-06-29", shown)
    assert "NCCL 2.27.5 -> 2.28.3; torch 2.8.0 -> 2.9.1" in shown
    listed = json.loads(traceq("history", "list", "--format", "json").stdout)["reports"]
    assert {report["ran_at_from"] for report in listed} == {"trace"}


def test_the_screen_fits_and_says_what_changed_with_it(traceq, tmp_path):
    steps = noisy_steps([100 * MS] * 20 + [108 * MS] * 20, 0.002)
    quantities = [(f"ledger.part{number}", 2 * MS) for number in range(20)]
    entries = [
        entry(
            number,
            step,
            facts={"torch": "2.3.1" if number < 20 else "2.4.0"},
            quantities={name: (value * (1 + number % 3 / 100), "ns") for name, value in quantities},
        )
        for number, step in enumerate(steps)
    ]
    add_entries(tmp_path / "h.duckdb", [*entries, *(entry(n, gpu=f"GPU {n}", days=0.01) for n in range(5))])
    shown = traceq("history", "show", "--in", "h.duckdb", "--where", "gpu=NVIDIA H100").stdout
    assert len(shown.splitlines()) <= 48
    assert re.search(r"The step got slower: \+[78]\.\d % \(", shown)
    assert "What else changed then: torch 2.3.1 -> 2.4.0; commit 0000000" in shown
    every = traceq("history", "show", "--in", "h.duckdb").stdout
    assert len(every.splitlines()) <= 48


def test_every_format_says_the_same(traceq, tmp_path):
    path = made(tmp_path / "h.duckdb", noisy_steps([100 * MS] * 20 + [108 * MS] * 20, 0.002))
    content = json.loads(traceq("history", "show", "--in", path, "--format", "json").stdout)
    (trend,) = content["quantities"]
    assert (trend["name"], trend["kind"], trend["worse"], len(trend["changes"])) == ("step.typical", "level", True, 1)
    (row,) = csv.DictReader(io.StringIO(traceq("history", "show", "--in", path, "--format", "csv").stdout))
    assert float(row["ratio"]) == trend["ratio"]
    assert row["since_report"] == trend["changes"][0]["first_after"]["report_id"]
    assert "The step got slower" in traceq("history", "show", "--in", path, "--format", "md").stdout
    assert traceq("history", "show", "--in", path, "-o", "h.html").exit_code == 0
    page = (tmp_path / "h.html").read_text("utf-8")
    assert re.search(r"step\.typical \(ms\): \+[78]\.", page)
    assert "What else changed" in page
    assert "http" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL).split("<body>")[1].split("<script")[0]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("history show", 1, "no such history; traceq history add SOURCE --in .traceq/history.duckdb makes one"),
        ("history add missing.json", 1, "missing.json"),
        ("history add h.duckdb --in h.duckdb", 1, "is the history itself"),
        (
            "history show --in h.duckdb --quantity step.p42",
            1,
            "no report of the series has step.p42; there are step.typical",
        ),
        ("history show --in h.duckdb --where gpu", 2, "'gpu' is not KEY=VALUE"),
        ("history show --in h.duckdb --since yesterday", 2, "'yesterday' is no time: write 2026-09-07"),
        ("history show --in h.duckdb --where gpu=none", 1, "holds no report with gpu=none"),
        ("history remove nothing --in h.duckdb", 1, "no report begins with 'nothing'"),
        ("history accept --in h.duckdb", 2, "Missing option '--because'"),
        ("history accept --in h.duckdb --because x --from zz", 1, "no report begins with 'zz'"),
        ("history accept --in h.duckdb --because x --quantity q", 1, "no report of the series has q"),
        ("history export history.csv --in h.duckdb", 2, "name a file that ends in .parquet, or a folder"),
        ("history show --in text.json", 1, "not a DuckDB database, so no history"),
        ("check h.duckdb --against baseline", 2, "--against takes history or history:FILE, not 'baseline'"),
        ("check h.duckdb --quantity step.p50 --baseline b", 2, "--quantity and --program are for --against history"),
    ],
)
def test_wrong_use(words, status, said, traceq, tmp_path):
    made(tmp_path / "h.duckdb", [100 * MS] * 9)
    (tmp_path / "text.json").write_text("{}")
    found = traceq(*words.split())
    assert (found.exit_code, said in found.stderr) == (status, True), found.stderr
    assert "Traceback" not in found.output
