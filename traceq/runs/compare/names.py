"""The part of a kernel's, operator's or annotation's name that stays from run to run, and the role of a kernel."""

from __future__ import annotations

import re
from functools import lru_cache

# Names come from traces: none of these may try a run of letters or digits again from within it.
_RETURNS = re.compile(r"^(?:void|static|__global__)\s++")
_BOOL = {"false": "0", "true": "1"}
_WORD = re.compile(r"\b(?:false|true)\b")
_CAST = re.compile(r"\((?:unsigned )?(?:int|long long|long|short|char|bool)\)(?=-?\d)")
_SUFFIX = re.compile(r"(?<=\d)(?:ull|ul|ll|u|l)\b", re.IGNORECASE)
_SPACE = re.compile(r"\s++")

_LITERAL = re.compile(r"(?<=[<,])-?\d++(?=[,>])")
_EMPTY = re.compile(r"<,*+>")
_UNNAMED = re.compile(r"\(anonymousnamespace\)::|<unnamed>::|#\d++|\(instance\d++\)")
_HASH = re.compile(r"(?<![0-9a-f])_?(?:0x)?(?=[a-f]*+\d)(?=\d*+[a-f])[0-9a-f]{8,}+(?=_|$)")
_TILE = re.compile(r"(?<!\d)_?\d++(?:x\d++)++")
_NUMBERED = re.compile(r"(?:_\d[\dcde]*+)++$")

# A region that a compiler offloads has the line, or the number, at which it stands in its function: NVIDIA's HPC compilers
# (OpenMP, OpenACC), LLVM, GCC.
_OFFLOADED = (
    re.compile(r"^(nvkernel_.*)_F\d++L(\d++)(?:_(\d++))?$"),
    re.compile(r"^(.*)_(\d++)_gpu(?:__red)?$"),
    re.compile(r"^__omp_offloading_[0-9a-f]++_[0-9a-f]++_(.*)_l(\d++)(?:_(\d++))?(?:_debug__)?$"),
    re.compile(r"^(.*)[.$]_omp_fn[.$](\d++)(?:[.$].*)?$"),
)

# Of longer names the rest tells nothing more.
_LONGEST = 4096

# Templates of PyTorch whose arguments say what they do.
_GENERIC = re.compile(r"elementwise|reduce_kernel|multi_tensor_apply|^at::native::|^at::cuda::detail")


@lru_cache(maxsize=8192)
def canonical_name(name: str) -> str:
    """Return the kernel's name as nsys and PyTorch would both write it: without return type, parameters, casts and suffixes."""
    bare = _RETURNS.sub("", name.strip())
    bare = _WORD.sub(lambda match: _BOOL[match[0]], bare)
    bare = _SPACE.sub("", _SUFFIX.sub("", _CAST.sub("", bare)))
    return _drop_parameters(bare) or bare


@lru_cache(maxsize=8192)
def family_name(name: str) -> str:
    """Return the canonical name without template literals, hashes, tile sizes and generated numbers.

    Types and functors stay, because they say what a kernel computes. For an offloaded region it is the enclosing
    function.
    """
    region = region_of(name)
    if region is not None:
        return region[0]
    bare = _UNNAMED.sub("", canonical_name(name)[:_LONGEST])
    bare = _EMPTY.sub("", _LITERAL.sub("", bare))
    bare = _NUMBERED.sub("", _TILE.sub("", _HASH.sub("", bare)))
    return bare.strip("_:") or canonical_name(name)


@lru_cache(maxsize=8192)
def region_of(name: str) -> tuple[str, tuple[int, ...]] | None:
    """Return the function that an offloaded region (OpenMP, OpenACC) is in, and its place there (line or number).

    None for other kernels. A reduction kernel has the place of its region, and a function of its own.
    """
    bare = canonical_name(name)[:_LONGEST]
    for pattern in _OFFLOADED:
        match = pattern.match(bare)
        if match:
            function = match[1] + ("__red" if bare.endswith("__red") else "")
            return function, tuple(int(number) for number in match.groups()[1:] if number)
    return None


def function_name(name: str) -> str | None:
    """Return the kernel's function without template arguments; None for generic templates, whose arguments say what they do."""
    family = family_name(name)
    return None if _GENERIC.search(family) else family.partition("<")[0] or None


def _drop_parameters(text: str) -> str:
    """Return the text without the parenthesized parameters at its end; unchanged when parentheses do not match."""
    if not text.endswith(")"):
        return text
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == ")") - (text[place] == "(")
        if not depth:
            return text[:place]
    return text


_STEP = re.compile(r"(#|\b[Ss]tep[ _:=-]?)\d+\b")
# What emit_nvtx adds to the names of operators: part of them in what was stored before they were read as operators.
_CALL = re.compile(r", (?:seq|op_id) = \d++")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}+\b")
_GRAPH = re.compile(r"(?<=CompiledFxGraph )f[a-z2-7]{20,}+\b")
_LONE_HASH = re.compile(r"\b(?=[a-f]*+\d)(?=\d*+[a-f])[0-9a-f]{8,}+\b")


@lru_cache(maxsize=8192)
def stable_name(name: str) -> str:
    """Return the name without step numbers, addresses and hashes, which change between runs: ProfilerStep# for ProfilerStep#7."""
    bare = _ADDRESS.sub("0x", _GRAPH.sub("", _CALL.sub("", name)))
    return _LONE_HASH.sub("", _STEP.sub(r"\1", bare)) or name


_PRODUCTS = "matrix products"
_EXPERTS = "products of experts"
_ROTARY = "rotary embedding"
_ROLES = {
    **dict.fromkeys(
        ("aiter", "composable_kernel", "cublas", "cutlass", "deep_gemm", "hipblas", "marlin", "nvjet", "trtllm"),
        _PRODUCTS,
    ),
    **dict.fromkeys(("cudnn", "miopen"), "convolutions"),
    **dict.fromkeys(("flash_attention", "linear_attention"), "attention"),
    "copy": "copies",
    "elementwise": "elementwise",
    "embedding": "embeddings",
    "index": "indexing",
    "kv_cache": "KV cache",
    "loss": "losses",
    "norm": "norms",
    "optimizer": "optimizer",
    "pooling": "pooling",
    "quantize": "quantization",
    "reduce": "reductions",
    "routing": "routing of experts",
    "sampling": "sampling",
    "scan_sort": "scans and sorts",
    "softmax": "softmax",
}
# Their names say which of several libraries was chosen, not what is computed.
OF_LIBRARIES = (_PRODUCTS, _EXPERTS, "convolutions", "attention")

_OF_EXPERTS = re.compile(r"moe|expert|_dynB|grouped_?gemm", re.IGNORECASE)
_OF_ROTARY = re.compile(r"rotary|rope", re.IGNORECASE)


def find_role(name: str, family: str | None) -> str | None:
    """Return the kernel's role (matrix products, attention, ...) from its name and family (kernel_occupancy.family).

    None where it is not known.
    """
    found = _ROLES.get(family or "")
    if found == _PRODUCTS and _OF_EXPERTS.search(name):
        return _EXPERTS
    if found in ("elementwise", "embeddings") and _OF_ROTARY.search(name):
        return _ROTARY
    return found
