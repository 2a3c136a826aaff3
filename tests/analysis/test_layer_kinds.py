"""Layers of several kinds, passes over layers, decoders behind encoders: a right number, or none and the reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from traceq.analysis.layers.attentions import UNCLEAR_ATTENTION
from traceq.analysis.layers.ordered import sum_ordered
from traceq.analysis.layers.passes import AMBIGUOUS, OF_PASSES
from traceq.analysis.layers.rows import DeviceLayers, StepKernels

# A kernel a letter: capitals are products, those of ATTENTION attention; n a norm, s a softmax, e the embedding; > a send.
ATTENTION = "ABC"
EMBEDDING = "e"
HEAD = "nHa"
DENSE = "nQAPnUgD"
EXPERTS = "nQAPntrXgYm"
STATES = "nIcBOnUgD"
# self-attention, cross-attention, dense part
DECODER = "nQAPnQAPnUgD"
# letters of the backward pass
SHIFT = 0x400


def back(*layers):
    """Return the backward pass of layers: their kernels in reverse, under other names."""
    return "".join(chr(ord(kernel) + SHIFT) for kernel in reversed("".join(layers)))


def step_of(text, products):
    """Return the kernels of a step, 1 ns each; without `products` no name tells of these."""
    kernels = [kernel for kernel in text if kernel != ">"]
    borders = np.cumsum([kernel == ">" for kernel in text])[[kernel != ">" for kernel in text]]
    forward = [chr(ord(kernel) % SHIFT) for kernel in kernels]
    is_fused = np.array([kernel in ATTENTION for kernel in forward])
    is_attention = is_fused | np.array([kernel == "s" for kernel in forward])
    is_product = np.array([kernel.isupper() for kernel in forward]) & ~is_attention
    is_backward = np.array([ord(kernel) >= SHIFT for kernel in kernels])
    return StepKernels(
        number=np.array([ord(kernel) for kernel in kernels]),
        dur=np.ones(len(kernels)),
        is_heavy=is_fused | is_product & products,
        is_attention=is_attention,
        is_possible_product=is_product | ~(is_attention | products),
        is_backward=is_backward,
        is_named_backward=is_backward,
        path=np.full(len(kernels), -1),
        is_end=np.array([kernel == EMBEDDING for kernel in kernels]),
        is_border=np.diff(borders, prepend=0) > 0,
    )


def layers_of(*texts, products=True):
    """Return the sizes of the layers of each list, forward and backward, over steps of these kernels; or why there are none."""
    found = sum_ordered([(number, step_of(text, products)) for number, text in enumerate(texts)], [])
    if not isinstance(found, DeviceLayers):
        return found
    assert sum(row.kernels for row in found.sums.values()) == sum(len(text.replace(">", "")) for text in texts)
    rows = sorted((key, row.kernels) for key, row in found.sums.items() if key.list_number >= 0)
    return [[kernels for key, kernels in rows if key.list_number == number] for number, _ in enumerate(found.lists)]


def whole(*layers):
    """Return a step of a whole model."""
    return EMBEDDING + "".join(layers) + HEAD


def sizes(*layers):
    return [len(layer) for layer in layers]


KINDS = [
    pytest.param([DENSE, EXPERTS] * 8, id="dense and experts in turns"),
    pytest.param([EXPERTS, DENSE] * 8, id="experts and dense in turns"),
    pytest.param([DENSE, DENSE, DENSE, EXPERTS] * 6, id="every fourth has experts"),
    pytest.param(3 * [DENSE] + 17 * [EXPERTS], id="three dense ones first"),
    pytest.param(5 * [DENSE] + 17 * [EXPERTS], id="five dense ones first"),
    pytest.param([*4 * [STATES], DENSE, *3 * [STATES]] * 4, id="every eighth has attention, others states"),
    pytest.param([STATES, DENSE] * 8, id="states and attention in turns"),
    pytest.param(12 * [DECODER], id="two attentions in every layer"),
    pytest.param(20 * ["nQqKkVrAPanQqKkVAPanUgDa"], id="two alike attentions with norms inside"),
    pytest.param(12 * ["nQqKksVTFanQqKksVTanUgDa"], id="attention of space and of time, by softmax"),
    pytest.param(12 * ["nQAPnRs" + EXPERTS[5:]], id="a softmax chooses experts"),
]


@pytest.mark.parametrize("layers", KINDS)
def test_layers_of_several_kinds_are_layers_each(layers):
    found = layers_of(*2 * [whole(*layers)])
    # the norm behind the last layer is as that of others
    assert [[*found[0][:-1]]] == [[2 * size for size in sizes(*layers[:-1])]]
    assert len(found[0]) == len(layers)


def test_products_may_have_names_that_tell_nothing():
    layers = [DENSE, EXPERTS] * 8
    assert layers_of(*2 * [whole(*layers)], products=False) == [[2 * size for size in sizes(*layers)]]


@pytest.mark.parametrize("layers", [[DENSE, EXPERTS] * 8, [*3 * [STATES], DENSE] * 6, 12 * [DECODER]])
def test_the_backward_pass_has_as_many_layers(layers):
    text = EMBEDDING + "".join(layers) + "l" + back(*layers) + "uu"
    assert layers_of(text) in (
        [[2 * size for size in sizes(*layers)]],
        "no sequence repeats as often in the forward pass as in the backward pass",
    )


@pytest.mark.parametrize(("encoders", "decoders"), [(12, 12), (6, 6), (24, 12), (12, 24), (4, 4)])
@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [(DENSE, DECODER), ("nQBPnUgD", "nQAPnqKBPnUgD"), ("nQQQBPnUgD", "nQQQAPnQkkBPnUgD")],
    ids=["one attention", "another across", "an own product for each input"],
)
def test_no_layer_of_an_encoder_is_one_of_its_decoder(encoder, decoder, encoders, decoders):
    text = EMBEDDING + encoders * encoder + EMBEDDING + decoders * decoder + HEAD
    found = layers_of(text)
    assert isinstance(found, str) or found == [encoders * [len(encoder)], decoders * [len(decoder)]]
    assert encoders > decoders or not isinstance(found, str)


def test_the_same_attention_twice_without_a_dense_part_is_unclear():
    """Two layers that run their dense part beside the attention, in its products, or one layer?"""
    assert layers_of(whole(*12 * ["nWAYrZAX"])) == f"{UNCLEAR_ATTENTION}"


PASSES = "what repeats may be layers or passes over them"


@settings(deadline=None, max_examples=40)
@given(warm=st.integers(0, 4), steady=st.integers(1, 6), layers=st.integers(4, 9), inputs=st.booleans())
@example(warm=3, steady=5, layers=8, inputs=False)
@example(warm=0, steady=1, layers=8, inputs=True)
def test_micro_batches_of_a_pipeline_run_the_same_layers(warm, steady, layers, inputs):
    """Some run forward in a row first, then one forward and one backward in turns, the rest backward in a row."""
    forward, backward = inputs * EMBEDDING + layers * DENSE + ">", layers * back(DENSE) + ">"
    text = ">" + warm * forward + steady * (forward + backward) + warm * backward + "uu"
    times = warm + steady
    assert layers_of(text) == [layers * [2 * times * len(DENSE)]]


@given(times=st.integers(2, 6), layers=st.integers(2, 6))
@settings(deadline=None, max_examples=20)
def test_passes_of_a_virtual_pipeline_are_layers_of_one_pass(times, layers):
    """Two parts of a model on one device cannot be told from more micro-batches over one part."""
    one, other = layers * DENSE + ">", layers * back(DENSE) + ">"
    text = ">" + 2 * times * one + 2 * times * other + "uu"
    found = sum_ordered([(0, step_of(text, products=True))], [])
    assert isinstance(found, DeviceLayers)
    assert [(row.words, len(row.names), set(row.calls)) for row in found.lists] == [
        ("layers of one pass", layers, {2 * times})
    ]
    assert found.cautions == (OF_PASSES,)


def test_layers_that_each_lie_between_sends_may_be_passes():
    assert layers_of(">" + 8 * (DENSE + ">") + "uu") == AMBIGUOUS


def test_exchanges_inside_of_layers_part_no_passes():
    """Tokens go to experts and come back."""
    assert layers_of(whole(*8 * ["nQAPntr>XgY>m"])) == [8 * [11]]


def test_without_sends_and_ends_layers_may_be_passes():
    found = layers_of(32 * DENSE + 32 * back(DENSE))
    assert found == f"{PASSES}, as nothing lies before or behind them"


def test_other_numbers_of_layers_may_be_passes():
    forward, backward = 8 * DENSE, 8 * back(DENSE)
    text = 3 * forward + 5 * (forward + backward) + 3 * backward + "uu"
    assert layers_of(text) == f"{PASSES}, as nothing else lies between two sequences of them"
    text = "".join(f"x{times * DENSE}yzv" for times in (8, 8, 24)) + HEAD
    assert layers_of(text) == f"{PASSES}, as it repeats 8 or 24 times"


def test_a_step_that_begins_inside_of_a_pass_says_what_it_leaves_out():
    text = 5 * DENSE + HEAD + whole(*12 * [DENSE])
    found = sum_ordered([(0, step_of(text, products=True))], [])
    assert isinstance(found, DeviceLayers)
    assert [len(row.names) for row in found.lists] == [12]
    assert found.cautions == (
        "layers leave out 29% of the time of what repeats like them, in passes with more or fewer of them",
    )


@settings(deadline=None, max_examples=60)
@given(
    kinds=st.lists(st.sampled_from([DENSE, EXPERTS, STATES]), min_size=2, max_size=8),
    times=st.integers(1, 8),
    begin=st.sampled_from(["", 3 * DENSE, DENSE]),
)
def test_kinds_in_any_order_give_the_number_of_layers_or_none(kinds, times, begin):
    """Kinds without any pattern may be two lists."""
    layers = [*(len(begin) // len(DENSE) * [DENSE]), *times * kinds]
    found = layers_of(whole(*layers))
    assert found is None or isinstance(found, str) or sum(map(len, found)) == len(layers)
