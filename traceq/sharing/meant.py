"""Tell secrets from sizes, counts, versions and words of programs that look like them.

    token=hunter2, 10.1.2.3, worker 417912345678      meant
    token=2048_bs=4, cuDNN 9.1.0.70, 512000000 ns     not meant

In doubt it is not meant: a name that is hidden by mistake is lost to who needs it.
"""

from __future__ import annotations

import re

LARGEST_OCTET = 255  # of an address of IPv4
LEAST_OF_ADDRESSES = 100  # parts of versions and tiles are mostly below
LARGEST_COUNT = 32  # numbers of warps, stages, ranks of a node
OF_TILES = 8  # sizes are multiples of it
LEAST_ODD = 2  # numbers that are no sizes, in an address or a card
LEAST_GROUPS = 3  # of an address of IPv6
LEAST_OF_PASSWORD = 8  # digits of a password; of fewer it is a count
LEAST_OF_TOKEN = 16  # digits of a token
LEAST_OF_RUN = 12  # letters and digits in a row, of a random text
LEAST_OF_WORD = 12  # letters of a token without a digit
LEAST_DIGITS = 3  # in a random text
LEAST_CAPITALS = 6  # in a random text without digits
LEAST_OF_NUMBER = 10  # digits that may name a person or an account
LEAST_GLUED = 12  # those digits directly beside a letter or behind `=` or `:`, where sizes and counts stand
LEAST_OF_HASH = 17  # digits of hashes of 64 bits, by which kernels are told apart; cards and telephones have fewer

_RUN = re.compile(rf"[A-Za-z0-9]{{{LEAST_OF_RUN},}}")
_COUNTED = re.compile(
    r"(?<![A-Za-z])(?:num|n|max|min|new|next|most|last|first|prev|per|each|single|total|special|prompt|output|input"
    r"|draft|target|image|audio|video|eos|bos|pad|cls|sep|mask|unk|decode|prefill)[_ -]?\Z",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"(?:None|null|True|False|nullptr|\.\.\.|\*+)\b.*", re.IGNORECASE)
_COUNT = re.compile(rf"\d{{1,{LEAST_OF_TOKEN - 1}}}(?!\d)")
_WORD = re.compile(rf"[a-z_]{{1,{LEAST_OF_WORD - 1}}}")
_PRIVATE = re.compile(r"10\D.*|172\D(?:1[6-9]|2\d|3[01])\D.*|192\D168\D.*")
_VERSIONED = re.compile(
    r"(?:(?<![A-Za-z])v|==|cu\d\d|\b(?:version|ver|release)|\.so\.?|(?:cuda|cudnn|cublas|cublaslt|cufft|cupti|cusparse"
    r"|cusolver|nccl|rccl|nvrtc|nvshmem|tensorrt|trt|nsys|nsight|systems|driver|rocm|hip|miopen|torch|pytorch|triton"
    r"|python|cutlass|numpy|mpi|ucx|tensorflow|onnxruntime|jax|xla|vllm|linux|glibc)"
    r"(?:[ _-](?:version|driver|runtime|toolkit|v))?)[\"']?[ =:/_-]{0,2}v?\Z",
    re.IGNORECASE,
)
_BEFORE = 40  # characters in which such words are looked for
_HEXADECIMAL = re.compile(r"(?:0[xX]|(?<![^\W_])0{4})[0-9a-fA-F]*\Z")
_BEHIND_KEY = re.compile(r"(?:[A-Za-z]|[=:][\"' ]?)\Z")
# Units of quantities, and ends of literals in C++.
_UNIT = re.compile(r"(?: ?(?:ns|us|µs|[KMGT]?i?B|bytes?|elements?|flops?)|ul{0,2}|l{1,2})(?![^\W_])", re.IGNORECASE)
# Seconds since 1970, or thousandths and so on of them.
_TIME = re.compile(r"1[4-9]\d{8}(?:\d{3}){0,3}")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_OF_QUANTITIES = (1000, 512)  # their multiples are sizes


def is_random(text: str) -> bool:
    """Return whether a run of letters and digits in a text mixes them, or cases, as only what a machine drew does."""
    return any(map(_is_mixed, _RUN.findall(text)))


def _is_mixed(run: str) -> bool:
    digits = sum(map(str.isdecimal, run))
    capitals = sum(map(str.isupper, run))
    if digits:
        return digits >= LEAST_DIGITS and digits < len(run)
    return capitals >= LEAST_CAPITALS and 1 / 3 <= capitals / len(run) < 1


def is_token(found: re.Match[str]) -> bool:
    """Return whether what begins as a token goes on as one, or was cut off behind a digit: no `sk-learn-pipeline`."""
    is_fixed = re.match(r"A[KS]IA|eyJ", found[0]) is not None or found[0].endswith("…")
    return is_random(found[0]) or (is_fixed and re.search(r"\d", found[0]) is not None)


def is_password(found: re.Match[str]) -> bool:
    """Return whether what a key called password, secret or key has is neither a count nor nothing."""
    value = found["hidden"]
    return not _NOTHING.fullmatch(value) and (not value.isdecimal() or len(value) >= LEAST_OF_PASSWORD)


def is_access_token(found: re.Match[str]) -> bool:
    """Return whether what `token` has gives access: no number of tokens, no mark of texts, no plain word."""
    value = found["hidden"]
    if _COUNTED.search(found.string, max(0, found.start("key") - _BEFORE), found.start("key")) or _NOTHING.fullmatch(
        value
    ):
        return False
    if is_random(value) and (len(value) >= LEAST_OF_TOKEN or not _COUNT.match(value)):
        return True
    return ":" not in found["joint"] and not _COUNT.match(value) and not _WORD.fullmatch(value) and value[0].isalnum()


def is_address(found: re.Match[str]) -> bool:
    """Return whether four numbers with points between them are an address, and no version."""
    numbers = _read_octets(found)
    if any(number > LARGEST_OCTET for number in numbers):
        return False
    if _VERSIONED.search(found.string, max(0, found.start() - _BEFORE), found.start()):
        return False
    if _PRIVATE.fullmatch(found["address"]):
        return True
    return max(numbers) >= LEAST_OF_ADDRESSES and max(numbers[:-1]) > LARGEST_COUNT


def is_joined_address(found: re.Match[str]) -> bool:
    """Return whether four numbers in another joint are an address: no sizes in a list, template or kernel's name."""
    numbers = _read_octets(found)
    if any(number > LARGEST_OCTET for number in numbers):
        return False
    if found["before"] == "ip-":
        return True
    if is_in_list(found) or re.search(rf"\d{found['joint']}\d+{found['joint']}\Z", found.string[: found.start()]):
        return False
    odd = {number for number in numbers if is_odd(number)}
    if len(odd) >= LEAST_ODD and _PRIVATE.fullmatch(found["address"]):
        return True
    is_in_kernel = re.match(r"void |.*[\w>]::", found.string) or re.search(
        r"[^\W\d]_?\Z", found.string[: found.start()]
    )
    return not is_in_kernel and sum(number >= LEAST_OF_ADDRESSES for number in odd) >= LEAST_ODD


def _read_octets(found: re.Match[str]) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", found["address"])]


def is_in_list(found: re.Match[str]) -> bool:
    """Return whether joined numbers stand in a list, a template or a shape: behind its open bracket."""
    if (found["joint"] or "").strip(", "):
        return False
    # A thread's name stands in parentheses.
    is_shape = found["joint"] == ", " and not found.string.startswith("thread ") and _is_open(found, "()")
    return is_shape or (found["joint"] is not None and (_is_open(found, "[]") or _is_open(found, "<>")))


def _is_open(found: re.Match[str], pair: str) -> bool:
    before = _QUOTED.sub("", found.string[: found.start()])
    return before.rfind(pair[0]) > before.rfind(pair[1])


def is_odd(number: int) -> bool:
    """Return whether a number is no usual size."""
    return number > LARGEST_COUNT and number % OF_TILES > 0


def is_six(found: re.Match[str]) -> bool:
    """Return whether groups between colons are an address of IPv6: three or more with a digit, no scopes of C++."""
    groups = re.findall(r"[0-9a-f]+", found[0].lower())
    return len(groups) >= LEAST_GROUPS and any(sign.isdecimal() for sign in found[0])


def is_card(found: re.Match[str]) -> bool:
    """Return whether joined numbers are those of a card or a telephone, and no sizes."""
    if is_in_list(found) or re.search(r"[^\W\d]_?\Z", found.string[: found.start()]):
        return False
    return sum(is_odd(int(number)) for number in re.findall(r"\d+", found[0])) >= LEAST_ODD


def is_number(found: re.Match[str]) -> bool:
    """Return whether a long number in a name may be somebody's: no address of an object, no size, no time."""
    text, start = found.string, found.start()
    before = text[max(0, start - _BEFORE) : start]
    if not re.search(r"[^\W\d_]", text) or _HEXADECIMAL.search(before) or _UNIT.match(text, found.end()):
        return False
    is_listed = before.endswith(("[", "<", ",", " ")) and (_is_open(found, "[]") or _is_open(found, "<>"))
    if is_listed or _TIME.fullmatch(found[0]):
        return False
    if any(int(found[0]) % quantity == 0 for quantity in _OF_QUANTITIES):
        return False
    is_glued = _BEHIND_KEY.search(before) or text[found.end() : found.end() + 1].isalpha()
    return (LEAST_GLUED if is_glued else LEAST_OF_NUMBER) <= len(found[0]) < LEAST_OF_HASH
