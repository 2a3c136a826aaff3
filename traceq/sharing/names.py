"""What a name of a trace becomes when nobody may be named: itself where it is known to be harmless, else a pseudonym.

Known are the names of kernels, of operators, of functions of CUDA, NCCL and the like, and the words by which traceq tells
what annotations mean. Of any other name each word is replaced, the same one by the same; numbers that count stay, so that
steps are still found:

    train step 17                     train step 17
    acme/llama: step 17               nbqzqkc/nodmwif: step 17
    /home/alice/run.py(12): forward   ntyqpwa.py(12): forward

A pseudonym is a keyed hash: who does not know the key cannot try words out.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections import Counter
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from traceq.common.public_names import KERNEL, PUBLIC

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
_OPERATOR = re.compile(
    r"(?:aten|prims?|c10d?|_c10d_functional|torchvision|torchaudio|fbgemm|quantized|vllm|_C(?:_cache_ops)?|sgl_kernel|sglang"
    r"|flash_attn(?:_\d)?|xformers|transformer_engine|tex|triton|inductor|profiler|autograd|torch|symm_mem|fsdp|FSDP)::[A-Za-z_][\w:.]{0,80}"
    r"|triton_[a-z]{3}_fused_[a-z0-9_]{1,200}"
    r"|[A-Z][A-Za-z]{1,60}Backward\d{0,2}|(?:torch::autograd::)?(?:AccumulateGrad|GraphRoot|CopySlices)|detach_?|record_param_comms"
)
# Functions of the C library that nsys traces are lower-case words; those of CUDA and its libraries begin with theirs.
_C_FUNCTION = re.compile(r"_{0,2}[a-z][a-z0-9]{1,15}(?:_[a-z0-9]{1,12}){0,4}")
_API = re.compile(
    r"(?:cuda|cu|hip|hsa|nccl|rccl|cublas|cublasLt|cudnn|cufft|cusparse|nvrtc|nvml|roctx|nvtx|MPI_|ucp_|NVSHMEM|nvshmem)[A-Za-z]\w{0,80}"
    r"|INVALID|Command Buffer Full|Lazy Function Loading|Runtime Triggered Module Loading|Buffer Flush|Instrumentation|Resource"
    r"|Driver Compiler|Activity Buffer Request|CUDA profiling [a-z ]{1,40}|CUPTI [A-Za-z ]{1,40}|Start & Stop"
)
_THREAD = re.compile(
    r"(?:thread -?\d{1,10} \()?(?:python[\d.]{0,6}|pt_\w{2,20}|pytest|torchrun|cuda-EvtHandlr|cuda\d{8,14}|jemalloc_bg_thd"
    r"|NCCL [A-Za-z/ ]{1,24}|MPI Rank \d{1,7}|\[NSys[ A-Za-z]*\])\)?"
    r"|(?:thread|stream) -?\d{1,20}(?: \(sync\))?|CPU|GPU \d{1,4}(?: Counters)?"
    r"|Traces|Spans|Trace PyTorch Profiler|PyTorch Profiler(?: \(\d+\))?|CUDA functions|CPU functions"
)
_TYPE = re.compile(
    r"c10::(?:Half|BFloat16|Float\w{1,16}|complex<(?:float|double|c10::Half)>|q?u?int\d{1,2})"
    r"|(?:unsigned |signed )?(?:char|short|int|long|long int|long long|float|double|bool|void)"
    r"|Scalar|ScalarList|TensorList|GenericList|Tensor"
    r"|Float|Double|Half|BFloat16|Float8_\w{1,12}|Long|Int|Short|Byte|Char|Bool|(?:u?int|float|bfloat|complex)\d{0,3}(?:_[a-z0-9]{1,8})?|None"
)
_PYTHON_FRAME = re.compile(
    r"(?:.*/)?((?:torch|torchvision|torchdata|torchaudio|numpy|webdataset|streaming|ffcv|lightning|pytorch_lightning|tensorflow"
    r"|transformers|accelerate|triton|wandb|mlflow|comet_ml|neptune|clearml|aim|swanlab|tqdm|loguru|logging|multiprocessing|threading"
    r"|deepspeed|megatron|apex|vllm|sglang)/[\w/]{1,120}\.py\(\d{1,6}\): [\w<>.]{1,80}"
    r"|(?:threading|queue|selectors|contextlib|functools|random|socket|pickle|copy|runpy)\.py\(\d{1,6}\): [\w<>]{1,60})"
)
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
# Letters of a word that tells something within another.
_LEAST = 3
_JOINS = ".:-@/"
_SAFE = set(" _-.:/#()[]{}<>=,;|+*&%?!'\"~^$\n\t")

# What machines are called after.
_HOSTS = frozenset(
    (
        *("gpu", "cpu", "node", "nodes", "host", "hosts", "server", "cluster", "machine"),
        *("pod", "login", "head", "user", "users", "team", "org", "com", "net"),
        *("corp", "local"),
    )
)
_QUOTED = re.compile(r"'((?:[^'\n]|'')*)'")


@cache
def known_words() -> frozenset[str]:
    """Words, in lower case, that stay: those of words.txt, and those in the patterns by which traceq tells what names mean."""

    def texts(folder: Traversable) -> list[str]:
        found = []
        for each in folder.iterdir():
            if each.is_dir():
                found += texts(each)
            elif each.name.endswith(".sql"):
                found.append(each.read_text("utf-8"))
        return found

    root = files("traceq")
    quoted = (
        literal
        for room in ("analysis", "diagnosis")
        for text in texts(root / room)
        for literal in _QUOTED.findall(text)
    )
    words = {part.lower() for literal in quoted for part in _PARTS.findall(literal)}
    own = root.joinpath("sharing/words.txt").read_text("utf-8").lower().split()
    return frozenset(({word for word in words if len(word) >= _LEAST} | {*own}) - _HOSTS)


class Names:
    """Pseudonyms by one key, and how many different names of each kind were replaced."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._of: dict[tuple[str, str], str] = {}
        self.replaced: Counter[str] = Counter()

    def kernel(self, text: str) -> str:
        """The name of a kernel."""
        return text if _is_kernel(text) else self._replaced("names of kernels", text)

    def operator(self, text: str) -> str:
        """The name of an operator, or of what a program calls one."""
        return text if _OPERATOR.fullmatch(text) else self.annotation(text, "names of operators")

    def annotation(self, text: str, kind: str = "names of annotations") -> str:
        """The name of a range or a mark."""
        is_public = (PUBLIC.fullmatch(text) and not _SETTING.fullmatch(text)) or _DIALECT.fullmatch(text)
        return text if is_public else self._replaced(kind, text)

    def call(self, text: str) -> str:
        """The name of a function of CUDA and its kin."""
        return text if _API.fullmatch(text) else self._replaced("names of calls", text)

    def os_call(self, text: str) -> str:
        """The name of a function of the C library."""
        return text if _C_FUNCTION.fullmatch(text) else self._replaced("names of calls", text)

    def frame(self, text: str) -> str:
        """A frame of Python: its path is cut down to a public package, or replaced."""
        if match := _PYTHON_FRAME.fullmatch(text):
            return match[1]
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

    def _replaced(self, kind: str, text: str) -> str:
        found = self._of.get((kind, text))
        if found is None:
            found = self._of[kind, text] = self.words(text)
            self.replaced[kind] += found != text
        return found

    def words(self, text: str) -> str:
        """The text with a pseudonym for every word that is not known."""
        pieces, at = [], 0
        segments = list(_SEGMENT.finditer(text))
        for place, match in enumerate(segments):
            pieces.append(_between(text[at : match.start()]))
            before = segments[place - 1] if place else None
            after = segments[place + 1] if place + 1 < len(segments) else None
            pieces.append(self._segment(text, match, before, after))
            at = match.end()
        return "".join([*pieces, _between(text[at:])])

    def _segment(
        self, text: str, match: re.Match[str], before: re.Match[str] | None, after: re.Match[str] | None
    ) -> str:
        segment = match[0]
        if segment.isdigit():
            is_joined = _joins(text, before, match) or _joins(text, match, after)
            is_count = segment.isascii() and len(segment) <= _MOST_DIGITS and not is_joined
            return segment if is_count else self._pseudonym(segment)
        if numbered := _NUMBERED.fullmatch(segment):
            return self._compound(numbered[1]) + numbered[2]
        return self._compound(segment)

    def _compound(self, word: str) -> str:
        """A word, or several written as one: DataLoader, AllToAll4D."""
        parts = _PIECES.findall(word)
        kept = [part.lower() in known_words() for part in parts]
        is_whole = "".join(parts) == word
        are_words = all(is_kept or part.isdigit() for part, is_kept in zip(parts, kept, strict=True))
        if word.lower() in known_words() or (is_whole and any(kept) and are_words):
            return word
        tells = [is_kept and len(part) >= _LEAST for part, is_kept in zip(parts, kept, strict=True)]
        if not is_whole or not word.isalpha() or not any(tells):
            return self._pseudonym(word)
        return "".join(part if each else self._pseudonym(part) for part, each in zip(parts, tells, strict=True))

    def _pseudonym(self, word: str) -> str:
        digest = hmac.new(self._key, word.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        return "n" + re.sub("[0-9]", "x", base64.b32encode(digest)[:7].decode().lower())


def _joins(text: str, first: re.Match[str] | None, second: re.Match[str] | None) -> bool:
    """Whether two numbers are parts of one, as those of an address or a date."""
    if first is None or second is None or not (first[0].isdigit() and second[0].isdigit()):
        return False
    between = text[first.end() : second.start()]
    return len(between) == 1 and between in _JOINS


def _between(text: str) -> str:
    return "".join(each if each in _SAFE else "?" for each in text)


def _is_kernel(text: str) -> bool:
    return bool(KERNEL.fullmatch(re.sub("[$'!]", "", text))) and not re.search(r"\d\.\d+\.\d", text)
