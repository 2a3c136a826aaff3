"""The program of a trace, as advice needs it: its frameworks, and the features that it has switched on already."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

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


class Program(msgspec.Struct, frozen=True):
    """The program of a trace: the values in the table program, a set for each property; all may be empty."""

    languages: frozenset[str] = frozenset()
    frameworks: frozenset[str] = frozenset()
    modes: frozenset[str] = frozenset()
    vendors: frozenset[str] = frozenset()
    workloads: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """The kind of program that remedies are written for ("pytorch", "vllm", "cuda", ...); "" if unknown."""
        return next((kind for name, kind in _KINDS.items() if name in self.frameworks), "")

    @property
    def name(self) -> str:
        """The kind in words ("PyTorch", "vLLM", ...); "unknown" if the trace does not say."""
        return _NAMES.get(self.kind, "unknown")

    @property
    def language(self) -> str:
        """The language of its user: "python", "julia" or "c++", in this order where several are shown; "" if unknown."""
        if self.kind in _IN_PYTHON:
            return "python"
        found = next((language for language in ("python", "julia", "c++") if language in self.languages), "")
        return found or ("c++" if self.kind in _COMPILED else "julia" if self.kind == "julia" else "")

    @property
    def launches_from_python(self) -> bool:
        """Whether Python may run between the launches: no other language is shown, nor an executor with its own threads."""
        return self.language in ("", "python") and self.kind not in _EXECUTORS

    @property
    def may_be_pytorch(self) -> bool:
        """Whether it is PyTorch or a server on PyTorch, or of an unknown kind."""
        return self.kind in ("", *_ON_PYTORCH)

    @property
    def is_pytorch(self) -> bool:
        """Whether it is a program in PyTorch, and not a server on PyTorch, whose user only sets options."""
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
        """Whether it answers requests for tokens, as vLLM does."""
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
        """Whether it may call torch.compile: nothing shows a PyTorch older than 2."""
        return "PyTorch 1" not in self.frameworks

    @property
    def has_graphs(self) -> bool:
        """Whether it replays CUDA or HIP graphs."""
        return "cuda_graph" in self.modes

    def about_it(self, references: Iterable[str]) -> tuple[str, ...]:
        """Return the addresses in `references` without those of other GPU makers and, for other frameworks, those of PyTorch.

        All addresses but those of NVIDIA for AMD's GPUs are returned where the framework is unknown.
        """
        others = [r"nvidia\.com/"] if self.is_amd else []
        others += [] if self.may_be_pytorch else [r"pytorch\.org/", r"github\.com/(pytorch|facebookresearch)/"]
        return tuple(address for address in references if not any(re.search(other, address) for other in others))

    def has(self, *features: str) -> bool:
        """Return whether the program has at least one of these features switched on (values of the property feature)."""
        return not self.features.isdisjoint(features)

    def uses(self, *frameworks: str) -> bool:
        """Return whether the program uses at least one of these frameworks, by names of the table program ("FSDP")."""
        return not self.frameworks.isdisjoint(frameworks)

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants of remedies that fit the program, from the most specific to "any"."""
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
        """The words of the GPUs' maker that texts use, by key: prefix of the API, names for graphs and collectives, tools.

        NVIDIA's, unless the GPUs are AMD's.
        """
        if self.is_amd:
            return _OF_AMD
        return _OF_NVIDIA


def program_of(connection: duckdb.DuckDBPyConnection, trace_id: int) -> Program:
    """Return the program of a trace, from the table program; PyTorch older than 2 adds the framework "PyTorch 1"."""
    rows = ask(connection, "select property, value from program where trace_id = $trace_id", trace_id=trace_id)
    shown = [(row["property"], row["value"]) for row in rows]
    if ("framework", "PyTorch") in shown and _is_old(connection, trace_id):
        shown.append(("framework", "PyTorch 1"))
    return program_from(shown)


def program_from(shown: Iterable[tuple[str, str]]) -> Program:
    """Return the program with these pairs of property and value, as in the table program; unknown properties say nothing."""
    found: dict[str, set[str]] = {column: set() for column in _PROPERTIES.values()}
    for name, value in shown:
        if name in _PROPERTIES:
            found[_PROPERTIES[name]].add(value)
    return Program(**{column: frozenset(values) for column, values in found.items()})


def _is_old(connection: duckdb.DuckDBPyConnection, trace_id: int) -> bool:
    """Return whether the record of software beside the trace says that PyTorch is older than 2."""
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
