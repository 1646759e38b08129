"""A checkpoint of another number of ranks: it is whole, is named in an error at once, and stays."""

from __future__ import annotations

import itertools
import subprocess
import zlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.checkpoints.test_c_client import CLIENT, COMPILER, compiled
from whesl.checkpoints import manifest, rank_shared_memory
from whesl.checkpoints.client import Client, OtherRanksError
from whesl.checkpoints.core import restore
from whesl.checkpoints.core.restore import Answer, Kept
from whesl.checkpoints.manifest import Manifest, Part
from whesl.checkpoints.rank_shared_memory import Page
from whesl.model.errors import WheslError

if TYPE_CHECKING:
    from collections.abc import Callable

    Move = Callable[[restore.Vote], tuple[restore.Vote, list[str]]]


def checkpoint(place: Path, number: int, ranks: int) -> None:
    """Write a whole checkpoint, each part of which has its rank's name."""
    manifest.begin(place, number)
    parts = []
    for rank in range(ranks):
        content = f"rank {rank}".encode()
        (place / str(number) / f"rank-{rank}.part").write_bytes(content)
        parts.append(Part(rank, len(content), zlib.crc32(content), f"rank-{rank}.part"))
    manifest.write(place, Manifest(number, 5, tuple(parts), "requested"))


@pytest.fixture
def sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    made = Page(tmp_path / "page", tmp_path)
    made.put(rank_shared_memory.CANDIDATE, 1)
    monkeypatch.setenv("WHESL_CKPT_PAGE", str(made.path))
    return made


# What all say together -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("written", [1, 2, 3])
def test_every_order_in_which_ranks_look_at_a_checkpoint(ranks: int, written: int) -> None:
    """Of one rank a node: nothing is damaged, and what all have verified is restored, whatever the order.

    A rank of a program that cannot use the checkpoint says nothing of it.
    """
    for redistributes in (True, False):
        joins: list[Move] = [partial(restore.joined, ranks=ranks)] * ranks
        good = Answer(number=1, good=1, bad=0)
        looks: list[Move] = [
            partial(restore.verified, node=str(rank), answer=good)
            for rank in range(ranks if redistributes or ranks == written else 0)
        ]
        for order in itertools.permutations(range(1, len(joins) + len(looks))):
            vote, said = joins[0](restore.begin((Kept(number=1, ranks=written),)))
            for index in order:
                before = vote
                vote, told = [*joins, *looks][index](vote)
                said += told
                assert before.agreed in (restore.UNKNOWN, vote.agreed)
            assert not any("damaged" in each for each in said)
            assert (vote.agreed == 1) is bool(looks)
            assert any("has parts of" in each for each in said) is (ranks != written)
            if ranks != written:
                assert f"parts of {written} ranks, and the program has {ranks}" in " ".join(said)


def test_a_damaged_one_gives_way_to_an_older_one_of_other_ranks() -> None:
    vote = restore.begin((Kept(number=2, ranks=2), Kept(number=1, ranks=4)))
    vote, _ = restore.joined(vote, 2)
    vote, said = restore.verified(vote, "n0", Answer(number=2, good=1, bad=1))
    assert said[0] == "checkpoint 2 is damaged; an older one is left"
    assert said[1].startswith("checkpoint 1 has parts of 4 ranks, and the program has 2")
    assert (vote.candidate, vote.agreed) == (1, restore.UNKNOWN)
    vote, _ = restore.verified(vote, "n0", Answer(number=1, good=2, bad=0))
    assert vote.agreed == 1


# What stays ----------------------------------------------------------------------------------------------


def test_checkpoints_of_other_ranks_are_never_removed(tmp_path: Path) -> None:
    """After two new ones of six ranks the old one of four was removed."""
    for number, ranks in enumerate([4, 6, 4, 6, 6, 6], start=1):
        checkpoint(tmp_path, number, ranks)
    (tmp_path / "0").mkdir()  # a user's own
    manifest.begin(tmp_path, 7)
    assert manifest.remove_old(tmp_path, 2) == [4, 2]
    manifest.remove_unfinished(tmp_path, 8)
    assert manifest.numbers(tmp_path) == [6, 5, 3, 1, 0]
    assert [len(found.parts) for found in manifest.whole(tmp_path)] == [6, 6, 4, 4]


# What clients do -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [3, 6])
def test_another_number_of_ranks_is_an_error_at_once(ranks: int, sheet: Page, tmp_path: Path) -> None:
    """More ranks: "damaged", and the program began at 0; fewer: it waited for half an hour."""
    checkpoint(tmp_path, 1, 4)
    client = Client(ranks - 1, ranks)
    with pytest.raises(
        OtherRanksError, match=f"checkpoint 1 has parts of 4 ranks, and this program has {ranks}"
    ):
        client.restore()
    assert [slot.verified for slot in sheet.ranks()] == [0]
    client.finish()
    if COMPILER is None:
        pytest.skip("no C compiler is on PATH")
    program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", CLIENT / "examples" / "counter.c")
    command = [str(program), str(ranks - 1), str(ranks), "5", "1", "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert f"checkpoint 1 has parts of 4 ranks, and this program has {ranks}" in done.stderr
    assert [slot.verified for slot in sheet.ranks()] == [0]


ALL = """
#include <stdio.h>
#include <stdlib.h>
#include <whesl_ckpt.h>

int main(int argc, char **argv)
{
    whesl_ckpt *ckpt = whesl_ckpt_init(atoi(argv[1]), argc > 2 ? atoi(argv[2]) : 1);
    int parts = 0, result = whesl_ckpt_restore_all(ckpt, &parts);
    char path[4096];
    printf("%d %d %s\\n", result, parts, whesl_ckpt_error(ckpt));
    for (int rank = 0; rank < parts; rank++)
        if (whesl_ckpt_part(ckpt, rank, path, sizeof path) == 0) printf("%s\\n", path);
    whesl_ckpt_finish(ckpt);
    return 0;
}
"""


@pytest.mark.costly
@pytest.mark.parametrize("language", ["c", "python"])
@pytest.mark.parametrize(("rank", "ranks"), [(0, 3), (2, 3), (5, 6), (0, 1)])
def test_a_program_that_redistributes_gets_all_parts(
    rank: int, ranks: int, language: str, sheet: Page, tmp_path: Path
) -> None:
    checkpoint(tmp_path, 1, 4)
    sheet.put(rank_shared_memory.AGREED, 1)
    parts = [tmp_path / "1" / f"rank-{number}.part" for number in range(4)]
    if language == "python":
        client = Client(rank, ranks)
        assert client.restore_all() == parts
        assert [slot.verified for slot in sheet.ranks()] == [3]
        client.finish()
        return
    if COMPILER is None:
        pytest.skip("no C compiler is on PATH")
    (tmp_path / "all.c").write_text(ALL)
    program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", tmp_path / "all.c")
    done = subprocess.run([program, str(rank), str(ranks)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0 4 ", *map(str, parts)]


@pytest.mark.costly
@pytest.mark.parametrize("language", ["c", "python"])
def test_each_part_is_verified_by_one_of_the_ranks(language: str, sheet: Page, tmp_path: Path) -> None:
    if language == "c" and COMPILER is None:
        pytest.skip("no C compiler is on PATH")
    checkpoint(tmp_path, 1, 4)
    (tmp_path / "1" / "rank-3.part").write_bytes(b"rank x")
    found = []
    for rank in range(3):
        if language == "python":
            client = Client(rank, 3, patience=0.2)
            with pytest.raises(WheslError, match="sign of life"):
                client.restore_all()
            client.finish()
        else:
            (tmp_path / "all.c").write_text(ALL)
            program = compiled(tmp_path, CLIENT / "src" / "whesl_ckpt.c", tmp_path / "all.c")
            environment = {"WHESL_CKPT_PAGE": str(sheet.path), "WHESL_CKPT_PATIENCE": "0.3"}
            subprocess.run([program, str(rank), "3"], env=environment, capture_output=True, check=True)
        found.append([slot.verified for slot in sheet._slots() if slot.rank == rank])
    assert found == [[2], [3], [3]]


def test_what_cannot_be_read_is_not_damaged(
    sheet: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One node could not read, and all ranks went back to an older checkpoint, or to the beginning."""
    checkpoint(tmp_path, 1, 1)
    client = Client(0, 1)

    def unreadable(*_: object) -> tuple[int, int]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(manifest, "checksum", unreadable)
    with pytest.raises(WheslError, match=r"checkpoint 1 cannot be read: .*Permission denied"):
        client.restore()
    assert [slot.verified for slot in sheet.ranks()] == [0]
    client.finish()
