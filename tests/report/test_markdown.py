"""The report as Markdown: read by a parser of it, log lines are text and cells stay cells."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.report.story import HOSTILE, told
from whesl.report import text_report

MARKUP = ["<b>", "[x](javascript:y)", "![x](http://z)", "&lt;", "~~", "`", "``"]
MARKUP += ["|", "\\|", "\\", "*", "_", "\n", "a"]
FORBIDDEN = {"html_inline", "html_block", "link_open", "image", "em_open", "strong_open", "s_open"}
COLUMNS = 10


def tokens(text: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text):
        yield token
        yield from token.children or ()


@settings(deadline=None)
@given(st.lists(st.sampled_from(MARKUP), max_size=12).map("".join) | st.text(max_size=40))
def test_a_log_line_is_no_markup(line: str) -> None:
    found = list(tokens(text_report.markdown(told(3, line=line))))
    assert not FORBIDDEN & {token.type for token in found}
    rows = [index for index, token in enumerate(found) if token.type == "tr_open"]
    ends = [index for index, token in enumerate(found) if token.type == "tr_close"]
    cells = [sum(t.type == "td_open" for t in found[a:b]) for a, b in zip(rows, ends, strict=True)]
    assert cells == [0, COLUMNS, 0, *[7] * 3]


def test_what_it_tells() -> None:
    text = text_report.markdown(told(3, line=HOSTILE))
    shown = "".join(token.content for token in tokens(text) if token.type in ("text", "code_inline"))
    assert "<script>alert('x')</script> ␛[31mred␛[0m ␀ \ufffdgnp.exe </pre></style>" in shown
    for wanted in (
        "DISKFULL (attempt 1 of job 0)",
        "No space",
        ", byte 4096, n07",
        "NODE.REPLACE of n07",
        "2023-11-14",
    ):
        assert wanted in shown
