"""Inputs of the right form and any content, for readers whose first check bytes rarely pass."""

from __future__ import annotations

import inspect
import typing
from enum import Enum
from typing import Any

import msgspec
from hypothesis import strategies as st

from tests.language.corpus import specifications
from whesl.runtime.journal.records import coordinator_records, isolator_records
from whesl.runtime.wire import messages

TEXTS = st.sampled_from(
    ["", "w/a", "w/b", "w", "a", "wf/app", "1", "1.0", "1.1", "c1", "n1", "x", "\u00b2", "nan", "9" * 40]
)
SCALARS = (
    st.none()
    | st.booleans()
    | TEXTS
    | st.integers(-2, 10)
    | st.sampled_from([2**63 - 1, -1, 0, 1e308, 0.5, -0.5])
    | st.text(max_size=3)
)
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
# Names of fields that any record knows.
# fmt: off
FIELDS = st.sampled_from([
    "task", "workflow", "step", "claim", "peer", "attempt", "state", "data", "kind", "time", "raised",
    "ordinal", "exception", "evidence", "recovery", "index", "outcome", "configuration", "version",
    "path_map", "rules", "nodes", "active", "spares", "job_id", "token", "action", "reason", "id",
    "history", "code", "steps", "not_before", "fresh", "alias", "rjms", "instance", "workspace",
    "current", "restarts", "tasks", "signal",
])
# fmt: on


def of(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for builtins that msgspec takes for a type, mostly."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if inspect.isclass(kind) and issubclass(kind, Enum):
        return st.sampled_from([member.value for member in kind])
    if inspect.isclass(kind) and issubclass(kind, msgspec.Struct):
        return fields_of(kind)
    if kind is str:
        return TEXTS
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.integers(-1, 5) | st.just(2**62)
    if kind is float:
        return st.sampled_from([0.0, 1.0, -1.0, 1e6, 1e300])
    if kind is bytes:
        return st.sampled_from(["", "e30=", "bnVsbA=="])
    if origin is dict:
        return st.dictionaries(of(arguments[0]), of(arguments[1]), max_size=2)
    if origin in (tuple, list, frozenset):
        return st.lists(of(arguments[0]), max_size=2)
    if arguments:  # a union
        return st.one_of([of(argument) for argument in arguments])
    return JSON if kind is Any else st.none()


def fields_of(kind: type[msgspec.Struct]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for a struct's fields, those with defaults sometimes left out, as JSON has them."""
    known = msgspec.structs.fields(kind)
    required = {field.encode_name: of(field.type) for field in known if field.required}
    optional = {field.encode_name: of(field.type) for field in known if not field.required}
    config = kind.__struct_config__
    if config.tag_field == "kind":
        required["kind"] = st.just(config.tag)
    return st.fixed_dictionaries(required, optional=optional)


@st.composite
def _message_lines(draw: st.DrawFn) -> bytes:
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(typing.get_args(messages.AnyMessage)))
        content = {"type": kind.__struct_config__.tag, **draw(fields_of(kind))}
        peer = draw(st.sampled_from(["w/a", "w/b", "cli-1", "started"]))
        lines.append(peer.encode() + b" " + msgspec.json.encode(content))
    return b"\n".join(lines)


@st.composite
def _record_lines(draw: st.DrawFn) -> bytes:
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(_RECORDS))
        data = draw(fields_of(kind) | st.dictionaries(FIELDS, JSON, max_size=8))
        lines.append(msgspec.json.encode({"kind": kind.__struct_config__.tag, "data": data}))
    return b"\n".join(lines)


_RECORDS = [*typing.get_args(coordinator_records.AnyRecord), *typing.get_args(isolator_records.AnyRecord)]
STRATEGIES: dict[str, tuple[st.SearchStrategy[bytes], ...]] = {
    "language": (specifications().map(lambda text: text.encode("utf-8", "surrogatepass")),),
    "coordinator": (_message_lines(),),
    "isolator": (_message_lines(),),
    "history": (_record_lines(),),
    "snapshot": (st.binary(max_size=40).map(lambda data: b"\2" + data),),
    "journal": (st.binary(max_size=40).map(lambda data: b"\2" + data),),
}
