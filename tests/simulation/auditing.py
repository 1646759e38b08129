"""What a journal has to look like, record by record, without any of the core's own code."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.simulation.world import InvariantError
from whesl.model.evidence import Raised
from whesl.runtime.coordinator.core.state import State

Data = dict[str, Any]
_RECOVERED = "recovered is what went on"
_LONGER_BY = 10.0  # seconds that a restarted attempt runs at least before it has gone past anything


class TaskAudit:
    """Follows one task's journal.

    Args:
        task: its id, for messages.
        rules: the scenario's exceptions by name.
    """

    def __init__(self, task: str, rules: dict[str, Data]) -> None:
        self.task = task
        self._rules = rules
        self._uses: dict[str, list[float]] = {}
        self.open: dict[int, str] = {}  # ordinal: what was decided, until it is known how it ended
        self.outcomes: dict[int, str] = {}
        self._became: dict[int, str] = {}  # by the coordinator's count
        self._names: dict[int, str] = {}
        self.raised: dict[int, float] = {}  # when, by ordinal: what tells it from that of another run
        self._steps: dict[int, int] = {}
        self.done: dict[int, int] = {}
        self._needs_grant: dict[int, bool] = {}
        self._attempt = 0
        self._over: set[int] = {0}
        self._past = 0  # the last attempt whose fence is written down, with a full disk late
        self._down: set[str] = set()
        self._escapes = any(rule["seen"] == "node" for rule in rules.values())
        self._not_before = 0.0
        self._maps = False
        self.moved = False  # an attempt was relaunched whose dependents have to follow it
        self.ended: Data | None = None
        self.escalated: list[int] = []  # given up to the coordinator
        self._launched = 0.0
        self._recovered: set[int] = set()
        self._completes = False
        self._waiting: set[str] = set()  # what is to be raised later

    def fail(self, invariant: str, text: str) -> None:
        """Say what is wrong."""
        raise InvariantError(invariant, f"{self.task}: {text}")

    def record(self, kind: str, data: Data, now: float) -> None:
        """Take the next record."""
        check = getattr(self, f"on_{kind.replace('-', '_')}", None)
        if check is not None:
            check(data, now)

    def on_begun(self, _data: Data, _now: float) -> None:
        self._close("the job was started again")
        self._over.add(self._attempt)
        self._past = self._attempt
        self._not_before = 0.0
        self._down = set()
        self._waiting = set()
        self.ended = None

    def _close(self, how: str) -> None:
        self.outcomes.update(dict.fromkeys(self.open, how))
        self.open = {}

    # Exceptions and budgets --------------------------------------------------------------------------------

    def on_raised(self, data: Data, _now: float) -> None:
        raised = data["raised"]
        ordinal = raised["ordinal"]
        self._waiting.discard(data.get("queued") or "")
        if ordinal in self._names:
            self.fail("every exception ends", f"exception {ordinal} was raised twice")
        for other, action in list(self.open.items()):
            if action == "escalate":
                self.outcomes[other] = "escalated"
                del self.open[other]
            elif action not in ("relaunched", "asked"):
                self.fail("every exception ends", f"{ordinal} raised while {other} is {action}")
        self._names[ordinal] = raised["exception"]
        self.raised[ordinal] = raised["time"]
        self.open[ordinal] = "asked" if data.get("goes_on") else "raised"

    def on_queued(self, data: Data, _now: float) -> None:
        self._waiting.add(data["found"]["exception"])

    def on_dropped(self, data: Data, _now: float) -> None:
        self._waiting.discard(data["exception"])

    def on_checkpoint_asked(self, data: Data, now: float) -> None:
        if data.get("counted"):
            self._count(self._names[data["ordinal"]], now)

    def on_checkpoint_ended(self, data: Data, _now: float) -> None:
        if self.open.pop(data["ordinal"], None) != "asked":
            self.fail("every exception ends", f"a checkpoint that was not asked for: {data['ordinal']}")
        self.outcomes[data["ordinal"]] = "asked"

    def on_decided(self, data: Data, now: float) -> None:
        ordinal, action = data["ordinal"], data["action"]
        rule = self._rules[data["exception"]]
        self.open[ordinal] = action
        self._steps[ordinal] = len(data["steps"])
        self.done[ordinal] = 0
        self._needs_grant[ordinal] = data["request"]
        if action != "recover":
            return
        counted = self._count(data["exception"], now)
        if rule["level"] == "WORKFLOW_LEVEL" and not data["request"]:
            self.fail("no step skipped", f"{data['exception']} does not wait for the coordinator")
        wanted = min(rule["backoff"] * 2**counted, 3600.0)
        if abs(data["backoff"] - wanted) > 1e-6:
            self.fail("budgets kept", f"back-off {data['backoff']} of {data['exception']}, not {wanted}")

    def _count(self, exception: str, now: float) -> int:
        """Count a recovery, and return how many before it count against its limit."""
        rule = self._rules[exception]
        uses = self._uses.setdefault(exception, [])
        within = rule["within"]
        counted: int = sum(within is None or now - time < within for time in uses)
        if counted >= rule["limit"]:
            self.fail("budgets kept", f"recovery {counted + 1} of {exception}, limit {rule['limit']}")
        uses.append(now)
        return counted

    def on_otherwise(self, data: Data, _now: float) -> None:
        self.open[data["ordinal"]] = data["action"]
        if data.get("became"):
            self._became[data["ordinal"]] = data["became"]

    def on_resumed(self, data: Data, _now: float) -> None:
        for ordinal, action in self.open.items():
            if action == "paused":
                self.open[ordinal] = "recover"
                self._uses.pop(self._names[ordinal], None)
                self._uses.pop(self._became.get(ordinal, ""), None)
                self._needs_grant[ordinal] = data["request"]

    def on_paused(self, data: Data, _now: float) -> None:
        if data["ordinal"]:
            self.open[data["ordinal"]] = "paused"

    def on_escalated(self, data: Data, _now: float) -> None:
        self.open[data["ordinal"]] = "escalated"
        self.escalated.append(data["ordinal"])

    def on_granted(self, data: Data, now: float) -> None:
        self._needs_grant[data["ordinal"]] = False
        if "raised" in data:
            self._steps[data["ordinal"]] = len(data.get("steps", ()))
            self._became[data["ordinal"]] = data["raised"]["exception"]
            self._count(data["raised"]["exception"], now)

    # Steps -------------------------------------------------------------------------------------------------

    def on_step_begun(self, data: Data, _now: float) -> None:
        ordinal, index = data["ordinal"], data["index"]
        self.may_run(ordinal, index)
        if self._attempt not in self._over:
            self.fail(
                "never two runs at once",
                f"step {index} of {ordinal} before attempt {self._attempt} was fenced",
            )

    def may_run(self, ordinal: int, index: int) -> None:
        """Hold the beginning of a step to the order."""
        if index != self.done.get(ordinal):
            word = "done twice" if index < self.done.get(ordinal, 0) else "skipped"
            self.fail(f"no step {word}", f"step {index} of {ordinal} after {self.done.get(ordinal)}")
        if self._needs_grant.get(ordinal):
            self.fail("no step skipped", f"step {index} of {ordinal} before the coordinator's part")

    def on_step_done(self, data: Data, _now: float) -> None:
        ordinal, index = data["ordinal"], data["index"]
        self.may_run(ordinal, index)
        self.done[ordinal] = index + 1
        self._maps |= bool((data.get("dependents") or {}).get("path_map", {}).get("rules"))
        if data["outcome"] == "skip":
            self.open[ordinal] = "skip"

    def fenced(self, attempt: int) -> None:
        """An attempt was seen to be over."""
        self._over.add(attempt)

    def on_evidence(self, data: Data, _now: float) -> None:
        """Planned again with what was seen of the hung attempt."""
        for ordinal, action in self.open.items():
            if action in ("recover", "pause", "fail", "escalate") and data.get("steps") is not None:
                self._steps[ordinal] = len(data["steps"])

    def on_fenced(self, data: Data, _now: float) -> None:
        self._past = data["attempt"]
        for ordinal, action in self.open.items():
            if action in ("recover", "pause", "fail", "escalate") and data.get("steps") is not None:
                self._steps[ordinal] = len(data["steps"])

    def on_relaunched(self, data: Data, _now: float) -> None:
        ordinal = data["ordinal"]
        if self.done[ordinal] != self._steps[ordinal]:
            self.fail(
                "no step skipped",
                f"relaunch after {self.done[ordinal]} of {self._steps[ordinal]} steps of {ordinal}",
            )
        self.open[ordinal] = "relaunched"
        self._not_before = max(self._not_before, data["not_before"])

    def on_confirmed(self, data: Data, _now: float) -> None:
        for ordinal in data["ordinals"]:
            self.outcomes[ordinal] = "handled"
            self.open.pop(ordinal, None)
        self.moved |= self._maps
        self._not_before = 0.0

    def on_launched(self, _data: Data, now: float) -> None:
        self._launched = now

    def on_recovered(self, data: Data, now: float) -> None:
        what = f"exceptions {data['ordinals']} are called recovered ({data['because']})"
        if data["attempt"] != self._attempt or self._attempt == self._past:
            self.fail(_RECOVERED, f"{what} by an attempt that does not run")
        for ordinal in data["ordinals"]:
            if ordinal in self._recovered or not (
                self.outcomes.get(ordinal) == "handled" or self.open.get(ordinal) == "relaunched"
            ):
                self.fail(_RECOVERED, f"{what}: no. {ordinal} twice, or not restarted")
        self._recovered.update(data["ordinals"])
        self._completes = data["because"] == "the task completed"
        if not self._completes and now - self._launched < _LONGER_BY:
            self.fail(_RECOVERED, f"{what} after {now - self._launched} s")

    # Attempts ----------------------------------------------------------------------------------------------

    def on_node(self, data: Data, _now: float) -> None:
        if data["state"] == "down":
            self._down.add(data["node"])
        elif data["state"] == "up":
            self._down.discard(data["node"])

    def on_attempt(self, data: Data, now: float) -> None:
        lost = self._down & set(data["nodes"])
        if lost and self._escapes:
            self.fail("no attempt on a lost node", f"attempt {data['attempt']} on {', '.join(sorted(lost))}")
        if data["attempt"] != self._attempt + 1 and data["attempt"] != self._attempt:
            self.fail("no task lost", f"attempt {data['attempt']} follows {self._attempt}")
        if data["attempt"] == self._attempt + 1 and self._attempt not in self._over:
            self.fail(
                "never two runs at once", f"attempt {data['attempt']} before {self._attempt} was fenced"
            )
        if now < self._not_before - 1e-6:
            self.fail(
                "budgets kept",
                f"attempt {data['attempt']} {self._not_before - now:.2f} s before its back-off is over",
            )
        self._attempt = data["attempt"]

    def on_finished(self, data: Data, _now: float) -> None:
        if self._completes and data["state"] != "completed":
            self.fail(_RECOVERED, f"it was said to have completed, and is {data['state']}")
        if self._waiting and "covers this exit" in data.get("reason", ""):
            self.fail("every exception ends", f"failed while {', '.join(self._waiting)} waits to be raised")
        self.ended = data
        self._close(data["state"])


class CoordinatorAudit:
    """Follows the coordinator's journal.

    Args:
        requeues: how often a job may be run again by what no rule's limit bounds.
        rules: the specification's exceptions by name.
    """

    def __init__(self, requeues: int, rules: dict[str, dict[str, Any]]) -> None:
        self._requeues, self._rules = requeues, rules
        self._counted: set[str] = set()  # recoveries whose exceptions isolators count against their limits
        self._orders: dict[str, Data] = {}
        self._refused: set[str] = set()
        self.done: dict[str, int] = {}
        self.escalated: set[tuple[str, int]] = set()
        self.too_late: set[tuple[str, int]] = set()  # escalations heard after their task had given up
        self.taken: set[tuple[str, int, float]] = set()  # recoveries of which it was heard how they ended
        self.wanted: dict[str, dict[str, str]] = {}  # by token: the environment of the job that runs again
        self._changed: dict[str, dict[str, str]] = {}
        self._begun: dict[str, float] = {}
        self._peers: dict[str, str] = {}
        self._steps: dict[str, int] = {}
        self._outcomes: dict[tuple[str, int, float], str] = {}
        self._claims: dict[str, str] = {}
        self._jobs: dict[str, str] = {}
        self._fenced: set[tuple[str, str]] = set()
        self._final: dict[str, str] = {}
        self._last_words: dict[str, str] = {}  # by task: whose they were

    def record(self, kind: str, data: Data, now: float) -> None:
        """Take the next record."""
        check = getattr(self, f"on_{kind.replace('-', '_')}", None)
        if check is not None:
            check(data, now)

    def on_registered(self, data: Data, _now: float) -> None:
        task = data["task"]
        if data["attempt"] == 0 and data["claim"] != self._claims.get(task):
            # Its isolator has an empty journal: exceptions are numbered from 1 again.
            for key in [key for key in self._outcomes if key[0] == task]:
                del self._outcomes[key]
            for name in [name for name in self.done if name.startswith(f"{task}#")]:
                if self._peers[name] != data["peer"]:
                    del self.done[name]
        self._hold_to_one_owner(task, data["claim"], data["job_id"])
        self._claims[task] = data["claim"]
        self._jobs[task] = data["job_id"]
        if data["fresh"]:
            self._final.pop(task, None)

    def _hold_to_one_owner(self, task: str, claim: str, job: str) -> None:
        """A replaced claim never owns its task again, nor another job's as long as it has an owner."""
        if (task, claim) in self._fenced:
            raise InvariantError("exactly one owner", f"{task}: claim {claim} was replaced, and is admitted")
        if self._jobs.get(task, job) != job and task not in self._final:
            raise InvariantError("exactly one owner", f"{task}: job {job} beside job {self._jobs[task]}")

    def on_fenced(self, data: Data, _now: float) -> None:
        self._fenced.add((data["task"], data["claim"]))

    def on_requested(self, data: Data, _now: float) -> None:
        if data["recovery"] in self.done and self._begun[data["recovery"]] == data["raised"]["time"]:
            raise InvariantError("no step done twice", f"recovery {data['recovery']} was begun twice")
        if data["origin"] == "escalation":
            self.escalated.add((data["task"], data["ordinal"]))
        if data["origin"] == "request" and data["exception"] == data["raised"]["exception"]:
            self._counted.add(data["recovery"])
        self._begun[data["recovery"]] = data["raised"]["time"]
        self._peers[data["recovery"]] = data["peer"]
        self._changed.pop(data["recovery"], None)
        self.done[data["recovery"]] = 0
        self._steps[data["recovery"]] = len(data["steps"])

    def may_run(self, recovery: str, index: int) -> None:
        """Hold a step to the order."""
        done = self.done.get(recovery)
        if index != done:
            word = "done twice" if done is not None and index < done else "skipped"
            raise InvariantError(f"no step {word}", f"coordinator's step {index} of {recovery} after {done}")

    def on_step_done(self, data: Data, _now: float) -> None:
        self.may_run(data["recovery"], data["index"])
        self.done[data["recovery"]] = data["index"] + 1
        if data.get("configuration"):
            changed = msgspec.to_builtins(data["configuration"])
            self._changed[data["recovery"]] = changed["environment"]

    def on_granted(self, data: Data, _now: float) -> None:
        recovery = data["recovery"]
        if not data["refused"] and self.done[recovery] != self._steps[recovery]:
            raise InvariantError(
                "no step skipped",
                f"{recovery} granted after {self.done[recovery]} of {self._steps[recovery]} steps",
            )

    def escalation(self, state: State, turn: list[tuple[str, Data]], raised: Raised, peer: str) -> None:
        """An isolator's escalation arrives: nothing can come of it once its own last words were heard.

        Args:
            state: the coordinator's.
            turn: the records of this turn so far: the last words may have come with it, and before it.
            raised: what is escalated.
            peer: whose it is.
        """
        entry = state.tasks.get(raised.task)
        if entry is None or not entry.state.final:
            return
        said = {self._last_words.get(entry.id)}
        said |= {data.get("peer") for kind, data in turn if kind == "finished" and data["task"] == entry.id}
        if peer in said:
            self.too_late.add((entry.id, raised.ordinal))

    def on_recovery_done(self, data: Data, _now: float) -> None:
        key = (data["task"], data["ordinal"])
        one = (*key, data["raised"])
        before = self._outcomes.get(one, "")
        if before not in ("", "paused"):
            raise InvariantError(
                "no step done twice", f"end of recovery {key} was taken twice: {before}, {data['outcome']}"
            )
        self._outcomes[one] = data["outcome"]
        self.taken.add(one)

    def on_requeue_decided(self, data: Data, _now: float) -> None:
        if data["token"] in self._orders:
            raise InvariantError("no step done twice", f"requeue {data['token']} was ordered twice")
        before = sum(
            order["job_id"] == data["job_id"] and token not in self._refused
            for token, order in self._orders.items()
        )
        most: float = self._requeues
        if data["recovery"] in self._counted:
            most += sum(
                float("inf") if rule["within"] is not None else rule["limit"] for rule in self._rules.values()
            )
        if before >= most:
            raise InvariantError("budgets kept", f"job {data['job_id']} is run again {before + 1} times")
        self._orders[data["token"]] = data
        self.wanted[data["token"]] = self._changed.get(data["recovery"], {})

    def ordered(self, job: str) -> int:
        """Return how often a job was to be run again."""
        return sum(order["job_id"] == job for order in self._orders.values())

    def on_requeue_done(self, data: Data, _now: float) -> None:
        if data["outcome"] == "refused":
            self._refused.add(data["token"])

    def on_finished(self, data: Data, _now: float) -> None:
        task = data["task"]
        if task in self._final:
            raise InvariantError(
                "no step done twice", f"{task} ended twice: {self._final[task]}, {data['state']}"
            )
        self._final[task] = data["state"]
        self._last_words[task] = data.get("peer", "")
