"""traceq doctor SOURCE_OR_DB: what is printed, and how it ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from traceq.formats.capabilities import METRICS
from traceq.health.identities import IDENTITIES

DEMO = Path(__file__).parents[2] / "traceq" / "app" / "demo" / "training.pt.trace.json.gz"
BROKEN = Path(__file__).parents[2] / "fixtures" / "broken"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The database of the bundled trace."""
    from traceq.loading.ingest import ingest

    path = tmp_path_factory.mktemp("demo") / "demo.duckdb"
    ingest([DEMO], path)
    return path


def kernel(name, ts=0):
    args = {"device": 0, "stream": 7}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": 10, "args": args}


def trace_file(path, *events):
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def test_a_trace_of_one_kernel(traceq, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trace_file(tmp_path / "one.json", kernel("gemm"))
    outcome = traceq("doctor", "one.json")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.stdout == (
        """\
one.json
========
trace 1, PyTorch Profiler, 1 GPU slice, 0 host slices
It is not known how it was made; traceq record and traceq.profile write that next to a trace.

  ok              ledger             1 GPU slice on 1 GPU
  ok              copies             no copy ran on a GPU
  ok              communication      no communication ran on a GPU
  degraded        idle               the launch call is known for 0 of 1 GPU slice; no operator or
                                     range shows what the host did
  not computable  steps              no steps are marked or recur, so the window of GPU work counts
                                     as one
  not computable  host               no host work was traced
  not computable  launch             no launch call was traced
  not computable  sync               no runtime call was traced
  not computable  occupancy          no kernel has its grid, block and registers
  not computable  hardware-counters  no GPU metrics were sampled
  not computable  data               nothing marks where a step fetches its input
  not computable  memory             no allocation was traced
  not computable  flops              no operator has the shapes of its arguments
  not computable  mfu                no operator has the shapes of its arguments
  not computable  python             no Python call was traced
  not computable  graphs             no call was traced, so it is not known whether graphs were
                                     launched
  not computable  os                 no system call was traced

What torch.profiler would add
  steps      activities=[CPU]; call prof.step() after each step, or mark them:
             traceq.annotate.step()
  idle       activities=[CPU, CUDA]
  host       activities=[CPU]
  launch     activities=[CPU, CUDA]
  sync       experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)
  occupancy  activities=[CPU, CUDA]
  data       activities=[CPU, CUDA]; DataLoader is marked by PyTorch; other iterables:
             traceq.annotate.loader(iterable)
  memory     profile_memory=True
  flops      record_shapes=True
  mfu        record_shapes=True
  python     with_stack=True, with_modules=True
  graphs     activities=[CPU, CUDA]

What nsys would add
  hardware-counters  --trace=cuda --gpu-metrics-devices=all --gpu-metrics-frequency=10000
  os                 --trace=osrt

All of it, ready to paste: traceq doctor --plan steps idle host launch sync occupancy
  hardware-counters data memory flops mfu python graphs os

All 38 identities hold
  1  slices        0 broken  slices lie within the trace, none ends before it starts
  1  slices        0 broken  an id belongs to one slice
  0  host slices   0 broken  a host slice starts within its parent, one deeper
  1  GPU slices    0 broken  GPU slices are joined with the calls that launched them
  1  steps         0 broken  steps follow each other without a gap
  1  GPU slices    0 broken  a GPU slice belongs to the step that launched it
  1  steps         0 broken  the statistics of steps are those of the steps that count
  1  segments      0 broken  the segments of a GPU's timeline do not overlap
  1  GPUs x steps  0 broken  the segments of each GPU add up to each step
  1  GPUs          0 broken  a GPU is busy exactly while one of its slices runs
  1  GPUs x steps  0 broken  the ledger of each GPU adds up to each step
  1  entries       0 broken  the ledger is the timeline, summed
  1  GPUs x steps  0 broken  no GPU is busier than the time it has
  0  gaps          0 broken  idle gaps are the idle segments
  0  gaps          0 broken  the causes of a gap add up to it
  0  gaps          0 broken  the host slices in a gap add up to its causes
  0  host slices   0 broken  no host slice has more idle time than it is long
  0  entries       0 broken  gaps owe waits no more than either lasted
  0  steps         0 broken  the host's ledger adds up to each step
  0  entries       0 broken  stalls cost no more than they or the gaps last
  0  copies        0 broken  a copy is overlapped, hidden or exposed
  0  entries       0 broken  the copies of a GPU add up to its timeline
  0  entries       0 broken  exposed copies are the ledger's
  0  GPUs x steps  0 broken  copies could hide behind no more than was computed
  1  GPUs x steps  0 broken  communication is overlapped or exposed, as in the ledger
  0  GPU slices    0 broken  a slice of communication is overlapped or exposed
  0  GPUs          0 broken  the communication of a GPU adds up to its timeline
  0  jobs          0 broken  the critical path of a job adds up to it without a hole
  1  GPUs          0 broken  kernels share the time in which any runs
  0  GPUs          0 broken  layers and what lies outside of them are all compute kernels
  0  fetches       0 broken  what is done in a fetch adds up to it
  1  steps         0 broken  waiting for input is what the ledgers say
  0  GPUs          0 broken  allocations add up to the peak, and to the state at the end
  0  edges         0 broken  an edge joins two slices, and its lag is the time between them
  1  steps         0 broken  the critical path adds up to each step without a hole
  2  scenarios     0 broken  savings lie in their bounds; a likely one needs a close replay
  1  scenarios     0 broken  work that is gone saves no more than it has on the critical path
  0  scenarios     0 broken  without idle time steps last as long as the busiest stream
"""
    )


@pytest.mark.slow
def test_a_database_of_several_traces_is_told_trace_by_trace(traceq, tmp_path):
    from traceq.loading.ingest import ingest

    sources = [trace_file(tmp_path / f"{name}.json", kernel(name)) for name in ("first", "second")]
    ingest(sources, tmp_path / "both.duckdb", run="night")
    stdout = traceq("doctor", tmp_path / "both.duckdb").stdout
    assert stdout.index(f"{sources[0]}\n") < stdout.index("trace 1, run night") < stdout.index(f"\n\n{sources[1]}\n")
    assert stdout.count("All 38 identities hold\n") == 2


def test_a_database_without_traces_says_so(traceq, tmp_path):
    from traceq.database.empty import create_database

    create_database(tmp_path / "none.duckdb")
    outcome = traceq("doctor", tmp_path / "none.duckdb")
    assert (outcome.exit_code, outcome.stdout) == (0, "The database has no trace.\n")


@pytest.mark.slow
def test_the_demo_is_sound_and_no_line_is_wider_than_a_terminal(traceq, demo):
    outcome = traceq("doctor", demo)
    assert outcome.exit_code == 0
    assert "All 38 identities hold" in outcome.stdout
    assert max(len(line) for line in outcome.stdout.splitlines() if not line.startswith(str(DEMO))) <= 100


def test_a_database_that_was_tampered_with_is_told_in_full_and_ends_with_1(traceq, demo, tmp_path):
    path = tmp_path / "t.duckdb"
    shutil.copy(demo, path)
    with duckdb.connect(str(path)) as connection:
        (step,) = connection.execute("select min(step) + 1 from step").fetchone()
        connection.execute("update host_ledger set dur = dur + 1 where step = ? and category <> 'data'", [step])
        connection.execute("update step_stats set total = total + 1")
    outcome = traceq("doctor", path)
    assert outcome.exit_code == 1
    assert "\n2 of 38 identities DO NOT HOLD\n" in outcome.stdout
    assert f"1 broken  the host's ledger adds up to each step - not so: step {step}\n" in outcome.stdout
    assert outcome.stderr == (
        f"traceq: error: {path}: numbers that must agree do not: step_stats (trace 1), host_ledger (trace 1); ingest the"
        " traces again; if that does not help, and nobody has changed the database, report it\n"
    )


def test_what_was_lost_stands_at_the_top(traceq, tmp_path):
    path = tmp_path / "cut.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [kernel("a"), kernel("b", 20)]})[:-40])
    outcome = traceq("doctor", path)
    assert outcome.exit_code == 0
    assert "! Some data is missing: truncated (1). The table import_note has the details." in outcome.stdout
    assert "degraded        copies             no copy ran on a GPU; but the capture is" in outcome.stdout


def test_json_holds_everything(traceq, demo, tmp_path):
    target = tmp_path / "doctor.json"
    assert traceq("doctor", demo, "-o", target).exit_code == 0
    content = json.loads(target.read_text())
    assert content == json.loads(traceq("doctor", demo, "--format", "json").stdout)
    assert content["schema_version"] == 1
    (trace,) = content["traces"]
    assert trace["trace"]["trace_id"] == 1
    assert [each["metric"] for each in trace["metrics"]] == list(METRICS)
    assert [each["name"] for each in trace["identities"]] == [identity.name for identity in IDENTITIES]
    ways = {each["metric"]: each["ways"] for each in trace["metrics"]}
    assert [way["tool"] for way in ways["os"]] == ["nsys", "torch.profiler"]
    assert ways["os"][1]["options"] is None
    assert trace["inputs"]["gpu_slices"] > 0
    assert trace["lost"] == []


def test_names_in_paths_cannot_steer_the_terminal(traceq, tmp_path):
    outcome = traceq("doctor", trace_file(tmp_path / "evil \x1b[31m.json", kernel("gemm")))
    assert outcome.exit_code == 0
    assert "\x1b" not in outcome.stdout


def test_steps_of_a_trace_can_be_named(traceq, tmp_path):
    mark = {"ph": "X", "cat": "user_annotation", "name": "mine", "pid": 1, "tid": 1, "dur": 9}
    source = trace_file(tmp_path / "t.json", kernel("gemm"), *({**mark, "ts": ts} for ts in (0, 10, 20, 30)))
    assert " steps by --step-range" in traceq("doctor", source, "--step-range", "^mine$").stdout


# ---- wrong usage


def test_without_anything_it_says_what_to_type(traceq):
    outcome = traceq("doctor")
    assert outcome.exit_code == 2
    assert "Name a trace or a database, or plan a capture: traceq doctor --plan" in outcome.stderr


def test_two_sources_are_one_too_many(traceq):
    outcome = traceq("doctor", "a.json", "b.json")
    assert outcome.exit_code == 2
    assert "Give one SOURCE_OR_DB" in outcome.stderr


def test_the_name_of_a_metric_is_taken_for_a_plan_forgotten(traceq):
    outcome = traceq("doctor", "idle")
    assert outcome.exit_code == 2
    assert "There is no file idle; to plan a capture: traceq doctor --plan idle" in outcome.stderr


def test_a_file_that_is_not_there_is_one_line(traceq, tmp_path):
    outcome = traceq("doctor", tmp_path / "nothing.json")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.count("\n") == 1
    assert "nothing.json: no such file" in outcome.stderr


def test_a_file_that_is_no_trace_is_one_line(traceq):
    outcome = traceq("doctor", BROKEN / "html_page.json")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.count("\n") == 1


def test_a_plan_of_a_file_is_answered_with_the_command_for_files(traceq, tmp_path):
    path = trace_file(tmp_path / "t.json", kernel("gemm"))
    outcome = traceq("doctor", "--plan", path)
    assert outcome.exit_code == 2
    assert "--plan takes names of metrics" in outcome.stderr
    assert "traceq doctor" in outcome.stderr


def test_a_plan_takes_no_options_of_traces(traceq):
    outcome = traceq("doctor", "--plan", "idle", "--format", "json")
    assert outcome.exit_code == 2
    assert "--plan takes only names of metrics" in outcome.stderr


def test_the_steps_of_a_database_are_fixed(traceq, demo):
    outcome = traceq("doctor", demo, "--step-range", "x")
    assert outcome.exit_code == 2
    assert "The steps of a database are fixed" in outcome.stderr


def test_the_source_is_not_overwritten(traceq, demo):
    outcome = traceq("doctor", demo, "-o", demo)
    assert outcome.exit_code == 2
    assert "is the input" in outcome.stderr


def test_a_database_whose_tables_are_gone_is_one_line(traceq, demo, tmp_path):
    path = tmp_path / "t.duckdb"
    shutil.copy(demo, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("drop table step_stats")
    outcome = traceq("doctor", path)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.count("\n") == 1
    assert "lacks tables (step_stats); ingest the traces again" in outcome.stderr


def test_a_file_whose_name_is_not_utf8_is_examined_and_searched(traceq, tmp_path):
    path = trace_file(tmp_path / "\udcff.json", kernel("gemm /home/alice/train.py"))
    outcome = traceq("doctor", path, "--format", "json")
    assert outcome.exit_code == 0, outcome.output
    assert "home directories" in outcome.stdout
