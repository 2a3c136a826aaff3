"""operator_cost of a trace that PyTorch itself recorded, against PyTorch's own counter of floating-point operations."""

from __future__ import annotations

from collections import Counter

import pytest

from traceq.database.connect import connect
from traceq.loading.ingest import ingest

KINDS = {
    "mm": "matmul",
    "addmm": "matmul",
    "bmm": "matmul",
    "baddbmm": "matmul",
    "convolution": "convolution",
    "convolution_backward": "convolution",
}
QUERY, KEY = (2, 4, 32, 16), (2, 4, 48, 16)


def compute(torch):
    """A bit of everything, forward and backward."""
    functional = torch.nn.functional
    rand = lambda *shape: torch.rand(*shape, requires_grad=True)  # noqa: E731 - a word for what follows
    query, key = rand(*QUERY), rand(*KEY)
    outputs = [
        functional.linear(rand(6, 7, 8), rand(9, 8), rand(9)),
        rand(3, 4, 5) @ rand(3, 5, 6),
        torch.baddbmm(rand(3, 4, 6), rand(3, 4, 5), rand(3, 5, 6)),
        # Groups forward only: PyTorch counts their weights' gradient as often as there are groups.
        functional.conv2d(
            torch.rand(2, 6, 17, 19), torch.rand(8, 3, 3, 5), stride=2, padding=1, dilation=(2, 1), groups=2
        ),
        functional.conv2d(rand(2, 6, 17, 19), rand(8, 6, 3, 5), rand(8), stride=2, padding=1, dilation=(2, 1)),
        functional.conv1d(torch.rand(2, 4, 33), rand(5, 4, 3)),
        functional.conv_transpose2d(rand(2, 6, 9, 9), rand(6, 4, 3, 3), stride=2, padding=1, output_padding=1),
        functional.scaled_dot_product_attention(query, key, key),
    ]
    sum(output.sum() for output in outputs).backward()


def count_flops(torch):
    from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

    with FlopCounterMode(display=False) as counter:
        compute(torch)
    # The counter itself leaves out attention on the CPU.
    totals = Counter(attention=sdpa_flop_count(QUERY, KEY, KEY) + sdpa_backward_flop_count(QUERY, QUERY, KEY, KEY))
    for packet, flops in counter.get_flop_counts()["Global"].items():
        if packet.__name__ in KINDS:
            totals[KINDS[packet.__name__]] += flops
    return dict(totals)


@pytest.mark.slow
def test_operations_are_those_that_pytorch_counts(tmp_path):
    torch = pytest.importorskip("torch")
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        compute(torch)
    trace = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(trace))
    ingest([trace], tmp_path / "trace.duckdb")
    with connect(tmp_path / "trace.duckdb") as connection:
        rows = connection.execute("select kind, sum(flops)::bigint from operator_cost where flops > 0 group by kind")
        found = dict(rows.fetchall())
    assert found == count_flops(torch)
