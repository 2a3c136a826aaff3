"""The judgement on a hanging job as JSON."""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.hang.model import Hang, Parting, RankCall
from traceq.reports.hang.compose import describe_hang, list_steps
from traceq.reports.hang.words import find_source_line
from traceq.reports.renderers.json_text import json_text, to_dict

SCHEMA_VERSION = 1


def hang_to_json(hang: Hang) -> str:
    """Return the judgement as JSON text; times are ns since 1970."""
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            "kind": hang.kind,
            "sentence": describe_hang(hang),
            "ranks": hang.culprits,
            "confidence": hang.confidence,
            "reason": hang.reason,
            "is_one_of_two": hang.is_one_of_two,
            "first": None if hang.first is None else _encode_parting(hang.first),
            "places": [
                {"ranks": place.ranks, "call": None if place.call is None else _encode_call(place.call)}
                for place in hang.places
            ],
            "others": [_encode_parting(parting) for parting in hang.others],
            "partings": [_encode_parting(row.parting) for row in hang.progress],
            "groups": [to_dict(group) for group in hang.groups],
            "dumps": to_dict(hang.dumps),
            "cannot_tell": hang.cannot_tell,
            "steps": list_steps(hang),
        }
    )


def _encode_parting(parting: Parting) -> dict[str, Any]:
    return {
        "group": parting.group.name,
        "description": parting.group.description,
        "members": parting.group.members,
        "sequence": parting.sequence,
        "differs": parting.differs,
        "present": parting.present_ranks,
        "waiting": parting.waiting_ranks,
        "lacking": parting.lacking,
        "without_dump": parting.without_dump,
        "unknown": parting.unknown,
        "first_created": parting.first_created,
        "calls": [_encode_call(call) for call in parting.calls],
    }


def _encode_call(call: RankCall) -> dict[str, Any]:
    content = to_dict(call) | {"source_line": find_source_line(call.stack)}
    return content | {"stack": [to_dict(frame) for frame in call.stack]}
