"""traceq check on tiny databases: what it prints and writes, and how it exits, in a shell script as CI has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from builder import TraceBuilder

SCRIPT = """\
set -e
traceq baseline save main base.duckdb

code_of() { code=0; "$@" > out.txt 2> err.txt || code=$?; echo "$code $(head -c 59 err.txt)"; }

cat > traceq.toml <<'TOML'
[step]
typical = "2 ms"
[ledger]
idle = "80 %"
[[sql]]
name = "kernels"
query = "select count(*) from kernel"
max = 100
TOML
code_of traceq check base.duckdb --baseline main --junit pass.xml --sarif pass.sarif

sed -i 's/2 ms/1 us/' traceq.toml
code_of traceq check base.duckdb --junit fail.xml --sarif fail.sarif -o fail.md

printf '[step]\\np99 = "1 s"\\n' > traceq.toml
code_of traceq check base.duckdb --junit unclear.xml --sarif unclear.sarif

printf '[step]\\np98 = "1 s"\\n' > traceq.toml
code_of traceq check base.duckdb

rm traceq.toml
code_of traceq check slow.duckdb --baseline main --max-regression 5%
code_of traceq check slow.duckdb --baseline main --max-regression 80%
"""

MS = 1_000_000


def build(folder, path, length, steps=24):
    """Steps of about `length` ms with a kernel for half of each; no two alike."""
    trace = TraceBuilder()
    ts = 0
    for number in range(steps):
        dur = int(length * MS) + number * 7 % 10 * MS // 500
        trace.annotation(f"ProfilerStep#{number + 10}", ts, dur)
        trace.kernel("gemm", ts + 10_000, dur // 2, launched=(ts + 1_000, 5_000))
        ts += dur
    folder.mkdir()
    trace.build(folder)
    trace._connection.close()
    (folder / "trace.duckdb").rename(path)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    build(folder / "a", folder / "base.duckdb", 1)
    build(folder / "b", folder / "slow.duckdb", 1.5)
    return folder


@pytest.fixture(autouse=True)
def here(place, tmp_path, monkeypatch):
    """A directory of its own with both databases."""
    for name in ("base.duckdb", "slow.duckdb"):
        (tmp_path / name).symlink_to(place / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRACEQ_BASELINES", raising=False)
    return tmp_path


@pytest.mark.slow
def test_in_a_shell_script(here):
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment)
    saved, *outcomes = done.stdout.splitlines()
    assert saved.startswith(".traceq/baselines/main.json: 1 run, 24 steps, ")
    assert outcomes == [
        "0 ",
        "3 traceq check: Failed: 1 of 3 budgets fails. See fail.md.",
        "4 ",
        "1 traceq: error: traceq.toml, line 2: [step] p98: unknown key",
        "3 ",
        "0 ",
    ]
    results = {
        name: json.loads((here / f"{name}.sarif").read_text("utf-8"))["runs"][0]["results"]
        for name in ("pass", "fail", "unclear")
    }
    assert {name: [each["level"] for each in found] for name, found in results.items()} == {
        "pass": [],
        "fail": ["error"],
        "unclear": ["warning"],
    }
    assert (here / "fail.md").read_text("utf-8").startswith("# traceq check\n\n**Failed: 1 of 3 budgets fails.**\n")


def test_the_table_has_what_fails_first(traceq):
    Path("traceq.toml").write_text('[step]\nmax = "1 s"\ntypical = "1 us"\np95 = "1 s"\np99 = "1 s"\n')
    outcome = traceq("check", "base.duckdb")
    assert outcome.exit_code == 3
    rows = outcome.stdout.splitlines()[4:10]
    assert [row.split()[0] for row in rows] == ["result", "------------", "FAIL", "cannot", "pass", "pass"]


def test_a_typical_step_comes_with_the_query_that_gives_it(traceq):
    Path("traceq.toml").write_text('[step]\ntypical = "1 us"\n')
    content = json.loads(traceq("check", "base.duckdb", "--format", "json").stdout)
    (budget,) = content["budgets"]
    answer = traceq("sql", "base.duckdb", budget["query"], "--format", "json")
    assert json.loads(answer.stdout)[0]["typical"] == pytest.approx(budget["measured"], abs=1)
    assert (content["state"], budget["unit"], budget["line"]) == ("fail", "ns", 2)


def test_a_query_reaches_no_file_and_a_baseline_has_no_tables(traceq):
    Path("secret.csv").write_text("a\n1\n")
    Path("traceq.toml").write_text(
        "[[sql]]\nname = 'file'\nquery = \"select a from 'secret.csv'\"\nmax = 1\n"
        "[[sql]]\nname = 'setting'\nquery = \"select current_setting('enable_external_access')::int\"\nmax = 0\n"
    )
    budgets = json.loads(traceq("check", "base.duckdb", "--format", "json").stdout)["budgets"]
    assert [each["state"] for each in budgets] == ["cannot judge", "pass"]
    traceq("baseline", "save", "main", "base.duckdb")
    budgets = json.loads(traceq("check", "main", "--format", "json").stdout)["budgets"]
    assert {each["reason"] for each in budgets} == {"a baseline has no tables to query: give the trace or its database"}


def test_a_query_that_takes_too_long_is_no_number_and_the_others_are_judged(traceq):
    endless = "select count(*) from range(100000000) a, range(100000000)"
    Path("traceq.toml").write_text(
        f"[[sql]]\nname = 'endless'\nquery = '{endless}'\nmax = 1\n[[sql]]\nname = 'one'\nquery = 'select 1'\nmax = 1\n"
    )
    budgets = json.loads(traceq("check", "base.duckdb", "--timeout", "200ms", "--format", "json").stdout)["budgets"]
    assert [each["state"] for each in budgets] == ["cannot judge", "pass"]
    assert budgets[0]["reason"].startswith("the query was stopped after 0.2 s: ask for less at a time, or give it more")


@pytest.mark.slow
def test_the_file_says_what_to_compare_with_and_the_command_line_says_otherwise(traceq):
    traceq("baseline", "save", "main", "base.duckdb")
    Path("traceq.toml").write_text('[compare]\nbaseline = "main"\nmax_regression = "80 %"\n')
    assert traceq("check", "slow.duckdb").exit_code == 0
    assert traceq("check", "slow.duckdb", "--max-regression", "5%").exit_code == 3
    Path("traceq.toml").write_text('[compare]\nmax_regression = "5 %"\n')
    assert traceq("check", "slow.duckdb").exit_code == 4
    assert traceq("check", "slow.duckdb", "--baseline", "base.duckdb").exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Nothing to check: there is no traceq.toml here"),
        (("--max-regression", "3%"), "--max-regression needs a baseline"),
        (("--baseline", "main", "--max-regression", "three"), "'three' is not a percentage"),
        (
            ("--baseline", "slow.duckdb", "-o", "base.duckdb", "--format", "md"),
            "is the input",
        ),
        (("--baseline", "slow.duckdb", "--junit", "slow.duckdb"), "is the input"),
        (("--baseline", "slow.duckdb", "--junit", "x", "--sarif", "x"), "Two options write to the same file"),
        (("--baseline", "slow.duckdb", "-o", "x.html"), "x.html: no format has this suffix"),
        (("--baseline", "slow.duckdb", "--rank", "3"), "rank 3: base.duckdb does not say which rank it is"),
        (("--budgets", "none.toml"), "File 'none.toml' does not exist"),
    ],
)
def test_wrong_usage(traceq, arguments, said):
    outcome = traceq("check", "base.duckdb", *arguments)
    assert outcome.exit_code == 2
    assert said in outcome.stderr


def test_a_trace_is_not_overwritten(place, traceq):
    trace = place / "a" / "made-up-1.json"
    outcome = traceq("check", "base.duckdb", "--baseline", "slow.duckdb", "--sarif", trace)
    assert outcome.exit_code == 2
    assert f"{trace} is a trace that is read" in outcome.stderr
    assert trace.read_text() == "made up"


def test_a_baseline_by_name_and_the_budgets_are_not_overwritten(traceq):
    traceq("baseline", "save", "main", "base.duckdb")
    Path("traceq.toml").write_text('[step]\ntypical = "1 s"\n')
    for file in (".traceq/baselines/main.json", "traceq.toml"):
        before = Path(file).read_bytes()
        outcome = traceq("check", "slow.duckdb", "--baseline", "main", "--junit", file)
        assert (outcome.exit_code, Path(file).read_bytes()) == (2, before)
    # As a source as well.
    assert traceq("check", "main", "--sarif", ".traceq/baselines/main.json").exit_code == 2


def test_a_regression_below_one_per_cent_fails_where_less_is_allowed(traceq):
    """Steps of constant length, longer by 0.95 %: compare alone takes so little for none."""
    traceq("baseline", "save", "main", "base.duckdb")
    path = Path(".traceq/baselines/main.json")
    content = json.loads(path.read_text("utf-8"))
    for name, dur in (("before", 1_000_000), ("after", 1_009_500)):
        content["runs"][0]["sha256"] = name
        for step in content["runs"][0]["steps"]:
            step.update(dur=dur, ledger={"compute": dur})
        path.with_stem(name).write_text(json.dumps(content, indent=1), "utf-8")
    codes = {
        allowed: traceq("check", "after", "--baseline", "before", *allowed.split()).exit_code
        for allowed in (
            "--noise 0 --max-regression 0%",
            "--noise 0 --max-regression 0.5%",
            "--noise 0 --max-regression 0.96%",
            "--noise 0 --max-regression 3%",
            "--noise 0",
            "--max-regression 0%",
            "--max-regression 3%",
            "",
        )
    }
    # Single runs may differ by 0.95 % without a cause: where less is allowed that cannot be judged.
    assert list(codes.values()) == [3, 3, 0, 0, 0, 4, 0, 0]
    # By its path as well, however the JSON is laid out.
    assert traceq("check", path.with_stem("after"), "--baseline", path.with_stem("before")).exit_code == 0


def test_a_baseline_that_is_not_there_is_said_before_anything_is_read(traceq):
    outcome = traceq("check", "none.duckdb", "--baseline", "main")
    assert outcome.exit_code == 1
    assert "main: no such baseline in .traceq/baselines (there: none)" in outcome.stderr
