"""traceq compare: what it writes, what it takes, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from traceq.errors import UnusableBaseline
from traceq.runs import baselines
from traceq.runs.baselines import decode_runs

STEPS = 10


def trace(length, kernel="gemm", *, payload=None):
    """A step is a launch and its kernel, which takes what 300 µs leave of the step; all steps are the same."""
    events = []
    for number in range(STEPS):
        start = number * length
        host = {"ph": "X", "pid": 1, "tid": 1}
        at = {"correlation": number + 1}
        events += [
            {**host, "cat": "user_annotation", "name": f"ProfilerStep#{number}", "ts": start, "dur": length},
            {**host, "cat": "cpu_op", "name": "aten::mm", "ts": start + 250, "dur": 40},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": start + 260, "dur": 5, "args": at},
            {
                "ph": "X",
                "cat": "kernel",
                "name": kernel,
                "pid": 0,
                "tid": 7,
                "ts": start + 300,
                "dur": length - 300,
                "args": {"device": 0, "stream": 7, **at},
            },
        ]
        if payload:
            mark = f"traceq.payload#samples={payload}"
            events.append({**host, "cat": "user_annotation", "name": mark, "ts": start + 10, "dur": 1})
    device = {"id": 0, "name": "NVIDIA H100"}
    return json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """before.duckdb and after.duckdb, whose steps take 1 and 1.1 ms, their traces, and baselines of them: main and next."""
    from traceq.app.source import read_runs_of
    from traceq.loading.ingest import ingest

    folder = tmp_path_factory.mktemp("compare")
    for name, length in (("before", 1000), ("after", 1100)):
        (folder / f"{name}.json").write_text(trace(length))
        ingest([folder / f"{name}.json"], folder / f"{name}.duckdb")
    for name, source in (("main", "before"), ("next", "after")):
        baselines.save(name, read_runs_of(str(folder / f"{source}.duckdb")), folder / ".traceq" / "baselines")
    return folder


@pytest.fixture
def compare(made, traceq, monkeypatch):
    """In the folder `made`, in a terminal of 100 columns."""
    monkeypatch.chdir(made)
    monkeypatch.delenv("TRACEQ_BASELINES", raising=False)
    return lambda *arguments, **options: traceq("compare", *arguments, **options)


@pytest.fixture(scope="module")
def content(made):
    from click.testing import CliRunner

    from traceq.cli import main

    sources = [str(made / name) for name in ("before.duckdb", "after.duckdb")]
    return json.loads(CliRunner().invoke(main, ["compare", *sources, "--format", "json"]).output)


def said(result):
    return " ".join(result.output.split())


def test_text(compare, golden):
    result = compare("before.duckdb", "after.duckdb", env={"COLUMNS": "100"})
    assert result.exit_code == 0
    golden.check("compare.txt", result.output)


def test_markdown(compare, tmp_path, golden):
    result = compare("before.duckdb", "after.duckdb", "-o", tmp_path / "c.md")
    assert (result.exit_code, result.output) == (0, "")
    golden.check("compare.md", (tmp_path / "c.md").read_text("utf-8"))


def test_a_page_with_both_steps_and_nothing_from_the_network(compare, tmp_path):
    assert compare("before.duckdb", "after.duckdb", "-o", tmp_path / "c.html").output == ""
    page = (tmp_path / "c.html").read_text("utf-8")
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    assert "Regression" in page
    drawn = re.findall(r'aria-label="(base|new): Step 0, (\d\.\d+ ms)\.', page)
    # each with its own length, though they are drawn to one scale
    assert drawn == [("base", "1.000 ms"), ("new", "1.100 ms")]


def test_a_page_with_the_call_paths_of_both_sides(compare, tmp_path):
    compare("before.duckdb", "after.duckdb", "-o", tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text("utf-8")
    assert page.count('<figure class="flame">') == 1
    assert "longer by a quarter or more, or new" in page


def test_a_ticket_as_a_page_has_no_call_paths(compare, tmp_path):
    compare("--ticket", "before.duckdb", "after.duckdb", "-o", tmp_path / "c.html")
    assert "figure" not in (tmp_path / "c.html").read_text("utf-8").partition("<body")[2].partition("<script>")[0]


def test_a_baseline_has_no_timeline_and_no_call_paths(compare, tmp_path):
    compare("main", "after.duckdb", "-o", tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text("utf-8")
    assert '<figure class="flame">' not in page
    assert 'aria-label="new: Step' in page
    assert 'aria-label="base: Step' not in page


def test_the_same_command_writes_the_same_bytes(compare):
    first, second = (compare("main", "next", "--format", "html").output for _ in range(2))
    assert first == second


def test_json_has_what_programs_rely_on(content):
    assert content["schema_version"] == 1
    assert (content["verdict"], content["comparable"], content["obstacles"]) == ("regression", True, [])
    assert (content["base_ns"], content["new_ns"], content["delta_ns"]) == (1_000_000, 1_100_000, 100_000)
    assert content["delta_share"] == pytest.approx(0.1)
    low, high = content["interval_ns"]
    assert 60_000 < low < 100_000 < high < 140_000
    assert content["noise_ns"] == pytest.approx(0.0096 * 1_000_000, rel=0.05)
    assert content["p"] < 0.01
    assert 0 < content["detectable_ns"] < 60_000
    assert content["other_statistic"]["statistic"] == "mean"
    assert sum(cause["delta_ns"] for cause in content["causes"]) == content["delta_ns"]
    for cause in content["causes"]:
        assert sum(part["delta_ns"] for part in cause["parts"]) == cause["delta_ns"]
    (kernel,) = content["kernels"]
    assert (kernel["base_names"], kernel["new_names"], kernel["kind"]) == (["gemm"], ["gemm"], "same")
    assert (kernel["delta_ns"], kernel["base_count"], kernel["operator"]) == (100_000, 1, "aten::mm")
    assert [run["file"] for side in ("base", "new") for run in content[side]["runs"]] == ["before.json", "after.json"]
    assert content["base"]["runs"][0]["steps_ns"] == [1_000_000] * STEPS
    assert {row["name"] for row in content["operators"]} == {"aten::mm"}
    assert {each["what"]: each["new"] for each in content["counts"]} == {"kernels": 1}


def test_a_trace_is_read_on_the_fly(compare):
    content = json.loads(compare("before.json", "after.json", "--format", "json").output)
    assert (content["verdict"], content["delta_ns"]) == ("regression", 100_000)


def test_a_baseline_by_its_name_says_the_same_as_its_trace(compare, content):
    found = json.loads(compare("main", "after.duckdb", "--format", "json").output)
    for key in content:
        if key not in ("base", "new"):
            assert found[key] == content[key], key


def test_a_baseline_by_its_file(compare):
    content = json.loads(compare(".traceq/baselines/main.json", "after.duckdb", "--format", "json").output)
    assert content["verdict"] == "regression"


def test_against_itself(compare):
    result = compare("before.duckdb", "before.duckdb")
    assert "No change: a step takes 1.000 ms on both sides" in result.output
    assert "Both sides are the same files, byte for byte." in result.output


def test_several_runs_a_side(compare, made):
    for name in ("main", "next"):
        content = (made / ".traceq" / "baselines" / f"{name}.json").read_text()
        sha256 = json.loads(content)["runs"][0]["sha256"]
        (made / f"{name}-2").write_text(content.replace(sha256, sha256[::-1]))
    arguments = ("--base", "main", "main-2", "--new", "next", "next-2", "--format", "json")
    content = json.loads(compare(*arguments).output)
    assert [len(content[side]["runs"]) for side in ("base", "new")] == [2, 2]
    assert content["base"]["counted"] == 2 * STEPS
    assert content["delta_ns"] == 100_000


@pytest.mark.parametrize(
    "arguments",
    [
        ("--new", "next", "--base", "main"),
        ("--format", "json", "--base", "main", "--top", "3", "--new", "next"),
        ("--", "main", "next"),
        ("main", "--by", "mean", "next"),
    ],
)
def test_options_in_any_order(compare, arguments):
    arguments = arguments if "--format" in arguments else ("--format", "json", *arguments)
    assert json.loads(compare(*arguments).output)["delta_ns"] == 100_000


def test_what_decides_can_be_set(compare):
    def verdict(*arguments):
        return json.loads(compare("main", "next", "--format", "json", *arguments).output)["verdict"]

    assert verdict("--least", "20%") == "no change"
    assert verdict("--least", "0.2") == "no change"
    assert verdict("--level", "1e-9") == "cannot tell"
    assert verdict("--by", "mean", "--sensitivity", "50 %") == "regression"


def test_in_a_narrow_terminal(compare):
    lines = compare("main", "next", env={"COLUMNS": "60"}).output.splitlines()
    assert max(map(len, lines)) <= 72
    assert lines[4].startswith("Regression: a step takes 100.0 µs (10.0 %) longer")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "Give BASE NEW, or --base SOURCE... --new SOURCE... for several runs per side."),
        (("before.duckdb",), 2, "Give BASE NEW"),
        (("before.duckdb", "after.duckdb", "main"), 2, "Give BASE NEW"),
        (("--base", "before.duckdb"), 2, "Give BASE NEW"),
        (("--base", "--new", "before.duckdb"), 2, "Give BASE NEW"),
        (("main", "--base", "before.duckdb", "--new", "after.duckdb"), 2, "Give BASE NEW"),
        (("main", "nothing"), 1, "nothing: no such file"),
        (("main", "nothing" * 1000), 1, "nothingnothing"),
        (
            ("before.duckdb", "after.duckdb", "--rank", "3"),
            2,
            "rank 3: before.duckdb does not say which rank it is",
        ),
        (("before.duckdb", "after.duckdb", "--rank", "-1"), 2, "--rank"),
        (("before.duckdb", "after.duckdb", "--level", "2"), 2, "2 is not a probability between 0 and 1."),
        (("before.duckdb", "after.duckdb", "--level", "0"), 2, "0 is not a probability between 0 and 1."),
        (("before.duckdb", "after.duckdb", "--level", "nan"), 2, "nan is not a probability between 0 and 1."),
        (("before.duckdb", "after.duckdb", "--least", "abc"), 2, "'abc' is not a percentage"),
        (("before.duckdb", "after.duckdb", "--least", "-1%"), 2, "'-1%' is not a percentage"),
        (("before.duckdb", "after.duckdb", "--least", "5"), 2, "write 5% for per cent"),
        (("before.duckdb", "after.duckdb", "--by", "median"), 2, "'median' is not one of"),
        (("before.duckdb", "after.duckdb", "--top", "0"), 2, "--top"),
        (("before.duckdb", "after.duckdb", "--step-range", "x"), 2, "The steps of a database are fixed"),
        (("before.json", "after.json", "--step-range", "("), 2, "--step-range"),
        (("before.duckdb", "after.duckdb", "-o", "after.duckdb", "--format", "md"), 2, "is the input"),
        (("before.json", "after.json", "-o", "before.json"), 2, "is the input"),
        (
            ("before.duckdb", "after.duckdb", "-o", "before.json"),
            2,
            "or that the database was made from",
        ),
        (("before.duckdb", "after.duckdb", "-o", "x.pdf"), 2, "no format has this suffix"),
        (("before.duckdb", "after.duckdb", "-o", "nowhere/x.md"), 1, "no such directory"),
        (("main", "after.duckdb", "-o", ".traceq/baselines/main.json"), 2, "is the input"),
    ],
)
def test_refused(compare, made, arguments, code, message):
    kept = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    result = compare(*arguments)
    assert result.exit_code == code
    # What is no wrong usage is raised to traceq's own main, which prints it.
    assert message in f"{said(result)} {result.exception}"
    assert "Traceback" not in result.output
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == kept


def test_marks_of_what_is_no_number_are_no_payload(compare, made):
    (made / "nan.json").write_text(trace(1000, payload="nan"))
    result = compare("nan.json", "next")
    assert result.exit_code == 0, result.output
    assert "Regression" in result.output


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"kind":"traceq-baseline",',
        b'{"kind":"traceq-baseline","version":1,"traceq":"0","saved":"","runs":[{}]}',
        b'{"kind":"traceq-baseline","version":1,"traceq":"0","saved":"","runs":null}',
        b'{"kind":"traceq-baseline","version":2,"traceq":"9","saved":"","runs":[]}',
        b'{"kind":"another","version":1,"traceq":"0","saved":"","runs":[]}',
    ],
)
def test_what_is_no_baseline_says_so(content):
    with pytest.raises(UnusableBaseline, match=r"^b\.json: "):
        decode_runs(content, "b.json")


def test_a_baseline_whose_numbers_are_none_is_refused(made):
    text = (made / ".traceq" / "baselines" / "main.json").read_text("utf-8")
    for number in ("NaN", "1e999", '"1"', "null"):
        broken = re.sub(r'"payload":\{[^}]*\}', f'"payload":{{"samples":{number}}}', text, count=1)
        with pytest.raises(UnusableBaseline):
            decode_runs(broken.encode(), "b.json")


def test_a_baseline_without_runs_is_damaged(compare, tmp_path):
    path = tmp_path / "empty.json"
    path.write_bytes(b'{"kind":"traceq-baseline","version":1,"traceq":"0","saved":"","runs":[]}\n')
    result = compare(path, "after.duckdb")
    assert result.exit_code == 1
    assert "it holds no run" in result.output


def test_help_names_both_ways_and_is_quick(compare):
    result = compare("--help")
    assert "traceq compare --base a1.duckdb a2.duckdb --new b1.duckdb b2.duckdb" in result.output
    source = (Path(__file__).resolve().parents[2] / "traceq" / "cli" / "compare.py").read_text("utf-8")
    heavy = re.findall(
        r"^(?:import|from) (numpy|duckdb|matplotlib|traceq\.comparisons|traceq\.reports)", source, re.MULTILINE
    )
    assert heavy == []
