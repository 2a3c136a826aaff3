"""What `traceq doctor --plan` knows: every option it names exists, and the commands hold the union of what is needed."""

from __future__ import annotations

import inspect
import shlex
from itertools import combinations

import pytest
from failure_list import assert_none

from traceq.capture import nsys as capture_nsys
from traceq.database.connect import connect
from traceq.errors import UnknownMetric
from traceq.formats.capabilities import METRICS, metrics_named, record_backend
from traceq.formats.chrome import CHROME
from traceq.formats.format import Capture, merge_records
from traceq.formats.nsys import NSYS
from traceq.loading.ingest import ingest

EVERY = list(METRICS.values())


def list_commands(form, metrics):
    """What is pasted to capture the metrics, as lines; none where the profiler can give none of them."""
    captures = [each for metric in metrics if isinstance(each := form.captures[metric.name], Capture)]
    return form.commands(merge_records(captures)).splitlines() if captures else []


def torch_snippet(metrics):
    return "\n".join(list_commands(CHROME, metrics))


def nsys_commands(metrics):
    return list_commands(NSYS, metrics)


# What `nsys profile --help` of 2024 to 2026 knows, as far as plans use it.
KNOWN_OPTIONS = {
    "--trace",
    "--sample",
    "--cpuctxsw",
    "--trace-fork-before-exec",
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
    captures = [capture for _, capture in metric.captures()]
    assert any(isinstance(each, Capture) for each in captures)
    for each in captures:
        assert each, "a tool that cannot says why"


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
def test_what_record_brings_a_profiler_can_give(metric):
    assert set(metric.record) <= {"torch", "nsys"}
    assert "torch" not in metric.record or isinstance(CHROME.captures[metric.name], Capture)
    assert "nsys" not in metric.record or isinstance(NSYS.captures[metric.name], Capture)


@pytest.mark.parametrize("metric", [each for each in EVERY if "nsys" in each.record], ids=lambda metric: metric.name)
def test_record_with_nsys_passes_what_the_metric_needs(metric, tmp_path):
    given = capture_nsys.profile_command(
        tmp_path / "trace", windowed=False, memory="--memory" in metric.options.split()
    )
    traces = next(word.removeprefix("--trace=") for word in given if word.startswith("--trace=")).split(",")
    options = dict(NSYS.captures[metric.name].options)
    options.pop("--include-blobs", None)
    assert set(options.pop("--trace")) <= set(traces)
    assert {f"{name}={','.join(values)}" for name, values in options.items()} <= set(given)


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
    profile, export = nsys_commands(metrics_named(["os", "flops"]))
    assert profile == "nsys profile --trace=osrt --sample=none --cpuctxsw=none --output=trace python train.py"
    assert export == "nsys export --type=sqlite --output=trace.sqlite trace.nsys-rep"


def test_without_anything_for_nsys_there_is_no_line():
    assert nsys_commands(metrics_named(["flops", "python"])) == []


def missing_together(pair):
    """Options of one metric that the commands for both lack."""
    for metric in pair:
        for alone, both in zip(nsys_commands([metric]), nsys_commands(pair), strict=False):
            for option, value in options_of(alone).items():
                if missing := set(value.split(",")) - {"none"} - set(options_of(both)[option].split(",")):
                    yield f"{' and '.join(each.name for each in pair)}: {option} lacks {', '.join(missing)}"


def test_two_metrics_need_what_each_of_them_needs():
    assert_none(missing for pair in combinations(EVERY, 2) for missing in missing_together(pair))


# ---- torch.profiler


def test_every_argument_for_torch_exists():
    profiler = pytest.importorskip("torch.profiler")
    from torch._C._profiler import _ExperimentalConfig

    known = inspect.signature(profiler.profile).parameters
    for metric in EVERY:
        capture = CHROME.captures[metric.name]
        if isinstance(capture, Capture):
            assert set(capture.options) <= set(known), metric.name
            flags = [flag.removesuffix("=True") for flag in capture.options.get("experimental_config", ())]
            assert _ExperimentalConfig(**dict.fromkeys(flags, True))


def test_the_snippet_holds_only_what_is_needed():
    snippet = torch_snippet(metrics_named(["steps"]))
    assert "ProfilerActivity.CUDA" not in snippet
    assert "_ExperimentalConfig" not in snippet
    assert "=True" not in snippet
    assert not torch_snippet(metrics_named(["os", "hardware-counters"]))


@pytest.mark.sample(2)
@pytest.mark.parametrize("names", [["steps"], ["flops", "memory"], ["idle", "sync"], list(METRICS)], ids=" ".join)
@pytest.mark.filterwarnings("ignore")  # torch warns that there is no GPU, and of what it will deprecate
def test_the_snippet_runs_and_leaves_a_trace_that_can_be_read(names, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    weights = torch.ones(8, 8)
    exec(torch_snippet(metrics_named(names)), {"loader": range(20), "train": lambda _: weights @ weights})  # noqa: S102
    database = ingest([tmp_path / "trace.json.gz"], tmp_path / "t.duckdb").database
    with connect(database) as connection:
        steps = connection.execute("select count(*), any_value(source) from step").fetchone()
        matmuls = connection.execute("select count(*) from operator where name = 'aten::matmul'").fetchone()
        shapes = connection.execute("select count(*) from operator where args like '%[8,8]%'").fetchone()
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
        (["memory", "python"], "torch"),
        (["hardware-counters"], None),
    ],
)
def test_record_takes_the_backend_that_gives_most(names, backend):
    assert record_backend(metrics_named(names)) == backend


# ---- names


def test_metrics_are_found_once_in_the_order_given():
    assert [each.name for each in metrics_named(["sync", "IDLE", "sync"])] == ["sync", "idle"]


@pytest.mark.parametrize(
    ("name", "close"), [("hardware-counter", "hardware-counters"), ("idel", "idle"), ("xyz", "steps, ")]
)
def test_an_unknown_metric_is_told_what_comes_closest(name, close):
    with pytest.raises(UnknownMetric, match=f"no metric is called '{name}'; did you mean: {close}"):
        metrics_named(["idle", name])
