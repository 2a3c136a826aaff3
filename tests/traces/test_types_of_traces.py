"""Products of real traces without their recorded types, as ranges of emit_nvtx have them: kernels tell the types, or nothing."""

from __future__ import annotations

from contextlib import closing

from tables import empty_tables
from trace_files import every_torch_trace

from traceq.analysis.order import AnalysisState, run

_WITHOUT_TYPES = """
    from cpu_slice
    select * replace (json_merge_patch(args, '{"Input type": null}')::varchar as args)
"""
_COSTS = """
    select r.dtype, t.dtype, r.flops = t.flops, t.bytes is null or t.bytes = r.bytes
    from recorded as r
    left join operator_cost as t using (slice_id)
    where r.kind in ('matmul', 'attention') and r.flops is not null and r.kernels > 0
"""


@every_torch_trace
def test_what_kernels_tell_of_products_is_what_was_recorded(path, databases):
    database = databases(path).cursor()
    with closing(empty_tables()) as tables:
        for table in ("cpu_slice", "gpu_slice", "kernel_occupancy", "device", "step"):
            rows = database.sql(_WITHOUT_TYPES if table == "cpu_slice" else f"from {table}").to_arrow_table()
            tables.execute(f"insert into {table} by name select columns(lambda c: c <> 'ts_end') from rows")
        tables.register("recorded", database.sql("from operator_cost").to_arrow_table())
        run(
            tables,
            ("operator_shape", "operator_work", "kernel_operand", "signature_ceiling", "operator_cost"),
            AnalysisState(1),
        )
        rows = tables.execute(_COSTS).fetchall()
    assert {(was, told) for was, told, *_ in rows if told not in (None, was)} == set()
    assert all(same_flops and same_bytes for *_, same_flops, same_bytes in rows)
