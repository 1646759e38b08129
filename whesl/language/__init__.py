"""The Exception Specification Language: from text to a checked, frozen specification.

``parse`` and ``load`` are all that others need. The parser is imported when the first of them is called,
so that daemons, which read a specification as JSON, load ``whesl.language.spec`` alone.
"""

from __future__ import annotations

TYPE_CHECKING = False  # ``whesl exec`` imports this package at every start: typing costs milliseconds
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from whesl.language.result import Result
    from whesl.language.spec import Spec
    from whesl.model.workflow import Workflow

__all__ = ["checked", "load", "parse", "read_file", "schema"]


def parse(text: bytes | str, file: str, workflow: Workflow | None = None) -> Result:
    """Check a specification and return it with all findings.

    Args:
        text: the file's bytes (UTF-8), or its text. Any content is allowed; nothing is raised for it.
        file: the file's name, for findings; what it includes is looked for in its directory.
        workflow: when given, the jobs that exceptions name have to be in it.

    Returns:
        The specification (None if there is an error) and the findings by position.
    """
    from whesl.language.compiler import checks, includes
    from whesl.language.compiler.source import Source
    from whesl.language.result import Result

    source = Source(text, file)
    if not source.readable:
        return Result(spec=None, diagnostics=source.findings.sorted(), texts=source.texts())
    parsed = includes.parse(source)
    spec = checks.check(source, parsed, workflow)
    return Result(
        spec=spec, diagnostics=source.findings.sorted(), texts=source.texts(), included=parsed.included
    )


def load(path: str | Path, workflow: Workflow | None = None) -> Spec:
    """Read and check a file.

    Args:
        path: the file.
        workflow: as for ``parse``.

    Raises:
        UsageError: the file cannot be read.
        WheslError: the specification has errors; the message lists all findings.
    """
    spec = checked(path, workflow).spec
    assert spec is not None
    return spec


def checked(path: str | Path, workflow: Workflow | None = None) -> Result:
    """As ``load``; return the specification with its warnings and with what it includes."""
    result = parse(read_file(path), str(path), workflow)
    if result.spec is not None:
        return result
    from whesl.language.result import render_all
    from whesl.model.errors import WheslError

    findings = "\n".join(render_all(result))
    raise WheslError(
        f"{path} is no valid specification\n{findings}", hint="docs/error-codes.md says more about each code"
    )


def read_file(path: str | Path) -> bytes:
    """Return a file's bytes, no more than are needed to see that it is too large. Raises UsageError."""
    from whesl.files.file_retry import retried
    from whesl.language.compiler.source import MAX_BYTES
    from whesl.model.errors import UsageError

    def read() -> bytes:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib costs milliseconds
            return file.read(MAX_BYTES + 1)

    try:
        return retried(read)
    except (OSError, ValueError) as error:
        # ValueError: a NUL character in the name.
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {path}: {reason}", hint="give the path of an .esl file") from error


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a specification (``whesl compile``), as committed in spec.schema.json."""
    import msgspec

    from whesl.language.spec import Spec

    # Through JSON once, so that defaults are lists as in the file and not tuples.
    schema: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Spec)))
    return schema
