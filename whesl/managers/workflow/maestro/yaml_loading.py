"""Reads YAML as Maestro does, with UsageError for every text that is no YAML."""

from __future__ import annotations

from typing import Any

import yaml

from whesl.model.errors import UsageError

# Limits on the values that aliases add to a document, and on the depth of values: by aliases, a short text
# can stand for more values than fit into memory, or contain itself.
MOST_VALUES = 20_000
DEEPEST = 100
# Errors that PyYAML raises besides its own ones, such as for an impossible date or a wrong tag.
_BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


def values(text: str, path: str) -> Any:
    """Return a document's values.

    Args:
        text: the document's text.
        path: the document's file, for messages.

    Raises UsageError for text that is no YAML, or stands for too many values.
    """
    document = _read(lambda: yaml.safe_load(text), path)
    count = 0
    waiting = [(document, 0)]
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if depth > DEEPEST:
            raise UsageError(f"{path}: nested too deeply, or an alias contains itself")
        if count > MOST_VALUES + len(text):
            raise UsageError(f"{path}: its aliases stand for more than {MOST_VALUES} values")
        if isinstance(value, dict):
            waiting += ((item, depth + 1) for item in value.values())
        elif isinstance(value, (list, tuple, set)):
            waiting += ((item, depth + 1) for item in value)
    return document


def nodes(text: str, path: str) -> Any:
    """Return a document's tree of nodes with their positions, None for an empty document.

    Args:
        text: the document's text.
        path: the document's file, for messages.

    Raises UsageError for text that is no YAML.
    """
    return _read(lambda: yaml.compose(text, Loader=yaml.SafeLoader), path)


def _read(read: Any, path: str) -> Any:
    try:
        return read()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise UsageError(f"{path}{where}: not YAML: {problem}") from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply") from None
    except _BROKEN as error:
        raise UsageError(f"{path}: not YAML: a value cannot be read: {error}") from None
