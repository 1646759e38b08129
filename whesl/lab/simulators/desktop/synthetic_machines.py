"""Generated (synthetic) machines and jobs of a desktop grid; the document's trace of 729 PCs is not public.

Document: "Effective scheduling of grid resources using failure prediction", section 2.1 and Table 2. The
generator keeps the printed values (groups of 668 and 61 machines, daily restarts of the larger group,
intervals and lengths of jobs); ``Site`` states the values that the document does not print.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from whesl.prediction.failures.failure_history import History, merged

HOUR = 3600.0
DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Site:
    """The failure model of a site's machines; times in seconds.

    Attributes:
        restarted: number of machines that restart once a day (the document's larger group).
        others: number of machines without daily restarts.
        labs: number of rooms, with equal numbers of machines; the machines of a room restart at the same time
            of the day.
        restart_at: mean and standard deviation of the rooms' restart times, in seconds after midnight.
        restart_jitter: the standard deviation of a single restart's time.
        restart_length: bounds of the length of a restart.
        missed: the share of restarts that do not happen.
        shape: shape of the Weibull distribution of uptimes between failures that are not periodic.
        scale: scale of that Weibull distribution.
        spread: the standard deviation of the logarithm of a machine's own factor on the scale.
        repair: median length of failures that are not periodic; lengths are log-normal with sigma 1.
        lab_outages: mean time between outages of a room.
        site_outages: mean time between outages of the site (power, network).
        reached: the share of machines that an outage of the site reaches.
        outage: mean length of outages, which is exponential.
    """

    restarted: int = 668
    others: int = 61
    labs: int = 27
    restart_at: tuple[float, float] = (4 * HOUR, 900.0)
    restart_jitter: float = 30.0
    restart_length: tuple[float, float] = (300.0, 600.0)
    missed: float = 0.01
    shape: float = 0.7
    scale: float = 12 * DAY
    spread: float = 0.5
    repair: float = HOUR
    lab_outages: float = 20 * DAY
    site_outages: float = 10 * DAY
    reached: float = 0.8
    outage: float = HOUR

    @property
    def nodes(self) -> int:
        """The number of machines of the site."""
        return self.restarted + self.others


class Jobs(NamedTuple):
    """Jobs in the order of their submission; arrays of shape (jobs,).

    Attributes:
        submit: times of submission, in seconds.
        duration: run time on a machine that does not fail, in seconds.
        long: whether each job is one of the long jobs.
    """

    submit: NDArray[np.float64]
    duration: NDArray[np.float64]
    long: NDArray[np.bool_]


def machines(generator: Generator, site: Site, length: float) -> History:
    """Return generated failures of all machines from time 0.

    Args:
        generator: generator of random numbers.
        site: the failure model.
        length: end of the generated time, in seconds.
    """
    lab = np.arange(site.nodes) % site.labs
    rows: list[tuple[int, float, float]] = []
    days = np.arange(int(np.ceil(length / DAY)))
    lab_time = generator.normal(*site.restart_at, site.labs)
    for node in range(site.nodes):
        if node < site.restarted:
            at = days * DAY + lab_time[lab[node]] + generator.normal(0.0, site.restart_jitter, len(days))
            at = at[generator.random(len(days)) >= site.missed]
            rows += _rows(node, at, generator.uniform(*site.restart_length, len(at)))
        scale = site.scale * generator.lognormal(0.0, site.spread)
        time = 0.0
        while (time := time + scale * generator.weibull(site.shape)) < length:
            rows += _rows(node, np.array([time]), np.array([site.repair * generator.lognormal(0.0, 1.0)]))
            time = rows[-1][2]
    for number in range(site.labs):
        for time in _poisson(generator, site.lab_outages, length):
            rows += _outage(generator, np.flatnonzero(lab == number), time, site.outage)
    for time in _poisson(generator, site.site_outages, length):
        hit = np.flatnonzero(generator.random(site.nodes) < site.reached)
        rows += _outage(generator, hit, time, site.outage)
    return merged(site.nodes, 0.0, length, [row for row in rows if 0 <= row[1] < length])


def _rows(node: int, at: NDArray[np.float64], last: NDArray[np.float64]) -> list[tuple[int, float, float]]:
    return [(node, float(start), float(start + long)) for start, long in zip(at, last, strict=True)]


def _poisson(generator: Generator, mean: float, length: float) -> NDArray[np.float64]:
    return generator.uniform(0.0, length, generator.poisson(length / mean))


def _outage(
    generator: Generator, nodes: NDArray[np.int64], time: float, mean: float
) -> list[tuple[int, float, float]]:
    """Return one failure of a group of machines that fail and come back together."""
    end = float(time + generator.exponential(mean) + 60.0)
    return [(int(node), float(time), end) for node in nodes]


def jobs(generator: Generator, begin: float, length: float, long_hours: float) -> Jobs:
    """Return the jobs of Table 2: short jobs of 3 hours and long jobs of 6 to 21 hours, both +- 0.5 hours.

    Args:
        generator: generator of random numbers.
        begin: earliest time of submission, in seconds.
        length: length of the time in which jobs are submitted, in seconds.
        long_hours: the mean length of the long jobs, in hours.
    """
    parts = []
    kinds = ((10.0, 2.0, 3.0, False), (20.0, 5.0, long_hours, True))
    for minutes, deviation, hours, is_long in kinds:
        count = int(length / (minutes * 60.0) * 1.5) + 10
        gaps = np.maximum(generator.normal(minutes, deviation, count), 1.0) * 60.0
        submit = begin + np.cumsum(gaps)
        submit = submit[submit < begin + length]
        duration = np.maximum(generator.normal(hours, 0.5, len(submit)), 0.1) * HOUR
        parts.append((submit, duration, np.full(len(submit), is_long)))
    submit, duration, is_long_job = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(submit, kind="stable")
    return Jobs(submit[order], duration[order], is_long_job[order])
