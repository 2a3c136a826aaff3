"""Layers by the order in which kernels repeat inside of each step, for a device on which no name tells of them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, takewhile, zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.layers.attentions import (
    ATTENTION_BESIDE,
    UNCLEAR_ATTENTION,
    count_sites,
    has_attention_beside,
    has_odd_attention,
    split_layers,
)
from traceq.analysis.layers.passes import AMBIGUOUS, OF_PASSES, cut_passes
from traceq.analysis.layers.repeats import KernelSequence, LayerStretch, find_stretches, is_regular
from traceq.analysis.layers.rows import (
    AFTER,
    BEFORE,
    BETWEEN,
    OTHER_STEPS,
    DeviceLayers,
    LayerKey,
    LayerList,
    LayerSum,
    StepKernels,
    sum_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Sequences of kernels that are searched for anything that repeats.
_LEAST_SEARCHES = 2
_MOST_SEARCHES = 6
# Of the time of all compute kernels: less in layers tells nothing of the model.
_LEAST_COVERAGE = 0.5
# The same of all that repeats: with less nobody asks why there are no layers.
_WORTH_A_NOTE = 0.5
# Kernels that the usual layers of two stretches of one list have in common (Dice's coefficient).
_SAME_LIST = 0.75
# Of the time of a list: the most in stretches with another number of layers than the others, which lie outside of its layers.
_MOST_LEFT_OUT = 0.1
# The same that is worth a word.
_WORTH_SAYING = 0.01
# Lists whose numbers of layers differ by so few may be one.
_FEW = 2


class _KnownStretch(NamedTuple):
    """A stretch of a sequence: how often its usual layer has each kernel, and whether each seems to have all of its kernels.

    `doubt` says why its number of layers is unknown; None where it is known. `is_received`: a send or receive lies before it, and
    no input of a model. `is_parted`: something that is in no layer lies before it, or no other stretch.
    """

    stretch: LayerStretch
    bag: Counter[int]
    sites: int
    is_regular: bool
    doubt: str | None
    is_received: bool
    is_parted: bool


class _FoundStretch(NamedTuple):
    """A stretch of layers in a step: how often its usual layer has each kernel, and its sums per layer; `dur` in ns.

    `paths` are the modules that launched its kernels, by number. `is_regular` is whether each layer seems to have all of
    its kernels. `sites`: how often the usual layer has attention. `has_ends`: something lies directly around it, a kernel of no
    layer, a send or a receive. `is_received`, `is_parted`, `doubt`: see _KnownStretch.
    """

    bag: Counter[int]
    is_backward: bool
    is_named_backward: bool
    sites: int
    is_regular: bool
    doubt: str | None
    is_received: bool
    is_parted: bool
    has_ends: bool
    dur: float
    paths: frozenset[int]
    layers: tuple[LayerSum, ...]

    @property
    def is_of_backward(self) -> bool:
        """Whether launches or names say that it belongs to the backward pass."""
        return self.is_backward or self.is_named_backward


class _FoundStep(NamedTuple):
    """A step: its stretches in their order, what lies around them (one part more than stretches, None without kernels)."""

    step: int
    stretches: tuple[_FoundStretch, ...]
    outside: tuple[LayerSum | None, ...]


class _Kind:
    """Stretches of one list of layers, of all steps."""

    def __init__(self, first: _FoundStretch) -> None:
        self.first = first
        self.members = [first]
        self.forward: _Kind | None = None
        self.number = -1

    def is_kind_of(self, stretch: _FoundStretch) -> bool:
        """Return whether the stretch has layers like these."""
        bag, other = self.first.bag, stretch.bag
        is_alike = bag is other or 2 * (bag & other).total() >= _SAME_LIST * (bag.total() + other.total())
        return is_alike and stretch.is_backward == self.first.is_backward and stretch.sites == self.first.sites

    @property
    def layer_count(self) -> int:
        """The number of layers that most of the stretches have, the larger of two that are as frequent."""
        counts = Counter(len(member.layers) for member in self.members)
        return max(counts, key=lambda layers: (counts[layers], layers))

    @property
    def is_regular(self) -> bool:
        """Whether most of the stretches are regular."""
        return 2 * sum(member.is_regular for member in self.members) > len(self.members)

    @property
    def usual_doubt(self) -> str | None:
        """Why the number of layers is unknown, of most of the stretches with that number; None where it is known."""
        doubts = Counter(member.doubt for member in self.members if len(member.layers) == self.layer_count)
        return max(doubts, key=lambda doubt: (doubts[doubt], doubt or ""))

    @property
    def is_chunked(self) -> bool:
        """Whether several passes in a step begin with what is received, so that they may be of several parts of a model."""
        received = Counter(member.layers[0].step for member in self.members if member.is_received)
        return max(received.values(), default=0) > 1

    @property
    def share_of_multiples(self) -> float:
        """The part of the time of the stretches in those that may be several passes, or of which this one may be several.

        They have more layers, or as many as go into it without rest.
        """
        of_passes = [
            member.dur
            for member in self.members
            if (count := len(member.layers)) != self.layer_count
            and (count > self.layer_count or self.layer_count % count == 0)
        ]
        return sum(of_passes) / self.all_dur if self.all_dur else 0

    @property
    def all_dur(self) -> float:
        """The time of the kernels of all stretches, ns."""
        return sum(member.dur for member in self.members)

    @property
    def total_dur(self) -> float:
        """The time of the kernels of the stretches with that number of layers, ns."""
        return sum(member.dur for member in self.members if len(member.layers) == self.layer_count)


def sum_ordered(steps: Iterable[tuple[int, StepKernels]], paths: Sequence[str]) -> DeviceLayers | str | None:
    """Return the layers of a device by the order of its kernels in these steps, by their number; `paths` are their modules.

    Without layers, return words for why kernels that repeat are none; None where hardly any repeat.
    """
    search = _Search()
    found = [_find_in_step(step, kernels, search) for step, kernels in steps]
    total = sum(part.forward_dur + part.backward_dur for step in found for part in _parts_of(step))
    kinds = _kinds_of(found)
    if sum(kind.all_dur for kind in kinds) < _WORTH_A_NOTE * total or not total:
        return None
    regular = [kind for kind in kinds if kind.is_regular]
    kept = _choose_lists(regular)
    if not kept:
        return "kernels repeat, but layers seem to lack some of theirs, or to be out of order"
    if isinstance(kept, str):
        return kept
    if doubt := _find_doubt(kept, found):
        return doubt
    coverage = sum(kind.total_dur for kind in kept) / total
    if coverage < _LEAST_COVERAGE:
        return f"what repeats like layers is only {coverage:.0%} of the time of compute kernels"
    return _sum_lists(found, kept, paths)


def _find_doubt(kept: Sequence[_Kind], steps: Sequence[_FoundStep]) -> str | None:
    """Return why the number of layers of the lists is unknown; None where it is known.

    A backward pass has as many as its forward pass.
    """
    number_of = {
        id(member): (number if len(member.layers) == kind.layer_count else -1)
        for number, kind in enumerate(kept)
        for member in kind.members
    }
    for step in steps:
        for one, other in pairwise(step.stretches):
            numbers = number_of.get(id(one), -1), number_of.get(id(other), -1)
            is_same = numbers[0] == numbers[1] >= 0 or min(numbers) < 0 <= max(numbers)
            if is_same and not (other.is_parted or one.is_of_backward or other.is_of_backward):
                return (
                    "what repeats may be layers or passes over them, as nothing else lies between two sequences of them"
                )
    for kind in kept:
        if kind.forward is None and kind.usual_doubt:
            return kind.usual_doubt
        if kind.share_of_multiples > _MOST_LEFT_OUT:
            counts = sorted({len(member.layers) for member in kind.members})
            return (
                "what repeats may be layers or passes over them, as it repeats "
                + " or ".join(map(str, counts))
                + " times"
            )
        if not any(member.has_ends for member in kind.members) and kind.forward is None:
            return "what repeats may be layers or passes over them, as nothing lies before or behind them"
    return None


def _cautions_of(kept: Sequence[_Kind], lists: Sequence[_Kind]) -> Iterator[str]:
    """Yield what the rows of the lists do not tell, or leave out."""
    if any(kind.is_chunked for kind in lists):
        yield OF_PASSES
    left_out = max(1 - kind.total_dur / kind.all_dur if kind.all_dur else 0 for kind in kept)
    if left_out > _WORTH_SAYING:
        yield f"layers leave out {left_out:.0%} of the time of what repeats like them, in passes with more or fewer of them"


class _Search:
    """Stretches in sequences of kernels, remembered.

    The first sequences, and a few that have other kernels, are searched for anything that repeats, all others only for what
    repeats in these.
    """

    def __init__(self) -> None:
        self.known: dict[bytes, list[_KnownStretch]] = {}
        self.anchors: set[tuple[int, ...]] = set()
        self.kernels: set[bytes] = set()

    def search_kernels(self, kernels: StepKernels) -> list[_KnownStretch]:
        """Return the stretches of layers in the kernels of a step."""
        key = kernels.number.tobytes() + np.packbits(kernels.is_border).tobytes()
        if key not in self.known:
            sequence = KernelSequence(
                kernels.number, kernels.is_heavy, kernels.is_attention, kernels.is_possible_product
            )
            names = np.unique(sequence.numbers).tobytes()
            is_new = (names not in self.kernels or len(self.known) < _LEAST_SEARCHES) and len(
                self.kernels
            ) < _MOST_SEARCHES
            found: list[LayerStretch] = []
            if is_new or self.anchors:
                found = find_stretches(sequence, () if is_new else sorted(self.anchors))
            if is_new:
                self.kernels.add(names)
                self.anchors.update(stretch.anchor for stretch in found)
            self.known[key] = [*_refine_stretches(kernels, sequence, found)]
        return self.known[key]


def _refine_stretches(
    kernels: StepKernels, sequence: KernelSequence, stretches: Sequence[LayerStretch]
) -> Iterator[_KnownStretch]:
    """Yield the stretches, apart where several layers repeat as one, and where several passes follow one another."""
    first = before = 0
    for stretch, later in zip_longest(stretches, stretches[1:]):
        after = later.starts[0] if later else len(kernels.number)
        whole = split_layers(
            sequence, stretch, before, after, is_backward=_is_backward(kernels, stretch.starts[0], stretch.end)
        )
        parts = cut_passes(sequence, kernels.is_border, kernels.is_end, whole or stretch)
        doubt = AMBIGUOUS if parts is None else UNCLEAR_ATTENTION if whole is None else None
        usual = sequence.cut_out(stretch.first, stretch.last)
        # of what repeats, of which layers of several kinds are parts
        regular = is_regular(sequence, stretch)
        if whole and len(whole.starts) > len(stretch.starts):
            # the last ones may be fewer
            complete = stretch._replace(starts=stretch.starts[:-1], end=stretch.starts[-1])
            regular = regular or is_regular(sequence, complete)
        parts = parts or [whole or stretch]
        if has_attention_beside(sequence, parts[0].starts, (before, parts[0].starts[0])) or has_attention_beside(
            sequence, parts[-1].starts, (parts[-1].end, after)
        ):
            doubt = doubt or ATTENTION_BESIDE
        if has_odd_attention(sequence, (*stretch.starts, stretch.end) if whole is None else (*whole.starts, whole.end)):
            doubt = doubt or UNCLEAR_ATTENTION
        for part in parts:
            yield _KnownStretch(
                part,
                Counter(usual.numbers.tolist()),
                count_sites(usual),
                regular,
                doubt,
                is_received=bool(kernels.is_border[before : part.starts[0] + 1].any())
                and not kernels.is_end[before : part.starts[0]].any(),
                is_parted=before == 0
                or bool(kernels.is_border[before : part.starts[0] + 1].any())
                or not np.isin(
                    kernels.number[before : part.starts[0]],
                    np.concatenate((kernels.number[first:before], kernels.number[part.starts[0] : part.end])),
                ).all(),
            )
            first, before = part.starts[0], part.end


def _is_backward(kernels: StepKernels, first: int, last: int) -> bool:
    """Return whether most of the kernels [first, last) are launched by a backward pass, or some are named after one."""
    return bool(2 * kernels.is_backward[first:last].sum() > last - first or kernels.is_named_backward[first:last].any())


def _find_in_step(step: int, kernels: StepKernels, search: _Search) -> _FoundStep:
    """Return the stretches of layers in a step."""
    found = search.search_kernels(kernels)
    stretches = [known.stretch for known in found]
    # rows: what lies before each stretch, and its layers
    keys: list[LayerKey] = []
    rows = np.zeros(len(kernels.number), np.int64)
    end = 0
    for number, stretch in enumerate(stretches):
        rows[end : stretch.starts[0]] = len(keys)
        keys.append(LayerKey(-1, number))
        ends = (*stretch.starts[1:], stretch.end)
        for layer, (first, last) in enumerate(zip(stretch.starts, ends, strict=True)):
            rows[first:last] = len(keys)
            keys.append(LayerKey(number, layer))
        end = stretch.end
    rows[end:] = len(keys)
    keys.append(LayerKey(-1, len(stretches)))
    sums = dict(sum_rows(step, kernels, rows, keys))
    return _FoundStep(
        step,
        tuple(
            _describe_stretch(
                kernels,
                known,
                tuple(sums[LayerKey(number, layer)] for layer in range(len(known.stretch.starts))),
                has_ends=not sums.keys().isdisjoint((LayerKey(-1, number), LayerKey(-1, number + 1)))
                or bool(kernels.is_border[[known.stretch.starts[0], min(known.stretch.end, len(rows) - 1)]].any()),
            )
            for number, known in enumerate(found)
        ),
        tuple(sums.get(LayerKey(-1, number)) for number in range(len(stretches) + 1)),
    )


def _describe_stretch(
    kernels: StepKernels, known: _KnownStretch, layers: tuple[LayerSum, ...], *, has_ends: bool
) -> _FoundStretch:
    """Return the stretch with what tells of its list."""
    stretch = known.stretch
    inside, usual = slice(stretch.starts[0], stretch.end), slice(stretch.first, stretch.last)
    return _FoundStretch(
        bag=known.bag,
        is_backward=bool(2 * kernels.is_backward[inside].sum() > stretch.end - stretch.starts[0]),
        is_named_backward=bool(kernels.is_named_backward[usual].any()),
        sites=known.sites,
        is_regular=known.is_regular,
        doubt=known.doubt,
        is_received=known.is_received,
        is_parted=known.is_parted,
        has_ends=has_ends,
        dur=float(kernels.dur[inside].sum()),
        paths=frozenset(np.unique(kernels.path[inside]).tolist()) - {-1},
        layers=layers,
    )


def _parts_of(step: _FoundStep) -> Iterator[LayerSum]:
    """Yield the sums of all parts of a step."""
    yield from (part for part in step.outside if part is not None)
    for stretch in step.stretches:
        yield from stretch.layers


def _kinds_of(steps: Sequence[_FoundStep]) -> list[_Kind]:
    """Return the lists that the stretches belong to, in the order in which they come first."""
    kinds: list[_Kind] = []
    for step in steps:
        for stretch in step.stretches:
            kind = next((kind for kind in kinds if kind.is_kind_of(stretch)), None)
            if kind is None:
                kinds.append(_Kind(stretch))
            else:
                kind.members.append(stretch)
    return kinds


def _choose_lists(kinds: Sequence[_Kind]) -> list[_Kind] | str:
    """Return the kinds that are lists of layers, with the forward pass of each that is a backward pass; or why there are none.

    Where some are backward passes, each of them and each forward pass needs one of the other with as many layers. Beside
    layers with attention those without are parts of something else.
    """
    backward = [kind for kind in kinds if kind.first.is_backward]
    if not backward and any(kind.first.is_named_backward for kind in kinds):
        backward = [kind for kind in kinds if kind.first.is_named_backward]
    forward = [kind for kind in kinds if kind not in backward]
    if any(kind.first.sites for kind in forward):
        forward = [kind for kind in forward if kind.first.sites]
    if not backward:
        counts = sorted(kind.layer_count for kind in forward)
        is_near = any(more - less <= _FEW for less, more in pairwise(counts))
        if is_near and not any(kind.first.sites for kind in forward):
            return "several sequences repeat about as often, and one may be the backward pass of another"
        return forward
    left = list(forward)
    for kind in backward:
        # the last forward pass is the first to go back
        kind.forward = next((other for other in reversed(left) if other.layer_count == kind.layer_count), None)
        if kind.forward:
            left.remove(kind.forward)
    paired = [kind for kind in (*forward, *backward) if kind.forward or kind not in (*left, *backward)]
    if not paired:
        return "no sequence repeats as often in the forward pass as in the backward pass"
    return paired


def _sum_lists(steps: Sequence[_FoundStep], kept: Sequence[_Kind], paths: Sequence[str]) -> DeviceLayers:
    """Return the sums of the lists in `kept`, and of all else; a backward pass runs from the last layer to the first."""
    lists = [kind for kind in kept if kind.forward is None]
    for number, kind in enumerate(lists):
        kind.number = number
    number_of = {
        id(member): ((kind.forward or kind).number, kind.forward is not None)
        for kind in kept
        for member in kind.members
        if len(member.layers) == kind.layer_count
    }
    sums: dict[LayerKey, LayerSum] = {}
    calls = [0] * len(lists)

    def add_part(key: LayerKey, part: LayerSum) -> None:
        sums[key] = sums[key].add_sums(part) if key in sums else part

    for step in steps:
        places = [number for number, stretch in enumerate(step.stretches) if id(stretch) in number_of]
        for number, part in enumerate(step.outside):
            if part is not None:
                add_part(_row_outside(number, places, is_gap=True), part)
        for number, stretch in enumerate(step.stretches):
            if id(stretch) not in number_of:
                for part in stretch.layers:
                    add_part(_row_outside(number, places, is_gap=False), part)
                continue
            list_number, is_backward = number_of[id(stretch)]
            calls[list_number] += not is_backward
            for layer, part in enumerate(reversed(stretch.layers) if is_backward else stretch.layers):
                durs = (
                    (0.0, part.forward_dur + part.backward_dur)
                    if is_backward
                    else (part.forward_dur, part.backward_dur)
                )
                add_part(LayerKey(list_number, layer), part._replace(forward_dur=durs[0], backward_dur=durs[1]))
    words = _name_lists([_find_module_around(kind, paths) for kind in lists])
    words = [f"{word} of one pass" if kind.is_chunked else word for word, kind in zip(words, lists, strict=True)]
    return DeviceLayers(
        tuple(
            LayerList(
                words[number],
                "order",
                tuple(f"layer {layer} of {kind.layer_count}" for layer in range(kind.layer_count)),
                (calls[number],) * kind.layer_count,
            )
            for number, kind in enumerate(lists)
        ),
        sums,
        tuple(_cautions_of(kept, lists)),
    )


def _find_module_around(kind: _Kind, paths: Sequence[str]) -> str:
    """Return the innermost module that launches all kernels of a list, of those that a module launches; empty for none."""
    modules = [paths[path].split("/") for path in frozenset[int]().union(*(member.paths for member in kind.members))]
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*modules, strict=False))
    return "/".join(names[0] for names in shared)


def _name_lists(modules: Sequence[str]) -> list[str]:
    """Return words for lists by the modules around them; lists in one module, or in none, are numbered."""
    if len(modules) == 1:
        return [modules[0] or "layers"]
    return [
        module if module and modules.count(module) == 1 else f"{module}: list {number}".removeprefix(": ")
        for number, module in enumerate(modules, 1)
    ]


def _row_outside(number: int, places: Sequence[int], *, is_gap: bool) -> LayerKey:
    """Return the row of stretch `number` of a step, which is no layer, or with `is_gap` of the kernels before it.

    `places` are the numbers of the stretches that are layers.
    """
    if not places:
        return OTHER_STEPS
    if number < places[0] or (is_gap and number == places[0]):
        return BEFORE
    return AFTER if number > places[-1] else BETWEEN
