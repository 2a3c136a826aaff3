"""The callbacks, driven as Lightning and the Hugging Face Trainer drive theirs; compared with the real ones where installed."""

from __future__ import annotations

import inspect
import pickle
import sys
from types import ModuleType, SimpleNamespace

import lazy_import
import pytest
from small_training import marks_in, only_trace, steps_in

from traceq.capture import callbacks
from traceq.capture.callbacks import HuggingFace, Lightning
from traceq.errors import MissingTool

torch = lazy_import.module("torch")

WINDOW = {"skip": 1, "warmup": 1, "steps": 2}


@pytest.fixture
def install(monkeypatch):
    """Put a module with one class into sys.modules, as if it and no other framework were installed."""

    def put(name, class_name):
        base = type(class_name, (), {})
        package = name.split(".")[0]
        for part in (package, name):
            monkeypatch.setitem(sys.modules, part, ModuleType(part))
        setattr(sys.modules[name], class_name, base)
        monkeypatch.setattr(callbacks, "find_spec", lambda asked: asked if asked == package else None)
        return base

    forget_callbacks()
    yield put
    forget_callbacks()


def forget_callbacks():
    for name in ("LightningCallback", "TrainerCallback"):
        vars(callbacks).pop(name, None)


def new_module(fail_at=None):
    """A LightningModule, as far as the callback looks."""

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 2)

        def training_step(self, batch, batch_idx):
            if batch_idx == fail_at:
                raise ValueError(batch_idx)
            return self.layer(batch).square().mean()

    return Module()


class Trainer:
    """Lightning's loop: training_step and backward are called from within the optimizer's step, where it steps."""

    def __init__(self, callback, *, accumulate=1, global_step=0):
        self.callback = callback
        self.accumulate = accumulate
        self.global_step = global_step

    def fit(self, module, batches):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        self.optimizers = [optimizer]
        self.callback.on_train_start(self, module)
        try:
            for index in range(batches):
                self.batch(module, optimizer, index)
        except ValueError as error:
            self.callback.on_exception(self, module, error)
            raise
        self.callback.on_train_end(self, module)

    def batch(self, module, optimizer, index):
        batch = torch.randn(4, 8)
        self.callback.on_train_batch_start(self, module, batch, index)

        def closure():
            loss = module.training_step(batch, index)
            self.callback.on_before_backward(self, module, loss)
            loss.backward()
            self.callback.on_after_backward(self, module)
            return loss

        if (index + 1) % self.accumulate:
            closure()
        else:

            def last_closure():
                loss = closure()
                self.callback.on_before_optimizer_step(self, module, optimizer)
                return loss

            optimizer.step(last_closure)
            self.global_step += 1
        self.callback.on_train_batch_end(self, module, None, batch, index)
        self.callback.on_validation_start(self, module)
        self.callback.on_validation_end(self, module)


def train_lightning(directory, **options):
    return callbacks.LightningCallback(directory, **{**WINDOW, **options})


@pytest.mark.sample(2)
@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_lightning_steps_hold_their_phases(tmp_path, install, package):
    base = install(package, "Callback")
    callback = train_lightning(tmp_path)
    assert isinstance(callback, base)
    Trainer(callback, global_step=10).fit(new_module(), 6)
    step = ["traceq.phase#forward", "traceq.phase#backward", "traceq.phase#optimizer"]
    marks = [mark for mark in marks_in(only_trace(tmp_path)) if mark != "traceq.phase#evaluate"]
    assert marks == ["traceq.step#12", *step, "traceq.step#13", *step]


def test_accumulated_batches_are_one_step(tmp_path, install):
    install("lightning.pytorch", "Callback")
    Trainer(train_lightning(tmp_path), accumulate=2).fit(new_module(), 10)
    marks = marks_in(only_trace(tmp_path))
    assert [mark for mark in marks if "step" in mark] == ["traceq.step#2", "traceq.step#3"]
    assert marks.count("traceq.phase#forward") == marks.count("traceq.phase#backward") == 4
    assert marks.count("traceq.phase#optimizer") == 2


def test_after_a_training_the_module_and_the_optimizer_are_as_before(tmp_path, install):
    install("lightning.pytorch", "Callback")
    module, trainer = new_module(), Trainer(train_lightning(tmp_path))
    trainer.fit(module, 2)
    assert "training_step" not in vars(module)
    assert not trainer.optimizers[0]._optimizer_step_post_hooks


def test_a_lightning_training_that_fails_leaves_what_was_recorded(tmp_path, install, capsys):
    install("lightning.pytorch", "Callback")
    with pytest.raises(ValueError, match="3"):
        Trainer(train_lightning(tmp_path, steps=3)).fit(new_module(fail_at=3), 9)
    assert steps_in(only_trace(tmp_path)) == ["traceq.step#2", "traceq.step#3"]
    assert "the loop ended by ValueError, with 1 of 3 steps recorded" in capsys.readouterr().err


@pytest.mark.slow
def test_a_second_training_is_profiled_as_the_first(tmp_path, install, capsys):
    install("lightning.pytorch", "Callback")
    callback = train_lightning(tmp_path)
    for start in (0, 50):
        Trainer(callback, global_step=start).fit(new_module(), 5)
    found = sorted(steps_in(path) for path in tmp_path.glob("*.json.gz"))
    assert found == [["traceq.step#2", "traceq.step#3"], ["traceq.step#52", "traceq.step#53"]]
    assert capsys.readouterr().err.count("steps recorded: 2") == 2


def test_trainer_steps_hold_the_optimizers_phase(tmp_path, install):
    base = install("transformers", "TrainerCallback")
    callback = callbacks.TrainerCallback(tmp_path, **WINDOW)
    assert isinstance(callback, base)
    state = SimpleNamespace(global_step=20)
    callback.on_train_begin(None, state, None, model=None)
    for _ in range(5):
        for hook in ("on_step_begin", "on_pre_optimizer_step", "on_optimizer_step", "on_step_end"):
            getattr(callback, hook)(None, state, None, model=None)
    callback.on_train_end(None, state, None, model=None)
    step = ["traceq.phase#optimizer"]
    assert marks_in(only_trace(tmp_path)) == ["traceq.step#22", *step, "traceq.step#23", *step]


def test_callbacks_can_be_pickled_before_the_training(install):
    install("lightning.pytorch", "Callback")
    install_again = pickle.loads(pickle.dumps(train_lightning("traces")))  # noqa: S301 - our own
    assert type(install_again) is callbacks.LightningCallback


@pytest.mark.parametrize("name", ["LightningCallback", "TrainerCallback"])
def test_a_framework_that_is_not_installed_is_named(monkeypatch, name):
    monkeypatch.setattr(callbacks, "find_spec", lambda _: None)
    with pytest.raises(MissingTool, match=rf"{name} needs .* pip install"):
        getattr(callbacks, name)


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'Nope'"):
        callbacks.Nope  # noqa: B018 - the access is the test


def list_parameters(function):
    return [(each.name, each.kind) for each in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize(
    ("hooks", "module", "base"),
    [
        (Lightning, "lightning.pytorch", "Callback"),
        (Lightning, "pytorch_lightning", "Callback"),
        (HuggingFace, "transformers", "TrainerCallback"),
    ],
)
def test_hooks_are_those_of_the_framework(hooks, module, base):
    framework = getattr(pytest.importorskip(module), base)
    ours = {name: each for name, each in vars(hooks).items() if name.startswith("on_")}
    assert len(ours) >= 6
    for name, hook in ours.items():
        assert list_parameters(hook) == list_parameters(getattr(framework, name)), name
