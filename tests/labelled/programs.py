"""Programs that advice is written for, and words that must not be said to them."""

from __future__ import annotations

import re

from traceq.diagnosis.program import Program


def _program(*frameworks: str, modes: tuple[str, ...] = ("eager",), workloads: tuple[str, ...] = (), **more) -> Program:
    given = {"vendors": frozenset({"nvidia"}), **{name: frozenset(values) for name, values in more.items()}}
    return Program(frameworks=frozenset(frameworks), modes=frozenset(modes), workloads=frozenset(workloads), **given)


PROGRAMS = {
    "PyTorch, training": _program("PyTorch", workloads=("training",)),
    "PyTorch, training, compiled": _program("PyTorch", modes=("compiled",), workloads=("training",)),
    "PyTorch, training, graphs": _program("PyTorch", modes=("cuda_graph", "compiled"), workloads=("training",)),
    "PyTorch, DDP": _program("PyTorch", "DDP", workloads=("training",)),
    "PyTorch, FSDP": _program("PyTorch", "FSDP", workloads=("training",)),
    "PyTorch, DeepSpeed": _program("PyTorch", "DeepSpeed", workloads=("training",)),
    "PyTorch, Megatron": _program("PyTorch", "Megatron", workloads=("training",)),
    "PyTorch, inference": _program("PyTorch", workloads=("inference",)),
    "PyTorch on AMD, training": _program("PyTorch", workloads=("training",), vendors=("amd",)),
    "vLLM": _program("PyTorch", "vLLM", modes=("compiled",), workloads=("serving",)),
    "vLLM on AMD, graphs": _program(
        "PyTorch", "vLLM", modes=("cuda_graph", "compiled"), workloads=("serving",), vendors=("amd",)
    ),
    "SGLang": _program("PyTorch", "SGLang", workloads=("serving",)),
    "TensorRT-LLM": _program("PyTorch", "TensorRT-LLM", workloads=("serving",)),
    "JAX": _program("JAX", "XLA", modes=("compiled",), workloads=("training",)),
    "TensorFlow": _program("TensorFlow"),
    "CuPy": _program("CuPy", workloads=("batch",)),
    "RAPIDS": _program("cuDF", "RMM", modes=(), workloads=("batch",)),
    "Numba": _program("Numba", modes=(), workloads=("batch",)),
    "Julia": _program("CUDA.jl", modes=(), workloads=("batch",), languages=("julia",)),
    "CUDA C++": _program("CUDA C++", modes=(), workloads=("batch",), languages=("c++",)),
    "CUDA C++, graphs": _program("CUDA C++", modes=("cuda_graph",), workloads=("batch",), languages=("c++",)),
    "HIP C++": _program("HIP C++", modes=(), workloads=("batch",), languages=("c++",), vendors=("amd",)),
    "OpenMP": _program("OpenMP", modes=(), workloads=("batch",)),
    "OpenACC": _program("OpenACC", modes=(), workloads=("batch",)),
    "unknown": Program(),
}

_PYTORCH = (
    r"torch(?!-compile)|(?<!grain\.)DataLoader|pin_memory|(?<!Stream\()non_blocking|\.item\(\)|\.cpu\(\)|FSDP|DistributedDataParallel|(?<!jax\.)nn\.|PYTORCH|TORCH_"
    r"|record_stream|num_workers|prefetch_factor|persistent_workers|autocast|backward\(\)|optimizer\.|zero_grad"
)
_OTHERS = {
    "cupy": r"\bcupyx?\b|CuPy|CUPY_",
    "rapids": r"\bcudf\b|\brmm\b|cuDF",
    "jax": r"\bjax\b|\bjnp\b|xla_gpu",
    "julia": r"CUDA\.jl|CuArray|@\. |CUDA\.@",
    "numba": r"[Nn]umba",
    "openmp": r"`?nowait`?|target data|depend\(",
    "openacc": r"async\(\d\)|update self|(?<!target )enter data",
    "vllm": r"--max-num-seqs|--enforce-eager|--async-scheduling",
    "sglang": r"--cuda-graph-max-bs|--disable-overlap-schedule|--max-running-requests",
    "tensorrt_llm": r"cuda_graph_config|kv_cache_config|disable_overlap_scheduler",
    "tensorflow": r"\btf\.",
    "cuda": r"<<<",
}
# Libraries that stand on each other, or are used from it.
_BESIDE = {"rapids": {"cupy", "numba"}, "numba": {"rapids"}, "cupy": set(), "pytorch": set(), "jax": {"tensorflow"}}
_NVIDIA_ONLY = (
    r"\bncu\b|Nsight|nvidia-smi|\bcuda(Malloc|Memcpy|Graph|Stream|Event|Host|Get|Mem)\w*|CUDA graph|CUDA_LAUNCH"
)
_AMD_ONLY = r"rocprof|amd-smi|\bhip[A-Z]|HIP_|HIP graph|RCCL"

TRAINING = re.compile(
    r"learning rate|\bgradients?\b|\bloss\b|optimizer|backward pass|zero_grad|\btrain\.py|criterion|\btraining\b"
)

# What is switched on, and what then must not be asked for.
SWITCHED_ON = [
    ("compiled", r"model = torch\.compile\(model\)|torch\.compile\(model, mode=\"reduce"),
    ("cuda_graph", r"reduce-overhead|StreamBeginCapture"),
    ("DDP", r"in place of DataParallel|Use DistributedDataParallel\(model\)"),
    ("channels_last", r"gives it the layout that tensor cores want"),
]


def _forbidden(program: Program) -> re.Pattern[str]:
    kind = program.kind
    words = [] if kind == "pytorch" else [_PYTORCH]
    words += [pattern for other, pattern in _OTHERS.items() if other not in {kind, *_BESIDE.get(kind, ())}]
    words.append(_NVIDIA_ONLY if program.is_amd else _AMD_ONLY)
    return re.compile("|".join(words))


FORBIDDEN = {name: _forbidden(program) for name, program in PROGRAMS.items()}
