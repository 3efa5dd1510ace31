"""Remote-write messages for tests, written with protobuf: a second, independent opinion.

The descriptor is made at run time. Labels are `bytes` in it, so that invalid UTF-8 can be sent;
exemplars, histograms and metadata too, since we count them without looking inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import cramjam
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_F = descriptor_pb2.FieldDescriptorProto
_KINDS = {"bytes": _F.TYPE_BYTES, "double": _F.TYPE_DOUBLE, "int64": _F.TYPE_INT64}
_MESSAGES: dict[str, list[tuple[str, int, str, bool]]] = {
    "Label": [("name", 1, "bytes", False), ("value", 2, "bytes", False)],
    "Sample": [("value", 1, "double", False), ("timestamp", 2, "int64", False)],
    "TimeSeries": [
        ("labels", 1, "Label", True),
        ("samples", 2, "Sample", True),
        ("exemplars", 3, "bytes", True),
        ("histograms", 4, "bytes", True),
    ],
    "WriteRequest": [("timeseries", 1, "TimeSeries", True), ("metadata", 3, "bytes", True)],
}


def _write_request() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="rw.proto", package="rw", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            label = _F.LABEL_REPEATED if repeated else _F.LABEL_OPTIONAL
            of = message.field.add(name=field, number=number, label=label)
            of.type = _KINDS.get(kind, _F.TYPE_MESSAGE)
            if kind not in _KINDS:
                of.type_name = f".rw.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("rw.WriteRequest"))


WriteRequest = _write_request()

Pairs = Iterable[tuple[str | bytes, str | bytes]]
Samples = Sequence[tuple[int, float]]


def series(labels: Pairs, samples: Samples) -> tuple[list[tuple[bytes, bytes]], Samples]:
    """A series with its labels in the given order."""
    return [(_raw(name), _raw(value)) for name, value in labels], samples


def named(metric: str, samples: Samples, **labels: str) -> Any:
    """A series as a good sender writes it: labels sorted."""
    return series(sorted({"__name__": metric, **labels}.items()), samples)


def message(*all_series: Any) -> bytes:
    """A write request, not compressed."""
    request = WriteRequest()
    for labels, samples in all_series:
        of = request.timeseries.add()
        for name, value in labels:
            of.labels.add(name=name, value=value)
        for ts, value in samples:
            of.samples.add(timestamp=ts, value=value)
    return bytes(request.SerializeToString())


def pack(data: bytes) -> bytes:
    """`data` as a snappy block."""
    return bytes(cramjam.snappy.compress_raw(data))


def body(*all_series: Any) -> bytes:
    """A write request as it goes over the wire."""
    return pack(message(*all_series))


def _raw(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
