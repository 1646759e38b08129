"""WHESL: the fault-tolerance runtime for HPC workflows."""

import os
import sys

__version__ = "0.1.0"


def prefer_own_modules() -> None:
    """Look for modules in the installation first, in the user's PYTHONPATH and current directory last.

    A site's environment modules put packages of other interpreters there, and users' directories hold files
    of any name. The environment stays as it is: the user's programs inherit it.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  # pathlib takes 5 ms
    foreign = set(os.environ.get("PYTHONPATH", "").split(os.pathsep)) - {root}
    places = [place for place in sys.path if place not in foreign]
    last = [place for place in sys.path if place in foreign]
    # What `-m` and `-c` put in front is the current directory.
    if sys.argv[:1] in (["-m"], ["-c"]) and places and _is_current(places[0]) and places[0] != root:
        last.append(places.pop(0))
    sys.path[:] = places + last


def _is_current(place: str) -> bool:
    try:
        return place in ("", os.getcwd())  # noqa: PTH109
    except OSError:  # it was removed
        return False


# While a module of this package is looked for by `-m`, argv has no other name for it.
if sys.argv[:1] == ["-m"] or os.path.basename(sys.argv[0] if sys.argv else "") == "whesl":  # noqa: PTH119
    prefer_own_modules()
