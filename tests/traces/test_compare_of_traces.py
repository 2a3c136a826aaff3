"""Real traces compared: the verdicts that are known, and causes that add up for every pair."""

from __future__ import annotations

from itertools import pairwise, permutations
from pathlib import Path

import pytest
from msgspec.structs import replace
from trace_files import TRACES

from traceq.runs.compare.compare import compare
from traceq.runs.read import read_runs

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "run"

TORCH = TRACES / "torch"
ERAS = ("v19", "array")
NAMES = (
    "torch/kineto_resnet50_w0.v19.pt.trace.json.gz",
    "torch/kineto_resnet50_w0.array.pt.trace.json.gz",
    "torch/kineto_resnet50_w4.v19.pt.trace.json.gz",
    "torch/kineto_resnet50_w4.array.pt.trace.json.gz",
    "torch/megatron_tp8_rank0.json.gz",
    "torch/hta_amd_mi250_train.json.gz",
    "torch/hta_cpu_only_rank34.json.gz",
    "torch/kineto_2026_before_fix_trace.json",
    "torch/tracelens_torch_compile_triton.json.gz",
    "nsys/centerformer_nvtx_only.sqlite",
    "nsys/nsysai_mock.sqlite",
    "nsys/mordred_report1_old.sqlite",
)

real = pytest.mark.skipif(not TORCH.exists(), reason="the folder shared/traces is not beside the checkout")


@pytest.fixture(scope="module")
def runs(databases):
    """runs(path): the only run of a trace, read once."""
    found = {}

    def run(path):
        if path not in found:
            (found[path],) = read_runs(databases(path), path.name).values()
        return [found[path]]

    return run


def ingest_resnet(runs, workers, era):
    return runs(TORCH / f"kineto_resnet50_w{workers}.{era}.pt.trace.json.gz")


@pytest.mark.slow
@real
@pytest.mark.parametrize("era", ERAS)
def test_workers_that_load_data_are_an_improvement(runs, era):
    found = compare(ingest_resnet(runs, 0, era), ingest_resnet(runs, 4, era))
    assert found.verdict == "improvement", found.reasons
    assert found.causes[0].category == "idle_data"
    assert found.change.interval_ns[1] < 0
    # Of the older traces six steps and two single runs do not make it sure on its own.
    assert (found.causes[0].interval_ns[1] < 0) == (era == "v19")
    assert [each.category for each in found.named] == (["idle_data"] if era == "v19" else [])
    assert found.causes[0].parts[0].name.startswith("enumerate(DataLoader)#_SingleProcess")
    assert [each.rule for each in found.findings_gone] == ["synchronous-loader"]


@pytest.mark.slow
@real
@pytest.mark.parametrize("era", ERAS)
def test_the_other_way_round_it_is_a_regression(runs, era):
    found = compare(ingest_resnet(runs, 4, era), ingest_resnet(runs, 0, era))
    assert found.verdict == "regression", found.reasons
    assert found.causes[0].category == "idle_data"


@real
@pytest.mark.parametrize("workers", [0, 4])
def test_against_itself_nothing_changed(runs, workers):
    found = compare(ingest_resnet(runs, workers, "v19"), ingest_resnet(runs, workers, "v19"))
    assert found.verdict == "no change"
    assert not any(cause.delta_ns for cause in found.causes)


@real
def test_another_program_on_another_gpu_cannot_be_compared(runs):
    found = compare(ingest_resnet(runs, 0, "v19"), runs(TORCH / "megatron_tp8_rank0.json.gz"))
    assert found.verdict == "cannot tell"
    assert not found.comparable
    assert found.reasons[0] == "another GPU: Tesla V100-DGXS-32GB against NVIDIA A100-SXM4-80GB"


@real
@pytest.mark.slow
def test_every_pair_adds_up(runs, monkeypatch):
    from traceq.runs import statistics

    # Sums do not hang on how often is drawn.
    for name, number in (("_MOST_RESAMPLES", 20), ("_LEAST_RESAMPLES", 20), ("_PERMUTATIONS", 20), ("_MOST_EXACT", 20)):
        monkeypatch.setattr(statistics, name, number)
    for base, new in permutations(NAMES, 2):
        statistic = "typical" if base < new else "mean"
        found = compare(runs(TRACES / base), runs(TRACES / new), statistic=statistic, anyway=True)
        if found.change is None:
            assert found.reasons, (base, new)
            continue
        assert sum(cause.delta_ns for cause in found.causes) == found.change.delta_ns, (base, new)
        for cause in found.causes:
            told = sum(part.delta_ns for part in cause.parts)
            assert told == cause.delta_ns or not cause.parts, (base, new, cause.category)


RUN_FIXTURES = ("nsys_2026.2.sqlite", "kineto_2026.json.gz", "kineto_2025_base_before.json.gz")
UNCAUSED = {"idle_launch_latency", "idle_dependency"}


@pytest.mark.slow
def test_one_run_seen_by_both_profilers(runs):
    """The same events in files of three eras: busy time agrees to the nanosecond, idle time up to what each era records."""
    seen = [runs(FIXTURES / name) for name in RUN_FIXTURES]
    for base, new in pairwise(seen):
        found = compare(base, new)
        assert found.comparable, found.obstacles
        assert found.verdict in ("no change", "cannot tell")
        assert found.change.delta_ns == 0
        assert {cause.category for cause in found.causes if cause.delta_ns} <= UNCAUSED
        kernels = [part for cause in found.causes if cause.category == "compute" for part in cause.parts]
        assert {part.kind for part in kernels} == {"same"}
        assert not any(part.delta_ns for part in kernels)


@pytest.mark.slow
def test_a_clock_of_microseconds_is_as_near_as_it_can_be(runs):
    """Every slice of that era begins and ends on a whole microsecond: kernels of a step are off by one each at most."""
    found = compare(runs(FIXTURES / "nsys_2026.2.sqlite"), runs(FIXTURES / "kineto_2022_microseconds.json.gz"))
    assert found.verdict in ("no change", "cannot tell")
    slices = sum(each.base for each in found.counts if not each.unit)
    for cause in found.causes:
        assert abs(cause.delta_ns) <= 1000 * slices, cause.category
    assert abs(found.change.delta_ns) <= 1000


# Traces with ten counted steps and more.
LONG = (
    "traces/nsys/centerformer_nvtx_only.sqlite",
    "judged/nsys/cs336_a100_2_7B_compile_graph.sqlite",
    "judged/nsys/nsightful_power_iteration.sqlite",
    "traces/nsys/nways_gh200_jacobi.sqlite",
)


def split_run(run):
    """The odd and the even counted steps, as two runs of the same program."""
    return [[replace(run, sha256=f"{run.sha256} {part}", steps=run.counted[part::2], items=())] for part in (0, 1)]


def lengthen_steps(runs, factor):
    """The same with all steps longer."""
    return [
        replace(run, steps=tuple(replace(step, dur=round(factor * step.dur)) for step in run.steps)) for run in runs
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_half_of_a_run_against_the_other_half_is_no_change(name, runs):
    path = TRACES.parent / name
    if not path.exists():
        pytest.skip("not beside the checkout")
    (run,) = runs(path)
    assert len(run.counted) >= 10
    odd, even = split_run(run)
    found = compare(odd, even)
    assert found.verdict in ("no change", "cannot tell")
    for factor in (1.03, 1.1):
        slower = compare(odd, lengthen_steps(even, factor))
        if (
            slower.change.detectable_ns is not None
            and slower.change.detectable_ns < (factor - 1) * slower.change.base_ns
        ):
            assert slower.verdict == "regression", (factor, slower.reasons)
