"""Names that say nothing of who traced what: those that PyTorch, CUDA and libraries give, and how kernels are named."""

from __future__ import annotations

import re

from traceq.common.library_names import is_frame_of_library, is_of_library

# Names that begin as PyTorch, CUDA and libraries begin theirs: what follows is known word by word.
_NAMED = re.compile(
    r"""(?:aten|prims?|c10d?|_?c10d_functional|nccl|rccl|gloo|mpi|torch|torchvision|torch_nccl|inductor|quantized|profiler)
        ::?[A-Za-z_][\w:.]*
    | (?:autograd::engine::evaluate_function:\s|torch::autograd::)[A-Za-z][\w:]*
    | (?:cuda|cu|cublas|cublasLt|cudnn|cufft|hip|hipblas|miopen|nccl|rccl|MPI_|omp_|pthread_)[A-Z]\w*
    | Optimizer\.(?:step|zero_grad)\#(?:SGD|Adam|AdamW|Adagrad|RMSprop|Adafactor|Lion|Muon)\.\w+
    | torch(?:\.\w+)+
    | (?:CUDA|CUBLAS|CUDNN|CUPTI|HIP|HSA|MKL|MIOPEN|NCCL|NVTX|OMP|OSRT|PYTORCH|RCCL|TARGET_INFO|TORCH(?:INDUCTOR)?)_[A-Z0-9_]+""",
    re.VERBOSE,
)
# Names that are known as a whole.
PUBLIC = re.compile(
    r"""enumerate\(DataLoader\)\#_(?:Single|Multi)Process(?:ing)?DataLoaderIter\.__next__
    | sequence\ of\ \d+\ launches | after\ a\ sequence\ of\ \d+\ collectives
    | Runtime\ Triggered\ Module\ Loading | Lazy\ Function\ Loading
    | (?:(?:NVIDIA|AMD|Tesla|Quadro|GeForce|Instinct|Radeon|TITAN|RTX|GTX|SUPER|Ti|PCIe|SXM\d?|OAM|NVL|HBM\de?|DGXS|PG\d{3}|GPU
        |Graphics|Device|Generation|Super|\d+GB|[A-Z]{1,2}\d{1,4}[A-Z]{0,2})(?:[ -]|\Z))+
    | gfx[0-9a-f]{3,4}
    | \#\#\ Call\ CompiledFxGraph\ f[a-z2-7]+\ \#\#
    | \[CUDA\ (?:memcpy|memset|Unified\ Memory\ \w+)[ A-Za-z-]*\]
    | Mem(?:cpy|set)\ (?:[A-Z]to[A-Z]\ )?\([A-Za-z]+(?:\ ->\ [A-Za-z]+)?\)""",
    re.VERBOSE,
)
# Names of processors: a maker or a brand, then words that makers use. Of three bare numbers one may be anybody's.
_HARDWARE = re.compile(
    r"""(?:NVIDIA|AMD|ATI|Intel(?:\(R\))?|Tesla|Quadro|GeForce|TITAN|Radeon|Instinct)[ /-]
    (?!(?:.*?(?<![^\W_])\d+(?![^\W_])){3})
    (?:(?:Tesla|Quadro|GeForce|TITAN|RTX|GTX|RX|PRO|Pro|Super|SUPER|Ti|Xp|XTX?|D|Ada|Blackwell|Generation|Laptop|Mobile|Server|Workstation
        |Edition|with|Max-Q|Design|CMP|Jetson|AGX|Orin|Thor|DGX|Spark|Grace|Hopper|GPU|Graphics|Device|Data|Center
        |PCIe|PCIE|SXM\d?|DGXS?|OAM|NVL\d{0,3}|AC|HBM\de?|\d{1,4}GB?|PG\d{3}|MIG|\d{1,2}g\.\d{1,3}gb(?:\+me)?|\d{1,2}e
        |Radeon|Instinct|INSTINCT|\(MCM\)|MBA|VF|HF|FirePro|Vega
        |Iris(?:\(R\))?|Arc(?:\(TM\))?|UHD|Xe|Max|Flex
        |EPYC|Ryzen|Threadripper|Xeon(?:\(R\))?|Core(?:\(TM\))?|Platinum|Gold|Silver|Bronze|CPU|Processor|\d{1,3}-Core
        |@\ \d\.\d{1,2}GHz
        |[A-Z]{1,2}\d{1,4}[A-Z]{0,2}|\d{2,5}[A-Z]{0,3}|i\d-\d{3,5}[A-Z]{0,2})(?:\ /\ |[ /-]|\Z)){1,12}""",
    re.VERBOSE,
)
# A function of Python in PyTorch: its words are known one by one.
_FRAME = re.compile(r"torch/(?:\w+/)*\w+\.py\(\d{1,6}\): \w+")
KERNEL = re.compile(r"[\w:<>(),&*\[\]{}#~.+ -]{1,5000}")
KERNEL_OF_LIBRARY = re.compile(
    r"(?:first launch of )?(?:void (?:at|c10|cub|thrust|cutlass|cudnn|flash|fmha|fused|transformer_engine|vllm)\w*[:_]"
    r"|ncclDevKernel|ncclKernel|cublas|cudnn|cutlass|nvjet|sm\d+_|ampere_|volta_|turing_|hopper_|triton_(?:poi|red|per|tem|fused)_|Cijk_|_ZN2at)"
)


def is_public(name: str) -> bool:
    """Whether PyTorch, CUDA or another library gives this name."""
    return (
        PUBLIC.fullmatch(name) is not None
        or _HARDWARE.fullmatch(name) is not None
        or (_NAMED.fullmatch(name) is not None and is_of_library(name))
        or (_FRAME.fullmatch(name) is not None and is_frame_of_library(name))
    )


def begins_public(name: str) -> bool:
    """Whether a name begins as those of libraries do: words behind that may be anybody's."""
    is_kernel = KERNEL_OF_LIBRARY.match(name) and KERNEL.fullmatch(name)
    return is_kernel is not None or _NAMED.fullmatch(name) is not None
