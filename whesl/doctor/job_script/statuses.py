"""The statuses with which a shell script ends when one of its programs fails. Pure.

The script is run on symbols: one program fails, with ``OWN`` as its status, and all other commands succeed.
What is not known, such as a test of a file, is taken both ways, so that a script has several ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import tree_sitter

from whesl.doctor.job_script.commands import descendants, is_program, parsed, text_of_node, words_of

OWN = "own"  # the status of the program that fails
ANY = "any"  # a status that is not known
TESTED = "tested"  # the 1 of a test that is false in a run without a failure
# Programs that end with a status of their own when what they start fails. Sources: the manuals of GNU make,
# findutils and coreutils.
_MADE = {"make": 2, "xargs": 123, "find": 0}
_TESTS = {"[", "test", "grep", "egrep", "diff", "cmp"}
# Words of tests that are false in a run without a failure, or that ask for a setting.
_NOT_THERE = re.compile(
    r"err|fail|warn|fatal|\bcore\b|crash|nan\b|problem|-n \"?\$|\$\{?\w+\}?\"? =", re.IGNORECASE
)
_MOST_STEPS = 5_000  # statements that are run; a script that needs more is not judged
_MOST_PROGRAMS = 40


class _State(NamedTuple):
    """Where a run is: the last status, statuses in variables, options, traps, and how it goes on."""

    status: int | str = 0
    kept: tuple[tuple[str, int | str], ...] = ()
    errexit: bool = False
    pipefail: bool = False
    traps: tuple[tuple[str, str], ...] = ()
    behind: int | str = 0  # of programs in the background
    failed: bool = False
    flow: str = ""  # exit, return, break or continue


class _TooLongError(Exception):
    """A script has more ends than are looked at."""


def ends(text: str, *, options: Sequence[str] = (), once: bool = False) -> set[int | str] | None:
    """Return the statuses with which a script ends when one of its programs fails, whichever.

    Args:
        text: the script.
        options: options of the shell that are put on as well, ``errexit`` or ``pipefail``.
        once: a program in a loop fails the first time and succeeds the second.

    Returns None where that is not known, or the script starts no program.
    """
    root = parsed(text)
    programs = [each for each in descendants(root) if _is_program(each)] if root is not None else []
    if root is None or not programs or len(programs) > _MOST_PROGRAMS:
        return None
    found: set[int | str] = set()
    try:
        for each in programs:
            found |= {end.status for end in _Run(root, text, each.id, options, once).ends() if end.failed}
    except (_TooLongError, RecursionError):
        return None
    return found or None


def sound_ends(text: str) -> set[int | str]:
    """Return the statuses with which a script ends when all of its commands succeed; none where unknown."""
    root = parsed(text)
    try:
        return {end.status for end in _Run(root, text, -1, (), False).ends()} if root is not None else set()
    except (_TooLongError, RecursionError):
        return set()


def _is_program(node: tree_sitter.Node) -> bool:
    words = words_of(node) if node.type == "command" else ()
    return bool(words) and is_program(words[0])


class _Run:
    """Runs a script in which one command fails."""

    def __init__(
        self, root: tree_sitter.Node, text: str, fails: int, options: Sequence[str], once: bool
    ) -> None:
        self._root, self._text, self._fails, self._once = root, text, fails, once
        self._left = _MOST_STEPS
        first = text.partition("\n")[0]
        self._begin = _State(
            errexit="errexit" in options or re.search(r"\s-\w*e", first) is not None,
            pipefail="pipefail" in options,
        )
        self._functions = {
            text_of_node(name): node.named_children[-1]
            for node in descendants(root)
            if node.type == "function_definition" and (name := node.child_by_field_name("name")) is not None
        }

    def ends(self) -> set[_State]:
        """Return the states in which the script ends."""
        return self._shell(self._root.named_children, self._begin)

    def _shell(self, nodes: Sequence[tree_sitter.Node], state: _State) -> set[_State]:
        """Return the states behind a shell of its own and its trap of EXIT."""
        return self._ended(self._all(nodes, {state._replace(traps=())}, False))

    def _ended(self, states: set[_State]) -> set[_State]:
        ends: set[_State] = set()
        for end in states:
            trap = dict(end.traps).get("EXIT")
            ends |= self._trapped(trap, end._replace(flow="")) if trap is not None else {end}
        return ends

    def _trapped(self, trap: str, state: _State) -> set[_State]:
        root = parsed(trap)
        ends = self._all(root.named_children, {state}, True) if root is not None else {state}
        return {end if end.flow == "exit" else state for end in ends}

    def _all(self, nodes: Iterable[tree_sitter.Node], states: set[_State], guarded: bool) -> set[_State]:
        """Return the states behind statements; ``guarded`` ones are asked for their status."""
        for node in nodes:
            if node.type == "comment":
                continue
            going = {state for state in states if not state.flow}
            states = (states - going).union(*(self._one(node, state, guarded) for state in going))
        return states

    def _one(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        self._left -= 1
        if self._left < 0:
            raise _TooLongError
        if node.next_sibling is not None and node.next_sibling.type == "&":
            inner = self._ended(self._step(node, state._replace(traps=()), False))
            return {
                state._replace(
                    status=0, behind=each.status or state.behind, failed=state.failed or each.failed
                )
                for each in inner
            }
        made = self._step(node, state, guarded)
        plain = node.type not in ("list", "if_statement", "compound_statement", "do_group", "negated_command")
        if guarded or not plain:
            return made
        return set().union(*(self._stopped(each) for each in made))

    def _stopped(self, state: _State) -> set[_State]:
        """Return the states behind a command that nobody asks for its status, as set -e and traps have it."""
        trap = dict(state.traps).get("ERR")
        if not state.status or state.flow:
            return {state}
        states = self._trapped(trap, state) if trap is not None else {state}
        return {each._replace(flow="exit") if each.errexit else each for each in states}

    def _step(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        step = getattr(self, f"_{node.type}", None)
        if step is not None:
            made: set[_State] = step(node, state, guarded)
            return made
        if text_of_node(node).startswith("(("):
            return self._tested("", state)
        if node.type in ("compound_statement", "do_group", "else_clause"):
            return self._all(node.named_children, {state}, guarded)
        return {state._replace(status=0)}

    def _command(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        words = words_of(node)
        name = words[0].rpartition("/")[2] if words else ""
        inside = [each for each in descendants(node) if each.type == "command_substitution"]
        within = any(each.id == self._fails for one in inside for each in descendants(one))
        state = state._replace(failed=state.failed or within)
        if name in self._functions:
            made = self._all([self._functions[name]], {state}, guarded)
            return {each._replace(flow="" if each.flow == "return" else each.flow) for each in made}
        if name in ("exit", "return"):
            status = self._value(words[1], state) if len(words) > 1 else state.status
            return {state._replace(status=status, flow=name)}
        if name in ("break", "continue"):
            return {state._replace(status=0, flow=name)}
        if name == "set":
            return {self._set(words[1:], state._replace(status=0))}
        if name == "trap" and len(words) > 2:
            traps = {
                **dict(state.traps),
                **{x.replace("SIG", "").replace("0", "EXIT"): words[1] for x in words[2:]},
            }
            return {state._replace(status=0, traps=tuple(sorted(traps.items())))}
        if name == "scancel" or (name == "kill" and "$$" in words) or words[:2] == ("scontrol", "requeue"):
            return {state._replace(status=ANY, flow="exit")}
        if name == "wait":
            asked = state.behind if len(words) > 1 else 0
            return {state._replace(status=each) for each in {0, asked}}
        if name in _TESTS:
            return self._tested(" ".join(words), state)
        status = _MADE.get(name, OWN) if node.id == self._fails and not (self._once and state.failed) else 0
        status = 1 if name == "false" else status
        failed = state.failed or node.id == self._fails
        text = text_of_node(node)
        flow = "exit" if re.match(r"exec\s", text) and len(words) > 0 and name != "exec" else ""
        return {state._replace(status=status, failed=failed, flow=flow)}

    def _test_command(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        return self._tested(text_of_node(node), state)

    def _tested(self, test: str, state: _State) -> set[_State]:
        """Return the states after a test: both results, or the only possible one if the status is known."""
        found = re.search(r"(\$\?|\$\{?\w+\}?)\"?\s*(-ne|-gt|!=|-eq|==?)\s*\"?0\b", test)
        value = self._value(found[1], state) if found is not None else ANY
        if found is None or value == ANY:
            failed = TESTED if _NOT_THERE.search(test) else 1
            return {state._replace(status=0), state._replace(status=failed)}
        true = bool(value) == (found[2] in ("-ne", "-gt", "!="))
        return {state._replace(status=0 if true else 1)}

    def _value(self, word: str, state: _State) -> int | str:
        """Return the status that a word stands for."""
        if word.isdecimal():
            return int(word) % 256
        if word == "$?":
            return state.status
        name = word.strip('${}"')
        computed = rf"(?:\(\(|\blet\b|\bread\b).*\b{re.escape(name)}\b|\b{re.escape(name)}\+="
        return ANY if re.search(computed, self._text) else dict(state.kept).get(name, ANY)

    @staticmethod
    def _set(words: Sequence[str], state: _State) -> _State:
        for number, word in enumerate(words):
            if re.match(r"[-+]\w*e\w*$", word):
                state = state._replace(errexit=word[0] == "-")
            on = number > 0 and words[number - 1][0] == "-"
            if word == "errexit":
                state = state._replace(errexit=on)
            if word == "pipefail":
                state = state._replace(pipefail=on)
        return state

    def _variable_assignment(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        word, states = text_of_node(value) if value is not None else "", {state._replace(status=0)}
        run = next((each for each in descendants(node) if each.type == "command_substitution"), None)
        states = self._inside(run.named_children, state) if run is not None else states
        held = self._value(word, state)
        kept = {**dict(state.kept), (text_of_node(name) if name is not None else ""): held}
        return {each._replace(kept=tuple(sorted(kept.items()))) for each in states}

    def _declaration_command(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        made = self._all(node.named_children, {state}, True)
        return {each._replace(status=0) for each in made}

    def _redirected_statement(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        body = node.child_by_field_name("body")
        return self._step(body, state, guarded) if body is not None else {state._replace(status=0)}

    def _negated_command(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        made = self._all(node.named_children[-1:], {state}, True)
        return {each._replace(status=0 if each.status else 1) for each in made}

    def _inside(self, nodes: Sequence[tree_sitter.Node], state: _State) -> set[_State]:
        """Return the states behind a shell of its own, of which the status alone comes out."""
        return {state._replace(status=each.status, failed=each.failed) for each in self._shell(nodes, state)}

    def _subshell(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        return self._inside(node.named_children, state)

    def _pipeline(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        states = {state._replace(status=0)}
        for stage in node.named_children:
            made: set[_State] = set()
            for each in states:
                before = each.status if state.pipefail else 0
                for end in self._inside([stage], each):
                    made.add(end._replace(status=end.status or before))
            states = made
        return states

    def _list(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        first, behind = node.named_children[0], node.named_children[-1]
        states: set[_State] = set()
        for each in self._all([first], {state}, True):
            goes_on = bool(each.status) == (node.children[1].type == "||") and not each.flow
            states |= self._all([behind], {each}, guarded) if goes_on else {each}
        return states

    def _if_statement(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        conditions = {each.id for each in node.children_by_field_name("condition")}
        asked = [each for each in node.named_children if each.id in conditions]
        others = [each for each in node.named_children if each.type in ("elif_clause", "else_clause")]
        body = [each for each in node.named_children if each not in asked and each not in others]
        states: set[_State] = set()
        for each in self._all(asked, {state}, True):
            if each.flow:
                states.add(each)
            elif not each.status:
                states |= self._all(body, {each}, guarded)
            elif others and others[0].type == "else_clause":
                states |= self._all(others[0].named_children, {each}, guarded)
            elif others:
                for other in others:
                    states |= self._all(other.named_children, {each._replace(status=0)}, True)
                states.add(each._replace(status=0))
            else:
                states.add(each._replace(status=0))
        return states

    def _case_statement(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        states = {state._replace(status=0)}
        for each in node.named_children:
            if each.type == "case_item":
                states |= self._all(each.named_children, {state._replace(status=0)}, guarded)
        return states

    def _while_statement(self, node: tree_sitter.Node, state: _State, guarded: bool) -> set[_State]:
        """Return the states behind two rounds of a loop of any kind."""
        asked, states = node.children_by_field_name("condition"), {state}
        if node.type != "while_statement":
            asked, states = [], {state._replace(status=0)}
        body, until = [node.named_children[-1]], node.children[0].type == "until"
        ended: set[_State] = set()
        for _ in range(2):
            states = self._all(asked, states, True)
            going = {each for each in states if not each.flow and (not asked or bool(each.status) == until)}
            ended |= {each if each.flow else each._replace(status=0) for each in states - going}
            going = {each._replace(status=0) for each in going}
            behind = self._all(body, going, guarded)
            ended |= {each._replace(flow="") for each in behind if each.flow == "break"}
            ended |= {each for each in behind if each.flow in ("exit", "return")}
            states = {each._replace(flow="") for each in behind if each.flow in ("", "continue")}
        return ended | states

    _for_statement = _c_style_for_statement = _while_statement
