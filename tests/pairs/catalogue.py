"""The pairs of fixtures/make/pairs: what is slow, what the fix is, and what a fix of this kind changes in a recorded step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

How = Literal["kept", "python", "usual", "beside", "one pass", "one"]


@dataclass(frozen=True)
class Change:
    """What becomes of the time of slices whose names match the pattern `slices`.

    kept: the share `amount` of it stays. python: what is in operators stays. usual: those that are longer than the median become
    as long as it. beside: it runs on `amount` worker processes beside the rest of the step. one pass: operators that pass over
    the same memory are fused, so that one of so many stays. one: of the many in a step one stays.
    """

    slices: str
    how: How
    amount: float = 0.0

    def __str__(self) -> str:
        words = {
            "kept": f"{self.amount:.0%} stays" if self.amount else "goes",
            "python": "outside operators goes",
            "usual": "never longer than its median",
            "beside": f"beside the rest, in {self.amount:.0f} processes",
            "one pass": "one of its operators stays",
            "one": "one of each step stays",
        }
        return f"`{self.slices}` {words[self.how]}"


@dataclass(frozen=True)
class Pair:
    """A program with a flaw and the same program without: see the file of that name.

    `changes` say what the fix takes away, in words that hold for any program, and `assumption` why; without any the trace does
    not tell what the fix wins. `rule` is the rule that has to find the flaw, and says what fixing it would win. `mean`: the flaw
    or its fix is in some steps only, so that means are compared, not medians. `clock`: the program waits, or needs several cores,
    so that the clock tells how long a step takes; of all others it is the CPU time, which other programs change little.
    """

    name: str
    fix: str
    changes: tuple[Change, ...]
    assumption: str
    rule: str
    mean: bool = False
    clock: bool = False


FETCH = "enumerate(DataLoader)*"

PAIRS = (
    Pair(
        "loader_workers",
        "num_workers 0 -> 2",
        (Change(FETCH, "beside", 2),),
        "the longest remains of the rest, a fetch by two workers, and both by all cores",
        "host-data-loading",
        clock=True,
    ),
    Pair(
        "persistent_workers",
        "persistent_workers=True",
        (Change("start of epoch", "kept"), Change(FETCH, "usual")),
        "no worker starts, and no fetch waits for that",
        "host-epoch-start",
        mean=True,
        clock=True,
    ),
    Pair(
        "json_lines",
        "rows of Arrow",
        (Change(FETCH, "kept"),),
        "reading what is prepared takes no time",
        "host-data-loading",
    ),
    Pair(
        "pandas_rows",
        "one array",
        (Change(FETCH, "kept"),),
        "reading what is prepared takes no time",
        "host-data-loading",
    ),
    Pair("collate", "slices", (Change("collate", "kept"),), "what is vectorized takes no time", "host-fetch-work"),
    Pair("tokenizer", "encoded before", (Change("tokenize", "kept"),), "all of it goes", "host-side-work"),
    Pair(
        "item_metrics",
        "one bincount",
        (Change("metrics", "kept"),),
        "what is vectorized takes no time",
        "host-item-loop",
    ),
    Pair(
        "step_logging",
        "each 10th step",
        (Change("log", "kept", 0.1),),
        "one in ten stays",
        "host-logging",
        mean=True,
        clock=True,
    ),
    Pair(
        "checkpoint",
        "each 10th step",
        (Change("checkpoint", "kept", 0.1),),
        "one in ten stays",
        "host-logging",
        mean=True,
        clock=True,
    ),
    Pair(
        "gloo_buckets",
        "one flat buffer",
        (Change("gloo:*", "one"),),
        "small collectives are latency",
        "host-small-collectives",
        clock=True,
    ),
    Pair(
        "optimizer_loop",
        "fused=True",
        (Change("Optimizer.step*", "kept"),),
        "one operator takes no time",
        "host-optimizer",
    ),
    Pair(
        "clip_loop",
        "clip_grad_norm_",
        (Change("clip", "python"), Change("aten::item", "kept")),
        "the same operators run, without a loop in Python that reads their results",
        "host-item-loop",
    ),
    Pair(
        "compiled_chain",
        "torch.compile",
        (Change("augment", "one pass"),),
        "an operator is a pass over memory, and one pass does all",
        "host-elementwise-chain",
    ),
    Pair(
        "float64",
        "float32",
        (Change("aten::*", "kept", 0.5),),
        "half the bytes, twice as many numbers at once",
        "host-float64",
    ),
    Pair(
        "threads",
        "2 of 16 threads",
        (),
        "a trace does not tell how fast fewer threads are",
        "host-threads",
        clock=True,
    ),
)
