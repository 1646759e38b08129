"""The base of all journal records, and the record of a damaged journal, which every journal may have."""

from __future__ import annotations

from typing import NoReturn

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """A journal record; in JSON, ``kind`` says which one."""

    @property
    def kind(self) -> str:
        """Its kind, as in the journal."""
        return str(type(self).__struct_config__.tag)


def assert_never(value: NoReturn) -> NoReturn:
    """Let mypy see that a ``match`` has a case for each type (``typing.assert_never`` is of Python 3.11)."""
    raise AssertionError(f"{value!r} was not expected")


class Damage(Record, frozen=True, kw_only=True, tag="journal-damaged"):
    """A journal was found damaged: where it lies now and what could not be read of it.

    ``kept`` counts records; ``missing`` are numbers that are known to have existed.
    """

    file: str
    reason: str
    kept: int
    missing: tuple[int, ...]

    def __str__(self) -> str:
        """Say all of it in a line, for a daemon's log."""
        return (
            f"the journal was damaged ({self.reason}): {self.kept} records were kept, "
            f"at least {len(self.missing)} are lost; it lies now at {self.file}"
        )
