from __future__ import annotations

import re

import pytest

from traceq.formats.capabilities import METRICS


def test_without_names_the_metrics_are_listed(traceq):
    lines = traceq("doctor", "--plan").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(METRICS)
    assert lines[1].endswith("when a GPU is idle, and what the host does meanwhile")


def test_a_plan_is_commands_under_headings(traceq):
    outcome = traceq("doctor", "--plan", "steps", "os")
    assert outcome.exit_code == 0
    assert outcome.stdout == (
        """\
steps: how long steps take, how much they vary, samples or tokens per second
  costs           next to nothing: a few marks per step
  nsys            yes: mark the steps: traceq.annotate.step(), or an NVTX range around each
  torch.profiler  yes: call prof.step() after each step, or mark them: traceq.annotate.step()
  rocprofv3       yes: mark the steps: with torch.cuda.nvtx.range("step") is a range of roctx on
                  ROCm; in C++ roctxRangePush and roctxRangePop
  jax.profiler    yes: mark the steps: jax.profiler.StepTraceAnnotation("train", step_num=step)
  traceq record   --backend torch or --backend nsys

os: which system calls the host's threads block in
  costs           an event per blocking call
  nsys            yes
  torch.profiler  cannot: it does not record system calls
  rocprofv3       cannot: it does not record system calls
  jax.profiler    cannot: it does not record system calls
  traceq record   --backend nsys

# nsys:
nsys profile --trace=nvtx,osrt --sample=none --cpuctxsw=none --output=trace python train.py
nsys export --type=sqlite --output=trace.sqlite trace.nsys-rep

# torch.profiler, all but os:
from torch.profiler import ProfilerActivity, profile, schedule

with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(skip_first=5, wait=1, warmup=2, active=5, repeat=1),
    on_trace_ready=lambda prof: prof.export_chrome_trace("trace.json.gz"),
) as prof:
    for batch in loader:
        train(batch)
        prof.step()

# rocprofv3, all but os:
rocprofv3 --marker-trace --output-format json --output-file trace -- python train.py

# jax.profiler, all but os:
import jax

options = jax.profiler.ProfileOptions()
with jax.profiler.trace("trace", profiler_options=options):
    for step in range(5):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            state = train(state, next(batches))
    jax.block_until_ready(state)

# traceq record:
traceq record --backend nsys -- python train.py
"""
    )


def test_a_tool_that_gives_nothing_is_said_to(traceq):
    stdout = traceq("doctor", "--plan", "hardware-counters").stdout
    assert "# torch.profiler: records none of these" in stdout
    assert "# traceq record: records none of these" in stdout
    assert "--gpu-metrics-devices=all" in stdout


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_plan_of_short_lines(traceq, name):
    described = traceq("doctor", "--plan", name).stdout.split("\n# ")[0]
    assert described.startswith(f"{name}: ")
    assert max(map(len, described.splitlines())) <= 100


def test_what_is_to_be_pasted_stands_on_one_line(traceq):
    stdout = traceq("doctor", "--plan", *METRICS).stdout
    assert len(re.findall(r"^nsys profile .* python train\.py$", stdout, re.MULTILINE)) == 1
    assert len(re.findall(r"^traceq record .* python train\.py$", stdout, re.MULTILINE)) == 1


def test_an_unknown_metric_is_one_line(traceq):
    outcome = traceq("doctor", "--plan", "idle", "hardware")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr == "traceq: error: no metric is called 'hardware'; did you mean: hardware-counters?\n"


def test_without_plan_it_says_what_to_type(traceq):
    outcome = traceq("doctor", "idle")
    assert outcome.exit_code == 2
    assert "traceq doctor --plan" in outcome.stderr
