"""What a name of a trace becomes when nobody may be named: itself where it is known to be harmless, else a pseudonym.

Known are the words of kernels, operators and functions of CUDA, NCCL and the like (traceq.common.library_names), and the words
by which traceq tells what annotations mean. Any other word is replaced, the same one by the same; numbers that count stay, so
that steps are still found:

    train step 17                     train step 17
    acme/llama: step 17               nbqzqkc/nodmwif: step 17
    /home/alice/run.py(12): forward   ntyqpwa.py(12): forward

A pseudonym is a keyed hash: who does not know the key cannot try words out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache

from traceq.common import library_names
from traceq.common.keyed import Pseudonyms
from traceq.common.library_names import HEXADECIMAL, is_of_library, known_words, read_words
from traceq.common.public_names import KERNEL, PUBLIC, is_public
from traceq.sharing.secrets import tells

# Annotations that servers and frameworks make: numbers and these words, whole.
_DIALECT = re.compile(
    r"""ProfilerStep\#\d+ | traceq\.step\#\d+
    | PyTorch\ Profiler\ \(\d+\) | Iteration\ Start:\ PyTorch\ Profiler | Record\ Window\ End
    | execute_(?:\d+|context|generation|new|cached|diffusion|sqsq|sksk|sqsk|sq|sk|x|_|\(|\))+
    | step\[(?:EXTEND|SPLIT_PREFILL|DECODE|TARGET_VERIFY|VERIFY|MIXED)(?:\ (?:bs|toks|c|g|c_sq|c_sk|g_sq|g_sk)=\d+)*\]
    | capture_\d+_[A-Z]{1,12}
    | (?:prefill|decode)\[bs=\d+(?:/\d+)?\ tok=\d+(?:\ \w{1,4}=\d+)*\]
    | \#\#\ Call\ CompiledFxGraph\ f[a-z2-7]{10,60}\ \#\# | Torch-Compiled\ Region:\ \d+/\d+(?:_\d+)?
    | \[memory\] | \[CUDA\ mem(?:cpy|set)[\ A-Za-z-]{0,40}\]
    | Stream\ (?:Wait\ Event|Sync) | Event\ Sync | Context\ Sync""",
    re.VERBOSE,
)
_NODES = re.compile(r"(?:torch::autograd::)?(?:AccumulateGrad|GraphRoot|CopySlices)|detach_?|record_param_comms")
# Anybody's extensions are in these, too: what follows is known word by word.
_SPACE = re.compile(
    r"(?:aten|prims?|c10d?|_c10d_functional|torchvision|torchaudio|profiler|quantized|fbgemm|vllm|_C(?:_cache_ops)?|sgl_kernel|sglang"
    r"|flash_attn(?:_\d)?|xformers|transformer_engine|tex|triton|inductor|autograd|torch|symm_mem|fsdp|FSDP)::[A-Za-z_][\w:.]{0,80}"
    r"|triton_[a-z]{3}_fused_[a-z0-9_]{1,200}"
)
_NODE = re.compile(r"(torch::autograd::|autograd::engine::evaluate_function: )?([A-Za-z0-9]{1,60})Backward\d{0,2}")
_EVALUATED = re.compile(r"(autograd::engine::evaluate_function: |torch::autograd::)(.+)", re.DOTALL)
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
    r"(?:thread -?\d{1,10} \()?(?:python[\d.]{0,6}|pt_(?:main_thread|autograd_\d{1,4}|data_(?:worker|pin)|elastic|inductor"
    r"|nccl_(?:watchdg|watchdog|heartbt|onCompl|desync|flight)|gloo_(?:runloop|watchdg)|tcpstore(?:_uv)?)"
    r"|CuptiActivityPr|CUPTI worker thread|pytest|torchrun|cuda-EvtHandlr|cuda[0-9a-f]{8,14}|jemalloc_bg_thd"
    r"|NCCL (?:UDS |Proxy |Async |I/O |Ib)?(?:Service|Progress|Proxy|thread|Thread|Async|RAS|Watchdog)(?: ?\d{1,3})?"
    r"|MPI Rank \d{1,7}|\[NSys(?: (?:Comms|Sampler|Agent|Sampling|Daemon|Main|Injection|Events|Monitor))*\])\)?"
    r"|(?:thread|stream) -?\d{1,20}(?: \(sync\))?|CPU|GPU \d{1,4}(?: Counters)?"
    r"|Traces|Spans|Trace PyTorch Profiler|PyTorch Profiler(?: \(\d+\))?|CUDA functions|CPU functions"
)
_TYPE = re.compile(
    r"c10::(?:Half|BFloat16|Float\w{1,16}|complex<(?:float|double|c10::Half)>|q?u?int\d{1,2})"
    r"|(?:unsigned |signed )?(?:char|short|int|long|long int|long long|float|double|bool|void)"
    r"|Scalar|ScalarList|TensorList|GenericList|Tensor"
    r"|Float|Double|Half|BFloat16|Float8_\w{1,12}|Long|Int|Short|Byte|Char|Bool|(?:u?int|float|bfloat|complex)\d{0,3}(?:_[a-z0-9]{1,8})?|None"
)
_LIBRARIES = (
    "torch|torchvision|torchdata|torchaudio|numpy|webdataset|pytorch_lightning|tensorflow|triton|wandb|mlflow|comet_ml|clearml|swanlab|tqdm"
    "|loguru|deepspeed|megatron|vllm|sglang"
)
# Folders of programs are called so, too: known only where libraries are installed.
_ORDINARY = "streaming|ffcv|lightning|transformers|accelerate|neptune|aim|logging|multiprocessing|threading|apex"
_STANDARD = "threading|queue|selectors|contextlib|functools|random|socket|pickle|copy|runpy"
_INSTALLED = r"(?:.*/)?(?:site-packages|dist-packages|lib/python3(?:\.\d{1,2})?)/"
_LINE = r"\.py\(\d{1,6}\): "
_PYTHON_FRAME = re.compile(
    rf"(?:{_INSTALLED})?((?:{_LIBRARIES})/[\w/]{{1,120}}{_LINE}[\w<>.]{{1,80}})"
    rf"|{_INSTALLED}((?:{_ORDINARY})/[\w/]{{1,120}}{_LINE}[\w<>.]{{1,80}})"
    rf"|(?:.*/)?lib/python3\.\d{{1,2}}/((?:{_STANDARD}){_LINE}[\w<>]{{1,60}})"
)
_BARE_FRAME = re.compile(rf"((?:{_STANDARD}){_LINE})([\w<>.]{{1,80}})")
_MODULE = re.compile(r"nn\.Module: ([A-Za-z]\w*?)(_\d{1,6})?")
_GPU = re.compile(
    r"(?:NVIDIA|AMD|Tesla|Quadro|GeForce|Instinct|Radeon|TITAN|Intel)"
    r"(?:[ -](?:NVIDIA|AMD|Tesla|Quadro|GeForce|Instinct|Radeon|TITAN|RTX|GTX|PCIe|PCIE|SXM\d?"
    r"|OAM|NVL|HBM\de?|DGX|DGXS|Graphics|Device|Laptop|GPU|Ti|SUPER|Super|Ada|Generation|MIG|PG\d{1,4}|[A-Z]{0,3}\d{1,5}[A-Z]{0,3}))*"
)
_METRIC = re.compile(r"[A-Za-z0-9 /()%.:,_+-]{1,90}(?:\[[A-Za-z0-9 %/.]{1,40}\])?")

# Settings of libraries are public where reports name them; a range that is called so is the program's.
_SETTING = re.compile(r"[A-Z0-9_]+")

_SEGMENT = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d{1,4}")
_NUMBERED = re.compile(r"([A-Za-z]+)(\d{1,4})")
_MOST_DIGITS = 6
# As many numbers in a row are an address, a date or a number of a card or a telephone.
_MOST_NUMBERS = 2
_NUMBERS = re.compile(r"(?<![^\W_])\d+(?:[ _.:@/-]\d+)+(?![^\W_])")
# Letters of a word that tells something within another.
_LEAST = 3
# Public names whose ends anybody chooses.
_LOOSE = re.compile(
    r"torch\.|(?:torch|inductor|autograd)::?|(?:cu|hip|nccl|rccl|MPI_|omp_|pthread_)\w*_(?!v\d|ptsz|ptds)|torch/"
)
_JOINS = ".:@/-"
_SAFE = set(" _-.:/#()[]{}<>=,;|+*&%?!'\"~^$\n\t")


@cache
def aten_nodes() -> frozenset[str]:
    """What PyTorch's derivatives call its operators in names of autograd's nodes: Addmm of AddmmBackward0."""
    return read_words("aten_nodes.txt")


@cache
def libc_functions() -> frozenset[str]:
    """Functions of the C library that nsys traces."""
    return read_words("libc.txt")


class Names:
    """Pseudonyms by one key, and how many different names of each kind were replaced."""

    def __init__(self, key: bytes) -> None:
        self._pseudonym = Pseudonyms(key).word
        self._of: dict[tuple[str, str], str] = {}
        self._kernels: dict[str, str] = {}
        self.replaced: Counter[str] = Counter()

    def kernel(self, text: str) -> str:
        """The name of a kernel."""
        found = self._kernels.get(text)
        if found is None:
            found = self._kernels[text] = self._kernel(text)
        return found

    def _kernel(self, text: str) -> str:
        is_named = _is_kernel(text) and not tells(text.encode("utf-8", "replace"))
        shown = self._of_library("names of kernels", text) if is_named else self._replaced("names of kernels", text)
        return self._pseudonym(text) if tells(shown.encode("utf-8", "replace")) else shown

    def operator(self, text: str) -> str:
        """The name of an operator, or of what a program calls one."""
        if _NODES.fullmatch(text) or _is_node(text):
            return text
        if match := _EVALUATED.fullmatch(text):
            return match[1] + self.operator(match[2])
        if _SPACE.fullmatch(text):
            return self._of_library("names of operators", text)
        return self.annotation(text, "names of operators")

    def annotation(self, text: str, kind: str = "names of annotations") -> str:
        """The name of a range or a mark."""
        if _SPACE.fullmatch(text) or (_EVALUATED.fullmatch(text) and kind != "names of operators"):
            return self.operator(text)
        is_named = is_public(text) and not _SETTING.fullmatch(text) and not _LOOSE.match(text)
        return text if is_named or _DIALECT.fullmatch(text) else self._replaced(kind, text)

    def call(self, text: str) -> str:
        """The name of a function of CUDA and its kin."""
        return text if self.is_call(text) else self._replaced("names of calls", text)

    @staticmethod
    def is_call(text: str) -> bool:
        """Whether it is a function of CUDA and its kin."""
        return _API.fullmatch(text) is not None and is_of_library(text)

    def os_call(self, text: str) -> str:
        """The name of a function of the C library."""
        return (
            text
            if text.removeprefix("__") in libc_functions() or _OF_NSYS.fullmatch(text)
            else self._replaced("names of calls", text)
        )

    def frame(self, text: str) -> str:
        """A frame of Python: its path is cut down to a public package, of which the library's words stay, or replaced."""
        if match := _PYTHON_FRAME.fullmatch(text):
            found = next(each for each in match.groups() if each)
            return self._kept(
                "names of Python's functions",
                found,
                lambda name: library_names.replace_unknown_in_frame(name, self._pseudonym),
            )
        if match := _BARE_FRAME.fullmatch(text):
            return match[1] + self._replaced("names of Python's functions", match[2])
        if (match := _MODULE.fullmatch(text)) and match[1].lower() in known_words():
            return text
        path, slash, rest = text.rpartition("/")
        if slash and re.search(r"\.py\(\d{1,6}\): ", rest):
            self.replaced["paths of files"] += (("paths of files", path) not in self._of) and 1
            self._of["paths of files", path] = ""
            text = rest
        return self._replaced("names of Python's functions", text)

    def thread(self, text: str) -> str:
        """The name of a thread, a process or a track."""
        return text if _THREAD.fullmatch(text) else self._replaced("names of threads and processes", text)

    def program(self, text: str) -> str:
        """The name of a process: the file of the program, without its folders and arguments."""
        last = re.split(r"[/\\]", text.split(" -", 1)[0].strip())[-1].split(" ")[0]
        return last if _THREAD.fullmatch(last) else self._replaced("names of threads and processes", last)

    def gpu(self, text: str) -> str:
        """The name of a model of GPUs."""
        return text if PUBLIC.fullmatch(text) or _GPU.fullmatch(text) else self._replaced("names of devices", text)

    def metric(self, text: str) -> str:
        """The name of a counter of GPUs."""
        return (
            text if _METRIC.fullmatch(text) and self.words(text) == text else self._replaced("names of counters", text)
        )

    def other(self, text: str, kind: str = "other names") -> str:
        """Any other name."""
        return self._replaced(kind, text)

    def type(self, text: str) -> str:
        """The name of a type of data."""
        return text if _TYPE.fullmatch(text) else self._replaced("names of types", text)

    def _of_library(self, kind: str, text: str) -> str:
        """The text with a pseudonym for every word that no library uses."""
        return self._kept(kind, text, lambda name: library_names.replace_unknown_words(name, self._pseudonym))

    def _replaced(self, kind: str, text: str) -> str:
        return self._kept(kind, text, self.words)

    def _kept(self, kind: str, text: str, replace: Callable[[str], str]) -> str:
        found = self._of.get((kind, text))
        if found is None:
            found = self._of[kind, text] = replace(text)
            self.replaced[kind] += found != text
        return found

    def words(self, text: str) -> str:
        """The text with a pseudonym for every word that is not in known_words()."""
        known = known_words()
        addresses = _addresses(text)
        pieces, at = [], 0
        for match in _SEGMENT.finditer(text):
            pieces.append(_between(text[at : match.start()]))
            is_address = any(first <= match.start() < last for first, last in addresses)
            pieces.append(self._segment(match[0], known, is_address=is_address))
            at = match.end()
        return "".join([*pieces, _between(text[at:])])

    def _segment(self, segment: str, known: frozenset[str], *, is_address: bool) -> str:
        if is_address:
            return self._pseudonym(segment)
        if segment.isdigit():
            is_count = segment.isascii() and len(segment) <= _MOST_DIGITS
            return segment if is_count else self._pseudonym(segment)
        if numbered := _NUMBERED.fullmatch(segment):
            return self._compound(numbered[1], known) + numbered[2]
        return self._compound(segment, known)

    def _compound(self, word: str, known: frozenset[str]) -> str:
        """A word, or several written as one: DataLoader, AllToAll4D."""
        parts = _PIECES.findall(word)
        kept = [part.lower() in known for part in parts]
        is_whole = "".join(parts) == word
        are_words = all(is_kept or part.isdigit() for part, is_kept in zip(parts, kept, strict=True))
        if word.lower() in known or (is_whole and any(kept) and are_words):
            return word
        tells = [is_kept and len(part) >= _LEAST for part, is_kept in zip(parts, kept, strict=True)]
        if not is_whole or not word.isalpha() or not any(tells):
            return self._pseudonym(word)
        return "".join(part if each else self._pseudonym(part) for part, each in zip(parts, tells, strict=True))


def _is_node(text: str) -> bool:
    """Whether it is a node of autograd that PyTorch makes."""
    match = _NODE.fullmatch(text)
    return match is not None and match[2] in aten_nodes()


def _addresses(text: str) -> list[tuple[int, int]]:
    """Where numbers stand that are parts of one: hexadecimal, joined by a sign, or more than two in a row."""
    joined = [
        match.span()
        for match in _NUMBERS.finditer(text)
        if re.search(f"[{_JOINS}]", match[0]) or len(re.findall(r"\d+", match[0])) > _MOST_NUMBERS
    ]
    return joined + [match.span() for match in HEXADECIMAL.finditer(text)]


def _between(text: str) -> str:
    return "".join(each if each in _SAFE else "?" for each in text)


def _is_kernel(text: str) -> bool:
    return bool(KERNEL.fullmatch(re.sub("[$'!]", "", text)))
