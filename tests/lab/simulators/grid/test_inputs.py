"""Clusters, failures, requirements and the generator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whesl.lab.readers import swf
from whesl.lab.simulators.grid import cluster_eligibility, failure_records, generated_failures, simulation
from whesl.lab.simulators.grid.cluster_files import Cluster, grid, read

DATA = Path(__file__).resolve().parents[5] / "shared" / "data" / "metacentrum"
CLUSTERS = [
    Cluster("slow", 4, 2, 1.0, ["nfs4", "brno"]),
    Cluster("large", 3, 8, 2.0, ["nfs4"]),
    Cluster("small", 2, [8, 4], 2.0),
]


def test_the_fastest_cluster_comes_first_then_the_largest() -> None:
    found = grid(CLUSTERS)
    assert found.preference.tolist() == [1, 2, 0]
    assert found.first.tolist() == [0, 4, 7, 9]
    assert found.cpus.tolist() == [2, 2, 2, 2, 8, 8, 8, 8, 4]


def test_outages_of_a_machine_that_overlap_are_one(tmp_path: Path) -> None:
    path = tmp_path / "failures"
    path.write_text("100\tlarge\t50\t0 2\n120\tlarge\t100\t2\nwrong line\n")
    loaded = failure_records.read(path, CLUSTERS, 10.0, strict=False)
    assert loaded.outages.machine.tolist() == [4, 6]
    assert loaded.outages.start.tolist() == [90.0, 90.0]
    assert loaded.outages.end.tolist() == [140.0, 210.0]
    assert [line for line, _ in loaded.malformed] == [3]


def test_specifications_name_processors_of_a_machine_clusters_and_properties() -> None:
    row = "{0} {0} -1 10 1 -1 -1 1 -1 -1 1 1 1 -1 1 1 -1 -1"
    specs = ["1:ppn=1", "1:ppn=4:nfs4", "2:ppn=1:cl_slow#excl", "1:ppn=1:brno:^host7", "1:ppn=1:gpu", ""]
    text = "\n".join(f"{row.format(i)} {{7,7}} q {spec}" for i, spec in enumerate(specs))
    log = swf.parse(text.encode(), "log")
    found = cluster_eligibility.specified(log, text, np.arange(len(specs)), CLUSTERS)
    assert found.suits[found.kind].tolist() == [
        [True, True, True],
        [False, True, False],
        [True, False, False],
        [True, False, False],
        [True, True, True],
        [True, True, True],
    ]
    assert found.unknown == ("gpu",)


def test_the_generator_makes_as_many_failures_as_equation_1_says() -> None:
    machines = grid([Cluster("a", 300, 1), Cluster("b", 100, 1)])
    law = generated_failures.Law(0.001, duration_scale=1.0)
    found = generated_failures.generated(machines, 0.0, 3600.0 * 1000, law, seed=3)
    assert 392 <= len(found.start) <= 400  # N D AFC; those of one machine that overlap are one
    assert 0.65 < float((found.machine < 300).mean()) < 0.85
    assert (np.diff(found.start) >= 0).all()
    again = generated_failures.generated(machines, 0.0, 3600.0 * 1000, law, seed=3)
    assert np.array_equal(again.start, found.start)
    bursts = generated_failures.generated(machines, 0.0, 3600.0 * 1000, law._replace(burst=10.0), seed=3)
    assert float(np.median(np.diff(bursts.start))) < float(np.median(np.diff(found.start)))


@pytest.mark.skipif(not DATA.is_dir(), reason="the traces are not beside the checkout")
def test_metacentrum_s_clusters_and_failures_are_read_whole() -> None:
    clusters = read(DATA / "metacentrum-2009.mwf.machines")
    assert (len(clusters), sum(sum(cluster.each()) for cluster in clusters)) == (14, 806)
    loaded = failure_records.read(DATA / "metacentrum-2009.mwf.failures", clusters, 0.0, strict=True)
    assert loaded.lines == 420
    assert len(loaded.outages.start) == 556  # of 569; the others overlap an earlier one of their machine
    assert read(DATA / "wagap-2013.swf.machines")[0].name == "zewura"


@pytest.mark.skipif(not DATA.is_dir(), reason="the traces are not beside the checkout")
def test_metacentrum_s_pairs_of_user_and_queue() -> None:
    log = swf.read(DATA / "METACENTRUM-2009-2.swf.xz")
    rows = simulation.chosen(log)
    assert len(log) - len(rows) == 3712
    clusters = read(DATA / "metacentrum-2009.mwf.machines")
    found = cluster_eligibility.used(log, rows, clusters)
    assert len(found.suits) == 289  # of 297 pairs; the others have no job with a run time
    partition = log.field("partition")[rows].astype(int) - 1
    assert found.suits[found.kind, partition].all()
