"""The grammar itself: never ambiguous, read as ANTLR's own lexer reads it, and its parser up to date."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from antlr4 import CommonTokenStream, InputStream, Lexer, Parser, ParserRuleContext, Token
from antlr4.atn.ATNState import RuleStopState
from antlr4.atn.LexerATNSimulator import LexerATNSimulator
from antlr4.atn.ParserATNSimulator import ParserATNSimulator
from antlr4.atn.PredictionMode import PredictionMode
from antlr4.atn.Transition import RuleTransition
from antlr4.dfa.DFA import DFA
from antlr4.error.ErrorListener import ErrorListener
from antlr4.error.Errors import NoViableAltException, ParseCancellationException
from antlr4.error.ErrorStrategy import BailErrorStrategy
from antlr4.PredictionContext import PredictionContextCache
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.conftest import in_ci
from tests.language.corpus import DETECT, DETECTIONS, EXAMPLES, HEADER, ROOT, big, specifications
from tests.language.test_forms import spec_of
from tests.language.test_syntax_errors import CASES
from whesl import language
from whesl.language.compiler.grammar import LEXER_ATN, LITERALS, PARSER_ATN, RULE
from whesl.language.compiler.lexer import statements
from whesl.language.compiler.source import Source

CORPUS = [
    *EXAMPLES.values(),
    big(20),
    HEADER + "".join(f"{DETECT}{form}\n" for form in DETECTIONS),
    f"{HEADER}DECLARE EXCEPTION X JOB_LEVEL JOB [a] ELSE ESCALATE LIMIT LIMIT 3 WITHIN 2\n",
    f"{HEADER}DECLARE EXCEPTION X JOB_LEVEL JOB [a] ELSE ESCALATE LIMIT 3\n",
    f"{HEADER}DECLARE EXCEPTION X JOB_LEVEL JOB [a] ELSE ESCALATE ELSE BACKOFF 3\n",
]


class AmbiguityError(AssertionError):
    """ANTLR found two ways to read a text, or needed the whole context to find the one."""


class Strict(ErrorListener):  # type: ignore[misc]  # ANTLR's runtime ships no types
    """Fails on every report of the parser but syntax errors, which it counts."""

    def __init__(self) -> None:
        self.errors = 0

    def syntaxError(self, *arguments: object) -> None:  # noqa: N802 - the runtime's names
        self.errors += 1

    def reportAmbiguity(self, *arguments: object) -> None:  # noqa: N802
        raise AmbiguityError("ambiguity")

    def reportAttemptingFullContext(self, *arguments: object) -> None:  # noqa: N802
        raise AmbiguityError("full context needed")

    def reportContextSensitivity(self, *arguments: object) -> None:  # noqa: N802
        raise AmbiguityError("context sensitivity")


class Reference(Parser):  # type: ignore[misc]  # as above
    """ANTLR's own parser of a whole text: its decisions, at each choice all of them."""

    def __init__(self, text: str, reports: ErrorListener) -> None:
        super().__init__(CommonTokenStream(ReferenceLexer(text, reports)))
        tables = [DFA(state, number) for number, state in enumerate(PARSER_ATN.decisionToState)]
        self._interp = ParserATNSimulator(self, PARSER_ATN, tables, PredictionContextCache())
        self._interp.predictionMode = PredictionMode.LL_EXACT_AMBIG_DETECTION
        self._errHandler = BailErrorStrategy()
        self.removeErrorListeners()
        self.addErrorListener(reports)

    def read(self, rule: int) -> None:
        """Read a rule; raise ParseCancellationException for a text that is none."""
        at: Any = PARSER_ATN.ruleToStartState[rule]
        self.enterRule(ParserRuleContext(self._ctx, self.state), at.stateNumber, rule)
        while not isinstance(at, RuleStopState):
            choices = at.transitions
            number = 1
            if len(choices) > 1:
                number = self._interp.adaptivePredict(self._input, at.decision, self._ctx)
            taken = choices[number - 1]
            self.state: int = at.stateNumber
            at = taken.target
            if isinstance(taken, RuleTransition):
                self.read(at.ruleIndex)
                at = taken.followState
            elif not taken.isEpsilon:
                if not taken.matches(self._input.LA(1), Token.MIN_USER_TOKEN_TYPE, len(LITERALS) - 1):
                    raise ParseCancellationException("mismatch")
                self.consume()
        self.exitRule()


class ReferenceLexer(Lexer):  # type: ignore[misc]  # as above
    """ANTLR's own lexer."""

    def __init__(self, text: str, reports: ErrorListener | None = None) -> None:
        super().__init__(InputStream(text))
        tables = [DFA(state, number) for number, state in enumerate(LEXER_ATN.decisionToState)]
        self._interp = LexerATNSimulator(self, LEXER_ATN, tables, PredictionContextCache())
        self.removeErrorListeners()
        if reports is not None:
            self.addErrorListener(reports)


def errors_of(text: str) -> int:
    """Parse with ANTLR's own lexer, stream and decisions; return the number of errors."""
    strict = Strict()
    try:
        Reference(text, strict).read(RULE.specification)
    except (ParseCancellationException, NoViableAltException):
        return 1
    return strict.errors


def tokens_of_antlr(text: str) -> list[tuple[int, str]]:
    return [(token.type, token.text) for token in ReferenceLexer(text).getAllTokens()]


def tokens_of_ours(text: str) -> list[tuple[int, str]]:
    return [(x.type, x.text) for lexemes in statements(Source(text, "t")) for x in lexemes[:-1]]


@pytest.mark.parametrize("text", CORPUS)
def test_nothing_is_ambiguous(text: str) -> None:
    assert errors_of(text) == 0
    assert tokens_of_ours(text) == tokens_of_antlr(text)


@pytest.mark.parametrize("text", [case[0] for case in CASES])
def test_errors_are_not_ambiguous(text: str) -> None:
    """What is broken is broken for ANTLR's own parser too, and no report of ambiguity comes with it."""
    reserved = any(word in text for word in ("INCLUDE", "PREDICT"))
    assert errors_of(text) > 0 or reserved or "[a b]" in text


@given(specifications())
@settings(max_examples=examples(60), deadline=None)
@pytest.mark.costly
def test_generated_specifications(text: str) -> None:
    """Valid by construction: accepted, unambiguous, the same tokens, and the JSON comes back."""
    assert errors_of(text) == 0
    assert tokens_of_ours(text) == tokens_of_antlr(text)
    result = language.parse(text, "t.esl")
    assert result.spec is not None, [d.message for d in result.diagnostics]


WORDS = st.sampled_from(
    [
        *("DECLARE ", "EXCEPTION ", "ENTITY ", "DETECTION ", "RECOVERY STEP ", "JOB ", "NODE", "LOG "),
        *("a-b", "12", "1.5", '"x"', '"\\""', "[", "]", ",", "{", "}", '{"a": {"b": [1]}}', "# c", "stdout"),
        *("\n", "\r\n", "\\\n", " ", "\t", "%", "."),
        *("ELSE ", "ESCALATE ", "LIMIT ", "WITHIN ", "TIMEOUT ", "-", "*", "?", "\u00e4", "'"),
    ]
)  # fmt: skip


@given(st.lists(WORDS, max_size=25).map("".join))
@settings(max_examples=examples(200), deadline=None)
def test_any_words_are_not_ambiguous(text: str) -> None:
    """Whatever ANTLR's parser finds wrong, ours finds wrong too, and the other way round."""
    broken = errors_of(text) > 0
    ours = {d.code for d in language.parse(text, "t").diagnostics}
    if broken:
        assert ours
    form = {code for code in ours if code < "ESL013"}
    if form and not broken:
        # Said about form although the grammar reads it: names of jobs without commas, balanced braces whose
        # brackets are not, and lines of which none is a statement.
        assert form <= {"ESL003", "ESL005", "ESL006", "ESL008", "ESL010"}


@pytest.mark.costly
def test_the_committed_parser_is_made_from_the_grammar() -> None:
    command = [sys.executable, str(ROOT / "tools" / "regenerate_parser.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    if done.returncode == 2 and not in_ci():
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr


def test_importing_the_records_does_not_import_the_parser() -> None:
    """Daemons read specifications as JSON."""
    code = "import sys, whesl.language.spec, whesl.language"
    code += "; sys.exit(any(m.startswith('antlr4') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_the_parse_tree_stays_inside() -> None:
    spec = spec_of(EXAMPLES["campaign.esl"])
    assert "antlr4" not in repr(spec)
    users = {path.name for path in (ROOT / "whesl").rglob("*.py") if "antlr4" in path.read_text("utf-8")}
    assert users == {"grammar.py", "lexer.py", "parse_tree.py", "parser.py", "syntax_expectations.py"}
