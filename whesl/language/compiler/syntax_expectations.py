"""The words that are allowed at the place of a syntax error, in the user's terms.

ANTLR's runtime reports the tokens that its parser expected in the state where it stopped, which leaves out
optional clauses that it had already skipped. This module follows the statement's tokens through the automaton
along all paths at once, so that it knows all allowed tokens and their rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from antlr4 import Token
from antlr4.atn.ATNState import RuleStopState
from antlr4.atn.Transition import RuleTransition

from whesl.language.compiler.grammar import LITERALS, PARSER_ATN, RULE, TOKEN
from whesl.language.spec import Entity, Level, Operation, ResourceKind

MAX_TOKENS = 400  # tokens of a statement up to which the expected words are listed

# Descriptions of a name or value, by the rule that contains it; the innermost listed rule counts.
_BY_RULE: dict[int, tuple[str, ...]] = {
    RULE.entity: tuple(entity.value for entity in Entity),
    RULE.level: tuple(level.value for level in Level),
    RULE.resource: tuple(resource.value for resource in ResourceKind),
    RULE.operation: tuple(operation.value for operation in Operation),
    RULE.exceptionName: ("the name of an exception",),
    RULE.job: ("the name of a job",),
    RULE.signal: ("a signal (name or number)",),
    RULE.count: ("a number",),
    RULE.seconds: ("a number of seconds",),
    RULE.percent: ("a number",),
    RULE.confidence: ("a probability from 0 to 1",),
}
_BY_TOKEN = {
    TOKEN.NUMBER: "a number",
    TOKEN.JSON_OBJECT: "arguments in { }",
    int(Token.EOF): "the end of the line",
    TOKEN.NEWLINE: "the end of the line",
}
_TEXTS = {
    RULE.source: "the path of a file in double quotes",
    RULE.detection: "a text in double quotes",  # the quoted text may also be the node's name of PREDICTED
    RULE.clause: "the type of an exception in double quotes",
    RULE.offer: "the name of a handler in double quotes",
    RULE.declaration: "the name of a handler in double quotes",
    RULE.handling: "a text in double quotes",
    RULE.statement: "a library or the path of a file in double quotes",  # the quoted text of INCLUDE
}

_KINDS = (*range(Token.MIN_USER_TOKEN_TYPE, len(LITERALS)), int(Token.EOF))

# For each open rule, innermost first, the state that follows its end, and the rule's number.
Stack = tuple[tuple[Any, int], ...]
Configurations = tuple[tuple[Any, Stack], ...]
# Known words of rules for which the grammar allows any word.
_NAMED = {
    RULE.entity: frozenset({*(entity.value for entity in Entity), "DEPENDEND_JOB"}),
    RULE.level: frozenset(level.value for level in Level),
    RULE.resource: frozenset(resource.value for resource in ResourceKind),
    RULE.operation: frozenset(operation.value for operation in Operation),
}
KEYWORD = "(keyword)"
_KNOWN = frozenset().union(*_NAMED.values())


class Automaton:
    """The grammar's automaton for one statement, with a cache of every transition.

    No rule of the grammar contains itself, so that there are few states.
    """

    DEAD = -1

    def __init__(self) -> None:
        self._numbers: dict[Configurations, int] = {}
        self._configurations: list[Configurations] = []
        self._moves: dict[tuple[int, int, str], int] = {}
        start = PARSER_ATN.ruleToStartState[RULE.line]
        self.start = self._number(_closure([(start, ((None, RULE.line),))]))

    def _number(self, configurations: Configurations) -> int:
        if not configurations:
            return self.DEAD
        number = self._numbers.setdefault(configurations, len(self._configurations))
        if number == len(self._configurations):
            self._configurations.append(configurations)
        return number

    def step(self, state: int, kind: int, text: str = "") -> int:
        """Return the state after a token, or ``DEAD``.

        Args:
            state: the state before the token.
            kind: the token's kind.
            text: the token's text, with which entities, levels, resources and operations have to be known
                ones; empty to allow any word; ``KEYWORD`` to read a keyword as such, not as a name.
        """
        if state == self.DEAD:
            return state
        said = text if text in _KNOWN or text == KEYWORD else "?" if text else ""
        number = self._moves.get((state, kind, said))
        if number is None:
            number = self._moves[state, kind, said] = self._number(
                _closure(
                    [
                        (transition.target, stack)
                        for at, stack in self._configurations[state]
                        for transition in at.transitions
                        if _reads(transition, kind) and (not said or _is_known(said, stack))
                    ]
                )
            )
        return number

    def ends(self, state: int) -> bool:
        """Whether the statement may end in a state."""
        return self.step(state, int(Token.EOF)) != self.DEAD

    def words(self, state: int) -> tuple[str, ...]:
        """Return the descriptions of the tokens that are allowed next; a keyword describes itself."""
        words: dict[str, None] = {}
        for at, stack in self._configurations[state] if state != self.DEAD else ():
            for transition in at.transitions:
                for kind in _KINDS:
                    if _reads(transition, kind):
                        words.update(dict.fromkeys(_words(kind, [rule for _, rule in stack])))
        return tuple(words)


def _is_known(said: str, stack: Stack) -> bool:
    if said == KEYWORD:
        return stack[0][1] not in (RULE.word, RULE.job)
    return all(said in _NAMED[rule] for _, rule in stack if rule in _NAMED)


@lru_cache(maxsize=1)
def automaton() -> Automaton:
    """Return this process's automaton, made at the first call."""
    return Automaton()


def expected(types: Sequence[int]) -> tuple[str, ...]:
    """Return the descriptions of the tokens that may follow some tokens of a statement.

    Args:
        types: the kinds of the tokens before the error, from the statement's first.
    """
    if len(types) > MAX_TOKENS:
        return ()
    walk = automaton()
    state = walk.start
    for kind in types:
        state = walk.step(state, kind)
    return walk.words(state)


def _reads(transition: Any, kind: int) -> bool:
    """Whether a transition is taken on a token of a kind."""
    return not transition.isEpsilon and bool(transition.matches(kind, Token.MIN_USER_TOKEN_TYPE, _KINDS[-2]))


def _closure(configurations: list[tuple[Any, Stack]]) -> Configurations:
    """Return the configurations that read a token next and are reached without reading one."""
    seen = set()
    found = []
    work = list(reversed(configurations))
    while work:
        state, stack = work.pop()
        key = (state.stateNumber, tuple((follow and follow.stateNumber, rule) for follow, rule in stack))
        if key in seen:
            continue
        seen.add(key)
        if isinstance(state, RuleStopState):
            follow, _ = stack[0]
            if follow is not None:
                work.append((follow, stack[1:]))
            continue
        found.append((state, stack))
        for transition in reversed(state.transitions):
            if isinstance(transition, RuleTransition):
                inner = (transition.followState, transition.target.ruleIndex)
                work.append((transition.target, (inner, *stack)))
            elif transition.isEpsilon:
                work.append((transition.target, stack))
    return tuple(found)


def _words(kind: int, rules: list[int]) -> tuple[str, ...]:
    if kind == TOKEN.NEWLINE and rules[0] != RULE.line:
        return ()  # within brackets a line may end anywhere, so a line end is not listed
    for rule in rules:
        if rule in _BY_RULE:
            return _BY_RULE[rule]
    if kind == TOKEN.STRING:
        return (next((text for rule, text in _TEXTS.items() if rule in rules), "a text in double quotes"),)
    return (_BY_TOKEN.get(kind) or keyword(kind),)


@lru_cache(maxsize=256)
def keyword(kind: int) -> str:
    """Return a keyword as it is written, and punctuation in quotes."""
    literal: str = LITERALS[kind]
    return literal.strip("'") if literal.strip("'").isalpha() or "_" in literal else literal
