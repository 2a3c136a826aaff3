"""Layers in a sequence of kernels: what is built of layers is taken apart again, and what is not stays whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from traceq.analysis.layers.repeats import LEAST_LAYERS, KernelSequence, find_stretches, is_regular

ATTENTION = 50


def kernels_of(text, attention="A"):
    """Return kernels of a text, one a letter: capitals are heavy, those in `attention` are attention."""
    letters = np.array([ord(letter) for letter in text], np.int64)
    is_heavy = np.array([letter.isupper() for letter in text], np.bool_)
    is_attention = np.array([letter in attention for letter in text], np.bool_)
    return KernelSequence(letters, is_heavy, is_attention, is_heavy & ~is_attention)


def layers_of(text, attention="A"):
    """Return the layers of each stretch as texts."""
    found = find_stretches(kernels_of(text, attention))
    return [
        [text[first:last] for first, last in zip(stretch.starts, (*stretch.starts[1:], stretch.end), strict=True)]
        for stretch in found
    ]


def test_equal_layers_between_an_embedding_and_a_head():
    assert layers_of("ei" + 6 * "nQAPnUgD" + "nH") == [6 * ["nQAPnUgD"]]


def test_a_first_layer_that_begins_otherwise_begins_with_what_all_have():
    """The first norm is not fused with the addition before it: each layer begins behind its norm."""
    assert layers_of("en" + "QAPnUgD" + 5 * "fQAPnUgD" + "fH") == [6 * ["QAPnUgDf"]]


def test_fewer_than_four_are_no_layers():
    assert layers_of("ei" + 3 * "nQAPnUgD" + "nH") == []
    assert LEAST_LAYERS == 4


def test_dense_layers_before_those_of_experts():
    dense, experts = "nQkrAPnUgD", "nQkrAPntsXYw"
    assert layers_of("e" + 3 * dense + 9 * experts + "nH") == [3 * [dense] + 9 * [experts]]


def test_layers_that_take_turns_are_layers_each():
    """Attention of a window in one layer, of all in the next, with another kernel."""
    one, other = "nQkrApPnUgDcxyz", "nQkrBpPnUgDcxyz"
    assert layers_of("e" + 6 * (one + other) + "nH", attention="AB") == [6 * [one, other]]


def test_forward_and_backward_are_two_stretches():
    assert layers_of("ei" + 5 * "nQAPnUgD" + "nHlh" + 5 * "VdvbBaqSTm" + "uu", attention="AB") == [
        5 * ["nQAPnUgD"],
        5 * ["VdvbBaqSTm"],
    ]


def test_layers_of_rounds_are_found_and_not_the_rounds():
    """Tokens, denoising steps and micro-batches repeat, too."""
    one = "ei" + 6 * "nQAPnUgD" + "nHst"
    assert layers_of(5 * one) == 5 * [6 * ["nQAPnUgD"]]


def test_experts_of_a_layer_are_no_layers():
    layer = "nQAPnr" + 8 * "iUgDs"
    assert layers_of("e" + 5 * layer + "nH") == [5 * [layer]]


def test_updates_of_weights_are_no_layers():
    assert layers_of(20 * "msdu") == []


def test_two_models_are_two_lists():
    assert layers_of("ei" + 6 * "nQAPnUgD" + "xyz" + 4 * "LMBNOPkj" + "w", attention="AB") == [
        6 * ["nQAPnUgD"],
        4 * ["LMBNOPkj"],
    ]


def test_layers_that_lack_kernels_are_not_regular():
    whole = kernels_of("e" + 8 * "nQrAPnUgD" + "H")
    assert [is_regular(whole, stretch) for stretch in find_stretches(whole)] == [True]
    damaged = kernels_of("e" + "nQrAPn" + "PnUgD" + 3 * "nQrAPnUgD" + "nQrAPnUgUgD" + "rAPnUgD" + "nQrAPnrAPUgD" + "H")
    assert [is_regular(damaged, stretch) for stretch in find_stretches(damaged)] in ([False], [])


def test_known_anchors_find_the_same():
    text = "ei" + 6 * "nQAPnUgD" + "nH"
    (found,) = find_stretches(kernels_of(text))
    other = kernels_of("zei" + 6 * "nQAPnUgD" + "nHt")
    assert [stretch.starts for stretch in find_stretches(other, [found.anchor])] == [
        tuple(start + 1 for start in found.starts)
    ]
    assert find_stretches(other, [(1, 2)]) == []


BODY = st.lists(st.integers(0, 30), min_size=4, max_size=40)


@settings(deadline=None, max_examples=150)
@given(
    before=st.lists(st.integers(100, 120), max_size=20),
    layer=BODY,
    times=st.integers(LEAST_LAYERS, 24),
    after=st.lists(st.integers(200, 220), max_size=20),
    odd=st.lists(st.tuples(st.floats(0.1, 0.9), st.integers(300, 310)), max_size=1),
)
@example(before=[], layer=[0, 1, 2, 3], times=4, after=[], odd=[])
def test_any_layer_with_attention_is_found_as_often_as_it_runs(before, layer, times, after, odd):
    """Attention makes layers that are no repetition of shorter ones; a kernel may be another one, as autotuned ones are."""
    whole = [*layer, ATTENTION]
    sequence = [*before, *(times * whole), *after]
    for where, number in odd if times > 2 * LEAST_LAYERS else ():
        place = len(before) + int(where * len(whole) * times)
        sequence[place] = number if sequence[place] != ATTENTION else ATTENTION
    numbers = np.array(sequence, np.int64)
    found = find_stretches(KernelSequence(numbers, numbers == ATTENTION, numbers == ATTENTION, numbers < 0))
    assert [len(stretch.starts) for stretch in found] == [times]
    (stretch,) = found
    assert len(before) <= stretch.starts[0] <= stretch.end <= len(before) + times * len(whole)
    assert np.diff(stretch.starts) == pytest.approx(len(whole), abs=1)


@settings(deadline=None, max_examples=60)
@given(numbers=st.permutations(range(60)))
def test_what_never_repeats_has_no_layers(numbers):
    sequence = np.array(numbers, np.int64)
    every = np.ones(len(sequence), np.bool_)
    assert find_stretches(KernelSequence(sequence, every, every, ~every)) == []


@settings(deadline=None, max_examples=60)
@given(numbers=st.lists(st.integers(0, 4), max_size=200))
def test_stretches_lie_one_behind_another_within_the_sequence(numbers):
    sequence = np.array(numbers, np.int64)
    every = np.ones(len(sequence), np.bool_)
    end = 0
    for stretch in find_stretches(KernelSequence(sequence, every, sequence == 0, sequence != 0)):
        assert end <= stretch.starts[0]
        assert list(stretch.starts) == sorted(set(stretch.starts))
        assert stretch.starts[-1] < stretch.end <= len(sequence)
        assert len(stretch.starts) >= LEAST_LAYERS
        end = stretch.end


@given(
    schedule=st.text("FB", min_size=1, max_size=12),
    layers=st.integers(1, 8),
    backward=st.sampled_from(["dGgbVfWpn", "DgUnPaQn", "nQAPnUgDdgUnPaQn"]),
)
@settings(deadline=None, max_examples=50)
@example(schedule="FFF" + 5 * "FB" + "BBB", layers=8, backward="dGgbVfWpn")
def test_stretches_of_micro_batches_lie_one_behind_another(schedule, layers, backward):
    """Pipelines run some forward passes in a row, then one of either kind in turns, then backward passes."""
    passes = {"F": layers * "nQAPnUgD", "B": layers * backward}
    text = "".join(passes[one] for one in schedule)
    found = find_stretches(kernels_of(text, attention="AV"))
    ends = [end for stretch in found for end in (*stretch.starts, stretch.end)]
    assert all(
        before < after
        for stretch in found
        for before, after in zip(stretch.starts, (*stretch.starts[1:], stretch.end), strict=True)
    )
    assert ends == sorted(ends)
    assert not ends or 0 <= ends[0] <= ends[-1] <= len(text)
