"""Baseline files: how they are laid out, and what in them cannot be true."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from traceq.errors import UnusableBaseline
from traceq.runs import baselines
from traceq.runs.baselines import decode_runs, encode_runs, find_damage
from traceq.runs.job.job import JobOfRun, JobStep, JobStraggler, RankOfRun
from traceq.runs.run import Amount, FindingKept, Item, Run, RunStep

AMOUNT = Amount(count=2, dur=60, bytes=0)
RUN = Run(
    source="main",
    file="run.json",
    sha256="aa",
    format="chrome",
    producer=None,
    producer_version=None,
    rank=0,
    world_size=1,
    device=0,
    device_name="NVIDIA H100",
    devices=1,
    step_source="profiler_step",
    overhead_share=None,
    settings={},
    payload={"samples": 32.0},
    shapes={"aten::mm": {"[2, 2]": 60}},
    steps=(RunStep(1, "step 1", 100, None, {"compute": 60, "idle_data": 40}), RunStep(2, "step 2", 0, None, {})),
    items=(Item("compute", "gemm", None, None, None, None, every=AMOUNT, typical=AMOUNT),),
    findings=(FindingKept("host-bound", "host-bound", "Waits", 5.0, 2.0, 9.0, "high"),),
)


JOB = JobOfRun(
    name="night",
    sha256="bb",
    world_size=2,
    steps=(JobStep(1, "step 1", 110, None, {"compute": 60}), JobStep(2, "step 2", 0, "warm-up", {})),
    steps_told=1,
    dur=110,
    ideal=100,
    slowdown=1.1,
    pattern="fixed",
    cannot_tell=None,
    claim_limit=5,
    is_aligned=True,
    ranks=(RankOfRun(0, "n1", 0, 60, 1.5, 20, 30, 0), RankOfRun(1, None, None, 80, None, 20, 10, -1)),
    stragglers=(JobStraggler("rank", "rank 1", (1,), 10, 9, "idle_launch"),),
)


@pytest.fixture
def kept(tmp_path):
    """Writes RUN as a baseline that `change` has changed as JSON."""

    def write(change=None, **layout):
        content = json.loads(encode_runs((RUN,), traceq="0", saved="now"))
        if change is not None:
            change(content)
        path = tmp_path / "main.json"
        path.write_text(json.dumps(content, **layout), "utf-8")
        return path

    return write


@pytest.mark.parametrize("layout", [{}, {"separators": (",", ":")}, {"indent": 2}, {"indent": "\t\t"}])
def test_a_baseline_is_known_however_it_is_laid_out(kept, layout):
    path = kept(**layout)
    assert baselines.is_baseline(path)
    assert baselines.read(path).runs == (RUN,)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"kind": "another"}',
        '{"version": 1, "kind": "traceq-baseline"}',
        '[{"kind":"traceq-baseline"}]',
        "kind",
    ],
)
def test_what_begins_otherwise_is_none(tmp_path, content):
    path = tmp_path / "trace.json"
    path.write_text(content, "utf-8")
    assert not baselines.is_baseline(path)
    assert not baselines.is_baseline(tmp_path)


def put(value, *keys):
    """A change of the JSON: `value` at these keys of its first run."""

    def change(content):
        found = content["runs"][0]
        for key in keys[:-1]:
            found = found[key]
        found[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content["runs"].clear(), "it holds no run - at `$.runs`"),
        (lambda content: content["runs"].extend(content["runs"]), "a run is there twice - at `$.runs`"),
        (put(-1, "steps", 1, "dur"), "a number is below 0, or larger than any in a trace - at `$.runs[0].steps[1]`"),
        (put(10**18 * 10, "steps", 1, "dur"), "larger than any in a trace - at `$.runs[0].steps[1]`"),
        (put(-5, "steps", 0, "ledger", "compute"), "a number is below 0, "),
        (
            put(61, "steps", 0, "ledger", "compute"),
            "do not add up to the step's duration - at `$.runs[0].steps[0].ledger`",
        ),
        (
            put(-1, "items", 0, "typical", "dur"),
            "a number is below 0, or larger than any in a trace - at `$.runs[0].items[0]`",
        ),
        (put(-1, "shapes", "aten::mm", "[2, 2]"), "- at `$.runs[0].shapes`"),
        (put(-1, "payload", "samples"), "- at `$.runs[0].payload`"),
        (put(-1, "findings", 0, "saving_ns"), "- at `$.runs[0].findings`"),
    ],
)
def test_what_no_trace_can_have_is_refused(kept, change, said):
    path = kept(change)
    with pytest.raises(UnusableBaseline) as error:
        baselines.read(path)
    assert str(error.value).startswith(f"{path}: is damaged: ")
    assert said in str(error.value)
    assert str(error.value).endswith("; make it again with traceq baseline save")


@pytest.mark.parametrize("number", ["1" + "0" * 300, "-1" + "0" * 300, "1" + "0" * 5000, "1e300", "Infinity", "NaN"])
def test_numbers_that_no_column_holds_are_refused(kept, number):
    path = kept(put("NUMBER", "steps", 0, "dur"))
    path.write_text(path.read_text("utf-8").replace('"NUMBER"', number), "utf-8")
    with pytest.raises(UnusableBaseline, match=r"main\.json: is (damaged|not a baseline): "):
        baselines.read(path)


@pytest.mark.parametrize(
    "nested", ['{"kind":"traceq-baseline","runs":' + "[" * 50_000, '{"kind":"traceq-baseline","x":' + "[" * 50_000]
)
def test_a_baseline_that_is_nested_deeply_is_one_line(tmp_path, nested):
    path = tmp_path / "main.json"
    path.write_text(nested)
    with pytest.raises(
        UnusableBaseline, match=r"^.*main\.json: is not a baseline: .*; make it with traceq baseline save$"
    ):
        baselines.read(path)


def test_two_ranks_of_a_trace_are_two_runs(kept):
    def two(content):
        content["runs"].append({**content["runs"][0], "rank": 1})

    assert len(baselines.read(kept(two)).runs) == 2


def test_a_job_is_kept_whole():
    run = replace(RUN, job=JOB)
    kept = decode_runs(encode_runs((run,), traceq="0", saved="now"), "main.json")
    assert kept.runs == (run,)
    assert find_damage(kept) == ""


@pytest.mark.parametrize(
    ("wrong", "at"),
    [
        (replace(JOB, steps=(replace(JOB.steps[0], dur=-1),)), "job.steps"),
        (replace(JOB, ranks=(replace(JOB.ranks[0], wait_ns=-1),)), "job.ranks"),
        (replace(JOB, steps_told=0), "job.steps_told"),
    ],
)
def test_what_no_job_can_have_is_damage(wrong, at):
    kept = decode_runs(encode_runs((replace(RUN, job=wrong),), traceq="0", saved="now"), "main.json")
    assert find_damage(kept).endswith(f"at `$.runs[0].{at}`")
