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
    "PyTorch, inference, graphs": _program("PyTorch", modes=("cuda_graph",), workloads=("inference",)),
    "PyTorch": _program("PyTorch"),
    "PyTorch 1, training": _program("PyTorch", "PyTorch 1", workloads=("training",)),
    "PyTorch on AMD, inference": _program("PyTorch", workloads=("inference",), vendors=("amd",)),
    "PyTorch on AMD, training": _program("PyTorch", workloads=("training",), vendors=("amd",)),
    "vLLM": _program("PyTorch", "vLLM", modes=("compiled",), workloads=("serving",)),
    "vLLM on AMD, graphs": _program(
        "PyTorch", "vLLM", modes=("cuda_graph", "compiled"), workloads=("serving",), vendors=("amd",)
    ),
    "SGLang": _program("PyTorch", "SGLang", workloads=("serving",)),
    "TensorRT-LLM": _program("PyTorch", "TensorRT-LLM", workloads=("serving",)),
    "JAX": _program("JAX", "XLA", modes=("compiled",), workloads=("training",)),
    "JAX, no training": _program("JAX", "XLA", modes=("compiled",)),
    "JAX on AMD": _program("JAX", "XLA", modes=("compiled",), workloads=("training",), vendors=("amd",)),
    "XLA": _program("XLA", modes=("compiled",)),
    "TensorFlow": _program("TensorFlow"),
    "TensorFlow on AMD": _program("TensorFlow", vendors=("amd",)),
    "TensorRT": _program("TensorRT", modes=("compiled",), workloads=("inference",)),
    "ONNX Runtime": _program("ONNX Runtime", workloads=("inference",)),
    "CuPy": _program("CuPy", workloads=("batch",)),
    "RAPIDS": _program("cuDF", "RMM", modes=(), workloads=("batch",)),
    "Numba": _program("Numba", modes=(), workloads=("batch",)),
    "Julia": _program("CUDA.jl", modes=(), workloads=("batch",), languages=("julia",)),
    "CUDA C++": _program("CUDA C++", modes=(), workloads=("batch",), languages=("c++",)),
    "CUDA C++, graphs": _program("CUDA C++", modes=("cuda_graph",), workloads=("batch",), languages=("c++",)),
    "HIP C++": _program("HIP C++", modes=(), workloads=("batch",), languages=("c++",), vendors=("amd",)),
    "Kokkos": _program("Kokkos", "CUDA C++", modes=(), workloads=("batch",), languages=("c++",)),
    "Kokkos on AMD": _program("Kokkos", "HIP C++", modes=(), workloads=("batch",), vendors=("amd",)),
    "SYCL": _program("SYCL", modes=(), workloads=("batch",), vendors=("intel",)),
    "OpenMP": _program("OpenMP", modes=(), workloads=("batch",)),
    "OpenMP of LLVM": _program("OpenMP", "LLVM", modes=(), workloads=("batch",)),
    "OpenMP of NVIDIA": _program("OpenMP", "NVIDIA HPC", modes=(), workloads=("batch",)),
    "OpenMP on AMD": _program("OpenMP", "LLVM", modes=(), workloads=("batch",), vendors=("amd",)),
    "OpenACC": _program("OpenACC", modes=(), workloads=("batch",)),
    "unknown": Program(),
}

# What rules give to remedies.
GIVEN = {"workers": 4, "watts": "700", "limit": "400", "sizes": "Larger buckets", "bucket": 50, "kernel": "gemm"}

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

_FORBIDDEN = {program: FORBIDDEN[name] for name, program in PROGRAMS.items()}
_OF_PYTORCH = re.compile(r"PyTorch|ProfilerActivity|record_shapes|with_stack|emit_nvtx|prof\.step|profiler\.step")
_OF_NVIDIA = re.compile(
    r"\bnsys\b|NVLink|NVTX|DCGM|DALI"
    r"|\bcuda(Launch|Device)\w*|(?<!Activity\.)(?<!CPU and )\bCUDA\b|\bNCCL\b|CUDA_(VISIBLE|MODULE|CACHE)|nvidia\.com"
)
_NSYS = re.compile(r"\bnsys\b(?! \(NVIDIA)|NCCL's NVTX")
_JAX = re.compile(r"\bjax\b|XProf")
_OF_PYTHON = re.compile(r"\b[Pp]ython\b|py-spy|importtime|concurrent\.futures|\w\.py\b")
_OF_COMPILER = re.compile(r"torch\.compile|torch\.compiler|TORCH_LOGS|_dynamo|reduce-overhead|fully_shard|torchao")
_OF_LLVM = re.compile(r"LIBOMPTARGET|llvm_omp")
_OF_MODELS = re.compile(
    r"\b(micro-)?batch(es)?\b|half precision|samples per second"
    r"|\bmodels?\b|\bepochs?\b|\blayers?\b|\binference\b|DataLoader|\btokens?\b"
    r"|\battention\b|optimizer|gradient|\btrain"
)
_OF_BATCHES = re.compile(_OF_MODELS.pattern.replace(r"\b(micro-)?batch(es)?\b|", "").replace(r"|\bepochs?\b", ""))
_OF_SERVERS = re.compile(r"\brequests\b|\bservers?\b|KV cache|[Pp]refill\b|\bprompts?\b|\bengine's?\b")


def words_of_others(
    program: Program, *, is_refusal: bool = False, has_batches: bool = False, is_way: bool = False
) -> list[re.Pattern[str]]:
    """Return the words that must not be said to the program.

    `is_refusal`: the text says why a rule does not speak, and may name what is not there. `has_batches`: the trace names the
    fetching of batches. `is_way`: what a profiler has to record, which is that of a framework or that of a maker of GPUs.
    """
    conditional = (
        (not is_way, _FORBIDDEN[program]),
        (not is_way and program.is_amd, _OF_NVIDIA),
        (is_way and program.is_amd, _NSYS),
        (is_way and program.kind not in ("jax", "xla", "tensorflow"), _JAX),
        (not program.may_be_pytorch, _OF_PYTORCH),
        (not program.launches_from_python and program.language != "python", _OF_PYTHON),
        (not program.can_compile, _OF_COMPILER),
        (program.kind == "openmp" and not program.uses("LLVM"), _OF_LLVM),
        (bool(program.workloads) and not program.trains, TRAINING),
        (not program.runs_model, _OF_BATCHES if has_batches else _OF_MODELS),
        (not program.is_server and not is_refusal, _OF_SERVERS),
    )
    return [words for holds, words in conditional if holds]
