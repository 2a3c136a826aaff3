"""traceq.profile for training loops that a framework owns: callbacks for Lightning and for the Hugging Face Trainer.

    from traceq.capture.callbacks import LightningCallback
    lightning.pytorch.Trainer(callbacks=[LightningCallback("traces")])

    from traceq.capture.callbacks import TrainerCallback
    transformers.Trainer(model, arguments, callbacks=[TrainerCallback("traces")])

Both take the arguments of traceq.profile but `first`: steps have the framework's numbers, also in training that is resumed.
The framework is imported when its callback is; MissingTool where it is not installed.
"""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from traceq import annotate
from traceq.capture.profile import profile
from traceq.errors import MissingTool

if TYPE_CHECKING:
    from collections.abc import Callable

    from traceq.capture.profile import ProfiledRun


class _Callback:
    """The profiled run of a training, and its open marks: a step, and a phase within the step."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__()
        self._arguments = arguments
        self._options = options
        self._run: ProfiledRun | None = None
        self._step = ExitStack()
        self._phase = ExitStack()

    def _begin(self, first: int) -> None:
        self._end()
        self._run = profile(*self._arguments, first=first, **self._options)
        self._run.__enter__()

    def _begin_step(self) -> None:
        if self._run is not None:
            self._step.enter_context(self._run.step())

    def _begin_phase(self, label: str) -> None:
        self._phase.close()
        self._phase.enter_context(annotate.phase(label))

    def _end_phase(self, *_: object) -> None:
        self._phase.close()

    def _end(self, error: BaseException | None = None) -> None:
        self._phase.close()
        raised = (None, None, None) if error is None else (type(error), error, error.__traceback__)
        self._step.__exit__(*raised)
        if self._run is not None:
            self._run.__exit__(*raised)
            self._run = None


class Lightning(_Callback):
    """Hooks of LightningCallback, which mark steps and phases of a training for the profiler.

    A step begins with a batch and ends with the batch after which the optimizers have stepped: accumulated batches
    are one step. Phases are forward (training_step), backward, optimizer, and evaluate around a validation.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._steps = 0  # of the optimizers
        self._is_open = False
        self._undo: list[Callable[[], None]] = []

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin the profiled run and mark calls of training_step as forward; step numbers start at the trainer's global step."""
        self._begin(trainer.global_step)
        self._steps, self._is_open = trainer.global_step, False
        pl_module.training_step = annotate.phase("forward")(pl_module.training_step)
        self._undo.append(lambda: delattr(pl_module, "training_step"))
        for optimizer in trainer.optimizers:
            # Within optimizer.step Lightning calls forward and backward, so the phase ends there and begins later.
            self._undo.append(optimizer.register_step_post_hook(self._end_phase).remove)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:  # noqa: ARG002
        """Begin a step, unless one is open because its batches are accumulated."""
        if not self._is_open:
            self._begin_step()
            self._is_open = True

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:  # noqa: ARG002
        """Begin the phase backward, which ends the phase that is open."""
        self._begin_phase("backward")

    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """End the phase backward."""
        self._end_phase()

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:  # noqa: ARG002
        """Begin the phase optimizer, which ends the phase that is open."""
        self._begin_phase("optimizer")

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:  # noqa: ARG002
        """End the open phase, and the step if the trainer's global step has changed: the optimizers have stepped."""
        self._end_phase()
        if trainer.global_step != self._steps:
            self._steps, self._is_open = trainer.global_step, False
            self._step.close()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Begin the phase evaluate."""
        self._begin_phase("evaluate")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """End the phase evaluate."""
        self._end_phase()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """End the profiled run and remove the hooks from the module and the optimizers."""
        self._end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:  # noqa: ARG002
        """End the profiled run with the error that ended the training, and remove the hooks."""
        self._end(exception)

    def _end(self, error: BaseException | None = None) -> None:
        while self._undo:
            self._undo.pop()()
        super()._end(error)


class HuggingFace(_Callback):
    """Hooks of TrainerCallback, which mark each of the Trainer's steps, and the phase optimizer in it, for the profiler.

    The Trainer has no hook for errors: after one, the trace is written when the process ends.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Begin the profiled run; step numbers start at the trainer's global step."""
        self._begin(state.global_step)

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Begin the mark of a step."""
        self._begin_step()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Begin the phase optimizer."""
        self._begin_phase("optimizer")

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """End the phase optimizer."""
        self._end_phase()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """End the open phase and the mark of the step."""
        self._end_phase()
        self._step.close()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """End the profiled run."""
        self._end()


# Name here -> what it does, the modules that may hold the framework's class, the name there, what to install.
_CALLBACKS = {
    "LightningCallback": (Lightning, ("lightning.pytorch", "pytorch_lightning"), "Callback", "lightning"),
    "TrainerCallback": (HuggingFace, ("transformers",), "TrainerCallback", "transformers"),
}


def __getattr__(name: str) -> Any:
    """Return the class LightningCallback or TrainerCallback, made on first use and kept as an attribute of this module.

    Raises AttributeError for other names, MissingTool where the framework that has the base class is not installed.
    """
    if name not in _CALLBACKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    hooks, modules, base, package = _CALLBACKS[name]
    there = next((module for module in modules if find_spec(module.split(".")[0]) is not None), None)
    if there is None:
        raise MissingTool(f"{name} needs {package}, which is not installed here: pip install {package}")
    callback = type(
        name, (hooks, getattr(import_module(there), base)), {"__doc__": hooks.__doc__, "__module__": __name__}
    )
    globals()[name] = callback
    return callback
