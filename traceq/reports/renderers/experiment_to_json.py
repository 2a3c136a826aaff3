"""The result of an experiment for programs: ns, bytes, joules and shares. docs/experiment.md describes the keys."""

from __future__ import annotations

from typing import Any

from traceq.reports.renderers.json_text import json_text, pick
from traceq.runs.run import FindingKept
from traceq.runs.trials.experiment import Experiment, SettingChoice, SettingResult

# Raised with every change that breaks a reader.
SCHEMA_VERSION = 1


def experiment_to_json(found: Experiment) -> str:
    """Return the experiment as the text of a JSON object; unknown values are null."""
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            **pick(found, "goal", "quantity", "limits", "work", "rounds", "front", "dominated"),
            "least_share": found.least,
            "level": found.level,
            "noise_share": found.noise,
            "needed_rounds": found.needed,
            "settings": [_encode_setting(each) for each in found.results],
            "choice": found.choice and _encode_choice(found.choice),
            "effects": found.effects,
            "interactions": found.interactions,
            "predictions": found.checked,
            "ablations": found.ablations,
            "scaling": found.scaling,
            "findings": [
                {
                    "setting": each.setting,
                    **{
                        state: [_encode_finding(one) for one in getattr(each, state)]
                        for state in ("gone", "smaller", "new", "unsure")
                    },
                }
                for each in found.removed
            ],
            "untried": [_encode_finding(each) for each in found.untried],
            "not_tried": found.not_tried,
        }
    )


def _encode_setting(result: SettingResult) -> dict[str, Any]:
    return {
        **pick(result.setting, "name", "kind", "finding"),
        "values": dict(result.setting.values),
        **pick(result, "outcome", "reason", "trials", "failed", "steps", "on_gpu"),
        "work_per_step": result.work,
        "measures": {name: pick(each, "value", "interval", "trials") for name, each in sorted(result.measures.items())},
        "changes": dict(sorted(result.differences.items())),
        "losses": result.losses,
    }


def _encode_choice(found: SettingChoice) -> dict[str, Any]:
    return {**pick(found, "setting", "alike", "wins", "combined", "unsure"), "over": dict(found.over)}


def _encode_finding(found: FindingKept) -> dict[str, Any]:
    return {"id": found.finding_id, **pick(found, "rule", "title", "saving_ns")}
