"""Flux scheduler module whose order of candidate ranks comes from WHESL's placement policy.

The queue is Flux's own: this module inherits from the scheduler of flux-core that it takes the place of
(``queue=fifo`` or ``queue=backfill``), and replaces its pool of resources. Needs flux-core 0.88 or newer,
and WHESL with its extra ``predict`` for the same version of Python as Flux's (``path=``).

Load with::

    flux module load sched-whesl.py predictions=FILE [path=DIRECTORY] [mode=observe|act]
        [queue=fifo|backfill] [wait=SECONDS] [instead=MODULE] [horizon=SECONDS] [refresh=SECONDS]
        [queue-depth=N|unlimited] [log-level=LEVEL]

``predictions`` is what ``whesl placement learn`` or ``whesl placement serve`` has written; it is looked at
every ``refresh`` seconds, and read again when it has changed. ``horizon`` is for how long a job without a
limit is taken to run; ``wait`` for how long one may be held back for better ranks, with ``mode=act``;
``instead`` is remembered for whoever puts Flux's own scheduler back. Values are
percent-encoded, since Flux separates arguments at blanks. In ``mode=observe``, the default, jobs get the
ranks that Flux gives them anyway. Why a job has its ranks::

    flux jobs -a -o '{id.f58} {ranks} {annotations.sched.placement}'
"""

import gc
import importlib.util
import json
import math
import os
import site
import sys
import syslog
import time
import traceback
from pathlib import Path
from urllib.parse import unquote

from flux.conf_builtin import conf_builtin_get
from flux.resource import InsufficientResources
from flux.resource.Rv1Pool import Rv1Pool

_OPTIONS = {
    "predictions": "",
    "path": "",
    "mode": "observe",
    "queue": "fifo",
    "instead": "",
    "wait": "0",
    "horizon": "86400",
    "refresh": "1",
}
_WITHOUT = f"Flux's own order; path= names packages for {sys.executable}, Python {sys.version.split()[0]}"
_CHOICES = {"mode": ("observe", "act"), "queue": ("fifo", "backfill")}


def split(args):
    """Return the module's own options, and the arguments that Flux's schedulers know.

    Raises:
        ValueError: a value that is not accepted.
    """
    options, others = dict(_OPTIONS), []
    for arg in args:
        name, sign, value = arg.partition("=")
        if name in options and sign:
            options[name] = unquote(value)
        else:
            others.append(arg)
    for name, accepted in _CHOICES.items():
        if options[name] not in accepted:
            raise ValueError(f"{name}={options[name]!r}: expected one of {', '.join(accepted)}")
    for name in ("wait", "horizon", "refresh"):
        try:
            options[name] = float(options[name])
        except ValueError:
            raise ValueError(f"{name}={options[name]!r}: expected seconds") from None
    if not options["predictions"]:
        raise ValueError("predictions=FILE is missing")
    return options, others


def base(queue):
    """Return flux-core's scheduler class for a queue; its module's name has a hyphen, so by its file.

    Raises:
        ValueError: Flux has no such module.
    """
    name = f"sched-{queue}"
    directories = f"{os.environ.get('FLUX_MODULE_PATH', '')}:{conf_builtin_get('module_path')}"
    for directory in filter(None, directories.split(":")):
        path = Path(directory) / f"{name}.py"
        if path.exists():
            spec = importlib.util.spec_from_file_location(name.replace("-", "_"), path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module.FIFOScheduler if queue == "fifo" else module.BackfillScheduler
    raise ValueError(f"Flux has no module {name}: needs flux-core 0.88 or newer")


def ordered(pool_class):
    """Return a class of pools whose candidates are taken in the policy's order, over the instance's own."""

    class Estimated(pool_class):
        """A copy for estimates. Flux makes a text of each of its allocations, which nobody reads."""

        def dumps(self):
            return ""

    class OrderedPool(pool_class):
        """The instance's pool; and what each job has, which has no guide."""

        guide = None
        _text = (0, "")

        def copy(self):
            made = super().copy()
            made.__class__ = Estimated
            return made

        def dumps(self):
            """Return the text of what a job has. Flux asks three times; it changes when ranks are freed."""
            if self.guide is None and self._text[0] == len(self._ranks):
                return self._text[1]
            text = super().dumps()
            if self.guide is None:
                self._text = len(self._ranks), text
            return text

        def alloc(self, jobid, request):
            if self.guide is None:
                return super().alloc(jobid, request)
            self.guide.job = jobid
            try:
                return super().alloc(jobid, request)
            except Held:
                raise
            except InsufficientResources:
                self.guide.held.pop(jobid, None)  # it waits for ranks, as any other
                raise

        def _select_resources(self, candidates, request):
            usual = super()._select_resources(candidates, request)
            if self.guide is None:
                return usual
            return self.guide.choose(self, candidates, request, usual, super()._select_resources)

    return OrderedPool


class Held(InsufficientResources):
    """A job could start, and waits for better ranks."""


class Guide:
    """Chooses between Flux's ranks and the policy's, counts, and keeps each job's reason until it is told.

    ``again`` has the queue looked at once more after so many seconds. ``held`` has the jobs that could start:
    since when, and until when they wait.
    """

    def __init__(self, options, log, again):
        from whesl.placement.site.flux.prediction_source import Source

        self.acts = options["mode"] == "act"
        self.log = log
        self.job = 0
        self.reasons = {}
        self.failed = 0
        self.counts = {"placed": 0, "differently": 0, "held": 0}
        self.held = {}
        self._again = again
        self._source = Source(Path(options["predictions"]))
        self._options = options
        self._looked = 0.0
        self._hosts = {}
        self.advice = None

    def stats(self):
        """Return what ``flux module stats`` shows."""
        return {
            "mode": self._options["mode"],
            "instead": self._options["instead"],
            "predictions": self._options["predictions"],
            "predictor": self._source.predictor.name if self._source.predictor else None,
            "problem": self._source.problem,
            "failed": self.failed,
            **self.counts,
        }

    def begin(self, pool):
        """Look at the predictions before the first job comes, and ask once: first answers load libraries."""
        try:
            now = time.time()
            self.look(pool, now)
            some = list(pool._ranks)[:1]
            self.advice.reason([], some, self._options["horizon"], now, acts=self.acts)
        except Exception:
            self._say_failed()

    def _say_failed(self):
        self.failed += 1
        if self.failed == 1:
            self.log.error(f"placement: Flux's own order after: {traceback.format_exc()}")

    def look(self, pool, now):
        """Read the predictions where they or the instance's ranks have changed."""
        self._looked = now
        from whesl.placement.site.flux.rank_selection import Advice

        changed = self._source.refresh()
        if changed or self.advice is None or pool._ranks.keys() != self._hosts.keys():
            self._hosts = hosts = {rank: info["hostname"] for rank, info in pool._ranks.items()}
            self.advice = Advice(
                self._source.predictor,
                self._source.names,
                hosts,
                horizon=self._options["horizon"],
                refresh=self._options["refresh"],
            )
            # Each choice makes a tuple for each node; Python would look for garbage among all nodes again and
            # again, which takes longer than the choice.
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            if self._source.problem:
                self.log.warning(f"placement: {self._source.problem}: Flux's own order")
            elif self.advice.unknown:
                self.log.warning(f"placement: not in the predictions: {', '.join(self.advice.unknown[:8])}")
            else:
                self.log.info(f"placement: {self._source.predictor.name}, {len(hosts)} ranks")

    def choose(self, pool, candidates, request, usual, select):
        """Return what to allocate: ``(selected, slots)`` as the base class does.

        No error leaves it: with a scheduler module that fails, the instance ends with all of its jobs.
        """
        try:
            return self._choose(pool, candidates, request, usual, select)
        except Held:
            raise
        except Exception:
            self._say_failed()
            return usual

    def _choose(self, pool, candidates, request, usual, select):
        now = time.time()
        if self.advice is None or not self._looked <= now < self._looked + self._options["refresh"]:
            self.look(pool, now)
        duration = self.advice.length(request.duration, pool.get_expiration(), now)
        order = self.advice.risks(duration, now).order([candidate[0] for candidate in candidates])
        better = select((candidates[place] for place in order), request)
        ranks, before = [rank for rank, *_ in better[0]], [rank for rank, *_ in usual[0]]
        if self.acts and self._options["wait"] > 0:
            self._hold(pool, candidates, request, ranks, duration, now)
        self.counts["placed"] += 1
        self.counts["differently"] += set(ranks) != set(before)
        self.reasons[self.job] = self.advice.reason(ranks, before, duration, now, acts=self.acts)
        return better if self.acts else usual

    def _hold(self, pool, candidates, request, ranks, duration, now):
        """Let a job wait for the next one's end where the policy's rule says so. Raises Held."""
        since = self.held.get(self.job, (now, 0.0))[0]
        ends = [state for state in pool._job_state.values() if state[0] > now]
        end, ending = min(ends, key=lambda state: state[0], default=(math.inf, None))
        if end > since + min(duration, self._options["wait"]):
            return
        free = [candidate[0] for candidate in candidates]
        freed = _freed(pool, ending, request, set(free))
        if self.advice.waits(ranks, free, end, freed, duration, now):
            self.counts["held"] += self.job not in self.held
            self.held[self.job] = since, end
            self._again(end - now)
            raise Held("better ranks are free soon")


def _freed(pool, ending, request, free):
    """Return the ranks that may get a request when a job ends, besides those that are free."""
    wish = request.constraint
    wish = json.loads(wish) if isinstance(wish, str) else wish
    found = []
    for rank, part in ending._ranks.items():
        info = pool._ranks.get(rank)
        if rank in free or info is None or not info["up"]:
            continue
        cores = len(info["cores"] - (info["allocated_cores"] - part["cores"]))
        needed = len(info["cores"]) if request.exclusive else request.slot_size
        if cores >= needed and (wish is None or pool._matches_constraint(rank, info, wish)):
            found.append(rank)
    return found


def scheduler(queue):
    """Return the scheduler's class over flux-core's class for a queue."""
    parent = base(queue)

    class PlacementScheduler(parent):
        """Flux's scheduler with ranks in the policy's order, and a reason on each job."""

        def __init__(self, h, options, *others):
            super().__init__(h, *others)
            self.guide = Guide(options, self.log, self._look_again)
            self._told = {}  # what waiting jobs say
            self._due = math.inf
            self._timer = h.timer_watcher_create(0.0, self._on_due)

        def _look_again(self, after):
            if (due := time.monotonic() + after) < self._due:
                self._due = due
                self._timer.reset(after=after)

        def _on_due(self, *_):
            self._due = math.inf
            self._request_schedule()

        def _try_alloc(self, job, *args, **words):
            done = super()._try_alloc(job, *args, **words)
            held = None if done else self.guide.held.get(job.jobid)
            if held != self._told.get(job.jobid):
                self._told[job.jobid] = held
                until = held and time.strftime("%H:%M:%S", time.localtime(held[1]))
                said = f"waits for better nodes until {until}" if held else None
                job.request.annotate({"sched": {"placement": said}})
            if held is None:
                self._told.pop(job.jobid, None)
            return done

        def _shadow_time(self, head):
            # A head that waits could start now: what ends before it will may overtake it.
            held = self.guide.held.get(head.jobid)
            return held[1] if held else super()._shadow_time(head)

        def cancel(self, jobid):
            self.guide.held.pop(jobid, None)
            self._told.pop(jobid, None)
            super().cancel(jobid)

        def _acquire_resources(self):
            super()._acquire_resources()
            pool = self.resources.impl
            if isinstance(pool, Rv1Pool):
                pool.__class__ = ordered(type(pool))
                pool.guide = self.guide
                self.guide.begin(pool)
            else:
                self.log.error(f"placement: {type(pool).__name__} is no Rv1Pool: Flux's own order")

        def alloc_success(self, msg, R, annotations=None):  # noqa: N803  # the base class's name
            """Answer with the reason among the annotations."""
            self.guide.held.pop(msg.payload["id"], None)
            reason = self.guide.reasons.pop(msg.payload["id"], None)
            if reason:
                annotations = dict(annotations or {})
                annotations["sched"] = {**annotations.get("sched", {}), "placement": reason}
            super().alloc_success(msg, R, annotations)

        def stats_get(self):
            """Return Flux's statistics and how many jobs were placed, and differently."""
            return {**super().stats_get(), "placement": self.guide.stats()}

    return PlacementScheduler


def mod_main(h, *args):
    """Run the scheduler; called by Flux."""
    options, others = split(args)
    if options["path"]:
        site.addsitedir(options["path"])
    try:
        for name in ("rank_selection", "prediction_source"):
            importlib.import_module(f"whesl.placement.site.flux.{name}")
    except ImportError as error:
        # With a scheduler that cannot be loaded, an instance would not start at all.
        h.log(
            syslog.LOG_ERR, f"placement: WHESL with its extra `predict` is missing here: {error}: {_WITHOUT}"
        )
        base(options["queue"])(h, *others).run()
    else:
        scheduler(options["queue"])(h, options, *others).run()
