"""Values for tensors whose values no trace has: indices within what they point into, and numbers that stay finite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from traceq.exports.replay.arguments import Argument, RecordedTensor

# Those whose time may depend on the signs of what they multiply, as a GPU's power does.
_PRODUCTS = ("mm", "bmm", "mv", "linear", "conv", "matmul", "attention", "_scaled_dot_product")

# By operator the place of its indices, and of the tensor and the dimension that they point into.
_POINTS_INTO = {
    "embedding": (1, 0, 0),
    "embedding_renorm_": (1, 0, 0),
    "_embedding_bag": (1, 0, 0),
    "_embedding_bag_forward_only": (1, 0, 0),
    "embedding_bag": (1, 0, 0),
    "nll_loss": (1, 0, 1),
    "nll_loss_nd": (1, 0, 1),
    "nll_loss_forward": (1, 0, 1),
    "nll_loss2d_forward": (1, 0, 1),
    "nll_loss_backward": (2, 1, 1),
    "nll_loss2d_backward": (2, 1, 1),
    "cross_entropy_loss": (1, 0, 1),
    "max_pool2d_with_indices_backward": (7, 1, -1),
}
# Those that have the dimension among their arguments: the place of the indices, of the tensor and of the dimension.
_POINTS_ALONG = {
    "index_select": (2, 0, 1),
    "gather": (2, 0, 1),
    "gather_backward": (3, 1, 2),
    "scatter": (2, 0, 1),
    "scatter_": (2, 0, 1),
    "scatter_add": (2, 0, 1),
    "scatter_add_": (2, 0, 1),
    "index_add": (2, 0, 1),
    "index_add_": (2, 0, 1),
    "index_copy_": (2, 0, 1),
    "index_fill_": (2, 0, 1),
}
# Those that have the number of rows itself: the place of the indices and of the number.
_POINTS_BELOW = {
    "embedding_backward": (1, 2),
    "embedding_dense_backward": (1, 2),
    "one_hot": (0, 1),
    "bincount": (0, 2),
}
# Of bags: the place of the indices and of where each bag begins.
_BAGS = {"_embedding_bag": (1, 2), "_embedding_bag_forward_only": (1, 2), "embedding_bag": (1, 2)}

# Lists of tensors that may be absent are recorded as nothing: the same as no list.
_HIDDEN_INDICES = frozenset(
    {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"}
)


def fill_tensors(name: str, arguments: list[Argument]) -> list[Argument]:
    """Return the arguments of aten::`name` with what their tensors are filled with. Raises ValueError for hidden indices."""
    if name in _HIDDEN_INDICES:
        raise ValueError("PyTorch records no shapes of its indices (a list of optional tensors)")
    if name in _POINTS_INTO:
        place, tensor, dimension = _POINTS_INTO[name]
        arguments = _fill_indices(arguments, place, _size_of(arguments, tensor, dimension))
    elif name in _POINTS_ALONG:
        place, tensor, along = _POINTS_ALONG[name]
        named = arguments[along] if along < len(arguments) else None
        arguments = _fill_indices(arguments, place, _size_of(arguments, tensor, named) if isinstance(named, int) else 0)
    elif name in _POINTS_BELOW:
        place, number = _POINTS_BELOW[name]
        high = arguments[number] if number < len(arguments) else None
        arguments = _fill_indices(arguments, place, high if type(high) is int and high > 0 else 0)
    if name in _BAGS:
        indices, offsets = (arguments[place] if place < len(arguments) else None for place in _BAGS[name])
        if is_tensor(indices) and indices.shape and is_tensor(offsets):
            arguments = [*arguments]
            arguments[_BAGS[name][1]] = offsets._replace(fill="offsets", high=indices.shape[0])
    return [_fill_argument(name, argument) for argument in arguments]


def is_tensor(argument: Argument) -> TypeGuard[RecordedTensor]:
    """Return whether the argument is a tensor."""
    return isinstance(argument, RecordedTensor)


def list_parts(arguments: Sequence[Argument]) -> Iterator[Argument]:
    """Yield the arguments, of lists what is in them."""
    for argument in arguments:
        if isinstance(argument, list):
            yield from argument
        else:
            yield argument


def _size_of(arguments: list[Argument], place: int, dimension: int) -> int:
    """Return the size of a tensor's dimension (of a plane for -1), of one with fewer dimensions the last; 0 if unknown."""
    tensor = arguments[place] if place < len(arguments) else None
    if not is_tensor(tensor) or not tensor.shape:
        return 1 if is_tensor(tensor) else 0
    if place == 1 and dimension == -1:
        return tensor.shape[-1] * tensor.shape[-2] if len(tensor.shape) > 1 else tensor.shape[-1]
    return tensor.shape[dimension] if -len(tensor.shape) <= dimension < len(tensor.shape) else tensor.shape[-1]


def _fill_indices(arguments: list[Argument], place: int, high: int) -> list[Argument]:
    """Return the arguments with indices below `high` at the place. Raises ValueError if it is not known or no row is there."""
    indices = arguments[place] if place < len(arguments) else None
    if not is_tensor(indices):
        raise ValueError("the trace lacks the shape of its indices")
    if not high:
        raise ValueError("the trace does not say what its indices point into")
    filled = [*arguments]
    filled[place] = indices._replace(fill="index", high=high)
    return filled


def _fill_argument(name: str, argument: Argument) -> Argument:
    """Return the argument, a tensor with its kind of values."""
    if isinstance(argument, list):
        return [_fill_tensor(name, part) if is_tensor(part) else part for part in argument]  # type: ignore[return-value]
    return _fill_tensor(name, argument) if is_tensor(argument) else argument


def _fill_tensor(name: str, tensor: RecordedTensor) -> RecordedTensor:
    """Return the tensor with its kind of values, unless it has one."""
    if tensor.fill != "positive":
        return tensor
    if tensor.dtype in {"int8", "uint8", "int16", "int32", "int64"}:
        if "div" in name or "remainder" in name or "fmod" in name:
            return tensor._replace(fill="ones")
        return tensor._replace(fill="index", high=2)
    return tensor._replace(fill="normal") if any(word in name for word in _PRODUCTS) else tensor
