"""Words by which a program says that it outlived a trouble, in the line itself or beside it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whesl.runtime.diagnose.labels import Cleaned, clean, form, is_warning

# A command that a shell with -x, or an interpreter, prints before it runs it.
_ECHO = re.compile(r"^(?:\++|>) +(?!(?i:error|fatal|failed|stop|abort\w*)(?![\w(]))[\w.$/(#]")
_COLUMNS = re.compile(r"\s{2,}|\t|\s*\|\s*")
_NUMBERS = re.compile(r"(?:[-+]?\d[\d.eE+-]*%?[\s|]+){2,}[-+]?\d[\d.eE+-]*%?[\s|]*\Z")
_SOFT = re.compile(
    r"(?i)\b(?:re-?trying\b|retry (?:in|after|#|\d)|is retried|re-?tries (?:left|remaining)|attempt \d+"
    r"|falling back|fall back|fallback|will (?:be )?(?:re-?tr|re-?connect|continue|ignore|fall)"
    r"|ignor(?:ing|ed)\b|skipp(?:ing|ed)\b|continuing|recovered\b|non-?fatal|not fatal|harmless"
    r"|submitting (?:the |a |its )?(?:continuation|next)\b"
    r"|proceeding anyway|retry loop|starting (?:from scratch|afresh|anew|over)\b"
    r"|suppressed\b|handled\b|re-?starting again|[:,;] (?:now )?trying \w"
    r"|can be (?:safely )?ignored|resum(?:ing|ed)\b|reconnect(?:ing|ed)\b|recoverable|using default"
    r"|disabl(?:ing|ed) |as expected\b|expected (?:failure|error|exception)s?\b"
    r"|\b(?:using|trying|with) [\w./-]+(?: [\w./-]+)? instead\b|\b(?:likely|may|might|could) run out of\b)"
    r"|\brestarting\.*$|^\W*(?:hint|tip)\b|\b(?:if|when|where|whenever) you (?:see|get|meet)\b"
    r"|[(#] ?TODO\b|(?:^\W*(?:caught|handled):? |\bcaught (?:error|exception): )"
    r"(?!signal|seg|bus error|illegal|sig[a-z]{3,4}\b|.*\b(?:exit|abort|terminat|fatal))"
    r"|\((?:caught|handled)\b[^()]*\)"
    r"|\bnone (?:found|detected|seen|lost)\b|\b(?:used|taken|tried) instead\b"
    # The judgement of the script's author, behind the trouble: (no GPU requested, fine).
    r"|\((?:[^()]*[,;] )?(?:(?:that|this) is |is )?(?:fine|ok(?:ay)?|optional|harmless"
    r"|expected(?: by [^()]*)?|test of [^()]*|wanted|intended|on purpose|no problem"
    r"|not (?:needed|required|used|a problem))(?:[,;] [^()]*)?\)\W*$"
    r"|[-,;:] (?:\w+ ){1,3}(?:disabled|(?:switched|turned) off)\W*$|, not (?:needed|required)\W*$"
    r"|\b(?:tried again|retried|(?:second|next) (?:try|attempt))\W+(?:ok|succeeded|successful|fine|done)\b"
    r"|(?-i:\bPASS(?:ED)?\b|\bX(?:FAIL|PASS))|\.\.\. *(?:ok|yes)\b"
)
_WARNS = re.compile(
    r"(?i)^\W*(?:warning|warn(?!: Function: )|note|info|debug|notice)\b|\bwarning:|: note:"
    r"|(?-i:\b[A-Z]\w*Warning: )"
    r"|(?-i:(?<!NCCL )\bWARN(?:ING)?\b(?!: Function: ))"
)
_FATAL = re.compile(r"(?i)\W*fatal\b")
# What a line before a caught exception says, or the line after a failed try.
_ON = r"\b(?:attempt|try) #?(\d+) ?(?:/|of) ?(?!\1\b)\d|\b(?:re-?trying|falling back|recovered)\b|\(ignored\)"
GOES_ON = re.compile(f"(?i){_ON}")
# What else the line after a failed try says, and bash -x of a command whose failure does not count.
_AGAIN = re.compile(
    rf"(?i){_ON}|^\++ (?:true|:)$|^(?:attempt|retry|try) (?:no\.? |number |#)?[1-9]"
    r"|\b(?:attempt|retry|try)(?: count| no\.?| number)? #?(?:[1-9]\d*(?: ?/ ?| of )\d|[2-9]\d*\.*$)"
)
# What a program says of its next try, some lines after a failed one, and bash -x of a pause before it.
_NEXT_TRY = re.compile(
    r"(?i)\b(?:re-?trying|will (?:be )?re-?tr(?:y|ied)|trying (?:port |the )?(?:\d+|next|another|again)"
    r"|continuing|(?:carrying|going|moving) on|not needed)\b"
    r"|\b(?:halv|reduc|decreas|lower|shrink)ing (?:the |its )?(?:(?:micro-?)?batch|chunk|block|tile)\b"
    r"|^\++ sleep \d"
)
SOON = 6  # greatest number of lines between a failed try and these words
# The end of a warning of Python's, and its beginning: a record of several lines may stand between them.
_PYTHON_WARNED = re.compile(r"^\s+warnings\.warn\(")
_PYTHON_WARNS = re.compile(r":\d+: \w*Warning: ")
_NO_NUMBER = re.compile(r"(?i)(?<![\w.])[-+]?(?:nan|inf)(?![\w.])")
_RANK = re.compile(r"(?i)\brank")
# The label of a logger: what stands before the level, and the name of the logger behind it.
_SPEAKER = re.compile(
    r"(?P<head>.{0,80}?)\b(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR)\b(?P<name>[]|]?:[\w.]+:)?"
)
_WORD = re.compile(r"[A-Za-z_][\w.]*|\d+")
# What the run times of languages print of an exception that nobody caught.
_LAST_WORDS = re.compile(
    r"Exception in thread |terminate called|\s+what\(\): |panic: |thread '.*' panicked at |Error in "
    r"|ERROR STOP |(?:ERROR|\w+Error): LoadError: "
)
# The first line of the stack below such an exception, of Java, JavaScript or Julia.
STACK = re.compile(r"\s+at (?:async )?[\w.$/<>]+ ?\(|Stacktrace:")
_CAUSED = re.compile(r"Caused by: ")  # what Java prints below an exception's stack
_SET_UP = r"\b(?:(?:install|register|enable?|activate?|arm)(?:s|d|ed|ing)|set(?:s|ting)?)\b"
_HANDLER = r"\b(?:handler|hook|callback|trap|watchdog)s?\b"
# A counter of trouble that counted none; a handler of trouble that was set up; a setting of what to do about
# trouble; the help on an option; a probe of CMake or Autoconf; what was to be removed and is not there.
_NO_TROUBLE = re.compile(
    r"(?i)^\W{0,9}(?:\w[\w/-]* ){0,3}(?:error|fatal|fail|abort|kill|crash|panic|segfault|exception"
    r"|timeout|corrupt|mismatch|retransmi|retr(?:y|ies)|fault|drop|lost|dead|bad|nan|inf"
    r"|overflow|leak|violation|missing|truncat|oom|xid)\w*"
    r"(?: [\w/-]+){0,2}(?:\s*[:=]\s*|\s{2,})(?:0|none|nil)(?: (?:of \d+|found|seen))?"
    r"(?:(?:\s*[;,|]\s*|\s{2,})[\w ]+[:=]\s*(?:0|no|none|nil|ok))*\W*$"
    r"|\b(?:events?|counts?|times|occurrences)\s*[:=]\s*(?:0|none|nil)\W*$"
    r"|^(?!.*\b(?:not|failed|cannot|unable|could|raised|thrown|caught|(?:error|exception) in)\b)"
    rf".*(?:{_SET_UP}.{{0,40}}{_HANDLER}|{_HANDLER}.{{0,40}}{_SET_UP})"
    r"|\b(?:abort|stop|exit|fail|kill|raise)[ _-](?:on|if|after)[ _-]\w+\s*[:=] *\W?"
    r"(?:true|false|on|off|yes|no|\d+)\b|^\s*(?:-\w,? +)?--[a-z][\w-]*(?:[ =]\S+)?\s{2,}\S"
    r"|^\W*0\s+(?:[\w-]+ ){0,3}(?:error|warning|fail|abort|crash|timeout|lost|killed|nan)\w*\b[\w\s]*$"
    r"|^-- (?:Could NOT find|Looking for|Performing Test) |^checking (?:for|whether) |\bconftest\.c(?:pp)?:"
    r"|^usage: \S|^\W*(?:options|settings|parameters|arguments|args|flags)(?: in use| used| are)?: .*\w="
    r"|\b(?:remov|delet|unlink)\w*\b.*\bno such (?:file|process)"
)


def warns(line: Cleaned) -> bool:
    """Whether a line is marked as a warning, tells of no trouble, or says that the program goes on."""
    if is_warning(line.level) or (_WARNS.search(line.text) and not _FATAL.match(line.text)):
        return True
    return any(words.search(line.text) for words in (_SOFT, _NO_TROUBLE, _ECHO))


def raised(line: Cleaned, above: str, below: str) -> bool:
    """Whether a line has the words of an exception that nobody caught.

    Who raised it wrote them, so that they tell nothing of whether the program goes on.

    Args:
        line: the line.
        above: the line above within a traceback of Python's; empty elsewhere.
        below: the line below.
    """
    if is_warning(line.level):
        return False
    if _LAST_WORDS.match(line.text) or STACK.match(clean(below).text):
        return True
    return clean(above).text[:2].isspace() and not line.text[:1].isspace()


def passes_over(text: str, following: Sequence[str]) -> bool:
    """Whether a line is no trouble by the lines below it.

    It has the names of columns, belongs to a warning of Python's, or tells a value that is no number, and is
    one again below.

    Args:
        text: the line.
        following: the lines below it.
    """
    for line in following:
        if _PYTHON_WARNED.match(line):
            return True
        if _PYTHON_WARNS.search(line):
            break
    own = clean(text)
    if _NO_NUMBER.search(own.text) and not _RANK.search(own.text):
        expected = form(_NO_NUMBER.sub("0", own.text))
        sound = (line for line in map(clean, following) if line.rank == own.rank)
        if any(form(line.text) == expected and not _NO_NUMBER.search(line.text) for line in sound):
            return True
    names = _COLUMNS.split(own.text.strip(" |"))
    plain = len(names) > 2 and not any(char.isdigit() or char == ":" for char in own.text)
    below = clean(following[0]).text if following else ""
    return plain and _NUMBERS.match(below.lstrip(" |")) is not None


def next_try(following: Sequence[str]) -> int:
    """Return how many lines below a failed try the program says that it tries again; 0 where it does not."""
    if following and _AGAIN.search(clean(following[0]).text):
        return 1
    own = (at for at, line in enumerate(following, 1) if _NEXT_TRY.search(line) and not _CAUSED.match(line))
    return next(own, 0)


def speaker(text: str) -> str:
    """Return the form of the label that a logger puts before a line; empty for none, and for a fatal level.

    Two lines with one form come from one program: the lines of a script around it look different.
    """
    found = _SPEAKER.match(text)
    return _WORD.sub("w", "".join(filter(None, found.groups()))).strip() if found is not None else ""
