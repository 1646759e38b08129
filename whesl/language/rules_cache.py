"""A cache of checked rules, so that unchanged rules are not checked again.

Each rules file has a cache file in the user's cache directory, named by the digest of the rules' bytes and of
WHESL's version. For rules that include files other than libraries, the name also depends on the rules' path,
and each included file has to be unchanged. Standard library only: ``whesl exec`` reads the cache before it
loads the compiler.
"""

from __future__ import annotations

import contextlib
import json
import os

from whesl import __version__
from whesl.files import file_retry
from whesl.files.non_utf8_text import carried
from whesl.model.digest import hexdigest

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from typing import Any

_SIZE = 20
_FILE = "\0"  # placeholder for the rules' name in cached warnings
KEPT = 200  # files in the cache; the oldest ones are removed
_PACKAGE = os.path.join(os.path.realpath(__file__).rsplit(os.sep, 2)[0], "")  # noqa: PTH118


def is_compiled(content: bytes) -> bool:
    """Whether rules are JSON of ``whesl compile``."""
    return content.lstrip().startswith(b"{")


def recall(cache: str, path: str, content: bytes) -> dict[str, Any] | None:
    """Return the cached specification (``spec``, JSON) and warnings (``warnings``, a line each) of rules.

    None is returned when the rules have to be checked.

    Args:
        cache: the cache directory.
        path: the rules' file, as the caller names it.
        content: the file's bytes.
    """
    for name in _names(path, content):
        known = _read(f"{cache}/{name}")
        if known is None or any(_digest(file) != was for file, was in known["included"].items()):
            continue
        spec: dict[str, Any] = known["spec"]
        # The same bytes may be cached for another path. A compiled specification contains its own path.
        return {
            "spec": spec if is_compiled(content) else {**spec, "file": carried(path)},
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
    """Write checked rules into the cache. Raises OSError.

    Args:
        cache, path, content: as for ``recall``.
        spec: the JSON of the checked specification.
        included: digests of the included files' bytes, by real path.
        warnings: the warnings of the check, a line each.
    """
    anywhere, here = _names(path, content)
    name = anywhere if all(file.startswith(_PACKAGE) for file in included) else here
    told = [each.replace(path, _FILE) for each in warnings]
    text = json.dumps({"spec": spec, "included": included, "warnings": told}).encode()
    with contextlib.suppress(FileExistsError):
        os.mkdir(cache, 0o700)  # noqa: PTH102
    file_retry.replace(f"{cache}/{name}", hexdigest(text, _SIZE).encode() + b"\n" + text)
    with contextlib.suppress(FileNotFoundError):  # another task removes old files, too
        _forget(cache)


def _forget(cache: str) -> None:
    with os.scandir(cache) as entries:
        written = [entry for entry in entries if entry.name.endswith(".rules")]
        aged = sorted((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in written)
    for _, path in aged[:-KEPT]:
        os.unlink(path)  # noqa: PTH108


def _names(path: str, content: bytes) -> tuple[str, str]:
    """Return the cache file's name by the rules' content, and its name by content and path."""
    version = f"{__version__}\0{_made()}\0".encode()
    place = f"{os.path.abspath(path)}\0{path}\0".encode(errors="surrogateescape")  # noqa: PTH100
    return (
        f"{hexdigest(version + content, _SIZE)}.rules",
        f"{hexdigest(version + place + content, _SIZE)}.rules",
    )


def _made() -> int:
    """Return the modification time of the specification's module in nanoseconds; 0 where it is unknown."""
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
    """Return the digest of an included file's present content, "" when it cannot be read."""
    try:
        if not os.path.isfile(file):  # noqa: PTH113
            return ""  # reading a pipe could block
        with open(file, "rb") as opened:  # noqa: PTH123
            return hexdigest(opened.read(), _SIZE)
    except OSError:
        return ""
