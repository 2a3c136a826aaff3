"""Counters of network cards and InfiniBand switches (--nic-metrics, --ib-switch-metrics-devices): rows of counter.

A sample is a mean rate over an interval, and has the time of its end. Which card or switch it is of is in `instance`, with
the port where there are several; names and units are those that nsys gives.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import map_rows
from traceq.importers.nsys.context import ImportState, Rows, build_batch

CARDS = "NET_NIC_METRIC"
SWITCHES = "NET_IB_SWITCH_METRIC"
TABLES = (CARDS, SWITCHES)

_COLUMNS = ["start", "end", "globalId", "portId", "metricsListId", "metricsIdx", "value"]


def read_network(state: ImportState) -> Rows:
    """Yield batches of counter with the samples of network cards, then of switches; those without a value are counted."""
    names, units = _read_metrics(state)
    for table, instances in ((CARDS, _name_cards(state)), (SWITCHES, _name_switches(state))):
        for batch in state.read_timed(table, _COLUMNS, time="end"):
            values = batch.column("value")
            text = f"Rows of {table} without a value; they are left out."
            state.notes.data_loss("no_value", values.null_count, text)
            rows = batch.filter(values.is_valid())
            yield "counter", _build_batch(rows, names, units, instances, table)


def _read_metrics(state: ImportState) -> tuple[dict[tuple[int, int], str], dict[tuple[int, int], str]]:
    """Return the names and the units of the metrics by (list, place in it)."""
    names: dict[tuple[int, int], str] = {}
    units: dict[tuple[int, int], str] = {}
    wanted = ["metricsListId", "metricsIdx", "name", "unit"]
    for listed, place, name, unit in state.source.fetch_rows("TARGET_INFO_NETWORK_METRICS", wanted):
        if isinstance(listed, int) and isinstance(place, int):
            names |= {(listed, place): str(name)} if name else {}
            units |= {(listed, place): str(unit)} if unit else {}
    return names, units


def _name_cards(state: ImportState) -> dict[int, str]:
    """Return the names of network cards by the id that samples have."""
    cards = dict(_pick_pairs(state.source.fetch_rows("TARGET_INFO_NIC_INFO", ["nicId", "name"])))
    found = {}
    for card, sampled in state.source.fetch_rows("NIC_ID_MAP", ["nicId", "globalId"]):
        if isinstance(sampled, int) and card in cards:
            found[sampled] = str(cards[card])
    return found


def _name_switches(state: ImportState) -> dict[int, str]:
    """Return the names of switches by the ids that samples may have: that in the network, or the device's own."""
    rows = state.source.fetch_rows("NET_IB_DEVICE_INFO", ["networkId", "guid", "name"])
    return {number: str(name) for *numbers, name in rows if name for number in numbers if isinstance(number, int)}


def _pick_pairs(rows: Iterable[tuple[object, ...]]) -> Iterable[tuple[object, object]]:
    """Yield the (first, second) of rows that have both."""
    return ((first, second) for first, second in rows if first is not None and second is not None)


def _build_batch(
    rows: pa.RecordBatch,
    names: dict[tuple[int, int], str],
    units: dict[tuple[int, int], str],
    instances: dict[int, str],
    table: str,
) -> pa.RecordBatch:
    """Return samples of `table` as rows of counter; `instances` are the names of its cards or switches by id."""
    kind = "NIC" if table == CARDS else "switch"
    metrics = rows.column("metricsListId"), rows.column("metricsIdx")
    named = map_rows(lambda key: _name_instance(key, instances, kind), rows.column("globalId"), rows.column("portId"))
    return build_batch(
        {
            "name": map_rows(lambda key: names.get(key, f"{kind} metric {key[1]}"), *metrics),
            "unit": map_rows(units.get, *metrics),
            "ts": rows.column("end"),
            "value": pc.cast(rows.column("value"), pa.float64(), safe=False),
            "instance": named,
        }
    )


def _name_instance(key: tuple[int, int], instances: dict[int, str], kind: str) -> str:
    """Return what a sample is of: mlx5_0, mlx5_0 port 2, switch LEAF-3, or NIC 0x1f where nothing names it."""
    number, port = key
    name = instances.get(number)
    called = name if name and kind == "NIC" else f"{kind} {name or hex(number)}"
    return f"{called} port {port}" if port > 0 else called
