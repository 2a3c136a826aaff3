"""traceq tradeoff: how runs get their values, what is refused, and what is written."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from traceq.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Databases b8, b16 and b32 whose steps take 1 ms + 0.1 ms a sample and say so, and one without marks."""
    from traceq.loading.ingest import ingest

    folder = tmp_path_factory.mktemp("tradeoff")
    for name, batch, marks in (("b8", 8, True), ("b16", 16, True), ("b32", 32, True), ("bare", 8, False)):
        (folder / f"{name}.json").write_text(trace(batch, marks=marks))
        ingest([str(folder / f"{name}.json")], folder / f"{name}.duckdb")
    return folder


def trace(batch, *, marks, steps=6):
    """A step is an annotation around one launch; its kernel takes 0.1 ms a sample and ends with the step."""
    events = []
    length, busy = 1_000 + 100 * batch, 100 * batch
    for number in range(steps):
        start = number * length
        host = {"ph": "X", "pid": 1, "tid": 1}
        at = {"correlation": number + 1}
        events += [
            {**host, "cat": "user_annotation", "name": f"ProfilerStep#{number}", "ts": start, "dur": length},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": start + 990, "dur": 5, "args": at},
            {
                "ph": "X",
                "cat": "kernel",
                "name": "gemm",
                "pid": 0,
                "tid": 7,
                "ts": start + 1_000,
                "dur": busy,
                "args": {"device": 0, "stream": 7, **at},
            },
        ]
        if marks:
            mark = f"traceq.payload#samples={batch}"
            events.append({**host, "cat": "user_annotation", "name": mark, "ts": start + 10, "dur": 1})
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


@pytest.fixture
def tradeoff(folder, monkeypatch):
    monkeypatch.chdir(folder)

    def run(*arguments):
        return CliRunner().invoke(main, ["tradeoff", *arguments])

    return run


@pytest.mark.slow
def test_values_come_from_marks(tradeoff):
    content = json.loads(tradeoff("b8.duckdb", "b32.duckdb", "b16.duckdb", "--format", "json").output)
    assert (content["knob"], content["work"], content["is_amount"]) == ("samples", "samples", True)
    assert [(each["value"], each["typical_ns"]) for each in content["values"]] == [
        (8, 1_800_000),
        (16, 2_600_000),
        (32, 4_200_000),
    ]
    assert content["curve"]["fixed_ns"] == pytest.approx(1_000_000)
    assert content["curve"]["per_unit_ns"] == pytest.approx(100_000)
    assert content["knee"]["value"] == pytest.approx(10)
    assert content["limit"]["compute_share"] == pytest.approx(32 / 42)


def test_values_come_from_the_names_of_files(tradeoff, folder):
    (folder / "b64.duckdb").write_bytes((folder / "bare.duckdb").read_bytes())
    result = tradeoff("b8.duckdb", "b64.duckdb", "--knob", "batch_size", "--format", "json")
    content = json.loads(result.output)
    assert (content["knob"], content["values_from"]) == ("batch_size", "names")
    assert [each["value"] for each in content["values"]] == [8, 64]


@pytest.mark.slow
def test_values_are_given_by_hand(tradeoff):
    arguments = ("1=b8.duckdb", "2.5=b16.duckdb", "2.5=bare.duckdb", "--knob", "num_workers", "--format", "json")
    content = json.loads(tradeoff(*arguments).output)
    assert (content["knob"], content["is_amount"], content["work"]) == ("num_workers", False, "steps")
    assert [(each["value"], len(each["runs"])) for each in content["values"]] == [(1, 1), (2.5, 2)]
    assert content["curve"] is None


@pytest.mark.slow
def test_traces_are_read_on_the_fly_and_a_budget_is_kept(tradeoff):
    result = tradeoff("8=b8.json", "16=b16.duckdb", "--latency-budget", "2 ms", "--percentile", "p50")
    assert result.exit_code == 0
    assert "batch_size 8 is the largest tried that keeps the p50 of the step within 2.000 ms." in " ".join(
        result.output.split()
    )


@pytest.mark.slow
def test_steps_are_named(tradeoff):
    result = tradeoff("8=b8.json", "16=b16.json", "--step-range", "ProfilerStep#[0-3]", "--format", "json")
    assert [each["steps"] for each in json.loads(result.output)["values"]] == [4, 4]


def test_a_baseline_by_name_is_not_overwritten(tradeoff, folder, monkeypatch):
    monkeypatch.setenv("TRACEQ_BASELINES", str(folder / "baselines"))
    kept = folder / "baselines" / "kept.json"
    kept.parent.mkdir()
    kept.write_text("a baseline")
    result = tradeoff("8=kept", "16=b16.duckdb", "-o", str(kept))
    assert (result.exit_code, kept.read_text()) == (2, "a baseline")


def test_one_run_without_marks(tradeoff):
    result = tradeoff("bare.duckdb")
    assert "The GPU is not saturated: a larger batch could give at most 2.25 times the throughput" in " ".join(
        result.output.split()
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "start", "picture", "magic"),
    [("r.md", "# traceq tradeoff", "p.png", b"\x89PNG"), ("r.html", "<!doctype html>", "p.svg", b"<?xml")],
)
def test_files(tradeoff, tmp_path, name, start, picture, magic):
    output, plot = tmp_path / name, tmp_path / picture
    result = tradeoff("8=b8.duckdb", "16=b16.duckdb", "-o", str(output), "--plot", str(plot))
    assert (result.exit_code, result.output) == (0, "")
    assert output.read_text("utf-8").startswith(start)
    assert plot.read_bytes().startswith(magic)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "Missing argument"),
        (("8=b8.duckdb", "b16.duckdb"), 2, "Give VALUE=SOURCE for all sources or for none"),
        (("0=b8.duckdb", "8=b16.duckdb"), 2, "0=SOURCE: a step with batch_size 0 does nothing."),
        (("b8.duckdb", "bare.duckdb"), 2, "The runs have no value: not all have marks of batch_size"),
        (
            ("b8.duckdb", "bare.duckdb"),
            2,
            "Give the value of each: traceq tradeoff --knob NAME VALUE=b8.duckdb VALUE=bare.duckdb",
        ),
        (("b8.duckdb", "--knob", "tokens"), 2, "not all have marks of tokens (all have: samples)"),
        (
            ("b8.duckdb", "--work", "tokens"),
            2,
            "--work tokens: not all runs have this mark; choose from samples, steps.",
        ),
        (("b8.duckdb", "--latency-budget", "50"), 2, "'50' is not a duration"),
        (("b8.duckdb", "--latency-budget", "0 ms"), 2, "is too short"),
        (("b8.duckdb", "--plot", "x.pdf"), 2, "pictures end in .png or .svg"),
        (("8=b8.json", "-o", "b8.json"), 2, "is the input"),
        (("8=b8.json", "--plot", "./kept.svg", "16=kept.svg"), 2, "is the input"),
        (("8=b8.duckdb", "--step-range", "x"), 2, "The steps of a database are fixed when it is made"),
        (("8=b8.json", "--step-range", "("), 2, "'(' is not a regular expression"),
        (("b8.duckdb", "--plot", "x.png"), 1, "x.png: not drawn: that needs at least two values"),
        (("8=nothing",), 1, "nothing: no such file"),
        (("b8.duckdb", "--rank", "3"), 2, "b8.duckdb does not say which rank it is"),
    ],
)
def test_refused(tradeoff, arguments, code, message):
    result = tradeoff(*arguments)
    assert result.exit_code == code
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_help_is_quick():
    code = "import sys, traceq.cli.tradeoff; print({'numpy', 'duckdb', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
