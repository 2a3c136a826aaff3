"""What ranks send and hold by kind of parallelism, against numbers worked out by hand from the ZeRO paper's 2 and 3 Psi."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from builder import TraceBuilder
from labelled.cases.parallelism_choices import found, found_sharded, found_tensor_parallel, found_with_attention, train

from traceq.database.connect import connect
from traceq.diagnosis.judge import load_subjects
from traceq.loading.ingest import ingest

MB = 1_000_000
RESNET = Path(__file__).parents[3] / "shared" / "judged" / "torch" / "tracelens_mi300_resnet_rank0of8.json.gz"


def choices(make, folder):
    """Bytes sent, parameters and gradients held, and states held, by choice."""
    trace = TraceBuilder()
    make(trace)
    (subject,) = load_subjects(trace.build(folder)._connection)
    rows = subject.ask("parallelism_choices")
    return {row["choice"]: (row["sent_bytes"], row["held_bytes"], row["state_bytes"]) for row in rows}


def test_four_ranks_that_reduce_in_each_of_two_micro_batches(tmp_path):
    # G = P = 4 MB, S = 8 MB; DDP 2 x 3/4 x 4 x 2, ZeRO-1 and -2 3/4 x (4 x 2 + 4), ZeRO-3 3/4 x (4 + 2 x 4) x 2
    assert choices(found, tmp_path) == {
        "DDP": (12 * MB, 8 * MB, 8 * MB),
        "ZeRO-1": (9 * MB, 8 * MB, 2 * MB),
        "ZeRO-2": (9 * MB, 5 * MB, 2 * MB),
        "ZeRO-3 (FSDP)": (18 * MB, 2 * MB, 2 * MB),
    }


def test_one_micro_batch_is_two_and_three_psi(tmp_path):
    sent = {name: row[0] for name, row in choices(lambda trace: train(trace, micro_batches=1), tmp_path).items()}
    psi = 4 * MB * 3 / 4
    assert sent == {"DDP": 2 * psi, "ZeRO-1": 2 * psi, "ZeRO-2": 2 * psi, "ZeRO-3 (FSDP)": 3 * psi}


def test_gradients_of_the_last_micro_batch_only_and_activations_between_layers(tmp_path):
    found = choices(found_with_attention, tmp_path)
    # shards of ZeRO-2 and -3 are reduced in each micro-batch all the same
    assert [found[name][0] for name in ("DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3 (FSDP)")] == [
        6 * MB,
        6 * MB,
        9 * MB,
        18 * MB,
    ]
    # 4 all-reduces x 3 layers x 2 micro-batches of 4 KiB; of half of the gradients over two replicas 2 x 1/2 x 2 MB
    assert found["TP 2, DP n/2"] == (4 * 3 * 2 * 4096 + 2 * MB, 4 * MB, 4 * MB)
    assert found["PP 2, DP n/2"] == (2 * 4096 + 2 * MB, 4 * MB, 4 * MB)


def test_sharded_parameters_have_the_type_that_is_gathered(tmp_path):
    # G = 4 MB, P = 2 MB
    assert choices(found_sharded, tmp_path) == {
        "DDP": (6 * MB, 6 * MB, None),
        "ZeRO-1": (4.5 * MB, 6 * MB, None),
        "ZeRO-2": (4.5 * MB, 3 * MB, None),
        "ZeRO-3 (FSDP)": (6 * MB, 1.5 * MB, None),
    }


def test_split_layers(tmp_path):
    # 16 all-reduces of 4 MB over 8 ranks, of 8 in the job: 2 x 7/8 and 2 x 3/4
    assert choices(found_tensor_parallel, tmp_path) == {
        "TP 8": (16 * 4 * MB * 7 / 4, None, None),
        "TP 4": (16 * 4 * MB * 3 / 2, None, None),
    }


@pytest.mark.sample(3)
@pytest.mark.parametrize(("optimizer", "states"), [("AdamW", 8 * MB), ("Adagrad", 4 * MB), ("SGD", None)])
def test_states_are_those_of_optimizers_whose_name_tells(tmp_path, optimizer, states):
    assert choices(lambda trace: train(trace, optimizer=optimizer), tmp_path)["DDP"][2] == states


def test_an_odd_number_of_ranks_is_not_split_in_two(tmp_path):
    assert "TP 2, DP n/2" not in choices(lambda trace: train(trace, layers=3, ranks=3), tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not RESNET.exists(), reason="the folder shared is not beside the checkout")
def test_a_real_trace_has_the_parameters_of_its_model(tmp_path):
    events = json.loads(gzip.decompress(RESNET.read_bytes()))["traceEvents"]
    told = [
        each["args"] for each in events if each.get("cat") == "kernel" and "Collective name" in each.get("args", {})
    ]
    reduced = [each for each in told if each["Collective name"] == "allreduce"]
    per_step = Counter(each["In msg nelems"] for each in reduced)
    assert {each["dtype"] for each in reduced} == {"BFloat16"}
    assert set(per_step.values()) == {3}
    ingest([str(RESNET)], tmp_path / "resnet.duckdb")
    with closing(connect(tmp_path / "resnet.duckdb")) as connection:
        (subject,) = load_subjects(connection)
        (facts,) = subject.ask("parallelism_facts")
        first, *_, last = subject.ask("parallelism_choices")
    # torchvision publishes 11,689,512 for ResNet-18
    assert facts["parameters"] == sum(per_step) == 11_689_512
    assert first["sent_bytes"] == 2 * 7 * 2 * sum(per_step) // 8
    assert last["sent_bytes"] == 3 * 7 * 2 * sum(per_step) // 8
