"""From a statement's tokens to its parse tree, along the grammar's automaton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from antlr4 import ParserRuleContext, Token
from antlr4.atn.ATNState import RuleStopState
from antlr4.atn.ParserATNSimulator import ParserATNSimulator
from antlr4.atn.PredictionMode import PredictionMode
from antlr4.atn.Transition import RuleTransition
from antlr4.dfa.DFA import DFA
from antlr4.error.Errors import NoViableAltException
from antlr4.PredictionContext import PredictionContextCache

from whesl.language.compiler.grammar import LITERALS, PARSER_ATN, RULE, RULES
from whesl.language.compiler.lexer import Lexeme, LexemeStream


class MismatchError(Exception):
    """The grammar allows no token of this kind at this place.

    Args:
        index: the number of the token in its statement's tokens.
    """

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


@dataclass(frozen=True, slots=True)
class Node:
    """A rule of the grammar with the tokens and rules read for it, at least one."""

    rule: str
    children: tuple[Node | Lexeme, ...]

    @property
    def first(self) -> Lexeme:
        """The first token."""
        child = self.children[0]
        return child.first if isinstance(child, Node) else child

    @property
    def last(self) -> Lexeme:
        """The last token."""
        child = self.children[-1]
        return child.last if isinstance(child, Node) else child

    @property
    def text(self) -> str:
        """The texts of all tokens, joined without the blanks and comments between them."""
        return "".join(child.text for child in self.children)

    def nodes(self, rule: str) -> list[Node]:
        """Return the children that are nodes of the rule ``rule``."""
        return [child for child in self.children if isinstance(child, Node) and child.rule == rule]

    def node(self, rule: str) -> Node | None:
        """Return the first child that is a node of the rule ``rule``; None when there is none."""
        return next(iter(self.nodes(rule)), None)

    def only(self) -> Node:
        """Return the only child of a node whose rule is a choice between other rules."""
        (child,) = self.children
        assert isinstance(child, Node)
        return child

    def token(self, kind: int) -> Lexeme | None:
        """Return the first child that is a token of the kind ``kind``; None when there is none."""
        return next((one for one in self.children if isinstance(one, Lexeme) and one.type == kind), None)


def line(lexemes: Sequence[Lexeme], at: int = 0) -> tuple[Node, int]:
    """Return the tree of the rule ``line``, and the number of the token after it (at most the end token's).

    Args:
        lexemes: tokens; the last one is the end token.
        at: the number of the first token that is read.

    Raises:
        MismatchError: the tokens are no statement.
    """
    reading = _Reading(lexemes, at)
    return reading.rule(RULE.line), reading.at


class _Reading:
    def __init__(self, lexemes: Sequence[Lexeme], at: int) -> None:
        self._lexemes = lexemes
        self.at = at

    def rule(self, number: int) -> Node:
        """Read the tokens of the rule with a number of the grammar, and return its node."""
        state: Any = PARSER_ATN.ruleToStartState[number]
        children: list[Node | Lexeme] = []
        while not isinstance(state, RuleStopState):
            choices = state.transitions
            taken = choices[0] if len(choices) == 1 else choices[self._choice(state.decision) - 1]
            state = taken.target
            if isinstance(taken, RuleTransition):
                children.append(self.rule(state.ruleIndex))
                state = taken.followState
            elif not taken.isEpsilon:
                lexeme = self._lexemes[self.at]
                if not taken.matches(lexeme.type, Token.MIN_USER_TOKEN_TYPE, len(LITERALS) - 1):
                    raise MismatchError(self.at)
                children.append(lexeme)
                self.at = min(self.at + 1, len(self._lexemes) - 1)
        return Node(RULES[number], tuple(children))

    def _choice(self, decision: int) -> int:
        """Return the alternative, from 1, that the next tokens select at a decision of the automaton."""
        simulator, known = _simulator()
        kind = self._lexemes[self.at].type
        if (decision, kind) in known:
            return known[decision, kind]
        stream = LexemeStream(self._lexemes, self.at)
        try:
            chosen: int = simulator.adaptivePredict(stream, decision, ParserRuleContext.EMPTY)
        except NoViableAltException as error:
            raise MismatchError(error.offendingToken.tokenIndex) from None
        after = simulator.decisionToDFA[decision].s0.edges[kind + 1]
        if after is not None and after.isAcceptState:
            known[decision, kind] = chosen  # one token of look-ahead decided
        return chosen


@lru_cache(maxsize=1)
def _simulator() -> tuple[Any, dict[tuple[int, int], int]]:
    """Return ANTLR's simulator, and a cache of alternatives by decision and token where one token decides."""
    tables = [DFA(state, number) for number, state in enumerate(PARSER_ATN.decisionToState)]
    simulator = ParserATNSimulator(None, PARSER_ATN, tables, PredictionContextCache())
    # SLL prediction is enough for every choice of the grammar; a test checks that.
    simulator.predictionMode = PredictionMode.SLL
    return simulator, {}
