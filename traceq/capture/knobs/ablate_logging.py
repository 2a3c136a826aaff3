"""The program without its logging: what prints, logs and draws progress bars is silent."""

from __future__ import annotations

import builtins
import logging
import sys
from collections.abc import Callable
from typing import Any

from traceq.capture.knobs.knob import Hooks

WHAT = "logging: print, logging, SummaryWriter, wandb, mlflow and tqdm are silent"

# Module -> functions of it that log; they are replaced at the first step, when the program has imported them.
_FUNCTIONS = {
    "wandb": ("log",),
    "mlflow": ("log_metric", "log_metrics", "log_param", "log_params"),
}
_WRITERS = (("torch.utils.tensorboard.writer", "SummaryWriter"), ("tensorboardX.writer", "SummaryWriter"))


def apply(_torch: Any, hooks: Hooks) -> None:
    """Silence them from the first step on; what the program computes for its log (loss.item()) it still computes."""
    hooks.reasons["logging"] = (
        "the program logs nothing that is known (print, logging, SummaryWriter, wandb, mlflow, tqdm)"
    )

    def silent(*_args: Any, **_kwargs: Any) -> None:
        hooks.acted.add("logging")

    def first_step() -> None:
        builtins.print = silent
        logging.Logger.handle = silent  # type: ignore[method-assign]
        _silence_libraries(silent)
        _silence_bars(hooks)

    hooks.at_first_step.append(first_step)


def _silence_libraries(silent: Callable[..., None]) -> None:
    for name, functions in _FUNCTIONS.items():
        for function in functions:
            if hasattr(sys.modules.get(name), function):
                setattr(sys.modules[name], function, silent)
    for name, class_ in _WRITERS:
        writer = getattr(sys.modules.get(name), class_, None)
        for method in dir(writer) if writer else ():
            if method.startswith("add_"):
                setattr(writer, method, silent)


def _silence_bars(hooks: Hooks) -> None:
    """Bars count on, and draw nothing."""
    bar: Any = getattr(sys.modules.get("tqdm.std"), "tqdm", None)
    if bar is None:
        return

    def display(*_args: Any, **_kwargs: Any) -> None:
        hooks.acted.add("logging")

    bar.display = display
    bar.refresh = display
