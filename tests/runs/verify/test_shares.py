"""Shares fitted to checked predictions: against made-up programs whose truth is known, and against the rule written out."""

from __future__ import annotations

import json
import random
import sys
from itertools import count
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

from fit_calibration import fit_texts, numbers_by_rule

from traceq.runs.run import FindingKept
from traceq.runs.verify.calibration import Hardware, Won, line_of, pair_of
from traceq.runs.verify.shares import (
    LEAST_PROGRAMS,
    PROGRAMS_FOR_BOUNDS,
    Shares,
    fit,
    fit_all,
    share_won,
    shares_in_header,
)

ROOT = Path(__file__).parents[3]
ASSUMED = Shares(0.2, 0.6, 1.0)
STEP, CLAIMED = 1_000_000, 400_000
NUMBERS = count()


def line(
    share, program, rule="swapping", kind="cpu", shares=ASSUMED, half=0.05, step=STEP, timed=STEP, claimed=CLAIMED
):
    """A finding that claims 0.4 of the step, of which the fix took `share`."""
    low, likely, high = (each * claimed for each in shares)
    found = FindingKept(rule, rule, "A title", likely, low, high, "high", owned_ns=claimed, rule_share=shares.likely)
    ns, width = share * claimed * timed / step, half * claimed * timed / step
    return line_of(
        found,
        Won(ns, ns - width, ns + width, timed),
        how="pair",
        pair=pair_of(str(next(NUMBERS))),
        step_ns=step,
        format="chrome",
        hardware=Hardware(kind),
        program=program,
        is_public=True,
    )


def lines(*shares, **more):
    """A line each of so many programs."""
    return [line(share, f"program{number}", **more) for number, share in enumerate(shares)]


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_the_share_won_is_of_the_claim_whatever_the_profiler_cost(kind):
    assert share_won(line(0.3, "a", kind=kind)) == pytest.approx(0.3)
    assert share_won(line(0.3, "a", kind=kind, timed=STEP / 2)) == pytest.approx(0.3)
    assert share_won(line(-0.1, "a", kind=kind)) == pytest.approx(-0.1)


def test_lines_that_cannot_tell_the_share_are_left_out():
    assert share_won(line(0.3, "a", half=0.6)) is None
    assert fit([line(0.3, "a", half=0.6)], ASSUMED, is_on_gpu=False) is None


def test_few_programs_however_many_lines_fit_nothing():
    found = fit(lines(0.2, 0.21, 0.22, 0.23) * 9, ASSUMED, is_on_gpu=False)
    assert (found.programs, found.lines, found.taken) == (4, 36, None)
    unnamed = [line(0.2, None) for _ in range(9)]
    assert fit(unnamed, ASSUMED, is_on_gpu=False).programs == 1


def test_a_fit_that_is_nearer_is_taken_and_its_bounds_are_only_widened():
    found = fit(lines(0.1, 0.2, 0.22, 0.24, 0.26, 0.28, 0.3, 0.31, 0.33, 0.35), ASSUMED, is_on_gpu=False)
    assert found.taken == Shares(0.1, 0.27, 1.0)
    assert found.score.error < found.score_assumed.error


def test_where_the_assumption_is_right_it_stays():
    found = fit(lines(0.58, 0.59, 0.6, 0.61, 0.62), ASSUMED, is_on_gpu=False)
    assert found.taken is None


def test_bounds_are_taken_without_the_likely_share():
    found = fit(lines(0.05, 0.1, *[0.6] * 8), ASSUMED, is_on_gpu=False)
    assert found.score_assumed.coverage < found.score.coverage
    assert found.taken == Shares(0.05, 0.6, 1.0)


def test_many_programs_narrow_the_bounds_but_not_on_a_gpu():
    some = [0.3 + 0.01 * number for number in range(PROGRAMS_FOR_BOUNDS)]
    assert fit(lines(*some), ASSUMED, is_on_gpu=False).taken == Shares(0.3, 0.39, 0.48)
    assert fit(lines(*some, kind="gpu"), ASSUMED, is_on_gpu=True).taken == Shares(0.2, 0.39, 1.0)


def test_more_won_than_claimed_is_no_share():
    found = fit(lines(0.9, 1.2, 1.3, 1.4, 1.5), ASSUMED, is_on_gpu=False)
    assert (found.beyond, found.fitted.likely, found.score, found.taken) == (4, pytest.approx(0.9), None, None)
    assert fit(lines(1.2, 1.3), ASSUMED, is_on_gpu=False).fitted is None
    few = fit(lines(*[0.3] * 18, 1.2, 1.3), ASSUMED, is_on_gpu=False)
    assert (few.beyond, few.taken.likely, few.score.coverage) == (2, 0.3, 0.9)
    assert fit(lines(*[0.3] * 11, 1.2, 1.2, 1.2), ASSUMED, is_on_gpu=False).taken is None


def test_programs_that_differ_more_than_bounds_say_fit_nothing():
    found = fit(lines(0.01, 0.1, 0.2, 0.25, 0.3), ASSUMED, is_on_gpu=False)
    assert found.score.error < found.score_assumed.error
    assert (found.score.coverage, found.taken) == (0.8, None)


def test_no_fit_is_above_the_most_that_the_rule_assumes():
    found = fit(lines(*[0.8] * 12), Shares(0.1, 0.3, 0.7), is_on_gpu=False)
    assert (found.fitted, found.taken) == (Shares(0.1, 0.7, 0.7), None)


def test_shares_of_pieces_are_no_part_of_what_is_fitted():
    """Half of what is claimed can go, by its pieces, and goes: the header's share of 1 is right."""
    ones = []
    for goes in (0.45, 0.48, 0.5, 0.5, 0.52, 0.55):
        ns = goes * CLAIMED
        found = FindingKept(
            "a", "a", "", ns, 0.0, CLAIMED, "high", owned_ns=CLAIMED, assumed_share=goes, rule_share=1.0
        )
        one = line_of(
            found,
            Won(ns, ns, ns, STEP),
            how="pair",
            pair=str(goes),
            step_ns=STEP,
            format="chrome",
            hardware=Hardware("cpu"),
            program=str(next(NUMBERS)),
            is_public=True,
        )
        ones.append(one)
        assert (one.assumed, share_won(one)) == (1.0, pytest.approx(1.0))
    assert fit(ones, Shares(0.0, 1.0, 1.0), is_on_gpu=False).taken is None


SHARES = st.lists(st.integers(-20, 120).map(lambda each: each / 100), min_size=LEAST_PROGRAMS, max_size=25)


def oracle(shares, assumption):
    """The rule as docs/accuracy.md words it, one program after the other."""

    def clipped(share):
        return min(max(share, 0), assumption.high)

    def bounds(some):
        ordered = sorted(clipped(each) for each in some if each <= 1)
        if len(ordered) < PROGRAMS_FOR_BOUNDS:
            return min(ordered[0], assumption.low), assumption.high
        # the two that are left outside have a chance of 1 in 20 each at the most
        outside = max(number for number in range(1, len(ordered)) if number / (len(ordered) + 1) <= 0.05 + 1e-12)
        return ordered[outside - 1], ordered[len(ordered) - outside]

    nearer = held = assumed_held = 0.0
    for place, share in enumerate(shares):
        others = [each for number, each in enumerate(shares) if number != place]
        nearer += abs(assumption.likely - share) - abs(median(clipped(each) for each in others if each <= 1) - share)
        low, high = bounds(others)
        held += low <= share <= high
        assumed_held += assumption.low <= share <= assumption.high
    return nearer, held, assumed_held


@settings(max_examples=200, deadline=None)
@given(SHARES)
def test_a_fit_is_what_the_rule_written_out_says(shares):
    found = fit(lines(*shares), ASSUMED, is_on_gpu=False)
    if sum(share <= 1 for share in shares) < 2:
        assert (found.score, found.taken) == (None, None)
        return
    nearer, held, assumed_held = oracle(shares, ASSUMED)
    number = len(shares)
    assert found.score_assumed.error - found.score.error == pytest.approx(nearer / number, abs=1e-6)
    assert (found.score.coverage * number, found.score_assumed.coverage * number) == pytest.approx((held, assumed_held))
    beyond = sum(share > 1 for share in shares)
    if (
        (nearer < -1e-6 and held <= assumed_held)
        or beyond > number / 5
        or number - beyond < 5
        or held < 0.9 * number - 1e-6
    ):
        assert found.taken is None
    if found.taken is not None:
        assert 0 <= found.taken.low <= found.taken.likely <= found.taken.high <= 1
        likely = median(max(share, 0) for share in shares if share <= 1)
        assert found.taken.likely == pytest.approx(likely if nearer > 1e-6 else found.taken.likely, abs=0.0051)


@settings(max_examples=50, deadline=None)
@given(SHARES, st.randoms())
def test_neither_the_order_of_lines_nor_how_many_a_program_has_matters(shares, chance):
    once = fit(lines(*shares), ASSUMED, is_on_gpu=False)
    more = [each for each in lines(*shares) for _ in range(chance.randint(1, 3))]
    chance.shuffle(more)
    again = fit(more, ASSUMED, is_on_gpu=False)
    assert (again.fitted, again.taken, again.programs) == (once.fitted, once.taken, once.programs)


def test_programs_with_a_known_share_give_it_back():
    """The true median is 0.35, the assumption 0.6; one program in ten has an outlier."""
    chance = random.Random(7)  # noqa: S311
    found = []
    for _ in range(100):
        shares = [chance.gauss(0.35, 0.1) if chance.random() < 0.9 else chance.random() for _ in range(12)]
        found.append(fit(lines(*shares), ASSUMED, is_on_gpu=False))
    taken = [each.taken for each in found if each.taken is not None]
    assert len(taken) >= 95
    assert median(abs(each.likely - 0.35) for each in taken) < 0.05
    new = [chance.gauss(0.35, 0.1) for _ in range(1000)]
    assert sum(taken[number % len(taken)].hold(share) for number, share in enumerate(new)) >= 900


def test_cpu_and_gpu_are_fitted_apart_and_rules_of_others_not_at_all():
    few = [*lines(0.2, 0.2, 0.2, 0.25, 0.3), *lines(0.9, 0.9, 0.9, 0.9, 0.9, kind="gpu")]
    found = fit_all([*few, *lines(0.1, 0.1, 0.1, 0.1, 0.1, rule="acme-rule")])
    assert list(found) == ["swapping"]
    assert found["swapping"]["cpu"].taken.likely == pytest.approx(0.2)
    assert found["swapping"]["gpu"].taken.likely == pytest.approx(0.9)
    assert shares_in_header("layout-copy") is None, "each kind of copy has shares of its own"


def test_what_the_package_and_its_page_keep_is_what_the_file_of_the_project_gives():
    for name, text in fit_texts(ROOT).items():
        assert (ROOT / name).read_text("utf-8") == text, "run: python tools/fit_calibration.py"


def test_the_package_keeps_numbers_of_rules_and_fits_that_are_taken():
    found = numbers_by_rule([*lines(0.2, 0.2, 0.2, 0.25, 0.3), *lines(0.5, rule="acme-rule")])
    assert json.loads(json.dumps(found)) == {
        "swapping": {
            "cpu": {
                "checked": {
                    "predictions": 5,
                    "programs": 5,
                    "inside": 5,
                    "reaching": 0,
                    "error": 2.0,
                    "bias": 2.0,
                },
                "programs": 5,
                "shares": {"low": 0.2, "likely": 0.2, "high": 1.0},
            }
        }
    }


# Programs of fixtures/make/pairs, as fixtures/pairs/measured.json had them with the rules of traceq 0.1: the likely saving, and
# the least, the median and the most that the fix won without the profiler, as shares of the step.
OF_PAIRS = """
loader_workers     data   0.230 -0.060 -0.055 0.292
persistent_workers data   0.212  0.374  0.424 0.440
json_lines         data   0.498  0.624  0.654 0.655
pandas_rows        data   0.362  0.494  0.499 0.512
collate            data   0.260  0.470  0.477 0.510
tokenizer          python 0.160  0.248  0.251 0.272
item_metrics       python 0.180  0.628  0.628 0.631
checkpoint         python 0.294  0.420  0.460 0.560
clip_loop          python 0.248 -0.180  0.083 0.147
"""
ASSUMED_OF = {"data": Shares(0.5, 0.8, 1.0), "python": Shares(0.2, 0.6, 1.0)}


def of_pairs(rule):
    found = []
    for name, kind, likely, *gains in map(str.split, OF_PAIRS.strip().splitlines()):
        least, won, most = map(float, gains)
        if kind == rule:
            shares = ASSUMED_OF[kind]
            each = line(0, name, shares=shares, claimed=float(likely) / shares.likely * STEP)
            found.append(replace(each, won_ns=won * STEP, won_low_ns=least * STEP, won_high_ns=most * STEP))
    return fit(found, ASSUMED_OF[rule], is_on_gpu=False)


def test_pairs_that_were_run_won_more_than_their_rules_claimed():
    """Recording made other parts of the step longer than those that the rules claim."""
    data, python = of_pairs("data"), of_pairs("python")
    # loader_workers won from -6 to +29 % of a step, of which 29 % were claimed: that says nothing
    assert (data.programs, data.beyond, data.taken) == (4, 4, None)
    assert (python.programs, python.beyond, python.taken) == (4, 1, None)
    assert (data.score_assumed.coverage, data.score, data.fitted) == (0, None, None)
    assert round(python.fitted.likely, 2) == 0.94
