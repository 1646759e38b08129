"""A task is still told the name of a node that was replaced: who sees it, and who is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.isolator.conftest import World, detect, exception, make_setup
from whesl.managers.resource.launcher_shims.replaced_node_mentions import addresses, mentions
from whesl.model.hostlist import compress
from whesl.runtime.isolator.core.events_and_commands import Say, StartAttempt
from whesl.runtime.journal.records import isolator_records as records

SWAPPED = {"n01": "n04"}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("n01", True),
        ("n01.site.example", True),
        ("n01:29500", True),
        ("tcp://n01:29500", True),
        ("user@n01", True),
        ("n02,n01", True),
        ("n[01-03]", True),
        ("n02 slots=2\nn01 slots=2", True),
        ("n02", False),
        ("n010", False),
        ("xn01", False),
        ("n01-ib", False),
        ("n[02-04]", False),
        ("x.n01", False),
        ("/local/n01/run", False),
        ("a[b", False),
        ("a[9-1]", False),
        ("", False),
    ],
)
def test_a_name_stands_for_a_host(value: str, found: bool) -> None:
    assert mentions({"MASTER_ADDR": value}, (), SWAPPED) == ((f"MASTER_ADDR={value}",) if found else ())
    assert bool(mentions({}, ("./app", value), SWAPPED)) is found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("10.1.0.1", True),
        ("tcp://10.1.0.1:29500", True),
        ("fd00::17", True),
        ("10.1.0.2", False),
        ("10.1.0.11", False),
        ("110.1.0.1", False),
        ("12:00:01", False),
    ],
)
def test_an_address_is_that_of_a_host(value: str, found: bool) -> None:
    """Many scripts export their first node's address, as torchrun's recipes do."""

    def told(environment: dict[str, str], command: tuple[str, ...]) -> tuple[str, ...]:
        return mentions(environment, command, SWAPPED, lookup=lambda _: ("10.1.0.1", "fd00::17"))

    assert told({"MASTER_IP": value}, ()) == ((f"MASTER_IP={value}",) if found else ())
    assert bool(told({}, ("./app", value))) is found


def test_addresses_by_which_nobody_else_reaches_a_host_are_none_of_it() -> None:
    assert not addresses(["localhost", "no-such-host.invalid"])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("export MASTER_ADDR=$(hostname -s)", "MASTER_ADDR=$(hostname -s)"),
        ("head=`hostname --ip-address`", "head=`hostname --ip-address`"),
        ('torchrun --master_addr "$SLURMD_NODENAME" x.py', '--master_addr "$SLURMD_NODENAME'),
        ("ADDR=${SLURM_TOPOLOGY_ADDR}", "ADDR=${SLURM_TOPOLOGY_ADDR}"),
        ("echo $(hostname)", ""),
        ("head=$(scontrol show hostnames | head -1)", ""),
    ],
)
def test_a_script_that_gives_its_own_host_is_told_where_that_was_replaced(line: str, told: str) -> None:
    """The script stays on a host that its ranks have left."""
    script = f"#!/bin/bash\n{line}\n".encode()
    assert mentions({}, ("job.sh",), SWAPPED, script, "n01") == ((f"{told} (n01)",) if told else ())
    assert mentions({}, ("job.sh",), SWAPPED, script, "n02") == ()


def test_what_is_told_anew_is_left_out() -> None:
    environment = {"WHESL_SWAPPED": '{"n01":"n04"}', "SLURM_TOPOLOGY_ADDR": "n01", "HOSTNAME": "n01"}
    assert mentions(environment, (), SWAPPED) == ()
    assert mentions({"HEAD": "n01"}, ("./app", "n01"), {}) == ()


@pytest.mark.parametrize("name", ["SLURM_LAUNCH_NODE_IPADDR", "SLURM_SRUN_COMM_HOST"])
def test_an_address_that_srun_gives_its_steps_is_told_where_it_is_a_replaced_node_s(name: str) -> None:
    """torchrun's master was where srun ran, and none of its ranks was there any more."""
    script = f"srun sh -c 'torchrun --rdzv-endpoint=${name}:29500 x.py'\n".encode()
    assert mentions({}, ("job.sh",), SWAPPED, script, "n01") == (f"{name} (n01)",)
    assert mentions({}, ("sh", "-c", script.decode()), SWAPPED, b"", "n01") == (f"{name} (n01)",)
    assert mentions({}, ("job.sh",), SWAPPED, script, "n02") == ()
    assert mentions({}, ("job.sh",), {}, script, "n01") == ()


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("srun -w n01 ./app", ()),
        ("srun -w n01 ./app --head n01", ("argument n01",)),
        ("/usr/bin/srun --nodelist=n01 ./app", ()),
        ("mpirun --host n01:2 ./app", ()),
        ("mpiexec -hosts n01 ./app --head=n01", ("argument --head=n01",)),
        ("torchrun --rdzv-endpoint=n01:29500 train.py", ("argument --rdzv-endpoint=n01:29500",)),
    ],
)
def test_options_of_launchers_are_translated_by_the_shims(command: str, found: tuple[str, ...]) -> None:
    assert mentions({}, command.split(), SWAPPED) == found


_NAMES = st.lists(st.from_regex(r"n[0-9]{1,3}", fullmatch=True), min_size=1, max_size=6, unique=True)


@given(_NAMES, _NAMES)
def test_a_list_names_what_it_stands_for(listed: list[str], replaced: list[str]) -> None:
    swapped = dict.fromkeys(replaced, "spare")
    named = not set(listed).isdisjoint(replaced)
    for text in (compress(listed), ",".join(listed), " ".join(listed)):
        assert bool(mentions({"NODES": text}, (), swapped)) is named, text


def test_it_is_told_once_for_each_change() -> None:
    made = World(make_setup(exception(limit=5), nodes=("n1", "n2")))
    made.hold = (StartAttempt,)
    made.start()
    for attempt, outdated in enumerate([(), ("HEAD=n1",), ("HEAD=n1",), ("HEAD=n1", "OTHER=n2")], 1):
        made.feed(records.Launched(attempt=attempt, pid=1, started=1, outdated=outdated))
        detect(made, "CRASH")
    told = [said.text for said in made.asked(Say) if "replaced" in said.text]
    assert [text.partition("its name: ")[2].partition(";")[0] for text in told] == [
        "HEAD=n1",
        "HEAD=n1, OTHER=n2",
    ]
    assert [data.get("outdated") for kind, data, _ in made.records if kind == "launched"][1] == ["HEAD=n1"]
