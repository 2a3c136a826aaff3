from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from traceq.runs.front import ALIKE, alike, dominated, dominates, worth

# Steps of about 0.5 %, so that ties and differences that nobody would act on are common.
amounts = st.integers(0, 8).map(lambda number: 1.005**number)
points = st.lists(st.tuples(amounts, amounts, amounts), min_size=1, max_size=7).map(lambda rows: dict(enumerate(rows)))


def beats(one, other):
    """As the docstring of front has it, in other words."""
    wins = [mine * (1 - ALIKE) > its for mine, its in zip(one, other, strict=True)]
    loses = [mine < its * (1 - ALIKE) for mine, its in zip(one, other, strict=True)]
    return any(wins) and not any(loses) and one[0] * one[1] * one[2] > other[0] * other[1] * other[2]


@given(points)
def test_what_is_dominated_is_what_another_beats(points):
    beaten = {name for name, point in points.items() if any(beats(other, point) for other in points.values())}
    found = dominated(points)
    assert set(found) == beaten
    assert all(beats(points[by], points[name]) for name, by in found.items())


@given(points)
def test_something_is_always_left_to_recommend(points):
    beaten = dominated(points)
    assert set(points) - set(beaten)
    values = {name: point[0] for name, point in points.items()}
    left = worth(alike(values, lambda _one, _best: False), values, beaten)
    assert left
    assert not set(left) & set(beaten)


@given(points)
def test_only_what_beats_and_is_not_beaten_is_named_if_there_is_such(points):
    beaten = dominated(points)
    for name, by in beaten.items():
        others = [each for each, point in points.items() if beats(point, points[name])]
        assert by not in beaten or all(each in beaten for each in others)


def test_a_per_cent_decides_nothing():
    assert not dominates((1.009, 1), (1, 1))
    assert dominates((1.02, 0.995), (1, 1))
    assert not dominates((1.02, 0.98), (1, 1))
