"""Checks of declarations: entities, exception types, resources with their operations, exceptions."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from enum import Enum
from typing import TypeVar

from whesl.language import library
from whesl.language.compiler import quantities, syntax
from whesl.language.compiler.parser import Parsed
from whesl.language.compiler.source import Source
from whesl.language.compiler.syntax import Word, unquote
from whesl.language.spec import (
    Entity,
    Level,
    Operation,
    OperationDeclaration,
    ResourceDeclaration,
    ResourceKind,
    operations_of,
)

_E = TypeVar("_E", bound=Enum)

_BUILT_IN_RESOURCES = tuple(kind.value for kind in ResourceKind)
_OWN = 'one of your own has a handler: HANDLER "./program"'
# Listing 4.1 of the dissertation prints the alias; its text means the entity.
_ALIASES = {"DEPENDEND_JOB": Entity.DEPENDENT_JOB.value}


class Declarations:
    """The declarations of a specification, one for each name.

    A file's own declaration of a name goes before that of a file that it includes.

    Args:
        source: the text, whose findings get the errors.
        parsed: its statements.
    """

    def __init__(self, source: Source, parsed: Parsed) -> None:
        self._source = source
        self._findings = source.findings
        self._broken = parsed.broken_declarations
        self._incomplete = parsed.incomplete
        self._unsure = set(parsed.unsure)  # kinds of names for which a declaration could not be understood
        self._unnamed = parsed.unnamed  # number of declarations of exceptions whose name is not known
        self._missing: set[str] = set()  # names already reported as undeclared
        self._undeclared_exceptions: dict[str, list[Word]] = {}
        self.entities: dict[Entity, Word] = {}
        self.levels: dict[Level, Word] = {}
        self.resources: dict[str, dict[str, str | None]] = {}
        # Resources and operations (``NODE.X``) with a wrong declaration.
        self._refused: set[str] = set()
        self._offered: dict[str, list[Word]] = {}
        self.exceptions: dict[str, syntax.Declared] = {}
        # Declarations that differ from the one that is used, by name.
        self._others: dict[str, syntax.Declared] = {}
        for statement in parsed.statements:
            if isinstance(statement, syntax.Entities):
                self._declare(statement.names, Entity, self.entities, "entity", ("ESL020", "ESL024"))
            elif isinstance(statement, syntax.Levels):
                self._declare(statement.names, Level, self.levels, "exception type", ("ESL021", "ESL025"))
            elif isinstance(statement, syntax.Resource):
                self._declare_resource(statement)
            elif isinstance(statement, syntax.Declared):
                self._declare_exception(statement)

    def _declare(
        self,
        names: Iterable[Word],
        kinds: type[_E],
        declared: dict[_E, Word],
        what: str,
        codes: tuple[str, str],
    ) -> None:
        confused = False
        for name in names:
            other = Level if kinds is Entity else Entity
            if name.text in other.__members__:
                # The statement's keyword is wrong, rather than all its names.
                self._unsure |= {Entity, Level}
                if confused:
                    continue
                confused = True
            kind = self._known(name, kinds, what, codes[0])
            if kind is None:
                self._unsure.add(kinds)
                continue
            if kind in declared and self._same_file(name, declared[kind]):
                self._unsure.add(kinds)
                self._findings.add(
                    codes[1], f"the {what} {kind.value} is declared twice", name, hint="leave one out"
                )
            declared.setdefault(kind, name)

    def _declare_resource(self, statement: syntax.Resource) -> None:
        kind = self._declared_resource(statement)
        named = self._offered.setdefault(kind, []) if kind is not None else []
        if kind is None:
            self._unsure.add(ResourceKind)
            self._refused.add(statement.name.text)
        elif any(self._same_file(statement.name, other) for other in named):
            self._unsure.add(ResourceKind)
            self._findings.add(
                "ESL026",
                f"the resource {kind} is declared twice",
                statement.name,
                hint="list all its operations in one statement",
            )
        named.append(statement.name)
        offered = self.resources.setdefault(kind, {}) if kind is not None else {}
        common = self._own_handler(statement.handler)
        seen = set()
        for offer in statement.offers:
            operation = self._declared_operation(offer, statement)
            if operation is None:
                self._unsure.add(ResourceKind)
                self._refused.add(f"{statement.name.text}.{offer.operation.text}")
                continue
            if operation in seen:
                self._unsure.add(ResourceKind)
                self._findings.add(
                    "ESL027",
                    f"the operation {operation} is declared twice",
                    offer.operation,
                    hint="leave one out",
                )
            seen.add(operation)
            offered.setdefault(operation, self._own_handler(offer.handler) or common)

    def _declared_resource(self, statement: syntax.Resource) -> str | None:
        """Return the declared resource: built-in, or a user's own with handlers; else None."""
        name = statement.name
        handled = statement.handler is not None or all(
            offer.handler is not None for offer in statement.offers
        )
        if handled and name.text not in _BUILT_IN_RESOURCES and not _elsewhere(name.text):
            return name.text
        return self._one_of(name, _BUILT_IN_RESOURCES, "resource", "ESL022", own=_OWN)

    def _declared_operation(self, offer: syntax.Offer, statement: syntax.Resource) -> str | None:
        """Return the declared operation: built-in, or a user's own with a handler; else None."""
        name = offer.operation
        handled = offer.handler is not None or statement.handler is not None
        if handled and not _elsewhere(name.text):
            return name.text
        kind = statement.name.text if statement.name.text in _BUILT_IN_RESOURCES else None
        return self._one_of(name, operations_of(kind), "operation", "ESL023", own=_OWN)

    def _own_handler(self, word: Word | None) -> str | None:
        if word is None:
            return None
        quantities.not_empty(self._findings, word, "handler")
        return self._handler(word)

    def _handler(self, word: Word) -> str:
        """Return a handler's command; a relative path in an included file starts from its directory."""
        name = unquote(word).strip()
        if "/" in name and self._source.included(word.start):
            directory = posixpath.dirname(self._source.part(word.start).file)
            name = posixpath.join(posixpath.abspath(directory), name)
        return name

    def _declare_exception(self, statement: syntax.Declared) -> None:
        name = statement.name
        first = self.exceptions.setdefault(name.text, statement)
        if first is statement:
            return
        if self._same_file(name, first.name):
            self._unnamed += 1
            self._findings.add(
                "ESL028",
                f"the exception {name.text} is declared twice",
                name,
                hint="leave one out, or give it another name",
            )
        elif not self._source.overrides(first.name.start, name.start) and self._said(first) != self._said(
            statement
        ):
            self._others.setdefault(name.text, statement)

    def _said(self, statement: syntax.Declared) -> list[str]:
        """Return the words of a declaration, independent of its layout."""
        return self._source.text[statement.start : statement.end].replace("\\", " ").split()

    def _same_file(self, one: Word, other: Word) -> bool:
        return self._source.part(one.start) is self._source.part(other.start)

    def collisions(self, live: Iterable[str]) -> None:
        """Report watched exceptions that two files declare differently, neither including the other."""
        for name in live:
            other = self._others.get(name)
            if other is None:
                continue
            first = self._source.part(self.exceptions[name].start).file
            self._findings.add(
                "ESL029",
                f"the exception {_shown(other.name)} is declared in another way by {first}",
                other.name,
                hint="declare it in your own file: what stands there counts",
            )

    def _known(self, name: Word, kinds: type[_E], what: str, code: str) -> _E | None:
        """Return the enumeration's member that a word names; report any other word and return None."""
        found = self._one_of(name, tuple(str(kind.value) for kind in kinds), what, code)
        return kinds(found) if found is not None else None

    def _one_of(self, name: Word, known: tuple[str, ...], what: str, code: str, own: str = "") -> str | None:
        """Return the known name that a word is; report any other word and return None.

        Args:
            name: the word.
            known: all known names.
            what: the kind of the names, for the finding.
            code: the finding's code.
            own: the hint for a name that resembles no known one.
        """
        text = _ALIASES.get(name.text, name.text)
        if text in known:
            return text
        article = "an" if what[0] in "aeiou" else "a"
        self._findings.add(
            code,
            f"{_shown(name)} is not {article} {what}",
            name,
            hint=_elsewhere(text) or self._findings.nearest(text, known) or own,
            expected=known,
        )
        return None

    # The uses of what was declared -------------------------------------------------------------------

    def entity(self, name: Word) -> Entity | None:
        """Return the entity that a recovery step names; report a wrong or undeclared one."""
        kind = self._known(name, Entity, "entity", "ESL020")
        if kind is not None and kind not in self.entities:
            declare = f"DECLARE ENTITY {kind.value}"
            self._undeclared(name, Entity, f"the entity {kind.value}", "ESL030", declare)
        return kind

    def level(self, name: Word) -> Level | None:
        """Return the exception type in an exception's declaration; report a wrong or undeclared one."""
        kind = self._known(name, Level, "exception type", "ESL021")
        if kind is not None and kind not in self.levels:
            declare = f"DECLARE EXCEPTION_TYPE {kind.value}"
            self._undeclared(name, Level, f"the exception type {kind.value}", "ESL031", declare)
        return kind

    def operation(self, resource: Word, operation: Word) -> tuple[str, str] | None:
        """Return the resource and the operation of a recovery step; report wrong or undeclared ones.

        Args:
            resource: the resource's name in the step.
            operation: the operation's name in the step.
        """
        if {resource.text, f"{resource.text}.{operation.text}"} & self._refused:
            return None
        if self._may_be_own(resource.text):
            return None
        known = tuple(dict.fromkeys((*_BUILT_IN_RESOURCES, *self.resources)))
        kind = self._one_of(resource, known, "resource", "ESL022")
        offered = self.resources.get(kind or "", {})
        built_in = kind is None or kind in _BUILT_IN_RESOURCES
        operations = tuple(dict.fromkeys((*(operations_of(kind) if built_in else ()), *offered)))
        done = self._one_of(operation, operations, "operation", "ESL023") if operations else None
        if kind is None or done is None:
            return None
        if kind not in self.resources:
            declare = f"DECLARE RESOURCE {kind}[{done}]"
            self._undeclared(resource, ResourceKind, f"the resource {kind}", "ESL032", declare)
        elif done not in offered:
            listed = ", ".join(offered)
            self._undeclared(
                operation,
                ResourceKind,
                f"the operation {done} of {kind}",
                "ESL033",
                f"DECLARE RESOURCE {kind}[{listed}{', ' if listed else ''}{done}]",
            )
        return kind, done

    def _may_be_own(self, name: str) -> bool:
        """Whether a broken declaration may declare a resource of this name."""
        unsure = ResourceKind in self._unsure or self._incomplete
        known = (*_BUILT_IN_RESOURCES, *self.resources)
        return unsure and name not in known and not (_elsewhere(name) or self._findings.nearest(name, known))

    def offers(self, resource: str, operation: str) -> bool:
        """Whether an operation is declared.

        Args:
            resource: the resource's name.
            operation: the operation's name.
        """
        return operation in self.resources.get(resource, {})

    def exception(self, name: Word) -> None:
        """Note that a statement names an exception; ``undeclared`` reports those that are not declared."""
        if name.text not in self.exceptions and name.text not in self._broken and not self._incomplete:
            self._undeclared_exceptions.setdefault(name.text, []).append(name)

    def undeclared(self) -> frozenset[str]:
        """Report each undeclared exception once, and return the names of all.

        A declaration without a name, or with the name of another one, may declare one of them: the exception
        that is named most often is then not reported.
        """
        named = sorted(self._undeclared_exceptions.values(), key=len, reverse=True)
        for name, *others in named[self._unnamed :]:
            times = f" (named {len(others) + 1} times)" if others else ""
            self._findings.add(
                "ESL034",
                f"the exception {_shown(name)} is not declared{times}",
                name,
                hint=self._where_from(name.text),
            )
        return frozenset(self._undeclared_exceptions)

    def _where_from(self, name: str) -> str:
        """Return the hint for an undeclared exception: a similar name, or a library that declares it."""
        near = self._findings.nearest(name, self.exceptions)
        libraries = library.having(name) if not near and not self._findings.full else ()
        if libraries:
            return f'add: INCLUDE "{libraries[0]}"' + "".join(f' or "{other}"' for other in libraries[1:])
        return near or "DECLARE EXCEPTION names it, its type and its jobs"

    def _undeclared(self, name: Word, kind: type[Enum], what: str, code: str, declare: str) -> None:
        if kind in self._unsure or name.text in self._broken or self._incomplete or what in self._missing:
            return
        self._missing.add(what)
        self._findings.add(code, f"{what} is not declared", name, hint=f"add: {declare}")

    def handler(self, resource: str, operation: str) -> str | None:
        """Return the custom handler of an operation, None without one.

        Args:
            resource: the resource's name.
            operation: the operation's name.
        """
        return self.resources.get(resource, {}).get(operation)

    def resource_declarations(self) -> tuple[ResourceDeclaration, ...]:
        """Return the declared resources as records of the specification."""
        return tuple(
            ResourceDeclaration(
                resource=kind,
                operations=tuple(
                    OperationDeclaration(operation=operation, handler=handler)
                    for operation, handler in offered.items()
                ),
            )
            for kind, offered in self.resources.items()
        )


def _elsewhere(text: str) -> str:
    """Return the kind of a known name as a sentence ("NODE is a resource"), empty for an unknown one."""
    if text in Level.__members__:
        return f"{text} is an exception type"
    if text in Operation.__members__:
        return f"{text} is an operation"
    kinds = [
        kind
        for kind, members in (("an entity", Entity), ("a resource", ResourceKind))
        if text in members.__members__
    ]
    return f"{text} is {' and '.join(kinds)}" if kinds else ""


def _shown(name: Word) -> str:
    return name.text if len(name.text) <= 40 else f"{name.text[:40]}..."
