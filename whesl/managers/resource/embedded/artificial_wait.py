"""An artificial queue wait for each job, added to its wait for nodes.

The wait stands for other users' jobs, which a development machine does not have, so that the cost of a
resubmission can be measured. Forms, in seconds: ``0``, ``fixed:30``, ``exp:60`` (mean), ``lognormal:4.1,1.2``
(mu and sigma of the logarithm of seconds) or ``empirical:5,60,600`` (drawn with equal chance).
"""

from __future__ import annotations

import math
import random

from whesl.model.errors import UsageError

FORMS = "0, fixed:SECONDS, exp:MEAN, lognormal:MU,SIGMA or empirical:S1,S2,..."
_COUNTS = {"fixed": 1, "exp": 1, "lognormal": 2}


class QueueWait:
    """A distribution of queue waits; the n-th draw depends on seed and n alone.

    Args:
        text: one of the forms in the module's description.
        seed: seed of the random draws.

    Raises UsageError for a text in another form.
    """

    def __init__(self, text: str, seed: int = 0) -> None:
        kind, _, arguments = text.partition(":") if ":" in text else ("fixed", "", text)
        try:
            numbers = [float(number) for number in arguments.split(",")]
        except ValueError:
            raise UsageError(f"not a queue wait: {text!r}", hint=f"one of {FORMS}") from None
        right_count = len(numbers) == _COUNTS.get(kind, -1) or kind == "empirical"
        low = -math.inf if kind == "lognormal" else 0.0
        if not right_count or not all(math.isfinite(n) and n >= low for n in numbers) or numbers[-1] < 0:
            raise UsageError(f"not a queue wait: {text!r}", hint=f"one of {FORMS}")
        self.text = text
        self._kind, self._numbers, self._seed = kind, numbers, seed

    def draw(self, number: int) -> float:
        """Return the wait of the ``number``-th submission, in seconds."""
        # One generator per submission: a restarted server draws the same waits. Not for secrets.
        stream = random.Random(f"{self._seed}:{number}")  # noqa: S311
        if self._kind == "exp":
            return stream.expovariate(1 / self._numbers[0]) if self._numbers[0] else 0.0
        if self._kind == "lognormal":
            return stream.lognormvariate(*self._numbers)
        return stream.choice(self._numbers)
