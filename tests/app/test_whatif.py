"""traceq whatif: a program whose every part waits for the one before, so that what a change wins can be told by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import traceq
from traceq.cli import main
from traceq.loading.ingest import ingest as load

MS = 1_000_000

# Of each step, in us: the loader, then a launch, which waits for nothing; a copy and a kernel; the host waits for the kernel.
LOADS, LAUNCHES, LATENCY, COPIES, RUNS, RETURNS = 600, 10, 5, 100, 300, 10
STEP = 1_100


def trace_text(steps=6, loads=LOADS):
    """Steps of 1,100 us on one thread: 600 data loading, about 400 waiting for a copy and a kernel, the rest Python."""
    events = []
    for step in range(steps):
        start = 1_000 + step * STEP
        launch = start + loads + 20
        copied = launch + LAUNCHES + LATENCY + COPIES
        done = copied + 2 + RUNS
        of_copy, of_kernel = ({"correlation": 2 * step + number} for number in (1, 2))
        on_gpu = {"device": 0, "stream": 7}
        host = [
            ("user_annotation", f"ProfilerStep#{step}", start, STEP, {}),
            ("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start + 5, loads, {}),
            ("cuda_runtime", "cudaMemcpyAsync", launch, LAUNCHES / 2, of_copy),
            ("cuda_runtime", "cudaLaunchKernel", launch + LAUNCHES / 2, LAUNCHES / 2, of_kernel),
            (
                "cuda_runtime",
                "cudaDeviceSynchronize",
                launch + LAUNCHES + 2,
                done + RETURNS - launch - LAUNCHES - 2,
                {},
            ),
        ]
        gpu = [
            (
                "gpu_memcpy",
                "Memcpy HtoD (Pinned -> Device)",
                copied - COPIES,
                COPIES,
                {**on_gpu, **of_copy, "bytes": 10**6},
            ),
            ("kernel", "flash_gemm", done - RUNS, RUNS, {**on_gpu, **of_kernel}),
        ]
        events += [{"tid": 1, "pid": 1, "cat": c, "name": n, "ts": t, "dur": d, "args": a} for c, n, t, d, a in host]
        events += [{"tid": 7, "pid": 0, "cat": c, "name": n, "ts": t, "dur": d, "args": a} for c, n, t, d, a in gpu]
    device = {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108}
    return json.dumps(
        {"schemaVersion": 1, "deviceProperties": [device], "traceEvents": [{"ph": "X", **each} for each in events]}
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A database of one trace, one.duckdb, and of two, two.duckdb, of which the second loads for half the time."""
    folder = tmp_path_factory.mktemp("whatif")
    (folder / "one.json").write_text(trace_text())
    (folder / "half.json").write_text(trace_text(loads=LOADS // 2))
    load(folder / "one.json", folder / "one.duckdb")
    load([folder / "one.json", folder / "half.json"], folder / "two.duckdb")
    return folder


@pytest.fixture
def database(made, tmp_path):
    return shutil.copyfile(made / "one.duckdb", tmp_path / "one.duckdb")


@pytest.fixture
def traces(database):
    with traceq.open(database) as traces:
        yield traces


def command(*arguments):
    return CliRunner().invoke(main, ["whatif", *map(str, arguments)], env={"COLUMNS": "100"})


def saved_us(view):
    return view.content.saved.likely_ns / 1_000


@pytest.mark.sample(12)
@pytest.mark.parametrize(
    ("changes", "saved"),
    [
        ({"remove": "idle_data"}, LOADS),
        ({"scale": {"idle_data": 0.5}}, LOADS / 2),
        ({"remove": "host:enumerate(DataLoader)*"}, LOADS),
        ({"scale": {"compute": 0.5}}, RUNS / 2),
        ({"scale": {"kernel:*flash*": 0.5}}, RUNS / 2),
        ({"scale": {"kernel:*flash*": 2}}, -RUNS),
        ({"remove": "copies"}, COPIES),
        ({"remove": "copy_h2d"}, COPIES),
        ({"scale": {"compute": 1, "idle_data": 1}}, 0),
        ({"remove": ["idle_data", "compute"]}, LOADS + RUNS),
        ({"remove": "idle_data", "scale": {"copies": 0.5}}, LOADS + COPIES / 2),
    ],
    ids=str,
)
def test_what_waits_for_what_is_won_in_full(traces, changes, saved):
    """Within 3 % of the step: the last of the steps has no one after it."""
    view = traces.whatif(**changes)
    assert saved_us(view) == pytest.approx(saved, abs=0.03 * STEP)
    content = view.content
    assert content.saved.low_ns <= content.saved.likely_ns <= content.saved.high_ns
    assert content.after_ns == pytest.approx(content.replayed_ns - content.saved.likely_ns)
    assert content.recorded_ns == pytest.approx(STEP * 1_000, rel=0.02)
    assert content.error_share < 0.01
    assert content.reason is None


def test_loading_in_another_thread_costs_what_it_lasts(traces):
    """The loader keeps one thread busy for 600 us a step; without it the step needs 500."""
    assert traces.whatif(move={"idle_data": 1}).content.after_ns >= LOADS * 1_000
    four = traces.whatif(move={"idle_data": 4})
    assert saved_us(four) == pytest.approx(LOADS, abs=0.1 * STEP)
    assert four.content.saved.low_ns < four.content.saved.likely_ns < four.content.saved.high_ns


def test_no_more_is_won_than_is_on_the_path(traces):
    found = traces.whatif(scale={"compute": 1}).content.saved
    assert (found.low_ns, found.likely_ns, found.high_ns) == (0, 0, 0)
    assert traces.whatif(remove="compute").content.saved.high_ns <= RUNS * 1_000


@pytest.mark.slow
def test_of_time_without_a_cause_nothing_is_promised():
    demo = Path(traceq.__file__).parent / "app" / "demo" / "training.pt.trace.json.gz"
    found = traceq.whatif(demo, remove="idle_unattributed").content
    assert (found.saved.low_ns, found.saved.likely_ns) == (0, None)
    assert found.reason == "nothing shows what the host did in idle_unattributed"


def test_what_limits_then(traces):
    now = traces.whatif(scale={"compute": 1}).content.limits
    then = traces.whatif(remove="idle_data").content.limits
    assert max(now, key=lambda part: part.dur_ns).name == "idle_data"
    assert max(then, key=lambda part: part.dur_ns).name == "compute"
    assert sum(part.dur_ns for part in now) == pytest.approx(STEP * 1_000, rel=0.01)
    found = {part.name: part.dur_ns / 1_000 for part in then}
    assert (found["compute"], found["copy_h2d"]) == pytest.approx((RUNS, COPIES), rel=0.02)
    assert "idle_data" not in found
    half = {part.name: part.dur_ns / 1_000 for part in traces.whatif(scale={"compute": 0.5}).content.limits}
    assert (half["compute"], half["idle_data"]) == pytest.approx((RUNS / 2, LOADS), rel=0.02)


def test_amdahl_is_the_ledger(traces):
    found = {part.name: part.dur_ns for part in traces.whatif(remove="compute").content.ledger}
    assert found["compute"] == pytest.approx(RUNS * 1_000, rel=0.01)
    assert found["idle_data"] == pytest.approx(LOADS * 1_000, rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--remove", "communication"], "Trace 1 has nothing in its counted steps to remove communication"),
        (["--remove", "host:nope*"], "Trace 1 has nothing in its counted steps to remove host:nope*"),
        (["--scale", "kernel:FLASH*", "0.5"], "Trace 1 has nothing in its counted steps to scale kernel:FLASH* by 0.5"),
        (["--overlap", "communication"], "Trace 1 has nothing in its counted steps to overlap communication"),
        (["--transfer-only"], "Trace 1 has nothing in its counted steps to let collectives wait for no other rank"),
        (["--remove", "idle_dta"], "--remove idle_dta: unknown; did you mean idle_data"),
        (["--remove", "compute", "--trace", "3"], "--trace 3: there is no such trace; there are 1."),
        (["--remove", "compute", "--list"], "--list shows what can be changed"),
    ],
)
def test_what_the_trace_does_not_have_is_said(database, arguments, said):
    done = command(database, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"Error: {said}" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_says_what_python_says(database, traces):
    done = command(database, "--remove", "idle_data", "--scale", "kernel:*flash*", "0.5")
    view = traces.whatif(remove="idle_data", scale={"kernel:*flash*": 0.5})
    assert done.stdout == view.to_text(100)
    assert traceq.whatif(database, remove="idle_data", scale=[("kernel:*flash*", 0.5)]).content == view.content
    as_json = command(database, "--remove", "idle_data", "--format", "json")
    assert json.loads(as_json.stdout)["asked"] == [{"kind": "remove", "what": "idle_data", "factor": None}]


def test_without_a_change_what_can_be_asked_is_listed(database, traces):
    listed = command(database, "--list")
    assert listed.stdout == command(database).stdout == traces.whatif_choices().to_text(100)
    choices = {each.what: each for each in traces.whatif_choices().content.choices}
    assert choices["compute"].dur_ns == RUNS * 1_000
    assert choices["idle_data"].options == ("--remove", "--scale", "--move")
    assert "communication" not in choices
    for each in choices.values():
        if each.what in ("host:GLOB", "kernel:GLOB", ""):
            continue
        more = {"--scale": ["0.5"], "--move": ["2"]}.get(each.options[-1], [])
        assert command(database, each.options[-1], each.what, *more).exit_code == 0


def test_a_trace_is_ingested_on_the_way(made):
    assert command(made / "one.json", "--remove", "idle_data").exit_code == 0


@pytest.mark.slow
def test_a_program_without_a_gpu_is_asked_for_what_its_host_does(tmp_path):
    events = json.loads(trace_text())["traceEvents"]
    without = [each for each in events if each["cat"] in ("user_annotation", "cpu_op")]
    (tmp_path / "cpu.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": without}))
    assert saved_us(traceq.whatif(tmp_path / "cpu.json", remove="host:enumerate*")) == pytest.approx(LOADS, rel=0.02)
    assert saved_us(traceq.whatif(tmp_path / "cpu.json", remove="idle_data")) == pytest.approx(LOADS, rel=0.02)
    listed = traceq.whatif_choices(tmp_path / "cpu.json").content.choices
    assert [each.what for each in listed] == ["data", "annotation", "host:GLOB"]


def test_of_several_traces_one_is_asked(made):
    with traceq.open(made / "two.duckdb") as traces:
        assert saved_us(traces.whatif(remove="idle_data")) == pytest.approx(LOADS, abs=0.03 * STEP)
        second = traces.whatif(remove="idle_data", trace=2)
        assert second.content.trace_id == 2
        assert saved_us(second) == pytest.approx(LOADS / 2, abs=0.03 * STEP)


def test_asking_leaves_nothing_behind(database):
    before = database.read_bytes()
    with traceq.open(database) as traces:
        traces.whatif(remove="idle_data")
        names = "select database_name from duckdb_databases() where not internal"
        assert traces.sql(names).fetchall() == [("one",)]
        assert traces.sql("select count(*) from kernel").fetchall() == [(6,)]
    assert database.read_bytes() == before


def test_a_closed_database_says_so(database):
    with traceq.open(database) as traces:
        pass
    with pytest.raises(traceq.StoreError, match="is closed; open it again"):
        traces.whatif(remove="idle_data")
