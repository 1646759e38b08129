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
    """A token cannot stand where it does.

    Args:
        index: its number.
    """

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


@dataclass(frozen=True, slots=True)
class Node:
    """A rule of the grammar, with what was read for it; none of the rules that are read is empty."""

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
        """All tokens, without what stands between them."""
        return "".join(child.text for child in self.children)

    def nodes(self, rule: str) -> list[Node]:
        """Return the children that are a rule."""
        return [child for child in self.children if isinstance(child, Node) and child.rule == rule]

    def node(self, rule: str) -> Node | None:
        """Return the first child that is a rule, None for none."""
        return next(iter(self.nodes(rule)), None)

    def only(self) -> Node:
        """Return the one child of a rule that is a choice of others."""
        (child,) = self.children
        assert isinstance(child, Node)
        return child

    def token(self, kind: int) -> Lexeme | None:
        """Return the first child that is a token of a kind, None for none."""
        return next((one for one in self.children if isinstance(one, Lexeme) and one.type == kind), None)


def line(lexemes: Sequence[Lexeme], at: int = 0) -> tuple[Node, int]:
    """Return the tree of the rule ``line`` and the number of the token behind it; the last token stays.

    Args:
        lexemes: tokens, of which the last is the end.
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
        """Read a rule."""
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
        """Return the alternative, from 1, that is taken in a decision of the automaton."""
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
            known[decision, kind] = chosen  # the one token was enough
        return chosen


@lru_cache(maxsize=1)
def _simulator() -> tuple[Any, dict[tuple[int, int], int]]:
    """Return what decides, and the decisions, by number and token, for which one token is enough."""
    tables = [DFA(state, number) for number, state in enumerate(PARSER_ATN.decisionToState)]
    simulator = ParserATNSimulator(None, PARSER_ATN, tables, PredictionContextCache())
    # The grammar has no choice that needs more; a test holds it to that.
    simulator.predictionMode = PredictionMode.SLL
    return simulator, {}
