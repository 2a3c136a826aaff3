"""The page on a hanging job: where it begins and who makes it, how far the groups are, stacks, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from traceq.common.ranks import list_ranks
from traceq.common.text import printable
from traceq.common.units import count, duration, some
from traceq.diagnosis.differing_calls import advise_on_difference
from traceq.diagnosis.hang.model import (
    MISMATCHES,
    CallFrame,
    GroupProgress,
    Hang,
    Parting,
    RankCall,
    RankGroup,
    RankPlace,
)
from traceq.reports.document import (
    Block,
    Facts,
    Heading,
    Items,
    Name,
    Outcome,
    Paragraph,
    Spans,
    Verdict,
    Warn,
    make_table,
    split_code,
)
from traceq.reports.hang.words import (
    capitalize_first,
    describe_variant,
    find_source_line,
    format_time,
    list_members,
    list_numbers,
    name_group,
    name_parting,
    name_place,
    name_where,
)

_MOST_GROUPS, _MOST_FRAMES, _MOST_FAULTS, _MOST_VARIANTS, _MOST_PLACES, _MOST_NAMED = 8, 3, 3, 3, 2, 8
_OUTCOMES: dict[str, Outcome] = {"none": "healthy", "late": "look into", "in_flight": "look into"}


def compose_hang(hang: Hang, *, is_long: bool = False) -> Iterator[Block]:
    """Yield the page on a hanging job; `is_long` for pages that have room for all groups and whole stacks."""
    yield Heading(1, ("traceq hang",))
    beside = "" if hang.confidence is None else f"{hang.confidence} confidence"
    yield Verdict((f"{describe_hang(hang)}.",), _OUTCOMES.get(hang.kind, "problem"), beside, tuple(_list_lines(hang)))
    if hang.kind != "none":
        yield Heading(2, ("What to do next",))
        yield Items(tuple(split_code(step) for step in list_steps(hang)))
    yield from _compose_groups(hang, is_long=is_long)
    yield from _compose_stacks(hang, is_long=is_long)
    yield Heading(2, ("What was read",))
    yield Facts(tuple(_list_facts(hang)))
    for path, fault in hang.dumps.faults[:_MOST_FAULTS]:
        yield Warn((Name(printable(PurePath(path).name)), f": {printable(fault)}."))
    if left := len(hang.dumps.faults) - _MOST_FAULTS:
        yield from (Warn((f"and {some(left, 'more file')} that cannot be used.",)) for _ in range(left > 0))
    if hang.cannot_tell:
        yield Heading(2, ("What the dumps do not tell",))
        yield Items(tuple((doubt,) for doubt in hang.cannot_tell))


def describe_hang(hang: Hang) -> str:
    """Return a sentence, without its full stop, on where a hang begins and which ranks make it."""
    first = hang.first
    if first is None:
        return f"Nothing hangs: all {some(len(hang.dumps.ranks), 'rank')} called the same, and none of them waits"
    if hang.kind in MISMATCHES:
        return _describe_mismatch(hang, first)
    waiting = first.waiting_ranks or first.present_ranks
    place, culprits = name_parting(first), list_ranks(hang.culprits)
    if hang.kind == "in_flight":
        return f"All its ranks called {place}, and it does not end for {list_ranks(waiting)}"
    has = _choose_verb(hang.culprits, "has", "have")
    clauses = {
        "no_dump": lambda: f"there is no dump of {culprits}: lost, or it wrote none",
        "late": lambda: f"{culprits} {has} not come yet: slow, not lost. {_describe_last(hang)}",
        "elsewhere": lambda: f"{culprits} {_describe_absence(hang, first)}: {_describe_elsewhere(hang)}",
    }
    clause = clauses[hang.kind]() if culprits else "no dump tells which rank is missing there"
    return f"{capitalize_first(list_members(waiting))} {_choose_verb(waiting, 'waits', 'wait')} in {place}; {clause}"


def _describe_absence(hang: Hang, first: Parting) -> str:
    """Return a clause on how missing ranks that wait elsewhere lack a call."""
    if not set(hang.culprits) <= {*first.queued}:
        return "never called it"
    return f"{_choose_verb(hang.culprits, 'calls', 'call')} it later"


def _choose_verb(ranks: Sequence[int], one: str, several: str) -> str:
    """Return `one`, the form of a verb for a single rank, or `several`."""
    return one if len(ranks) == 1 else several


def _describe_mismatch(hang: Hang, first: Parting) -> str:
    """Return a clause on ranks that have another operation, other sizes or types."""
    variants: dict[str, list[int]] = {}
    for call in first.calls:
        variants.setdefault(describe_variant(hang, call), []).append(call.rank)
    is_odd = {text: set(ranks) <= set(hang.culprits) for text, ranks in variants.items()}
    ordered = sorted(variants.items(), key=lambda variant: (not is_odd[variant[0]], -len(variant[1])))
    verbs = ("calls", "call") if hang.kind == "operation" else ("has", "have")
    is_clear = len(variants) == 2 and len(hang.culprits) < len(first.calls)  # noqa: PLR2004 - this and that
    shown = []
    for text, ranks in ordered[:_MOST_VARIANTS]:
        is_rest = is_clear and not is_odd[text] and len(ranks) > _MOST_NAMED
        shown.append(f"{'the others' if is_rest else list_members(ranks)} {_choose_verb(ranks, *verbs)} {text}")
    left = len(ordered) - len(shown)
    more = [f"{some(left, 'further variant')}"] if left else []
    where = next((name_where(place.call) for place in hang.places if place.call is not None), "")
    what = f"#{first.sequence} of {name_group(first.group)}" if hang.kind == "operation" else name_parting(first)
    return f"In {what} {', '.join([*shown, *more])}{where}"


def _describe_last(hang: Hang) -> str:
    """Return a sentence on what late ranks called last."""
    call = hang.places[0].call if hang.places else None
    if call is None:
        return "It has called nothing so far"
    whose = "Its last call" if len(hang.culprits) == 1 else f"The last call of {list_ranks(hang.places[0].ranks)}"
    state = "is finished" if call.is_finished else "is not finished either"
    return f"{whose} {state}: {name_place(_group_of(hang, call), call)}{name_where(call)}"


def _describe_elsewhere(hang: Hang) -> str:
    """Return clauses on where the missing ranks are."""
    clauses = []
    for place in [place for place in hang.places if set(place.ranks) <= set(hang.culprits)][:_MOST_PLACES]:
        if place.call is not None:
            subject = (
                "it is"
                if len(hang.culprits) == 1
                else f"{list_ranks(place.ranks)} {'are' if len(place.ranks) > 1 else 'is'}"
            )
            clauses.append(
                f"{subject} in {name_place(_group_of(hang, place.call), place.call)}{name_where(place.call)}"
            )
    return "; ".join(clauses)


def _group_of(hang: Hang, call: RankCall) -> RankGroup:
    return next(group for group in hang.groups if group.group_id == call.group_id)


def _list_lines(hang: Hang) -> Iterator[Spans]:
    """Yield the lines under the verdict: why it is sure or not, and what else hangs."""
    yield (f"{hang.reason}.",)
    if hang.kind == "late":
        subject = "it" if len(hang.culprits) == 1 else "they"
        yield (
            f"All that the group called before is finished: {subject} skipped nothing, or a call like the next one.",
        )
    if hang.is_one_of_two and hang.first is not None:
        waiting = list_ranks(hang.first.waiting_ranks)
        yield (f"Either {list_ranks(hang.culprits)} left it out or calls it later, or {waiting} called one too many.",)
    if hang.others:
        names = "; ".join(name_parting(parting) for parting in hang.others[:_MOST_PLACES])
        left = len(hang.others) - _MOST_PLACES
        more = f"; and {left} more" if left > 0 else ""
        yield (f"Another hang that this one does not explain: {names}{more}.",)


def list_steps(hang: Hang) -> list[str]:
    """Return what to do next, in sentences."""
    culprits = list_ranks(hang.culprits)
    line = next((find_source_line(place.call.stack) for place in hang.places if place.call is not None), None)
    if hang.kind in (*MISMATCHES, "elsewhere") and hang.first is not None:
        return [advise_on_difference(culprits, name_parting(hang.first))]
    if hang.kind == "late":
        after = "" if line is None else f" after {line}"
        return [
            f"See what {culprits} does{after}: `py-spy dump --pid PID` shows its stack.",
            "Write the dumps once more: if it has called nothing since, it is stuck outside of collectives.",
            "If it comes later, it is slow: `traceq record` shows why, and a longer timeout of the group lets it.",
        ]
    if hang.kind == "no_dump" and not hang.culprits:
        return ["Name the dumps of all ranks, and how many there are: `--world-size N`."]
    if hang.kind == "no_dump":
        when = format_time(hang.first.first_created) if hang.first is not None else ""
        return [
            f"Read the log of {culprits} before {when}: an exception, a signal; `dmesg` names processes killed for memory.",
            "If its dump lies elsewhere, name it too: it tells whether the rank came.",
        ]
    if hang.kind == "in_flight":
        return [
            "Look at the network and the GPUs of these ranks: `NCCL_DEBUG=INFO`, Xid errors in `dmesg`, counters of the links.",
        ]
    return []


def _compose_groups(hang: Hang, *, is_long: bool) -> Iterator[Block]:
    """Yield the table of groups in which ranks part."""
    if not hang.progress:
        return
    shown = hang.progress if is_long else hang.progress[:_MOST_GROUPS]
    yield Heading(2, ("How far the groups are",))
    yield make_table(
        shown,
        {
            "group": lambda row: Name(("* " if row.is_first else "  ") + _cell_group(row.parting)),
            "call": lambda row: Name(_cell_call(row.parting)),
            "there": lambda row: list_numbers(row.parting.present_ranks),
            "missing": lambda row: list_numbers({*row.parting.lacking, *row.parting.without_dump}),
            "state": _describe_state,
        },
        text=(0, 1, 2, 3, 4),
    )
    left = len(hang.progress) - len(shown)
    same = len([group for group in hang.groups if group.source != "pair"]) - len(hang.progress)
    parts = [
        f"{some(left, 'more group')} where ranks wait" if left else "",
        f"{some(same, 'group')} where nothing differs" if same > 0 else "",
    ]
    if text := ", ".join(filter(None, parts)):
        yield Paragraph((f"And {text}. * is where it begins.",))


def _cell_group(parting: Parting) -> str:
    return f"{name_group(parting.group).removeprefix('group ')} {list_numbers(parting.group.members)}"


def _cell_call(parting: Parting) -> str:
    ops = sorted({call.op for call in parting.calls})
    return f"{'/'.join(printable(op) for op in ops[:2])} #{parting.sequence}"


def _describe_state(row: GroupProgress) -> str:
    parting = row.parting
    words = {
        "operation": "other operations",
        "sizes": "other sizes",
        "types": "other types",
        "none": "all there, not finished",
    }
    if parting.differs in words:
        return words[parting.differs]
    return "no dump" if parting.differs == "no_dump" else "waits"


def _compose_stacks(hang: Hang, *, is_long: bool) -> Iterator[Block]:
    """Yield where the ranks that matter called what they are in."""
    stacked = [place for place in hang.places if place.call is not None and place.call.stack]
    shown = stacked[: _MOST_PLACES - 1] + stacked[-1:] if len(stacked) > _MOST_PLACES else stacked
    if not shown:
        return
    yield Heading(2, ("Stacks",))
    for place in stacked if is_long else shown:
        yield from _compose_stack(hang, place, is_long=is_long)


def _compose_stack(hang: Hang, place: RankPlace, *, is_long: bool) -> Iterator[Block]:
    call = place.call
    if call is None:
        return
    verb = "waits" if not call.is_finished else "was last"
    others = f" (as {some(len(place.ranks) - 1, 'other')})" if len(place.ranks) > 1 else ""
    yield Paragraph((f"Rank {call.rank}{others} {verb} in {name_place(_group_of(hang, call), call)}:",))
    frames = call.stack if is_long else _take_own(call)
    yield Items(tuple((Name(printable(frame.name)), f" {printable(frame.file)}:{frame.line}") for frame in frames))


def _take_own(call: RankCall) -> Sequence[CallFrame]:
    """Return the innermost frames of the program, without those of the libraries that it calls."""
    line = find_source_line(call.stack)
    start = next((at for at, frame in enumerate(call.stack) if f"{printable(frame.file)}:{frame.line}" == line), 0)
    return call.stack[start : start + _MOST_FRAMES]


def _list_facts(hang: Hang) -> Iterator[tuple[str, Spans]]:
    """Yield labels and values on the dumps as a whole."""
    dumps = hang.dumps
    yield "dumps", (f"{count(len(dumps.ranks))} of {list_ranks(dumps.ranks)}, {count(dumps.entries)} entries",)
    yield "groups", (count(len([group for group in hang.groups if group.source != "pair"])),)
    if dumps.rolled:
        yield "begin later", (f"{list_ranks(dumps.rolled)}: their recorders had overwritten the oldest entries",)
    if hang.first is not None and hang.first.first_created is not None:
        waits = [call.created - hang.first.first_created for call in hang.first.calls if call.created is not None]
        apart = f", the others up to {duration(max(waits))} later" if max(waits, default=0) > 0 else ""
        yield "first waits since", (f"{format_time(hang.first.first_created)}{apart}",)
