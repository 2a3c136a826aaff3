"""traceq whatif --gpu and --ranks: steps that can be reckoned by hand, what becomes the bottleneck, what cannot be told."""

from __future__ import annotations

import json
import shutil
from math import sqrt

import duckdb
import pytest
from click.testing import CliRunner
from test_whatif import trace_text

import traceq
from traceq.app.whatif_platform_request import PlatformRequest
from traceq.cli import main
from traceq.errors import WrongUse
from traceq.loading.ingest import ingest as load

US = 1_000
# The step of test_whatif: the kernel and the copy, but for the 5 us that are kept, in us.
STEP, KERNEL, COPY = 1_100, 295, 95
# A100 80GB and H200 by their data sheets: bandwidth of the memory, FP32, and the link to the host.
BY_MEMORY, BY_ARITHMETIC, BY_LINK = 2039 / 4800, 19.5 / 67, 31.508 / 63.015


def change_trace(change):
    """The trace of test_whatif with a change made to its parsed text."""
    whole = json.loads(trace_text())
    change(whole)
    return json.dumps(whole)


def set_device(**values):
    return change_trace(lambda whole: whole["deviceProperties"][0].update(values))


def add_collectives(whole):
    """Add to each step an all-reduce of 100 MB of the gradients of two ranks, 400 us after the kernel, on a stream of its own."""
    whole["distributedInfo"] = {"rank": 0, "world_size": 2, "backend": "nccl", "pg_count": 1}
    kernels = [event for event in whole["traceEvents"] if event["cat"] == "kernel"]
    for number, kernel in enumerate(kernels):
        correlation = 1_000 + number
        start = kernel["ts"] + kernel["dur"] + 1
        launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": kernel["ts"], "dur": 4, "pid": 1, "tid": 1}
        about = {
            "Collective name": "allreduce",
            "In msg nelems": 25_000_000,
            "Out msg nelems": 25_000_000,
            "dtype": "Float",
            "Group size": 2,
            "Process Group Name": "0",
            "Process Group Description": "ddp",
        }
        work = {
            "cat": "kernel",
            "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            "ts": start,
            "dur": 5,
            "pid": 0,
            "tid": 8,
        }
        whole["traceEvents"] += [
            {"ph": "X", **launch, "args": {"correlation": correlation}},
            {"ph": "X", **work, "args": {"device": 0, "stream": 8, "correlation": correlation, **about}},
        ]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Databases: of the trace, of it on a part of a GPU, without a name, without steps, of two ranks."""
    folder = tmp_path_factory.mktemp("platform")
    texts = {
        "whole": trace_text(),
        "part": set_device(numSms=14),
        "unnamed": set_device(name=""),
        "other": set_device(name="NVIDIA RTX A4000"),
        "ranks": change_trace(add_collectives),
    }
    for name, text in texts.items():
        (folder / f"{name}.json").write_text(text)
        load(folder / f"{name}.json", folder / f"{name}.duckdb")
    return folder


def command(*arguments):
    return CliRunner().invoke(main, ["whatif", *map(str, arguments)], env={"COLUMNS": "100"})


def test_the_step_gets_shorter_by_what_its_kernels_and_copies_do(made):
    found = traceq.whatif_platform(made / "whole.duckdb", gpu="H200", host_factor="1").content
    kernel = KERNEL * (1 - sqrt(BY_MEMORY * BY_ARITHMETIC))
    assert found.after_ns == pytest.approx((STEP - kernel - COPY * (1 - BY_LINK)) * US, rel=1e-3)
    assert found.after_low_ns < found.after_ns < found.after_high_ns < STEP * US
    assert (found.gpu, found.gpu_then, found.reason) == ("A100 SXM 80GB", "H200 SXM", None)
    assert [(part.part, part.slices, part.dur_ns) for part in found.parts] == [
        ("unknown", 1, 300 * US),
        ("host_copy", 1, 100 * US),
    ]


def test_the_host_of_another_machine_widens_the_bounds(made):
    kept, other = (
        traceq.whatif_platform(made / "whole.duckdb", gpu="H200", host_factor=text).content for text in ("1", None)
    )
    assert other.after_ns == kept.after_ns
    # of 1,100 us, the host works for 600 us of data loading and some more
    assert kept.after_low_ns - other.after_low_ns > 0.25 * 600 * US
    assert other.after_high_ns - kept.after_high_ns > 0.33 * 600 * US
    assert any("--host-factor 1" in text for text in other.assumed)


def test_the_same_gpu_changes_nothing(made):
    found = traceq.whatif_platform(made / "whole.duckdb", gpu="A100 SXM 80GB", host_factor="1").content
    assert (found.after_low_ns, found.after_ns, found.after_high_ns) == pytest.approx((STEP * US,) * 3)


def test_the_words_say_the_step_its_bounds_and_what_becomes_the_bottleneck(made):
    text = command(made / "whole.duckdb", "--gpu", "H200", "--host-factor", "1").output
    assert "On H200 SXM the step would take 861.2 µs instead of 1.100 ms (1.28 times as fast)" in text
    assert "GPU                 A100 SXM 80GB, then H200 SXM" in text
    assert "GPU waits for host  61.2 % of the step now, 78.1 % then" in text
    assert "kernels limited by either         1  300.0 µs  108.7 µs" in text
    assert "data loading        600.0 µs  600.0 µs  69.7 %" in text
    assert "- The host is as fast as now." in text


def test_the_json_has_savings_like_other_answers(made):
    found = json.loads(command(made / "whole.duckdb", "--gpu", "H200", "--format", "json").output)
    assert found["schema_version"] == 1
    assert found["saved_ns"] == pytest.approx(found["recorded_ns"] - found["after_ns"])
    assert found["saved_low_ns"] <= found["saved_ns"] <= found["saved_high_ns"]
    assert [(part["part"], part["slices"]) for part in found["parts"]] == [("unknown", 1), ("host_copy", 1)]
    assert (found["host_factor_low"], found["host_factor_high"]) == (0.75, 1.33)
    assert found["limits"][0]["name"] == "idle_data"


@pytest.mark.parametrize(
    ("database", "arguments", "message"),
    [
        ("whole", ["--gpu", "H1000"], "traceq knows no GPU 'H1000'; did you mean"),
        ("part", ["--gpu", "H200"], "a part of A100 SXM 80GB, 14 of 108 multiprocessors"),
        ("other", ["--gpu", "H200"], "it was recorded on NVIDIA RTX A4000, of which traceq has no data sheet"),
        ("whole", ["--gpu", "H200", "--host-factor", "2-1"], "give how much longer the host takes"),
        ("whole", ["--gpu", "H200", "--host-factor", "fast"], "give how much longer the host takes"),
        ("whole", ["--gpu", "H200", "--remove", "idle_data"], "--gpu cannot be combined with --remove"),
        ("whole", ["--gpu", "H200", "like", "median"], "--gpu cannot be combined with like median"),
        ("whole", ["--gpu", "H200", "--network", "50"], "--network needs --ranks N"),
        ("whole", ["--host-factor", "1"], "--host-factor needs --gpu NAME"),
        ("whole", ["--ranks", "64"], "the trace does not say how many ranks its job has"),
        ("ranks", ["--ranks", "64"], "give --network GB/S, the bandwidth per rank and direction between nodes"),
        ("ranks", ["--ranks", "64", "--host-factor", "1"], "--host-factor needs --gpu NAME"),
        ("ranks", ["--ranks", "0"], "give at least 1 rank"),
        ("ranks", ["--ranks", "0,1"], "write like median"),
    ],
)
def test_what_cannot_be_asked_says_the_way_out(made, database, arguments, message):
    result = command(made / f"{database}.duckdb", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"network": float("nan")}, "--network nan: give GB/s"),
        ({"network": float("inf")}, "--network inf: give GB/s"),
        ({"link": -1.0}, "--link -1: give GB/s"),
        ({"ranks": 0}, "--ranks 0: give at least 1"),
        ({"ranks_per_node": 0}, "--ranks-per-node 0: give at least 1"),
    ],
)
def test_figures_that_no_job_has_are_refused(figures, message):
    with pytest.raises(WrongUse, match=message):
        PlatformRequest(**{"ranks": 8, **figures}).check_figures()


def test_a_trace_without_steps_cannot_be_told(made, tmp_path):
    database = shutil.copyfile(made / "whole.duckdb", tmp_path / "none.duckdb")
    with duckdb.connect(str(database)) as connection:
        connection.execute("delete from step")
    result = command(database, "--gpu", "H200")
    assert result.exit_code == 0
    assert "Cannot tell: the trace has no counted steps" in result.output


def test_more_ranks_send_more_of_the_message(made):
    found = traceq.whatif_platform(made / "ranks.duckdb", ranks=8).content
    (group,) = found.groups
    assert (group.axis, group.ranks, group.ranks_then, group.collectives) == ("dp", 2, 8, 6)
    (part,) = found.parts
    assert part.part == "communication"
    assert part.likely_ns > part.dur_ns
    assert (found.gpu_then, found.host_factor_high) == ("A100 SXM 80GB", 1)
    text = command(made / "ranks.duckdb", "--ranks", "8").output
    assert "On 8 ranks the step would take about as long as now" in text
    assert "2 -> 8" in text


def test_without_collectives_nothing_is_known_of_more_ranks(tmp_path):
    (tmp_path / "alone.json").write_text(
        change_trace(lambda whole: whole.update(distributedInfo={"rank": 0, "world_size": 1}))
    )
    found = traceq.whatif_platform(tmp_path / "alone.json", ranks=8).content
    assert (found.after_ns, found.after_low_ns) == (None, None)
    assert "no collectives" in found.reason
