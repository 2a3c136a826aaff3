"""Parse what training programs print: step time, loss, throughput and the like, in the ways of many frameworks.

Read are the lines of nanoGPT, Megatron, DeepSpeed, Lightning, tqdm, the Hugging Face Trainer, MMEngine, Detectron2, PyTorch's
examples, Keras and vLLM, and such as are written in the same ways.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from traceq.common.text import without_colours

# A line without one of these has no value: nearly all lines are told by it, and the others by the pattern.
_WORDS = ("loss", "/s", "/it", "/b", " per ", "_per_", "time", "dt", "lr", "learning", "norm", "mfu")
_MAY_HAVE_VALUE = re.compile(
    r"(?i)loss|(?:it|step|iter|sample|token|tok|image|img|example|seq|batch)\w*(?: ?/ ?|[_ ]per[_ ])s|s ?/ ?(?:it|step|batch)"
    r"|time|\bdt\b|\blr\b|learning|norm|mfu"
)

_NUMBER = r"([-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![\d:]|\.\d)"
# Between a name and its value: `loss: 1`, `loss=1`, `'loss': 1`, `"loss": "1"`, `loss 1`, `Loss [ 1`.
_IS = r"['\"]?\s*(?:[:=|]\s*)?['\"]?[\[(]?\s*"
_TIME_UNIT = r"(ms|us|µs|seconds?|secs?|s)"
_PIECE = r"(?:iterations?|iters?|it|steps?|batch(?:es)?)"

_NS = {"us": 1e3, "µs": 1e3, "ms": 1e6}

# What stands before the name of a value, or in it, that is not of training, and of a time that is not a step's.
_EVALUATION = re.compile(r"(?i)(?:\b|_)(?:val(?:id(?:ation)?)?|eval(?:uation)?|test|dev|best)[\s_/.-]*\Z")
_OTHER_TIME = re.compile(
    r"(?i)(?:\b|_)(?:data|load(?:ing)?|total|epoch|remaining|compile|eta|wall|forward|fwd|backward|bwd|optimizer|save|run|elapsed"
    r"|start|end|date|cpu|gpu|max|min|at|of|in|connect(?:ion)?|inference|eval(?:uation)?|request)[\s_/.-]*\Z"
)

_LOSS = re.compile(rf"(?i)(?<![a-z0-9])(?:[a-z]+[_ /])?loss(?:\s*\(\w+\))?{_IS}{_NUMBER}")
_LEARNING_RATE = re.compile(rf"(?i)(?<![a-z0-9])(?:lr|learning[ _]rate){_IS}{_NUMBER}")
_GRADIENT_NORM = re.compile(rf"(?i)(?<![a-z0-9])(?:grad(?:ient)?[ _]?norm|gnorm){_IS}{_NUMBER}")
_MFU = re.compile(rf"(?i)(?<![a-z0-9])mfu{_IS}{_NUMBER}\s*(%)?")

# `step time (ms): 135`, `step_time_ms=135`, `elapsed time per iteration (ms): 812.3`, `iter_time: 0.2 s`.
_STEP_TIME = re.compile(
    rf"(?i)(?<![a-z0-9])"
    rf"(?:(?:{_PIECE}|train(?:ing)?)[ _]time|(?:elapsed )?time(?:[ _]per[ _]|/){_PIECE}|{_TIME_UNIT}/{_PIECE}|time|dt)"
    rf"(?:\s*\(\s*{_TIME_UNIT}\s*\)|_{_TIME_UNIT})?{_IS}{_NUMBER}\s*(?:{_TIME_UNIT}(?![\w/]))?"
)
# `135 ms/step`, `1.5s/it`.
_TIME_A_STEP = re.compile(rf"(?i)(?<![\w.]){_NUMBER}\s*{_TIME_UNIT}\s*(?:/|per)\s*{_PIECE}(?![a-z])")

_COUNTED = (
    r"(it|iters?|iterations?|steps?|batch(?:es)?|samples?|seqs?|sequences?|images?|imgs?|examples?|tokens?|toks?)"
)
_A_SECOND = r"(?:\s*/\s*|[_ ]per[_ ])(?:seconds?|sec|s)(?![a-z])"
# `12.3it/s`, `23.1 tokens/s`; and `tokens/s: 23.1`, `'train_samples_per_second': 33.2`.
_RATE = re.compile(rf"(?i)(?<![\w.]){_NUMBER}\s*{_COUNTED}{_A_SECOND}")
_NAMED_RATE = re.compile(rf"(?i)(?<![a-z0-9]){_COUNTED}{_A_SECOND}(?:/\w+)?{_IS}{_NUMBER}")
_TOKEN_RATE = re.compile(r"(?i)(prompt|generation)\s+throughput:?\s*\Z")

_STEP = re.compile(
    r"(?i)(?<![a-z0-9])(?:global[_ ]step|step|iter(?:ation)?|it)['\"]?\s*[:=#]?\s*[\[(#]?\s*(\d{1,12})"
    r"(?![\d.,:]?\d|\s*[a-z]*/s|[a-z])"
)
_BAR = re.compile(r"(?<![\d./])(\d{1,12})/\d{1,12} (?:\[|\d+:\d\d)")

# More than an hour is no step, less than a microsecond neither.
_SHORTEST_NS, _LONGEST_NS = 1e3, 3.6e12

Value = tuple[str, float, str | None]


class ParsedLine(NamedTuple):
    """The values of a line as (quantity, value, unit), and the number of its step, None without one."""

    step: int | None
    values: tuple[Value, ...]


def may_have_value(text: str) -> bool:
    """Return whether the line may hold a value; a line of a hundred characters that has none takes a microsecond."""
    lower = text.lower()
    return any(word in lower for word in _WORDS) and _MAY_HAVE_VALUE.search(lower) is not None


def parse_line(text: str) -> ParsedLine:
    """Return the values of training that a printed line holds; those of evaluation are left out."""
    line = " ".join(without_colours(text).split())
    found: dict[tuple[str, str | None], float] = {}
    for quantity, value, unit in (*_find_numbers(line), *_find_step_times(line), *_find_rates(line)):
        if math.isfinite(value):
            found.setdefault((quantity, unit), value)
    step = _STEP.search(line) or _BAR.search(line)
    values = tuple((quantity, value, unit) for (quantity, unit), value in found.items())
    return ParsedLine(int(step[1]) if step else None, values)


def _find_numbers(line: str) -> Iterator[Value]:
    """Yield losses, learning rates, norms of gradients, and model FLOPs utilization (a share)."""
    for match in _LOSS.finditer(line):
        if not _is_of_evaluation(line, match):
            yield "loss", _read_number(match[1]), None
    for quantity, pattern in (("learning_rate", _LEARNING_RATE), ("gradient_norm", _GRADIENT_NORM)):
        for match in pattern.finditer(line):
            yield quantity, _read_number(match[1]), None
    for match in _MFU.finditer(line):
        share = _read_number(match[1]) / (100 if match[2] else 1)
        if 0 < share <= 1:
            yield "mfu", share, "share"


def _is_of_evaluation(line: str, match: re.Match[str]) -> bool:
    """Return whether the name that was matched, or what stands before it, says that the value is one of evaluation."""
    name = re.split(r"[:=\d]", match[0], maxsplit=1)[0].rstrip(" '\"([|").lower()
    return bool(_EVALUATION.search(line[: match.start()]) or _EVALUATION.search(name.removesuffix("loss")))


def _find_step_times(line: str) -> Iterator[Value]:
    """Yield the durations of a step that the line names, ns; a number with a fraction and without a unit is of seconds."""
    found = []
    for match in _STEP_TIME.finditer(line):
        number, said = match[4], match[1] or match[2] or match[3] or match[5]
        before = line[: match.start()]
        if not (_EVALUATION.search(before) or _OTHER_TIME.search(before)) and (said or "." in number):
            found.append((number, said or "s"))
    found += [(match[1], match[2]) for match in _TIME_A_STEP.finditer(line)]
    for number, said in found:
        value = _read_number(number) * _NS.get(said.lower(), 1e9)
        if _SHORTEST_NS <= value <= _LONGEST_NS:
            yield "step_time", value, "ns"


def _find_rates(line: str) -> Iterator[Value]:
    """Yield steps, samples and tokens a second; of a server, those of prompts and of generation are told apart."""
    rates = [(match, match[1], match[2]) for match in _RATE.finditer(line)]
    rates += [(match, match[2], match[1]) for match in _NAMED_RATE.finditer(line)]
    for match, number, counted in rates:
        before, unit = line[: match.start()], _unit_of_rate(counted.lower())
        of_server = _TOKEN_RATE.search(before) if unit == "tokens/s" else None
        if (value := _read_number(number)) > 0 and not _EVALUATION.search(before):
            yield f"{of_server[1].lower()}_throughput" if of_server else "throughput", value, unit


def _unit_of_rate(counted: str) -> str:
    if counted.startswith("tok"):
        return "tokens/s"
    return "it/s" if counted.startswith(("it", "step", "batch")) else "samples/s"


def _read_number(number: str) -> float:
    return float(number.replace(",", ""))
