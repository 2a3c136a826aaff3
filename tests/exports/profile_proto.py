"""Reads a profile of pprof by the wire format alone: fields by number, as profile.proto of github.com/google/pprof has them."""

from __future__ import annotations

import gzip
from collections import defaultdict
from typing import NamedTuple

_VARINT, _BYTES = 0, 2


class Frame(NamedTuple):
    name: str
    file: str
    line: int


class Profile(NamedTuple):
    """`types` are (name, unit); `samples` are (frames from the outermost on, values)."""

    types: list[tuple[str, str]]
    default: str
    samples: list[tuple[tuple[Frame, ...], tuple[int, ...]]]
    binary: str
    dur: int
    comments: list[str]


def read_profile(data):
    top = fields_of(gzip.decompress(data))
    texts = [text.decode() for text in top[6]]
    assert texts[0] == ""
    functions = {each[1][0]: each for each in map(fields_of, top[5])}
    frames = {}
    for location in map(fields_of, top[4]):
        assert location[2] == [1]
        (line,) = map(fields_of, location[4])
        function = functions[line[1][0]]
        name, file = (texts[function[field][0]] if function[field] else "" for field in (2, 4))
        frames[location[1][0]] = Frame(name, file, line[2][0])
    assert 0 not in frames
    (mapping,) = map(fields_of, top[3])
    assert mapping[1] == [1]
    return Profile(
        [tuple(texts[fields_of(each)[field][0]] for field in (1, 2)) for each in top[1]],
        texts[top[14][0]],
        [_sample(fields_of(each), frames) for each in top[2]],
        texts[mapping[5][0]],
        top[10][0],
        [texts[number] for number in top[13]],
    )


def _sample(fields, frames):
    (stack,), (values,) = fields[1], fields[2]
    return tuple(frames[number] for number in reversed(numbers_of(stack))), tuple(numbers_of(values))


def fields_of(data):
    """Field number -> its values in their order: whole numbers, or bytes."""
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = varint_at(data, at)
        value, at = varint_at(data, at)
        if key & 7 == _BYTES:
            value, at = data[at : at + value], at + value
        else:
            assert key & 7 == _VARINT
        found[key >> 3].append(value)
    assert at == len(data)
    return found


def numbers_of(data):
    found, at = [], 0
    while at < len(data):
        value, at = varint_at(data, at)
        found.append(value)
    return found


def varint_at(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at
