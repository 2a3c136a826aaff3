from __future__ import annotations

import pytest

from traceq.exports.fit import Weight, cut_to_fit

# size, level, dur: what must stay, an outer frame of the host, a kernel, a sample, two deep frames and a deeper one
EVENTS = [Weight(10, *each) for each in [(0, 1), (1, 9), (8, 5), (9, 0), (13, 7), (13, 3), (14, 9)]]


@pytest.mark.parametrize(
    ("most", "kept", "said"),
    [
        (70, 7, None),
        (65, 6, "1 slices of the host from depth 4 (at depth 4 those up to 9 ns), of 7 events"),
        (55, 5, "2 slices of the host from depth 3 (at depth 3 those up to 3 ns), of 7 events"),
        (45, 4, "3 slices of the host from depth 3 (at depth 3 those up to 7 ns), of 7 events"),
        (
            25,
            2,
            "3 slices of the host from depth 3 and 2 slices, segments and samples of GPUs and ledgers, of 7 events",
        ),
        (0, 1, "4 slices of the host from depth 0 (at depth 0 those up to 9 ns) and 2 slices, segments and samples"),
    ],
)
def test_the_deepest_and_shortest_go_first(most, kept, said):
    found = cut_to_fit(EVENTS, most)
    if found is None:
        assert (said, kept) == (None, len(EVENTS))
        return
    cut, text = found
    assert sum(cut.keeps(level, dur) for _, level, dur in EVENTS) == kept
    assert text.startswith(said)


def test_what_must_stay_stays():
    assert cut_to_fit([Weight(10, 0, 0)] * 3, 5) is None
