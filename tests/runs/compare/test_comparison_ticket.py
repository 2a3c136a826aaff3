"""A comparison on a regression ticket: short whatever the traces hold, harmless to show, and enough to repeat it."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest
from handmade_runs import MS, item, noisy, run
from msgspec.structs import replace

from traceq.app.compare import ComparisonView
from traceq.reports.comparison.ticket import list_advice
from traceq.reports.redact import redact_comparison
from traceq.runs.compare.compare import compare
from traceq.runs.compare.known_noise import KnownNoise

pytestmark = pytest.mark.usefixtures("fewer_draws")

MOST_BYTES = 10_000


def sides(kernel="void at::native::gemm<float>(float*)", name="run", **facts):
    made = []
    for number, (side, ms) in enumerate((("base", 60), ("new", 75))):
        steps = noisy((ms + 40) * MS, 30, 0.005, number)
        items = [item(kernel, ms * MS, 3, steps=30, shape="8x1x1 of 256x1x1"), item("add", 40 * MS, steps=30)]
        sha256 = f"{number:x}" * 64
        made.append([run(*steps, items=items, name=f"{name}.{side}.json", **{"sha256": sha256, **facts})])
    return made


def ticket(comparison):
    return ComparisonView(redact_comparison(comparison), is_ticket=True).to_markdown()


def test_it_says_what_and_how_sure_and_why_and_how_to_repeat_it():
    text = ticket(compare(*sides()))
    for words in (
        "**Regression: a step takes 15.",
        "98 % interval",
        "1.25x slower at the same shape",
        "One run per side: the interval includes an assumed run-to-run noise, 0.5 % of the step",
        "- 3 or more runs per side (1 against 1 now), taken in turns",
        "`traceq compare trace-000000000000.json trace-111111111111.json --level 0.02 --least 1% --by typical`",
        "0" * 64,
        "1" * 64,
        "30 against 30 steps; p = 0.0005 (level 0.02)",
    ):
        assert words in text, words


def test_names_of_files_users_and_paths_are_replaced():
    text = ticket(compare(*sides("/home/alice/secret_kernel", "alice-hf_x", settings={"nccl_version": "2.1@alice"})))
    for secret in ("alice", "hf_x", "secret"):
        assert secret not in text
    assert re.search(r"mostly name-[a-z2-7]{12}: 1.25x slower", text)


def test_gpus_and_versions_are_told_and_the_machine_is_not():
    (base,), (new,) = sides()
    base = replace(
        base, device_name="AMD Instinct MI300X HF", settings={"nccl_version": "2.17.1"}, made_with=MADE["base"]
    )
    new = replace(new, device_name="NVIDIA H100 of alice", settings={"nccl_version": "2.28.3"}, made_with=MADE["new"])
    text = ticket(compare([base], [new]))
    assert "GPU: AMD Instinct MI300X HF against NVIDIA H100 of name-" in text
    assert "nccl_version: 2.17.1 against 2.28.3" in text
    for told in (
        "driver `550.54.15` -&gt; `570.86.15`",
        "torch `2.5.1+cu124` -&gt; `2.13.0`",
        "NCCL `2.17.1` -&gt; `2.28.3`",
    ):
        assert told in text, told
    assert "alice" not in text


MADE = {
    "base": {"driver": "550.54.15", "torch": "2.5.1+cu124", "nccl": "2.17.1"},
    "new": {"driver": "570.86.15", "torch": "2.13.0", "nccl": "2.28.3"},
}


def opposed():
    """Steps of which some are far longer, for the host, and whose kernels surely became shorter."""
    base = run(
        *[40 * MS + number % 3 * 100_000 for number in range(12)], ledger={"idle_python": 4 * MS}, name="base.json"
    )
    new = run(
        *[(30 + number * 20 % 170) * MS for number in range(12)],
        ledger=[{"idle_python": (number * 20 % 170) * MS} for number in range(12)],
        name="new.json",
    )
    return compare([base], [new])


def test_what_moved_the_other_way_is_no_reason():
    found = opposed()
    assert found.verdict == "cannot tell"
    assert found.change.delta_ns > 0 > found.named[0].delta_ns
    text = ticket(found)
    assert "What caused it\n\nNothing: it is not certain that the step changed." in text
    assert "Nevertheless certainly changed, in the other direction:\n\n- kernels (compute, -6." in text


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"device_name": "NVIDIA A100"}, "Nothing: the sides cannot be compared."),
        ({}, "Nothing: too few steps to tell a change from noise."),
    ],
)
def test_noise_that_is_not_known_is_not_spoken_of(others, words):
    base, new = run(100 * MS, name="a.json"), run(200 * MS, name="b.json", **others)
    text = ticket(compare([base], [new]))
    assert words in text
    assert "its own noise" not in text


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("facts", "several"),
    [({}, 1), ({}, 60), ({"lost": tuple(f"{number} events " + "y" * 5_000 for number in range(50))}, 1)],
    ids=["long names", "60 runs a side", "long remarks"],
)
def test_it_is_short_whatever_the_traces_hold(facts, several):
    evil = "void at::" + "]]> <b>&#x1b;`|\n" * 2_000
    base, new = (
        [replace(side[0], sha256=f"{number}{side[0].sha256}"[:64]) for number in range(several)]
        for side in sides(evil, "z" * 200_000, **facts)
    )
    assert len(ticket(compare(base, new)).encode()) <= MOST_BYTES


def test_an_empty_side_has_a_ticket_too():
    text = ticket(compare(sides()[0], []))
    assert "**Cannot tell: the new is empty.**" in text
    assert "traceq compare" in text


def test_what_would_make_it_surer():
    base, new = sides()
    assert [each.split(" (")[0] for each in list_advice(compare(base, new))] == ["3 or more runs per side"]
    assert next(list_advice(compare(base, new, noise=KnownNoise(0)))).startswith("3 or more runs per side")
    short = [[replace(side[0], steps=side[0].steps[:6])] for side in (base, new)]
    assert any(
        each.startswith("20 or more counted steps per side (6 against 6 now)") for each in list_advice(compare(*short))
    )
    other = [replace(new[0], device_name="NVIDIA A100", lost=("3 events",))]
    said = list(list_advice(compare(base, other)))
    assert said[0].startswith("runs that can be compared")
    assert said[-1] == "captures that lost no events"


def test_enough_runs_and_steps_leave_nothing_to_wish_for():
    base, new = ([replace(side[0], sha256=f"{side[0].sha256}{number}") for number in range(3)] for side in sides())
    assert list(list_advice(compare(base, new))) == []


def test_junit_and_sarif_say_what_the_ticket_says():
    found = ComparisonView(compare(*sides()))
    (failure,) = ET.fromstring(found.to_junit()).iter("failure")  # noqa: S314 - our own
    assert "measured +15." in failure.attrib["message"]
    assert "1.25x slower at the same shape" in failure.text
    (result,) = json.loads(found.to_sarif())["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("traceq/compare", "error")
    base, _ = sides()
    same = ComparisonView(compare(base, base))
    assert not list(ET.fromstring(same.to_junit()).iter("failure"))  # noqa: S314
    assert json.loads(same.to_sarif())["runs"][0]["results"] == []
