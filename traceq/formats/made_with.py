"""The snapshot of a run's environment: every fact and knob that it may hold, and the values that are kept.

A knob is what a user sets for a run; all else (versions, clocks, the machine) is a fact. A value is kept only where its pattern
knows it: numbers, versions, words of PyTorch and of its libraries. So nothing here can name a user, a host or a path, whoever
wrote the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

SUFFIX = ".made_with.json"
VERSION = 1

# What follows the name of a trace, in all formats that traceq writes or lets a profiler write.
_ENDING = re.compile(r"(?:(?:\.pt\.trace)?\.json|\.sqlite|\.db|\.nsys-rep|\.qdrep)(?:\.gz)?\Z", re.IGNORECASE)
ENVIRONMENT = "environment"
# What stands for the value of a variable that may not be kept.
SET = "set"


class KnownFact(NamedTuple):
    """A fact that a snapshot may hold: its words in sentences, the values that are kept, its unit, whether it is a knob."""

    words: str
    pattern: re.Pattern[str]
    unit: str | None = None
    is_knob: bool = False


_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,6})?")
_SWITCH = re.compile(r"true|false")
# default: left to PyTorch, which does as it finds best.
_CHOICE = re.compile(r"true|false|default")
# Of what stands behind + only what says which accelerator it was built for: anything else may be a private name.
_VERSION = re.compile(
    r"\d{1,4}(?:\.\d{1,5}){0,4}(?:(?:a|b|rc|\.dev|\.post)\d{1,8})?(?:\+(?:cpu|cu\d{2,4}|rocm[\d.]{1,8}|xpu))?"
)
_MODEL = re.compile(r"(?=.*[A-Za-z])[\w .,()@+-]{2,80}")
_HASH = re.compile(r"[0-9a-f]{8}")
_TYPE = r"(?:bfloat16|float\d{1,2}\w{0,10}|u?int\d{1,2}|complex\d{2,3})"
_TYPES = re.compile(rf"off|{_TYPE}(?:, {_TYPE}){{0,3}}")


def _one_of(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, words)))


_START = _one_of("fork", "spawn", "forkserver")
# Optimizers of PyTorch and of libraries that many use; a program's own class is only told to be that.
_OPTIMIZERS = _one_of(
    *("Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "LBFGS", "Muon", "NAdam", "RAdam", "RMSprop"),
    *("Rprop", "SGD", "SparseAdam", "Lion", "Lamb", "LAMB", "LARS", "FusedAdam", "FusedSGD", "FusedLAMB", "FusedNovoGrad"),
    *("CPUAdam", "DeepSpeedCPUAdam", "AdamW8bit", "Adam8bit", "PagedAdamW", "PagedAdamW8bit", "PagedAdamW32bit", "Lion8bit"),
    *("ZeroRedundancyOptimizer", "DistributedShampoo", "Shampoo", "SOAP", "ScheduleFreeWrapper", "AdamWScheduleFree"),
    *("SGDScheduleFree", "Prodigy", "Adan", "MADGRAD", "of the program"),
)  # fmt: skip

FACTS: dict[str, dict[str, KnownFact]] = {
    "host": {
        "cpu": KnownFact("CPU", _MODEL),
        "cpus": KnownFact("CPUs of the machine", _NUMBER),
        "affinity": KnownFact("CPUs that the process may use", _NUMBER, is_knob=True),
        "cpu_quota": KnownFact("CPU quota of the control group", _NUMBER, "CPUs", is_knob=True),
        "memory": KnownFact("memory", _NUMBER, "bytes"),
        "memory_limit": KnownFact("memory limit of the control group", _NUMBER, "bytes"),
        "disk": KnownFact(
            "disk", _one_of("rotational", "ssd", "nvme", "network", "overlay", "memory", "virtual")
        ),
        "numa_nodes": KnownFact("NUMA nodes", _NUMBER),
        "kernel": KnownFact("kernel", _VERSION),
    },
    "gpu": {
        "gpu": KnownFact("GPU", _MODEL),
        "driver": KnownFact("driver", _VERSION),
        "gpu_memory": KnownFact("GPU memory", _NUMBER, "bytes"),
        "sm_clock_max": KnownFact("largest SM clock", _NUMBER, "MHz"),
        "sm_clock_set": KnownFact("SM clock for applications", _NUMBER, "MHz"),
        "memory_clock_max": KnownFact("largest memory clock", _NUMBER, "MHz"),
        "power_limit": KnownFact("power limit", _NUMBER, "W"),
    },
    "software": {
        "python": KnownFact("Python", _VERSION),
        "cuda": KnownFact("CUDA", _VERSION),
        "hip": KnownFact("HIP", _VERSION),
        "cudnn": KnownFact("cuDNN", _VERSION),
        "nccl": KnownFact("NCCL", _VERSION),
        **{
            name: KnownFact(name, _VERSION)
            for name in (
                *("torch", "numpy", "torchvision", "torchaudio", "torchdata", "transformers", "accelerate", "lightning"),
                *("pytorch_lightning", "datasets", "tokenizers", "deepspeed", "peft", "timm", "triton", "flash_attn"),
                *("xformers", "apex", "bitsandbytes", "transformer_engine", "torchao", "webdataset", "PIL", "cv2"),
                *("pandas", "pyarrow", "sklearn", "jax", "traceq"),
            )
        },
    },
    "precision": {
        "float32_matmul_precision": KnownFact("float32_matmul_precision", _one_of("highest", "high", "medium"), is_knob=True),
        "tf32_matmul": KnownFact("TF32 in matrix products", _SWITCH, is_knob=True),
        "tf32_cudnn": KnownFact("TF32 in cuDNN", _SWITCH, is_knob=True),
        "autocast": KnownFact("autocast", _TYPES, is_knob=True),
        "grad_scaler": KnownFact("gradient scaler", _SWITCH, is_knob=True),
        "deterministic": KnownFact("deterministic algorithms", _SWITCH, is_knob=True),
        "cudnn_deterministic": KnownFact("cudnn.deterministic", _SWITCH, is_knob=True),
        "cudnn_benchmark": KnownFact("cudnn.benchmark", _SWITCH, is_knob=True),
        "anomaly_detection": KnownFact("anomaly detection", _SWITCH, is_knob=True),
    },
    "threads": {
        "intra_op_threads": KnownFact("intra-op threads", _NUMBER, is_knob=True),
        "inter_op_threads": KnownFact("inter-op threads", _NUMBER, is_knob=True),
    },
    "loader": {
        "batch_size": KnownFact("batch_size", _NUMBER, is_knob=True),
        "num_workers": KnownFact("num_workers", _NUMBER, is_knob=True),
        "pin_memory": KnownFact("pin_memory", _SWITCH, is_knob=True),
        "prefetch_factor": KnownFact("prefetch_factor", _NUMBER, is_knob=True),
        "persistent_workers": KnownFact("persistent_workers", _SWITCH, is_knob=True),
        "worker_start_method": KnownFact("start method of loader workers", _START, is_knob=True),
    },
    "optimizer": {
        "optimizer": KnownFact("optimizer", _OPTIMIZERS, is_knob=True),
        "fused": KnownFact("fused optimizer", _CHOICE, is_knob=True),
        "foreach": KnownFact("foreach optimizer", _CHOICE, is_knob=True),
        "capturable": KnownFact("capturable optimizer", _CHOICE, is_knob=True),
        "parameters": KnownFact("parameters", _NUMBER),
        "parameter_type": KnownFact("type of parameters", _TYPES, is_knob=True),
    },
    "compile": {
        "compile": KnownFact(
            "torch.compile",
            _one_of(
                *("off", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "options"),
                *("aot_eager", "eager", "cudagraphs", "onnxrt", "openxla", "tensorrt", "tvm", "ipex", "other backend"),
            ),
            is_knob=True,
        ),
        "compile_dynamic": KnownFact("torch.compile dynamic", _CHOICE, is_knob=True),
    },
    "parallel": {
        "world_size": KnownFact("world size", _NUMBER, is_knob=True),
        "backend": KnownFact(
            "backend of communication",
            _one_of("nccl", "gloo", "mpi", "ucc", "xccl", "hccl", "cpu:gloo,cuda:nccl"),
            is_knob=True,
        ),
        "data_parallel": KnownFact(
            "data parallel",
            _one_of("none", "DDP", "FSDP", "FSDP2", "DeepSpeed", "DataParallel"),
            is_knob=True,
        ),
        "ddp_bucket": KnownFact("DDP bucket", _NUMBER, "bytes", is_knob=True),
        "ddp_find_unused": KnownFact("find_unused_parameters", _SWITCH, is_knob=True),
        "ddp_static_graph": KnownFact("static_graph", _SWITCH, is_knob=True),
        "ddp_bucket_view": KnownFact("gradient_as_bucket_view", _SWITCH, is_knob=True),
        "backward_passes": KnownFact("backward passes a step", _NUMBER, is_knob=True),
        "start_method": KnownFact("start method of processes", _START, is_knob=True),
    },
    "program": {
        "command_line": KnownFact("the command line", _HASH),
        "preloaded_allocator": KnownFact("preloaded allocator", _one_of("jemalloc", "tcmalloc", "mimalloc"), is_knob=True),
    },
}  # fmt: skip

_KNOWN = {name: known for names in FACTS.values() for name, known in names.items()}

# Variables whose numbers and words are kept, and those of them that say where a run is, not how.
_VARIABLE = re.compile(
    r"(?:OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|NUMEXPR|NCCL|TORCH_NCCL|RCCL|UCX|GLOO|MALLOC|TORCHINDUCTOR|TORCHDYNAMO|TRITON|CUBLAS|CUDNN"
    r"|CUDA|HSA|HIP|ROCR|MIOPEN|FLASH_ATTENTION|NVTE|TORCH|PYTORCH|AMP)_[A-Z0-9_]{1,48}|TOKENIZERS_PARALLELISM|NVIDIA_TF32_OVERRIDE"
    r"|ATEN_CPU_CAPABILITY|XLA_PYTHON_CLIENT_(?:PREALLOCATE|MEM_FRACTION)"
)
_NOT_A_KNOB = frozenset(("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NCCL_DEBUG"))
# No ports, addresses and keys: numbers of at most six digits (with a unit), and at most two parts of them.
_PART = re.compile(
    r"-?\d{1,6}(?:\.\d{1,4})?[KMG]?B?|true|false|yes|no|on|off|none|auto|default|close|spread|master|primary|threads|cores|sockets|numa_domains"
    r"|static|dynamic|guided|active|passive|disabled|granularity|fine|core|thread|compact|scatter|balanced|respect|norespect|verbose"
    r"|noverbose|warnings|nowarnings|explicit|ring|tree|collnet|collnetdirect|collnetchain|nvls|nvlstree|pat|simple|ll|ll128|info|warn|trace|version"
    r"|loc|nvl|pix|pxb|phb|sys|expandable_segments|max_split_size_mb|garbage_collection_threshold|roundup_power2_divisions|backend"
    r"|native|cudamallocasync|pinned_use_cuda_host_register|pinned_num_register_threads|per_process_memory_fraction|avx2|avx512"
    r"|sequential|parallel|intel|gnu|tbb|lazy|eager|max_autotune|freezing",
    re.IGNORECASE,
)  # fmt: skip
_BETWEEN = re.compile(r"[,;:=|\[\]^ ]+")
_MOST_PARTS = 12


def normalize_value(topic: str, name: str, value: object) -> str | None:
    """Return the value of the fact `name` as text if it may be kept; None if it is None, unknown to traceq, or may not be kept.

    For an environment variable whose value may not be kept, the text is "set".
    """
    if value is None:
        return None
    text = _match_text(value)
    if topic == ENVIRONMENT:
        if not _VARIABLE.fullmatch(name) or not text:
            return None
        return text if _is_setting(text) else SET
    known = FACTS.get(topic, {}).get(name)
    return text if known is not None and known.pattern.fullmatch(text) else None


def is_harmless(name: str, value: str) -> bool:
    """Return whether the value may be shown to strangers; free text, such as the model of a processor, may not."""
    if name not in _KNOWN:
        return normalize_value(ENVIRONMENT, name, value) == value
    return _KNOWN[name].pattern is not _MODEL and _KNOWN[name].pattern.fullmatch(value) is not None


def words_of(name: str) -> str:
    """Return the words for the fact `name` in a sentence; the name itself for an environment variable."""
    return _KNOWN[name].words if name in _KNOWN else name


def unit_of(name: str) -> str | None:
    """Return the unit of the values of the fact `name`; None for counts and for values that are not numbers."""
    return _KNOWN[name].unit if name in _KNOWN else None


def is_knob(name: str) -> bool:
    """Return whether the fact `name` is a setting that a user chooses for a run."""
    return _KNOWN[name].is_knob if name in _KNOWN else is_variable(name) and name not in _NOT_A_KNOB


def is_variable(name: str) -> bool:
    """Return whether the fact `name` is an environment variable that a snapshot may hold."""
    return name not in _KNOWN and _VARIABLE.fullmatch(name) is not None


def _is_setting(text: str) -> bool:
    """Return whether the text has at most 12 parts, each a small number or a known word of settings."""
    parts = [part for part in _BETWEEN.split(text) if part]
    return 0 < len(parts) <= _MOST_PARTS and all(map(_PART.fullmatch, parts))


def _match_text(value: object) -> str:
    """Return the value as text: true or false, and fractions with at most six digits."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return str(value)


def path_beside(trace: Path, suffix: str = SUFFIX) -> Path:
    """Return the path where the environment snapshot of the run that wrote this trace would be, whether or not it exists.

    With another `suffix`, the path of another file beside the trace.
    """
    return trace.with_name(f"{_ENDING.sub('', trace.name)}{suffix}")


def size_of_content(trace: Path) -> int | None:
    """Return the bytes of the trace, unpacked if gzip'd, modulo 2**32 (as gzip stores it); None for other archives."""
    size = trace.stat().st_size
    if trace.suffix != ".gz":
        return None if trace.suffix in (".zst", ".xz", ".bz2", ".zip", ".lz4") else size % (1 << 32)
    with trace.open("rb") as file:
        file.seek(max(0, size - 4))
        return int.from_bytes(file.read(), "little")
