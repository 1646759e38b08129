"""The pure decision of what to link, copy, move or leave."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.runtime.operations.relocation.mirror_plan import (
    Action,
    Decision,
    Entry,
    Kind,
    Policy,
    below,
    decide,
    is_part,
    part_name,
    resolve,
)

WELL_UNTIL = 1000.0
POLICY: dict[str, Any] = {
    "old": b"/old",
    "new": b"/new",
    "workspace": (b"w",),
    "well_until": WELL_UNTIL,
    "first_started": 500.0,
    "user": 7,
    "mirrored": ((b"w",),),
}


def policy(**fields: Any) -> Policy:
    return Policy(**{**POLICY, **fields})


def entry(kind: Kind = Kind.FILE, at: float = 600.0, **fields: Any) -> Entry:
    return Entry(**{"name": b"f", "kind": kind, "mtime_ns": int(at * 1e9), "uid": 7, "size": 10, **fields})


OURS = entry(Kind.LINK, text=b"/old/w/f")
FOREIGN_LINK = entry(Kind.LINK, text=b"/etc/passwd")


@pytest.mark.parametrize(
    ("source", "target", "fields", "decision"),
    [
        (entry(), None, {}, Decision(Action.LINK, b"/old/w/f")),
        (entry(at=998.0), None, {}, Decision(Action.COPY)),
        # Its program gave it the time of the original (cp -p, tar), or it was written and renamed.
        (entry(at=1.0, ctime_ns=int(998e9)), None, {}, Decision(Action.COPY)),
        (entry(at=1.0, ctime_ns=int(997.9e9)), None, {}, Decision(Action.LINK, b"/old/w/f")),
        (entry(at=997.9), None, {}, Decision(Action.LINK, b"/old/w/f")),
        (entry(), None, {"open_files": frozenset({(b"w", b"f")})}, Decision(Action.COPY)),
        (entry(at=998.0), None, {"well_until": 0.0}, Decision(Action.LINK, b"/old/w/f")),
        (entry(at=998.0), None, {"copy_unfinished": False}, Decision(Action.LINK, b"/old/w/f")),
        (entry(), OURS, {}, Decision(Action.LEAVE)),
        (entry(at=999.0), OURS, {}, Decision(Action.COPY_OVER, b"/old/w/f")),
        (entry(), OURS, {"repeat": True}, Decision(Action.COPY_OVER, b"/old/w/f")),
        (entry(), FOREIGN_LINK, {"repeat": True}, Decision(Action.LEAVE)),
        (entry(), None, {"repeat": True}, Decision(Action.LEAVE)),
        (entry(), entry(), {}, Decision(Action.LEAVE)),
        (entry(at=999.0), entry(), {}, Decision(Action.LEAVE)),
        (entry(), None, {"move": True}, Decision(Action.MOVE)),
        (entry(uid=8), None, {"move": True}, Decision(Action.LINK, b"/old/w/f")),
        (entry(), OURS, {"move": True}, Decision(Action.MOVE_OVER, b"/old/w/f")),
        (entry(), entry(), {"move": True}, Decision(Action.FINISH_MOVE)),
        (entry(), entry(size=9), {"move": True}, Decision(Action.LEAVE)),
        (entry(), entry(Kind.DIRECTORY), {}, Decision(Action.CONFLICT)),
        (entry(Kind.DIRECTORY), None, {}, Decision(Action.ENTER)),
        (entry(Kind.DIRECTORY), entry(Kind.DIRECTORY), {}, Decision(Action.ENTER)),
        (entry(Kind.DIRECTORY), entry(), {}, Decision(Action.CONFLICT)),
        (entry(Kind.DIRECTORY), FOREIGN_LINK, {}, Decision(Action.CONFLICT)),
        (entry(Kind.DIRECTORY), OURS, {}, Decision(Action.LEAVE)),
        (entry(Kind.FIFO), None, {}, Decision(Action.FIFO)),
        (entry(Kind.FIFO), entry(), {}, Decision(Action.LEAVE)),
        (entry(Kind.OTHER), None, {}, Decision(Action.LEAVE)),
        (entry(Kind.LINK, text=b"g"), None, {}, Decision(Action.RELINK, b"g")),
        (entry(Kind.LINK, text=b"../w/g"), None, {}, Decision(Action.RELINK, b"../w/g")),
        (entry(Kind.LINK, text=b"../x/g"), None, {}, Decision(Action.RELINK, b"/old/w/f")),
        (entry(Kind.LINK, text=b"../../etc"), None, {}, Decision(Action.RELINK, b"/old/w/f")),
        (entry(Kind.LINK, text=b"/old/w/g"), None, {}, Decision(Action.RELINK, b"/new/w/g")),
        (entry(Kind.LINK, text=b"/old/x/g"), None, {}, Decision(Action.RELINK, b"/old/x/g")),
        (entry(Kind.LINK, text=b"/elsewhere"), None, {}, Decision(Action.RELINK, b"/elsewhere")),
        (entry(Kind.LINK, text=b"/new/w/f"), None, {}, Decision(Action.LEAVE)),
        (entry(Kind.LINK, text=b"g"), entry(), {}, Decision(Action.LEAVE)),
    ],
)
def test_decisions(source: Entry, target: Entry | None, fields: dict[str, Any], decision: Decision) -> None:
    assert decide((b"w",), source, target, policy(**fields)) == decision


def test_outside_the_workspace_only_open_files_are_unfinished() -> None:
    """Another producer's file written at the same moment must not be hidden by an old copy of it."""
    assert decide((b"x",), entry(at=999.5), None, policy()).action is Action.LINK
    assert decide((b"x",), entry(at=999.5), None, policy(workspace=None)).action is Action.COPY
    opened = policy(open_files=frozenset({(b"x", b"f")}))
    assert decide((b"x",), entry(at=1.0), None, opened).action is Action.COPY


def test_outside_the_workspace_own_is_what_is_newer_than_the_first_start() -> None:
    link = entry(Kind.LINK, text=b"/old/x/f")
    assert decide((b"x",), entry(at=501), link, policy(repeat=True)).action is Action.COPY_OVER
    assert decide((b"x",), entry(at=499), link, policy(repeat=True)).action is Action.LEAVE


NAME = st.binary(min_size=1, max_size=20).filter(
    lambda n: b"/" not in n and b"\0" not in n and n not in (b".", b"..")
)
ENTRY = st.builds(
    Entry,
    name=st.just(b"f"),
    kind=st.sampled_from(Kind),
    uid=st.sampled_from([7, 8]),
    size=st.integers(0, 20),
    mtime_ns=st.integers(0, 2_000_000_000_000),
    text=st.sampled_from([b"/old/w/f", b"/new/w/f", b"g", b"../..", b"/x"]),
)


@given(ENTRY, st.none() | ENTRY, st.booleans(), st.booleans(), st.booleans())
def test_nothing_but_our_own_link_is_ever_replaced(
    source: Entry, target: Entry | None, move: bool, repeat: bool, unfinished: bool
) -> None:
    made = decide((b"w",), source, target, policy(move=move, repeat=repeat, copy_unfinished=unfinished))
    if target is None:
        return
    if made.action in (Action.COPY_OVER, Action.MOVE_OVER):
        assert (
            source.kind is Kind.FILE and target.kind is Kind.LINK and target.text == b"/old/w/f" == made.text
        )
    else:
        assert made.action in (Action.LEAVE, Action.ENTER, Action.CONFLICT, Action.FINISH_MOVE)
    if made.action is Action.ENTER:
        assert target.kind is Kind.DIRECTORY


@given(st.text(alphabet="0123456789abcdef", min_size=16, max_size=16), NAME)
def test_part_names(token: str, name: bytes) -> None:
    part = part_name(token, name)
    assert is_part(part) and is_part(part, token) and len(part) < 256
    assert not is_part(part, token[::-1]) or token == token[::-1]
    assert not is_part(name) or name.startswith(b".whesl-part-")


@pytest.mark.parametrize(
    ("text", "rel"),
    [(b"g", (b"a", b"g")), (b"./../b/", (b"b",)), (b"../..", None), (b"../../a", None), (b"..", ())],
)
def test_resolving_by_text(text: bytes, rel: tuple[bytes, ...] | None) -> None:
    assert resolve((b"a",), text) == rel


@pytest.mark.parametrize(
    ("path", "rel"),
    [
        (b"/old", ()),
        (b"/old//a/./b/", (b"a", b"b")),
        (b"/older", None),
        (b"/old/../x", None),
        (b"relative", None),
    ],
)
def test_below(path: bytes, rel: tuple[bytes, ...] | None) -> None:
    assert below(b"/old/", path) == rel
