"""What cannot work is said, and a program runs on as it would without the client."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.checkpoints.test_c_client import CLIENT, COMPILER, compiled
from tests.equipment import faults
from whesl.checkpoints import manifest, messages, rank_shared_memory
from whesl.checkpoints.agent import Agent
from whesl.checkpoints.client import Client, CommitError
from whesl.checkpoints.core.states_and_events import Answered, Joined, Requested, Settings
from whesl.checkpoints.manifest import Manifest, Part
from whesl.checkpoints.messages import Verified, Written
from whesl.checkpoints.rank_shared_memory import Page, SlotState
from whesl.checkpoints.service import Service
from whesl.cli.broken_pipe import drop
from whesl.cli.ckpt import run_serve
from whesl.model.errors import UsageError, WheslError
from whesl.runtime.wire.keys import user_keys

NOBODY = 65534


def refusal(directory: Path, *options: str) -> str:
    """Return why the coordinator does not start."""
    arguments = ["--dir", str(directory), "--name", "refused", *options]
    try:
        return CliRunner().invoke(run_serve.serve, arguments, catch_exceptions=False).output
    except WheslError as error:
        return str(error)


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    assert "checkpoints cannot be kept" in refusal(tmp_path / "file" / "below")
    if os.geteuid() != 0:
        pytest.skip("a file system is mounted by root")
    with faults.tmpfs(tmp_path / "disk", 1 << 20) as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk.path], check=True)
        assert f"{disk.path} is not writable" in refusal(disk.path)
        assert "Read-only file system" in refusal(disk.path / "below")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize(("mode", "said"), [(0o700, "is not readable"), (0o755, "is not writable")])
def test_another_user_s_directory(mode: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Path(tempfile.mkdtemp())
    try:
        place.chmod(0o755)
        (place / "kept").mkdir()
        (place / "kept").chmod(mode)
        (place / "home").mkdir(mode=0o700)
        os.chown(place / "home", NOBODY, NOBODY)
        monkeypatch.setenv("WHESL_HOME", str(place / "home"))
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                (place / "home" / "said").write_text(refusal(place / "kept"))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert said in (place / "home" / "said").read_text()
    finally:
        shutil.rmtree(place)


@pytest.mark.parametrize(
    "options",
    [
        ("--migrate", "move"),
        ("--theta", "3"),
        ("--migrate", "'", "--theta", "3"),
        ("--migrate", "", "--theta", "3"),
        ("--interval", "-1"),
        ("--arrival", "soon"),
        ("--commit", "0"),
    ],
)
def test_options_that_are_none(options: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        CliRunner().invoke(run_serve.serve, ["--dir", str(tmp_path), *options], catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--restore", "0", "true"), "--restore"),
        (("--", "no/such/program"), "no program that can be started"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_started(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        CliRunner().invoke(
            run_serve.run, ["--dir", str(tmp_path / "kept"), *arguments], catch_exceptions=False
        )
    assert not (tmp_path / "kept").exists()


@pytest.fixture
def sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    made = Page(tmp_path / "page", tmp_path)
    monkeypatch.setenv("WHESL_CKPT_PAGE", str(made.path))
    return made


def alone(client: Client, place: Path, why: str = "") -> None:
    """A client without an agent: nothing is asked for, and what is committed is durable.

    Where an agent was to be there, nothing is restored: the program would begin anew, unprotected.
    """
    (place / "state").write_text("step 1")
    for _ in range(3):
        assert not client.poll()
        client.commit(place / "state")
    if why:
        for restore in (client.restore, client.restore_all):
            with pytest.raises(WheslError, match=f"nothing was restored: .*{why}"):
                restore()
    else:
        assert client.restore() is None
    client.finish()


def test_an_agent_of_another_version(sheet: Page, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sheet.put(0, rank_shared_memory.MAGIC + 1)
    alone(Client(0, 1), tmp_path, "another version")
    said = capfd.readouterr().err
    assert said.count("another version: checkpoints are not coordinated") == 1 == len(said.splitlines())
    if COMPILER is None:
        pytest.skip("no C compiler is on PATH")
    program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", CLIENT / "examples" / "counter.c")
    done = subprocess.run([program, "0", "1", "5", "1", "10"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "nothing was restored: the agent is of another version" in done.stderr


@pytest.mark.parametrize("language", ["c", "python"])
def test_a_page_that_nobody_makes(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The program computed from the beginning, unprotected, although there was a whole checkpoint."""
    monkeypatch.setenv("WHESL_CKPT_PAGE", str(tmp_path / "page"))
    monkeypatch.setenv("WHESL_CKPT_PATIENCE", "0.2")
    if language == "python":
        alone(Client(0, 1), tmp_path, "cannot open .*page")
        return
    if COMPILER is None:
        pytest.skip("no C compiler is on PATH")
    program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", CLIENT / "examples" / "counter.c")
    done = subprocess.run([program, "0", "1", "5", "1", "10"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "nothing was restored: cannot open" in done.stderr


def test_two_programs_with_the_same_ranks(
    sheet: Page, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first = Client(0, 1)
    alone(Client(0, 1), tmp_path, "another process has this rank")
    assert capfd.readouterr().err.count("another process has this rank") == 1
    assert [slot.rank for slot in sheet.ranks()] == [0]
    first.finish()


@pytest.mark.parametrize("language", ["c", "python"])
def test_a_dead_rank_that_nobody_has_waited_for_keeps_its_place_from_nobody(
    sheet: Page, tmp_path: Path, capfd: pytest.CaptureFixture[str], language: str
) -> None:
    """A program that was started again at once was not coordinated: the one before was still a zombie."""
    before = os.fork()
    if not before:
        Client(0, 1)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    assert [slot.pid for slot in sheet.ranks()] == [before]
    assert not rank_shared_memory.alive(before)
    if language == "python":
        Client(0, 1).finish()
    elif COMPILER is None:
        pytest.skip("no C compiler is on PATH")
    else:
        program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", CLIENT / "examples" / "counter.c")
        environment = {**os.environ, "WHESL_CKPT_PATIENCE": "0.5"}  # no agent answers
        subprocess.run([program, "0", "1", "5", "1", "10"], env=environment, check=False)
    os.waitpid(before, 0)
    assert "another process has this rank" not in capfd.readouterr().err
    assert [slot.pid for slot in sheet.ranks()] != [before]


COMMITS = """\
#include <stdio.h>
#include "whesl_ckpt.h"
int main(int argc, char **argv)
{
    whesl_ckpt *ckpt = whesl_ckpt_init(0, 1);
    if (argc < 2 || !whesl_ckpt_poll(ckpt)) return 2;
    fclose(fopen(argv[1], "w"));
    int result = whesl_ckpt_commit(ckpt, argv[1]);
    printf("%d %s\\n", result, whesl_ckpt_error(ckpt));
    whesl_ckpt_finish(ckpt);
    return 0;
}
"""


@pytest.mark.parametrize("name", ["../state", "a state"])
def test_a_manifest_names_files_of_its_own_directory(name: str, sheet: Page, tmp_path: Path) -> None:
    """The checkpoint was called complete, and could never be restored."""
    (tmp_path / "1").mkdir()
    for word, value in (
        (rank_shared_memory.EPOCH, 1),
        (rank_shared_memory.GRANTED, 1),
        (rank_shared_memory.TARGET, 1),
    ):
        sheet.put(word, value)
    path = tmp_path / "1" / name

    def told() -> list[SlotState]:
        return [slot.state for slot in sheet.ranks()]

    client = Client(0, 1)
    assert client.poll()
    path.touch()
    with pytest.raises(CommitError, match="a blank" if " " in name else "it is not in"):
        client.commit(path)
    assert told() == [SlotState.FAILED]
    client.finish()
    if COMPILER is None:
        pytest.skip("no C compiler is on PATH")
    (tmp_path / "commits.c").write_text(COMMITS)
    program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", tmp_path / "commits.c")
    done = subprocess.run([program, path], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("-1 cannot commit") and done.stderr == ""
    assert "No such file" not in done.stdout


def test_one_file_is_no_part_of_two_ranks(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    parts = tuple(Part(rank, 1, 0, "state") for rank in range(2))
    with pytest.raises(ValueError, match="one file for several ranks"):
        manifest.write(tmp_path, Manifest(1, 5, parts, "requested"))


@pytest.mark.parametrize(("rank", "ranks"), [(-1, 2), (2, 2), (0, 0)])
def test_a_rank_that_is_none(
    rank: int, ranks: int, sheet: Page, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    alone(Client(rank, ranks), tmp_path, f"rank {rank} of {ranks} is none")
    assert (
        capfd.readouterr().err
        == f"whesl.checkpoints: rank {rank} of {ranks} is none: checkpoints are not coordinated\n"
    )
    assert not list(sheet.ranks())


@pytest.mark.parametrize("stderr", ["full", None])
def test_a_program_whose_standard_error_is_full(
    stderr: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr("sys.stderr", full if stderr else None)
        alone(Client(0, 1), tmp_path)
        monkeypatch.undo()
        drop(full)


def checkpoint(place: Path, ranks: int) -> None:
    """Write a whole checkpoint of empty parts."""
    parts = tuple(Part(rank, 0, 0, f"rank-{rank}.part") for rank in range(ranks))
    (place / "1").mkdir(parents=True)
    for part in parts:
        (place / "1" / part.name).touch()
    manifest.write(place, Manifest(1, 5, parts, "requested"))


def test_a_rank_that_restores_waits_no_longer_than_it_was_told(
    sheet: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had waited for ever for a rank that was not started, while its agent lived."""
    checkpoint(tmp_path, 2)
    client = Client(0, 2)
    with pytest.raises(WheslError, match=r"named no checkpoint within 0\.01 s"):
        client.restore(0.01)
    sheet.put(rank_shared_memory.CANDIDATE, 1)
    with pytest.raises(WheslError, match=r"not all ranks have verified checkpoint 1 within 0\.01 s"):
        client.restore(0.01)
    # Its answer is taken back: the others do not restore what it does not.
    assert [slot.verified for slot in sheet.ranks()] == [0]
    client.finish()
    if COMPILER is None:
        pytest.skip("no C compiler is on PATH")
    monkeypatch.setenv("WHESL_CKPT_RESTORE", "0.01")
    program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", CLIENT / "examples" / "counter.c")
    done = subprocess.run([program, "0", "2", "5", "1", "10"], capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "not all ranks have verified checkpoint 1 within 0.01 s" in done.stderr
    assert [slot.verified for slot in sheet.ranks()] == [0]


def test_an_agent_takes_back_what_a_rank_no_longer_says(sheet: Page, tmp_path: Path) -> None:
    keys = user_keys(tmp_path / "home")
    agent = Agent("n0", sheet, tmp_path, keys.client, lambda _line: None)
    said: list[Verified] = []
    agent._send = said.append  # type: ignore[assignment, method-assign]  # what would be sent
    checkpoint(tmp_path, 2)
    sheet.put(rank_shared_memory.CANDIDATE, 1)
    client = Client(0, 2)
    client._words[client._first + rank_shared_memory.VERIFIED] = 3
    for _ in range(2):
        agent._restored()
    client._words[client._first + rank_shared_memory.VERIFIED] = 0
    for _ in range(2):
        agent._restored()
    assert [(each.good, each.bad) for each in said] == [(1, 0), (0, 0)]
    client.finish()
    agent.close()


PARTS = """
#include <stdio.h>
#include <stdlib.h>
#include <whesl_ckpt.h>

int main(int argc, char **argv)
{
    whesl_ckpt *ckpt = whesl_ckpt_init(atoi(argv[1]), 2);
    if (argc > 2 && whesl_ckpt_poll(ckpt)) {
        fclose(fopen(whesl_ckpt_path(ckpt), "w"));
        if (whesl_ckpt_commit(ckpt, whesl_ckpt_path(ckpt))) return 1;
    }
    whesl_ckpt_finish(ckpt);
    return 0;
}
"""


@pytest.mark.parametrize("language", ["c", "python"])
@pytest.mark.parametrize("writes", [True, False])
def test_an_agent_tells_of_ranks_that_have_ended(
    *, writes: bool, language: str, sheet: Page, tmp_path: Path
) -> None:
    """They were as if they had not registered yet: the others waited for them, or wrote all without them."""
    if language == "c" and COMPILER is None:
        pytest.skip("no C compiler is on PATH")
    agent = Agent("n0", sheet, tmp_path, user_keys(tmp_path / "home").client, lambda _line: None)
    sent: list[object] = []
    agent._send = sent.append  # type: ignore[assignment, method-assign]  # what would be sent
    try:
        other = Client(1, 2)
        (tmp_path / "1").mkdir()
        for word, value in (
            (rank_shared_memory.EPOCH, 1),
            (rank_shared_memory.GRANTED, 1),
            (rank_shared_memory.TARGET, 1),
        ):
            sheet.put(word, value)
        if language == "c":
            (tmp_path / "parts.c").write_text(PARTS)
            program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", tmp_path / "parts.c")
            subprocess.run([program, "0", *["write"] * writes], check=True)
        else:
            client = Client(0, 2)
            if writes and client.poll():
                client.path.touch()
                client.commit(client.path)
            client.finish()
        agent._join()
        assert other.poll()
        other.path.touch()
        other.commit(other.path)
        agent._written_or_failed()
        (joined,) = (each for each in sent if isinstance(each, Joined))
        written = [sorted(part.rank for part in each.parts) for each in sent if isinstance(each, Written)]
        assert (joined.ranks, joined.of, joined.ended) == ((2, 2, 0) if writes else (1, 2, 1))
        assert written[-1:] == ([[0, 1]] if writes else [[1]])
        # Its part was of that checkpoint, and it has none of the next one.
        sheet.put(rank_shared_memory.TARGET, rank_shared_memory.IDLE)
        ranks, ended = sheet.registered()
        assert (len(ranks), ended) == (1, 1)
        other.finish()
    finally:
        agent.close()


def test_a_checkpoint_without_all_parts_is_never_called_whole(tmp_path: Path) -> None:
    """Ranks that end are told of only later: one that the last rank had left was whole with the others'."""
    kept = tmp_path / "kept"
    said: list[str] = []
    keys = user_keys(tmp_path / "home")
    made = Service(Settings(), kept, tmp_path, keys, host="127.0.0.1", log=said.append)
    try:
        told = (
            Joined(node="n0", ranks=2, of=2),
            Requested(),
            Answered(node="n0", epoch=1, round=1, top=3),
            Answered(node="n0", epoch=1, round=2, top=3),
            Written(node="n0", epoch=1, parts=(Part(0, 0, 0, "rank-0.part"),)),
        )
        for message in told:
            made._take(b"agent:n0", messages.encode(message))
            made._together()
        assert said[-1] == "checkpoint 1 was given up: it has parts of 1 of 2 ranks"
        assert manifest.whole(kept) == []
    finally:
        made.close()


def test_a_rank_that_never_restores_is_told_of(tmp_path: Path) -> None:
    """All ranks wait for it: one that was not started, or whose node has no agent."""
    checkpoint(tmp_path / "kept", 2)
    said: list[str] = []
    settings = Settings(arrival=1e-6)
    keys = user_keys(tmp_path / "home")
    made = Service(settings, tmp_path / "kept", tmp_path, keys, host="127.0.0.1", log=said.append)
    try:
        for node in ("n0", "n1"):
            made._take(b"agent:" + node.encode(), messages.encode(Joined(node=node, ranks=1, of=2)))
        made._take(b"agent:n0", messages.encode(Verified(node="n0", epoch=1, good=1, bad=0)))
        for _ in range(2):
            time.sleep(0.001)
            made._time()
        (text,) = [each for each in said if "not restored yet" in each]
        assert "1 of 2 ranks" in text and text.endswith("Not heard of: n1")
        made._take(b"agent:n1", messages.encode(Verified(node="n1", epoch=1, good=1, bad=0)))
        assert said[-1] == "checkpoint 1 is restored"
    finally:
        made.close()


def test_a_directory_that_is_removed_meanwhile(tmp_path: Path) -> None:
    """What was in it was told of as whole ever after, and nothing was written any more."""
    kept = tmp_path / "kept"
    checkpoint(kept, 1)
    said: list[str] = []
    keys = user_keys(tmp_path / "home")
    made = Service(Settings(), kept, tmp_path, keys, host="127.0.0.1", log=said.append)
    try:
        made._take(b"agent:n0", messages.encode(Joined(node="n0", ranks=1, of=1)))
        assert made.status()["checkpoints"] == [1]
        shutil.rmtree(kept)
        assert made.status()["checkpoints"] == []
        made._take(b"", messages.encode(Requested()))
        assert (kept / "2").is_dir() and not any("given up" in each for each in said)
    finally:
        made.close()
