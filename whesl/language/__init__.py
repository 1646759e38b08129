"""The Exception Specification Language: from text to a checked, frozen specification.

Other packages need ``parse`` and ``load`` only. The first call of either imports the parser, so that daemons,
which read a specification as JSON, load ``whesl.language.spec`` alone.
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
        text: the file's bytes (UTF-8), or its text. No content raises an exception.
        file: the file's name, for findings; included files are looked for in its directory.
        workflow: when given, it has to contain the jobs that exceptions name.

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
    """Read and check a file, and return the specification with its warnings and its included files.

    Args:
        path: the file.
        workflow: when given, it has to contain the jobs that exceptions name.

    Raises:
        UsageError: the file cannot be read.
        WheslError: the specification has errors; the message lists all findings.
    """
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
    """Return at most ``MAX_BYTES`` + 1 bytes of a file: enough to see it is too large. Raises UsageError."""
    from whesl.files.file_retry import retried
    from whesl.language.compiler.source import MAX_BYTES
    from whesl.model.errors import UsageError

    def read() -> bytes:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib costs milliseconds
            return file.read(MAX_BYTES + 1)

    try:
        return retried(read)
    except (OSError, ValueError) as error:
        # A NUL character in the file's name is a ValueError.
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {path}: {reason}", hint="give the path of an .esl file") from error


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a specification (``whesl compile``), as committed in spec.schema.json."""
    from inspect import cleandoc

    import msgspec

    from whesl.language.spec import Spec

    # A round trip through JSON turns the tuples of defaults into lists, as in the committed file.
    schema: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Spec)))
    for record in schema["$defs"].values():
        if "description" in record:
            # Releases of msgspec differ in the indentation that they leave in docstrings.
            record["description"] = cleandoc(record["description"])
    return schema
