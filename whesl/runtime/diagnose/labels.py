"""Labels at the beginning of a line: time stamps, ranks, hosts, levels. Pure.

Launchers, loggers and kernels print labels in any order, so labels are removed one after another.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from whesl.runtime.diagnose.prepared_knowledge import words

_MOST = 8  # greatest number of labels of one line
_LONGEST = 4096  # characters of a line that are searched for labels
_REMEMBERED = 2000  # lines with different words whose labels are remembered
_ZEROS = str.maketrans("123456789", "000000000")
_COLOUR = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>])")
COLOUR = re.compile(_COLOUR.pattern.encode())
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_CLOCK = r"(?P<h>\d{1,2}):(?P<m>\d\d):(?P<s>\d\d(?:[.,]\d{1,9})?)"
_DAY = r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = rf"(?P<name>{'|'.join(_MONTHS)})"
HOST = r"[A-Za-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*"
NUMBERED_HOST = r"(?=[A-Za-z0-9._-]*\d)" + HOST
# With a colon: a level of Python's logging, as in "INFO:root:".
_LEVEL = re.compile(r"(?:(?:warn(?:ing)?|notice|W):?|(?:info|debug):)$", re.IGNORECASE)

# Class of a line's first character (bracket, digit or blank, letter), and a label that begins with it.
_FORMS = (
    # Time stamps: ISO 8601 and its relatives; C's asctime; syslog's, with host and program.
    ("0", r" +(?=\[\d{4}-\d\d-\d\d)"),
    ("[(0", rf"[\[(]?{_DAY}[T _-]{_CLOCK}(?:Z|UTC|[+-]\d\d:?\d\d)?[\])]?[ ,:|]*"),
    (
        "[0a",
        rf"\[?{_WEEKDAY},? {_MONTH} +(?P<day>\d{{1,2}}) {_CLOCK}(?: [A-Z]{{3,4}})?"
        r"(?: (?P<year>\d{4}))?\]?:? *",
    ),
    ("<", rf"<\d+>(?={_MONTH})"),
    (
        "a",
        rf"{_MONTH} +(?P<day>\d{{1,2}}) {_CLOCK} (?P<node>{HOST}) (?=[\w./-]+(?:\[\d+\])?: |\[ *\d+\.\d+\])",
    ),
    ("0", rf"(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d\d\d\d|\d\d),? {_CLOCK}(?: [AP]M)? *[-:|,]* *"),
    ("[(", rf"[\[(]{_CLOCK}[\])] *[-:|]* *"),
    ("0", rf"{_CLOCK}(?: [-|] |: |\|| (?=[\[A-Z(]))"),
    (
        "a",
        rf"(?P<level>[IWEF])(?P<month>\d\d)(?P<day>\d\d) {_CLOCK} +(?:(?P<pid>\d+) )?(?:[\w./-]+:\d+\] ?|\[)",
    ),
    ("[", r"\[ *(?P<up>\d{1,9}\.\d{6})\] *"),
    ("a", r"kernel:\s*(?=\[|\S)"),
    # UCX: [seconds] [host:pid:0]   file.c:123  UCX  ERROR
    ("[", r"\[(?P<host>[\w.-]+): *\d+ *:\d+(?:: *\d+)?\] +"),
    ("[", r"\[(?P<epoch>\d{9,10}\.\d+)\] *"),
    # TensorFlow, after its time: W tensorflow/core/framework/op.cc:404]
    ("a", r"(?P<level>[IWEF]) (?=(?:external/\S+|tensorflow)/[\w/.-]+:\d+\] )"),
    # Tornado, Jupyter, Optuna: [W 2026-11-29 14:25:46,264 app:12]
    ("[", rf"\[(?P<level>[DIWEC]) {_DAY} {_CLOCK}(?: [\w.]+:?\d*)?\] *"),
    # Ranks.
    # Julia tells the number of a process that got a signal.
    ("[", r"\[(?P<rank>\d+)\]:? +(?!signal \()"),
    ("[", r"\[default(?P<local_rank>\d+)\]: ?"),
    ("[", r"\[(?:global |local )?[Rr]ank[ :_]?(?P<rank>\d+)\]:? ?"),
    ("[", r"\[(?:PG (?:ID )?\d+ )(?:PG GUID \S+ )?(?:Rank (?P<rank>\d+))\] ?"),
    ("[", r"\[\d+,(?P<rank>\d+)\](?:<std(?:out|err|diag)>)?:? ?"),
    ("[", r"\[(?P<rank>\d+)\]<std(?:out|err)>:? ?"),
    ("0", r" *(?P<rank>\d{1,6}): ?(?!\d)"),
    ("(", r"\((?P<rank>\d+)\) +"),
    ("(a", r"\(?[Rr]ank[ =_#]?(?P<rank>\d+)\)?(?:[:|\]] ?| - )"),
    ("a", r"(?:MPI )?[Pp]rocess (?P<rank>\d+): "),
    ("[", r"\[(?P<rank>\d+)/\d+\]:? +"),
    ("[", rf"\[(?P<rank>\d+)[:@](?P<node>{HOST})\]:? ?"),
    ("[", rf"\[(?P<node>{NUMBERED_HOST}):(?P<rank>\d+)\]:? (?=\[?[Rr]ank|[a-z]+ \d)"),
    # Cray: MPICH ERROR [Rank 0] [job id 1.0] [date] [nid001001] -
    (
        "a",
        r"MPICH (?:ERROR|NOTICE) \[Rank (?P<rank>\d+)\] \[job id [^\]]*\] \[[^\]]*\] "
        rf"\[(?P<node>{HOST})\] - ",
    ),
    ("a", rf"slurmstepd-(?P<node>{HOST}): "),
    # PSM2: host.pid; PSM3: host:rankN.program. A container's host is named by digits too.
    ("a", rf"(?P<node>{HOST})\.\d{{3,}}:? ?(?=PSM|hf[ip]_|ipath_|[A-Z][a-z]+ [a-z])"),
    ("0a", r"(?P<node>[A-Za-z0-9][\w.-]*):rank(?P<rank>\d+)(?:\.[\w.-]+)?: "),
    # TorchX: role/replica
    ("a", r"[a-z][\w.-]*/\d+ (?=\[|Traceback \(| {2}\S|[\w.]+(?:Error|Exception): )"),
    # Hosts, printed by NCCL, Open MPI, hydra's proxies, PALS, pdsh, srun -l with hosts, and Ray.
    ("a", rf"(?P<host>{HOST}):\d+:\d+ \[(?P<device>\d+)\] (?=\S*\s?NCCL|[\w./]+\.(?:cc|h|c|cpp):\d+ NCCL)"),
    ("a", rf"(?P<host>{HOST}):\d+:\d+ "),
    ("a", r"(?:[\w./]+\.(?:cc|h|c|cpp):\d+ )(?=NCCL WARN)"),
    ("[", rf"\[(?P<host>{HOST}):\d+\] (?:\[\d+\] )?"),
    ("[", rf"\[(?P<node>{HOST}):?\d*\]\[\[\d+,\d+\],(?P<rank>\d+)\]\[[^\]]*\] ?"),
    ("[", rf"\[proxy:[\d:]+@(?P<node>{HOST})\] "),
    ("[", rf"\[(?P<node>{HOST}):mpispawn_\d+\](?=\[)"),
    ("[", r"\[(?:cli_(?P<rank>\d+))\]: "),
    ("[", rf"\[(?P<node>{HOST}):mpi_rank_(?P<rank>\d+)\](?=\[)"),
    ("a", r"Abort\(\d+\) on node (?P<rank>\d+)(?: \(rank \d+ in comm \S+\))?: "),
    ("a", rf"(?P<node>{NUMBERED_HOST}): +"),
    ("0", r"(?P<node>\d{1,3}(?:\.\d{1,3}){3}): +"),
    ("a", rf"(?P<node>{NUMBERED_HOST}) (?=kernel: )"),
    ("0a", rf"(?:libfabric:\d+:)?\d+::\w+:\w+:\w+\(\):\d+<\w+> (?P<node>{NUMBERED_HOST}): "),
    ("a", rf"(?P<node>{NUMBERED_HOST}) (?P<rank>\d+): "),
    ("[", rf"\[(?P<node>{NUMBERED_HOST})\]:? ?"),
    ("a", rf"(?P<node>{NUMBERED_HOST})(?: \| |>)"),
    ("(", r"\([\w:.<>]+(?: [\w:.<>]+)*(?: rank=(?P<rank>\d+))? pid=\d+(?:, ip=(?P<ip>[\d.]+))?\) ?"),
    ("(", r"\((?:pid=\d+|raylet)(?:, ip=(?P<ip>[\d.]+))?\) ?"),
    ("[", r"\[[IWEF] [\w./-]+:\d+\] ?"),
    # PyTorch's C++ parts: [W1108 20:12:45.330011 TCPStore.cpp:106]
    ("[", rf"\[(?P<level>[IWEF])(?P<month>\d\d)(?P<day>\d\d) {_CLOCK} [\w./-]+:\d+\] ?"),
    # Levels of loggers, and where in the program they stand.
    # Programs: [host:rank:gpu3], host=n7, Rank 3 [n7]:, PE 3 on n7:
    ("[", rf"\[(?P<node>{NUMBERED_HOST}):(?P<rank>\d+)(?::(?:gpu)?(?P<device>\d+))?\]:? +"),
    ("a", rf"(?:host|node|hostname)=(?P<node>{HOST})[,:;|]? +"),
    (
        "a",
        r"(?:(?:global_?)?rank=(?P<rank>\d+)|local_rank=\d+|(?:gpu|device)=(?P<device>\d+))[,:;|]? +",
    ),
    (
        "a",
        rf"(?:[Rr]ank|PE|[Pp]roc(?:ess)?) (?P<rank>\d+) (?:on |@ ?|[\[(])(?P<node>{NUMBERED_HOST})[\])]?: +",
    ),
    (
        "[0a",
        r"\[?(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\]?(?=[ \]|:-])"
        r"(?: *\| *| +- +| +(?=\[))",
    ),
    # Python's logging, as it is without a format: level, name of the logger.
    ("a", r"(?P<level>(?:DEBUG|INFO|WARNING|ERROR):)[\w.]+:(?! )"),
    ("[", r"\[(?P<level>[Ww]arn(?:ing)?|WARN(?:ING)?|[Ee]rror|ERROR|INFO|[Ii]nfo|DEBUG|[Nn]otice)\]:? *"),
    # vLLM: level, month and day, time, place in the program.
    ("a", rf"(?P<level>[A-Z]{{4,8}}) (?P<month>\d\d)-(?P<day>\d\d) {_CLOCK} \[[\w./]+:\d+\] ?"),
    ("[", r"\[[\w.]+\.py:\d+:\w+\] "),
    # Loguru, after its time and level: package.module:function:line -
    ("a", r"[\w.]+:[\w<>]+:\d+ - "),
    ("[", r"\[[\w./-]+:\d+\] ?"),
)


_MASKED = re.compile(r"0x[0-9a-fA-F]+|/[\w./-]+|[-+]?\d[\d.,:eE+-]*|\b[0-9a-f]{8,}\b")


def _kind(char: str) -> str:
    return char if char in "[(<" else "0" if char.isdigit() or char == " " else "a"


@cache
def _by_kind(kind: str) -> tuple[re.Pattern[str], ...]:
    """Return the compiled expressions of labels with a class of first character."""
    return tuple(re.compile(form) for kinds, form in _FORMS if kind in kinds)


class Cleaned(NamedTuple):
    """A line's own words, and the values in its labels."""

    text: str
    rank: int | None
    node: str | None
    device: str | None
    time: float | None
    level: str


def uncoloured(text: str) -> str:
    """Return a line without terminal escapes."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


class _Labels(NamedTuple):
    """The offsets of a line's own words, and of the values in its labels; (0, 0) for none."""

    words: int
    rank: tuple[int, int]
    node: tuple[int, int]
    device: tuple[int, int]
    level: tuple[int, int]
    clock: dict[str, tuple[int, int]]  # groups of the time stamp; empty without one


def clean(line: str) -> Cleaned:
    """Remove the labels from a line, and return its words and the labels' values.

    Args:
        line: the line without its end and without colour codes.
    """
    text = line[:_LONGEST].rstrip()
    # No label depends on the value of a digit, so that most lines of a log have labels at the same offsets.
    found = _labels(text.translate(_ZEROS))
    rank, node, device, level = (text[begin:end] for begin, end in found[1:5])
    time = _time({name: text[begin:end] for name, (begin, end) in found.clock.items()})
    return Cleaned(
        text[found.words :], int(rank) if rank else None, node or None, device or None, time, level
    )


@lru_cache(_REMEMBERED)
def _labels(line: str) -> _Labels:
    """Return the labels of a line in which each digit is a zero."""
    spans: dict[str, tuple[int, int]] = {}
    clock: dict[str, tuple[int, int]] = {}
    at = 0
    for _ in range(_MOST):
        for form in _by_kind(_kind(line[at : at + 1])) if at < len(line) else ():
            match = form.match(line, at)
            if match is None or match.end() == at:
                continue
            found = {name: match.span(name) for name, value in match.groupdict().items() if value}
            if "node" in found and words("no-host").match(match["node"]):
                continue
            for name in ("host", "node", "ip"):
                if name in found:
                    found["node"] = found[name]
                    break
            spans = found | spans
            clock = clock or (found if "s" in found else {})
            at = match.end()
            break
        else:
            break
    # The number of a rank on its node is used where the line tells no other.
    rank = spans.get("rank") or spans.get("local_rank")
    node, device, level = (spans.get(name, (0, 0)) for name in ("node", "device", "level"))
    return _Labels(at, rank or (0, 0), node, device, level, clock)


def form(line: str) -> str:
    """Return the form of a line, which is the same each time the line is printed with other values."""
    return _MASKED.sub("#", clean(line).text).strip()


def _time(found: dict[str, str]) -> float | None:
    """Return a time stamp in seconds; where it has a date, each month counts 31 days. None without a time."""
    if found.get("up") or found.get("epoch"):
        return None  # seconds since boot or the epoch are not comparable with local times
    clock = found.get("s")
    if not clock:
        return None
    hours, minutes = int(found["h"] or 0), int(found["m"] or 0)
    seconds = float(clock.replace(",", "."))
    name = found.get("name")
    month = _MONTHS.index(name) + 1 if name else int(found.get("month") or 0)
    days = month * 31 + int(found.get("day") or 0)
    return days * 86400.0 + hours * 3600 + minutes * 60 + seconds


def is_warning(level: str) -> bool:
    """Whether a logger's level is less severe than an error."""
    return bool(_LEVEL.match(level))
