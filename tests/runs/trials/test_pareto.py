from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from traceq.runs.trials.pareto import dominates, drop_dominated, find_alike, find_dominated

# Powers of 1.005, so that ties and differences that nobody would act on are common. Of equal products rounding would decide.
powers = st.lists(st.tuples(*[st.integers(0, 8)] * 3), min_size=1, max_size=7, unique_by=sum).map(
    lambda rows: dict(enumerate(rows))
)
# Three powers are more than 1 %, two are not.
MORE = 3


def point_of(row):
    return tuple(1.005**power for power in row)


points = powers.map(lambda rows: {name: point_of(row) for name, row in rows.items()})


def beats(one, other):
    """Counted in powers: more in one at least, as much less in none, and more in all together."""
    apart = [mine - its for mine, its in zip(one, other, strict=True)]
    return max(apart) >= MORE and min(apart) > -MORE and sum(apart) > 0


@given(powers)
def test_what_is_dominated_is_what_another_beats(rows):
    found = find_dominated({name: point_of(row) for name, row in rows.items()})
    assert set(found) == {name for name, row in rows.items() if any(beats(other, row) for other in rows.values())}
    assert all(beats(rows[by], rows[name]) for name, by in found.items())


@given(points)
def test_something_is_always_left_to_recommend(points):
    beaten = find_dominated(points)
    assert set(points) - set(beaten)
    values = {name: point[0] for name, point in points.items()}
    left = drop_dominated(find_alike(values, lambda _one, _best: False), values, beaten)
    assert left
    assert not set(left) & set(beaten)


@given(powers)
def test_only_what_beats_and_is_not_beaten_is_named_if_there_is_such(rows):
    beaten = find_dominated({name: point_of(row) for name, row in rows.items()})
    for name, by in beaten.items():
        others = [each for each, row in rows.items() if beats(row, rows[name])]
        assert by not in beaten or all(each in beaten for each in others)


def test_a_per_cent_decides_nothing():
    assert not dominates((1.009, 1), (1, 1))
    assert dominates((1.02, 0.995), (1, 1))
    assert not dominates((1.02, 0.98), (1, 1))
