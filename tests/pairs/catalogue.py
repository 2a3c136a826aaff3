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
    not tell what the fix wins. `rule` is the rule whose finding this time is under, unless one of `closer` names the flaw
    itself; `cause` is its word in tests/truth/causes.json, and `why` says what of that time the fix wins, and why not all.
    `mean`: the flaw or its fix is in some steps only, so that means are compared, not medians. `clock`: the program waits, or
    needs several cores, so that the clock tells how long a step takes; of all others it is the CPU time, which other programs of
    the machine change little. `needs` are modules besides PyTorch and NumPy. `same_loss`: fix and flaw end with one loss.
    """

    name: str
    fix: str
    changes: tuple[Change, ...] = ()
    assumption: str = ""
    rule: str = ""
    mean: bool = False
    clock: bool = False
    closer: tuple[str, ...] = ()
    cause: str = ""
    why: str = ""
    needs: tuple[str, ...] = ()
    same_loss: bool = True


FETCH = "enumerate(DataLoader)*"

PAIRS = (
    Pair(
        "loader_workers",
        "num_workers 0 -> 2",
        (Change(FETCH, "beside", 2),),
        "the longest remains of the rest, a fetch by two workers, and both by all cores",
        "host-data-loading",
        clock=True,
        cause="input-loading",
        why="two workers decode beside the training, while cores are free",
        needs=("PIL",),
    ),
    Pair(
        "persistent_workers",
        "persistent_workers=True",
        (Change("start of epoch", "kept"), Change(FETCH, "usual")),
        "no worker starts, and no fetch waits for that",
        "host-data-loading",
        mean=True,
        clock=True,
        closer=("host-epoch-start",),
        cause="input-loading",
        why="starting two processes and filling their queues go",
    ),
    Pair(
        "json_lines",
        "rows of Arrow",
        (Change(FETCH, "kept"),),
        "reading what is prepared takes no time",
        "host-data-loading",
        closer=("host-fetch-work",),
        cause="input-loading",
        why="parsing numbers goes; collating rows stays",
        needs=("pyarrow",),
    ),
    Pair(
        "pandas_rows",
        "one array",
        (Change(FETCH, "kept"),),
        "reading what is prepared takes no time",
        "host-data-loading",
        closer=("host-fetch-work",),
        cause="input-loading",
        why="a Series is made for each row; collating stays",
        needs=("pandas",),
    ),
    Pair(
        "collate",
        "slices",
        (Change("collate", "kept"),),
        "what is vectorized takes no time",
        "host-data-loading",
        closer=("host-fetch-work",),
        cause="input-loading",
        why="a loop over elements becomes one over rows",
    ),
    Pair(
        "tokenizer",
        "encoded before",
        (Change("tokenize", "kept"),),
        "all of it goes",
        "host-python",
        closer=("host-side-work",),
        cause="python-host",
        why="all of it goes",
    ),
    Pair(
        "item_metrics",
        "one bincount",
        (Change("metrics", "kept"),),
        "what is vectorized takes no time",
        "host-python",
        closer=("host-item-loop", "host-side-work"),
        cause="python-host",
        why="three reads for each of 1,024 samples become one operator",
    ),
    Pair(
        "step_logging",
        "each 10th step",
        (Change("log", "kept", 0.1),),
        "one in ten stays",
        "host-operators",
        mean=True,
        clock=True,
        closer=("host-logging", "host-side-work"),
        cause="logging",
        why="nine of ten lines go",
    ),
    Pair(
        "checkpoint",
        "each 10th step",
        (Change("checkpoint", "kept", 0.1),),
        "one in ten stays",
        "host-python",
        mean=True,
        clock=True,
        closer=("checkpoint-blocking", "host-side-work"),
        cause="checkpoint",
        why="nine of ten go",
    ),
    Pair(
        "gloo_buckets",
        "one flat buffer",
        (Change("gloo:*", "one"),),
        "small collectives are latency",
        "host-communication",
        clock=True,
        closer=("host-small-collectives",),
        cause="host-communication",
        why="48 messages between processes become one; copying them together is new",
    ),
    Pair(
        "optimizer_loop",
        "fused=True",
        (Change("Optimizer.step*", "kept"),),
        "one operator takes no time",
        "host-operators",
        closer=("host-optimizer", "host-many-operators"),
        cause="host-compute",
        why="12 operators for each of 240 weights become one; its arithmetic stays",
    ),
    Pair(
        "clip_loop",
        "clip_grad_norm_",
        (Change("clip", "python"), Change("aten::item", "kept")),
        "the same operators run, without a loop in Python that reads their results",
        "host-python",
        closer=("host-item-loop", "host-side-work"),
        cause="python-host",
        why="reading 240 norms goes; computing them stays",
    ),
    Pair(
        "compiled_chain",
        "torch.compile",
        (Change("augment", "one pass"),),
        "an operator is a pass over memory, and one pass does all",
        "host-operators",
        closer=("host-elementwise-chain", "host-side-work"),
        cause="host-compute",
        why="ten passes over memory become one",
    ),
    Pair(
        "float64",
        "float32",
        (Change("aten::*", "kept", 0.5),),
        "half the bytes, twice as many numbers at once",
        "host-operators",
        closer=("host-float64",),
        cause="host-compute",
        why="half the bytes, twice as many numbers in an instruction",
    ),
    Pair(
        "threads",
        "2 of 16 threads",
        (),
        "a trace does not tell how fast fewer threads are",
        "host-operators",
        clock=True,
        closer=("host-threads", "host-settings"),
        cause="host-compute",
        why="threads that wait for their turn on a core; computing stays",
    ),
    Pair(
        "small_files",
        "one mapped file",
        rule="host-data-loading",
        closer=("host-fetch-work",),
        cause="input-loading",
        why="opening a file and unpickling a tensor take 100 us a sample, copying a row of an array takes 2",
    ),
    Pair(
        "compressed_shards",
        "stored as they are",
        rule="host-python",
        closer=("host-side-work", "host-data-loading"),
        cause="input-loading",
        why="inflating goes; conversion to float32 stays under the same range",
    ),
    Pair(
        "augment_each",
        "the batch at once",
        rule="host-data-loading",
        closer=("host-fetch-work",),
        cause="input-loading",
        why="half the bytes, no temporaries in float64, no calls per picture; decoding stays, as does arithmetic",
        needs=("PIL",),
    ),
    Pair(
        "collate_main",
        "collate in the worker",
        rule="host-python",
        closer=("main-thread-collate", "host-side-work", "host-data-loading"),
        cause="input-loading",
        why="padding and unpickling lists of numbers leave the training process; the worker does the former beside it",
    ),
    Pair(
        "weighted_sampler",
        "one draw for the epoch",
        rule="host-data-loading",
        cause="input-loading",
        why="64 sums over 20,000 weights a batch become one in an epoch; fetching samples and collating stay",
    ),
    Pair(
        "sparse_rows",
        "rows of a batch at once",
        rule="host-data-loading",
        cause="input-loading",
        why="indexing of SciPy takes 60 us for one row or for a hundred; writing the dense batch stays",
        needs=("scipy",),
    ),
    Pair(
        "pandas_apply",
        "whole columns",
        rule="host-python",
        closer=("host-side-work",),
        cause="python-host",
        why="a Series is made for each row; arithmetic of four columns takes a millisecond",
        needs=("pandas",),
    ),
    Pair(
        "lstm_cells",
        "nn.LSTM",
        rule="host-operators",
        closer=("host-many-operators",),
        cause="host-compute",
        why="calling 15 operators for each time step, forward and backward, was most; one kernel computes the same",
    ),
    Pair(
        "attention_heads",
        "scaled_dot_product_attention",
        rule="host-operators",
        closer=("host-many-operators",),
        cause="host-compute",
        why="8 heads of 6 small operators are one, which stores no scores; projections and optimizer stay",
    ),
    Pair(
        "position_tables",
        "kept as buffers",
        rule="host-python",
        closer=("host-side-work", "host-item-loop"),
        cause="python-host",
        why="all of the range goes",
    ),
    Pair(
        "ema_loop",
        "torch._foreach_lerp_",
        rule="host-operators",
        closer=("host-side-work", "host-many-operators"),
        cause="host-compute",
        why="four operators and a lookup for each of 160 weights become one call; reading the weights stays",
    ),
    Pair(
        "weight_penalty",
        "weight_decay",
        rule="host-operators",
        closer=("host-many-operators", "host-side-work"),
        cause="host-compute",
        why="three operators for each weight in forward, and as many in backward, become part of one of the optimizer",
    ),
    Pair(
        "second_forward",
        "outputs of the first",
        rule="host-operators",
        closer=("host-side-work",),
        cause="host-compute",
        why="one of two forwards goes, which were a third each beside the backward",
    ),
    Pair(
        "recompute",
        "activations are kept",
        rule="host-operators",
        cause="recompute",
        why="one of two forwards goes",
    ),
    Pair(
        "micro_batches",
        "one batch",
        rule="host-operators",
        closer=("host-many-operators",),
        cause="host-compute",
        why="32 times the calls of operators for one batch; computing is the same",
    ),
    Pair(
        "validation",
        "each 10th step, inference mode",
        rule="host-operators",
        closer=("host-side-work",),
        cause="host-compute",
        why="nine of ten validations go",
        mean=True,
    ),
    Pair(
        "strided_input",
        "one contiguous copy",
        rule="host-operators",
        cause="host-compute",
        why="copies of a strided view, and arithmetic that skips over memory; a contiguous read is vectorized",
    ),
    Pair(
        "fresh_buffers",
        "one buffer again",
        rule="host-operators",
        closer=("host-side-work",),
        cause="host-compute",
        why="pages that the system clears and maps in each step; passes over memory stay",
    ),
    Pair(
        "one_hot",
        "nn.functional.embedding",
        rule="host-operators",
        cause="host-compute",
        why="a product with a matrix of zeros becomes a look-up, forward and backward",
    ),
    Pair(
        "pair_loss",
        "a matrix of distances",
        rule="host-operators",
        closer=("host-many-operators", "host-side-work", "host-item-loop"),
        cause="host-compute",
        why="120 pairs of 8 small operators are one, forward and backward",
    ),
    Pair(
        "anomaly_mode",
        "off",
        rule="host-python",
        closer=("logging-in-step", "host-side-work", "host-many-operators", "host-operators"),
        cause="logging",
        why="a traceback for each operator, and a test for NaN of each gradient",
    ),
    Pair(
        "hf_tokenizer",
        "the fast tokenizer",
        rule="host-python",
        closer=("host-side-work",),
        cause="python-host",
        why="all of the range but what the tokenizer in Rust and making the tensor take",
        needs=("transformers",),
    ),
    Pair(
        "hf_accumulation",
        "one batch",
        rule="host-operators",
        closer=("host-many-operators",),
        cause="host-compute",
        why="16 times the calls of operators, and of the Trainer, for one batch; computing is the same",
        needs=("transformers", "accelerate"),
    ),
    Pair(
        "hf_padding",
        "padded to the longest of a batch",
        rule="host-operators",
        cause="host-compute",
        why="three of four tokens are padding, which is computed as all others",
        needs=("transformers",),
    ),
    Pair(
        "hf_generate",
        "use_cache=True",
        rule="host-operators",
        cause="recompute",
        why="each new token computes all before it again",
        needs=("transformers",),
    ),
    Pair(
        "datasets_lists",
        'with_format("torch")',
        rule="host-data-loading",
        closer=("host-fetch-work",),
        cause="input-loading",
        why="lists of numbers and a look-up for each row; the batch is still taken out of Arrow",
        needs=("datasets",),
    ),
    Pair(
        "parquet_rows",
        "columns become arrays",
        rule="host-python",
        closer=("host-side-work", "host-data-loading"),
        cause="input-loading",
        why="a dictionary and numbers of Python for each row; decoding Parquet stays",
        needs=("pyarrow",),
    ),
    Pair(
        "jpeg_full_size",
        "Image.draft",
        rule="host-data-loading",
        closer=("host-fetch-work",),
        cause="input-loading",
        why="an eighth of each side is decoded; reading the bytes and decoding Huffman codes stay",
        needs=("PIL",),
        same_loss=False,
    ),
    Pair(
        "sklearn_report",
        "each 10th step",
        rule="host-python",
        closer=("host-side-work",),
        cause="python-host",
        why="nine of ten reports go",
        needs=("sklearn",),
        mean=True,
    ),
    Pair(
        "auroc_so_far",
        "each 10th step",
        rule="host-operators",
        closer=("host-side-work",),
        cause="host-compute",
        why="nine of ten sorts go; keeping the outputs stays",
        needs=("torchmetrics",),
        mean=True,
    ),
    Pair(
        "tensorboard_histograms",
        "each 10th step",
        rule="host-python",
        closer=("host-logging", "host-side-work"),
        cause="logging",
        why="nine of ten go",
        needs=("tensorboard",),
        mean=True,
    ),
    Pair(
        "lightning_norms",
        "each 10th step",
        rule="host-python",
        closer=("host-logging", "host-side-work", "host-many-operators"),
        cause="logging",
        why="nine of ten go",
        needs=("lightning",),
        mean=True,
    ),
    Pair(
        "accelerate_state",
        "each 10th step",
        rule="host-python",
        closer=("checkpoint-blocking", "host-side-work"),
        cause="checkpoint",
        why="nine of ten go",
        needs=("accelerate",),
        mean=True,
        clock=True,
    ),
    Pair(
        "ddp_no_sync",
        "no_sync but for the last",
        rule="host-communication",
        closer=("host-small-collectives",),
        cause="host-communication",
        why="three of four reductions go",
        clock=True,
    ),
    Pair(
        "uneven_shards",
        "dealt by length",
        rule="host-communication",
        closer=("late-rank", "rank-imbalance"),
        cause="waiting-for-rank",
        why="half of what the longer shard takes more; the reduction stays",
        clock=True,
    ),
    Pair(
        "pinned_ranks",
        "a core for each rank",
        rule="host-communication",
        closer=("host-settings", "host-threads", "cpu-starved", "late-rank", "host-operators"),
        cause="waiting-for-rank",
        why="each rank has half a core: by the clock all of it, computing too, is twice as long",
        clock=True,
    ),
    Pair(
        "busy_neighbour",
        "the other program has ended",
        rule="host-communication",
        closer=("late-rank", "cpu-starved", "rank-imbalance"),
        cause="waiting-for-rank",
        why="the other rank has half a core; it is not in the program",
        clock=True,
    ),
)
