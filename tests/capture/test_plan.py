"""What `traceq doctor --plan` knows: every option it names exists, and the commands hold the union of what is needed."""

from __future__ import annotations

import inspect
import shlex
from itertools import combinations

import pytest

from traceq import store
from traceq.capture import nsys as capture_nsys
from traceq.capture.plan import METRICS, Nsys, Torch, named
from traceq.capture.plan_commands import nsys_commands, record_backend, record_command, torch_snippet
from traceq.errors import UnknownMetric

EVERY = list(METRICS.values())

# What `nsys profile --help` of 2024 to 2026 knows, as far as plans use it.
KNOWN_OPTIONS = {
    "--trace",
    "--sample",
    "--cpuctxsw",
    "--cuda-graph-trace",
    "--cuda-memory-usage",
    "--gpu-metrics-devices",
    "--gpu-metrics-frequency",
    "--output",
}


def options_of(command):
    """--option=value words of a shell line, as a dict."""
    return dict(word.split("=", 1) for word in shlex.split(command) if word.startswith("--"))


def test_what_people_ask_for_has_a_plan():
    wanted = (
        "steps idle launch sync copies occupancy hardware-counters communication data memory flops mfu python graphs os"
    )
    assert set(wanted.split()) <= set(METRICS)


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
def test_a_metric_says_what_it_is_and_some_tool_gives_it(metric):
    assert metric.answers
    assert metric.cost
    assert isinstance(metric.nsys, Nsys) or isinstance(metric.torch, Torch)
    for tool in (metric.nsys, metric.torch):
        assert not isinstance(tool, str) or tool, "a tool that cannot says why"


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
def test_what_record_brings_a_profiler_can_give(metric):
    assert set(metric.record) <= {"torch", "nsys"}
    assert "torch" not in metric.record or isinstance(metric.torch, Torch)
    assert "nsys" not in metric.record or isinstance(metric.nsys, Nsys)


@pytest.mark.parametrize("metric", [each for each in EVERY if "nsys" in each.record], ids=lambda metric: metric.name)
def test_record_with_nsys_passes_what_the_metric_needs(metric, tmp_path):
    given = capture_nsys.profile_command(tmp_path / "trace", windowed=False)
    traces = next(word.removeprefix("--trace=") for word in given if word.startswith("--trace=")).split(",")
    assert set(metric.nsys.trace) <= set(traces)
    assert set(metric.nsys.options) <= set(given)


# ---- nsys


def test_the_nsys_line_holds_every_option_once():
    profile, export = nsys_commands(EVERY)
    words = shlex.split(profile)
    assert words[:2] == ["nsys", "profile"]
    assert words[-2:] == ["python", "train.py"]
    options = [word.split("=")[0] for word in words if word.startswith("--")]
    assert sorted(options) == sorted(KNOWN_OPTIONS)
    assert options_of(profile)["--trace"] == "cuda,nvtx,osrt"
    assert shlex.split(export) == [
        *("nsys", "export", "--type=sqlite", "--include-blobs=true", "--output=trace.sqlite", "trace.nsys-rep")
    ]


def test_the_nsys_line_holds_nothing_that_is_not_needed():
    profile, export = nsys_commands(named(["os", "flops"]))
    assert profile == "nsys profile --trace=osrt --sample=none --cpuctxsw=none --output=trace python train.py"
    assert export == "nsys export --type=sqlite --output=trace.sqlite trace.nsys-rep"


def test_without_anything_for_nsys_there_is_no_line():
    assert nsys_commands(named(["flops", "python"])) == []


@pytest.mark.parametrize("pair", list(combinations(EVERY, 2)), ids=lambda pair: "-".join(each.name for each in pair))
def test_two_metrics_need_what_each_of_them_needs(pair):
    together = nsys_commands(pair)
    for metric in pair:
        for alone, both in zip(nsys_commands([metric]), together, strict=False):
            for option, value in options_of(alone).items():
                assert set(value.split(",")) <= set(options_of(both)[option].split(","))


# ---- torch.profiler


def test_every_argument_for_torch_exists():
    profiler = pytest.importorskip("torch.profiler")
    from torch._C._profiler import _ExperimentalConfig

    known = inspect.signature(profiler.profile).parameters
    for metric in EVERY:
        if isinstance(metric.torch, Torch):
            assert set(metric.torch.flags) <= set(known), metric.name
            assert _ExperimentalConfig(**dict.fromkeys(metric.torch.experimental, True))


def test_the_snippet_holds_only_what_is_needed():
    snippet = torch_snippet(named(["steps"]))
    assert "ProfilerActivity.CUDA" not in snippet
    assert "_ExperimentalConfig" not in snippet
    assert "=True" not in snippet
    assert torch_snippet(named(["os", "hardware-counters"])) is None


@pytest.mark.parametrize("names", [["steps"], ["flops", "memory"], ["idle", "sync"], list(METRICS)], ids=" ".join)
@pytest.mark.filterwarnings("ignore")  # torch warns that there is no GPU, and of what it will deprecate
def test_the_snippet_runs_and_leaves_a_trace_that_can_be_read(names, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    weights = torch.ones(8, 8)
    exec(torch_snippet(named(names)), {"loader": range(20), "train": lambda _: weights @ weights})  # noqa: S102
    database = store.ingest([tmp_path / "trace.json.gz"], tmp_path / "t.duckdb").database
    with store.connect(database) as connection:
        steps = connection.execute("select count(*), any_value(source) from step").fetchone()
        matmuls = connection.execute("select count(*) from operator where name = 'aten::matmul'").fetchone()
        shapes = connection.execute("select count(*) from operator where args like '%[8, 8]%'").fetchone()
    assert steps == (5, "profiler_step")
    assert matmuls == (5,)
    assert bool(shapes[0]) == ("flops" in names)


# ---- traceq record


@pytest.mark.parametrize(
    ("names", "backend"),
    [
        (["idle"], "torch"),
        (["os"], "nsys"),
        (["idle", "os"], "nsys"),
        (["idle", "os", "flops"], "torch"),
        (["memory"], None),
    ],
)
def test_record_takes_the_backend_that_gives_most(names, backend):
    assert record_backend(named(names)) == backend


def test_the_record_line():
    assert record_command("nsys") == "traceq record --backend nsys -- python train.py"


# ---- names


def test_metrics_are_found_once_in_the_order_given():
    assert [each.name for each in named(["sync", "IDLE", "sync"])] == ["sync", "idle"]


@pytest.mark.parametrize(
    ("name", "close"), [("hardware-counter", "hardware-counters"), ("idel", "idle"), ("xyz", "steps, ")]
)
def test_an_unknown_metric_is_told_what_comes_closest(name, close):
    with pytest.raises(UnknownMetric, match=f"no metric is called '{name}'; did you mean: {close}"):
        named(["idle", name])
