import pytest

from traceq.runs.trials.plan import read_vary


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("num_workers=0,2,4", "num_workers", "0 2 4"),
        ("batch_size=32..256x2", "batch_size", "32 64 128 256"),
        ("batch_size=32..100+32", "batch_size", "32 64 96"),
        ("lr=0.1..1x10", "lr", "0.1 1"),
        ("lr=0.1,1e-3,1e-3", "lr", "0.1 1e-3"),
        ("mode=default, reduce-overhead", "mode", "default reduce-overhead"),
        ("n=1,4..8+2", "n", "1 4 6 8"),
        ("path=../data", "path", "../data"),
        ("n=100..200x3", "n", "100"),
        ("NAME=a=b", "NAME", "a=b"),
    ],
)
def test_values_are_a_list_or_a_range(text, name, values):
    assert read_vary(text) == (name, tuple(values.split()))


@pytest.mark.parametrize(
    "text",
    [
        "num_workers",
        "=1",
        "a b=1",
        "n=",
        "n=1,,2",
        "n=1..4",
        "n=8..4x2",
        "n=1..8x1",
        "n=1..8+0",
        "n=0..8x2",
        "n=1..1000+1",
        "n=1..9..3",
    ],
)
def test_what_is_no_list_says_what_is(text):
    with pytest.raises(ValueError, match=r"NAME=VALUES|32\.\.256|at most"):
        read_vary(text)
