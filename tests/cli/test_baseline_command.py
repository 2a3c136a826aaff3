"""traceq baseline: save, list, show and drop."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from builder import TraceBuilder


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("baseline")
    trace = TraceBuilder()
    for number in range(4):
        trace.annotation(f"ProfilerStep#{number}", number * 1000, 1000)
        trace.kernel("gemm <b>\x1b[31m", number * 1000 + 100, 500, launched=(number * 1000 + 10, 50))
    trace.build(folder)
    return folder / "trace.duckdb"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRACEQ_BASELINES", raising=False)


def test_a_baseline_from_beginning_to_end(source, traceq):
    saved = traceq("baseline", "save", "main", source)
    assert re.fullmatch(r"\.traceq/baselines/main\.json: 1 run, \d steps, \d+\.\d KiB\n", saved.stdout)
    listed = traceq("baseline", "list").stdout.splitlines()
    assert listed[0].split() == ["name", "runs", "steps", "typical", "step", "GPU", "saved", "size"]
    assert listed[2].split()[:3] == ["main", "1", saved.stdout.split()[3]]
    shown = traceq("baseline", "show", "main").stdout
    assert shown.startswith("traceq baseline main\n\n")
    assert "compute" in shown
    assert all(line.isprintable() for line in shown.splitlines())
    content = json.loads(traceq("baseline", "show", "main", "--format", "json").stdout)
    assert [run["source"] for run in content["runs"]] == ["main"]
    assert traceq("baseline", "drop", "main").stdout == ".traceq/baselines/main.json: deleted\n"
    assert traceq("baseline", "list").stderr == (
        "no baseline in .traceq/baselines; traceq baseline save NAME SOURCE makes one\n"
    )


def test_several_runs_are_one_baseline(source, traceq):
    traceq("baseline", "save", "one", source)
    path = Path(".traceq/baselines/one.json")
    another = path.with_stem("another")
    content = json.loads(path.read_text("utf-8"))
    content["runs"][0]["sha256"] = "another"
    another.write_text(json.dumps(content), "utf-8")
    assert traceq("baseline", "save", "main", source, another).stdout.split(": ")[1].startswith("2 runs, ")
    # A baseline is a source as well.
    assert traceq("baseline", "save", "copy", "main").exit_code == 0


def test_a_trace_that_is_given_twice_is_kept_once(source, traceq):
    outcome = traceq("baseline", "save", "main", source, source)
    assert outcome.stdout.split(": ")[1].startswith("1 run, ")
    assert outcome.stderr == "traces given more than once are kept once\n"


def test_a_damaged_baseline_says_so(source, traceq):
    traceq("baseline", "save", "main", source)
    path = Path(".traceq/baselines/main.json")
    content = json.loads(path.read_text("utf-8"))
    content["runs"][0]["steps"][0]["dur"] = -1
    path.write_text(json.dumps(content), "utf-8")
    for command in (("baseline", "show", "main"), ("check", "main", "--baseline", "main")):
        outcome = traceq(*command)
        assert outcome.exit_code == 1
        assert outcome.stderr.startswith(
            "traceq: error: .traceq/baselines/main.json: is damaged: a number is below 0, "
        )
    assert "! .traceq/baselines/main.json: is damaged: " in traceq("baseline", "list").stdout


def test_a_name_that_is_taken_needs_force(source, traceq):
    traceq("baseline", "save", "main", source)
    outcome = traceq("baseline", "save", "main", source)
    assert outcome.exit_code == 1
    assert (
        outcome.stderr
        == "traceq: error: main: already exists, in .traceq/baselines/main.json; --force replaces it, --add adds to it\n"
    )
    assert traceq("baseline", "save", "main", source, "--force").exit_code == 0


@pytest.mark.parametrize("name", ["../main", "a/b", ".hidden", "", "a b", "x" * 200, "a\n", "C:\\x"])
def test_a_path_is_no_name(source, traceq, name):
    outcome = traceq("baseline", "save", name, source)
    assert outcome.exit_code == 1
    assert "is not a valid name for a baseline" in outcome.stderr
    assert not list(Path().iterdir())


def test_another_directory(source, traceq, monkeypatch):
    assert traceq("baseline", "save", "main", source, "--directory", "kept").stdout.startswith("kept/main.json: ")
    monkeypatch.setenv("TRACEQ_BASELINES", "kept")
    assert "main" in traceq("baseline", "list").stdout
    assert traceq("baseline", "show", "main").exit_code == 0
    assert traceq("baseline", "show", "main", "--directory", "elsewhere").exit_code == 1


@pytest.mark.parametrize("command", ["show", "drop"])
def test_one_that_is_not_there(source, traceq, command):
    traceq("baseline", "save", "main", source)
    outcome = traceq("baseline", command, "mian")
    assert outcome.exit_code == 1
    assert "mian: no such baseline in .traceq/baselines (there: main)" in outcome.stderr


def test_a_file_that_is_none_is_listed_with_the_reason(source, traceq):
    traceq("baseline", "save", "main", source)
    Path(".traceq/baselines/broken.json").write_text('{"kind":"traceq-baseline","version":1}')
    outcome = traceq("baseline", "list")
    assert outcome.exit_code == 0
    assert "main" in outcome.stdout
    assert "! .traceq/baselines/broken.json: is not a baseline: " in outcome.stdout
    assert traceq("baseline", "show", "broken").exit_code == 1


def test_without_steps_there_is_nothing_to_keep(database, traceq):
    outcome = traceq("baseline", "save", "main", database)
    assert outcome.exit_code == 1
    assert "has no counted steps, so nothing could be compared with it" in outcome.stderr


def renamed(name, sha256, factor=1.0):
    """A copy of the baseline `one` as if of another run, whose steps take so many times as long."""
    path = Path(".traceq/baselines/one.json")
    content = json.loads(path.read_text("utf-8"))
    (run,) = content["runs"]
    run["sha256"] = sha256
    for number, step in enumerate(run["steps"]):
        dur = round(1_000_000 * factor * (1 + 0.001 * (number % 3)))
        step.update(dur=dur, ledger={"compute": dur})
    path.with_stem(name).write_text(json.dumps(content), "utf-8")
    return path.with_stem(name)


def test_a_history_is_added_to_and_keeps_its_latest_runs(source, traceq):
    traceq("baseline", "save", "one", source)
    for number in range(33):
        outcome = traceq("baseline", "save", "nightly", renamed("other", f"{number:02}"), "--add")
        assert outcome.exit_code == 0, outcome.output
    kept = json.loads(Path(".traceq/baselines/nightly.json").read_text("utf-8"))
    assert [run["sha256"] for run in kept["runs"]] == [f"{number:02}" for number in range(3, 33)]
    again = traceq("baseline", "save", "nightly", renamed("other", "32"), "--add")
    assert "30 runs" in again.stdout


def test_the_runs_of_a_baseline_tell_what_runs_differ_by(source, traceq):
    """Six runs that differ by some 3 %: another one that is 4 % slower than one of them may be one of theirs."""
    traceq("baseline", "save", "one", source)
    for number, factor in enumerate((0.97, 1.03, 1.0, 0.98, 1.02, 1.0)):
        traceq("baseline", "save", "nightly", renamed("other", str(number), factor), "--add")
    before, after = renamed("before", "a"), renamed("after", "b", 1.04)
    alone = json.loads(traceq("compare", before, after, "--noise", "0", "--level", "0.05", "--format", "json").stdout)
    known = json.loads(
        traceq("compare", before, after, "--noise", "nightly", "--level", "0.05", "--format", "json").stdout
    )
    low = known["interval_ns"][0]
    assert alone["interval_ns"][0] > 0 > low
    assert known["noise_ns"] == pytest.approx(0.0228 * 1_000_000, rel=0.05)
    (said,) = known["assumptions"]
    assert (
        said
        == "runs of one program are expected to differ by 2.3 % of the step (standard deviation, of the 6 runs of nightly)"
    )
    assert known["verdict"] == "cannot tell"
    assert traceq("check", after, "--baseline", before, "--noise", "nightly").exit_code == 4
    assert "--noise: 'often' is not a percentage" in traceq("compare", before, after, "--noise", "often").stderr
