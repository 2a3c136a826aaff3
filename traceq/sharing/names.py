"""Names of a trace that names nobody: a name is shown if it is known to be harmless, else a pseudonym stands for it.

Known are the words of kernels, operators and functions of CUDA, NCCL and the like (traceq.common.library_names), and the words
by which traceq tells what annotations mean. Any other word is replaced, the same one by the same; numbers that count stay, so
that steps are still found:

    train step 17                     train step 17
    acme/llama: step 17               nbqzqkcdhkmwrt/nodmwifbqxzkls: step 17
    /home/alice/run.py(12): forward   ntyqpwabdhkmrs.py(12): forward

A pseudonym is a keyed hash: who does not know the key cannot try words out.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from traceq.common.keyed import Pseudonyms
from traceq.common.library_names import HEXADECIMAL, known_words, replace_unknown_in_frame, replace_unknown_words
from traceq.common.public_names import KERNEL, LIBRARIES, MODULE, STANDARD_MODULES, is_public
from traceq.sharing.secrets import secret_kinds

# Anybody's extensions are in these, too: what follows is known word by word.
_SPACE = re.compile(
    r"(?:aten|prims?|c10d?|_c10d_functional|torchvision|torchaudio|profiler|quantized|fbgemm|vllm|_C(?:_cache_ops)?|sgl_kernel|sglang"
    r"|flash_attn(?:_\d)?|xformers|transformer_engine|tex|triton|inductor|autograd|torch|symm_mem|fsdp|FSDP)::[A-Za-z_][\w:.]{0,80}"
    r"|triton_[a-z]{3}_fused_[a-z0-9_]{1,200}"
)
_EVALUATED = re.compile(r"(autograd::engine::evaluate_function: |torch::autograd::)(.+)", re.DOTALL)
# Folders of programs are called so, too: known only where libraries are installed.
_ORDINARY = "streaming|ffcv|lightning|transformers|accelerate|neptune|aim|logging|multiprocessing|threading|apex"
_INSTALLED = r"(?:.*/)?(?:site-packages|dist-packages|lib/python3(?:\.\d{1,2})?)/"
_LINE = r"\.py\(\d{1,6}\): "
_PYTHON_FRAME = re.compile(
    rf"(?:{_INSTALLED})?((?:{LIBRARIES})/[\w/]{{1,120}}{_LINE}[\w<>.]{{1,80}})"
    rf"|{_INSTALLED}((?:{_ORDINARY})/[\w/]{{1,120}}{_LINE}[\w<>.]{{1,80}})"
    rf"|(?:.*/)?lib/python3\.\d{{1,2}}/((?:{STANDARD_MODULES}){_LINE}[\w<>]{{1,60}})"
)
_BARE_FRAME = re.compile(rf"((?:{STANDARD_MODULES}){_LINE})([\w<>.]{{1,80}})")
_METRIC = re.compile(r"[A-Za-z0-9 /()%.:,_+-]{1,90}(?:\[[A-Za-z0-9 %/.]{1,40}\])?")

_SEGMENT = re.compile(r"[^\W_]+")
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NUMBERED = re.compile(r"([A-Za-z]+)([0-9]{1,4})")
# Digits of a number that may count something, alone and within a word (Conv2d, AllToAll4D, bf16).
_MOST_DIGITS, _MOST_WITHIN = 6, 2
# More numbers or digits in a row are an address, a date or a number of a card or a telephone, whatever joins them.
_MOST_NUMBERS = 2
_NUMBERS = re.compile(r"(?<![^\W_])\d+(?:(?:[^\w]|_){1,3}\d+)+(?![^\W_])")
_JOINED = re.compile(r"\d[.:@/-]\d")
# Letters of a word that tells something within another.
_LEAST = 3
_SAFE = set(" _-.:/#()[]{}<>=,;|+*&%?!'\"~^$\n\t")


def read_allowed(part: str) -> dict[str, Any]:
    """Return a part of allowed.toml: the names that may stay in anonymised traces of a format, or the kinds of names."""
    text = files("traceq").joinpath("sharing/allowed.toml").read_text("utf-8")
    allowed: dict[str, Any] = tomllib.loads(text)[part]
    return allowed


_COUNTED: dict[str, str] = read_allowed("kinds")


class Names:
    """Makes pseudonyms by a key, equal for equal names; `replaced` counts the different names that were replaced, by kind."""

    def __init__(self, key: bytes) -> None:
        self._pseudonym = Pseudonyms(key).word
        self._of: dict[tuple[str, str], str] = {}
        self._kernels: dict[str, str] = {}
        self.replaced: Counter[str] = Counter()

    def show(self, kind: str, text: str) -> str:
        """Return the name itself if it is known to be harmless, else with pseudonyms for its unknown words, or for all of it.

        `kind` says what has the name: kernel, operator, frame, thread, ...
        """
        if kind == "program":  # without its folders and arguments
            kind, text = "thread", re.split(r"[/\\]", text.split(" -", 1)[0].strip())[-1].split(" ")[0]
            if text and not re.search(r"[^\W\d_]", text):
                return self._remember(kind, text, self._pseudonym)
        if kind == "kernel":
            return self._show_kernel(text)
        if kind == "operator" or (kind == "annotation" and (_SPACE.fullmatch(text) or _EVALUATED.fullmatch(text))):
            return self._show_operator(text)
        if kind == "frame":
            return self._show_frame(text)
        is_number = kind == "counter" and _METRIC.fullmatch(text) and self.replace_words(text) == text
        return text if is_number or is_public(text, kind) else self._replace(kind, text)

    def _show_kernel(self, text: str) -> str:
        """Return the name of a kernel with unknown words replaced; all of it if the rest still looks like a secret."""
        if text not in self._kernels:
            is_named = KERNEL.fullmatch(re.sub("[$'!]", "", text)) and not secret_kinds(text.encode("utf-8", "replace"))
            shown = self._replace_unknown("kernel", text) if is_named else self._replace("kernel", text)
            is_telling = secret_kinds(shown.encode("utf-8", "replace"))
            self._kernels[text] = self._pseudonym(text) if is_telling else shown
        return self._kernels[text]

    def _show_operator(self, text: str) -> str:
        """Return the name of an operator, or of a range that a program names, with unknown names replaced."""
        if is_public(text, "operator"):
            return text
        if match := _EVALUATED.fullmatch(text):
            return match[1] + self._show_operator(match[2])
        if _SPACE.fullmatch(text):
            return self._replace_unknown("operator", text)
        return text if is_public(text, "annotation") else self._replace("operator", text)

    def _show_frame(self, text: str) -> str:
        """Return the name of a Python frame with unknown words replaced.

        Of a path only the file's name is left; for a known library in its usual place, the path within the library.
        """
        if match := _PYTHON_FRAME.fullmatch(text):
            found = next(group for group in match.groups() if group)
            return self._remember("frame", found, lambda name: replace_unknown_in_frame(name, self._pseudonym))
        if match := _BARE_FRAME.fullmatch(text):
            return match[1] + self._replace("frame", match[2])
        if (match := MODULE.fullmatch(text)) and match[1].lower() in known_words():
            return text
        path, slash, rest = text.rpartition("/")
        if slash and re.search(r"\.py\(\d{1,6}\): ", rest):
            self.replaced["paths of files"] += (("paths of files", path) not in self._of) and 1
            self._of["paths of files", path] = ""
            text = rest
        return self._replace("frame", text)

    def _replace_unknown(self, kind: str, text: str) -> str:
        """Return the text with a pseudonym for every word that no library uses."""
        return self._remember(kind, text, lambda name: replace_unknown_words(name, self._pseudonym))

    def _replace(self, kind: str, text: str) -> str:
        """Return the text with a pseudonym for every unknown word, and count it if that changes it."""
        return self._remember(kind, text, self.replace_words)

    def _remember(self, kind: str, text: str, replace: Callable[[str], str]) -> str:
        """Return `replace(text)`, worked out once for each kind and text; it counts in `replaced` if it differs from the text."""
        place = _COUNTED[kind], text
        if place not in self._of:
            self._of[place] = replace(text)
            self.replaced[place[0]] += self._of[place] != text
        return self._of[place]

    def replace_words(self, text: str) -> str:
        """Return the text with a pseudonym for every word that is not in known_words(), and for long numbers and addresses."""
        known = known_words()
        addresses = _find_addresses(text)
        pieces, at = [], 0
        for match in _SEGMENT.finditer(text):
            pieces.append(_replace_unsafe(text[at : match.start()]))
            is_address = any(first <= match.start() < last for first, last in addresses)
            pieces.append(self._pseudonym(match[0]) if is_address else self._replace_segment(match[0], known))
            at = match.end()
        return "".join([*pieces, _replace_unsafe(text[at:])])

    def _replace_segment(self, segment: str, known: frozenset[str]) -> str:
        """Return a word or number, replaced if it is unknown; numbers of up to six digits stay."""
        if segment.isdigit():
            is_count = segment.isascii() and len(segment) <= _MOST_DIGITS
            return segment if is_count else self._pseudonym(segment)
        if numbered := _NUMBERED.fullmatch(segment):
            return self._replace_compound(numbered[1], known) + numbered[2]
        return self._replace_compound(segment, known)

    def _replace_compound(self, word: str, known: frozenset[str]) -> str:
        """Return the word with its unknown parts replaced; it may be several words written as one: DataLoader, AllToAll4D."""
        parts = _PIECES.findall(word)
        kept = [part.lower() in known for part in parts]
        is_whole = "".join(parts) == word
        numbers = [len(part) for part in parts if part.isdigit()]
        are_words = len(numbers) + sum(kept) == len(parts) and max(numbers, default=0) <= _MOST_WITHIN
        if word.lower() in known or (is_whole and any(kept) and are_words):
            return word
        tells = [is_kept and len(part) >= _LEAST for part, is_kept in zip(parts, kept, strict=True)]
        if not is_whole or not word.isalpha() or not any(tells):
            return self._pseudonym(word)
        return "".join(part if stays else self._pseudonym(part) for part, stays in zip(parts, tells, strict=True))


def _find_addresses(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of numbers that may be addresses: hexadecimal, joined by a sign, or too many in a row."""
    joined = [
        match.span()
        for match in _NUMBERS.finditer(text)
        if _JOINED.search(match[0])
        or len(re.findall(r"\d+", match[0])) > _MOST_NUMBERS
        or len(re.findall(r"\d", match[0])) > _MOST_DIGITS
    ]
    return joined + [match.span() for match in HEXADECIMAL.finditer(text)]


def _replace_unsafe(text: str) -> str:
    """Return the text between words with "?" for every character that is not known to be harmless."""
    return "".join(character if character in _SAFE else "?" for character in text)
