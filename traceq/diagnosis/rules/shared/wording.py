"""Numbers and names of a trace in the sentences of rules."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from traceq.analysis.categories import BY_NAME
from traceq.common import units

if TYPE_CHECKING:
    from traceq.diagnosis.subject import Subject

_LONGEST = 80
# Fewer shares in a list say nothing, more are no sentence.
_LEAST_SHARE = 0.01
_MOST_SHARES = 3
# How Python's profiler names what is written in C: with what it belongs to, and an address that says nothing.
_BUILT_IN = re.compile(r"^<built-in (?:function|method) (\S+?)(?: of .*)?>$")
# What stands before the name of a kernel, and what wraps the one that says more.
_DECORATION = re.compile(r"^void\s+|\(anonymous namespace\)::|<unnamed>::|\((int|bool|unsigned long)\)")
_WRAPPERS = {"Kernel", "Kernel2", "device_kernel"}
_FUNCTOR = re.compile(r"\b(\w*Functor\w*|\w+_kernel_cuda|\w+_kernel_impl|\w+KernelImpl|\w+Ops)\b")
_SAYS_NOTHING = re.compile(r"^(A?B?UnaryFunctor|BinaryFunctor|gpu_kernel_impl|ReduceOps)$")
# The last two sizes of an operand.
_LAST_SIZES = re.compile(r"(\d+), ?(\d+)\]")


def cut_name(name: Any) -> str:
    """Shorten a name from the trace to 80 characters; `<built-in function zoom>` to `zoom`."""
    text = _BUILT_IN.sub(r"\1", str(name))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def list_names(rows: Iterable[Mapping[str, Any]], column: str = "name") -> str:
    """Return the different names in the column of the rows, in their order, with commas; "nothing with a name" without any."""
    found = dict.fromkeys(cut_name(row[column]) for row in rows if row[column] is not None)
    return ", ".join(found) or "nothing with a name"


def list_shares(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the names of the first three rows with an idle_share of at least 1 %, each with that share, with commas.

    "nothing with a name" without any.
    """
    listed = [row for row in rows if row["name"] is not None and row["idle_share"] >= _LEAST_SHARE][:_MOST_SHARES]
    return (
        ", ".join(f"{cut_name(row['name'])} {units.share(row['idle_share'])}" for row in listed)
        or "nothing with a name"
    )


def kernel_name(name: object) -> str:
    """Return the name of a kernel without arguments; with the operation that it is made for, where PyTorch's names have one."""
    bare = _DECORATION.sub("", str(name or "unnamed"))
    head, _, rest = bare.partition("<")
    base = head.partition("(")[0].rpartition("::")[2].strip()
    if base in _WRAPPERS and rest:
        base = re.split(r"[<>(,]", rest)[0].rpartition("::")[2].strip()
    functors = [name for name in _FUNCTOR.findall(rest) if not _SAYS_NOTHING.match(name) and name != base]
    return cut_name(f"{base} ({functors[0]})" if functors else base or bare)


def operator_names(rows: Iterable[Mapping[str, Any]], most: int = 3) -> str:
    """Return the first `most` different operators of the rows, or kernels where a row has none, with commas."""
    found = dict.fromkeys(
        cut_name(row["operator"]) if row.get("operator") else kernel_name(row["name"]) for row in rows
    )
    return ", ".join(list(found)[:most])


def advise_padding(row: Mapping[str, Any]) -> str:
    """Return advice on padding the last sizes of an operand to a multiple of the row's `multiple`."""
    multiple = row["multiple"]
    sizes = [int(size) for pair in _LAST_SIZES.findall(row["sizes"] or "") for size in pair]
    odd = [size for size in dict.fromkeys(sizes) if size > multiple and size % multiple]
    if not odd:
        return "Its sizes are multiples, so copy the views that do not start at one: x = x.contiguous()"
    return f"Pad {', '.join(f'{size:,} to {-(-size // multiple) * multiple:,}' for size in odd)}"


def name_unit(row: Mapping[str, Any]) -> str:
    """Return the name of the row's rank with its GPU, or of the GPU alone in a capture that has no ranks."""
    return f"device {row['device']}" if row["rank"] is None else f"rank {row['rank']} (device {row['device']})"


def step_range(name: str) -> str:
    """Return the value of --step-range for ranges of this name, as a shell takes it."""
    return shlex.quote(f"^{re.escape(name)}$")


def words_for(category: str) -> str:
    """Return the words for a category of the ledger: "launching on the host" for idle_launch."""
    return BY_NAME[category].words


def count_nouns(number: float, noun: str, many: str | None = None) -> str:
    """Return a number with its noun: 1 kernel, 2 kernels, 0.25 matrices."""
    amount = f"{number:,.0f}" if number >= 1 else f"{number:.2g}"
    return f"{amount} {noun if amount == '1' else many or f'{noun}s'}"


def round_count(number: float) -> str:
    """Return a number of things per step as text: whole, or with one decimal below 10."""
    return f"{number:.1f}" if number < 10 and number % 1 >= 0.05 else f"{number:.0f}"  # noqa: PLR2004 - two digits tell


def share_of(part: float, whole: float) -> float:
    """Return the share (0..1) that `part` has of `whole`; 0 where `whole` is 0."""
    return part / whole if whole else 0.0


def gb_per_s(bandwidth: float | None) -> str:
    """Return a bandwidth, given in GB/s, as text in a unit that fits, as 12.3 GB/s; "an unknown rate" for None."""
    return "an unknown rate" if bandwidth is None else units.format_bandwidth(bandwidth)


def byte_size(count: float) -> str:
    """Return a number of bytes with its unit."""
    return units.size(round(count))


def per_step(subject: Subject, nanoseconds: float) -> str:
    """Return a mean over the counted steps: "1.2 ms per step"; "1.2 ms in all" of a single step or window."""
    return f"{units.duration(nanoseconds)} {'in all' if subject.steps == 1 else 'per step'}"


def of_step(subject: Subject, nanoseconds: float) -> str:
    """Return a mean as a part of the counted steps: "1.2 ms of each step", "1.2 ms of the trace" where no step is marked."""
    return f"{units.duration(nanoseconds)} of {'the trace' if subject.is_window else 'each step'}"


def times_per_step(subject: Subject, number: Any) -> str:
    """Return how often, of a number over all counted steps: "3 per step", "2 in 10 steps", "5 times"."""
    if subject.steps == 1:
        return "once" if number == 1 else f"{number:,} times"
    mean = number / subject.steps
    return f"{mean:,.0f} per step" if mean >= 1 else f"{number} in {subject.steps} steps"
