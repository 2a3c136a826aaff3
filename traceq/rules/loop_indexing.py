"""A loop takes tensors apart element by element.

What it finds
    Ten and more aten::select or aten::index operators in a row under one parent, each followed by the same few
    operators: a Python loop over a dimension of a tensor.

Why it matters
    Each round launches kernels that do next to nothing; the GPU waits for the host to get to the next one. One
    operator over the whole dimension costs as much as one round.

How it is measured
    Operators of cpu_slice, in their order under one parent: rounds begin at an indexing operator, and a run is at
    least 10 equal rounds in a row (as PyTorch's own detector of this pattern has it) of at most 8 operators each
    (more are layers of a model, not elements). Claimed are the pieces idle_launch and idle_python (idle_piece) of
    gaps that end with a launch from such a run, except after synchronizing calls, which have rules of their own.
    Low 0.4, likely 1 (one round of ten remains), high 1.

What to try
    Index once with a tensor of indices, or use the whole tensor: x[idx], torch.gather, index_select, torch.stack
    after unbind, torch.vmap. A recurrence, in which each round needs the one before: torch.compile, or a fused
    kernel.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.pytorch.org/docs/stable/generated/torch.vmap.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import plural

# A run has so many equal rounds ...
_ROUNDS = 10
# ... of at most so many operators.
_OPERATORS = 8


def loop_indexing(subject: Subject) -> Iterator[Advice]:
    """Gaps inside runs of indexing."""
    subject.needs("gpu", "steps", "launches", "operators")
    claim = subject.claim("loop_indexing", low=0.4, likely=1.0, rounds=_ROUNDS, operators=_OPERATORS)
    if claim is None:
        return
    worst = subject.worst(claim)[0]
    yield Advice(
        claim,
        fix=(
            f"Replace the loop by one operation on the whole tensor: {plural(worst['rounds'], 'round')} of {worst['name']} and "
            f"{plural(worst['operators_per_round'] - 1, 'more operator')} follow one another. Instead of "
            "`for i in range(n): y[i] = f(x[i])` write `y = f(x)`, `x[indices]` or `torch.vmap(f)(x)`; to take all parts at "
            "once, `x.unbind(0)`. If each round needs the one before, compile the loop: `torch.compile(step)`."
        ),
        confidence="medium",
        reason="Inferred from equal sequences of operators that begin with an indexing operator.",
        wrong_if="The rounds are layers of a model, each of which happens to index once.",
    )
