"""Rules that users add: an SQL file with a header, or a Python entry point in the group traceq.rules.

The header of an SQL file is the comment lines at its top, `-- key: text`, a text going on in lines that have no key:

    -- rule: slow-augmentation
    -- title: Slow augmentation
    -- fix: Move the augmentation to the GPU: kornia.augmentation
    -- needs: gpu, steps
    select p.step, p.ts, p.dur, ... from idle_piece as p where p.trace_id = $trace_id and p.device = $device

What the query returns stands in traceq.claims.claim; docs/writing-rules.md has all keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from traceq.claims.advice import Advice
from traceq.claims.manual import Manual, manual
from traceq.claims.needs import NEEDS
from traceq.errors import UnusableRule
from traceq.findings import Confidence
from traceq.rules.registry import Rule, built_in

if TYPE_CHECKING:
    from traceq.claims.subject import Subject
    from traceq.rules.registry import Judgement

_GROUP = "traceq.rules"
_KEY = re.compile(r"--\s*(rule|title|fix|confidence|reason|wrong-if|needs|low|likely|high|references):\s*(.*)")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def rules(paths: Sequence[Path] = ()) -> tuple[Rule, ...]:
    """The rules of files and directories `paths` and of entry points, and then those of traceq, which are served later.

    Raises UnusableRule for a file that is none, and for a name that is taken.
    """
    found = [rule for path in paths for rule in _from_path(path)]
    found += [_from_entry_point(each) for each in entry_points(group=_GROUP)]
    taken = {rule.name for rule in built_in()}
    for rule in found:
        if rule.name in taken:
            raise UnusableRule(f"rule {rule.name}: there is one of this name already; choose another name")
        taken.add(rule.name)
    return (*found, *built_in())


def _from_path(path: Path) -> Iterator[Rule]:
    if path.is_dir():
        files = sorted(path.glob("*.sql"))
        if not files:
            raise UnusableRule(f"{path}: no rule in it; a rule is a file NAME.sql")
        for file in files:
            yield _from_file(file)
    else:
        yield _from_file(path)


def _from_file(path: Path) -> Rule:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UnusableRule(f"{path}: cannot be read as a rule: {reason}") from error
    header = _header(text)
    name = header.get("rule", path.stem.replace("_", "-"))
    if not _NAME.fullmatch(name):
        raise UnusableRule(
            f"{path}: {name!r} is no name for a rule; name it in kebab-case, e.g. -- rule: slow-augmentation"
        )
    if not header.get("fix"):
        raise UnusableRule(f"{path}: the header lacks a fix; add a line at the top: -- fix: what to change")
    return Rule(name, _manual(name, header), _judgement(path, text, header))


def _header(text: str) -> dict[str, str]:
    header: dict[str, str] = {}
    key = None
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        if match := _KEY.match(line):
            key = match[1]
            header[key] = match[2].strip()
        elif key:
            header[key] += " " + line.removeprefix("--").strip()
    return header


def _manual(name: str, header: Mapping[str, str]) -> Manual:
    title = header.get("title", name.replace("-", " ").capitalize())
    texts = [header.get(key, "") for key in ("reason", "fix", "references")]
    sections = zip(("How it is measured", "What to try", "References"), texts, strict=True)
    page = "\n\n".join(f"{section}\n    {text}" for section, text in sections if text)
    return Manual(title, page, tuple(re.findall(r"https?://\S+", texts[-1])))


def _judgement(path: Path, query: str, header: Mapping[str, str]) -> Judgement:
    shares = _shares(path, header)
    confidence = _confidence(path, header.get("confidence", "low"))
    needs = [each.strip() for each in header.get("needs", "gpu, steps").split(",") if each.strip()]
    unknown = [each for each in needs if each not in NEEDS]
    if unknown:
        raise UnusableRule(f"{path}: needs {', '.join(unknown)}, which is not one of {', '.join(NEEDS)}")

    def judge(subject: Subject) -> Iterator[Advice]:
        subject.needs(*needs)
        claim = subject.claim_of(query, **shares)
        if claim is not None:
            yield Advice(
                claim,
                fix=header["fix"],
                confidence=confidence,
                reason=header.get("reason", "Found by a rule of your own."),
                wrong_if=header.get("wrong-if", "Not said by the rule."),
            )

    return judge


def _confidence(path: Path, value: str) -> Confidence:
    known: tuple[Confidence, ...] = get_args(Confidence)
    for each in known:
        if value == each:
            return each
    raise UnusableRule(f"{path}: confidence {value!r}; it is one of {', '.join(known)}")


def _shares(path: Path, header: Mapping[str, str]) -> dict[str, float]:
    """The shares of the header; one that it does not say is no further than those that it does."""
    high = _share(path, "high", header.get("high", "1"))
    likely = _share(path, "likely", header["likely"]) if "likely" in header else high
    low = _share(path, "low", header["low"]) if "low" in header else min(0.5, likely)
    if not low <= likely <= high:
        raise UnusableRule(f"{path}: low, likely and high are {low:g}, {likely:g} and {high:g}; put them in this order")
    return {"low": low, "likely": likely, "high": high}


def _share(path: Path, key: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UnusableRule(f"{path}: {key} is {value!r}; it is a share from 0 to 1")
    return share


def _from_entry_point(entry: EntryPoint) -> Rule:
    try:
        judge: Judgement = entry.load()
        page = manual(import_module(judge.__module__).__doc__ or "")
    except Exception as error:
        # A package of somebody else breaks as it likes.
        raise UnusableRule(
            f"entry point {entry.name} ({entry.value}): {type(error).__name__}: {' '.join(str(error).split())};"
            " reinstall or remove its package"
        ) from error
    return Rule(entry.name.replace("_", "-"), page, judge)
