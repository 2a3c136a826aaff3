"""Versions of what the program has imported, and the settings of PyTorch that hold for all of a process."""

from __future__ import annotations

import multiprocessing
import os
import platform
import re
import sys
from typing import Any

from traceq.capture.snapshot.machine import collect
from traceq.common.keyed import hashed
from traceq.common.version import __version__
from traceq.formats.made_with import FACTS

Facts = dict[str, object]

# Begins of names of libraries, and the allocator that they are.
_ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc")
# What stands behind + in a version, and says which accelerator it was built for.
_BUILD = re.compile(r"(?:cpu|cu\d+|rocm[\d.]+|xpu)")


# From this number on versions of cuDNN have five digits.
_CUDNN_9 = 90_000


def collect_software(torch: Any) -> Facts:
    """Collect versions; of modules only if the program has imported them."""
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
    """Return the version without what names a private build."""
    public, _, build = str(version).partition("+")
    return f"{public}+{build}" if _BUILD.fullmatch(build) else public


def _cudnn_version(number: int | None) -> str | None:
    """Return the version of cuDNN, which is a number: 90100 is 9.1.0, 8902 is 8.9.2."""
    if number is None:
        return None
    major, rest = divmod(number, 10_000 if number >= _CUDNN_9 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def collect_precision(torch: Any) -> Facts:
    """Collect how exact and how repeatable PyTorch has to be."""
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
    """Collect the numbers of threads of PyTorch's operators."""
    return {"intra_op_threads": torch.get_num_threads(), "inter_op_threads": torch.get_num_interop_threads()}


def start_method() -> str:
    """Return how multiprocessing starts processes; asking for it the usual way would fix it."""
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def collect_environment() -> Facts:
    """Return all variables: formats.made_with chooses which are kept."""
    return dict(os.environ)


def collect_program() -> Facts:
    """Hash the arguments, which may hold secrets, with a key of the user; and say what replaces malloc."""
    arguments = [os.path.basename(sys.argv[0]), *sys.argv[1:]] if sys.argv else []  # noqa: PTH119 - pathlib drops a final dot
    preloaded = os.environ.get("LD_PRELOAD", "")
    hashed_arguments = hashed("\0".join(arguments).encode(errors="replace").decode())
    return {
        "command_line": hashed_arguments and hashed_arguments[:8],
        "preloaded_allocator": next((each for each in _ALLOCATORS if each in preloaded), None),
    }
