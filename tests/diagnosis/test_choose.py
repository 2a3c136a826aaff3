from __future__ import annotations

from types import SimpleNamespace

import pytest

from traceq.diagnosis.choose import choose
from traceq.errors import StoreError


def finding(rule, place="", *, is_extra=False):
    return SimpleNamespace(rule=rule, finding_id=f"{rule}{place}", is_extra=is_extra)


ONE = {1: [finding("idle-data", "@rank0"), finding("low-mfu", "@rank0")]}
TWO = {**ONE, 2: [finding("low-mfu", "@rank1")]}


@pytest.mark.parametrize("text", ["low-mfu@rank0", "LOW-MFU", "F2", "f2"])
def test_a_finding_has_three_names(text):
    assert choose(text, ONE) == ("F2", ONE[1][1])


def test_those_of_the_pack_extra_are_counted_apart():
    findings = [finding("host-bound"), finding("idle-data", is_extra=True), finding("swapping", is_extra=True)]
    assert [choose(place, {1: findings}).finding.rule for place in ("F1", "e1", "E2")] == [
        "host-bound",
        "idle-data",
        "swapping",
    ]
    with pytest.raises(StoreError, match="F2"):
        choose("F2", {1: findings})


@pytest.mark.parametrize(
    ("text", "findings", "message"),
    [
        ("F3", ONE, "no finding is called 'F3'; there are idle-data@rank0 (F1), low-mfu@rank0 (F2)"),
        ("F1", {1: []}, "no finding is called 'F1'; the trace has none"),
        (
            "late-start",
            {1: []},
            "the trace has none. late-start is a rule of jobs: `traceq report DB` lists what these find",
        ),
        ("low-mfu", TWO, "matches several findings: use low-mfu@rank0 (F2), low-mfu@rank1 (F1), or --trace"),
    ],
)
def test_what_is_not_clear_says_what_there_is(text, findings, message):
    with pytest.raises(StoreError, match=r"finding") as error:
        choose(text, findings)
    assert message in str(error.value)
