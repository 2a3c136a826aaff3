"""What can be asked of a what-if, and what is said of the rest."""

from __future__ import annotations

import pytest

import traceq
from traceq.app.whatif_request import WhatIfRequest, is_missing
from traceq.reports.whatif.answer import Asked


def asked(**options):
    return WhatIfRequest(**options).changes()


def test_options_become_changes_in_one_order():
    found = asked(
        transfer_only=True,
        graph=True,
        move=[("idle_data", 4)],
        overlap="communication",
        scale={"kernel:*flash*": 0.5},
        remove=["idle_sync", "host:aten::item"],
    )
    assert found == (
        Asked("remove", "idle_sync"),
        Asked("remove", "host:aten::item"),
        Asked("scale", "kernel:*flash*", 0.5),
        Asked("overlap", "communication"),
        Asked("move", "idle_data", 4.0),
        Asked("graph"),
        Asked("transfer"),
    )


def test_a_name_alone_is_a_list_of_one():
    assert asked(remove="compute") == asked(remove=["compute"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "No change given: say what to remove"),
        ({"remove": "idle_dat"}, "--remove idle_dat: unknown; did you mean idle_data"),
        ({"remove": "xyz"}, "--remove xyz: unknown: give a category of the ledger, copies, host:GLOB"),
        ({"remove": ""}, "--remove : unknown"),
        ({"remove": "kernel:"}, "--remove kernel:: say which names, as in 'kernel:*'"),
        ({"remove": "idle_profiler"}, "--remove idle_profiler: unknown"),
        ({"scale": {"compute": -1}}, "--scale compute -1: the factor must be 0"),
        ({"scale": {"compute": float("nan")}}, "--scale compute nan: the factor"),
        ({"scale": {"compute": float("inf")}}, "--scale compute inf: the factor"),
        ({"scale": {"idle_dependency": 0.5}}, "--scale idle_dependency: a wait cannot be scaled"),
        ({"overlap": "compute"}, "--overlap compute: only communication and copies can overlap: communication"),
        ({"overlap": "host:*"}, "--overlap host:*: only communication and copies"),
        ({"move": {"compute": 1}}, "--move compute: only work of the host can be moved: idle_data"),
        ({"move": {"idle_data": 0}}, "--move idle_data 0: give at least 1 thread"),
    ],
)
def test_what_cannot_be_asked_is_said(options, said):
    with pytest.raises(traceq.WrongUse) as error:
        asked(**options)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("change", "present", "is_absent"),
    [
        (Asked("remove", "idle_data"), {"compute"}, True),
        (Asked("remove", "idle_data"), {"idle_data"}, False),
        (Asked("overlap", "copies"), {"communication", "compute"}, True),
        (Asked("overlap", "copies"), {"copy_d2h"}, False),
        (Asked("graph"), {"copy_d2h"}, True),
        (Asked("graph"), {"compute"}, False),
        (Asked("transfer"), {"compute"}, True),
        (Asked("remove", "host:x"), set(), False),
    ],
)
def test_a_trace_without_it_has_nothing_to_change(change, present, is_absent):
    assert is_missing(change, present) == is_absent
