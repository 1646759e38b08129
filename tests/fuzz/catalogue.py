"""All harnesses by name."""

from __future__ import annotations

from tests.fuzz import kept, language, managers, messages, studies
from tests.fuzz.harness import Harness

HARNESSES: dict[str, Harness] = {
    harness.name: harness
    for module in (language, messages, kept, studies, managers)
    for harness in module.HARNESSES
}
