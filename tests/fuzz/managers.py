"""What resource managers print: Slurm of any version, Flux, the in-tree one's protocol, host lists."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any

import msgspec

from tests.fuzz.harness import Harness, text_of
from whesl.managers.resource.embedded.channel import Channel, ChannelClosedError
from whesl.managers.resource.flux import bridge_client
from whesl.managers.resource.flux import flux_command_output as flux_records
from whesl.managers.resource.flux.allocation import FluxAllocation
from whesl.managers.resource.slurm import (
    job_variables_of_nodes_in_use,
    releases,
    slurm_command_output,
    states,
)
from whesl.managers.resource.slurm.command import failure
from whesl.model import hostlist
from whesl.model.errors import CouldNotObserveError, WheslError
from whesl.model.hostlist import idset


def slurm(data: bytes) -> None:
    """Read whatever squeue, sinfo, sacct and their complaints may be."""
    text = text_of(data)
    for reader in (
        slurm_command_output.jobs,
        slurm_command_output.nodes,
        slurm_command_output.addresses,
        slurm_command_output.steps,
        slurm_command_output.accounted,
    ):
        for given in (text, text.replace("|", slurm_command_output.SEPARATOR)):
            try:
                reader(given)
            except CouldNotObserveError as error:
                assert error.message
    for line in text.splitlines():
        states.job_state(line)
        states.node_state(line)
        states.reason_text(line)
        releases.release(line)
        slurm_command_output.token_of(line)
    assert isinstance(failure("squeue", 1, text), WheslError)
    variables = dict(line.partition("=")[::2] for line in text.splitlines())
    with contextlib.suppress(CouldNotObserveError):
        job_variables_of_nodes_in_use.for_nodes(job_variables_of_nodes_in_use.nodes_of(variables), variables)


def hostlists(data: bytes) -> None:
    """Expand a host list; what was expanded is compressed to the same names."""
    text = text_of(data)
    try:
        names = hostlist.expand(text)
    except ValueError:
        return
    assert hostlist.expand(hostlist.compress(names)) == names


_NAMES = {0: "n0", 1: "n1", 2: "n2"}


class _Told:
    """A bridge's far end that says what it is given."""

    alive = True

    def __init__(self, said: list[dict[str, Any]]) -> None:
        self.said = said

    def call(self, operation: str, **_: object) -> Any:
        """Answer with the next thing to say."""
        if not self.said:
            raise CouldNotObserveError(f"flux: {operation}: no answer")
        return self.said.pop(0)

    def events(self) -> list[dict[str, Any]]:
        """Return all that is left."""
        said, self.said = self.said, []
        return said


def flux(data: bytes) -> None:
    """Take what Flux says through the bridge: answers, events, idsets, notes."""
    said: list[dict[str, Any]] = []
    for line in data.split(b"\n"):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            said.append(message)
    text = text_of(data)
    flux_records.nodes_in(text, _NAMES)
    flux_records.ranks_of(text)
    assert isinstance(bridge_client.failure("look", 2, text), WheslError)
    for message in said:
        with contextlib.suppress(CouldNotObserveError):
            flux_records.job_record(message, _NAMES, {1})
    allocation = FluxAllocation.__new__(FluxAllocation)
    FluxAllocation.__init__(allocation, {"FLUX_URI": "local:///none"})
    allocation._bridge = _Told(said)  # type: ignore[assignment]  # a bridge that only tells
    for ask in (allocation.describe, allocation.node_states, allocation.events):
        with contextlib.suppress(WheslError):
            ask()


def local(data: bytes) -> None:
    """Read the lines of the in-tree manager's protocol from a socket, in two pieces."""
    near, far = socket.socketpair(socket.AF_UNIX)
    with near, far:
        channel = Channel(near)
        for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
            try:
                if piece:
                    far.sendall(piece)
                    for message in channel.receive():
                        channel.send(message)
                        msgspec.json.encode(message)
            except ChannelClosedError:
                return


def ranks(data: bytes) -> None:
    """Read an idset of a command line."""
    try:
        idset(text_of(data))
    except ValueError:
        return


_JOB = "12|12|RUNNING|None|n[1-2]|n1|1700000000|1700000001|N/A|0|0|name|whesl:w/a.1|"
HARNESSES = (
    Harness(
        "slurm",
        slurm,
        (
            _JOB,
            "12|COMPLETED|n1|1700000000|1700000001|1700000002|0:0|n|whesl:t|sbatch --comment=whesl:t|\n",
            "n1|idle*|none|\n",
            "n1|down+drain+not_responding|why|\n",
            "n1|10.0.0.1|6818|\n",
            "12.0|step|\n",
            "SLURM_JOB_NODELIST=n[1-4]\n",
            "SLURM_TASKS_PER_NODE=2(x4)\n",
            "SLURM_NTASKS=8\n",
            "None assigned",
            "Invalid job id specified",
        ),
    ),
    Harness("hostlists", hostlists, ("n[001-010,7]", "a[1-2]b[3-4]", "[", "]", ",", "-", "x,y")),
    Harness(
        "flux",
        flux,
        (
            '{"id":1,"state":"RUN","ranks":"[0-2]","t_run":1.5}\n',
            '{"id":1,"state":"INACTIVE","result":"FAILED","waitstatus":9,"exception_note":"node failure"}\n',
            '{"hosts":{"0":"n0","1":"n1"},"rank":0,"security.owner":"0","uid":0,"expiration":0,"job":"f1"}\n',
            '{"online":[0,1],"offline":[2],"torpid":[],"drained":{"1":"why"}}\n',
            '{"event":"node","change":"offline","ranks":[1],"time":1.0}\n',
            '{"event":"exception","job":"f1","type":"exec","severity":0,"note":"on n1 (rank 1)","time":1}\n',
            "(ranks 0-2,5)",
        ),
    ),
    Harness(
        "local",
        local,
        ('{"is":"ping"}\n', '{"is":"listjobs","jobs":["5_2"]}\n', '{"is":"cancel","job":"1","step":2}\n'),
    ),
    Harness("idsets", ranks, ("0-3,7", "all", "[", "-")),
)
