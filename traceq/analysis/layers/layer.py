"""The table layer: GPU time by layer of the model, by the names of modules or else by the order of kernels."""

from __future__ import annotations

from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traceq.analysis.layers.named import NamedModule, find_lists, sum_named
from traceq.analysis.layers.ordered import sum_ordered
from traceq.analysis.layers.repeats import LEAST_KERNELS, LEAST_LAYERS
from traceq.analysis.layers.rows import OUTSIDE, DeviceLayers, LayerKey, LayerSum, StepKernels
from traceq.database.sql import relation, run, statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb
    import numpy.typing as npt

# Of the time of all compute kernels: where lists of modules have less, the order of kernels may tell more.
_MOST = 0.5
_ROWS_AT_ONCE = 122_880

_COLUMNS = {
    "device": pa.int32(), "place": pa.int32(), "list": pa.string(), "layer": pa.int32(), "layers": pa.int32(),
    "name": pa.string(), "source": pa.string(), "kernels": pa.int64(), "calls": pa.int64(), "forward_dur": pa.float64(),
    "backward_dur": pa.float64(), "step": pa.int32(), "first_kernel": pa.int64(), "last_kernel": pa.int64(),
}  # fmt: skip

# Modules of ranges and regions that are named like them, not of frames.
_MODULES = """
with
frame as (
    select distinct name[12:] as name from cpu_slice where starts_with(name, 'nn.Module: ')
)

select device, module, forward_dur + backward_dur, calls, string_split(module, '/')[-1] not in (from frame)
from module
order by device, module
"""

# Time of compute kernels, and how many of them the fullest step has.
_TOTALS = """
select device, sum(dur), max(kernels)
from (
    select device, step, sum(exclusive_dur) as dur, count(*) as kernels
    from kernel_occupancy
    where family <> 'communication' and step in (select step from step where excluded is null)
    group by device, step
)
group by device
order by device
"""

# Where nothing is a step, layers could be steps; then something else tells that what repeats is inside of a step.
_HAS_STEPS = """
select
    not exists (from step where excluded is null and source = 'window')
    or exists (from unit where level = 'layer' and not is_possible)
"""

WITHOUT_STEPS = "what repeats may be steps or layers, as nothing tells of the steps (--step-range, --steps-per)"


def fill_layers(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Fill the table layer, and tell in the table import_note what they do not tell, or why there are none."""
    modules = {
        device: [NamedModule(*row[1:]) for row in rows]
        for device, rows in groupby(connection.execute(_MODULES).fetchall(), itemgetter(0))
    }
    # planning the queries below takes longer than all else in a small trace
    totals = {
        device: dur
        for device, dur, kernels in connection.execute(_TOTALS).fetchall()
        if kernels >= LEAST_LAYERS * LEAST_KERNELS or device in modules
    }
    if not totals:
        return
    paths = prepare_tables(connection)
    ((has_steps,),) = connection.execute(_HAS_STEPS).fetchall()
    notes: set[tuple[str, str]] = set()
    for device, dur in totals.items():
        found = _find_layers(connection, device, dur, modules.get(device, []), paths, has_steps=has_steps)
        if isinstance(found, DeviceLayers):
            _insert_rows(connection, trace_id, device, found)
            notes.update(("layers_in_part", caution) for caution in found.cautions)
        elif found:
            notes.add(("layers_unknown", f"no layers of the model: {found}"))
    for note in sorted(notes):
        connection.execute(
            "insert into import_note by name select $1 as trace_id, 'info' as severity, $2 as code, 1 as count, $3 as text",
            [trace_id, *note],
        )


def _find_layers(
    connection: duckdb.DuckDBPyConnection,
    device: int,
    dur: float,
    modules: Sequence[NamedModule],
    paths: Sequence[str],
    *,
    has_steps: bool,
) -> DeviceLayers | str | None:
    """Return the layers of a device whose compute kernels take `dur` ns: those of modules that have most of it, else by order."""
    lists = find_lists(modules, dur)
    durs = {module.module: module.dur for module in modules}
    share = sum(durs[name] for row in lists for name in row.names) / dur if dur else 0
    if share < _MOST:
        found = sum_ordered(read_steps(connection, device), paths)
        if isinstance(found, DeviceLayers) and has_steps:
            return found
        if not lists:
            return WITHOUT_STEPS if isinstance(found, DeviceLayers) else found
    return DeviceLayers(tuple(lists), sum_named(read_steps(connection, device), lists, paths))


def read_steps(connection: duckdb.DuckDBPyConnection, device: int) -> Iterator[tuple[int, StepKernels]]:
    """Yield the counted steps of a device with their compute kernels, in order."""
    names = relation(connection, "select * exclude (name) from _layer_name order by number").to_arrow_table()
    flags = ("is_heavy", "is_attention", "is_possible_product", "is_named_backward", "is_end")
    by_name = {name: names[name].to_numpy() for name in flags}
    query = relation(connection, statement("analysis/layers/layer_kernel.sql"), device=device)
    step = -1
    parts: list[pa.RecordBatch] = []
    for batch in query.to_arrow_reader(_ROWS_AT_ONCE):
        steps = batch.column("step").to_numpy()
        cuts = [0, *(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(steps)]
        for first, last in pairwise(cuts):
            if parts and step != steps[first]:
                yield step, _join_parts(parts, by_name)
                parts = []
            step = int(steps[first])
            parts.append(batch.slice(first, last - first))
    if parts:
        yield step, _join_parts(parts, by_name)


def _join_parts(parts: Sequence[pa.RecordBatch], by_name: dict[str, npt.NDArray[np.bool_]]) -> StepKernels:
    """Return the kernels of a step from its parts, with what their names tell; rows without a number are sends and receives."""
    table = pa.Table.from_batches(parts)
    is_kernel = table["number"].is_valid()
    sent = np.cumsum(~is_kernel.to_numpy())[is_kernel.to_numpy()]
    table = table.filter(is_kernel)
    number = table["number"].to_numpy()
    return StepKernels(
        is_border=np.diff(sent, prepend=0) > 0,
        number=number,
        dur=table["dur"].to_numpy(),
        is_backward=table["is_backward"].to_numpy(),
        path=pc.fill_null(table["path"], -1).to_numpy(),
        **{name: flags[number] for name, flags in by_name.items()},
    )


def prepare_tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Make the temporary tables that read_steps() needs, and return the paths of modules in the order of their numbers."""
    connection.execute(
        "create temp table if not exists _module_work (device integer, slice_id bigint, path varchar, is_backward boolean)"
    )
    run(connection, "analysis/layers/kernel_name.sql")
    connection.execute(
        "create or replace temp table _layer_path as"
        " select path, (row_number() over (order by path) - 1)::integer as number from (select distinct path from _module_work)"
    )
    return [path for (path,) in connection.execute("select path from _layer_path order by number").fetchall()]


def _insert_rows(connection: duckdb.DuckDBPyConnection, trace_id: int, device: int, found: DeviceLayers) -> None:
    """Insert the rows of a device, in the order in which they first run."""
    ordered = sorted(found.sums.items(), key=lambda row: (row[1].step, row[1].first_kernel, row[0]))
    rows = [
        (device, place, *_describe_row(found, key), *_sums_of(found, key, total))
        for place, (key, total) in enumerate(ordered)
    ]
    columns = zip(zip(*rows, strict=True), _COLUMNS.values(), strict=True)
    connection.register("_found_layer", pa.table([pa.array(*column) for column in columns], [*_COLUMNS]))
    connection.execute("insert into layer by name select $1 as trace_id, * from _found_layer", [trace_id])
    connection.unregister("_found_layer")


def _describe_row(found: DeviceLayers, key: LayerKey) -> tuple[str | None, int | None, int | None, str, str]:
    """Return the columns list, layer, layers, name and source of a row."""
    if key.list_number < 0:
        return None, None, None, OUTSIDE[key.layer], found.lists[0].source
    row = found.lists[key.list_number]
    return row.words, key.layer, len(row.names), row.names[key.layer], row.source


def _sums_of(
    found: DeviceLayers, key: LayerKey, total: LayerSum
) -> tuple[int, int | None, float, float, int, int, int]:
    """Return the columns from kernels on of a row."""
    calls = None if key.list_number < 0 else found.lists[key.list_number].calls[key.layer]
    places = total.step, total.first_kernel, total.last_kernel
    return total.kernels, calls, total.forward_dur, total.backward_dur, *places
