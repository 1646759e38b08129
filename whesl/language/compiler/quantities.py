"""Single values of a specification: counts, seconds, percentages, each with its bounds, and names."""

from __future__ import annotations

from whesl.language.compiler.syntax import Word, unquote
from whesl.language.diagnostics import Findings

MAX_COUNT = 2**31 - 1
MAX_SEVERITY = 7  # Flux RFC 21
MAX_SECONDS = 1e9  # seconds, about thirty years
# Detection checks its timers about this often; a shorter time-out would only raise false alarms.
FLOOR_SECONDS = 1.0
# Least and greatest number that is meant as it is written, by the number's name in findings.
_DAY = 86_400.0
_USUAL = {
    "LIMIT": (1, 1000),
    "RECURRING": (2, 100_000),
    "TIMES": (2, 1000),
    "ABOVE": (0, 99.9),
    "WITHIN": (0.5, 90 * _DAY),
    "TIMEOUT": (0, 7 * _DAY),
    "WARMUP": (0, 2 * _DAY),
    "BACKOFF": (0, 3600),
    "CONFIDENCE": (0, 0.99),
}
USUAL_GAP = 5.0  # seconds without output while a program starts, computes or fills its buffer


def count(findings: Findings, word: Word | None, what: str, default: int) -> int:
    """Return a whole number of at least one; ``default`` when it is missing or wrong.

    Args:
        findings: the collection that errors are added to.
        word: the number, None when it is missing.
        what: the number's name in findings.
        default: the value for a missing or wrong number.
    """
    if word is None:
        return default
    value = _value(word)
    if value < 1 or not value.is_integer():
        findings.add(
            "ESL062",
            f"{what} takes a whole number of at least 1, not {_shown(word)}",
            word,
            hint=f"leave {what} out where it is not meant",
        )
        return default
    if value > MAX_COUNT:
        _out_of_range(findings, word, f"the most is {MAX_COUNT}")
        return default
    _unusual(findings, word, what)
    return int(value)


def seconds(findings: Findings, word: Word | None, what: str, *, zero: bool = False) -> float | None:
    """Return a time in seconds; None when it is missing or wrong.

    Args:
        findings: the collection that errors are added to.
        word: the number, None when it is missing.
        what: the time's name in findings.
        zero: whether zero is allowed.
    """
    if word is None:
        return None
    value = _value(word)
    if value < 0 or (value == 0 and not zero):
        least = "of zero or more" if zero else "above zero"
        findings.add(
            "ESL060",
            f"{what} takes a number of seconds {least}, not {_shown(word)}",
            word,
            hint=f"leave {what} out where it is not meant",
        )
        return None
    if value > MAX_SECONDS:
        _out_of_range(findings, word, f"the most is {MAX_SECONDS:.0f} seconds")
        return None
    _unusual(findings, word, what)
    return value


def timeout(findings: Findings, word: Word) -> float | None:
    """Return the limit of a timer in seconds, None for a wrong one; warn of a limit too short for detection.

    Args:
        findings: the collection that errors and warnings are added to.
        word: the number.
    """
    value = seconds(findings, word, "TIMEOUT")
    if value is not None and value < FLOOR_SECONDS:
        findings.warn(
            "ESL061",
            f"a TIMEOUT below {FLOOR_SECONDS:.0f} s is kept as {FLOOR_SECONDS:.0f} s",
            word,
            hint="times are seconds",
        )
    elif value is not None and value < USUAL_GAP:
        findings.warn(
            "ESL069",
            f"a sound program gives no sign of life for {value:g} s, too: while it starts, computes, or fills"
            " its buffer",
            word,
            hint=f"write the longest gap of the program's output, {USUAL_GAP:g} or more; times are seconds",
        )
    return value


def fraction(findings: Findings, word: Word) -> float | None:
    """Return a percentage as a fraction between 0 and 1 (both excluded); None for a wrong one.

    Args:
        findings: the collection that errors are added to.
        word: the number of percent.
    """
    value = _value(word)
    if not 0 < value < 100:
        findings.add(
            "ESL063",
            f"ABOVE takes a percentage between 0 and 100, not {_shown(word)}",
            word,
            hint="nothing is above 100%, and nearly everything above 0%",
        )
        return None
    _unusual(findings, word, "ABOVE")
    return value / 100


def probability(findings: Findings, word: Word | None) -> float | None:
    """Return a probability above 0 and up to 1; 0 when it is missing, None when it is wrong.

    Args:
        findings: the collection that errors are added to.
        word: the number, None when it is missing.
    """
    if word is None:
        return 0.0
    value = _value(word)
    if 0 < value <= 1:
        _unusual(findings, word, "CONFIDENCE")
        return value
    findings.add(
        "ESL068",
        f"CONFIDENCE takes a probability above 0 and up to 1, not {_shown(word)}",
        word,
        hint=f"did you mean {value / 100:g}?" if 1 < value <= 100 else "1 is certain",
    )
    return None


def severity(findings: Findings, word: Word | None, least: int, default: int | None) -> int | None:
    """Return the severity of a resource manager's exception; None when it is wrong.

    Args:
        findings: the collection that errors are added to.
        word: the number, None when it is missing.
        least: the least severity that is allowed; the greatest is 7.
        default: the value for a missing number.
    """
    if word is None:
        return default
    value = _value(word)
    if value.is_integer() and least <= value <= MAX_SEVERITY:
        return int(value)
    findings.add(
        "ESL066",
        f"SEVERITY takes a whole number from {least} to {MAX_SEVERITY} here, not {_shown(word)}",
        word,
        hint="an exception of severity 0 ends the job" if value == 0 else "0 is the most severe",
    )
    return None


def unusual(value: float, usual: tuple[float, float]) -> str:
    """Return the bound that a number passes which is hardly meant as it is written, "" for none.

    Args:
        value: the number.
        usual: the least and the greatest number that is meant.
    """
    least, most = usual
    return f"less than {least:g}" if value < least else f"more than {most:g}" if value > most else ""


def _unusual(findings: Findings, word: Word, what: str) -> None:
    passed = unusual(_value(word), _USUAL.get(what, (0, MAX_SECONDS)))
    if passed:
        findings.warn(
            "ESL094",
            f"{what} {_shown(word)} is {passed}: hardly what is meant",
            word,
            hint=f"times are seconds; for no limit of this kind leave {what} out",
        )


def _value(word: Word) -> float:
    return float(word.text)


def _out_of_range(findings: Findings, word: Word, most: str) -> None:
    findings.add("ESL016", f"the number {_shown(word)} is out of range", word, hint=most)


def _shown(word: Word) -> str:
    return word.text if len(word.text) <= 24 else f"{word.text[:24]}..."


def not_empty(findings: Findings, quoted: Word, what: str) -> bool:
    """Whether a text in quotes is not empty; report an empty one.

    Args:
        findings: the collection that the error is added to.
        quoted: the text with its quotes.
        what: the text's name in the finding.
    """
    if unquote(quoted).strip():
        return True
    findings.add(
        "ESL047", f"the name of the {what} is empty", quoted, hint=f"write the {what} between the quotes"
    )
    return False


def job_exception(findings: Findings, quoted: Word) -> str | None:
    """Return the type of a resource manager's exception; report a text that is no valid type.

    Args:
        findings: the collection that the error is added to.
        quoted: the type in quotes.
    """
    kind = unquote(quoted)
    if kind and not any(character.isspace() or character in "=*?" for character in kind):
        return kind
    findings.add(
        "ESL067",
        f"{quoted.text[:40]} is not the type of a job exception",
        quoted,
        hint="a type is one word that is compared as it stands, for example exec, timeout or cancel",
    )
    return None
