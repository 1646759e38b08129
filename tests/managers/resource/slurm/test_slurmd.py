"""When a slurmd has surely ended, and when that cannot be told: with sockets of our own."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from whesl.managers.resource.slurm import slurm_command_output
from whesl.managers.resource.slurm.slurmd_probe import Slurmds
from whesl.model.errors import CouldNotObserveError


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def learned(slurmds: Slurmds, *nodes: str) -> Slurmds:
    slurmds.learn()
    deadline = time.monotonic() + 120
    while slurmds.known != frozenset(nodes) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert slurmds.known == frozenset(nodes)
    return slurmds


def test_a_refusal_after_an_acceptance_is_an_end(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    slurmds = learned(Slurmds(lambda: {"n1": ("127.0.0.1", port)}), "n1")
    assert not slurmds.ended("n1")
    listener.close()
    assert slurmds.ended("n1")


def test_a_refusal_alone_is_none(listener: socket.socket) -> None:
    """A firewall refuses, or the address is another one: it never accepted."""
    closed = socket.create_server(("127.0.0.1", 0))
    refusing = closed.getsockname()[1]
    closed.close()
    listed = {"n1": ("127.0.0.1", refusing), "n2": ("127.0.0.1", listener.getsockname()[1])}
    slurmds = learned(Slurmds(lambda: listed), "n2")
    assert not slurmds.ended("n1")
    assert not slurmds.ended("stranger")


def test_no_answer_is_no_end(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    slurmds = learned(Slurmds(lambda: {"n1": ("127.0.0.1", listener.getsockname()[1])}), "n1")
    errors: list[OSError] = [TimeoutError(), OSError(113, "No route to host"), ConnectionResetError()]

    def fail(*_: object) -> None:
        raise errors.pop()

    monkeypatch.setattr("whesl.managers.resource.slurm.slurmd_probe._connect", fail)
    while errors:
        assert not slurmds.ended("n1")


def test_what_slurmctld_did_not_tell_is_asked_again(listener: socket.socket) -> None:
    answers = iter([CouldNotObserveError("busy")])

    def ask() -> dict[str, tuple[str, int]]:
        for error in answers:
            raise error
        return {"bad.invalid": ("bad.invalid", 1), "n1": ("127.0.0.1", listener.getsockname()[1])}

    slurmds = Slurmds(ask)
    slurmds.learn()
    deadline = time.monotonic() + 120
    while not slurmds.known and time.monotonic() < deadline:
        slurmds.learn()
        time.sleep(0.01)
    assert slurmds.known == {"n1"}


def test_addresses_are_read_from_sinfo() -> None:
    mark = slurm_command_output.SEPARATOR
    text = (
        f"n01{mark}10.0.0.1{mark}6818{mark}\nn02{mark}{mark}0{mark}\nn03{mark}node3.site{mark}17002{mark}\n"
    )
    assert slurm_command_output.addresses(text) == {"n01": ("10.0.0.1", 6818), "n03": ("node3.site", 17002)}
    with pytest.raises(CouldNotObserveError):
        slurm_command_output.addresses("slurm says no")
