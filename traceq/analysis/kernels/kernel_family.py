"""Family of each kernel by its name, worked out once per process: ranks of a job have the same kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from traceq.database.sql import run

if TYPE_CHECKING:
    import duckdb

# So many names are remembered, those that came first.
_MOST_NAMES = 100_000


class Class(NamedTuple):
    """Family of a kernel, and whether it runs on tensor cores (None where its name does not tell)."""

    family: str
    tensor_core: bool | None


_known: dict[str, Class] = {}


def fill_classes(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the temporary table _kernel_class: name, family and tensor_core for each kernel name.

    tensor_core is whether the kernel runs on tensor cores, NULL if unknown. Names seen before are remembered in the process.
    """
    found = connection.execute("select distinct name from gpu_slice where kind = 'kernel'").fetchall()
    names = [name for (name,) in found]
    known = _known
    # Compiling the patterns takes as long as the analyses of a small trace that are slowest.
    if unknown := [name for name in names if name not in _known]:
        rows = run(connection, "analysis/kernels/kernel_family.sql", names=unknown).fetchall()
        told = {name: Class(*told) for name, *told in rows}
        if len(_known) + len(told) <= _MOST_NAMES:
            _known.update(told)
        else:
            known = _known | told
    classes = [known[name] for name in names]
    table = {
        "name": pa.array(names, pa.string()),
        "family": pa.array([found_class.family for found_class in classes], pa.string()),
        "tensor_core": pa.array([found_class.tensor_core for found_class in classes], pa.bool_()),
    }
    connection.register("_classes", pa.table(table))
    connection.execute("create temp table _kernel_class as from _classes")
    connection.unregister("_classes")
