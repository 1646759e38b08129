"""The grammar as ANTLR writes it down: its automata, and the names in it.

``ESL.interp`` and ``ESLLexer.interp`` are made from ``grammar/ESL.g4``; the runtime's simulators read the
automata.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

from antlr4.atn.ATN import ATN
from antlr4.atn.ATNDeserializer import ATNDeserializer


def _sections(name: str) -> dict[str, list[str]]:
    """Return the sections of a file that ANTLR has written for interpreters, by their heading."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    sections = (section.split("\n") for section in re.split(r"\n\n+", text.strip()))
    return {heading.rstrip(":"): lines for heading, *lines in sections}


def _automaton(sections: dict[str, list[str]]) -> ATN:
    (numbers,) = sections["atn"]
    return ATNDeserializer().deserialize(json.loads(numbers))


_PARSER, _LEXER = _sections("ESL.interp"), _sections("ESLLexer.interp")
PARSER_ATN, LEXER_ATN = _automaton(_PARSER), _automaton(_LEXER)
RULES = tuple(_PARSER["rule names"])
LITERALS = tuple(_PARSER["token literal names"])  # by the token's number; "null" for one of many texts
# Tokens and rules by their name in the grammar: their numbers.
TOKEN = SimpleNamespace(
    **{name: number for number, name in enumerate(_PARSER["token symbolic names"]) if number}
)
RULE = SimpleNamespace(**{name: number for number, name in enumerate(RULES)})
