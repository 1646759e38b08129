"""The ports that daemons may listen on: ``WHESL_PORTS``, for sites with a firewall."""

from __future__ import annotations

import re
from collections.abc import Mapping

from whesl.model.errors import UsageError

PORTS_VARIABLE = "WHESL_PORTS"
_RANGE = re.compile(r"([0-9]{1,5})-([0-9]{1,5})")
_LEAST, _MOST = 1024, 65535


def allowed(environ: Mapping[str, str]) -> range | None:
    """Return the ports that may be listened on, None where any will do.

    Args:
        environ: its ``WHESL_PORTS`` is ``LOW-HIGH``, both included, as Slurm's ``SrunPortRange``.

    Raises UsageError for anything else.
    """
    text = environ.get(PORTS_VARIABLE, "").strip()
    if not text:
        return None
    match = _RANGE.fullmatch(text)
    if match is not None:
        low, high = int(match[1]), int(match[2])
        if _LEAST <= low <= high <= _MOST:
            return range(low, high + 1)
    raise UsageError(
        f"{PORTS_VARIABLE}={text!r} is no range of ports",
        hint=f"write LOW-HIGH, both between {_LEAST} and {_MOST}, for example 60001-60100",
    )
