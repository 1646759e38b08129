"""What could have stood where a syntax error is, in the user's words.

The runtime tells what its parser would have matched at the state where it gave up, which leaves out every
optional clause it had already passed by. Here the statement's tokens are followed through the automaton
along all ways at once, so that everything that is allowed at the error is known, and in which rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from antlr4 import Token
from antlr4.atn.ATNState import RuleStopState
from antlr4.atn.Transition import RuleTransition

from whesl.esl._generated.ESLParser import ESLParser
from whesl.esl.spec import Entity, Level, Operation, ResourceKind

MAX_TOKENS = 400  # a statement that is longer gets no list of what was expected

_R = ESLParser
# By rule, what a name or a value in it is. The innermost rule of the table counts.
_BY_RULE: dict[int, tuple[str, ...]] = {
    _R.RULE_entity: tuple(entity.value for entity in Entity),
    _R.RULE_level: tuple(level.value for level in Level),
    _R.RULE_resource: tuple(resource.value for resource in ResourceKind),
    _R.RULE_operation: tuple(operation.value for operation in Operation),
    _R.RULE_exceptionName: ("the name of an exception",),
    _R.RULE_job: ("the name of a job",),
    _R.RULE_signal: ("a signal (name or number)",),
    _R.RULE_count: ("a number",),
    _R.RULE_seconds: ("a number of seconds",),
    _R.RULE_percent: ("a number",),
}
_BY_TOKEN = {
    _R.NUMBER: "a number",
    _R.JSON_OBJECT: "arguments in { }",
    int(Token.EOF): "the end of the line",
    _R.NEWLINE: "the end of the line",
}
_TEXTS = {
    _R.RULE_source: "the path of a file in double quotes",
    _R.RULE_detection: "a text in double quotes",
    _R.RULE_clause: "the type of an exception in double quotes",
    _R.RULE_offer: "the name of a handler in double quotes",
    _R.RULE_declaration: "a text in double quotes",
    _R.RULE_handling: "a text in double quotes",
    _R.RULE_statement: "a library or the path of a file in double quotes",  # INCLUDE
}

_KINDS = (*range(Token.MIN_USER_TOKEN_TYPE, len(_R.symbolicNames)), int(Token.EOF))

# A configuration: a state, and the states and rules that follow when its rules end, innermost first.
Stack = tuple[tuple[Any, int], ...]


def expected(types: Sequence[int]) -> tuple[str, ...]:
    """Return what may follow the tokens of a statement, in words, each once, keywords as they are written.

    Args:
        types: the kinds of the tokens before the error, from the statement's first.
    """
    if len(types) > MAX_TOKENS:
        return ()
    start = _R.atn.ruleToStartState[_R.RULE_line]
    configurations = _closure([(start, ((None, _R.RULE_line),))])
    for kind in types:
        configurations = _closure(
            [
                (transition.target, stack)
                for state, stack in configurations
                for transition in state.transitions
                if _reads(transition, kind)
            ]
        )
    words: dict[str, None] = {}
    for state, stack in configurations:
        for transition in state.transitions:
            for kind in _KINDS:
                if _reads(transition, kind):
                    words.update(dict.fromkeys(_words(kind, [rule for _, rule in stack])))
    return tuple(words)


def _reads(transition: Any, kind: int) -> bool:
    """Whether a transition is taken on a token of a kind."""
    return not transition.isEpsilon and bool(transition.matches(kind, Token.MIN_USER_TOKEN_TYPE, _KINDS[-2]))


def _closure(configurations: list[tuple[Any, Stack]]) -> list[tuple[Any, Stack]]:
    """Return the configurations in which a token is next, reached without reading one."""
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
    return found


def _words(kind: int, rules: list[int]) -> tuple[str, ...]:
    if kind == _R.NEWLINE and rules[0] != _R.RULE_line:
        return ()  # inside brackets lines may end anywhere
    for rule in rules:
        if rule in _BY_RULE:
            return _BY_RULE[rule]
    if kind == _R.STRING:
        return (next((text for rule, text in _TEXTS.items() if rule in rules), "a text in double quotes"),)
    return (_BY_TOKEN.get(kind) or keyword(kind),)


@lru_cache(maxsize=256)
def keyword(kind: int) -> str:
    """Return a keyword as it is written, and punctuation in quotes."""
    literal: str = _R.literalNames[kind]
    return literal.strip("'") if literal.strip("'").isalpha() or "_" in literal else literal
