"""Hide in a text what is a secret by its sign, whatever it is for, and leave names: tokens, addresses, people's numbers.

    reads /home/alice/proj/train.py      reads /home/[user]/proj/train.py
    eval on 10.23.45.67, key hf_Qw...    eval on [network address], key [token]
    worker 417912345678                  worker [number]

What has no sign stays: a code word, a name of a person or a project. Signs of numbers without letters are looked for in
texts of a trace only; numbers that traceq writes look the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

from traceq.common.library_names import is_hexadecimal_hash, is_of_library
from traceq.common.public_names import begins_public, is_public_anywhere
from traceq.sharing.meant import (
    LEAST_OF_NUMBER,
    is_access_token,
    is_address,
    is_card,
    is_joined_address,
    is_number,
    is_password,
    is_six,
    is_token,
)

TOKENS = (
    r"(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}"
    r"|A[KS]IA[A-Z0-9]{12,}|AIza[\w-]{20,}|xox[abp]-[\w-]{10,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|dop_v1_[a-f0-9]{20,}"
    r"|SG\.[\w-]{10,}\.[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]+)?|dckr_pat_[\w-]{16,}|wandb_v1_\w{16,})"
)
"""Tokens by the beginnings that their makers give them."""


class _HiddenSign(NamedTuple):
    """A sign: what `pattern` matches is hidden, or its group `hidden`, if `is_meant` says so of the match.

    `label` stands in its place. Signs that are `bare` numbers are looked for in texts of a trace only.
    """

    label: str
    pattern: re.Pattern[str]
    is_meant: Callable[[re.Match[str]], bool] = lambda _: True
    bare: bool = False


_HEX = "[0-9a-fA-F]"
_NAME = r"[^/\\\s:\"'()<>\[\],;=|]{1,80}"
_VALUE = r"[^\s\"',;(){}\[\]|]{3,200}(?<!:)"
_OF_CODE = r"(?:py|pyx|pyi|pt|c|cc|cpp|cu|cuh|h|hpp|rs|go|js|ts|java|json|gz|sqlite|so|txt|log|yaml|toml)\b"
_HOST_ENDS = r"(?![\w-])(?!\.(?!py\b)\w)"
_ENDS = "com|org|edu|gov|mil"
_OF_MACHINES = "net|local|internal|cloud|corp|lan|io|ai|dev|de|uk|fr|ch|nl|eu|at|it|es|se|cn|jp|kr|in|us|ca|au"
_SITES = r"(?:www\.)?(?:github|nvidia|amd|intel|ubuntu|pytorch|python|pypi|pythonhosted|tensorflow|conda)\.(?:com|org)(?![\w.-])"
# Names of machines have a number; a model may be called node-classifier.
_MACHINE = r"(?:(?:dgx|login|slurm|hpc|ip)(?=-)|(?:gpu|node|host|srv|server|pod|rack|compute)(?:-\w{1,20})?-?\d)"
_KEY = r"(?:pass(?:word|wd|phrase)s?|secret(?:[_-]?key)?|(?:api|(?:secret_?)?access|private)[_-]?key|credentials?)"
_SIGNS = (
    _HiddenSign("private key", re.compile(
        r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?:.*?-----END [A-Z ]{0,20}PRIVATE KEY-----|.*)", re.DOTALL)),
    # Also one that was cut off.
    _HiddenSign("token", re.compile(
        rf"(?<![A-Za-z0-9])(?:{TOKENS}|eyJ[\w-]{{10,}}|(?:hf_|gh[pousr]_|github_pat_|glpat-|sk-|A[KS]IA|AIza|npm_|pypi-)"
        r"[\w-]{4,}\.?…)"), is_token),
    _HiddenSign("password", re.compile(r"://(?P<hidden>[^\s/@:]{1,80}:[^\s/@]{1,80})@")),
    _HiddenSign("password", re.compile(
        rf"(?<![A-Za-z0-9]){_KEY}(?!\w)[\"']?(?:\s?=\s?(?!=)|:\s?(?!:)(?=\S*\d))[\"']?(?P<hidden>{_VALUE})", re.IGNORECASE),
        is_password),
    _HiddenSign("password", re.compile(
        rf"(?<![A-Za-z0-9])(?P<key>token)(?!\w)[\"']?(?P<joint>\s?=\s?(?!=)|:\s?(?!:))[\"']?(?P<hidden>{_VALUE})", re.IGNORECASE),
        is_access_token),
    _HiddenSign("password", re.compile(
        rf"--(?:[\w-]{{0,40}}[_-])?{_KEY}\s+(?P<hidden>{_VALUE})", re.IGNORECASE), is_password),
    _HiddenSign("password", re.compile(
        rf"--(?:[\w-]{{0,40}}[_-])?(?P<key>token)(?P<joint>\s+|=)(?P<hidden>{_VALUE})", re.IGNORECASE), is_access_token),
    _HiddenSign("password", re.compile(r"\bBearer\s+(?=\S*\d)(?P<hidden>[\w.~+/-]{8,}=*)")),
    _HiddenSign("mail address", re.compile(
        rf"[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:(?:\.[\w-]{{1,63}}){{0,6}}\.(?:{_ENDS}|{_OF_MACHINES})(?!\w)|(?=:\d{{4,5}}(?!\d)))")),
    _HiddenSign("host name", re.compile(
        rf"(?<![\w.-])(?!{_SITES})(?:[A-Za-z0-9][\w-]{{0,62}}\.){{1,8}}(?:{_ENDS})" + _HOST_ENDS + r"(?::\d{2,5}(?!\d))?")),
    _HiddenSign("host name", re.compile(
        rf"(?<![\w.-])(?=(?:\w{{1,40}}-){{0,4}}{_MACHINE})(?:[A-Za-z0-9][\w-]{{0,62}}\.){{1,8}}(?:{_OF_MACHINES})"
        + _HOST_ENDS + r"(?::\d{2,5}(?!\d))?")),
    _HiddenSign("host name", re.compile(
        rf"(?<![\w.-])(?P<hidden>(?=(?:\w{{1,40}}-){{0,4}}{_MACHINE})[A-Za-z]\w{{0,62}}(?:-\w{{1,62}}){{0,8}}"
        rf"(?:\.(?!{_OF_CODE})[\w-]{{1,62}}){{0,8}}):\d{{4,5}}(?![\d:])")),
    _HiddenSign("hash", re.compile(rf"(?<!{_HEX}){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?!{_HEX})")),
    _HiddenSign("network address", re.compile(
        r"(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6})(?![\w:])",
        re.IGNORECASE), is_six),
    _HiddenSign("network address", re.compile(
        rf"(?<!{_HEX}){_HEX}{{2}}(?P<joint>[:_-])(?:{_HEX}{{2}}(?P=joint)){{4}}{_HEX}{{2}}(?!{_HEX}|(?P=joint)\w)"),
        lambda found: re.search("[a-f]", found[0].lower()) is not None),
    _HiddenSign("network address", re.compile(
        r"(?<!\d)(?<!\d\.)(?P<address>\d{1,3}\.(?:\d{1,3}\.){2}\d{1,3})(?!\.?\d)(?::\d{2,5}(?!\d))?"), is_address),
    _HiddenSign("network address", re.compile(
        r"(?P<before>(?<!\w)ip-|(?<!\d))(?P<address>\d{1,3}(?P<joint>, ?|[ _/:-])(?:\d{1,3}(?P=joint)){2}\d{1,3})"
        r"(?!(?P=joint)?\d)"), is_joined_address, bare=True),
    _HiddenSign("host name", re.compile(
        rf"(?:(?:HOST(?:_?NAME)?|MASTER_ADDR)=|host_?name[\"']?\s?[:=]\s?[\"']?)(?P<hidden>{_NAME})")),
    _HiddenSign("user", re.compile(rf"(?:USER|LOGNAME|USERNAME)=(?P<hidden>{_NAME})")),
    _HiddenSign("user", re.compile(rf"[/\\]+(?:home|Users)[/\\]+(?P<hidden>{_NAME})")),
    _HiddenSign("key", re.compile(rf"\.ssh[/\\]+(?P<hidden>{_NAME})")),
    _HiddenSign("folder", re.compile(
        r"(?<![\w.-])/(?:mnt|scratch|lustre|gpfs)/(?:(?:nfs|data|home|users?|scratch|shared|work)/)*"
        rf"(?P<hidden>{_NAME})(?=/|\s|$)")),
    _HiddenSign("bucket", re.compile(rf"(?:s3a?|gs|gcs|az|abfss?|wasbs?|oss)://(?P<hidden>{_NAME})")),
    _HiddenSign("host name", re.compile(rf"(?:tcp|ssh|nfs|hdfs|redis|mongodb|postgres(?:ql)?|mysql|amqp)://(?P<hidden>{_NAME})")),
    # An address of an object of Python is none.
    _HiddenSign("hash", re.compile(
        r"(?<![0-9a-f])(?<!\.intern\.)(?<!libcudart_static_)(?!(?<=0x)[0-9a-f]{1,16}(?![0-9a-f]))[0-9a-f]{12,}"
        r"|(?<![0-9A-F])(?<!L[a-z])(?!(?:(?<=0x)|0{4})[0-9A-F]{1,16}(?![0-9A-F]))[0-9A-F]{12,}"),
        lambda found: is_hexadecimal_hash(found[0])),
    _HiddenSign("number", re.compile(r"(?<!\d)\d{4}(?P<joint>, ?|[ _.-])\d{4}(?P=joint)\d{4}(?P=joint)\d{4}(?!\d)"),
        is_card, bare=True),
    _HiddenSign("number", re.compile(
        r"\+\d{1,3}[ ./-]?\(?\d{2,5}\)?(?:[ ./-]?\d{2,}){1,5}|(?<![\d.,])\(?0\d{2,5}(?:\) ?| ?[/-] ?| )\d{4,}(?:[ -]?\d{2,}){0,3}"
        r"|(?<![\d.,])\d{4,} 0\d{3,}(?!\d)"), bare=True),
    _HiddenSign("number", re.compile(
        r"(?<![\d_x])\(?\d{3}\)?(?P<joint>[ .-])\d{3}[.-]\d{4}(?!\d)"), is_card, bare=True),
    _HiddenSign("number", re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"), bare=True),
    _HiddenSign("number", re.compile(rf"(?<!\d)(?<!\d\.)\d{{{LEAST_OF_NUMBER},}}+(?!\.\d)"), is_number, bare=True),
)  # fmt: skip
# In the addresses of pages that traceq's own sentences name.
_PAGE = re.compile(r"https?://(?!\S*@)[\w./#?=&%~+-]+")


# Whole texts that are a number, with or without a unit, and marks of traceq's own that hold numbers.
_NUMBER = re.compile(
    r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)? ?[A-Za-zµ%/]{0,12}|traceq\.(?:step#\d+|payload#(?:[a-z]\w*=[-+.\de]+,?)+)"
)
_LITERAL = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?')


@lru_cache(maxsize=1 << 14)
def hide_in_name(name: str) -> str:
    """Return a name that stands in a trace without what is secret by its sign; names that libraries give stay."""
    if _NUMBER.fullmatch(name) or is_public_anywhere(name) or (begins_public(name) and is_of_library(name)):
        return name
    return _hide_in_json(name) if _is_json(name) else _hide_signs(name, _SIGNS)


def _is_json(text: str) -> bool:
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _hide_in_json(text: str) -> str:
    """Return a text of JSON, with secrets hidden in its strings alone: numbers stay, and it stays JSON."""
    key = ""

    def change_literal(found: re.Match[str]) -> str:
        nonlocal key
        string = json.loads(found[1], strict=False)
        shown, hidden = _hide_behind_key(key, string), hide_in_name(string)
        key = string if found[2] else ""
        changed = hidden if found[2] or shown == string else shown
        return found[0] if changed == string else json.dumps(changed, ensure_ascii=False) + (found[2] or "")

    return _LITERAL.sub(change_literal, text)


def _hide_behind_key(key: str, string: str) -> str:
    """Return the string of JSON as its key tells: a label if it is a password."""
    before = f"{key}="
    shown = _hide_signs(before + string, _OF_SENTENCES)
    return shown[len(before) :] if shown.startswith(before) else string


@lru_cache(maxsize=1 << 14)
def hide_in_sentence(text: str) -> str:
    """Return a sentence of traceq's, which may quote a trace, without what is secret by its sign; bare numbers stay."""
    shown, at = [], 0
    for page in _PAGE.finditer(text):
        shown += [_hide_signs(text[at : page.start()], _OF_SENTENCES), page[0]]
        at = page.end()
    return "".join([*shown, _hide_signs(text[at:], _OF_SENTENCES)])


_OF_SENTENCES = tuple(sign for sign in _SIGNS if not sign.bare)


def _hide_signs(text: str, signs: tuple[_HiddenSign, ...]) -> str:
    for sign in signs:
        text = sign.pattern.sub(partial(_replace_secret, sign), text)
    return text


def _replace_secret(sign: _HiddenSign, found: re.Match[str]) -> str:
    """Return the match with the label in place of its secret part, or unchanged if the sign is not meant."""
    if not sign.is_meant(found):
        return found[0]
    begin, end = found.span("hidden") if "hidden" in sign.pattern.groupindex else found.span()
    start = found.start()
    return f"{found[0][: begin - start]}[{sign.label}]{found[0][end - start :]}"
