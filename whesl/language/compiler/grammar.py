"""The grammar in ANTLR's serialised form: its automata, and the names of its tokens and rules.

ANTLR generates ``ESL.interp`` and ``ESLLexer.interp`` from ``grammar/ESL.g4``; the simulators of its runtime
read the automata.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

from antlr4.atn.ATN import ATN
from antlr4.atn.ATNDeserializer import ATNDeserializer


def _sections(name: str) -> dict[str, list[str]]:
    """Return the sections of an ANTLR ``.interp`` file, by their heading."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    sections = (section.split("\n") for section in re.split(r"\n\n+", text.strip()))
    return {heading.rstrip(":"): lines for heading, *lines in sections}


def _automaton(sections: dict[str, list[str]]) -> ATN:
    (numbers,) = sections["atn"]
    return ATNDeserializer().deserialize(json.loads(numbers))


_PARSER, _LEXER = _sections("ESL.interp"), _sections("ESLLexer.interp")
PARSER_ATN, LEXER_ATN = _automaton(_PARSER), _automaton(_LEXER)
RULES = tuple(_PARSER["rule names"])
# Indexed by a token's number; "null" for a token without one fixed text.
LITERALS = tuple(_PARSER["token literal names"])
# Numbers of tokens and of rules, by their name in the grammar.
TOKEN = SimpleNamespace(
    **{name: number for number, name in enumerate(_PARSER["token symbolic names"]) if number}
)
RULE = SimpleNamespace(**{name: number for number, name in enumerate(RULES)})
