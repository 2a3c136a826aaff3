"""Layers of a model in a sequence of kernels: stretches that repeat, where no name tells of layers.

A kernel, or a few in a row, that every layer runs once is an anchor: from one to the next is a layer, turned by as much as the
anchor is inside of it. KernelSequence before the first anchor that equal those before the second belong to the first layer, too.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Odd, so that it has an inverse modulo 2**64.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))

# Fewer equal pieces are no list of layers.
LEAST_LAYERS = 4
# Of the kernels of two layers, those that both have (Dice's coefficient of their bags), where they are of one kind.
_ALIKE = 0.9
# The same of kinds that take turns; kinds that have less in common are parts of one layer.
_TAKING_TURNS = 0.75
# The same of an odd layer, and of those at the ends of a list, as dense layers before those of experts.
_RELATED = 0.5
# The least size of a layer over that of another one of its list.
_NEAR = 0.7
# Products and convolutions of a layer without attention; fewer are an iteration of some other algorithm.
_LEAST_PRODUCTS = 3
# KernelSequence of a layer; shorter ones are single operators.
LEAST_KERNELS = 3
# Of the kernels that the best list covers: another one with so many but shorter layers is as good.
_AS_GOOD = 0.9
# Of the kernels that a layer has once, those that come as often as there are layers.
_REGULAR = 0.6
# Of a piece that repeats, the part in shorter pieces that do: then it is a round of them.
_MOST = 2 / 3
# KernelSequence in a row that can be an anchor.
_WINDOWS = (1, 2, 4)
# Candidates that are looked at closely, of those that cover most, and different pieces between the anchors of each.
_MOST_ANCHORS = 48
_MOST_KINDS = 64
# Members of a kind of layers that takes turns with others.
_SEVERAL = 3
# Grades of pieces: of a kind of the list, and only related to it.
_OF_KIND = 2
_IS_RELATED = 1
# An edge moves over a kernel that differs if so many more agree.
_COST_OF_OTHER = 3


class KernelSequence(NamedTuple):
    """KernelSequence in the order of launches: equal `numbers` for equal ones, and what they are by their family.

    `is_heavy`: products, convolutions, attention; `is_attention`: what a layer with attention does once. `is_possible_product`:
    products, convolutions, and what no name tells of, but no attention.
    """

    numbers: Integers
    is_heavy: Flags
    is_attention: Flags
    is_possible_product: Flags

    def cut_out(self, first: int, last: int) -> KernelSequence:
        """Return the kernels [first, last)."""
        return KernelSequence(
            self.numbers[first:last],
            self.is_heavy[first:last],
            self.is_attention[first:last],
            self.is_possible_product[first:last],
        )

    def reverse_order(self) -> KernelSequence:
        """Return the kernels in reverse."""
        return KernelSequence(
            self.numbers[::-1], self.is_heavy[::-1], self.is_attention[::-1], self.is_possible_product[::-1]
        )


class LayerStretch(NamedTuple):
    """Layers that follow one another in a sequence: `starts` are the indices of their first kernels, `end` is one past the last.

    The usual one is the kernels [first, last), turned by as much as the anchor is inside of it: it begins with that.
    """

    starts: tuple[int, ...]
    end: int
    first: int
    last: int
    anchor: tuple[int, ...]

    def move_by(self, by: int) -> LayerStretch:
        """Return the same stretch of a sequence with `by` more kernels in front."""
        return LayerStretch(
            tuple(start + by for start in self.starts), self.end + by, self.first + by, self.last + by, self.anchor
        )


class _AnchoredRun(NamedTuple):
    """Anchors of `window` kernels at `places` with layers between them, of which [first, last) is the usual one.

    `votes` anchors agree on that.
    """

    places: tuple[int, ...]
    first: int
    last: int
    window: int
    votes: int

    @property
    def kernel_count(self) -> int:
        """The kernels of all layers; the last one, after the last anchor, is as long as the usual one."""
        return self.places[-1] - self.places[0] + self.last - self.first


def find_stretches(kernels: KernelSequence, anchors: Collection[tuple[int, ...]] = ()) -> list[LayerStretch]:
    """Return the stretches of kernels that are layers, in their order; empty without any.

    The stretch that covers most is taken first, then those in what is left on both sides of it. If its pieces are for the
    most part shorter layers, with all attention, they are rounds (tokens, denoising steps, micro-batches), and the layers
    inside each are returned. Where `anchors` are known, from sequences that are nearly the same, no others are tried.
    """
    found: list[LayerStretch] = []
    inside: list[LayerStretch] = []
    known: dict[bytes, list[LayerStretch]] = {}
    left = [(0, len(kernels.numbers))]
    while left:
        first, last = left.pop()
        part = kernels.cut_out(first, last)
        stretch = _find_best(part, anchors) if last - first >= LEAST_LAYERS * LEAST_KERNELS else None
        if stretch is None:
            continue
        stretch = _drop_others(part, stretch)
        left += [(first, first + stretch.starts[0]), (first + stretch.end, last)]
        rounds = [part.cut_out(*ends) for ends in pairwise((*stretch.starts, stretch.end))]
        if anchors or not _is_round(rounds[len(rounds) // 2], known):
            found.append(stretch.move_by(first))
            continue
        for start, piece in zip(stretch.starts, rounds, strict=True):
            inside += [inner.move_by(first + start) for inner in _find_inside(piece, known)]
    joined = sorted([*_join_leading(kernels, sorted(found)), *inside])
    return sorted(_extend_stretches(kernels, joined, frozenset(inside)))


def _drop_others(kernels: KernelSequence, stretch: LayerStretch) -> LayerStretch:
    """Return a stretch without a first or last layer that is one of at least four equal ones with those around the stretch.

    The last layer of an encoder, with the input of its decoder and the begin of the first layer of that, has all that layers of
    the decoder have.
    """
    numbers = kernels.numbers
    starts, end = list(stretch.starts), stretch.end
    middle = len(starts) // 2
    usual = numbers[starts[middle - 1] : starts[middle]]
    if len(starts) > LEAST_LAYERS and (length := _measure_others(numbers, starts[0], starts[1], usual)):
        between = numbers[starts[0] + length : starts[1]]
        del starts[0]
        # what lies behind the other layer is the begin of the first of these: none of them ends where it seemed
        if shift := _count_agreeing(between[::-1], usual[::-1]):
            starts = [start - shift for start in starts]
            end = min(end, starts[-1] + len(usual))
    size = len(numbers)
    if len(starts) > LEAST_LAYERS and _measure_others(numbers[::-1], size - end, size - starts[-1], usual[::-1]):
        end = starts.pop()
        end = min(end, starts[-1] + len(usual))
    return stretch._replace(starts=tuple(starts), end=end)


def _measure_others(numbers: Integers, first: int, last: int, usual: Integers) -> int:
    """Return how many of the kernels [first, last) go on as three equal layers in front of them do; 0 without any such layers.

    They are all, or at least half of a layer: if less than a whole one, a kernel that no usual layer has follows.
    """
    if np.array_equal(numbers[first:last], usual):
        return 0
    for size in range(LEAST_KERNELS, min(first // (LEAST_LAYERS - 1), 2 * (last - first)) + 1):
        before = first - (LEAST_LAYERS - 1) * size
        if numbers[before] != numbers[before + size] or not np.array_equal(
            numbers[before : first - size], numbers[before + size : first]
        ):
            continue
        others = np.flatnonzero(numbers[first:last] != numbers[first - size : last - size])
        length = min(int(others[0]) if len(others) else last - first, size)
        if length in (size, last - first):
            return length
        return length if 2 * length >= size and numbers[first + length] not in usual else 0
    return 0


def is_regular(kernels: KernelSequence, stretch: LayerStretch) -> bool:
    """Return whether most kernels that the usual layer has once come as often as there are layers.

    Or, where layers differ, whether attention does and hardly any of them comes twice in a layer, or whether this is so of the
    layers with each attention. Otherwise layers lack kernels, or some are two.
    """
    size = int(kernels.numbers.max()) + 1
    layers = np.array(
        [
            np.bincount(kernels.numbers[first:last], minlength=size)
            for first, last in pairwise((*stretch.starts, stretch.end))
        ]
    )
    is_attention = np.zeros(size, np.bool_)
    is_attention[kernels.numbers[kernels.is_attention]] = True
    usual = np.bincount(kernels.numbers[stretch.first : stretch.last], minlength=size)
    if _is_regular_kind(layers, usual, is_attention):
        return True
    kinds: dict[bytes, list[int]] = {}
    for number, layer in enumerate(layers):
        kinds.setdefault((layer[is_attention] > 0).tobytes(), []).append(number)
    # few of a kind are odd layers
    members = [numbers for numbers in kinds.values() if len(numbers) >= _SEVERAL]
    return (
        len(members) > 1
        and sum(map(len, members)) >= _ALIKE * len(layers)
        and all(
            _is_regular_kind(layers[numbers], layers[numbers[len(numbers) // 2]], is_attention) for numbers in members
        )
    )


def _is_regular_kind(layers: Integers, usual: Integers, is_attention: Flags) -> bool:
    """Return whether layers are regular by how often they and the usual one of them have every kernel; see is_regular."""
    once = np.flatnonzero(usual == 1)
    counts = layers[:, once].sum(axis=0)
    if (counts == len(layers)).sum() >= _REGULAR * len(once):
        return len(once) > 0
    of_attention = is_attention[once]
    return bool(
        of_attention.any()
        and (counts[of_attention] == len(layers)).all()
        and (layers[:, once].max(axis=0) <= 1).mean() >= _ALIKE
    )


def _find_inside(piece: KernelSequence, known: dict[bytes, list[LayerStretch]]) -> list[LayerStretch]:
    """Return the stretches of layers in a piece, from `known` where an equal piece was looked at before."""
    key = piece.numbers.tobytes()
    if key not in known:
        known[key] = find_stretches(piece)
    return known[key]


def _is_round(piece: KernelSequence, known: dict[bytes, list[LayerStretch]]) -> bool:
    """Return whether shorter layers are most of a piece that repeats, and have all of its attention."""
    outside = np.ones(len(piece.numbers), np.bool_)
    for stretch in _find_inside(piece, known):
        outside[stretch.starts[0] : stretch.end] = False
    return bool(outside.mean() <= 1 - _MOST and not piece.is_attention[outside].any())


def _find_best(kernels: KernelSequence, anchors: Collection[tuple[int, ...]] = ()) -> LayerStretch | None:
    """Return the stretch of layers that covers most; of those that cover about as much, one of the shortest layers.

    Of these it is the one with most layers that have attention, then with the number on which most anchors agree.
    """
    tried = _places_of(kernels.numbers, anchors) if anchors else _try_anchors(kernels.numbers)
    runs: list[_AnchoredRun] = []
    most = 0
    for anchor in tried:
        # most anchors lie in a part of what the first ones cover
        if anchor.most_kernels >= _AS_GOOD * most:
            found = list(_runs_of(kernels, anchor))
            most = max((most, *(run.kernel_count for run in found)))
            runs += found
    if not runs:
        return None
    good = [run for run in runs if run.kernel_count >= _AS_GOOD * most]
    shortest = min(run.last - run.first for run in good)
    completed = [(_complete_run(kernels, run), run) for run in good if _AS_GOOD * (run.last - run.first) <= shortest]
    votes: Counter[int] = Counter()
    for stretch, run in completed:
        votes[len(stretch.starts)] += run.votes
    return max(
        (stretch for stretch, _ in completed),
        key=lambda stretch: (
            _count_attention(kernels, stretch),
            votes[len(stretch.starts)],
            stretch.end - stretch.starts[0],
            stretch,
        ),
    )


def _count_attention(kernels: KernelSequence, stretch: LayerStretch) -> int:
    """Return how many of the layers have attention, less those that have none where others do."""
    having = np.logical_or.reduceat(kernels.is_attention[: stretch.end], stretch.starts)
    return int(having.sum() - (~having).sum()) if having.any() else 0


class _Anchor(NamedTuple):
    """The places of a kernel, or of `window` kernels in a row; `votes` others come as these do, but for a shift."""

    places: Integers
    window: int
    votes: int

    @property
    def most_kernels(self) -> int:
        """The kernels that a run of it has at the most: all between the places, and the longest layer behind the last."""
        return int(self.places[-1] - self.places[0] + np.diff(self.places).max())


def _places_of(numbers: Integers, anchors: Collection[tuple[int, ...]]) -> Iterator[_Anchor]:
    """Yield the places of known anchors that come often enough."""
    for anchor in anchors:
        size = max(len(numbers) - len(anchor) + 1, 0)
        is_here = np.ones(size, np.bool_)
        for shift, number in enumerate(anchor):
            is_here &= numbers[shift : shift + size] == number
        places = np.flatnonzero(is_here)
        if len(places) >= LEAST_LAYERS:
            yield _Anchor(places, len(anchor), 1)


def _try_anchors(numbers: Integers) -> Iterator[_Anchor]:
    """Yield the anchors that come often enough. Of many those that span most and come least often are yielded."""
    found: dict[bytes, _Anchor] = {}
    for window in _WINDOWS:
        if len(numbers) <= window:
            break
        names = _hash_windows(numbers, window)
        order = np.argsort(names, kind="stable")
        edges = [0, *(np.flatnonzero(np.diff(names[order])) + 1).tolist(), len(order)]
        for first, last in pairwise(edges):
            if last - first >= LEAST_LAYERS and order[last - 1] - order[first] >= (LEAST_LAYERS - 1) * LEAST_KERNELS:
                places = order[first:last]
                key = np.diff(places).tobytes()
                same = found.get(key, _Anchor(places, window, 0))
                found[key] = same._replace(votes=same.votes + 1)
    ranked = sorted(found.values(), key=lambda anchor: (-_regular_length(anchor.places), len(anchor.places)))
    yield from ranked[:_MOST_ANCHORS]


def _hash_windows(numbers: Integers, window: int) -> Integers:
    """Return a number for every `window` kernels in a row, equal for equal ones."""
    found = np.zeros(len(numbers) - window + 1, np.uint64)
    for shift in range(window):
        found = found * _FACTOR + numbers[shift : shift + len(found)].astype(np.uint64) + np.uint64(1)
    return found.astype(np.int64)


def _regular_length(places: Integers) -> int:
    """Return how many kernels lie between anchors that are about as far apart as the next two."""
    gaps = np.diff(places)
    near = np.abs(np.diff(gaps)) <= (1 - _TAKING_TURNS) * np.maximum(gaps[1:], gaps[:-1])
    return int(gaps[np.append(near, False) | np.insert(near, 0, False)].sum())


def _runs_of(kernels: KernelSequence, anchor: _Anchor) -> Iterator[_AnchoredRun]:
    """Yield the runs of layers between the places of an anchor."""
    places = anchor.places
    kinds, examples = _kinds_of(kernels.numbers, places)
    bags = _bags_of(kernels.numbers, places, examples)
    sizes = bags.sum(axis=1)
    has_attention = [bool(kernels.is_attention[places[piece] : places[piece + 1]].any()) for piece in examples]
    members = np.bincount(kinds[kinds >= 0], minlength=len(examples))
    seen: set[tuple[int, int]] = set()
    for usual in np.argsort(-members * sizes, kind="stable").tolist():
        if members[usual] < LEAST_LAYERS - 1 or sizes[usual] < LEAST_KERNELS:
            continue
        example = examples[usual]
        is_layer = (
            has_attention[usual] or kernels.is_heavy[places[example] : places[example + 1]].sum() >= _LEAST_PRODUCTS
        )
        if not is_layer:
            continue
        alike = 2 * np.minimum(bags, bags[usual]).sum(axis=1) / (sizes + sizes[usual])
        alike[np.asarray(has_attention) != has_attention[usual]] = 0
        alike[np.minimum(sizes, sizes[usual]) < _NEAR * np.maximum(sizes, sizes[usual])] = 0
        grade = np.zeros(len(examples) + 1, np.int8)
        grade[:-1] += alike >= (_RELATED if has_attention[usual] else _TAKING_TURNS)
        grade[:-1] += (alike >= _ALIKE) | (alike >= _TAKING_TURNS) & (members >= _SEVERAL)
        for first, last in _stretches_of(grade[kinds]):
            if (first, last) not in seen:
                seen.add((first, last))
                yield _AnchoredRun(
                    tuple(places[first : last + 1].tolist()),
                    int(places[example]),
                    int(places[example + 1]),
                    anchor.window,
                    anchor.votes,
                )


def _kinds_of(numbers: Integers, places: Integers) -> tuple[Integers, list[int]]:
    """Return the kind of each piece between anchors, equal for equal pieces, and the first piece of each kind.

    The rarest of too many kinds are -1.
    """
    sums = np.concatenate(
        (np.zeros(1, np.uint64), np.cumsum(_list_powers(len(numbers)) * (numbers.astype(np.uint64) + np.uint64(1))))
    )
    inverse = _list_powers(len(numbers), _INVERSE)
    names = (sums[places[1:]] - sums[places[:-1]]) * inverse[places[:-1]]
    _, examples, kinds, counts = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[:_MOST_KINDS]
    renamed = np.full(len(counts), -1, np.int64)
    renamed[kept] = np.arange(len(kept))
    return renamed[kinds], examples[kept].tolist()


def _list_powers(length: int, factor: np.uint64 = _FACTOR) -> npt.NDArray[np.uint64]:
    """Return the first `length` powers of `factor`, modulo 2**64."""
    return np.cumprod(np.concatenate((np.ones(1, np.uint64), np.full(max(length - 1, 0), factor))), dtype=np.uint64)[
        :length
    ]


def _bags_of(numbers: Integers, places: Integers, pieces: Sequence[int]) -> Integers:
    """Return a row per piece: how often it has each kernel."""
    size = int(numbers.max()) + 1
    return np.array([np.bincount(numbers[places[piece] : places[piece + 1]], minlength=size) for piece in pieces])


def _stretches_of(grades: npt.NDArray[np.int8]) -> Iterator[tuple[int, int]]:
    """Yield the runs [first, last) of pieces that are of a kind of the list.

    Between them, single ones may be only related, one or a tenth of all; a few that are only related belong to both ends.
    """
    full = np.flatnonzero(grades == _OF_KIND)
    gaps = np.diff(full)
    joins = (gaps == 1) | (gaps == 2) & (grades[full[1:] - 1] == _IS_RELATED)  # noqa: PLR2004 - a single one between them
    for begin, stop in pairwise([0, *(np.flatnonzero(~joins) + 1).tolist(), len(full)]):
        if stop - begin < LEAST_LAYERS - 1:
            continue
        first, last = int(full[begin]), int(full[stop - 1]) + 1
        if stop - begin + 1 < _ALIKE * (last - first):
            continue
        before = _count_leading(grades[:first][::-1])
        after = _count_leading(grades[last:])
        yield first - before * (before < LEAST_LAYERS), last + after * (after < LEAST_LAYERS)


def _count_leading(grades: npt.NDArray[np.int8]) -> int:
    """Return how many grades from the first on are 1."""
    others = np.flatnonzero(grades != _IS_RELATED)
    return int(others[0]) if len(others) else len(grades)


def _complete_run(kernels: KernelSequence, run: _AnchoredRun) -> LayerStretch:
    """Return the layers of a run from their first kernels on: they repeat before the first anchor and behind the last, too."""
    numbers, usual = kernels.numbers, kernels.numbers[run.first : run.last]
    places = [*run.places]
    left = _count_agreeing(numbers[max(places[0] - len(usual), 0) : places[0]][::-1], usual[::-1])
    # the layers before and behind odd ones
    while left == len(usual):
        places.insert(0, places[0] - len(usual))
        left = _count_agreeing(numbers[max(places[0] - len(usual), 0) : places[0]][::-1], usual[::-1])
    while len(places) > 1 and np.array_equal(numbers[places[-1] : places[-1] + len(usual)], usual):
        places.append(places[-1] + len(usual))
    whole = len(usual) - left
    right = _count_agreeing(numbers[places[-1] : places[-1] + whole], usual[:whole])
    starts, end = _align_starts(numbers, places, usual, left), places[-1] + right
    if right < whole:
        # the last layer ends otherwise, or is none
        related = _count_related(kernels.cut_out(starts[-1], len(numbers)), kernels.cut_out(run.first, run.last))
        has_attention = (
            kernels.is_attention[run.first : run.last].any() and kernels.is_attention[starts[-1] : end].any()
        )
        if not related and not has_attention and 2 * (left + right) < len(usual):
            end = starts.pop()
        end = max(end, starts[-1] + related) if related else end
    anchor = tuple(numbers[run.first : run.first + run.window].tolist())
    return LayerStretch(tuple(starts), end, run.first, run.last, anchor)


def _align_starts(numbers: Integers, places: Sequence[int], usual: Integers, left: int) -> list[int]:
    """Return where layers begin: `left` kernels before their anchors at `places`, where they begin as the usual one does.

    One that begins otherwise begins where the layer before it ends, if that ends as usual.
    """
    starts = [place - left for place in places]
    head, tail = usual[len(usual) - left :], usual[: len(usual) - left]
    for number, (before, place) in enumerate(pairwise(places), 1):
        if not np.array_equal(numbers[place - left : place], head):
            end = before + len(tail)
            if end < place and np.array_equal(numbers[before:end], tail):
                starts[number] = end
    return starts


def _extend_stretches(
    kernels: KernelSequence, stretches: list[LayerStretch], complete: Collection[LayerStretch]
) -> Iterator[LayerStretch]:
    """Yield the stretches, in their order, with layers in front that have the same attention and go on otherwise.

    Without any such layers, there is a layer more at an end if there is one that is only related to the others. Those in
    `complete` stay as they are: they have been extended inside of their round.
    Without any such layers, there is a layer more at an end if there is one that is only related to the others. Stretches in
    `complete` have been extended inside of their round: they get only layers more that are equal to the usual one.
    """
    before = 0
    for stretch, later in zip_longest(stretches, stretches[1:]):
        if stretch in complete:
            grown = _add_equal(kernels, stretch, before, later.starts[0] if later else len(kernels.numbers))
            yield grown
            before = grown.end
            continue
        usual = kernels.cut_out(stretch.first, stretch.last)
        starts, end = list(stretch.starts), stretch.end
        leading = _find_leading(kernels, before, starts)
        if leading:
            starts = [*leading, *starts]
        elif first := _count_related(kernels.cut_out(before, starts[0]).reverse_order(), usual):
            starts.insert(0, starts[0] - first)
        if last := _count_related(kernels.cut_out(end, later.starts[0] if later else len(kernels.numbers)), usual):
            starts.append(end)
            end += last
        yield stretch._replace(starts=tuple(starts), end=end)
        before = end


def _add_equal(kernels: KernelSequence, stretch: LayerStretch, before: int, after: int) -> LayerStretch:
    """Return a stretch with the layers around it, within [before, after), that are equal to the one in its middle."""
    numbers, starts, end = kernels.numbers, [*stretch.starts], stretch.end
    middle = len(starts) // 2
    usual = numbers[starts[middle - 1] : starts[middle]]
    size = len(usual)
    if starts[-1] + size <= after and np.array_equal(numbers[starts[-1] : starts[-1] + size], usual):
        end = max(end, starts[-1] + size)
    while starts[0] - size >= before and np.array_equal(numbers[starts[0] - size : starts[0]], usual):
        starts.insert(0, starts[0] - size)
    while end + size <= after and np.array_equal(numbers[end : end + size], usual):
        starts.append(end)
        end += size
    return stretch._replace(starts=tuple(starts), end=end)


def _join_leading(kernels: KernelSequence, stretches: Sequence[LayerStretch]) -> Iterator[LayerStretch]:
    """Yield the stretches, with one that directly follows another as one if they are equal up to their attention."""
    waiting: LayerStretch | None = None
    for stretch in stretches:
        joined = stretch
        if (
            waiting
            and waiting.end == stretch.starts[0]
            and _find_leading(kernels, waiting.starts[0], stretch.starts) == [*waiting.starts]
        ):
            joined = stretch._replace(starts=(*waiting.starts, *stretch.starts))
            waiting = None
        if waiting:
            yield waiting
        waiting = joined
    if waiting:
        yield waiting


def _find_leading(kernels: KernelSequence, before: int, starts: Sequence[int]) -> list[int]:
    """Return where layers begin between `before` and the first of `starts` that are as the others up to their attention.

    They follow one another up to that one, as dense layers before those of experts do, with no other attention between them.
    """
    middle = len(starts) // 2
    first, last = starts[middle - 1], starts[middle]
    inside = np.flatnonzero(kernels.is_attention[first:last])
    if not len(inside):
        return []
    head = kernels.numbers[first : first + int(inside[-1]) + 1]
    part = kernels.numbers[before : starts[0]]
    if len(head) < LEAST_KERNELS or len(part) < len(head):
        return []
    is_here = (np.lib.stride_tricks.sliding_window_view(part, len(head)) == head).all(axis=1)
    places = (before + np.flatnonzero(is_here)).tolist()
    if not places or kernels.is_attention[places[0] : starts[0]].sum() != len(places) * len(inside):
        return []
    return places


def _count_related(kernels: KernelSequence, usual: KernelSequence) -> int:
    """Return how many of the first kernels are a layer that is related to the usual one; 0 for none."""
    near = kernels.cut_out(0, int(len(usual.numbers) / _NEAR))
    has_attention = bool(usual.is_attention.any())
    lengths = np.arange(1, len(near.numbers) + 1)
    left = Counter(usual.numbers.tolist())
    shared = np.zeros(len(lengths), np.bool_)
    for place, number in enumerate(near.numbers.tolist()):
        shared[place] = left[number] > 0
        left[number] -= 1
    alike = 2 * np.cumsum(shared) / (lengths + len(usual.numbers))
    alike[lengths < _NEAR * len(usual.numbers)] = 0
    alike[(np.cumsum(near.is_attention) > 0) != has_attention] = 0
    best = int(alike.argmax()) if len(alike) else 0
    return best + 1 if len(alike) and alike[best] >= (_RELATED if has_attention else _TAKING_TURNS) else 0


def _count_agreeing(found: Integers, usual: Integers) -> int:
    """Return how many kernels from the first on agree with the usual ones, over single others where more agree behind them."""
    length = min(len(found), len(usual))
    scores = np.cumsum(np.where(found[:length] == usual[:length], 1, -_COST_OF_OTHER))
    best, end = 0, 0
    for place, score in enumerate(scores.tolist(), 1):
        if score > best:
            best, end = score, place
        elif score < best - _COST_OF_OTHER * 2:
            break
    return end
