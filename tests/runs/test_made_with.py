"""Knobs and facts that differ between runs: which are counted, which follow, which are unknown."""

from __future__ import annotations

import json

import pytest
from handmade_runs import MS, noisy, run

from traceq.reports.comparison.comparison import compose_comparison
from traceq.reports.comparison.ticket import compose_ticket
from traceq.reports.redact import redact_comparison
from traceq.reports.renderers.comparison_to_json import comparison_to_json
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs import baselines
from traceq.runs.compare.compare import compare
from traceq.runs.compare.noise import measure_noise
from traceq.runs.made_with import find_differences
from traceq.runs.trials.study_tradeoff import study_tradeoff
from traceq.runs.trials.tradeoff import Taken, TradeoffTerms

BASE = {
    "num_workers": "0",
    "batch_size": "32",
    "torch": "2.12.0",
    "intra_op_threads": "8",
    "affinity": "8",
    "cpus": "8",
}


def made(name="run.json", middle=10 * MS, **changed):
    known = {key: value for key, value in (BASE | changed).items() if value is not None}
    return run(*noisy(middle, seed=name), name=name, made_with=known)


def differ(**changed):
    return [(each.name, each.is_knob, each.follows) for each in find_differences(([made("a")], [made("b", **changed)]))]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, []),
        ({"num_workers": "4"}, [("num_workers", True, None)]),
        # Without workers there is nothing to prefetch: nobody has set that.
        ({"num_workers": "4", "prefetch_factor": "2", "persistent_workers": "false"}, [("num_workers", True, None)]),
        ({"num_workers": "4", "batch_size": "64"}, [("batch_size", True, None), ("num_workers", True, None)]),
        ({"torch": "2.13.0"}, [("torch", False, None)]),
        (
            {"OMP_NUM_THREADS": "2", "intra_op_threads": "2"},
            [("OMP_NUM_THREADS", True, None), ("intra_op_threads", True, "OMP_NUM_THREADS")],
        ),
        ({"intra_op_threads": "2"}, [("intra_op_threads", True, None)]),
        (
            {"affinity": "2", "intra_op_threads": "2"},
            [("affinity", True, None), ("intra_op_threads", True, "affinity")],
        ),
        # Another machine.
        ({"affinity": "4", "cpus": "4"}, [("affinity", True, "cpus"), ("cpus", False, None)]),
        ({"NCCL_ALGO": "Ring"}, [("NCCL_ALGO", True, None)]),
        # Of a later traceq.
        ({"unheard_of": "1"}, []),
        # A snapshot that does not say it, of an older traceq or of a program where it cannot be told.
        ({"batch_size": None, "autocast": "bfloat16"}, []),
    ],
)
def test_what_differs(changed, found):
    assert sorted(differ(**changed)) == sorted(found)


def test_knobs_that_were_turned_stand_first():
    assert [name for name, *_ in differ(torch="2.13.0", OMP_NUM_THREADS="2", intra_op_threads="2", num_workers="4")] == [
        "num_workers", "OMP_NUM_THREADS", "intra_op_threads", "torch",
    ]  # fmt: skip


def test_nothing_is_known_where_a_side_has_no_snapshot():
    assert find_differences(([made("a")], [run(1, name="b")])) == ()
    assert find_differences(([made("a"), run(1, name="c")], [made("b", num_workers="4")])) == ()
    assert find_differences(([], [made("b")])) == ()


def test_a_side_of_several_values_tells_them_all():
    (found,) = find_differences(([made("a"), made("b", num_workers="2")], [made("c", num_workers="4")]))
    assert found.values == (("0", "2"), ("4",))


def compared(**changed):
    return compare([made("a")], [made("b", **changed)], noise=None)


def lines(comparison):
    text = " ".join(blocks_to_text(compose_comparison(comparison, 5)).replace("\n!", "\n").split())
    begins = ("One setting changed", "2 settings changed", "3 settings changed", "Also differs")
    return [part for part in begins if part in text], text


def test_one_knob_is_told():
    _, text = lines(compared(num_workers="4", torch="2.13.0", command_line="1"))
    assert "One setting changed: num_workers 0 -> 4. Also differs: torch 2.12.0 -> 2.13.0." in text


def test_several_knobs_are_a_warning():
    found, text = lines(compared(num_workers="4", batch_size="64", memory=str(2**30)))
    assert found == ["2 settings changed"]
    assert (
        "2 settings changed: num_workers 0 -> 4, batch_size 32 -> 64: the change cannot be attributed to any one of them."
        in text
    )


def test_the_command_line_is_told_where_no_known_knob_was_turned():
    found = compare([made("a", command_line="1")], [made("b", command_line="2")], noise=None)
    assert lines(found)[0] == ["Also differs"]
    assert "Also differs: the command line." in lines(found)[1]


def test_batches_of_other_sizes_are_other_work():
    found = compared(batch_size="64")
    assert found.verdict == "cannot tell"
    assert found.obstacles == ("batch_size: 32 against 64; traceq tradeoff compares runs that do different work",)


def test_only_one_side_with_a_snapshot_is_said():
    found = compare([made("a")], [run(*noisy(10 * MS), name="b")], noise=None)
    assert "only the base has its settings, so it is not known which settings changed" in found.remarks


def test_noise_of_other_settings_is_told():
    remarks = measure_noise([made("a"), made("b"), made("c", num_workers="4", torch="2.13.0")]).remarks
    assert [each for each in remarks if "setting" in each] == ["c has a different setting from a: num_workers 4, not 0"]


def test_json_has_knobs_apart():
    content = json.loads(comparison_to_json(compared(num_workers="4", torch="2.13.0", memory="5")))
    assert content["knobs"] == [
        {"name": "num_workers", "unit": None, "is_knob": True, "follows": None, "base": ["0"], "new": ["4"]}
    ]
    assert [each["name"] for each in content["also_differs"]] == ["torch"]
    assert content["base"]["runs"][0]["made_with"] == BASE


def test_tickets_show_values_that_are_known_and_no_other():
    told = {"driver": "570.86.15", "gpu": "Alice 9000", "OMP_NUM_THREADS": "/home/alice"}
    found = compare([made("a", driver="550.54.15", gpu="NVIDIA H100")], [made("b", **told)], noise=None)
    text = " ".join(blocks_to_text(compose_ticket(redact_comparison(found))).split())
    assert "driver 550.54.15 -> 570.86.15" in text
    assert "alice" not in text.lower()


def test_baselines_keep_it_and_older_ones_have_none():
    kept = baselines.encode_runs((made("a"),), traceq="1", saved="now")
    assert baselines.decode_runs(kept, "x").runs[0].made_with == BASE
    older = json.loads(kept)
    del older["runs"][0]["made_with"]
    assert baselines.decode_runs(json.dumps(older).encode(), "x").runs[0].made_with == {}


def differs(knob, *runs):
    taken = [Taken(value, each) for value, each in runs]
    return dict(
        study_tradeoff(
            taken, TradeoffTerms(knob, is_amount=True, work="steps", percentile="p95", budget_ns=None)
        ).differs
    )


def test_tradeoff_says_what_differs_besides_its_knob():
    small, large = made("a"), made("b", batch_size="64", num_workers="4", command_line="2")
    assert differs("batch_size", (32, small), (64, large)) == {"num_workers": ("0", "4")}
    assert differs("num_workers", (1, small), (4, large)) == {"batch_size": ("32", "64")}
    assert differs("samples", (32, small), (64, large)) == {"num_workers": ("0", "4")}
