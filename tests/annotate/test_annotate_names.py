from __future__ import annotations

import enum

import numpy as np
import pytest

from traceq import annotate
from traceq.annotate import names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (names.step(12), "traceq.step#12"),
        (names.phase("forward"), "traceq.phase#forward"),
        (names.fetch("train"), "traceq.fetch#train"),
        (names.module("encoder.0"), "traceq.module#encoder.0"),
        (
            names.payload({"samples": 32, "tokens": 65536, "loss_scale": 0.5}),
            "traceq.payload#samples=32,tokens=65536,loss_scale=0.5",
        ),
    ],
)
def test_the_grammar(name, expected):
    assert name == expected


@pytest.mark.parametrize(
    ("label", "cleaned"),
    [
        ("two words, 100% #1=ä✓", "two words, 100% #1=ä✓"),
        ("a\nb\tc\x00d\x7fe\u2028f", "a_b_c_d_e_f"),
        ("say \"hi\" or 'ho' \\o/", "say _hi_ or _ho_ _o/"),
        ("half a pair \ud800", "half a pair _"),
        ("", "_"),
        ("x" * 300, "x" * 200),
    ],
)
def test_a_label_is_safe_to_write_anywhere(label, cleaned):
    assert names.phase(label) == f"traceq.phase#{cleaned}"
    names.phase(label).encode()


class Size(enum.IntEnum):
    LARGE = 64


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (32, "32"),
        (-1, "-1"),
        (2**70, str(2**70)),
        (1e-5, "1e-05"),
        (0.1, "0.1"),
        (np.int64(7), "7"),
        (np.uint8(7), "7"),
        (np.float64(0.1), "0.1"),
        (np.float32(0.5), "0.5"),
        (Size.LARGE, "64"),
    ],
)
def test_numbers_of_a_payload(value, text):
    assert names.payload({"samples": value}) == f"traceq.payload#samples={text}"


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        ("32", TypeError, "payload samples: an int or a float is needed, not str"),
        (None, TypeError, "not NoneType"),
        (True, TypeError, "not bool"),
        (np.bool_(True), TypeError, "not bool"),
        (np.ones(1), TypeError, "not ndarray"),
        (1j, TypeError, "not complex"),
    ],
)
def test_what_is_no_number_is_an_error_in_one_line(value, error, words):
    with pytest.raises(error) as caught:
        annotate.payload(samples=value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_integers_beyond_any_float_are_numbers():
    assert names.payload({"tokens": 1 << 2000}) == f"traceq.payload#tokens={1 << 2000}"


def test_numbers_that_are_not_finite_are_left_out_with_one_warning(monkeypatch):
    monkeypatch.setattr(names, "_said_not_finite", False)
    with pytest.warns(RuntimeWarning, match="payload loss: nan is not a finite number"):
        assert names.payload({"samples": 4, "loss": float("nan")}) == "traceq.payload#samples=4"
    # A second warning would be an error here.
    annotate.payload(loss=np.float32("inf"))
    with annotate.step(0, loss=float("-inf")):
        assert names.payload({"loss": float("nan")}) is None


def test_a_tensor_is_not_read():
    torch = pytest.importorskip("torch")
    # A tensor without data: reading it would fail.
    tensor = torch.ones((), device="meta")
    with pytest.raises(TypeError, match=r"not a tensor on meta \(pass a number, such as len\(batch\)"):
        annotate.step(0, samples=tensor)


@pytest.mark.parametrize("key", ["Samples", "micro-batch", "_x", "1st", "größe", ""])
def test_a_key_that_the_reader_would_not_find_is_an_error(key):
    with pytest.raises(ValueError, match="keys are lower-case letters"):
        annotate.payload(**{key: 1})


def test_forgotten_parentheses_are_an_error():
    with pytest.raises(TypeError, match=r'not function: write phase\("forward"\)'):
        annotate.phase(lambda: None)
    with pytest.raises(TypeError, match=r"not function: write step\(12\)"):
        annotate.step(lambda: None)
    with pytest.raises(TypeError, match=r'not int: write loader\(batches, "train"\)'):
        annotate.loader([], 3)
    with pytest.raises(TypeError, match="a mark is set above a function, not int"):
        annotate.phase("forward")(3)
