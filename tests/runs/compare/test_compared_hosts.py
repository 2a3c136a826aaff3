"""Programs without a GPU against each other: by what their training thread does."""

from __future__ import annotations

import json

import pytest
from handmade_runs import MS, item, noisy, on_host, run
from msgspec.structs import replace

from traceq.app.check import with_cause
from traceq.reports.check.check import compose_check
from traceq.reports.comparison.comparison import compose_comparison
from traceq.reports.comparison.ticket import compose_ticket
from traceq.reports.redact import redact_comparison
from traceq.reports.renderers.comparison_to_json import comparison_to_json
from traceq.reports.renderers.to_markdown import blocks_to_markdown
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.baselines import decode_runs
from traceq.runs.baselines import encode_runs as kept_text
from traceq.runs.budgets.budget import Budget, Check
from traceq.runs.budgets.regression import judge_regression
from traceq.runs.compare.compare import compare
from traceq.runs.run import Run

pytestmark = pytest.mark.usefixtures("fewer_draws")


def host(loading, seed=0, count=30, **facts):
    """Steps of about 60 ms of operators and `loading` ms of data loading."""
    working = noisy(60 * MS, count, seed=seed)
    return on_host(
        *[dur + loading * MS for dur in working],
        ledger=[{"host_data": loading * MS} for _ in working],
        items=[
            item("enumerate(DataLoader)#_Single.__next__", loading * MS, category="host_data", steps=count),
            item("train.py(30): log_metrics of <alice>", 5 * MS, category="host_operator", steps=count),
        ],
        name=f"{loading}-{seed}.json",
        **facts,
    )


def compared(**facts):
    return compare([host(20)], [host(60, seed=1, **facts)])


def said(blocks):
    return " ".join(blocks_to_text(blocks, 1000, colour=False).split())


def test_a_regression_names_what_the_training_thread_does_longer():
    found = compared()
    assert found.verdict == "regression"
    assert found.named[0].category == "host_data"
    assert found.named[0].part.new_names == ("enumerate(DataLoader)#_Single.__next__",)
    assert sum(cause.delta_ns for cause in found.causes) == found.change.delta_ns
    for cause in found.causes:
        assert sum(part.delta_ns for part in cause.parts) == cause.delta_ns
    told = said(compose_comparison(found, 10))
    assert (
        "Most of it is data loading (host_data, +40.00 ms), mostly enumerate(DataLoader)#_Single.__next__: 3.00x slower"
        in told
    )
    assert "on the training thread, on both sides: no GPU works in these runs" in told
    assert "on the GPU" not in told
    assert "GPU none is used in the steps" in told


def test_check_ticket_and_json_name_it_too():
    found = compared()
    judged = with_cause(judge_regression(Budget("compare", "main", ()), found), found)
    check = Check(path=None, runs=found.new.runs, judged=(judged,), baseline="main", comparison=found)
    assert "data loading (host_data, +40.00 ms)" in said(compose_check(check))
    ticket = blocks_to_markdown(compose_ticket(redact_comparison(found)))
    assert "data loading (host_data, +40.00 ms)" in ticket
    assert "alice" not in ticket
    assert json.loads(comparison_to_json(found))["named_causes"][0]["category"] == "host_data"


def older(kept: Run) -> Run:
    """The run as traceq 0.1 kept it."""
    return replace(kept, steps=tuple(replace(step, ledger={}) for step in kept.steps), items=())


@pytest.mark.parametrize("side", ["base", "new"])
def test_a_baseline_of_an_earlier_version_is_compared_by_its_steps(side):
    sides = {"base": host(20), "new": host(60, seed=1)}
    sides[side] = decode_runs(kept_text((older(sides[side]),), traceq="0.1.0", saved="2026"), "main").runs[0]
    found = compare([sides["base"]], [sides["new"]])
    assert found.verdict == "regression"
    assert [cause.category for cause in found.causes] == ["unattributed"]
    assert f"the {side} has no host times" in " ".join(found.remarks)
    assert "on the GPU" not in said(compose_comparison(found, 10))


def test_beside_a_gpu_the_host_is_not_told_apart():
    found = compare([host(20)], [run(*noisy(80 * MS), name="gpu.json")], anyway=True)
    assert "only the new has work on a GPU" in found.obstacles
    assert {cause.category for cause in found.causes} == {"compute", "unattributed"}
    assert sum(cause.delta_ns for cause in found.causes) == found.change.delta_ns
