"""The program: versions and settings of its libraries, and what it has built, found among the objects that are alive.

Nothing is replaced for it, so that code which torch.compile has compiled stays valid. A million objects take some 80
milliseconds.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from traceq.capture import files
from traceq.capture.snapshot.machine import collect
from traceq.common.keyed import hashed
from traceq.common.version import __version__
from traceq.formats.made_with import FACTS

Facts = dict[str, object]
Alive = Mapping[str, list[Any]]

_OWN = "of the program"

# Libraries whose classes of optimizers are known by their names.
_PUBLIC = frozenset(
    (
        *("torch", "transformers", "apex", "deepspeed", "bitsandbytes", "timm", "pytorch_optimizer", "lion_pytorch"),
        *("schedulefree", "prodigyopt", "torchao", "colossalai", "lightning", "pytorch_lightning", "torch_optimizer"),
    )
)

# Mode of torch.compile by what it sets.
_MODES = {
    frozenset(): "default",
    frozenset(("triton.cudagraphs",)): "reduce-overhead",
    frozenset(("max_autotune", "triton.cudagraphs", "coordinate_descent_tuning")): "max-autotune",
    frozenset(("max_autotune", "coordinate_descent_tuning")): "max-autotune-no-cudagraphs",
}

# Begins of names of libraries, and the allocator that they are.
_ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc")
# What stands behind + in a version, and says which accelerator it was built for.
_BUILD = re.compile(r"(?:cpu|cu\d+|rocm[\d.]+|xpu)")


# From this number on versions of cuDNN have five digits.
_CUDNN_9 = 90_000


def collect_software(torch: Any) -> Facts:
    """Return versions by name; of modules only those that the program has imported."""
    modules = {name: sys.modules[name] for name in FACTS["software"] if name in sys.modules}
    facts: Facts = {name: _public_version(getattr(module, "__version__", None)) for name, module in modules.items()}
    facts |= {"python": platform.python_version(), "traceq": __version__}
    return facts | collect(
        ("cuda", lambda: torch.version.cuda),
        ("hip", lambda: torch.version.hip),
        ("cudnn", lambda: _cudnn_version(torch.backends.cudnn.version())),
        # Loads the library of NCCL: where there is no GPU, for nothing.
        ("nccl", lambda: ".".join(map(str, torch.cuda.nccl.version()[:3])) if torch.cuda.is_available() else None),
    )


def _public_version(version: object) -> str:
    """Return the version without a suffix that names a private build."""
    public, _, build = str(version).partition("+")
    return f"{public}+{build}" if _BUILD.fullmatch(build) else public


def _cudnn_version(number: int | None) -> str | None:
    """Return the version of cuDNN as text from its number: 90100 is 9.1.0, 8902 is 8.9.2."""
    if number is None:
        return None
    major, rest = divmod(number, 10_000 if number >= _CUDNN_9 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def collect_precision(torch: Any) -> Facts:
    """Return PyTorch's settings for precision (TF32 and the like) and determinism, by name."""
    backends = torch.backends
    return collect(
        ("float32_matmul_precision", torch.get_float32_matmul_precision),
        ("tf32_matmul", lambda: _is_tf32(backends.cuda.matmul)),
        ("tf32_cudnn", lambda: _is_tf32(backends.cudnn)),
        ("deterministic", torch.are_deterministic_algorithms_enabled),
        ("cudnn_deterministic", lambda: backends.cudnn.deterministic),
        ("cudnn_benchmark", lambda: backends.cudnn.benchmark),
        ("anomaly_detection", torch.is_anomaly_enabled),
    )


def _is_tf32(backend: Any) -> bool:
    try:
        return bool(backend.allow_tf32)
    except RuntimeError:  # the program has used the other way to set it, PyTorch's since 2.9
        return bool(getattr(backend, "conv", backend).fp32_precision == "tf32")


def collect_threads(torch: Any) -> Facts:
    """Return the numbers of threads of PyTorch's operators, by name."""
    return {"intra_op_threads": torch.get_num_threads(), "inter_op_threads": torch.get_num_interop_threads()}


def start_method() -> str:
    """Return how multiprocessing starts processes, without fixing the choice as the usual call does."""
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def collect_environment() -> Facts:
    """Return all environment variables; formats.made_with chooses which are kept."""
    return dict(os.environ)


def collect_program() -> Facts:
    """Return a keyed hash of the command line, which may hold secrets, and the allocator that replaces malloc, if any."""
    arguments = [os.path.basename(sys.argv[0]), *sys.argv[1:]] if sys.argv else []  # noqa: PTH119 - pathlib drops a final dot
    preloaded = os.environ.get("LD_PRELOAD", "")
    hashed_arguments = hashed("\0".join(arguments).encode(errors="replace").decode())
    return {
        "command_line": hashed_arguments and hashed_arguments[:8],
        "preloaded_allocator": next((allocator for allocator in _ALLOCATORS if allocator in preloaded), None),
    }


def find_alive(torch: Any) -> Alive:
    """Return the live objects of this process that facts are read from, by kind: optimizer, scaler, inductor, ..."""
    wanted = dict(_list_classes(torch))
    kinds: dict[int, str | None] = {}
    found: dict[str, list[Any]] = {kind: [] for kind in wanted.values()}
    for found_object in gc.get_objects():
        # Not isinstance: an object may say that it is of another class, or do something when it is asked.
        class_ = type(found_object)
        if id(class_) not in kinds:
            kinds[id(class_)] = next((wanted[base] for base in class_.__mro__ if base in wanted), None)
        kind = kinds[id(class_)]
        if kind is not None:
            found[kind].append(found_object)
    return found


def _list_classes(torch: Any) -> Iterator[tuple[type, str]]:
    modules = sys.modules
    places = (
        ("torch.optim", "Optimizer", "optimizer"),
        ("torch.utils.data.dataloader", "_BaseDataLoaderIter", "loader"),
        ("torch.amp", "GradScaler", "scaler"),
        ("torch", "_TorchCompileInductorWrapper", "inductor"),
        ("torch", "_TorchCompileWrapper", "compiler"),
        ("torch.nn.parallel", "DistributedDataParallel", "DDP"),
        ("torch.nn.parallel", "DataParallel", "DataParallel"),
        ("torch.distributed.fsdp", "FullyShardedDataParallel", "FSDP"),
        ("torch.distributed.fsdp", "FSDPModule", "FSDP2"),
        ("deepspeed", "DeepSpeedEngine", "DeepSpeed"),
    )
    for module, name, kind in places:
        class_ = getattr(torch if module == "torch" else modules.get(module), name, None)
        if isinstance(class_, type):
            yield class_, kind


def collect_optimizers(torch: Any, found: Alive) -> list[Facts]:
    """Return facts about each optimizer, the one with most parameters first; wrappers around others are left out."""
    facts = []
    for optimizer in found["optimizer"]:
        inner = (vars(optimizer).get(name) for name in ("optimizer", "_optimizer"))
        if not any(isinstance(one, torch.optim.Optimizer) for one in inner):
            with suppress(Exception):  # one that is half built, or of another version of PyTorch
                facts.append(_describe_optimizer(optimizer))
    return _drop_repeated(sorted(facts, key=lambda fact: -int(str(fact["parameters"]))))


def _describe_optimizer(optimizer: Any) -> Facts:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    # What optimizers make in __init__ of their defaults is in the groups.
    options = optimizer.param_groups[0]
    class_ = type(optimizer)
    return {
        "optimizer": class_.__name__ if class_.__module__.partition(".")[0] in _PUBLIC else _OWN,
        **{name: _switch_or_default(options[name]) for name in ("fused", "foreach", "capturable") if name in options},
        "parameters": sum(parameter.numel() for parameter in parameters),
        "parameter_type": ", ".join(sorted({type_name(parameter.dtype) for parameter in parameters})),
    }


def _switch_or_default(switch: object) -> object:
    """Return the switch, or "default" if it is None, which leaves the choice to PyTorch."""
    return "default" if switch is None else switch


def type_name(dtype: object) -> str:
    """Return the name of a torch.dtype without its module: bfloat16."""
    return str(dtype).removeprefix("torch.")


def has_scaler(found: Alive) -> bool | None:
    """Return True if an enabled gradient scaler exists, else None, because its absence proves nothing."""
    return any(scaler.is_enabled() for scaler in found["scaler"]) or None


def collect_compile(found: Alive) -> Facts:
    """Return the mode and dynamic option of torch.compile, of its first use; the mode is "off" if it is not used."""
    for wrapper in found["inductor"]:
        changed = frozenset(name for name, value in wrapper.config.items() if value)
        return {"compile": _MODES.get(changed, "options"), "compile_dynamic": _switch_or_default(wrapper.dynamic)}
    for compiler in found["compiler"]:
        return {"compile": compiler.compiler_name, "compile_dynamic": _switch_or_default(compiler.dynamic)}
    return {"compile": "off"}


def collect_parallel(torch: Any, found: Alive) -> Facts:
    """Return the number of processes, how they share the work, and the settings of DistributedDataParallel, by name."""
    facts: Facts = {}
    if files.is_distributed():
        facts |= {"world_size": torch.distributed.get_world_size(), "backend": torch.distributed.get_backend()}
    else:
        facts |= {key: value for key, value in files.read_launcher_ranks().items() if key == "world_size"}
    kinds = ("DeepSpeed", "FSDP2", "FSDP", "DDP", "DataParallel")
    facts["data_parallel"] = next((kind for kind in kinds if found.get(kind)), "none")
    for model in found["DDP"][:1]:
        facts |= {
            "ddp_bucket": getattr(model, "bucket_bytes_cap", None),
            "ddp_find_unused": getattr(model, "find_unused_parameters", None),
            "ddp_static_graph": getattr(model, "static_graph", None),
            "ddp_bucket_view": getattr(model, "gradient_as_bucket_view", None),
        }
    return facts


def describe_loader(batches: Any, of: Any = None) -> Facts:
    """Return facts about a DataLoader, read from its iterator `batches`.

    The loader `of` must be given while its iterator is not complete yet.
    """
    count = batches._num_workers  # noqa: SLF001 - there is no public way from an iterator to its loader
    facts: Facts = {"num_workers": count, "pin_memory": bool(batches._pin_memory)}  # noqa: SLF001
    if batches._auto_collation:  # noqa: SLF001 - else batches are made by the dataset
        facts["batch_size"] = getattr(batches._index_sampler, "batch_size", None)  # noqa: SLF001
    if count:
        ahead = getattr(batches, "_prefetch_factor", None) if of is None else of.prefetch_factor
        facts |= {"prefetch_factor": ahead, "persistent_workers": batches._persistent_workers}  # noqa: SLF001
    return {name: value for name, value in facts.items() if value is not None}


def worker_start_method(of: Any) -> str | None:
    """Return how the loader's workers are started if it was told; None for the process's default."""
    context = of.multiprocessing_context
    return None if context is None else context.get_start_method()


def _drop_repeated(facts: Iterable[Facts]) -> list[Facts]:
    """Return the distinct facts, each at the place of its last appearance."""
    return [*{repr(sorted(fact.items())): fact for fact in reversed(list(facts))}.values()][::-1]
