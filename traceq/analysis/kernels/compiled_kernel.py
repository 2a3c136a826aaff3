"""Kernels that torch.compile made: the operators that it fused in each, and the lines of the program that these come from."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from traceq.analysis.kernels.compiled import Compiled, Origin
from traceq.database.sql import run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import duckdb

# Kinds by the three letters in names: triton_poi_fused_add_relu_3.
_KINDS = {
    "poi": "pointwise",
    "red": "reduction",
    "per": "persistent reduction",
    "tem": "template",
    "for": "foreach",
    "spl": "split scan",
    "coo": "cooperative reduction",
    "mix": "mixed order reduction",
}
_NAME = re.compile(r"^triton_([a-z]{3})_fused_?(.*?)_?\d+$")

# Operators of ATen with more than one word in their names, as far as Inductor fuses them; those of the trace are added.
_ATEN = (
    "_adaptive_avg_pool2d _assert_async _assert_scalar _foreach_add _fused_rms_norm _log_softmax"
    " _log_softmax_backward_data _native_batch_norm_legit _native_batch_norm_legit_functional"
    " _native_batch_norm_legit_no_training _scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention"
    " _scaled_dot_product_flash_attention _softmax _softmax_backward_data _to_copy _unsafe_index _unsafe_index_put"
    " _unsafe_view as_strided avg_pool2d avg_pool2d_backward bitwise_and bitwise_not bitwise_or bitwise_xor clamp_max"
    " clamp_min constant_pad_nd convolution_backward elu_backward embedding_dense_backward floor_divide full_like"
    " gelu_backward hardsigmoid_backward hardswish_backward hardtanh_backward index_add index_put index_select leaky_relu"
    " leaky_relu_backward lift_fresh_copy log_sigmoid_backward log_sigmoid_forward logical_and logical_not logical_or"
    " logical_xor masked_fill max_pool2d_with_indices max_pool2d_with_indices_backward mse_loss mse_loss_backward"
    " native_batch_norm native_batch_norm_backward native_dropout native_dropout_backward native_group_norm"
    " native_group_norm_backward native_layer_norm native_layer_norm_backward new_empty new_full new_ones new_zeros"
    " nll_loss_backward nll_loss_forward ones_like rand_like randn_like reflection_pad2d rms_norm scalar_tensor scaled_mm"
    " select_backward select_scatter sigmoid_backward silu_backward slice_backward slice_scatter smooth_l1_loss"
    " softplus_backward split_with_sizes sym_size tanh_backward threshold_backward upsample_bilinear2d upsample_nearest2d"
    " var_mean zeros_like"
)


class _Kernel(NamedTuple):
    """A kernel of the trace: its name, and the name of the generated file that holds it (None if unknown)."""

    name: str
    hash: str | None


def fill_compiled(connection: duckdb.DuckDBPyConnection, trace_id: int, compiled: Sequence[Compiled]) -> None:
    """Fill the table compiled_kernel: a row for each kernel of torch.compile that ran.

    It gets the kind, operators and lines that its description in `compiled` tells, or else its name.
    """
    found = run(connection, "analysis/kernels/compiled_used.sql").fetchall()
    if not found:
        return
    names = connection.execute(
        "select distinct name from cpu_slice where kind = 'op' union select name from graph_operator"
    )
    words = {*_ATEN.split()} | {name.rpartition("::")[2] for (name,) in names.fetchall() if "::" in name}
    by_name: defaultdict[str, list[Compiled]] = defaultdict(list)
    for kernel in compiled:
        by_name[kernel.name].append(kernel)
    rows = [_row_of(_Kernel(name, hash_), by_name[name], words) for name, hash_, *_ in found]
    columns = list(zip(*rows, strict=True))
    connection.register(
        "_rows",
        pa.table(
            {
                "name": pa.array([name for name, *_ in found], pa.string()),
                "kernel_hash": pa.array([hash_ for _, hash_, *_ in found], pa.string()),
                **{
                    column: pa.array(values, pa.string())
                    for column, values in zip(("kind", "operators", "lines", "code", "told_by"), columns, strict=True)
                },
            }
        ),
    )
    run(connection, "analysis/kernels/compiled_kernel.sql", trace_id=trace_id)
    connection.unregister("_rows")


def _row_of(kernel: _Kernel, told: Sequence[Compiled], words: Collection[str]) -> tuple[str | None, ...]:
    """Return kind, operators, lines, code and source ("provenance", "code" or "name") of a kernel; None for what is unknown."""
    kind, fused = parts_of(kernel.name, words)
    origins = _find_origins(kernel, told)
    if origins is None:
        return kind, ", ".join(fused) or None, None, None, "name" if fused else None
    operators = {origin.operator for origin in origins[0] if origin.operator}
    places = sorted({(origin.line, origin.code) for origin in origins[0] if origin.line}, key=str)
    return (
        kind,
        ", ".join(sorted(operators) or fused) or None,
        "\n".join(line for line, _ in places) or None,
        "\n".join(code or "" for _, code in places) or None,
        origins[1],
    )


def _find_origins(kernel: _Kernel, told: Sequence[Compiled]) -> tuple[tuple[Origin, ...], str] | None:
    """Return the origins of the kernel and their source ("provenance" or "code").

    Descriptions in `told` from the kernel's own generated file count first, else those that name no file (all, if the kernel's
    file is unknown). None without any, or where they differ.
    """
    same = [kernel_told for kernel_told in told if kernel_told.hash == kernel.hash is not None]
    same = same or [kernel_told for kernel_told in told if kernel.hash is None or kernel_told.hash is None]
    different = {kernel_told.origins for kernel_told in same}
    return (same[0].origins, same[0].told_by) if len(different) == 1 else None


def parts_of(name: str, words: Collection[str]) -> tuple[str | None, list[str]]:
    """Return the kind of a compiled kernel and the operators in its name; (None, []) for other names.

    triton_poi_fused_add_relu_3 is pointwise, of add and relu. Names join operators by "_", which names of operators contain,
    too: at each place the longest operator in `words` counts. The kind is None if its three letters are unknown.
    """
    found = _NAME.match(name)
    if found is None:
        return None, []
    return _KINDS.get(found[1]), list(_split(found[2].split("_") if found[2] else [], words))


def _split(parts: Sequence[str], words: Collection[str]) -> Iterator[str]:
    """Yield the operators in a name that was split at "_"; at each place the longest that is in `words`, else one part."""
    at = 0
    while at < len(parts):
        ends = range(len(parts), at, -1)
        end = next((end for end in ends if "_".join(parts[at:end]) in words), at + 1)
        word = "_".join(parts[at:end])
        if word:
            yield word
        at = end
