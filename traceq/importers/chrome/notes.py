"""The oddities a Chrome trace can have: code -> (severity, what it means and what to do)."""

from __future__ import annotations

from collections import Counter

from traceq.importers.rows import Batches, Notes

NOTES: dict[str, tuple[str, str]] = {
    "arrow_not_stored": (
        "info",
        "flow events (arrows) were left out: launches are joined with their work by ids; ui.perfetto.dev shows the file's arrows",
    ),
    "control_character": ("info", "raw control characters in JSON strings were read as blanks"),
    "duplicate_key": ("info", "arguments name a key twice; the last value was taken"),
    "duration_overflow": ("data_loss", "durations beyond seven days (a counter that overflowed) were set to 0"),
    "empty_event": ("info", "empty events were left out"),
    "flow_not_stored": ("info", "flow events (arrows) were left out: correlation ids and external ids say the same"),
    "invalid_timestamp": ("data_loss", "events without a readable time were left out"),
    "invalid_utf8": ("info", "bytes that are not UTF-8 were replaced in names or arguments"),
    "malformed_arguments": (
        "data_loss",
        "arguments that cannot be read (nested too deeply) were left out; their events are there",
    ),
    "large_event": (
        "data_loss",
        "events too large to be read (1 MiB, or what TRACEQ_EVENT_LIMIT says, in MiB) were left out",
    ),
    "malformed_event": ("data_loss", "events that are not valid JSON were left out"),
    "jax_not_measured": (
        "data_loss",
        "lanes of a GPU as JAX draws them are host slices of kind other: use the .xplane.pb that JAX wrote beside this file",
    ),
    "metadata_damaged": ("data_loss", "the keys around the list of events are not valid JSON and were left out"),
    "missing_device": ("data_loss", "GPU events that name no device were left out"),
    "missing_rank": ("info", "a distributed run whose trace does not say which rank it is"),
    "mtia_not_measured": (
        "data_loss",
        "work of MTIA devices is kept as host slices of kind other: traceq measures GPUs, and tells here what the host does",
    ),
    "negative_duration": ("info", "negative durations were set to 0"),
    "not_a_number": ("info", "NaN, Infinity or N/A in place of a number; read as null"),
    "npu_not_measured": (
        "data_loss",
        "lanes of an NPU (Ascend Hardware) are host slices of kind other: traceq measures GPUs; MindStudio Insight shows them",
    ),
    "phase_not_stored": ("data_loss", "events of kinds that no table holds (objects, samples) were left out"),
    "profiler_message": ("info", "messages of the profiler itself"),
    "tpu_not_measured": (
        "data_loss",
        "lanes of a TPU are host slices of kind other: traceq measures GPUs; XProf shows them",
    ),
    "trailing_comma": ("info", "a comma after the last event"),
    "truncated": (
        "data_loss",
        "the file ends in the middle: the job was killed or the copy is incomplete; what was there was read",
    ),
    "unclosed_range": ("info", "ranges without an end last to the end of the trace"),
    "unmatched_end": ("data_loss", "ends of ranges that never began were left out"),
}


def build_notes(counts: Counter[str]) -> Batches:
    """Build rows of import_note for the codes counted."""
    return Notes({(NOTES[code][0], code, NOTES[code][1]): count for code, count in sorted(counts.items())}).batches()
