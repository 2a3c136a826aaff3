"""Steps of training in one CUDA graph whose nodes are annotated: the trace in all layouts that PyTorch has written since 2.12."""

from __future__ import annotations

import copy
import json
import pickle
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

GRAPH = 5
LAYERS, STEPS = 3, 4
_LAUNCH = {"grid": [264, 1, 1], "block": [128, 1, 1], "registers per thread": 64, "shared memory": 0}
Annotations = dict[int, list[dict[str, Any]]]
# Of each layer: (module, kernel, duration in us).
_FORWARD = (("attention.wq", "gemm_q", 40), ("attention", "flash_fwd", 60), ("feed_forward.w1", "gemm_w1", 80))
_BACKWARD = (
    ("feed_forward.w1", "gemm_w1_dgrad", 160),
    ("attention", "flash_bwd", 130),
    ("attention.wq", "gemm_q_dgrad", 90),
)


def node_id(place: int) -> int:
    """The id of a node of the graph, as CUPTI and torch.cuda.graph_annotations have it."""
    return (GRAPH << 32) | place


class TrainingGraph:
    """Nodes of the graph in their order, (kernel, duration in us, annotation); an annotation of None is none."""

    def __init__(self, *, phases: bool = True, key: str = "module_fqn") -> None:
        self.nodes: list[tuple[str, int, dict[str, Any] | None]] = []

        def add(module: str | None, kernel: str, dur: int, phase: str | None = None) -> None:
            told = None if module is None else {key: module}
            if told and phase and phases:
                told["autograd_phase"] = phase
            self.nodes.append((kernel, dur, told))

        add("tok_embeddings", "embedding", 10)
        for layer in range(LAYERS):
            self.nodes.append(("ncclDevKernel_AllGather_RING_LL", 50, _collective("_allgather_base", 1 << 20, 8 << 20)))
            self.nodes.append(("vectorized_elementwise_kernel", 5, _collective("_allgather_base", 1 << 20, 8 << 20)))
            for module, kernel, dur in _FORWARD:
                add(f"layers.{layer}.{module}", kernel, dur)
        add("output", "gemm_head", 70)
        add(None, "nll_loss", 6)
        add("output", "gemm_head_dgrad", 140, "backward")
        for layer in reversed(range(LAYERS)):
            for module, kernel, dur in _BACKWARD:
                add(f"layers.{layer}.{module}", kernel, dur, "backward")
            self.nodes.append(
                (
                    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
                    55,
                    _collective("_reduce_scatter_base", 8 << 20, 1 << 20),
                )
            )
        add("tok_embeddings", "embedding_dense_backward", 20, "backward")
        self.nodes.append(("multi_tensor_apply_kernel", 100, {"name": "optimizer"}))

    @property
    def annotations(self) -> Annotations:
        """Return the graph's annotations by node id, as get_kernel_annotations() of torch.cuda.graph_annotations does."""
        return {node_id(place): [dict(told)] for place, (_, _, told) in enumerate(self.nodes) if told is not None}

    def raw(self) -> dict[str, Any]:
        """The trace without annotations: a replay of the graph a step, each within its ProfilerStep."""
        events: list[dict[str, Any]] = []
        for step in range(STEPS):
            begin = 10_000.0 * (step + 1)
            mark = {"External id": 9000 + step}
            events.append(_event("user_annotation", f"ProfilerStep#{step}", begin, 9_990, 1, 1, mark))
            launch = {"correlation": step + 1, "cbid": 311}
            events.append(_event("cuda_runtime", "cudaGraphLaunch", begin + 5, 10, 1, 1, launch))
            now = begin + 20
            for place, (kernel, dur, _) in enumerate(self.nodes):
                graph = {"graph id": GRAPH, "graph node id": node_id(place)}
                args = {"device": 0, "stream": 7, "correlation": step + 1, "context": 1} | graph | _LAUNCH
                events.append(_event("kernel", kernel, now, dur, 0, 7, args))
                now += dur
            events.append(
                _event(
                    "cuda_runtime", "cudaDeviceSynchronize", begin + 20, now - begin, 1, 1, {"correlation": 100 + step}
                )
            )
        gpu = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0, "numSms": 132}
        return {"schemaVersion": 1, "deviceProperties": [gpu], "traceEvents": events}

    def sums(self, key: str, *, phase: str | None = None) -> Counter[str]:
        """ns of all kernels by the value of a key of their annotation, read from the nodes; of one autograd phase, or of all."""
        found: Counter[str] = Counter()
        for _, dur, told in self.nodes:
            if told and key in told and phase in (None, told.get("autograd_phase", "forward")):
                found[told[key]] += dur * 1000 * STEPS
        return found


def _collective(op: str, sent: int, received: int) -> dict[str, Any]:
    return {
        "Collective name": op, "In msg nelems": sent, "Out msg nelems": received, "Group size": 8, "dtype": "BFloat16",
        "Process Group Name": "3", "Process Group Description": "mesh_dp_shard", "Process Group Ranks": str(list(range(8))),
        "Is asynchronized op": True, "Rank": 0, "Seq": 17,
    }  # fmt: skip


def _event(cat: str, name: str, ts: float, dur: float, pid: int, tid: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def merge_by_torch(trace: dict[str, Any], annotations: Annotations) -> dict[str, Any]:
    """The trace as PyTorch's own script of 2.12 and later makes it: values are texts."""
    from torch.cuda._annotate_cuda_graph_trace import annotate_trace

    merged = copy.deepcopy(trace)
    annotate_trace(merged, annotations)
    return merged


def merge_inline(trace: dict[str, Any], annotations: Annotations) -> dict[str, Any]:
    """The trace as export_chrome_trace(cuda_graph_annotations=...) of 2.15 writes it, on the recorded streams."""
    merged = copy.deepcopy(trace)
    for event in merged["traceEvents"]:
        for told in annotations.get(event["args"].get("graph node id"), []):
            event["args"] |= told
    return merged


def merge_on_lanes(trace: dict[str, Any], annotations: Annotations) -> dict[str, Any]:
    """Merge annotations as graph_lanes="all" does: draw work on lanes, and keep where it ran in original_stream."""
    merged = merge_inline(trace, annotations)
    for event in merged["traceEvents"]:
        if "graph node id" in event["args"]:
            lane = 61 if "module_fqn" in event["args"] else 62
            event["args"] |= {"original_stream": event["args"]["stream"], "stream": lane}
            event["tid"] = lane
    return merged


MERGED: Mapping[str, Callable[[dict[str, Any], Annotations], dict[str, Any]]] = {
    "PyTorch's script": merge_by_torch, "in the export": merge_inline, "on lanes": merge_on_lanes,
}  # fmt: skip


def save_json(folder: Path, annotations: Annotations) -> Path:
    """The annotations as JSON, whose keys are texts."""
    path = folder / "kernel_annotations_rank0.json"
    path.write_text(json.dumps(annotations))
    return path


def save_pickle(folder: Path, annotations: Annotations) -> Path:
    """The annotations as programs pickle them; equal ones are one object, as of kernels of one region."""
    shared: dict[str, dict[str, Any]] = {}
    same = {node: [shared.setdefault(json.dumps(told), told) for told in tolds] for node, tolds in annotations.items()}
    path = folder / "kernel_annotations_rank0_fwd_bwd.pkl"
    path.write_bytes(pickle.dumps(same))
    return path
