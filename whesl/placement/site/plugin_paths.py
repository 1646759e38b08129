"""The paths of plugin files that schedulers load, in a checkout or in an installation's shared data."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from whesl.model.errors import WheslError


def find(name: str) -> Path:
    """Return the path of a plugin's file.

    Args:
        name: path below ``plugins/``, such as ``flux/sched-whesl.py``.

    Raises:
        WheslError: this installation lacks the file.
    """
    checkout = Path(__file__).resolve().parents[3]
    places = [Path(sysconfig.get_path("data")) / "share" / "whesl" / "plugins"]
    if (checkout / "pyproject.toml").exists():
        places.insert(0, checkout / "plugins")
    for place in places:
        if (place / name).is_file():
            return place / name
    raise WheslError(
        f"this installation has no {name}: looked in {', '.join(map(str, places))}",
        hint="install WHESL again, from its wheel or a checkout",
    )
