"""The documents say what the grammar and the code say."""

from __future__ import annotations

import importlib.util
import json
import re

import jsonschema
import msgspec
import pytest

from tests.language.corpus import EXAMPLES, HEADER, ROOT
from whesl import language
from whesl.language.compiler.grammar import LITERALS
from whesl.language.compiler.operation_signatures import BUILT_IN_PLACEHOLDERS, OPERATIONS, arguments_of
from whesl.language.diagnostics import CODES
from whesl.language.spec import Entity, Level, Operation, ResourceKind, operations_of

REFERENCE = (ROOT / "docs" / "esl-reference.md").read_text("utf-8")
CODES_PAGE = (ROOT / "docs" / "error-codes.md").read_text("utf-8")
BLOCKS = re.findall(r"^```esl(| detection)\n(.*?)^```$", REFERENCE, re.MULTILINE | re.DOTALL)


def test_no_example_is_overlooked() -> None:
    assert len(BLOCKS) == REFERENCE.count("```esl") >= 14
    assert {kind for kind, _ in BLOCKS} == {"", " detection"}


@pytest.mark.parametrize(("kind", "text"), BLOCKS)
def test_examples_of_the_reference(kind: str, text: str) -> None:
    """Examples marked ``detection`` are lines that follow the declarations shown before them."""
    shared = next(block for kind, block in BLOCKS if "EXCEPTION E JOB_LEVEL" in block)
    result = language.parse((shared if kind else "") + text, "reference")
    assert [d.message for d in result.diagnostics if d.code != "ESL046"] == []
    assert result.spec is not None


def test_every_keyword_is_explained() -> None:
    words = {name.strip("'") for name in LITERALS if name.strip("'").replace("_", "").isalpha()}
    words -= {"null"}
    assert len(words) == 64
    named = [kind.value for kinds in (Entity, Level, Operation, ResourceKind) for kind in kinds]
    for word in (*words, *named):
        assert re.search(rf"(?<![A-Za-z_]){word}(?![A-Za-z_])", REFERENCE), word


def test_every_keyword_is_in_an_example() -> None:
    examples = "".join(text for _, text in BLOCKS)
    for name in LITERALS:
        word = name.strip("'")
        if word.replace("_", "").isalpha() and word != "null":
            assert re.search(rf"(?<![A-Za-z_]){word}(?![A-Za-z_])", examples), word


def test_every_argument_is_explained() -> None:
    table = REFERENCE[REFERENCE.index("### Operations and their arguments") :]
    assert OPERATIONS.keys() == {(r, o) for r in ResourceKind for o in operations_of(r)}
    for resource, operation in OPERATIONS:
        assert f"`{resource}.{operation}`" in table
        for argument in arguments_of(resource, operation):
            assert f"`{argument.name}`" in table
            assert f'"{argument.name}"' in table  # in the example
            for choice in argument.choices:
                assert f"`{choice}`" in table
    for name in BUILT_IN_PLACEHOLDERS:
        assert f"`${{{name}}}`" in REFERENCE


def test_the_codes_are_those_of_the_page() -> None:
    listed = re.findall(r"^\| (ESL\d{3}) \|", CODES_PAGE, re.MULTILINE)
    assert listed == list(CODES)
    for line in CODES_PAGE.splitlines():
        if line.startswith("| ESL"):
            assert all(cell.strip() for cell in line.strip("|").split("|")), line


def test_every_code_can_be_given() -> None:
    """A code that nothing gives would be explained for nothing."""
    room = [path for path in (ROOT / "whesl" / "language").rglob("*.py") if path.name != "diagnostics.py"]
    # What only a look at the machine finds is the command's.
    doctor = ROOT / "whesl" / "doctor"
    looks = [*doctor.glob("rules_*.py"), *doctor.glob("job_script/*.py")]
    sources = "".join(path.read_text("utf-8") for path in (*room, *looks))
    assert {code for code in CODES if f'"{code}"' not in sources} == {"ESL007"}


def test_the_committed_schema() -> None:
    committed = json.loads((ROOT / "whesl" / "language" / "spec.schema.json").read_text("utf-8"))
    assert committed == language.schema()


@pytest.mark.parametrize("name", EXAMPLES)
def test_output_is_of_the_schema(name: str) -> None:
    result = language.parse(EXAMPLES[name], name)
    assert result.spec is not None
    validator = jsonschema.Draft202012Validator(language.schema())
    built = json.loads(msgspec.json.encode(result.spec))
    validator.validate(built)
    del built["exceptions"][0]["level"]
    assert not validator.is_valid(built)


def test_the_printed_header_of_the_tests_is_sound() -> None:
    assert [d.code for d in language.parse(HEADER, "t").diagnostics] == ["ESL040"]


def test_the_page_of_the_library_is_current() -> None:
    path = ROOT / "tools" / "library_page.py"
    specification = importlib.util.spec_from_file_location("library_page", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert (ROOT / "docs" / "library.md").read_text("utf-8") == module.page()
