"""What a run was made with in a line of its report."""

from __future__ import annotations

import pytest

from traceq.reports.model import MadeWith
from traceq.reports.sections.capture import summarize_made_with

KNOWN = {
    "affinity": "8",
    "cpus": "8",
    "num_workers": "0",
    "batch_size": "32",
    "optimizer": "SGD",
    "parameter_type": "float32",
}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "8 CPUs; 0 loader workers, batches of 32; optimizer SGD; float32"),
        (
            {"affinity": "2", "cpu_quota": "1.5", "intra_op_threads": "1", "num_workers": "4", "pin_memory": "true"},
            "2 of 8 CPUs, quota 1.5; 1 thread an operator; 4 loader workers, batches of 32, pinned; optimizer SGD; float32",
        ),
        (
            {
                "autocast": "bfloat16",
                "fused": "true",
                "optimizer": "AdamW",
                "compile": "reduce-overhead",
                "world_size": "2",
            }
            | {"data_parallel": "DDP", "torch": "2.13.0"},
            (
                "8 CPUs; 0 loader workers, batches of 32; fused optimizer AdamW; autocast to bfloat16; "
                "torch.compile (reduce-overhead); DDP over 2; torch 2.13.0"
            ),
        ),
    ],
)
def test_the_most_telling_is_in_the_line(more, words):
    facts = [MadeWith("x", 0, name, value, None, is_knob=True) for name, value in (KNOWN | more).items()]
    assert summarize_made_with(facts) == words


def test_of_several_loaders_the_first_is_told():
    loaders = [MadeWith("loader", number, "num_workers", str(2 * number), None, is_knob=True) for number in (0, 1)]
    assert summarize_made_with(loaders) == "0 loader workers"
