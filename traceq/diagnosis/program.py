"""The program of a trace, as advice needs it: its frameworks, and the features that it has switched on already."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from traceq.database.query import ask

if TYPE_CHECKING:
    import duckdb

# What its user would change, by framework: of several the first. What stands on PyTorch is PyTorch.
_KINDS = {
    "vLLM": "vllm",
    "SGLang": "sglang",
    "TensorRT-LLM": "tensorrt_llm",
    "PyTorch": "pytorch",
    "JAX": "jax",
    "TensorFlow": "tensorflow",
    "XLA": "xla",
    "TensorRT": "tensorrt",
    "ONNX Runtime": "onnx",
    "cuDF": "rapids",
    "RMM": "rapids",
    "CuPy": "cupy",
    "Numba": "numba",
    "CUDA.jl": "julia",
    "OpenMP": "openmp",
    "OpenACC": "openacc",
    "Kokkos": "cuda",
    "RAJA": "cuda",
    "SYCL": "sycl",
    "CUDA C++": "cuda",
    "HIP C++": "cuda",
}
_NAMES = {
    "pytorch": "PyTorch",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tensorrt_llm": "TensorRT-LLM",
    "jax": "JAX",
    "tensorflow": "TensorFlow",
    "xla": "XLA",
    "tensorrt": "TensorRT",
    "onnx": "ONNX Runtime",
    "rapids": "RAPIDS",
    "cupy": "CuPy",
    "numba": "Numba",
    "julia": "Julia",
    "openmp": "OpenMP",
    "openacc": "OpenACC",
    "sycl": "SYCL",
    "cuda": "a program in C++ or Fortran",
}
SERVERS = ("vllm", "sglang", "tensorrt_llm")
_ON_PYTORCH = ("pytorch", *SERVERS)
_IN_PYTHON = (*SERVERS, "pytorch", "jax", "tensorflow", "rapids", "cupy", "numba")
# What is compiled ahead, unless names show that another language calls it.
_COMPILED = ("openmp", "openacc", "sycl", "cuda")
# Their own threads launch, without Python.
_EXECUTORS = ("tensorflow", "xla", "tensorrt", "onnx")
# Who shards or replicates a model of PyTorch, the outermost first.
_PARALLEL = {"Megatron": "megatron", "DeepSpeed": "deepspeed", "FSDP": "fsdp", "DDP": "ddp"}


_OF_NVIDIA = {
    "api": "cuda",
    "runtime": "CUDA",
    "visible": "CUDA_VISIBLE_DEVICES",
    "lazy": "CUDA_MODULE_LOADING=LAZY",
    "cache": "CUDA_CACHE_PATH",
    "ranges": "NVTX",
    "link": "NVLink",
    "find_calls": "`nsys profile --cudabacktrace=sync`",
    "host_alloc": "cudaMallocHost",
    "graph": "CUDA graph",
    "nccl": "NCCL",
    "profiler": "ncu",
    "smi": "nvidia-smi",
}
_OF_AMD = {
    "api": "hip",
    "runtime": "HIP",
    "visible": "HIP_VISIBLE_DEVICES",
    "lazy": "HIP_ENABLE_DEFERRED_LOADING=1",
    "cache": "AMD_COMGR_CACHE_DIR",
    "ranges": "roctx",
    "link": "xGMI",
    "find_calls": "`rocprof-sys-sample`",
    "host_alloc": "hipHostMalloc",
    "graph": "HIP graph",
    "nccl": "RCCL",
    "profiler": "rocprof-compute",
    "smi": "amd-smi",
}


@dataclass(frozen=True)
class Program:
    """The program of a trace: sets of values from the table program by property; all may be empty."""

    languages: frozenset[str] = frozenset()
    frameworks: frozenset[str] = frozenset()
    modes: frozenset[str] = frozenset()
    vendors: frozenset[str] = frozenset()
    workloads: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """The kind of program that remedies are written for ("pytorch", "vllm", "cuda", ...); empty if the trace does not say."""
        return next((kind for name, kind in _KINDS.items() if name in self.frameworks), "")

    @property
    def name(self) -> str:
        """The kind in words ("PyTorch", "vLLM", ...)."""
        return _NAMES.get(self.kind, "unknown")

    @property
    def language(self) -> str:
        """The language, "python", "julia" or "c++", empty if unknown; of several the one that calls the others."""
        if self.kind in _IN_PYTHON:
            return "python"
        found = next((language for language in ("python", "julia", "c++") if language in self.languages), "")
        return found or ("c++" if self.kind in _COMPILED else "julia" if self.kind == "julia" else "")

    @property
    def launches_from_python(self) -> bool:
        """Whether Python may run between its launches: no other language is shown, and no executor with own threads."""
        return self.language in ("", "python") and self.kind not in _EXECUTORS

    @property
    def may_be_pytorch(self) -> bool:
        """Whether PyTorch launches its work, as far as the trace shows."""
        return self.kind in ("", *_ON_PYTORCH)

    @property
    def is_pytorch(self) -> bool:
        """Whether its user writes PyTorch; the user of a server only sets options."""
        return self.kind == "pytorch"

    @property
    def trains(self) -> bool:
        """Whether it trains a model; also true where its workload is unknown."""
        return "training" in self.workloads or not self.workloads

    @property
    def runs_model(self) -> bool:
        """Whether it trains or runs a model; also true where its workload is unknown."""
        return "batch" not in self.workloads or len(self.workloads) > 1

    @property
    def is_server(self) -> bool:
        """Whether it answers requests for tokens."""
        return self.kind in SERVERS or "serving" in self.workloads

    @property
    def is_amd(self) -> bool:
        """Whether its GPUs are AMD's."""
        return "amd" in self.vendors

    @property
    def is_compiled(self) -> bool:
        """Whether a compiler such as torch.compile made some of its kernels."""
        return "compiled" in self.modes

    @property
    def can_compile(self) -> bool:
        """Whether its PyTorch may have torch.compile: nothing shows that it is older than 2."""
        return "PyTorch 1" not in self.frameworks

    @property
    def has_graphs(self) -> bool:
        """Whether it replays CUDA or HIP graphs."""
        return "cuda_graph" in self.modes

    def about_it(self, references: Iterable[str]) -> tuple[str, ...]:
        """Return the addresses in `references` that suit its framework and GPUs; all if these are unknown."""
        others = [r"nvidia\.com/"] if self.is_amd else []
        others += [] if self.may_be_pytorch else [r"pytorch\.org/", r"github\.com/(pytorch|facebookresearch)/"]
        return tuple(address for address in references if not any(re.search(other, address) for other in others))

    def has(self, *features: str) -> bool:
        """Return whether it uses one of these features."""
        return not self.features.isdisjoint(features)

    def uses(self, *frameworks: str) -> bool:
        """Return whether it uses one of these frameworks."""
        return not self.frameworks.isdisjoint(frameworks)

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants of remedies that fit it, from the most specific to "any"."""
        found = [kind for name, kind in _PARALLEL.items() if name in self.frameworks] if self.is_pytorch else []
        states = {
            "before_compile": not self.can_compile,
            "of_llvm": self.uses("LLVM"),
            "with_graphs": self.has_graphs,
            "compiled": self.is_compiled,
            "with_pool": self.has("memory_pool"),
            "channels_last": self.has("channels_last"),
            "training": "training" in self.workloads,
            "inference": not self.trains,
        }
        found += [f"{self.kind}_{state}" for state, holds in states.items() if holds]
        return (
            *found,
            *filter(None, [self.kind]),
            *(["server"] if self.is_server else []),
            *(["amd"] if self.is_amd else []),
            "any",
        )

    @property
    def words(self) -> dict[str, str]:
        """The GPU maker's words, by key: prefix of the API, names for graphs and collectives, tools."""
        if self.is_amd:
            return _OF_AMD
        return _OF_NVIDIA


def program_of(connection: duckdb.DuckDBPyConnection, trace_id: int) -> Program:
    """Return the program of a trace, from the table program."""
    rows = ask(connection, "select property, value from program where trace_id = $trace_id", trace_id=trace_id)
    shown = [(row["property"], row["value"]) for row in rows]
    if ("framework", "PyTorch") in shown and _is_old(connection, trace_id):
        shown.append(("framework", "PyTorch 1"))
    return program_from(shown)


def program_from(shown: Iterable[tuple[str, str]]) -> Program:
    """Return the program with these pairs of property and value."""
    found: dict[str, set[str]] = {column: set() for column in _PROPERTIES.values()}
    for name, value in shown:
        found[_PROPERTIES[name]].add(value)
    return Program(**{column: frozenset(values) for column, values in found.items()})


def _is_old(connection: duckdb.DuckDBPyConnection, trace_id: int) -> bool:
    """Return whether the snapshot beside the trace says that PyTorch is older than 2."""
    query = "select value from made_with where trace_id = $trace_id and topic = 'software' and name = 'torch'"
    return any(str(row["value"]).startswith(("0.", "1.")) for row in ask(connection, query, trace_id=trace_id))


_PROPERTIES = {
    "language": "languages",
    "framework": "frameworks",
    "mode": "modes",
    "vendor": "vendors",
    "workload": "workloads",
    "feature": "features",
}
