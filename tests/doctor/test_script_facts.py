"""What is known of a script, whatever stands in it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.doctor.job_script import facts as script_facts

WORDS = (
    *(
        "srun",
        "./a",
        "echo",
        "cat",
        "exec",
        "cd",
        "pushd",
        "popd",
        "exit",
        "trap",
        "sleep",
        "local",
        "export",
    ),
    *("$X", "${X:-1}", '"$@"', "'a b'", "$(date)", "`date`", "X=1", "X=$(ls)", "$((1+1))", "{1..3}", "*.log"),
    *("/", "//", "//etc/motd", ".", "..", "../..", "-", "--", "-o", "out=//", "http://a//b", "seq 1 3"),
    *(">", ">>", "2>", "2>&1", "&>", ">&2", "<", "> >(", "<(", ")", "(", "<<E\nx\nE\n", "<<< x"),
    *("|", "||", "&&", "&", ";", "\n", "!", "if", "then", "else", "fi", "for", "in", "do", "done", "while"),
    *("case", "esac", ";;", "f()", "{", "}", "[[", "]]", "true", "EXIT", "#", "\\\n", "é", "%j"),
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_script_is_read_to_its_end(words: list[str]) -> None:
    facts = script_facts.read("#!/bin/bash\n" + " ".join(words) + "\n")
    assert all(command.words for command in facts.commands)


@pytest.mark.parametrize("word", ["//", "//etc/motd", "///", "a=//", "/.", "../..", "http://a//b"])
def test_directories_above_a_word_have_an_end(word: str) -> None:
    made = script_facts.read(f"#!/bin/sh\nsrun ./a {word}\n").made
    assert not made & {"", "/", "//", ".", ".."}


CALLS = "\n".join(f"f{number}() {{ f{number + 1}; f{number + 1}; }}" for number in range(40))


@pytest.mark.parametrize("body", [" && ".join(["./a"] * 3000), f"{CALLS}\nf40() {{ ./a; }}\nf0"])
def test_a_script_of_too_many_commands_has_no_facts(body: str) -> None:
    assert script_facts.read(f"#!/bin/sh\n{body}\n") == script_facts.ScriptFacts()
