"""The pairs of fixtures/make/pairs: what is slow, what the fix is, what it wins and why, and which finding may name it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """A program with a flaw and the same program without: see the file of that name.

    The first FIRST were written with the rules that name their flaws, and were at hand as these were; the others came later.

    `rules` are those that may name the flaw or advise the fix; the finding of the first of them that is in the report is what
    says what the fix wins. None: no rule can tell it from the program's own work yet. `cause` is the flaw's word in
    causes.json, `why` what of its time goes, and what stays. `same_loss`: flaw and fix end with the same loss.
    `mean`: the flaw or its fix is in some steps only, so that means are compared, not medians. `clock`: the program waits, or
    needs several cores, so that the clock tells how long a step takes; of all others it is the CPU time, which other programs
    change little. `needs` are modules besides PyTorch and NumPy. `changed`: `rules` were changed after a report of the program
    had been seen. `advised` is the fix that the rule advises, where another was measured. `note` explains a prediction that
    missed.
    """

    name: str
    fix: str
    rules: tuple[str, ...]
    cause: str
    why: str
    needs: tuple[str, ...] = ()
    mean: bool = False
    clock: bool = False
    same_loss: bool = True
    changed: bool = False
    advised: str = ""
    note: str = ""


FIRST = 15


PAIRS = (
    Pair(
        "loader_workers",
        "num_workers 0 -> 2",
        ("host-data-loading",),
        "input-loading",
        "two workers decode beside the training, while cores are free",
        needs=("PIL",),
        clock=True,
    ),
    Pair(
        "persistent_workers",
        "persistent_workers=True",
        ("host-epoch-start", "host-data-loading"),
        "input-loading",
        "starting two processes and filling their queues go",
        mean=True,
        clock=True,
    ),
    Pair(
        "json_lines",
        "rows of Arrow",
        ("host-data-loading", "host-fetch-work"),
        "input-loading",
        "parsing numbers goes; collating rows stays",
        needs=("pyarrow",),
        advised="workers",
    ),
    Pair(
        "pandas_rows",
        "one array",
        ("host-data-loading", "host-fetch-work"),
        "input-loading",
        "a Series is made for each row; collating stays",
        needs=("pandas",),
        advised="workers",
    ),
    Pair(
        "collate",
        "slices",
        ("host-fetch-work", "host-data-loading"),
        "input-loading",
        "a loop over elements becomes one over rows",
    ),
    Pair(
        "tokenizer",
        "encoded before",
        ("host-side-work", "host-python"),
        "python-host",
        "all of it goes",
    ),
    Pair(
        "item_metrics",
        "one bincount",
        ("host-item-loop", "host-side-work", "host-python"),
        "python-host",
        "three reads for each of 1,024 samples become one operator",
    ),
    Pair(
        "step_logging",
        "each 10th step",
        ("host-logging", "host-side-work", "host-operators"),
        "logging",
        "nine of ten lines go",
        mean=True,
        clock=True,
        note="recording made the rest of the step longer, so that logging, of which nearly all goes, was a smaller share of it",
    ),
    Pair(
        "checkpoint",
        "each 10th step",
        ("host-logging", "checkpoint-blocking", "host-side-work", "host-python"),
        "checkpoint",
        "nine of ten go",
        mean=True,
        clock=True,
    ),
    Pair(
        "gloo_buckets",
        "one flat buffer",
        ("host-small-collectives", "host-communication"),
        "host-communication",
        "48 messages between processes become one; copying them together is new",
        clock=True,
        note="a step took 82 ms when timed and 45 ms when recorded: waiting between processes differs from run to run",
    ),
    Pair(
        "optimizer_loop",
        "fused=True",
        ("host-optimizer", "host-many-operators", "host-operators"),
        "host-compute",
        "12 operators for each of 240 weights become one; its arithmetic stays",
    ),
    Pair(
        "clip_loop",
        "clip_grad_norm_",
        ("host-item-loop", "host-side-work", "host-python"),
        "python-host",
        "reading 240 norms goes; computing them stays",
    ),
    Pair(
        "compiled_chain",
        "torch.compile",
        ("host-elementwise-chain", "host-side-work", "host-operators"),
        "host-compute",
        "ten passes over memory become one",
    ),
    Pair(
        "float64",
        "float32",
        ("host-float64", "host-operators"),
        "host-compute",
        "half the bytes, twice as many numbers in an instruction",
    ),
    Pair(
        "threads",
        "2 of 16 threads",
        ("host-threads", "host-operators"),
        "host-compute",
        "threads that wait for their turn on a core; computing stays",
        clock=True,
    ),
    Pair(
        "small_files",
        "one mapped file",
        ("host-fetch-work", "host-data-loading"),
        "input-loading",
        "opening a file and unpickling a tensor take 100 us a sample, copying a row of an array takes 2",
        advised="workers",
    ),
    Pair(
        "compressed_shards",
        "stored as they are",
        ("host-side-work", "host-data-loading", "host-python"),
        "input-loading",
        "inflating goes; conversion to float32 stays under the same range",
    ),
    Pair(
        "augment_each",
        "the batch at once",
        ("host-fetch-work", "host-data-loading"),
        "input-loading",
        "half the bytes, no temporaries in float64, no calls per picture; decoding stays, as does arithmetic",
        needs=("PIL",),
    ),
    Pair(
        "weighted_sampler",
        "one draw for the epoch",
        ("host-data-loading",),
        "input-loading",
        "64 sums over 20,000 weights a batch become one in an epoch; fetching samples and collating stay",
        advised="workers",
    ),
    Pair(
        "sparse_rows",
        "rows of a batch at once",
        ("host-data-loading",),
        "input-loading",
        "indexing of SciPy takes 60 us for one row or for a hundred; writing the dense batch stays",
        needs=("scipy",),
        advised="workers",
    ),
    Pair(
        "pandas_apply",
        "whole columns",
        ("host-side-work", "host-python"),
        "python-host",
        "a Series is made for each row; arithmetic of four columns takes a millisecond",
        needs=("pandas",),
    ),
    Pair(
        "lstm_cells",
        "nn.LSTM",
        ("host-many-operators", "host-operators"),
        "host-compute",
        "calling 15 operators for each time step, forward and backward, was most; one kernel computes the same",
    ),
    Pair(
        "attention_heads",
        "scaled_dot_product_attention",
        ("host-attention", "host-many-operators", "host-operators"),
        "host-compute",
        "8 heads of 6 small operators are one, which stores no scores; projections and optimizer stay",
        changed=True,
    ),
    Pair(
        "position_tables",
        "kept as buffers",
        ("host-side-work", "host-item-loop", "host-python"),
        "python-host",
        "all of the range goes",
    ),
    Pair(
        "ema_loop",
        "torch._foreach_lerp_",
        ("host-side-work", "host-many-operators", "host-operators"),
        "host-compute",
        "four operators and a lookup for each of 160 weights become one call; reading the weights stays",
    ),
    Pair(
        "weight_penalty",
        "weight_decay",
        ("host-many-operators", "host-side-work", "host-operators"),
        "host-compute",
        "three operators for each weight in forward, and as many in backward, become part of one of the optimizer",
    ),
    Pair(
        "second_forward",
        "outputs of the first",
        ("host-side-work", "host-operators"),
        "host-compute",
        "one of two forwards goes, which were a third each beside the backward",
    ),
    Pair(
        "recompute",
        "activations are kept",
        (),
        "recompute",
        "one of two forwards goes",
        changed=True,
    ),
    Pair(
        "micro_batches",
        "one batch",
        ("host-many-operators", "host-operators"),
        "host-compute",
        "16 times the calls of operators for one batch; computing is the same",
    ),
    Pair(
        "validation",
        "each 10th step, inference mode",
        ("host-side-work", "host-operators"),
        "host-compute",
        "nine of ten validations go",
        mean=True,
    ),
    Pair(
        "strided_input",
        "one contiguous copy",
        (),
        "host-compute",
        "copies of a strided view, and arithmetic that skips over memory; a contiguous read is vectorized",
        changed=True,
    ),
    Pair(
        "fresh_buffers",
        "one buffer again",
        (),
        "host-compute",
        "pages that the system clears and maps in each step; passes over memory stay",
        changed=True,
    ),
    Pair(
        "one_hot",
        "nn.functional.embedding",
        (),
        "host-compute",
        "a product with a matrix of zeros becomes a look-up, forward and backward",
        changed=True,
    ),
    Pair(
        "pair_loss",
        "a matrix of distances",
        ("host-item-loop", "host-many-operators", "host-side-work", "host-operators"),
        "host-compute",
        "120 pairs of 8 small operators are one, forward and backward",
        changed=True,
    ),
    Pair(
        "anomaly_mode",
        "off",
        (
            "host-anomaly-mode",
            "logging-in-step",
            "host-side-work",
            "host-many-operators",
            "host-operators",
            "host-python",
        ),
        "logging",
        "a traceback for each operator, and a test for NaN of each gradient",
        changed=True,
        note="what detection takes itself is claimed: recorded, the step is 10.1 ms without it, that of the fixed program 9.6;"
        " what stays is faster without the profiler than the trace shows",
    ),
    Pair(
        "hf_tokenizer",
        "the fast tokenizer",
        ("host-side-work", "host-python"),
        "python-host",
        "all of the range but what the tokenizer in Rust and making the tensor take",
        needs=("transformers",),
    ),
    Pair(
        "hf_accumulation",
        "one batch",
        ("host-many-operators", "host-operators"),
        "host-compute",
        "16 times the calls of operators, and of the Trainer, for one batch; computing is the same",
        needs=("transformers", "accelerate"),
    ),
    Pair(
        "hf_padding",
        "padded to the longest of a batch",
        (),
        "host-compute",
        "three of four tokens are padding, which is computed as all others",
        needs=("transformers",),
        changed=True,
    ),
    Pair(
        "hf_generate",
        "use_cache=True",
        (),
        "recompute",
        "each new token computes all before it again",
        needs=("transformers",),
        changed=True,
    ),
    Pair(
        "datasets_lists",
        'with_format("torch")',
        ("host-fetch-work", "host-data-loading"),
        "input-loading",
        "lists of numbers and a look-up for each row; the batch is still taken out of Arrow",
        needs=("datasets",),
        advised="workers",
    ),
    Pair(
        "parquet_rows",
        "columns become arrays",
        ("host-side-work", "host-data-loading", "host-python"),
        "input-loading",
        "a dictionary and numbers of Python for each row; decoding Parquet stays",
        needs=("pyarrow",),
    ),
    Pair(
        "jpeg_full_size",
        "Image.draft",
        ("host-fetch-work", "host-data-loading"),
        "input-loading",
        "an eighth of each side is decoded; reading the bytes and decoding Huffman codes stay",
        needs=("PIL",),
        same_loss=False,
        advised="workers",
    ),
    Pair(
        "sklearn_report",
        "each 10th step",
        ("host-side-work", "host-python"),
        "python-host",
        "nine of ten reports go",
        needs=("sklearn",),
        mean=True,
    ),
    Pair(
        "tensorboard_histograms",
        "each 10th step",
        ("host-logging", "host-side-work", "host-python"),
        "logging",
        "nine of ten go",
        needs=("tensorboard",),
        mean=True,
        note="a step took 32 ms when timed and 20 ms when recorded: writing was more of it than the trace shows",
    ),
    Pair(
        "lightning_norms",
        "each 10th step",
        ("host-logging", "host-side-work", "host-many-operators", "host-python"),
        "logging",
        "nine of ten go",
        needs=("lightning",),
        mean=True,
        note="0.7 % of the step above the bounds: as much went as was claimed, and recording made the rest longer",
    ),
    Pair(
        "accelerate_state",
        "each 10th step",
        ("checkpoint-blocking", "host-logging", "host-side-work"),
        "checkpoint",
        "nine of ten go",
        needs=("accelerate",),
        mean=True,
        clock=True,
        changed=True,
    ),
    Pair(
        "ddp_no_sync",
        "no_sync but for the last",
        ("host-small-collectives", "host-communication"),
        "host-communication",
        "three of four reductions go",
        clock=True,
    ),
    Pair(
        "uneven_shards",
        "dealt by length",
        ("late-rank", "rank-imbalance", "host-communication"),
        "waiting-for-rank",
        "half of what the longer shard takes more; the reduction stays",
        clock=True,
    ),
    Pair(
        "pinned_ranks",
        "a core for each rank",
        ("cpu-starved", "late-rank", "host-threads"),
        "waiting-for-rank",
        "each rank has half a core: by the clock all of it, computing too, is twice as long",
        clock=True,
        changed=True,
    ),
    Pair(
        "busy_neighbour",
        "the other program has ended",
        ("late-rank", "cpu-starved", "rank-imbalance", "host-communication"),
        "waiting-for-rank",
        "the other rank has half a core; it is not in the program",
        clock=True,
    ),
)
