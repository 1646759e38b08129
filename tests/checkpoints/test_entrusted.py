"""What a coordinator was entrusted with: a directory, predictions, parts; and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from tests.checkpoints.test_c_client import CLIENT, COMPILER, compiled
from tests.waiting import until
from whesl.checkpoints import (
    acknowledged_requests_file,
    control,
    directory_lock,
    manifest,
    messages,
    rank_shared_memory,
    sealing,
)
from whesl.checkpoints.client import Client
from whesl.checkpoints.core.states_and_events import (
    Answered,
    CommitFailed,
    Foretold,
    Joined,
    Known,
    Predicted,
    Requested,
    Settings,
)
from whesl.checkpoints.manifest import Manifest, Part
from whesl.checkpoints.messages import Reply, Written
from whesl.checkpoints.rank_shared_memory import Page
from whesl.checkpoints.rendezvous import Address
from whesl.checkpoints.service import Service
from whesl.cli.ckpt import control as control_commands
from whesl.cli.ckpt import list_interval
from whesl.model.errors import RefusedError, UsageError
from whesl.runtime.locking import takeover_lock
from whesl.runtime.wire.keys import user_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Make coordinators of one directory; ``said`` is what they say."""
    made: list[Service] = []
    (tmp_path / "job").mkdir(mode=0o700)

    def make(said: list[str] | None = None, **settings: Any) -> Service:
        keys = user_keys(tmp_path / "home")
        log = (said if said is not None else []).append
        made.append(
            Service(
                Settings(**settings), tmp_path / "kept", tmp_path / "job", keys, host="127.0.0.1", log=log
            )
        )
        return made[-1]

    yield make
    for each in made:
        each.close()


def kill(service: Service) -> None:
    """Have a coordinator end as one that is killed: it says and writes nothing, and its lock is free."""
    service._server.close()
    os.close(service._lock)
    service._lock = -1


def tell(service: Service, *told: messages.ToCoordinator) -> None:
    for message in told:
        service._take(b"agent:n0", messages.encode(message))
        service._together()


def written(place: Path, number: int, *contents: bytes) -> tuple[Part, ...]:
    parts = []
    for rank, content in enumerate(contents):
        (place / str(number) / f"rank-{rank}.part").write_bytes(content)
        parts.append(Part(rank, len(content), zlib.crc32(content), f"rank-{rank}.part"))
    return tuple(parts)


# One program a directory -----------------------------------------------------------------------------------


def test_a_second_program_in_a_directory_is_refused(service: Callable[..., Service], tmp_path: Path) -> None:
    """Both said that checkpoint 1 was complete, and one existed."""
    service()
    first = f"the checkpoints of another program: process {os.getpid()} on {os.uname().nodename}"
    with pytest.raises(UsageError, match=first):
        service()
    with pytest.raises(UsageError, match=first):
        directory_lock.refuse_held(tmp_path / "kept")
    command = [sys.executable, "-m", "whesl", "ckpt", "run", "--name", f"second-{os.getpid()}"]
    environment = {**os.environ, "WHESL_HOME": str(tmp_path / "home"), "SLURM_JOB_ID": ""}
    done = subprocess.run(
        [*command, "--dir", str(tmp_path / "kept"), "--", "touch", str(tmp_path / "ran")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and first in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_coordinator_that_is_killed_leaves_the_directory_to_the_next(
    service: Callable[..., Service],
) -> None:
    kill(service())
    service()


@pytest.mark.parametrize(
    ("job", "restarts", "over"),
    [("slurm:7", 1, True), ("slurm:7", 0, False), ("slurm:8", 0, False), ("", 0, False)],
)
def test_a_lock_of_another_host_is_broken_by_a_later_life_of_its_own_job_alone(
    job: str, restarts: int, over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = takeover_lock.Owner(host="elsewhere", pid=5, job="slurm:7", restarts=0)

    def unknown(_name: str) -> Any:
        raise RefusedError("slurmctld does not answer")

    monkeypatch.setattr("whesl.managers.resource.scheduler", unknown)
    assert directory_lock._is_over(held, takeover_lock.Owner(job=job, restarts=restarts)) is over


# What was acknowledged -------------------------------------------------------------------------------------


def test_an_acknowledged_prediction_outlives_the_coordinator(
    service: Callable[..., Service], tmp_path: Path
) -> None:
    """All agents stood still, the coordinator was killed, and nobody knew of it any more."""
    first = service()
    tell(first, Joined(node="n0", ranks=1, of=1))
    assert not first._answer(Predicted(node="n0", lead=300.0)).refused
    assert acknowledged_requests_file.load(tmp_path / "job").foretold["n0"].fails_at > time.monotonic() + 200
    kill(first)
    said: list[str] = []
    again = service(said)
    tell(again, Joined(node="n0", ranks=1, of=1))
    assert any("checkpoint 2 begins (predicted: n0)" in each for each in said), said
    left = again.status()["nodes"]
    assert isinstance(left, dict) and 200 < left["n0"]["fails_in"] < 300


def test_an_acknowledged_request_outlives_the_coordinator_and_not_its_program(
    service: Callable[..., Service], tmp_path: Path
) -> None:
    first = service()
    tell(first, Joined(node="n0", ranks=1, of=1))
    assert not first._answer(Requested(reason="by hand")).refused
    kill(first)
    said: list[str] = []
    tell(service(said), Joined(node="n0", ranks=1, of=1))
    assert any("begins (by hand)" in each for each in said), said
    acknowledged_requests_file.end_request(tmp_path / "job")
    assert acknowledged_requests_file.load(tmp_path / "job") == Known()


def test_what_cannot_be_written_down_is_not_acknowledged(
    service: Callable[..., Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = service()
    tell(made, Joined(node="n0", ranks=1, of=1))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(acknowledged_requests_file, "save", full)
    answer = made._answer(Predicted(node="n0", lead=300.0))
    assert answer.refused and "could not be written down" in answer.text and "No space left" in answer.text
    monkeypatch.undo()
    assert not made._answer(Predicted(node="n0", lead=300.0)).refused
    assert list(acknowledged_requests_file.load(tmp_path / "job").foretold) == ["n0"]


def test_a_file_that_was_torn_is_as_none(tmp_path: Path) -> None:
    acknowledged_requests_file.save(tmp_path, Known(foretold={"n0": Foretold(fails_at=time.monotonic() + 9)}))
    content = (tmp_path / "acknowledged").read_bytes()
    (tmp_path / "acknowledged").write_bytes(content[:-3])
    assert acknowledged_requests_file.load(tmp_path) == Known()


# Parts -----------------------------------------------------------------------------------------------------


def test_a_checkpoint_that_was_given_up_frees_its_parts_at_once(
    service: Callable[..., Service], tmp_path: Path
) -> None:
    """They stayed until the disk was full, and so did those of the next one."""
    kept, made = tmp_path / "kept", service()
    tell(made, Joined(node="n0", ranks=1, of=1), Predicted(node="n0", lead=300.0))
    written(kept, 1, b"x" * 1000)
    tell(made, CommitFailed(node="n0", epoch=1, why="No space left on device"))
    assert [file.name for file in (kept / "1").iterdir()] == [manifest.BEGUN]
    assert made.status()["tried_again"] is True
    until((kept / "2").is_dir, "the next one", 20, made._time)
    assert not (kept / "1").exists()


LATE = """
#include <stdio.h>
#include <whesl_ckpt.h>

int main(void)
{
    whesl_ckpt *ckpt = whesl_ckpt_init(0, 1);
    if (!whesl_ckpt_poll(ckpt)) return 2;
    fclose(fopen(whesl_ckpt_path(ckpt), "w"));
    puts("written");
    fflush(stdout);
    getchar();
    return whesl_ckpt_commit(ckpt, whesl_ckpt_path(ckpt)) ? 1 : 0;
}
"""


@pytest.mark.parametrize("language", ["c", "python"])
def test_who_commits_after_that_leaves_nothing(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet = Page(tmp_path / "page", tmp_path)
    monkeypatch.setenv("WHESL_CKPT_PAGE", str(sheet.path))
    manifest.begin(tmp_path, 1)
    for word in (rank_shared_memory.EPOCH, rank_shared_memory.GRANTED, rank_shared_memory.TARGET):
        sheet.put(word, 1)
    if language == "python":
        client = Client(0, 1)
        assert client.poll()
        client.path.write_text("state")
        sheet.put(rank_shared_memory.RELEASED, 1)
        client.commit(client.path)
    elif COMPILER is None:
        pytest.skip("no C compiler is on PATH")
    else:
        (tmp_path / "late.c").write_text(LATE)
        program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", tmp_path / "late.c")
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as rank:
            assert rank.stdout is not None and rank.stdout.readline() == b"written\n"
            sheet.put(rank_shared_memory.RELEASED, 1)
            rank.communicate(b"\n", timeout=60)
        assert rank.returncode == 0
    assert [file.name for file in (tmp_path / "1").iterdir()] == [manifest.BEGUN]
    assert [slot.state for slot in sheet.ranks()] == [rank_shared_memory.SlotState.RUNNING]


def test_what_it_took_is_known_after_a_takeover(service: Callable[..., Service], tmp_path: Path) -> None:
    """It was the time since the takeover: 0.013 s for seconds, and the interval came out as 18 minutes."""
    kept, first = tmp_path / "kept", service()
    tell(first, Joined(node="n0", ranks=1, of=1), Requested())
    tell(first, Answered(node="n0", epoch=1, round=1, top=3), Answered(node="n0", epoch=1, round=2, top=3))
    begun = time.time() - 50
    os.utime(kept / "1" / manifest.BEGUN, (begun, begun))
    kill(first)
    again = service()
    parts = written(kept, 1, b"state")
    tell(again, Joined(node="n0", ranks=1, of=1, epoch=1, target=4, committed=False))
    tell(again, Answered(node="n0", epoch=1, round=1, top=4), Written(node="n0", epoch=1, parts=parts))
    (found,) = manifest.whole(kept)
    assert found.took == pytest.approx(50, abs=20)
    assert not (kept / "1" / manifest.BEGUN).exists()


def test_list_shows_what_is_damaged(tmp_path: Path) -> None:
    """A part of the right size and of other content was shown as whole."""
    for number in (1, 2):
        manifest.begin(tmp_path, number)
        parts = written(tmp_path, number, b"one", b"two")
        manifest.write(tmp_path, Manifest(number, 5, parts, "requested"))
    manifest.begin(tmp_path, 3)
    (tmp_path / "2" / "rank-1.part").write_bytes(b"tow")

    def listed(*options: str) -> str:
        done = CliRunner().invoke(list_interval.list_, [str(tmp_path), *options], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    third, second, first = listed().splitlines()
    assert (third, "damaged" in first) == ("3: not whole", False)
    assert second.endswith("; damaged: rank-1.part is not what rank 1 has written")
    rows = json.loads(listed("--json"))
    assert [(row["whole"], row["verified"]) for row in rows] == [(False, False), (False, True), (True, True)]
    assert "damaged" not in listed("--no-verify")
    (tmp_path / "1" / "rank-0.part").unlink()
    assert "rank-0.part is missing" in listed("--no-verify")


# Predictions from outside ----------------------------------------------------------------------------------


def test_a_prediction_from_outside_finds_what_status_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """``status`` answered there, and ``predict`` found no task."""
    asked: list[Any] = []
    only = Address(("tcp://host:1",), "key", "/kept", 1)

    def ask(address: Address, message: Any, *_: object) -> Reply:
        asked.append((address, message))
        return Reply(text="n1 writes its checkpoint first")

    def nobody(*_: object, **__: object) -> None:
        raise RefusedError("no task uses n1")

    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr("whesl.checkpoints.rendezvous.known", lambda: {"17": only})
    monkeypatch.setattr(control, "ask", ask)
    monkeypatch.setattr("whesl.client.external_exceptions.predict_failure", nobody)
    done = CliRunner().invoke(control_commands.predict, ["n1", "--lead", "30"], catch_exceptions=False)
    assert (done.exit_code, done.output) == (0, "n1 writes its checkpoint first\n")
    ((address, message),) = asked
    assert (address, message.node) == (only, "n1") and 29 < message.lead <= 30


@pytest.mark.parametrize("options", [(), ("--lead", "3", "--withdraw")])
def test_either_a_lead_time_or_its_end(options: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="either --lead or --withdraw"):
        CliRunner().invoke(control_commands.predict, ["n1", *options], catch_exceptions=False)


# A file of all ranks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "ranks"), [(10, 3), (9, 3), (2, 4), (0, 2), (3_000_000, 2)])
def test_each_rank_has_a_share_of_a_file_of_all(size: int, ranks: int, tmp_path: Path) -> None:
    """It was refused after all had written it, since one file was no part of several ranks."""
    manifest.begin(tmp_path, 1)
    content = bytes(range(256)) * (size // 256) + bytes(size % 256)
    (tmp_path / "1" / "all").write_bytes(content)
    (tmp_path / "1" / "own").write_bytes(b"mine")
    parts = [Part(rank, 0, 0, "all") for rank in range(ranks)]
    parts.append(Part(ranks, 4, zlib.crc32(b"mine"), "own"))
    ended: list[Any] = []
    work = sealing.Sealing()
    work.begin(tmp_path, Manifest(1, 5, tuple(parts), "requested"), ended.append)
    (sealed,) = until(work.ended, "the manifest", 30)
    assert (sealed.why, ended) == ("", [])
    (found,) = manifest.whole(tmp_path)
    assert found.bytes == size + 4 and manifest.damage(tmp_path / "1", found) == []
    assert [part.rank for part in found.parts] == list(range(ranks + 1))
    if size:
        (tmp_path / "1" / "all").write_bytes(content[:-1] + b"\xff")
        assert len(manifest.damage(tmp_path / "1", found)) == 1


# Pages -----------------------------------------------------------------------------------------------------

OWNER = """
import sys, time
from pathlib import Path
from whesl.checkpoints.client import Client
from whesl.checkpoints.rank_shared_memory import Page
page = Page(Path(sys.argv[1]), Path("/kept"))
print("made", flush=True)
time.sleep(600)
"""


def test_pages_whose_owner_was_killed_are_removed_by_the_next_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stayed in /dev/shm."""
    (tmp_path / "other").write_text("no page")
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "page")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as owner:
        assert owner.stdout is not None and owner.stdout.readline() == b"made\n"
        rank_shared_memory.remove_ownerless(tmp_path)
        assert (tmp_path / "page").exists()  # its owner lives
        monkeypatch.setenv("WHESL_CKPT_PAGE", str(tmp_path / "page"))
        client = Client(0, 1)
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    rank_shared_memory.remove_ownerless(tmp_path)
    assert (tmp_path / "page").exists()  # a rank lives, and its agent may be started again
    client.finish()
    rank_shared_memory.remove_ownerless(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["other"]
