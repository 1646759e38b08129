"""Old prefix to new: how a moved file system reaches commands, arguments and environments."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

import msgspec

# A path ends where a character stands that is unusual in file names inside scripts and arguments.
NAME = r"A-Za-z0-9._\-+@%~"
# What may stand before an absolute path. ``${X}/a`` and ``$(pwd)/a`` are not ``/a``, nor is a URL's host.
_BEFORE = rf"(?P<before>(?<=file://)|(?<=sqlite:///)|(?<![{NAME}/)}}])(?!(?<=:)//)(?:-[A-Za-z]+|@)?)"
_RELATIVE = re.compile(rf"(?![/~-])[{NAME},:]*/[{NAME},:/]*")


class PathRule(msgspec.Struct, frozen=True, order=True):
    """Everything at or below ``old`` is found at or below ``new`` (absolute paths without final slash)."""

    old: str
    new: str

    def __post_init__(self) -> None:
        """Refuse paths that ``with_rule`` would refuse; rules arrive in messages and records as well."""
        for path in (self.old, self.new):
            if _clean(path) != path:
                raise ValueError(f"not a path as rules have them: {path!r}")


class PathMap(msgspec.Struct, frozen=True):
    """An ordered set of rules; the longest matching prefix wins, and a result is not mapped again."""

    rules: tuple[PathRule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rules)

    def with_rule(self, old: str, new: str) -> PathMap:
        """Return this map with a rule added, older rules that lead into ``old`` extended to ``new``.

        Args:
            old: absolute path of a directory or file before it moved; a rule for the same path is replaced.
            new: absolute path after the move.

        Raises:
            ValueError: a path is relative or contains ``..``, or both are equal.
        """
        old, new = _clean(old), _clean(new)
        if old == new:
            raise ValueError(f"a path cannot be mapped to itself: {old}")
        added = PathMap((PathRule(old, new),))
        kept = (PathRule(rule.old, added.path(rule.new)) for rule in self.rules if rule.old != old)
        return PathMap(tuple(sorted((*(rule for rule in kept if rule.old != rule.new), PathRule(old, new)))))

    def merged(self, other: PathMap) -> PathMap:
        """Return this map with ``other``'s rules added in order; nothing is lost that either leads to.

        Two tasks may have moved from one root to different ones, and what needs the files of both has to find
        them under one name. So the root that yields becomes an old one of the other, and a root that is
        an old one already is not gone back to, unless its own rule is turned round.
        """
        result = self
        for rule in other.rules:
            if rule.old == rule.new:
                continue  # no rule of this map
            known = {present.old: present.new for present in result.rules}
            new = known.get(rule.new, rule.new)
            if new == rule.old:
                new = rule.new
            yielding = known.get(rule.old, new)
            result = result.with_rule(rule.old, new)
            if yielding != new and all(present.old != yielding for present in result.rules):
                result = result.with_rule(yielding, new)
        return result

    def path(self, path: str) -> str:
        """Map one absolute path, however it is spelled; others come back as they are.

        ``/a//./b`` and ``/a/c/../b`` are ``/a/b``. Links are not followed: ``..`` removes a name.
        """
        plain = normal(path)
        for rule in sorted(self.rules, key=lambda rule: len(rule.old), reverse=True):
            if below(rule.old, plain):
                return rule.new + plain[len(rule.old) :] + _end(path)
        return path

    def text(self, text: str) -> str:
        """Map every path inside a command line, a script or an environment value.

        A prefix counts only at a path's boundary: ``/a/b`` is not found in ``/a/bc`` nor in ``/x/a/b``.
        """
        if not self.rules:
            return text
        pattern = paths_in_text(rule.old for rule in self.rules)
        return pattern.sub(lambda found: found["before"] + self.path(found["path"]), text)

    def arguments(self, arguments: tuple[str, ...], workdir: str = "") -> tuple[str, ...]:
        """Map each argument.

        Args:
            arguments: of a command.
            workdir: where it runs, absolute, before it is mapped; with it, arguments and values of options
                that are relative paths are mapped too. Those of a directory that moves itself move with it.
        """
        fixed = workdir if self.path(workdir) == workdir else ""
        return tuple(self._argument(argument, fixed) for argument in arguments)

    def _argument(self, argument: str, workdir: str) -> str:
        option, equals, value = argument.rpartition("=")
        old = absolute(value, workdir)
        if old and (new := self.path(old)) != old:
            return f"{option}{equals}{new}{_end(value)}"
        return self.text(argument)

    def environment(self, environment: dict[str, str]) -> dict[str, str]:
        """Map each value; names stay."""
        return {name: self.text(value) for name, value in environment.items()}


def paths_in_text(prefixes: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of absolute paths in a text (group ``path``), also with doubled slashes and dots.

    A path ends before a character that is unusual in file names, unless that is a prefix's own. An option
    (``-I/a``), an ``@`` or ``file://`` may stand right before it.

    Args:
        prefixes: absolute paths, as ``normal`` returns them.
    """
    by_length = sorted(prefixes, key=len, reverse=True)
    spelled = (re.escape(prefix).replace("/", r"/+(?:[.]/+)*") for prefix in by_length)
    roots = "".join(rf"{root}(?![{NAME}])|" for root in spelled)
    return re.compile(rf"{_BEFORE}(?P<path>(?:{roots}/)[{NAME}/]*)")


def normal(path: str) -> str:
    """Return an absolute path without dots and doubled slashes; ``..`` removes the name before it."""
    return "/" + posixpath.normpath(path).lstrip("/")


def below(root: str, path: str) -> bool:
    """Whether a path is a root or lies in it.

    Args:
        root: an absolute path, as ``normal`` returns it.
        path: the examined path, in the same form.
    """
    return path == root or path.startswith(root.rstrip("/") + "/")


def absolute(word: str, workdir: str) -> str:
    """Return the absolute path of a command's argument that is a relative path; "" for any other argument.

    Only a word with a slash, and without spaces, quotes or the like, is taken for a path. A text with them
    may be a shell's command, which may change the directory before it uses a path.

    Args:
        word: an argument, or an option's value.
        workdir: the directory where the command runs, absolute; "" when it is not known.
    """
    if not workdir.startswith("/") or not _RELATIVE.fullmatch(word):
        return ""
    return posixpath.normpath(posixpath.join(workdir, word))


def _end(path: str) -> str:
    """Return the slash and dot that end a path, with which cp and rsync mean a directory's content."""
    return "/." if path.endswith("/.") else "/" if path.endswith("/") else ""


def _clean(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError(f"only absolute paths can be mapped: {path!r}")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(f"a mapped path must not contain '..': {path!r}")
    return "/" + "/".join(parts)
