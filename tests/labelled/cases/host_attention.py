from __future__ import annotations

SCORES = ("aten::div", "aten::masked_fill", "aten::softmax")


def steps(trace, between=SCORES, product="aten::bmm", heads=1, own=("aten::slice", "aten::transpose")):
    for step in range(3):
        ts = 1_000_000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1_000_000)
        trace.op("aten::linear", ts + 10, 100_000)
        start = ts + 110_000
        for _ in range(heads):
            for name in (*own, "product", *between, "product"):
                trace.op("aten::matmul" if name == "product" else name, start, 18_000)
                if name == "product":
                    trace.op(product, start + 1_000, 16_000)
                start += 20_000
        trace.op("aten::linear", start, 100_000)


def found(trace):
    """Scale, mask and softmax between the products."""
    steps(trace)


def found_head_by_head(trace):
    """Three heads, one after the other."""
    steps(trace, heads=3)


def clean(trace):
    """A fused operator, between the same projections."""
    steps(trace, ("aten::scaled_dot_product_attention",))


def clean_of_a_loss(trace):
    """The logarithm of a softmax belongs to a loss."""
    steps(trace, ("aten::div", "aten::log_softmax"))


def clean_gates(trace):
    """A softmax between two layers, whose products have no batch of matrices."""
    steps(trace, product="aten::mm")


def clean_other_work_between(trace):
    """What is between the products is more than scores."""
    steps(trace, (*SCORES, *["aten::mul"] * 9))


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
