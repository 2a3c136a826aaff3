"""--capture: a trace beside another that tells what the kernels of its graphs are of."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from click.testing import CliRunner

from traceq.app import cache
from traceq.app.api import ingest, report
from traceq.cli import main
from traceq.database.connect import connect
from traceq.errors import UnusableTrace, WrongUse


def event(cat, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur, "args": args}


def write(path, *events):
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


@pytest.fixture
def trace(tmp_path):
    """A graph of two kernels, replayed once."""
    return write(
        tmp_path / "replayed.json",
        event("user_annotation", "ProfilerStep#0", 0, 1000),
        event("cuda_runtime", "hipGraphLaunch", 10, 5, correlation=1),
        event("kernel", "gemm", 20, 600, 7, device=0, stream=7, correlation=1),
        event("kernel", "add", 620, 100, 7, device=0, stream=7, correlation=1),
    )


@pytest.fixture
def capture(tmp_path):
    """The capture of that graph."""
    shapes = {"Input Dims": [[8, 64], [64, 32]], "Input type": ["c10::BFloat16"] * 2}
    return write(
        tmp_path / "captured.json",
        event("cuda_runtime", "hipStreamBeginCapture", 10, 5, correlation=1),
        event("cpu_op", "aten::mm", 20, 20, **shapes),
        event("cuda_runtime", "hipLaunchKernel", 25, 5, correlation=2, kernel="gemm", grid=[1, 1, 1]),
        event("cuda_runtime", "hipLaunchKernel", 50, 5, correlation=3, kernel="add", grid=[1, 1, 1]),
        event("cuda_runtime", "hipStreamEndCapture", 60, 5, correlation=4),
    )


def operators(database):
    with closing(connect(database)) as connection:
        return connection.execute("select place, operator from graph_kernel order by slice_id").fetchall()


def run(*arguments):
    return CliRunner().invoke(main, [str(each) for each in arguments])


def test_a_capture_gives_kernels_of_graphs_their_operators(trace, capture, tmp_path):
    ingest(trace, tmp_path / "x.duckdb", capture=capture)
    assert operators(tmp_path / "x.duckdb") == [(0, "aten::mm"), (1, None)]


@pytest.mark.slow
def test_the_command_takes_it_and_says_what_is_to_be_done_where_the_trace_is_there_already(trace, capture, tmp_path):
    database = tmp_path / "x.duckdb"
    assert run("ingest", trace, "-o", database).exit_code == 0
    again = run("ingest", trace, "-o", database, "--capture", capture)
    assert "--force reads it again" in again.stderr
    assert operators(database) == []
    assert run("ingest", trace, "-o", database, "--capture", capture, "--force").exit_code == 0
    assert operators(database) == [(0, "aten::mm"), (1, None)]


@pytest.mark.slow
def test_commands_that_read_a_trace_take_it(trace, capture, tmp_path, monkeypatch):
    monkeypatch.delenv("TRACEQ_NO_CACHE")
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "cache"))
    told = "2 GPU slices from inside graphs, 1 with operators from a capture"
    assert told in " ".join(run("doctor", trace, "--capture", capture).output.split())
    assert "with operators" not in run("doctor", trace).output
    assert len(cache.list_entries()) == 2
    report(trace, capture=[capture])
    assert len(cache.list_entries()) == 2


def test_a_database_takes_none(trace, capture, tmp_path):
    ingest(trace, tmp_path / "x.duckdb")
    with pytest.raises(WrongUse, match="--capture and --inductor are for traces"):
        report(tmp_path / "x.duckdb", capture=capture)


def test_what_launches_no_kernel_is_no_capture(trace, tmp_path):
    other = write(tmp_path / "other.json", event("cpu_op", "aten::mm", 20, 20))
    with pytest.raises(UnusableTrace, match=r"other\.json: launches no kernel, so it shows nothing about graphs"):
        ingest(trace, tmp_path / "x.duckdb", capture=other)
    assert not (tmp_path / "x.duckdb").exists()


def test_beside_a_trace_without_graphs_a_capture_tells_nothing(capture, tmp_path):
    other = write(tmp_path / "other.json", event("kernel", "gemm", 20, 600, 7, device=0, stream=7, correlation=1))
    ingest(other, tmp_path / "x.duckdb", capture=capture)
    with closing(connect(tmp_path / "x.duckdb")) as connection:
        notes = connection.execute("select code from import_note where code like 'graph%'").fetchall()
    assert notes == [("graph_capture_unused",)]


@pytest.mark.slow
def test_a_note_says_how_much_was_matched(trace, capture, tmp_path):
    ingest(trace, tmp_path / "x.duckdb", capture=capture)
    ingest(trace, tmp_path / "y.duckdb")
    notes = []
    for name in ("x", "y"):
        with closing(connect(tmp_path / f"{name}.duckdb")) as connection:
            query = "select count, text from import_note where code like 'graph%'"
            notes += connection.execute(query).fetchall()
    told = "2 of 2 kernels, 0.7 of 0.7 ms (100.0 %), have their operators from it, by order"
    assert notes[0] == (1, f"launches of graphs, compared with what a capture holds: {told}")
    assert [count for count, _ in notes] == [1, 2]
    assert "traceq ingest TRACE --capture FILE" in notes[1][1]


def test_a_capture_of_another_program_warns_on_the_first_page(trace, tmp_path):
    other = write(
        tmp_path / "other.json",
        event("cuda_runtime", "hipStreamBeginCapture", 10, 5, correlation=1),
        event("cpu_op", "aten::conv2d", 20, 20),
        event("cuda_runtime", "hipLaunchKernel", 25, 5, correlation=2, kernel="conv", grid=[1, 1, 1]),
        event("cuda_runtime", "hipLaunchKernel", 50, 5, correlation=3, kernel="norm", grid=[1, 1, 1]),
        event("cuda_runtime", "hipStreamEndCapture", 60, 5, correlation=4),
    )
    ingest(trace, tmp_path / "x.duckdb", capture=other)
    with closing(connect(tmp_path / "x.duckdb")) as connection:
        (note,) = connection.execute("select severity, text from import_note where code = 'graph_capture'").fetchall()
    assert note[0] == "data_loss"
    assert "the file given with --capture may belong to another program: " in note[1]
    assert "0 of 2 kernels" in note[1]
    text = " ".join(report(tmp_path / "x.duckdb").to_text().split())
    assert "! Data lost on import: the file given with --capture may belong to another program" in text
