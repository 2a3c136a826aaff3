"""Where the time of a claim divides, and what most of it has in common."""

from __future__ import annotations

import pytest

from traceq.diagnosis.culprits import NOTHING, OUTSIDE, build_tree, common_name, divide_time, group_by_claim
from traceq.errors import StoreError


def rows(*slices):
    """Rows of culprit_tree.sql from (id, parent, kind, name, own time)."""
    return [
        {
            "slice_id": i,
            "parent_id": parent,
            "kind": kind,
            "name": name,
            "is_line": ".py(" in name and "torch/" not in name,
        }
        | {"own_ns": own}
        for i, parent, kind, name, own in slices
    ]


PREPARE = rows(
    (0, None, "annotation", "ProfilerStep#1", 1),
    (1, 0, "python", "train.py(1): main", 2),
    (2, 1, "python", "prepare.py(5): __call__", 1),
    (3, 2, "python", "prepare.py(9): resize", 50),
    (4, 2, "python", "<built-in function zoom>", 30),
    (5, 1, "python", "video.py(3): decode", 16),
    (6, 5, "python", "<built-in method to_ndarray of Frame object at 0x7f>", 4),
)


def told(found):
    return [(each.name, round(each.dur), [part.name for part in each.parts]) for each in found]


def test_time_divides_where_no_child_has_nearly_all_of_it():
    assert told(divide_time(build_tree(PREPARE))) == [
        ("prepare.py(5): __call__", 81, ["prepare.py(9): resize", "zoom"]),
        ("video.py(3): decode", 20, []),
    ]


def test_the_shares_are_those_of_the_whole_claim():
    assert [round(each.share, 3) for each in divide_time(build_tree(PREPARE))] == [
        round(81 / 104, 3),
        round(20 / 104, 3),
    ]


def test_what_holds_half_is_where_it_is():
    tree = build_tree(PREPARE)
    assert common_name(tree, "line") == "prepare.py(5): __call__"
    assert common_name(tree, "op") is None


def test_slices_of_one_name_are_one_place():
    tree = build_tree(
        rows(*((number, None, "op", "aten::add", 5) for number in range(6)), (9, None, "op", "aten::mul", 70))
    )
    assert told(divide_time(tree)) == [("aten::mul", 70, []), ("aten::add", 30, [])]


def test_numbered_ranges_are_one_and_keep_their_number_when_alone():
    blocks = [(number, None, "annotation", f"block {number}", 10) for number in range(4)]
    assert told(divide_time(build_tree(rows(*blocks)))) == [("block #", 40, [])]
    assert told(divide_time(build_tree(rows(blocks[3])))) == [("block 3", 10, [])]


def test_a_step_is_no_place():
    assert told(
        divide_time(build_tree(rows((0, None, "annotation", "ProfilerStep#1", 90), (1, 0, "op", "aten::add", 10))))
    ) == [
        (OUTSIDE, 90, []),
        ("aten::add", 10, []),
    ]
    assert told(divide_time(build_tree(rows((0, None, "annotation", "ProfilerStep#1", 90))))) == [(OUTSIDE, 90, [])]


def test_of_many_small_parts_the_three_longest_are_named():
    ops = [(number, None, "op", f"aten::op{number}", 100 + number) for number in range(30)]
    assert told(divide_time(build_tree(rows(*ops)))) == [
        ("aten::op29", 129, []),
        ("aten::op28", 128, []),
        ("aten::op27", 127, []),
    ]


def test_time_without_a_slice_belongs_to_no_place():
    none = {"slice_id": None, "parent_id": None, "kind": None, "name": None, "is_line": False, "own_ns": 60}
    tree = build_tree([*rows((0, None, "op", "aten::add", 40)), none])
    assert tree.total == 100
    assert told(divide_time(tree)) == [(NOTHING, 60, []), ("aten::add", 40, [])]
    assert common_name(tree, "op") is None


def test_nothing_has_no_place():
    assert divide_time(build_tree([])) == []
    assert common_name(build_tree([]), "line") is None


def test_recursion_counts_once():
    tree = build_tree(
        rows(
            (0, None, "python", "walk.py(1): walk", 10),
            (1, 0, "python", "walk.py(1): walk", 10),
            (2, None, "op", "aten::add", 25),
        )
    )
    assert [(each.name, each.dur) for each in divide_time(tree)] == [("aten::add", 25), ("walk.py(1): walk", 20)]
    assert common_name(tree, "line") is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"parent_id": 1}, "contains itself"),
        ({"parent_id": 5}, "host slice 5 does not exist"),
        ({"kind": None, "name": None}, "host slice 1 does not exist"),
    ],
)
def test_slices_that_were_changed_are_told(changed, said):
    row = {"slice_id": 1, "parent_id": None, "kind": "op", "name": "a", "is_line": False} | changed
    rows = [{**row, "claims": [{"claim": 7, "dur": 1.0}]}]
    with pytest.raises(StoreError, match=said):
        build_tree(group_by_claim(rows, [7])[7])


def test_rows_of_several_claims_give_each_its_slices_and_those_around_them():
    names = [(each, parent, "op", f"s{each}", False) for each, parent in ((0, None), (1, 0), (2, 1), (3, 0), (4, None))]
    columns = ("slice_id", "parent_id", "kind", "name", "is_line")
    spent = {2: [(7, 5.0), (8, 1.0)], 3: [(8, 2.0)]}
    rows = [
        {**dict(zip(columns, each, strict=True)), "claims": [{"claim": c, "dur": d} for c, d in spent.get(each[0], ())]}
        for each in names
    ]
    # What no slice explains, and a slice that is not there, without any time.
    rows.append({**dict.fromkeys(columns), "claims": [{"claim": 8, "dur": 4.0}]})
    rows.append({**dict.fromkeys(columns), "slice_id": 9, "claims": [{"claim": 7, "dur": 0.0}]})
    found = {
        claim: [(row["slice_id"], row["own_ns"]) for row in each]
        for claim, each in group_by_claim(rows, [7, 8, 9]).items()
    }
    assert found == {7: [(0, 0.0), (1, 0.0), (2, 5.0)], 8: [(0, 0.0), (1, 0.0), (2, 1.0), (3, 2.0), (None, 4.0)], 9: []}
    assert build_tree(group_by_claim(rows, [7, 8, 9])[8]).total == 7
