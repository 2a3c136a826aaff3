"""Accuracy of the predictions of each rule, and the shares that are fitted to measured gains.

diagnosis/rules/calibrated.json keeps both, apart for programs on a CPU and on a GPU. tools/fit_calibration.py writes it from
docs/calibration.jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from traceq.common.units import share, some
from traceq.database.sql import package

PLACE = "diagnosis/rules/calibrated.json"

Hardware = Literal["cpu", "gpu"]
ON: Mapping[Hardware, str] = {"cpu": "without a GPU", "gpu": "on a GPU"}


class Accuracy(msgspec.Struct, frozen=True):
    """Accuracy of a rule's checked predictions: their number, and that `inside` of them the measured gain lies in the bounds.

    `programs` is the number of programs they are of. `reaching` counts further measured gains whose intervals reach the
    bounds. `error` is the median distance of the likely gain from the measured one, as a share of the measured one;
    `bias` is the median with its sign: above 0 where too much was predicted.
    """

    predictions: int
    programs: int
    inside: int
    reaching: int
    error: float
    bias: float


@cache
def _read_numbers() -> dict[str, dict[Hardware, dict[str, Any]]]:
    found: dict[str, dict[Hardware, dict[str, Any]]] = json.loads(package().joinpath(PLACE).read_text("utf-8"))
    return found


def accuracy_of_rule(rule: str) -> dict[Hardware, Accuracy]:
    """Return the accuracy of the rule's predictions that were checked by measurement, by hardware; empty if none were."""
    return {kind: Accuracy(**found["checked"]) for kind, found in _read_numbers().get(rule, {}).items()}


def shares_of_rule(rule: str, hardware: Hardware) -> dict[str, float]:
    """Return the rule's fitted shares by name (low, likely, high; 0..1) on such hardware.

    Empty if none were fitted, so that the shares in the header of the rule's file hold.
    """
    found: dict[str, float] = _read_numbers().get(rule, {}).get(hardware, {}).get("shares", {})
    return found


def describe_accuracy(accuracy: Accuracy, of: str = "") -> str:
    """Return the accuracy as a phrase: "11 predictions: 9 inside the bounds, median error 14 %".

    The words `of` follow "predictions".
    """
    reaching = f" and {accuracy.reaching} by their interval" if accuracy.reaching else ""
    predictions = some(accuracy.predictions, "prediction")
    return f"{predictions}{of}: {accuracy.inside} inside the bounds{reaching}, median error {share(accuracy.error)}"


def describe_shares(rule: str) -> str:
    """Return sentences on where the rule's shares of time that a fix takes away come from.

    They are fitted to measured gains, or assumed.
    """
    told = [_describe_fit(rule, kind, shares) for kind in ON if (shares := shares_of_rule(rule, kind))]
    if not told:
        return "The share that a fix removes is assumed."
    assumed = [f"{_capitalize(where)} it is assumed." for kind, where in ON.items() if not shares_of_rule(rule, kind)]
    return " ".join([*told, *assumed])


def _describe_fit(rule: str, kind: Hardware, shares: Mapping[str, float]) -> str:
    values = ", ".join(f"{name} {value:g}" for name, value in shares.items())
    programs = some(_read_numbers()[rule][kind]["programs"], "program")
    return f"{_capitalize(ON[kind])} the share that a fix removes is fitted to {programs}: {values}."


def _capitalize(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def describe_predictions(rule: str) -> str:
    """Return a sentence for each hardware on how accurate the rule's checked predictions were; "" if none were checked."""
    return " ".join(
        f"{_capitalize(ON[kind])}, {describe_accuracy(each)}." for kind, each in accuracy_of_rule(rule).items()
    )
