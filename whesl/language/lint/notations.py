"""Notations of other languages and programs that have no, or another, meaning in the rules: one table."""

from __future__ import annotations

import functools
import re
from enum import Enum
from typing import NamedTuple

from whesl.language.diagnostics import Findings, Written


class Where(Enum):
    """What a text of the rules is: the code of its findings, and what becomes of a notation in it."""

    TEXT = ("ESL057", "LOG finds a text as it stands, {} included")
    EXPRESSION = ("ESL092", "{} is a notation of another language: here it is a part of the line")
    PATH = ("ESL091", "{!r} is taken as it stands in this path")
    FILE = ("ESL091", "{!r} is taken as it stands in the path of this file")
    NO_LINES = ("ESL091", "{!r} is a path here, of no file that is read line by line")
    SPACE = ("ESL095", "{!r} is no file system on which space is used")
    JOB = ("ESL092", "{!r} is taken as it stands in the name of a job")
    NODE = ("ESL092", "{!r} is taken as it stands in the name of a node")
    COMMAND = ("ESL092", "no shell reads this command: it is given {!r} as it stands")
    VALUE = ("ESL092", "variables are not put in here: {!r} is taken as it stands")
    NUMBER = ("ESL054", "the number of {!r} does not rise for long, or never")
    SIGN = ("ESL058", "{!r} is hardly printed again and again by a sound program")
    SUCCESS = ("ESL058", "{!r} is hardly printed by a program that succeeds")


class Notation(NamedTuple):
    """A notation, in the texts where it is looked for, and what is to be written in its place."""

    where: tuple[Where, ...]
    sign: str  # verbose regular expression
    hint: str


_W = Where
_PATHS = (_W.PATH, _W.FILE)
_LITERAL = "write MATCH in place of LOG for a regular expression"
_NUMBER = "write MATCH, and \\d+ for a number"
_PLAIN = "write the part of the line that is always the same"
_SHELL = 'a shell has to read this: ["sh", "-c", "..."]'
_GLOBBED = "* stands for any characters and ? for one; write other names each in quotes of its own"


def _table(*rows: tuple[tuple[Where, ...] | Where, str, str]) -> tuple[Notation, ...]:
    return tuple(Notation(where if isinstance(where, tuple) else (where,), *row) for where, *row in rows)


# The first row that fits is told. A blank in an expression is \x20 or \s.
NOTATIONS = _table(
    # Constructs of regular expressions that hardly occur literally in a line of a program.
    (
        _W.TEXT,
        r"""\.[*+](?=.|$) | \\[dDwWsSbB] | \\[.*+?()\[\]{}|^$/] | \[\^ | \[(?:[01]-9|a-z|A-Z) | \(\?[iP:<=!] |
        \)[+*](?=\s|$) | \(\w+\)\? | \[\[:\w+:\]\] |
        \([^()\s]+\|[^()]+\) | ^\^(?!C) | ^/[^/]+/i$ | ^/[^/]*\s[^/]*/[gmsx]*$ |
        \[([A-Za-z])(?i:\1)\] | ^[^=/]*[a-z]\?(?=[a-z]) | (?<=[A-Za-z])\$$ |
        ^\w[-\w\x20]*(?:\|\w[-\w\x20]*)+$""",
        _LITERAL,
    ),
    (
        _W.TEXT,
        r"^\*\w.*\w\*$ | (?:^|\s)\*\.\w | \w\*$ | [a-z]{3}\*(?=[a-z]{3}) | \w\s\*(?=[:,;.]) |"
        r"^%\w[^%]*\w%$ | [a-z]%(?=[a-z])",
        "leave the * or % out: a text is found anywhere in a line",
    ),
    (_W.TEXT, r"(?<![\d%])%[-+#0]?\d*(?:\.\d+)?(?:ll?|h|z)?[dsufxegvip]\b | %\(\w+\)[sdf]", _NUMBER),
    (
        _W.TEXT,
        r"%[A-Z_]{3,}% | \$\{\w+\} | \$[a-z]+_\w+ | \$(?:USER|HOME|HOST|PWD|RANK|NODE|STEP|SLURM_)\w*\b",
        "variables are put in paths alone; write the part of the line that is always the same",
    ),
    (
        _W.TEXT,
        r"^'\w[^']*\s[^']*\w'$ | ^`\w[^`]*`$ | ^\*\*\w.*\w\*\*$ |"
        r"^[\u201c\u2018\u00ab].*[\u201d\u2019\u00bb]$",
        "leave out the inner quotes",
    ),
    (
        _W.TEXT,
        r"[<{](?:[a-zA-Z]|num|number|int|step|rank|node|host|time)[>}] | \w[\s:=]+\{\} | "
        r"\{\{.*?\}\} | \{\w*:[\w.?<>^+-]{1,6}\} | @[A-Z_]{2,}@ | (?<!\S):[a-z]+:(?!\S) | "
        r"(?i:\b(?:rank|node|step|task)\s)(?:X+|N+|\?+|\#+)(?!\S) |"
        r"(?:^|\s)<[a-z]+(?:[\s_-][a-z]+)+>",
        _NUMBER,
    ),
    (_W.TEXT, r"\\(?:[rt]|x[0-9a-fA-F]{2}|0[0-7]{2}|e\[)", "write MATCH, where \\t and \\x1b are signs"),
    (
        (_W.TEXT, _W.EXPRESSION),
        r"^(?:[!~]|[=!][=~])\s?(?=\w) | ^(?:contains|matches)\s | ^(?:re|regexp?|text|pattern):\s*(?=\w)",
        "write the text of the line alone: LOG and MATCH say how it is found",
    ),
    (_W.TEXT, r"\s&&\s", "write MULTIPLE for several texts"),
    (_W.TEXT, r"\u2026\s\S | \[\.\.\.\]", "write MATCH, and .* for what stands between"),
    (
        _W.TEXT,
        r"\b0x[0-9a-f]{6,}\b | \b\d{4}-\d\d-\d\d[T\s]\d\d:\d\d | "
        r"\b(?:STEP|(?i:job(?:\s?id)?|pid))\W{1,2}\d{3,} | \b\d\d:\d\d:\d\d\b | "
        r"\d\.\d{2,}\s*(?:s|sec|seconds)\b | /tmp/tmp\.?\w+ | \.tmp\.?\d+ | \b\d{6,}\b | "
        r"\b[0-9a-f]{8}-[0-9a-f]{4}- | \b(?:10|172|192)(?:\.\d{1,3}){3}\b | ^[a-z]+0\d+:\s",
        f"this differs from run to run: {_PLAIN}",
    ),
    (_W.TEXT, r"\S\s{2,}$", "leave out the blanks at the end: the line may have none"),
    (_W.TEXT, r"&(?:[lg]t|amp|quot|nbsp);", "write the sign itself, as < for &lt;"),
    (_W.TEXT, r"^(?:e?grep|tail|awk|sed)\s+-?\w | ^\$\s\S | <(?:TAB|NL|LF|CR|ENTER)>", _PLAIN),
    (
        (_W.TEXT, _W.EXPRESSION),
        r"[\u00a0\u00ad\u2010\u2011\u2060\u200b-\u200f\u2028\u202f\ufeff]",
        "type the text anew: this sign looks like another one, or like none",
    ),
    (
        (_W.TEXT, _W.EXPRESSION, _W.FILE, _W.JOB, _W.COMMAND),
        r"""^/path/to\b | \b(?:TODO|FIXME|CHANGE_?ME)\b |
        \b(?i:your[\s_-]\w+[\s_-]?(?:here|path|file|name|message|text))\b""",
        "write your own in place of this",
    ),
    ((_W.FILE, _W.JOB), r"(?:^|/)<[a-z][\w\s-]*>", "write your own in place of this"),
    # Expressions of other languages.
    (_W.EXPRESSION, r"^[bfru]{1,2}'.*'$ | ^'[^']*\s[^']*'$", "leave out the inner quotes"),
    (
        _W.EXPRESSION,
        r"^/[^/]+/[gmsux]*i[gmsux]*$ | ^/[^/]*\s[^/]*/[gmsux]*$ | ^[ms]/.*/[gi]*$ | [A-Za-z]/i$",
        "leave the slashes out; for letters of both cases begin with (?i)",
    ),
    (
        _W.EXPRESSION,
        r"""\\[<>]\w | \w\\[<>] | \w{2}\\\|\w{2} | (?:\\[dws]|\])\\\+ | \\\([^()]*\\\|[^()]*\\\) |
        \w\\\{\d+(?:,\d*)?\\\}""",
        "signs of an expression have no backslash here: \\b for \\< and \\>, | + ( ) { }",
    ),
    (_W.EXPRESSION, r"\\\\[dws](?=[+*{?])", "write one backslash: it is not doubled in the rules"),
    (_W.EXPRESSION, r"(?<![%\\])%[dsi]\b | %[dws]\+", "write \\d+ for a number, \\w+ for a word"),
    (
        _W.EXPRESSION,
        r"%\{[A-Z]\w*(?::\w+)*\} | (?<![\\pP])\{[a-z]\w*(?::\w+)?\} | (?<=\s)<\w+>(?=\s)",
        "write \\d+ for a number, (?P<name>\\S+) for a word",
    ),
    (_W.EXPRESSION, r"(?<!\\)\[\w{2,}(?:\|\w{2,})+\]", "write (a|b) for one of two words: [ ] is one sign"),
    (_W.EXPRESSION, r"^%\w[^%]*%$", "leave the % out: an expression is found anywhere in a line"),
    (_W.EXPRESSION, r"(?<=[A-Za-z])\s\*\s(?=[A-Za-z])", "write .* for any characters"),
    (_W.EXPRESSION, r"^-[eEiPv]+\s", "leave the options out; for letters of both cases begin with (?i)"),
    (
        _W.EXPRESSION,
        r"(?<!\\)\(\) | (?<=\w)(?<!\\.)\[\w\](?![*+?{]) | (?<=\s)\([a-z]+(?:\s\w+)+\)(?![?*+{])",
        "write LOG for a text as it stands, or a backslash before the brackets",
    ),
    # Expressions whose number does not rise with the work.
    (
        _W.NUMBER,
        r"(?i:\b(?:remain\w*|left|eta|residual|loss|to\sgo|countdown|error)\b[^()]*\(|\)\W*(?:remain|left|to\sgo))",
        "watch a number that grows: a step, an epoch, a time",
    ),
    (_W.NUMBER, r"\((?:\?P<\w+>)?(?:\\[dw]|\[0-9\])\)", "write \\d+ for a number of several digits"),
    (
        _W.NUMBER,
        r"(?:\.[*+]|\\d\*)\((?:\?P<\w+>)?\\d[+*]?",
        "of a greedy .* the number's last digit is left: write .*?\\b",
    ),
    (_W.NUMBER, r"\(\\d[^()]*\):\\d[^()]*:\\d", "this is the hour of a clock: put them around a step"),
    (_W.NUMBER, r"\((?:\?P<\w+>)?(?:\\d\*|\\[wS][*+])\)", "write \\d+: only a number rises"),
    (
        _W.NUMBER,
        r"\\d[+*]\s*(?:of|/|out\sof)\s*\((?!\?:)",
        "this is the number of all steps: put the parentheses around the first",
    ),
    # Paths.
    (
        _PATHS,
        r"%\d*[AaJjNnstuxdi]\b | %\w+% | %\d*[AaJj]_ | \bslurm-\d{3,} | \.[oe]\d{4,}$",
        "write a variable in its place, as in run-$SLURM_JOB_ID.log",
    ),
    (_PATHS, r"\$\( | `", "commands are not run here: write a variable that has their output"),
    (
        _PATHS,
        r"\$\{(?!\w+\})[^{}]*\}? | (?<!\$)\{[A-Z_]{2,}\} | \{\{.*?\}\} | \{\w*:[\w.]+\} | \^\w+\^",
        "write ${NAME}",
    ),
    (_PATHS, r"\{[^{}]*(?:,|\.\.)[^{}]*\}", "write a detection for each of the names, or one with * or ?"),
    (_PATHS, r"^~[^/]+ | (?<=.)/~/", "write the home of another user in full, or ~/ for your own, in front"),
    (
        (*_PATHS, _W.SPACE),
        r"^\w+:// | ^[\w.@-]+:/",
        "write a path of a file system that the task's nodes have",
    ),
    ((*_PATHS, _W.SPACE), r"^\s+ | \s+$", "leave out the blank"),
    (_PATHS, r"\*\*", "* stands for no /: write a detection for each depth, as in */run.log"),
    (_PATHS, r"\\[^\"]", "a name may have any sign in it: write it as it is"),
    (_PATHS, r"^'.*'$", "leave out the inner quotes"),
    (
        _PATHS,
        r"\.\w{1,4}(?:[,;:]\s*|\s+)(?=\S+\.\w+$) | :\d*$ | (?<=\w)[\s,;:]+(?=/\w)",
        "write a detection for each of the names, or a list where one is taken",
    ),
    (_PATHS, r"\[[^\]]*$", "a [ begins a list of signs, as in [0-9]: close it, or write ?"),
    (_W.FILE, r"[|<>] | ^(?:tail|cat|grep|less|ssh)\s", "commands are not run here: write the file alone"),
    (_W.FILE, r"\$?\{[a-z]\w*\}", "write a variable of the job's environment, as $SLURM_JOB_NAME"),
    (_W.NO_LINES, r"^(?:stdout|stderr|output)$", "for the program's own output, leave out file and quotes"),
    (
        _W.NO_LINES,
        r"^-$ | ^&?[012]$ | ^/dev/(?!shm/) | ^/(?:proc|sys)/",
        "for the program's own output, write stdout or stderr",
    ),
    (
        _W.NO_LINES,
        r"\.(?:gz|bz2|xz|zst|zip|tar|h5|hdf5|nc|np[yz]|pt|pth|so|png|pdf)$ | (?:^|/)core$",
        "name the file that the program itself writes, as text",
    ),
    (
        _W.NO_LINES,
        r"/$ | (?:^|/)\.\.$ | ^\.$",
        "write the file's name, too, or * for all files of the directory",
    ),
    (_W.SPACE, r"^/(?:dev(?!/shm)|proc|sys)(?:/|$)", "write a directory on the file system that is meant"),
    (_W.SPACE, r"^/(?:usr|etc|s?bin|lib(?:64)?)(?:/|$)", "write a directory that tasks write to"),
    (_W.SPACE, r"[*?\[]", "write a directory on the file system that is meant, and a detection for each"),
    # Names of jobs and nodes.
    ((_W.JOB, _W.NODE), r"(?<!\w)\.\* | \\[dw] | ^\^ | \$$ | \w\+$ | %[AaJjN]\b", _GLOBBED),
    ((_W.JOB, _W.NODE), r"\[(?:\d{2,}-\d|\d-\d{2}|[\d-]+,)[\d,-]*\]", _GLOBBED),
    (_W.JOB, r"\[\d+-\d+\]", _GLOBBED),
    ((_W.JOB, _W.NODE), r"[,;|] | \.(?:sh|py|sbatch|slurm)\s+\w", _GLOBBED),
    (_W.JOB, r"^(?i:all|any|every(?:thing)?)$", "write * for all jobs"),
    (_W.NODE, r"\w\s+\w | ^\$\w | ^localhost$", _GLOBBED),
    (
        _W.JOB,
        r"^\.?/ | ^(?:sbatch|srun|bash|sh|qsub|mpirun|python\d?)\s",
        "write the name of the job or step",
    ),
    # Words that only a shell reads, in commands without one, and variables in texts that are no path.
    (
        _W.COMMAND,
        r"^(?:cd|export|source|\.|module|ml|ulimit|set|unset|alias|umask|eval|conda\sactivate|wait|trap)(?=\s|$)",
        f"the command belongs to a shell: {_SHELL}",
    ),
    (_W.COMMAND, r"^[A-Za-z_]\w*=\S*(?=\s)", 'write the variable in "environment", or env before it'),
    (_W.COMMAND, r"\$\(|`|(?<!\$)\$\{[A-Z]\w*\}|(?<!\$)\$[A-Za-z_]\w* | (?:^|\s)~/", _SHELL),
    (_W.COMMAND, r"^(?:rm|cp|mv|ls|cat|touch|chmod|gzip|tar)\s(?:.*[\s/])?[^\s'\"]*[*?]", _SHELL),
    (_W.VALUE, r"\$\{?[A-Z_]{2,}\}? | (?:^|:)~/", "write the whole value"),
    # Texts that are no sign of life, and no sign of success.
    (
        (_W.SIGN, _W.SUCCESS),
        r"""(?i:\b(?:fatal|abort(?:ed|ing)?|segmentation\sfault|core\sdumped|traceback|crash(?:ed)?)\b) |
        \bERROR\b""",
        "a line of a fault: leave TIMEOUT or SUCCESS IF out, or write what a sound program prints",
    ),
    (
        _W.SIGN,
        r"""(?i:^\W*(?:start(?:ing|ed)?|welcome|initiali[sz]\w+|normal\stermination|job\sdone|all\sdone|goodbye)\b
        (?!.*(?:step|iter|epoch|cycle|time|frame|batch|task|case|file|chunk|block|event|sweep)) |
        ^(?:run|job|simulation|calculation|training|program)\b.*\b(?:finished|completed|done|ended)\W*$)""",
        "this is printed once: write what each step prints",
    ),
)


def search(text: str, where: Where) -> tuple[str, str] | None:
    """Return the first notation in a text without a meaning there, and what to write; None for none.

    Args:
        text: the text of the rules, without its quotes.
        where: what it is.
    """
    for sign, hint in _compiled(where):
        if (part := sign.search(text)) is not None:
            return part.group(), hint
    return None


@functools.cache
def _compiled(where: Where) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(sign, re.VERBOSE), hint) for of, sign, hint in NOTATIONS if where in of)


def report(findings: Findings, text: str, where: Where, about: Written) -> bool:
    """Warn of a notation without a meaning in a text, and return whether there is one.

    Args:
        findings: the collection that the warning is added to.
        text: the text of the rules, without its quotes.
        where: what it is.
        about: the place of the warning.
    """
    found = search(text, where)
    if found is None:
        return False
    code, message = where.value
    shown = text if where in (Where.NO_LINES, Where.SPACE) else found[0].strip() or found[0]
    shown = shown if shown.isprintable() else ascii(shown)
    findings.warn(code, message.format(shown), about, hint=found[1])
    return True
