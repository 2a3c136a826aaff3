"""What a run was made with: what a real loop leaves beside its trace, and what never gets into it."""

from __future__ import annotations

import json
import os

import lazy_import
import pytest
from small_training import SHORT, list_rows, only_trace

from traceq.capture.profile import profile
from traceq.capture.snapshot import program, write
from traceq.capture.snapshot.machine import collect_gpus, disk_kind
from traceq.capture.snapshot.seen import Seen
from traceq.formats.made_with import normalize_value

torch = lazy_import.module("torch")

SECRET = {
    "OMP_NUM_THREADS": "3",
    "NCCL_ALGO": "Ring,Tree",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,max_split_size_mb:128",
    "CUDA_VISIBLE_DEVICES": "0,1",
    "NCCL_SOCKET_IFNAME": "eth-of-alice",
    "NCCL_COMM_ID": "10.20.30.40:29500",
    "TORCH_HOME": "/home/alice/models",
    "MKL_ENABLE_INSTRUCTIONS": "sk-0123456789abcdef",
    "OMP_TOKEN": "123456789012",
    "WANDB_API_KEY": "42",
    "HOSTNAME": "gpu17",
}


def add_loop(directory, *, autocast=None, **options):
    """Train a little under traceq.profile; the facts beside its trace, by topic."""
    samples = torch.utils.data.TensorDataset(torch.randn(24, 8))
    batches = torch.utils.data.DataLoader(samples, batch_size=4, **options)
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    with profile(directory, **SHORT) as run:
        for (batch,) in batches:
            with run.step(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast is not None):
                loss = model(batch).square().mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    return read_facts(directory)


def read_facts(directory):
    (path,) = directory.glob("*.made_with.json")
    return json.loads(path.read_text())


def test_loader_optimizer_and_precision_are_those_of_the_loop(tmp_path):
    found = add_loop(tmp_path, autocast=torch.bfloat16)
    assert (tmp_path / "trace.rank0.made_with.json").is_file()
    assert found["loader"][0] == {"batch_size": "4", "num_workers": "0", "pin_memory": "false"}
    assert found["optimizer"][0] == {
        "optimizer": "AdamW", "fused": "default", "foreach": "false", "capturable": "false", "parameters": "72",
        "parameter_type": "float32",
    }  # fmt: skip
    assert found["precision"][0]["autocast"] == "bfloat16"
    assert found["threads"][0]["intra_op_threads"] == str(torch.get_num_threads())
    assert found["host"][0]["affinity"] == str(len(os.sched_getaffinity(0)))
    assert found["software"][0]["torch"] == str(torch.__version__)
    assert "world_size" not in found["parallel"][0]


@pytest.mark.slow
def test_loader_workers_are_told_once(tmp_path):
    found = add_loop(tmp_path, num_workers=1, persistent_workers=True, multiprocessing_context="fork")
    assert found["loader"] == [
        {"batch_size": "4", "num_workers": "1", "persistent_workers": "true", "pin_memory": "false",
         "prefetch_factor": "2", "worker_start_method": "fork"},
    ]  # fmt: skip


def test_the_snapshot_is_in_the_database_of_the_trace(tmp_path):
    add_loop(tmp_path)
    found = list_rows(
        only_trace(tmp_path), "select topic, instance, value, unit, is_knob from made_with where name = 'batch_size'"
    )
    assert found[0] == ("loader", 0, "4", None, True)
    found = list_rows(only_trace(tmp_path), "select unit, is_knob from made_with where name = 'memory'")
    assert found == [("bytes", False)]


def test_nothing_is_replaced_any_more_when_the_loop_has_ended(tmp_path):
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    before = (torch.autocast.__enter__, _BaseDataLoaderIter.__init__)
    add_loop(tmp_path)
    assert (torch.autocast.__enter__, _BaseDataLoaderIter.__init__) == before


@pytest.mark.parametrize("broken", ["find_alive", "collect_compile", "collect_optimizers"])
def test_what_fails_costs_only_what_it_tells(tmp_path, monkeypatch, broken):
    monkeypatch.setattr(program, broken, lambda *_: 1 / 0)
    found = add_loop(tmp_path)
    assert "host" in found
    assert "optimizer" not in found
    assert only_trace(tmp_path).is_file()


def test_a_snapshot_that_cannot_be_written_leaves_none_of_an_earlier_trace(tmp_path, monkeypatch):
    add_loop(tmp_path)
    monkeypatch.setattr(write, "_collect_topics", lambda *_: 1 / 0)
    seen = Seen()
    write.write_beside(only_trace(tmp_path), torch, seen)
    assert [path.suffix for path in tmp_path.iterdir()] == [".gz"]


def test_no_path_host_user_or_secret_is_kept(tmp_path, monkeypatch):
    for name, value in SECRET.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.argv", ["/home/alice/train.py", "--api-key", "hunter2"])
    seen = Seen()
    write.write(tmp_path / "x.json", torch, seen)
    text = (tmp_path / "x.json").read_text()
    kept_as = json.loads(text)["environment"][0]
    assert {name for name in kept_as.keys() & SECRET.keys() if kept_as[name] != "set"} == {
        "OMP_NUM_THREADS", "NCCL_ALGO", "PYTORCH_CUDA_ALLOC_CONF", "CUDA_VISIBLE_DEVICES",
    }  # fmt: skip
    for word in ("alice", "hunter2", "10.20", "29500", "sk-0", "123456789012", "gpu17", "/home"):
        assert word not in text


@pytest.mark.parametrize(
    ("topic", "name", "value", "text"),
    [
        ("software", "torch", "2.13.0+cu128", "2.13.0+cu128"),
        ("software", "torch", "2.13.0.dev20260101+git.acme", None),
        ("software", "acme_secret", "1.0", None),
        ("gpu", "gpu", "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"),
        ("host", "cpu", "Intel(R) Xeon(R) Platinum 8480C @ 2.00GHz", "Intel(R) Xeon(R) Platinum 8480C @ 2.00GHz"),
        ("host", "cpu", "/home/alice", None),
        ("optimizer", "optimizer", "AcmeSecretOptimizer", None),
        ("loader", "num_workers", 4, "4"),
        ("loader", "num_workers", None, None),
        ("precision", "autocast", None, None),
        ("optimizer", "fused", "default", "default"),
        ("gpu", "power_limit", 700.0, "700"),
        ("host", "cpu_quota", 1.5, "1.5"),
        ("precision", "tf32_matmul", True, "true"),
        ("environment", "KMP_AFFINITY", "granularity=fine,compact,1,0", "granularity=fine,compact,1,0"),
        ("environment", "MKL_NUM_THREADS", "", None),
        ("environment", "OMP_PLACES", "{0:4}", "set"),
        ("environment", "PATH", "1", None),
        ("nonsense", "x", "1", None),
    ],
)
def test_values_that_are_kept(topic, name, value, text):
    assert normalize_value(topic, name, value) == text


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"])
def test_the_mode_of_torch_compile_is_told_by_what_it_sets(mode):
    wrapper = torch._TorchCompileInductorWrapper(mode, None, None)
    assert program.collect_compile({"inductor": [wrapper], "compiler": []}) == {
        "compile": mode,
        "compile_dynamic": "default",
    }


def test_a_compiled_model_is_found_with_its_backend():
    model = torch.compile(torch.nn.Linear(2, 2), backend="eager")
    model(torch.ones(1, 2))
    assert program.collect_compile(program.find_alive(torch))["compile"] == "eager"


def test_the_loader_of_the_window_stands_first():
    seen, samples = Seen(), torch.utils.data.TensorDataset(torch.ones(64, 2))
    undo = seen.watch(torch)
    try:
        evaluation = iter(torch.utils.data.DataLoader(samples, batch_size=2))
        training = iter(torch.utils.data.DataLoader(samples, batch_size=4))
        for _ in range(20):
            next(evaluation)
        seen.window_opens()
        next(training)
    finally:
        undo()
    assert [each["batch_size"] for each in seen.loaders({"loader": []})] == [4, 2]


def test_backward_passes_are_told_where_all_steps_have_as_many():
    seen = Seen()
    for passes in (4, 4):
        for _ in range(passes):
            seen.backward_begins()
        seen.step_ended()
    assert seen.backward_passes() == 4
    seen.step_ended()
    assert seen.backward_passes() is None


def test_autocast_that_nobody_watched_is_unknown():
    seen = Seen()
    undo = seen.watch(torch)
    assert seen.autocast({"compile": "off"}) is None
    seen.step_ended()
    assert seen.autocast({"compile": "off"}) == "off"
    assert seen.autocast({"compile": "default"}) is None
    with torch.autocast("cpu", enabled=False):
        pass
    assert seen.autocast({"compile": "off"}) == "off"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        pass
    assert seen.autocast({"compile": "default"}) == "bfloat16"
    undo()


def test_kinds_of_disks():
    assert disk_kind(__import__("pathlib").Path("/dev/shm")) == "memory"  # noqa: S108


def test_without_nvml_and_nvidia_smi_nothing_is_said_of_gpus(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    monkeypatch.setenv("PATH", "")
    assert collect_gpus() == []


def test_nvidia_smi_is_asked_where_there_is_no_nvml(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    command = tmp_path / "nvidia-smi"
    command.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 570.86.15, 81559, 1980, [N/A], 2619, 700.00'\n")
    command.chmod(0o755)
    assert collect_gpus() == [
        {"gpu": "NVIDIA H100 80GB HBM3", "driver": "570.86.15", "gpu_memory": 81559 * 2**20, "sm_clock_max": 1980,
         "memory_clock_max": 2619, "power_limit": 700},
    ]  # fmt: skip


def test_a_loader_that_was_iterated_before_the_watch_does_not_come_first(tmp_path):
    samples = torch.utils.data.TensorDataset(torch.randn(24, 8))
    earlier = iter(torch.utils.data.DataLoader(samples, batch_size=1))
    for _ in range(20):
        next(earlier)
    assert [loader["batch_size"] for loader in add_loop(tmp_path)["loader"]] == ["4", "1"]
