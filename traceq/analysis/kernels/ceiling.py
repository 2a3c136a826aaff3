"""The least time that an operator can take on a GPU, and what libraries reach: by tiles and waves of products, and by bytes.

A product of m x k by k x n is cut into tiles of the result, one block of threads each. The GPU works through blocks in waves, as
many at a time as it has multiprocessors, so a last wave that is nearly empty takes as long as a full one, and a tile at the edge
as long as a whole one (NVIDIA, "Matrix Multiplication Background User's Guide", sections on tile and wave quantization). Cutting
k in parts makes more blocks, whose sums must be added up (split-K: CUTLASS, "Efficient GEMM in CUDA").
"""

from __future__ import annotations

from math import ceil, inf
from typing import NamedTuple

# What libraries choose from, of either orientation: rows and columns of the result in one block. The larger ones are those of
# NVIDIA's guide (256x128, 128x128, 256x64, 128x64, 64x64) and of CUTLASS's profiler; the narrow ones those of products with few
# rows, as in decoding.
_SIDES = (16, 32, 64, 128, 256)
_LARGEST_TILE = 256 * 128
TILES = tuple((rows, columns) for rows in _SIDES for columns in _SIDES if rows * columns <= _LARGEST_TILE)

# Rows of queries in one block of flash attention: kBlockM of FlashAttention-2 and -3 (64 or 128, of wide heads 64).
_QUERY_TILES = (64, 128)

# Parts of k, and of the keys (flash decoding).
_SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)

# A part of k is a multiple of this: the depth of a stage in CUTLASS's kernels (32 to 64 elements).
_DEPTH = 32

# Assumed: a tile needs operands at a rate of 1/rows + 1/columns, and from 128x128 on caches keep up. NVIDIA's guide only gives
# the order: "larger tiles are more efficient".
_FULL_REUSE = 128 * 128 / (128 + 128)

# Of the peak, at clocks that last and without the start and end of the loop over k: cuBLAS at large sizes reaches 0.65 to 0.85
# (CUTLASS's published profiles of A100 and H100). The same share is a threshold of slow-matmul.
SUSTAINED = 0.7

# Backward attention: FlashAttention-2 reaches up to 0.63 of an A100's peak, forward up to 0.73 (arXiv 2307.08691, section 4.1).
SUSTAINED_BACKWARD = 0.6

# Of the bandwidth: what STREAM and bandwidthTest reach (0.8 to 0.93).
STREAMED = 0.8

# Start and end of a kernel, ns. At the least: as the shortest kernels that profilers record (MI300X: 0.32 us). Usually: what
# rules take for start and end of a kernel that fills the GPU.
LEAST_START, USUAL_START = 300, 5000

# The largest last-level cache of GPUs of a compute capability, bytes (whitepapers of V100, Turing, A100, GA102, Ada, H100 and
# Blackwell, of the full chip): what lies there need not come from memory.
_CACHES = {
    "7.0": 6 << 20,
    "7.2": 6 << 20,
    "7.5": 6 << 20,
    "8.0": 48 << 20,
    "8.6": 6 << 20,
    "8.7": 8 << 20,
    "8.9": 96 << 20,
    "9.0": 60 << 20,
    "10.0": 126 << 20,
    "10.3": 126 << 20,
    "12.0": 128 << 20,
}
# The largest of any: Infinity Cache of AMD's MI300X (CDNA 3 whitepaper).
_LARGEST_CACHE = 256 << 20

# Filters of 3x3 need a quarter of the multiplications by Winograd's F(4x4, 3x3) (arXiv 1509.09308). Of larger ones Fourier
# transforms need still less: then only bytes say what is least.
_WINOGRAD, _WINOGRAD_POSITIONS = 4, 9


class Gpu(NamedTuple):
    """The limits of an operator on a GPU: its peak in the operator's type, and its memory. None: not known."""

    multiprocessors: int | None
    peak: float | None
    """FLOP/s, dense."""
    bandwidth: float | None
    """Bytes per second."""
    cache: int
    """Bytes of the last-level cache; where not known, of the largest there is."""


class Product(NamedTuple):
    """`batch` products of m x k by k x n."""

    batch: float
    m: float
    n: float
    k: float

    @property
    def flop_count(self) -> float:
        """Floating-point operations; a multiply and an add are two."""
        return 2 * self.batch * self.m * self.n * self.k


class OperatorWork(NamedTuple):
    """The products and bytes of an operator, and the part of them that no program can do without."""

    products: tuple[Product, ...] = ()
    """Products on tiles; none for operators that move bytes only."""
    bytes: float | None = None
    """To read every input and write every output once; None when not known."""
    least_bytes: float = 0
    """The part of `bytes` that surely lies in memory as it is: a broadcast input need not be as large as it looks."""
    share: float = 1
    """Of the products' operations, those that a library computes (half under a causal mask)."""
    least_share: float = 1
    """The same at the least; 0 where the products can be done in other ways."""
    tiles: tuple[tuple[int, int], ...] = TILES
    """Rows and columns of the tiles that libraries have; none where kernels do not work on tiles."""
    sustained: float = SUSTAINED
    """Share of the peak that libraries reach with full tiles and waves."""


class Ceiling(NamedTuple):
    """The times that an operator can take, ns; None where something is not known."""

    least: float | None
    """No program can take less: operations at the peak, bytes beyond the cache at the peak bandwidth, one launch."""
    reachable: float | None
    """What libraries reach in this shape: the best tiles and split of k, sustained peak and bandwidth, one launch."""
    filled: float | None
    """What they reach with as many operations and bytes in a shape that fills tiles and waves."""
    limit: str
    """What decides about `reachable`: peak, tiles (and waves), memory or launch; unknown."""
    tile: tuple[int, int] | None = None
    """Rows and columns of the best tile."""
    split: int = 1
    """Parts of k of the best choice."""
    waves: int | None = None
    """Waves of blocks of the best choice."""


class _Tiling(NamedTuple):
    """A choice of tiles, how often k is split, and the time that it takes."""

    dur: float
    """Seconds."""
    tile: tuple[int, int] | None
    split: int
    waves: int | None


def cache_of(compute_capability: str | None) -> int:
    """Return the bytes of the largest last-level cache of GPUs of a compute capability; None for other makers."""
    return _CACHES.get(compute_capability or "", _LARGEST_CACHE)


def causal_shares(queries: float, keys: float) -> tuple[float, float]:
    """Return the least and the largest share of pairs of a query and a key that a causal mask leaves.

    Of fewer queries than keys the first one may see the first key alone (is_causal of PyTorch), or the last one all keys, as in
    decoding and chunks of prompts (FlashAttention from 2.1 on). Of more queries the last ones see all keys, or the first none.
    """
    if not queries or not keys:
        return 1, 1
    shorter = min(queries, keys)
    triangle, rest = shorter * (shorter + 1) / 2, abs(queries - keys) * shorter
    return triangle / (queries * keys), (triangle + rest) / (queries * keys)


def matmul_work(product: Product, bytes_: float | None) -> OperatorWork:
    """Return the work of a product of matrices; `bytes_` as of OperatorWork.bytes."""
    return OperatorWork((product,), bytes_, bytes_ or 0)


def convolution_work(product: Product, window: float, bytes_: float | None) -> OperatorWork:
    """Return the work of a convolution as an implicit product: positions x filters, over channels x `window` positions.

    `product.batch` is the number of groups; kernels for several do not work on tiles.
    """
    return OperatorWork((product,), bytes_, bytes_ or 0, least_share=_filter_share(window), tiles=_conv_tiles(product))


def convolution_backward_work(product: Product, window: float, bytes_: float | None, *, gradients: int) -> OperatorWork:
    """Return the work of the backward pass of a convolution; `product` is the forward one, `gradients` 1 or 2.

    The gradient of the input sums over filters, that of the weight over positions.
    """
    batch, m, n, k = product
    products = (Product(batch, m, k, n), Product(batch, n, k, m))[:gradients]
    return OperatorWork(products, bytes_, bytes_ or 0, least_share=_filter_share(window), tiles=_conv_tiles(product))


def attention_work(
    product: Product, bytes_: float | None, *, group: float, is_causal: bool | None, backward: bool, windowed: bool
) -> OperatorWork:
    """Return the work of attention: of all heads queries x (widths of all products) over keys, as one product.

    `group`: how many heads of queries share keys and values; libraries put their queries on one tile (FlashAttention's
    pack_gqa). `is_causal` None: not known. `windowed`: it may leave out more than a causal mask does.
    """
    least, most = causal_shares(product.m, product.k)
    if not backward:
        product = product._replace(batch=product.batch / group, m=product.m * group)
    return OperatorWork(
        (product,),
        bytes_,
        # keys and values out of sight of a window are not read; the output is written, of about a quarter of all bytes
        0 if windowed else bytes_ or 0,
        share=most if is_causal else 1,
        least_share=0 if windowed else 1 if is_causal is False else least,
        tiles=tuple((rows, ceil(product.n)) for rows in _QUERY_TILES),
        sustained=SUSTAINED_BACKWARD if backward else SUSTAINED,
    )


def moving_work(bytes_: float | None, written: float | None) -> OperatorWork:
    """Return the work of an operator that only moves bytes, `written` of them into its outputs."""
    return OperatorWork((), bytes_, written or 0)


def find_ceiling(work: OperatorWork, gpu: Gpu) -> Ceiling:
    """Return how fast a GPU can do the work, and what limits it."""
    flops = sum(product.flop_count for product in work.products)
    tilings = [_choose_tiling(product, work, gpu) for product in work.products]
    computed = sum(tiling.dur for tiling in tilings) if gpu.peak else None
    plain = flops * work.share / (gpu.peak * work.sustained) if gpu.peak else None
    moved = work.bytes / (gpu.bandwidth * STREAMED) if work.bytes is not None and gpu.bandwidth else None
    start = USUAL_START * max(1, len(work.products)) / 1e9
    unknown = (flops and computed is None) or moved is None
    reachable = None if unknown else max(computed or 0, moved or 0) + start
    filled = None if unknown else max(plain or 0, moved or 0) + start
    best = max(tilings, key=lambda tiling: tiling.dur, default=_Tiling(0, None, 1, None))
    return Ceiling(
        _least_time(work, gpu) * 1e9,
        None if reachable is None else reachable * 1e9,
        None if filled is None else filled * 1e9,
        "unknown" if unknown else _name_limit(start, moved or 0, computed or 0, plain or 0),
        best.tile,
        best.split,
        best.waves,
    )


def _least_time(work: OperatorWork, gpu: Gpu) -> float:
    """Return the seconds below which no program gets, as far as the GPU is known."""
    flops = sum(product.flop_count for product in work.products) * work.least_share
    computed = flops / gpu.peak if gpu.peak else 0
    moved = max(0, work.least_bytes - gpu.cache) / gpu.bandwidth if gpu.bandwidth else 0
    return max(computed, moved, LEAST_START / 1e9)


def _choose_tiling(product: Product, work: OperatorWork, gpu: Gpu) -> _Tiling:
    """Return the tiles and the split of k that take the least time, by operations and by the sums to add up."""
    if not gpu.peak:
        return _Tiling(0, None, 1, None)
    sustained = gpu.peak * work.sustained
    if not work.tiles or not gpu.multiprocessors or not product.flop_count:
        return _Tiling(product.flop_count * work.share / sustained, None, 1, None)
    best = _Tiling(inf, None, 1, None)
    for tile in work.tiles:
        rows, columns = tile
        blocks = product.batch * ceil(product.m / rows) * ceil(product.n / columns)
        reuse = min(1, rows * columns / (rows + columns) / _FULL_REUSE) if work.tiles == TILES else 1
        for split in _SPLITS:
            depth = min(product.k, _round_up(product.k / split, _DEPTH))
            waves = ceil(blocks * split / gpu.multiprocessors)
            per_wave = 2 * rows * columns * depth * gpu.multiprocessors / (sustained * reuse)
            dur = waves * per_wave * work.share
            if split > 1:
                # sums in single precision, written once and read once, and a second start
                sums = 2 * 4 * split * product.batch * product.m * product.n
                dur += USUAL_START / 1e9 + (sums / (gpu.bandwidth * STREAMED) if gpu.bandwidth else 0)
            # of equals the larger tile, which is listed later
            if dur <= best.dur:
                best = _Tiling(dur, tile, split, waves)
            if depth <= _DEPTH:
                break
    return best


def _name_limit(start: float, moved: float, computed: float, plain: float) -> str:
    """Return the largest of the times of a kernel's start, of bytes and of operations; tiles where these cost a tenth or more."""
    if start > max(moved, computed):
        return "launch"
    if moved >= computed:
        return "memory"
    return "tiles" if computed > 1.1 * plain else "peak"


def _filter_share(window: float) -> float:
    """Return the share of the direct operations of a convolution that other algorithms need at the least."""
    if window <= 1:
        return 1
    return 1 / _WINOGRAD if window <= _WINOGRAD_POSITIONS else 0


def _conv_tiles(product: Product) -> tuple[tuple[int, int], ...]:
    return TILES if product.batch == 1 else ()


def _round_up(size: float, multiple: int) -> float:
    """Return the next multiple that is not smaller than `size`."""
    return ceil(size / multiple) * multiple
