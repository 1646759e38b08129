"""What rules meant when they were last checked, so that they need not be checked again.

A file for each, in the user's own cache directory, named by the digest of the rules' bytes and of this
version. Where rules include files beside them, their place counts too; each included file has to be as it
was. Standard library only: ``whesl exec`` looks here before it loads anything that could check.
"""

from __future__ import annotations

import contextlib
import json
import os

from whesl import __version__
from whesl.files import file_retry
from whesl.model.digest import hexdigest

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from typing import Any

_SIZE = 20
_FILE = "\0"  # stands for the rules' name in warnings
KEPT = 200  # files; what was written longest ago goes first
_PACKAGE = os.path.join(os.path.realpath(__file__).rsplit(os.sep, 2)[0], "")  # noqa: PTH118


def is_compiled(content: bytes) -> bool:
    """Whether rules are what ``whesl compile`` prints."""
    return content.lstrip().startswith(b"{")


def recall(cache: str, path: str, content: bytes) -> dict[str, Any] | None:
    """Return what rules mean and what they are warned of; None when they have to be checked.

    That is ``spec``, the JSON of a specification, and ``warnings``, a line each.

    Args:
        cache: the directory.
        path: the rules' file, as the caller names it.
        content: its bytes.
    """
    for name in _names(path, content):
        known = _read(f"{cache}/{name}")
        if known is None or any(_digest(file) != was for file, was in known["included"].items()):
            continue
        spec: dict[str, Any] = known["spec"]
        # The same bytes may lie elsewhere today. A compiled specification says itself where it came from.
        return {
            "spec": spec if is_compiled(content) else {**spec, "file": path},
            "warnings": [each.replace(_FILE, path) for each in known["warnings"]],
        }
    return None


def remember(
    cache: str,
    path: str,
    content: bytes,
    spec: dict[str, Any],
    included: dict[str, str],
    warnings: list[str],
) -> None:
    """Write down what rules mean. Raises OSError.

    Args:
        cache, path, content: as ``recall``.
        spec: the JSON of the specification, checked.
        included: real paths of the files it includes, and the digests of their bytes.
        warnings: what it is warned of, a line each.
    """
    anywhere, here = _names(path, content)
    name = anywhere if all(file.startswith(_PACKAGE) for file in included) else here
    told = [each.replace(path, _FILE) for each in warnings]
    text = json.dumps({"spec": spec, "included": included, "warnings": told}).encode()
    with contextlib.suppress(FileExistsError):
        os.mkdir(cache, 0o700)  # noqa: PTH102
    file_retry.replace(f"{cache}/{name}", hexdigest(text, _SIZE).encode() + b"\n" + text)
    with contextlib.suppress(FileNotFoundError):  # another task empties it too
        _forget(cache)


def _forget(cache: str) -> None:
    with os.scandir(cache) as entries:
        written = [entry for entry in entries if entry.name.endswith(".rules")]
        aged = sorted((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in written)
    for _, path in aged[:-KEPT]:
        os.unlink(path)  # noqa: PTH108


def _names(path: str, content: bytes) -> tuple[str, str]:
    """Return the names by the content alone, and by the place as well."""
    version = f"{__version__}\0{_made()}\0".encode()
    place = f"{os.path.abspath(path)}\0{path}\0".encode(errors="surrogateescape")  # noqa: PTH100
    return (
        f"{hexdigest(version + content, _SIZE)}.rules",
        f"{hexdigest(version + place + content, _SIZE)}.rules",
    )


def _made() -> int:
    """Return when what a specification consists of was last changed, nanoseconds; 0 inside an archive."""
    try:
        return os.stat(f"{_PACKAGE}esl/spec.py").st_mtime_ns  # noqa: PTH116
    except OSError:
        return 0


def _read(file: str) -> dict[str, Any] | None:
    try:
        with open(file, "rb") as opened:  # noqa: PTH123
            digest, _, text = opened.read().partition(b"\n")
        known: dict[str, Any] = json.loads(text) if digest == hexdigest(text, _SIZE).encode() else {}
    except (OSError, ValueError):
        return None
    return known or None


def _digest(file: str) -> str:
    """Return the digest of an included file as it is now, "" when it cannot be read."""
    try:
        if not os.path.isfile(file):  # noqa: PTH113
            return ""  # a pipe could keep us waiting
        with open(file, "rb") as opened:  # noqa: PTH123
            return hexdigest(opened.read(), _SIZE)
    except OSError:
        return ""
