"""What an exception says of itself tells nothing of whether its program goes on."""

from __future__ import annotations

from itertools import cycle

import pytest

from tests.runtime.diagnose.logs import told, why
from whesl.runtime.diagnose.vocabulary import Outcome

STEPS = "".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(60))
FRAME = '  File "a.py", line 3, in f\n    g(x)\n'
PYTHON = f"Traceback (most recent call last):\n{FRAME}ValueError: bad status{{}}\n"
# As the run time of each language prints an exception that nobody caught.
UNCAUGHT = {
    "Python": PYTHON,
    "Python, with marks": PYTHON.replace("g(x)\n", "g(x)\n    ~^^^\n"),
    "Python, a deep stack": PYTHON.replace(FRAME, FRAME * 30),
    "Python, a second exception": f"{PYTHON.replace('{}', '')}\nDuring handling of the above exception, "
    f"another exception occurred:\n\n{PYTHON.replace('Value', 'Runtime')}",
    "torchrun": "".join(f"[rank3]: {line}\n" for line in PYTHON.splitlines()),
    "srun -l": "".join(f"3: {line}\n" for line in PYTHON.splitlines()),
    "Java": 'Exception in thread "main" java.lang.IllegalStateException: bad{}\n'
    + "\tat a.B.c(B.java:3)\n" * 30
    + "Caused by: java.io.IOException: no answer{}\n\tat a.B.d(B.java:4)\n\t... 30 more\n",
    "C++": "terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad status{}\n",
    "Julia": "ERROR: LoadError: bad status{}\nStacktrace:\n [1] f()\n   @ Main /a.jl:3\n",
    "R": "Error in f(x) : bad status{}\nCalls: f\nExecution halted\n",
    "Rust": "thread 'main' panicked at src/main.rs:3:5:\nbad status{}\nnote: run with `RUST_BACKTRACE=1`\n",
    "Go": "panic: bad status{}\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:3 +0x1d\nexit status 2\n",
    "JavaScript": "Error: bad status{}\n    at f (/a.js:3:5)\n    at async main (/a.js:9:5)\n",
}
HARMLESS = [
    *(
        " (ok)",
        " (ignored)",
        " (will retry)",
        " (optional)",
        " (not fatal)",
        " - tried again: ok",
        ", retrying",
    ),
    *(" - cache disabled", ", skipped", ": falling back", " as expected", ", continuing", " (handled)"),
    *(" suppressed", ", not needed", ", attempt 3", " (recovered)", " may be ignored", " (warning: 3)"),
    *(": PASSED", " with no errors", ", 0 failed"),
]
AFTER = ["", "srun: error: n7: task 3: Exited with exit code 1\n", "=== epilogue ===\nJob 12 used 3 cores\n"]


@pytest.mark.parametrize("printed", UNCAUGHT.values(), ids=UNCAUGHT)
def test_no_words_of_an_exception_that_ends_the_log_make_it_harmless(printed: str) -> None:
    for words, after in zip(HARMLESS, cycle(AFTER), strict=False):
        line = told(STEPS + printed.replace("{}", "") + after)[1]
        assert 0 < told(STEPS + printed.replace("{}", words) + after)[1] <= line, (words, after)


@pytest.mark.parametrize("language", ["Python", "Python, a deep stack", "torchrun", "Java", "JavaScript"])
def test_the_words_count_where_the_program_went_on(language: str) -> None:
    more = "".join(f"the {part} is read\n" for part in ("mesh", "field", "map", "list", "index", "table"))
    assert why(STEPS + UNCAUGHT[language].replace("{}", " (will retry)") + more).outcome is not Outcome.FAILED


def test_a_traceback_of_a_logger_s_warning_is_a_warning() -> None:
    assert why(f"{STEPS}WARNING:app:Error in f(x) (ignored)\n").outcome is not Outcome.FAILED
