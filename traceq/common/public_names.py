"""Names that say nothing of who traced what: those that PyTorch, CUDA and libraries give, and how kernels are named."""

from __future__ import annotations

import re

from traceq.common.library_names import is_frame_of_library, is_of_library, known_words, read_words

# Names that begin as PyTorch, CUDA and libraries begin theirs: what follows is known word by word.
_NAMED = re.compile(
    r"""(?:aten|prims?|c10d?|_?c10d_functional|nccl|rccl|gloo|mpi|torch|torchvision|torch_nccl|inductor|quantized|profiler
            |vllm|_C(?:_cache_ops)?|sgl_kernel|sglang|fbgemm|xformers|transformer_engine|flash_attn(?:_\d)?)
        ::?[A-Za-z_][\w:.]*
    | (?:autograd::engine::evaluate_function:\s|torch::autograd::)[A-Za-z][\w:]*
    | (?:cuda|cu|cublas|cublasLt|cudnn|cufft|hip|hipblas|miopen|nccl|rccl|MPI_|omp_|pthread_)[A-Z]\w*
    | Optimizer\.(?:step|zero_grad)\#(?:SGD|Adam|AdamW|Adagrad|RMSprop|Adafactor|Lion|Muon)\.(?:step|zero_grad)
    | torch(?:\.\w+)+
    | (?:CUDA|CUBLAS|CUDNN|CUPTI|HIP|HSA|MKL|MIOPEN|NCCL|NVTX|OMP|OSRT|PYTORCH|RCCL|TARGET_INFO|TORCH(?:INDUCTOR)?)_[A-Z0-9_]+""",
    re.VERBOSE,
)
# Models of GPUs by their makers' lists: what only looks like one may be the name of a machine.
_MODEL = (
    r"(?:[PV]100S?|P4|P6|P40|T4G?|A[2346]0|A2|A10[GM]?|A16|A[18]00X?|H[128]00|H20|L[24]0?S?|B[123]00|G[BH][23]00|GB10|K[1248]0[cmst]?|M[46]|M[146]0"
    r"|A[45]500|A[1-6]000|[MPT]?[1-6]000M?|[KMPT][1246]00M?|T1000|RTX[4568]000"
    r"|(?:7[1-9]|9[1-8]|10[1-8]|16[1-6]|20[5-8]|30[5-9]|40[5-9]|50[5-9])0(?:M|D|Ti)?|MX[1-5][1-7]0"
    r"|MI(?:6|8|25|50|60|100|210|250X?|300[AXC]|308X|325X|350[XP]|355X)"
    r"|(?:R[579]|W)?[5-9][5-9]?00M?|[5-7][5-9][05]0|W[5-9][5-9]?00|V[36]20|V710|R9[67]00|90[67]0|VII|[AB][3-7][1578]0M?)"
)
_MEMORY = r"\d{1,3}GB"
# Names that are known as a whole.
PUBLIC = re.compile(
    r"""enumerate\(DataLoader\)\#_(?:Single|Multi)Process(?:ing)?DataLoaderIter\.__next__
    | sequence\ of\ \d{1,7}\ launches | after\ a\ sequence\ of\ \d{1,7}\ collectives
    | Runtime\ Triggered\ Module\ Loading | Lazy\ Function\ Loading
    | (?:(?:NVIDIA|AMD|Tesla|Quadro|GeForce|Instinct|Radeon|TITAN|RTX|GTX|SUPER|Ti|PCIe|SXM\d?|OAM|NVL|HBM\de?|DGXS
        |PG5\d\d(?:-2\d\d)?|GPU|Graphics|Device|Generation|Super|"""
    + _MEMORY
    + "|"
    + _MODEL
    + r""")(?:[ -]|\Z)){1,12}
    | gfx(?:[6-9]|1[0-3])[0-9a-f]{2}
    | \#\#\ Call\ CompiledFxGraph\ f[a-z2-7]{51}\ \#\#
    | \[CUDA\ (?:memcpy|memset|Unified\ Memory\ (?:memcpy|memset))
        (?:[ -](?:Host|Device|Array|Unified|Peer|to|HtoD|DtoH|DtoD|PtoP)){0,6}\]
    | Mem(?:cpy\ [A-Z]to[A-Z]|set)\ \((?:Pageable|Pinned|Device|Host|Array|Managed|Unified|Unknown|Peer)
        (?:\ ->\ (?:Pageable|Pinned|Device|Host|Array|Managed|Unified|Unknown|Peer))?\)""",
    re.VERBOSE,
)
# Names of processors: a maker or a brand, then words that makers use. Of three bare numbers one may be anybody's.
_HARDWARE = re.compile(
    r"""(?:NVIDIA|AMD|ATI|Intel(?:\(R\))?|Tesla|Quadro|GeForce|TITAN|Radeon|Instinct)[ /-]
    (?!(?:.*?(?<![^\W_])\d+(?![^\W_])){3})
    (?:(?:Tesla|Quadro|GeForce|TITAN|RTX|GTX|RX|PRO|Pro|Super|SUPER|Ti|Xp|XTX?|D|Ada|Blackwell|Generation|Laptop|Mobile|Server|Workstation
        |Edition|with|Max-Q|Design|CMP|Jetson|AGX|Orin|Thor|DGX|Spark|Grace|Hopper|GPU|Graphics|Device|Data|Center
        |PCIe|PCIE|SXM\d?|DGXS?|OAM|NVL\d{0,3}|AC|HBM\de?|\d{1,3}GB?|PG5\d\d(?:-2\d\d)?|MIG|\d{1,2}g\.\d{1,3}gb(?:\+me)?|\d{1,2}e
        |Radeon|Instinct|INSTINCT|\(MCM\)|MBA|VF|HF|FirePro|Vega
        |Iris(?:\(R\))?|Arc(?:\(TM\))?|UHD|Xe|Max|Flex
        |EPYC|Ryzen|Threadripper|Xeon(?:\(R\))?|Core(?:\(TM\))?|Platinum|Gold|Silver|Bronze|CPU|Processor|\d{1,3}-Core
        |@\ \d\.\d{1,2}GHz
        |(?:(?<=Platinum\ )|(?<=Gold\ )|(?<=Silver\ )|(?<=Bronze\ )|(?<=CPU\ )|(?<=EPYC\ )|(?<=Xeon\ )|(?<=Xeon\(R\)\ )
            |(?<=Ryzen\ \d\ )|(?<=Max\ )|(?<=Flex\ ))(?:E\d-)?\d{3,4}[A-Z]{0,3}\d?
        |(?<=Ryzen\ )[3579]|v[2-4]|i[3579]-\d{4,5}[A-Z]{0,2}|"""
    + _MODEL
    + r""")(?:\ /\ |[ /-]|\Z)){1,12}""",
    re.VERBOSE,
)
# A function of Python in PyTorch: its words are known one by one.
_FRAME = re.compile(r"torch/(?:\w+/)*\w+\.py\(\d{1,6}\): \w+")
# Folders that only libraries are called, and modules of Python, whose frames have no path.
LIBRARIES = (
    "torch|torchvision|torchdata|torchaudio|numpy|webdataset|pytorch_lightning|tensorflow|triton|wandb|mlflow|comet_ml|clearml|swanlab|tqdm"
    "|loguru|deepspeed|megatron|vllm|sglang"
)
STANDARD_MODULES = "threading|queue|selectors|contextlib|functools|random|socket|pickle|copy|runpy"
_LIBRARY_FRAME = re.compile(rf"(?:(?:{LIBRARIES})/[\w/]{{1,120}}|{STANDARD_MODULES})\.py\(\d{{1,6}}\): [\w<>.]{{1,80}}")
MODULE = re.compile(r"nn\.Module: ([A-Za-z]\w*?)(_\d{1,6})?")
KERNEL = re.compile(r"[\w:<>(),&*\[\]{}#~.+ -]{1,5000}")
KERNEL_OF_LIBRARY = re.compile(
    r"(?:first launch of )?(?:void (?:at|c10|cub|thrust|cutlass|cudnn|flash|fmha|fused|transformer_engine|vllm)\w*[:_]"
    r"|ncclDevKernel|ncclKernel|cublas|cudnn|cutlass|nvjet|sm\d+_|ampere_|volta_|turing_|hopper_|triton_(?:poi|red|per|tem|fused)_|Cijk_|_ZN2at)"
)


# Annotations that servers and frameworks make: these words and numbers that count, whole.
# Squares of lengths, summed over requests, have more digits than lengths.
_COUNT, _SQUARE = r"(?:0|[1-9]\d{0,6})", r"(?:0|[1-9]\d{0,11})"
_LENGTHS = (
    rf"\((?:{_COUNT}(?:_{_SQUARE})?|sq{_COUNT}sk{_COUNT}(?:sqsq{_SQUARE})?(?:sqsk{_SQUARE})?(?:sksk{_SQUARE})?)\)"
)
_DIALECT = re.compile(
    rf"""(?:ProfilerStep|traceq\.step)\#{_COUNT}
    | PyTorch\ Profiler\ \({_COUNT}\) | Iteration\ Start:\ PyTorch\ Profiler | Record\ Window\ End
    | execute_(?:{_COUNT}_)?context_{_COUNT}{_LENGTHS}_generation_{_COUNT}{_LENGTHS} | execute_new_{_COUNT}_cached_{_COUNT}
    | execute_diffusion_(?:\d{{1,3}}_)?\d{{2,4}}x\d{{2,4}}(?:_(?:bf16|fp16|fp32|fp8))?
    | step\[(?:EXTEND|SPLIT_PREFILL|DECODE|TARGET_VERIFY|VERIFY|MIXED)
        (?:\ (?:bs|toks|c|g|c_sq|c_sk|g_sq|g_sk)={_COUNT}){{0,8}}\]
    | capture_{_COUNT}_(?:FULL(?:_DECODE_ONLY|_AND_PIECEWISE)?|PIECEWISE|NONE|DECODE|EXTEND|PREFILL|MIXED|(?:TARGET_)?VERIFY)
    | (?:prefill|decode)\[bs={_COUNT}(?:/{_COUNT})?\ tok={_COUNT}
        (?:\ (?:p|d|sq|sk|ctx|gen|pad)={_COUNT}|\ (?:sqsq|sqsk|sksk)={_SQUARE}){{0,8}}\]
    | \#\#\ Call\ CompiledFxGraph\ f[a-z2-7]{{51}}\ \#\# | Torch-Compiled\ Region:\ \d{{1,4}}/\d{{1,4}}(?:_\d{{1,4}})?
    | \[memory\] | \[CUDA\ mem(?:cpy|set)(?:[ -](?:Host|Device|Array|Unified|Peer|to|HtoD|DtoH|DtoD|PtoP)){{0,6}}\]
    | Stream\ (?:Wait\ Event|Sync) | Event\ Sync | Context\ Sync""",
    re.VERBOSE,
)
_NODES = re.compile(r"(?:torch::autograd::)?(?:AccumulateGrad|GraphRoot|CopySlices)|detach_?|record_param_comms")
_NODE = re.compile(r"(?:torch::autograd::|autograd::engine::evaluate_function: )?([A-Za-z0-9]{1,60})Backward\d{0,2}")
_VERSIONED = r"(?:_(?:v\d{1,6}|ptsz|ptds|64))*"
_API = re.compile(
    r"_{0,2}(?:cuda|cu|hip|hsa|nccl|rccl|cublas|cublasLt|cudnn|cufft|cusparse|nvrtc|nvml|roctx|nvtx)[A-Z][A-Za-z0-9]{0,80}"
    + _VERSIONED
    + r"|MPI_[A-Z][a-z]{1,16}(?:_(?:all|any|attach|allocate|buffer|c|call|create|delete|detach|dup|end|errhandler"
    r"|file|free|get|group|idup"
    r"|init|initialized|intercomm|keyval|local|lock|name|neighbor|open|post|predefined|query|rank|read|remote|set|shared|size|some|split"
    r"|start|sync|test|thread|type|unlock|wait|with|write|at|begin|block|scatter|gather|flush|fence|info|view|w|v|x|i)){0,6}"
    r"|(?:ucp|nvshmemx?)(?:_(?:alltoall|barrier|broadcast|collect|reduce|put|get|quiet|fence|init|finalize|malloc|free|send|recv|tag"
    r"|stream|am|data|ep|worker|progress|flush|request|wait|test|signal|fetch|add|all|nb|nbi|nbr|nbx|on|sync|atomic|post|op|mem|map"
    r"|unmap|close|create|destroy|float|double|int|long|half|block|warp|team|size|p|g|sum|max|min|check|arm|probe|msg))+"
    r"|INVALID|Command Buffer Full|Lazy Function Loading|Runtime Triggered Module Loading|Buffer Flush|Instrumentation|Resource"
    r"|Driver Compiler|Activity Buffer Request|Start & Stop"
    r"|(?:(?:CUDA|CUDA backtrace|NVTX|NVTX early|OpenGL|OS runtime libraries) profiling|CUPTI:?|In-process plugins)"
    r"(?: (?:on|process|exit"
    r"|cuInit|finished|context|created|Instrumentation|Resource|Management|activity|api|buffers?|callbacks?|collection|data|event|flush"
    r"|initiali[sz]ation|init|kernel|memory"
    r"|overhead|processing|request|start|stop|trace|Activity|Buffer|Data|Flush|Overhead|Start|Stop|Initialization))*"
)
_OF_NSYS = re.compile(r"OS runtime libraries profiling (?:started|finished)")
_THREAD = re.compile(
    r"(?:thread -?\d{1,7} \()?(?:python(?:\d(?:\.\d{1,2})?)?|pt_(?:main_thread|autograd_\d{1,4}|data_(?:worker|pin)"
    r"|elastic|inductor|nccl_(?:watchdg|watchdog|heartbt|onCompl|desync|flight)|gloo_(?:runloop|watchdg)|tcpstore(?:_uv)?)"
    r"|CuptiActivityPr|CUPTI worker thread|pytest|torchrun|cuda-EvtHandlr|cuda0000[0-9a-f]{4,10}|jemalloc_bg_thd"
    r"|NCCL (?:UDS |Proxy |Async |I/O |Ib)?(?:Service|Progress|Proxy|thread|Thread|Async|RAS|Watchdog)(?: ?\d{1,3})?"
    r"|MPI Rank \d{1,5}|\[NSys(?: (?:Comms|Sampler|Agent|Sampling|Daemon|Main|Injection|Events|Monitor))*\])\)?"
    r"|(?:thread|stream) -?\d{1,7}(?: \(sync\))?|CPU|GPU \d{1,3}(?: Counters)?"
    r"|Traces|Spans|Trace PyTorch Profiler|PyTorch Profiler(?: \(\d{1,6}\))?|CUDA functions|CPU functions"
)
_SMALL_FLOAT = r"(?:Float8_e4m3|Float8_e5m2|Float8_e8m0|Float4_e2m1)(?:fnuz|fnu|fn)?(?:_x2)?"
_TYPE = re.compile(
    rf"c10::(?:Half|BFloat16|{_SMALL_FLOAT}|complex<(?:float|double|c10::Half)>|q?u?int\d{{1,2}})"
    r"|(?:unsigned |signed )?(?:char|short|int|long|long int|long long|float|double|bool|void)"
    r"|Scalar|ScalarList|TensorList|GenericList|Tensor"
    rf"|Float|Double|Half|BFloat16|{_SMALL_FLOAT}|Long|Int|Short|Byte|Char|Bool|(?:u?int|float|bfloat|complex)(?:4|8|16|32|64|128)?(?:_t)?"
    rf"|{_SMALL_FLOAT.lower()}|None"
)
_DEVICE = re.compile(
    r"(?:NVIDIA|AMD|Tesla|Quadro|GeForce|Instinct|Radeon|TITAN|Intel)"
    r"(?:[ -](?:NVIDIA|AMD|Tesla|Quadro|GeForce|Instinct|Radeon|TITAN|RTX|GTX|PCIe|PCIE|SXM\d?"
    rf"|OAM|NVL|HBM\de?|DGX|DGXS|Graphics|Device|Laptop|GPU|Ti|SUPER|Super|Ada|Generation|MIG|PG5\d\d|2\d\d|{_MEMORY}|{_MODEL})){{0,12}}"
)

# Settings of libraries are public where reports name them; a range that is called so is the program's.
_SETTING = re.compile(r"[A-Z0-9_]+")

# Public names whose ends anybody chooses.
_LOOSE = re.compile(
    r"torch\.|(?:torch|inductor|autograd)::?|(?:cu|hip|nccl|rccl|MPI_|omp_|pthread_)\w*_(?!v\d|ptsz|ptds)|torch/"
)
_LIBRARY = re.compile(
    r"(?:lib(?:c|m|mvec|dl|rt|pthread|stdc\+\+|gcc_s|c\+\+|gomp|omp|iomp5|z|numa|cuda|cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse"
    r"|cudnn(?:_(?:ops|cnn|adv|graph|heuristic|engines_precompiled|engines_runtime_compiled)(?:_infer|_train)?)?|nccl|nvrtc(?:-builtins)?"
    r"|nvidia-(?:ml|ptxjitcompiler|nvvm|opencl|allocator|gpucomp|cfg|glcore|tls)|hip(?:blas|blaslt|fft|rand|sparse|solver)?|hsa-runtime64|hsakmt"
    r"|torch(?:_cpu|_cuda|_python|_hip|_cuda_linalg|_global_deps|_nvshmem)?|c10(?:_cuda|_hip)?|mpi(?:_cxx|_mpifh|_nvidia)?"
    r"|fabric|selinux|nvperf_(?:host|target)|cupti-sbsa|(?:Tools|Nvtx|Cuda)?"
    r"Injection(?:Proxy|MemoryAllocator|MPICH|OpenMPI)?(?:32|64)?"
    r"|cupti|nvToolsExt|mkl(?:_core|_rt|_intel_thread|_gnu_thread|_intel_lp64|_avx2|_avx512|_def)?|ssl|crypto|atomic)"
    r"|(?:lib)?python\d[\d.]{0,6}|ld)(?:-\d[\d.]{0,12})?(?:\.so(?:\.\d{1,6}){0,4}|\.dylib|\.dll)?"
    r"|ld-linux(?:-x86-64|-aarch64|-armhf)?\.so\.\d"
    r"|\[(?:Broken backtraces|vdso|vsyscall|heap|stack|anon|unknown|kernel|kernel\.kallsyms|vmlinux)\]|vmlinux"
)
_FUNCTION = re.compile(
    r"\[[A-Za-z ]{1,40}\]|0x[0-9a-fA-F]{1,16}|_start|main|__libc_start(?:_main|_call_main|_main_impl|_main@@GLIBC_[\d.]{1,6})?"
    r"|_?Py(?:Arg|Bool|Buffer|Bytes|CFunction|Call|Capsule|Cell|Code|Coro|Descr|Dict|Err|Eval|Exception|Float|Frame|Function|GC|GILState|Gen"
    r"|Import|Interpreter|Iter|List|Long|Main|Mapping|Marshal|Mem|MemoryView|Method|Module|Number|OS|Object|Run|Runtime|Sequence|Set|Slice"
    r"|State|Stack|String|Sys|Thread|ThreadState|Token|Traceback|Tuple|Type|Unicode|Weakref|Wrapper)(?:_[A-Z][A-Za-z]{1,40}|_Vectorcall\w{0,8}){0,2}"
    r"|clone|start_thread"
)


_PATTERNS = {
    "annotation": _DIALECT,
    "operator": _NODES,
    "os_call": _OF_NSYS,
    "thread": _THREAD,
    "device": _DEVICE,
    "type": _TYPE,
    "function": _FUNCTION,
    "library": _LIBRARY,
}


def is_public(name: str, kind: str | None = None) -> bool:
    """Return whether PyTorch, CUDA or another library gives this name: to anything, or to something of the given kind.

    Kinds: annotation, operator, call, os_call, thread, device, type, function, library. Names of other kinds are never
    public.
    """
    if kind in _PATTERNS and _PATTERNS[kind].fullmatch(name):
        return True
    match kind:
        case None:
            is_whole = PUBLIC.fullmatch(name) or _HARDWARE.fullmatch(name)
            is_named = _NAMED.fullmatch(name) and is_of_library(name)
            found = is_whole or is_named or (_FRAME.fullmatch(name) and is_frame_of_library(name))
        case "annotation":
            found = is_public(name) and not _SETTING.fullmatch(name) and not _LOOSE.match(name)
        case "operator":
            found = (node := _NODE.fullmatch(name)) and node[1] in read_words("aten_nodes.txt")
        case "call":
            found = _API.fullmatch(name) and is_of_library(name)
        case "os_call":
            found = name.removeprefix("__") in read_words("libc.txt")
        case _:
            found = kind == "device" and PUBLIC.fullmatch(name)
    return bool(found)


def is_public_frame(name: str) -> bool:
    """Return whether a library gives this name to a Python frame or a module: vllm/v1/worker/block_table.py(19): __init__."""
    if module := MODULE.fullmatch(name):
        return module[1].lower() in known_words() or is_of_library(module[1])
    return _LIBRARY_FRAME.fullmatch(name) is not None and is_frame_of_library(name)


def is_public_anywhere(name: str) -> bool:
    """Return whether PyTorch, CUDA or another library gives this name to something of any kind."""
    return any(is_public(name, kind) for kind in (None, *_PATTERNS, "call", "os_call"))


def begins_public(name: str) -> bool:
    """Return whether a name begins as a library's does; the rest may still contain words of the user's."""
    is_kernel = KERNEL_OF_LIBRARY.match(name) and KERNEL.fullmatch(name)
    return is_kernel is not None or _NAMED.fullmatch(name) is not None
