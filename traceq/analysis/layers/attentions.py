"""Layers of several kinds that repeat as one: they are cut apart where each of them has its own attention."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from traceq.analysis.layers.repeats import KernelSequence, LayerStretch

# Products from one attention to that of the next layer: out of the first, up, down, into the second.
_LEAST_BETWEEN = 4
# Runs of products with other kernels between them there: up to down may be one run, the others are not.
_LEAST_RUNS = 3
# Products of a layer behind its attention: out, up, down. With fewer another attention of the same layer follows.
_LEAST_BEHIND = 3
# Layers of which each is only a part of one.
_SEVERAL = 3
# Products at the end of a layer by which the same end is found in a layer with another attention: up, down.
_LEAST_COMMON = 2


UNCLEAR_ATTENTION = "what repeats has attention more than once, and may be one layer or several"

ATTENTION_BESIDE = "beside what repeats there is attention, too, so that layers of another kind may belong to it"


class _AttentionSite(NamedTuple):
    """The kernels [first, last) from the first attention kernel to the last one that belong to one layer for sure."""

    first: int
    last: int


class _Products(NamedTuple):
    """Masks of the kernels that are products outside of attention, and of those that are or may be."""

    known: npt.NDArray[np.bool_]
    possible: npt.NDArray[np.bool_]


def split_layers(
    kernels: KernelSequence, stretch: LayerStretch, before: int, after: int, *, is_backward: bool
) -> LayerStretch | None:
    """Return a stretch with a layer for every attention of its layers; None where it is unclear whether they have several.

    It may grow at both ends, within [before, after), by layers that are equal to one of it. A layer that has two attentions,
    as in a decoder behind an encoder, stays whole, or is made whole: between them are no products but those out of the first
    and into the second. A backward pass is looked at from its end.
    """
    size = len(kernels.numbers)
    ends = (*stretch.starts, stretch.end)
    if is_backward:
        kernels, ends = kernels.reverse_order(), tuple(size - end for end in reversed(ends))
    products = _find_products(kernels, ends[0], ends[-1])
    whole = _join_parts(kernels, products, ends)
    middle = max((len(ends) - 1) // 2, 1)
    edges: list[int] | None = []
    if whole == ends and len(_find_sites(kernels, products, ends[middle - 1], ends[middle])) > 1:
        edges = _find_edges(kernels, products, ends)
    elif whole == ends and _has_only_attention(kernels, ends[middle - 1], ends[middle]):
        return None
    if edges is None:
        return None
    ends = tuple(sorted({*whole, *edges}))
    if is_backward:
        kernels, ends = kernels.reverse_order(), tuple(size - end for end in reversed(ends))
    found = stretch._replace(starts=ends[:-1], end=ends[-1])
    return _grow_stretch(kernels, found, before, after) if edges else found


def _find_products(kernels: KernelSequence, first: int, last: int) -> _Products:
    """Return the products outside of attention. A softmax between two products is attention with both, if there is no other."""
    known = kernels.is_heavy & ~kernels.is_attention
    possible = kernels.is_possible_product.copy()
    if not (kernels.is_heavy & kernels.is_attention)[first:last].any() and known.any():
        places = np.flatnonzero(known)
        behind = np.searchsorted(places, np.flatnonzero(kernels.is_attention))
        own = places[np.unique(np.clip(np.concatenate((behind - 1, behind)), 0, len(places) - 1))]
        known[own] = possible[own] = False
    return _Products(known, possible)


def _join_parts(kernels: KernelSequence, products: _Products, ends: tuple[int, ...]) -> tuple[int, ...]:
    """Return the ends of layers without those between layers of which many have no products behind their attention but one.

    Only if another one that has them follows on everyone: the second part of a layer with two attentions.
    """
    behind = []
    for first, last in pairwise(ends):
        attention = np.flatnonzero(kernels.is_attention[first:last])
        behind.append(int(products.possible[first + attention[-1] : last].sum()) if len(attention) else -1)
    parts = [number for number, count in enumerate(behind) if 0 <= count < _LEAST_BEHIND]
    if len(parts) < _SEVERAL or not {number + 1 for number in parts}.isdisjoint(parts):
        return ends
    return tuple(end for number, end in enumerate(ends) if number - 1 not in parts or number == len(behind))


def count_sites(kernels: KernelSequence) -> int:
    """Return how often there is attention with what may be a product between it and the attention before."""
    places = np.flatnonzero(kernels.is_attention)
    products = np.cumsum(kernels.is_possible_product)[places]
    return int(len(places) > 0) + int((np.diff(products) > 0).sum())


def has_attention_beside(kernels: KernelSequence, starts: Sequence[int], part: tuple[int, int]) -> bool:
    """Return whether the part [first, last) before or behind layers has attention within the length of the longest of them.

    A softmax counts only if layers have it: others are of routers and samplers.
    """
    size = int(np.diff(starts).max()) if len(starts) > 1 else 0
    first, last = part
    near = slice(max(first, last - size), last) if last <= starts[0] else slice(first, min(last, first + size))
    is_own = np.isin(kernels.numbers[near], kernels.numbers[starts[0] : starts[-1]])
    return bool((kernels.is_attention[near] & (kernels.is_heavy[near] | is_own)).any())


def has_odd_attention(kernels: KernelSequence, ends: Sequence[int]) -> bool:
    """Return whether the first or last of several layers has attention more often than all between them: it may be two."""
    is_fused = kernels.is_attention & kernels.is_heavy
    layers = [kernels.cut_out(first, last) for first, last in pairwise(ends)]
    if is_fused[ends[0] : ends[-1]].any():
        # of routers is the softmax
        layers = [layer._replace(is_attention=layer.is_attention & layer.is_heavy) for layer in layers]
    counts = [count_sites(layer) for layer in layers]
    return len(counts) > 2 and max(counts[0], counts[-1]) > max(counts[1:-1])  # noqa: PLR2004 - some are between


def _find_sites(kernels: KernelSequence, products: _Products, first: int, last: int) -> list[_AttentionSite]:
    """Return the attention between two kernels, apart where a layer can end between one and the next."""
    sites: list[_AttentionSite] = []
    for place in (first + np.flatnonzero(kernels.is_attention[first:last])).tolist():
        if sites:
            between = products.known[sites[-1].last : place]
            possible = int(products.possible[sites[-1].last : place].sum())
            runs = between[:1].sum() + (between[1:] & ~between[:-1]).sum()
            if possible < _LEAST_BETWEEN or (possible == between.sum() and runs < _LEAST_RUNS):
                sites[-1] = sites[-1]._replace(last=place + 1)
                continue
        sites.append(_AttentionSite(place, place + 1))
    return sites


def _has_only_attention(kernels: KernelSequence, first: int, last: int) -> bool:
    """Return whether a layer runs the same attention more than once, with fewer products between than two layers have.

    Then it may be several layers whose other products run beside their attention, in the same kernels.
    """
    places = first + np.flatnonzero(kernels.is_attention[first:last])
    products = np.cumsum(kernels.is_possible_product[first:last])[places - first]
    gaps = np.diff(products)
    around = kernels.is_possible_product[first:last].sum() - gaps.sum()
    is_again = len(np.unique(kernels.numbers[places])) == 1 and (gaps > 0).any()
    return bool(is_again and max(gaps.max(), around) < _LEAST_BETWEEN)


def _find_edges(kernels: KernelSequence, products: _Products, ends: tuple[int, ...]) -> list[int] | None:
    """Return where layers begin between two attentions of a layer, of those that lie between `ends`; None where that is unclear.

    What stands before the first attention of a layer, and what behind the last, tells where others begin and end; those tell
    of more.
    """
    sites = _find_sites(kernels, products, ends[0], ends[-1])
    known = np.array(ends)
    heads, tails = set[tuple[int, ...]](), set[tuple[int, ...]]()
    possible = frozenset(kernels.numbers[products.possible].tolist())
    unknown: list[tuple[int, int]] = []
    edges: list[int] = []
    for one, other in pairwise(sites):
        inside = known[(known >= one.last) & (known <= other.first)].tolist()
        if inside:
            tails.add(_numbers_of(kernels, one.last, inside[0]))
            heads.add(_numbers_of(kernels, inside[-1], other.first))
        else:
            unknown.append((one.last, other.first))
    while unknown:
        left = []
        for first, last in unknown:
            found = {first + edge for edge in _fitting_edges(_numbers_of(kernels, first, last), heads, tails, possible)}
            if len(found) > 1:
                return None
            if not found:
                left.append((first, last))
                continue
            (edge,) = found
            tail = _numbers_of(kernels, first, edge)
            if products.possible[first : first + len(tail)].sum() >= _LEAST_BEHIND:
                if products.known[first : first + len(tail)].sum() < _LEAST_BEHIND and not _is_tail(tail, tails):
                    return None
                edges.append(edge)
                tails.add(tail)
                heads.add(_numbers_of(kernels, edge, last))
        if len(left) == len(unknown):
            return None
        unknown = left
    return edges


def _is_tail(tail: tuple[int, ...], known: set[tuple[int, ...]]) -> bool:
    """Return whether `tail` ends a layer like the tails in `known`; all are kernels behind an attention.

    Kernels between two attentions of one layer are fewer, or a prefix of those behind the second one.
    """
    return all(2 * len(tail) >= len(other) and (tail == other or other[: len(tail)] != tail) for other in known)


def _fitting_edges(
    part: tuple[int, ...], heads: set[tuple[int, ...]], tails: set[tuple[int, ...]], products: frozenset[int]
) -> Iterator[int]:
    """Yield after how many kernels of a part between two attentions a known head or tail says that a layer ends.

    Without any that fits, an end of a tail with two products tells, where it comes once.
    """
    is_known = False
    for head in heads:
        if not products.isdisjoint(head) and part[-len(head) :] == head:
            is_known = True
            yield len(part) - len(head)
    for tail in tails:
        if not products.isdisjoint(tail) and part[: len(tail)] == tail:
            is_known = True
            yield len(tail)
    for tail in () if is_known else tails:
        yield from _fitting_ends(part, tail, products)


def _fitting_ends(part: tuple[int, ...], tail: tuple[int, ...], products: frozenset[int]) -> Iterator[int]:
    """Yield where the shortest end of a tail that has two products with another kernel between them ends in the part, if once."""
    for size in range(1, len(tail) + 1):
        end = tail[-size:]
        if (
            end[0] in products
            and sum(number in products for number in end) >= _LEAST_COMMON
            and not products.issuperset(end)
        ):
            places = [place for place in range(len(part) - size + 1) if part[place : place + size] == end]
            if len(places) == 1:
                yield places[0] + size
            return


def _numbers_of(kernels: KernelSequence, first: int, last: int) -> tuple[int, ...]:
    return tuple(kernels.numbers[first:last].tolist())


def _grow_stretch(kernels: KernelSequence, stretch: LayerStretch, before: int, after: int) -> LayerStretch:
    """Return a stretch with all layers in front and behind that are equal to one of it."""
    kinds = {_numbers_of(kernels, *ends) for ends in pairwise((*stretch.starts, stretch.end))}
    starts, end = list(stretch.starts), stretch.end
    while sizes := [
        len(kind) for kind in kinds if _numbers_of(kernels, max(starts[0] - len(kind), before), starts[0]) == kind
    ]:
        starts.insert(0, starts[0] - max(sizes))
    while sizes := [len(kind) for kind in kinds if _numbers_of(kernels, end, min(end + len(kind), after)) == kind]:
        starts.append(end)
        end += max(sizes)
    return stretch._replace(starts=tuple(starts), end=end)
