"""The stream matcher: both engines against a naive line-by-line reading, under any cutting."""

import itertools
import re
from collections.abc import Iterator
from importlib import metadata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.language.pattern_and_stream_records import Pattern
from whesl.model.errors import UsageError
from whesl.runtime.detect import engines
from whesl.runtime.detect.matcher import EXCERPT, Match, Matcher, compile_patterns
from whesl.runtime.detect.regex_canonical_form import PatternError

ENGINES = ["hyperscan", "re2"]
PIECE, OVERLAP = 64, 16


def literal(text: str) -> Pattern:
    return Pattern(text=text)


def regex(text: str) -> Pattern:
    return Pattern(text=text, regex=True)


def lines_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The documented reading of lines: each byte that is a break ends one."""
    start = 0
    for end, byte in enumerate(data):
        if byte in b"\r\n":
            yield start, data[start:end]
            start = end + 1
    yield start, data[start:]


def pieces_of(line: bytes, piece: int, overlap: int) -> Iterator[bytes]:
    while len(line) > piece:
        yield line[:piece]
        line = line[piece - overlap :]
    yield line


def oracle(patterns: list[Pattern], data: bytes, piece: int, overlap: int) -> set[tuple[int, int]]:
    found = set()
    for offset, line in lines_of(data):
        for index, pattern in enumerate(patterns):
            if pattern.regex:
                expression = pattern.text.encode("latin-1")
                hit = any(re.search(expression, part) for part in pieces_of(line, piece, overlap))
            else:
                hit = pattern.text.encode() in line
            if hit:
                found.add((index, offset))
    return found


def run(matcher: Matcher, data: bytes, cuts: list[int], base: int = 0) -> list[Match]:
    stream = matcher.open(base)
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    found = []
    for begin, end in itertools.pairwise(bounds):
        found += stream.feed(data[begin:end], base + begin)
    return found + stream.finish()


LETTER = st.sampled_from("abc")
LITERALS = st.text(alphabet="abc=", min_size=1, max_size=5)
ATOMS = st.one_of(
    LETTER,
    st.sampled_from([".", r"\d", r"\w", r"\s", r"\S", r"\W", r"\D", "[^a]", "[ab]", "[^b-c]", r"\x00"]),
    st.just(r"\xff"),
)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "+?"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
        inner.map(lambda p: f"^{p}"),
        inner.map(lambda p: f"{p}$"),
        inner.map(lambda p: rf"\b{p}\b"),
    )


def usable(text: str) -> bool:
    try:
        compile_patterns([regex(text)], "hyperscan")
        compile_patterns([regex(text)], "re2")
    except PatternError:
        return False
    return True


REGEXES = st.recursive(ATOMS, grown, max_leaves=5).filter(usable)
# Literals alone take a shorter way through blocks in which there is none.
PATTERNS = st.one_of(
    st.lists(st.one_of(LITERALS.map(literal), REGEXES.map(regex)), min_size=1, max_size=4),
    st.lists(LITERALS.map(literal), min_size=1, max_size=3),
)
DATA = st.lists(
    st.one_of(
        st.sampled_from(
            [b"a", b"b", b"c", b"=", b" ", b"\n", b"\r", b"\r\n", b"1", b"\x00", b"\xff", b"\x0b"]
        ),
        st.binary(max_size=3),
        st.sampled_from([b"abc" * 30, b"a" * 100]),
    ),
    max_size=60,
).map(b"".join)
CUTS = st.lists(st.integers(0, 300), max_size=12)


@pytest.mark.costly
@settings(max_examples=examples(400), deadline=None)
@given(patterns=PATTERNS, data=DATA, cuts=CUTS)
@example(patterns=[regex("^b")], data=b"c\na\rb\nc\n", cuts=[])
@example(patterns=[literal("b")], data=b"a\ra\na\rb\r", cuts=[4])
def test_both_engines_equal_the_line_by_line_reading(
    patterns: list[Pattern], data: bytes, cuts: list[int]
) -> None:
    expected = oracle(patterns, data, PIECE, OVERLAP)
    results = []
    for engine in ENGINES:
        found = run(compile_patterns(patterns, engine, piece=PIECE, overlap=OVERLAP), data, cuts, 1000)
        places = [(match.pattern, match.line_offset - 1000) for match in found]
        assert len(places) == len(set(places))
        assert set(places) == expected
        results.append(found)
    assert results[0] == results[1]


@pytest.mark.costly
@settings(max_examples=examples(150), deadline=None)
@given(patterns=PATTERNS, data=DATA, cuts=CUTS, engine=st.sampled_from(ENGINES))
@example(patterns=[regex("ab")], data=b"ca\na\nb\nab\n", cuts=[1, 2, 4, 5, 9], engine="hyperscan")
@example(patterns=[literal("abc")], data=b"ccccab", cuts=[5], engine="re2")
def test_what_is_passed_over_holds_nothing(
    patterns: list[Pattern], data: bytes, cuts: list[int], engine: str
) -> None:
    stream = compile_patterns(patterns, engine).open()
    room = bytearray(1024 + len(data))
    found = []
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for begin, end in itertools.pairwise(bounds):
        carried = stream.carried()
        if carried is not None:
            text = carried + data[begin:end]
            room[: len(text)] = text
            if stream.pass_over(room, memoryview(room), len(text)) is not None:
                assert stream.next_offset == end
                continue
        found += stream.feed(data[begin:end], begin)
    found += stream.finish()
    places = [(match.pattern, match.line_offset) for match in found]
    assert len(places) == len(set(places))
    assert set(places) == oracle(patterns, data, 1 << 20, 1 << 16)


@pytest.mark.costly
@settings(max_examples=examples(150), deadline=None)
@given(
    patterns=PATTERNS,
    data=DATA,
    cuts=CUTS,
    engine=st.sampled_from(ENGINES),
    latest=st.sets(st.integers(0, 3)),
    lone=st.sets(st.integers(0, 3)),
)
@example(
    patterns=[literal("a")], data=b"a\nb\na\nab", cuts=[3, 6], engine="hyperscan", latest={0}, lone=set()
)
@example(patterns=[regex("b$")], data=b"b\nab\nba\n", cuts=[4], engine="re2", latest={0}, lone=set())
@example(
    patterns=[literal("a"), literal("b")], data=b"ab\na\n", cuts=[1], engine="re2", latest={0}, lone=set()
)
@example(
    patterns=[literal("a"), literal("b")],
    data=b"a\nb\na\n",
    cuts=[6],
    engine="re2",
    latest=set(),
    lone={0, 1},
)
def test_the_last_match_of_what_only_the_last_counts_of(
    patterns: list[Pattern], data: bytes, cuts: list[int], engine: str, latest: set[int], lone: set[int]
) -> None:
    lone -= latest
    matcher = compile_patterns(patterns, engine)
    stream, room = matcher.open(), bytearray(1024 + len(data))
    found = []
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for begin, end in itertools.pairwise(bounds):
        carried = stream.carried(latest | lone)
        passed = None
        if carried is not None:
            text = carried + data[begin:end]
            room[: len(text)] = text
            passed = stream.pass_over(room, memoryview(room), len(text), latest, lone)
        found += stream.feed(data[begin:end], begin) if passed is None else passed
        assert stream.next_offset == end
    found += stream.finish()
    places = [(match.pattern, match.line_offset) for match in found]
    assert len(places) == len(set(places))
    expected = oracle(patterns, data, 1 << 20, 1 << 16)
    assert set(places) <= expected
    # The same signs of life at the end, and of everything else each one.
    assert dict(sorted(places)) == dict(sorted(expected))
    others = {place for place in expected if place[0] not in latest | lone}
    assert others <= set(places)
    # Which of the lone ones follows which is the same, too.
    one, two = (
        [pattern for pattern, _ in sorted(those, key=lambda place: (place[1], place[0])) if pattern in lone]
        for those in (places, expected)
    )
    assert [each for each, _ in itertools.groupby(one)] == [each for each, _ in itertools.groupby(two)]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_holds_nothing_is_passed_over(engine: str) -> None:
    stream = compile_patterns([literal("NEEDLE"), regex(r"^lost: (?P<n>\d+)$")], engine).open()
    for begin, part in ((0, b"one\ntw"), (4, b"two\n"), (8, b"three")):
        room = bytearray(part)
        assert stream.pass_over(room, memoryview(room), len(room)) == []
        assert stream.next_offset == begin + len(part)
    assert stream.carried() == bytearray(b"three")
    for part in (b"three NEEDLE", b"three\nlost: 5\n"):
        room = bytearray(part)
        assert stream.pass_over(room, memoryview(room), len(room)) is None
    (match,) = stream.feed(b"\nlost: 5\n", 13)
    assert (match.line_offset, match.captures) == (14, {"n": "5"})


@pytest.mark.costly
@settings(max_examples=examples(400), deadline=None)
@given(patterns=PATTERNS, data=DATA, cut=st.integers(0, 300), engine=st.sampled_from(ENGINES))
@example(patterns=[literal("a")], data=b"abc" * 60 + b"\n", cut=161, engine="hyperscan")
@example(patterns=[literal("a"), regex("b$")], data=b"a=b\nb\n", cut=1, engine="re2")
def test_a_snapshot_at_any_byte_loses_and_repeats_nothing(
    patterns: list[Pattern], data: bytes, cut: int, engine: str
) -> None:
    matcher = compile_patterns(patterns, engine, piece=PIECE, overlap=OVERLAP)
    first = matcher.open()
    found = first.feed(data[:cut], 0)
    second = matcher.open()
    second.restore(first.snapshot())
    start = second.restart_offset
    found += second.feed(data[start:], start) + second.finish()
    places = [(match.pattern, match.line_offset) for match in found]
    assert len(places) == len(set(places))
    assert set(places) == oracle(patterns, data, PIECE, OVERLAP)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_literal_is_found_before_its_line_ends_at_any_boundary(engine: str) -> None:
    matcher = compile_patterns([literal("Disk Quota Expired"), literal("Expired by")], engine)
    data = b"[3] Disk Quota Expired by"
    for cut in range(len(data)):
        stream = matcher.open()
        found = stream.feed(data[:cut], 0)
        found += stream.feed(data[cut:], cut)
        assert sorted(match.pattern for match in found) == [0, 1]
        assert stream.feed(b" rule\n", len(data)) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_literal_is_found_at_once_wherever_a_long_line_is_cut(engine: str) -> None:
    matcher = compile_patterns([literal("NEEDLE")], engine, piece=PIECE, overlap=OVERLAP)
    for place in range(3 * PIECE):
        data = b"x" * place + b"NEEDLE"
        stream = matcher.open()
        for at in range(len(data)):
            found = stream.feed(data[at : at + 1], at)
            assert bool(found) == (at == len(data) - 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_regex_waits_for_its_line_so_that_captures_are_whole(engine: str) -> None:
    stream = compile_patterns([regex(r"cycle = (?P<n>\d+)")], engine).open(50)
    assert stream.feed(b"cycle = 12", 50) == []
    (match,) = stream.feed(b"34\r\nnext", 60)
    assert match == Match(pattern=0, line=b"cycle = 1234", offset=50, line_offset=50, captures={"n": "1234"})


@pytest.mark.parametrize("engine", ENGINES)
def test_a_progress_bar_has_a_line_per_carriage_return(engine: str) -> None:
    stream = compile_patterns([regex(r"(?P<p>\d+)%")], engine).open()
    found = stream.feed(b"  1%\r 20%\r100%\r\ndone\n", 0)
    assert [match.captures["p"] for match in found] == ["1", "20", "100"]
    assert [match.line_offset for match in found] == [0, 5, 10]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_of_megabytes_is_read_with_bounded_memory(engine: str) -> None:
    patterns = [literal("NEEDLE"), regex(r"err(?P<code>\d+)!"), regex("^x"), regex("END$")]
    stream = compile_patterns(patterns, engine).open()
    filler = b"x" * 65_536
    found, offset = [], 0
    for index in range(80):
        block = b"NEEDLE" + filler if index == 41 else b" err77! " + filler if index == 57 else filler
        found += stream.feed(block, offset)
        offset += len(block)
        assert len(stream._carry) <= 2 << 20
        if index == 41:
            assert [match.pattern for match in found if match.pattern == 0] == [0]
    found += stream.feed(b" END\n", offset)
    assert sorted(match.pattern for match in found) == [0, 1, 2, 3]
    by_pattern = {match.pattern: match for match in found}
    assert by_pattern[1].captures == {"code": "77"}
    assert all(len(match.line) <= EXCERPT and match.line_offset == 0 for match in found)
    assert b"NEEDLE" in by_pattern[0].line
    needle = 41 * 65_536
    assert by_pattern[0].offset <= needle < by_pattern[0].offset + EXCERPT


@pytest.mark.parametrize("engine", ENGINES)
def test_any_bytes(engine: str) -> None:
    data = bytes(range(256)) * 3 + b"\x00\xff\xfeneedle\x00\n"
    found = run(
        compile_patterns([literal("needle"), literal("\x00"), regex(r"\xff\xfe.eedle")], engine), data, [700]
    )
    assert {match.pattern for match in found} == {0, 1, 2}


@pytest.mark.parametrize("engine", ENGINES)
def test_dense_matches_over_large_blocks(engine: str) -> None:
    data = b"".join(b"error %d: x\n" % n if n % 2 else b"fine %d\n" % n for n in range(40_000))
    found = run(compile_patterns([regex("error.*")], engine), data, [])
    assert len(found) == 20_000
    assert [match.line_offset for match in found] == sorted(match.line_offset for match in found)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_catastrophic_expression_ends(engine: str) -> None:
    pattern = regex("(?P<g>(?:a+)+)b")
    data = (b"a" * 4000 + b"cab\n") * 20
    found = run(compile_patterns([pattern], engine), data, [])
    assert [match.captures for match in found] == [{"g": "a"}] * 20


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("step 7", "7"),
        (" 3: step 7", "7"),
        ("[3] step 7", "7"),
        ("[1,3]<stdout>: step 7", "7"),
        ("[default3]:step 7", "7"),
        ("[1] [default0]:[rank3]: step 7", "7"),
        ("[n03] step 7", None),
        ("3: 7 s", "3"),  # as it would be captured if labels were not skipped
        ("n03: step 7", None),
        ("1: 2: 3: 4: step 7", "1"),
    ],
)
def test_a_line_begins_behind_the_labels_of_launchers(engine: str, line: str, number: str | None) -> None:
    pattern = Pattern(text=r"^(?:step )?(?P<number>\d+)", regex=True, captures=("number",))
    found = run(compile_patterns([pattern], engine), line.encode(), [])
    assert [match.captures["number"] for match in found] == ([number] if number else [])


@pytest.mark.parametrize("engine", ENGINES)
def test_gaps_and_repeats_of_offsets(engine: str) -> None:
    stream = compile_patterns([literal("ab")], engine).open(10)
    assert stream.feed(b"a", 10) == []
    assert [match.offset for match in stream.feed(b"ab\nab\n", 10)] == [10, 13]
    assert stream.feed(b"ab\n", 10) == []
    assert stream.feed(b"a", 16) == []
    assert stream.feed(b"b\n", 40) == []


def test_no_patterns_is_no_work() -> None:
    stream = compile_patterns([]).open()
    assert stream.feed(b"x\n", 0) == []
    assert stream.next_offset == stream.restart_offset == 2


@pytest.fixture
def judged_anew() -> Iterator[None]:
    """What is known of hyperscan is found out in the test, and again after it."""
    engines.sound.cache_clear()
    yield
    engines.sound.cache_clear()


@pytest.mark.usefixtures("judged_anew")
def test_unknown_and_missing_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="unknown"):
        compile_patterns([literal("a")], "grep")
    monkeypatch.setattr(engines, "_hyperscan", None)
    engine = compile_patterns([literal("a")], "auto").engine
    assert engine is not None and engine.name == "re2"
    with pytest.raises(UsageError, match="not installed"):
        compile_patterns([literal("a")], "hyperscan")


@pytest.mark.usefixtures("judged_anew")
def test_a_hyperscan_that_misses_matches_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Vectorscan 5.4.12 does at the end of a line."""
    monkeypatch.setattr(engines, "_scan", lambda *_: [0, 1])
    engine = compile_patterns([literal("a")], "auto").engine
    assert engine is not None and engine.name == "re2"
    with pytest.raises(UsageError, match="misses matches"):
        compile_patterns([literal("a")], "hyperscan")


def test_the_hyperscan_that_is_installed_is_the_one_that_is_advised() -> None:
    wanted = [requirement for requirement in metadata.requires("whesl") or [] if "hyperscan" in requirement]
    assert [requirement.partition(";")[0].strip() for requirement in wanted] == [engines.SOUND]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_stands_at_the_end_of_a_line_is_found(engine: str) -> None:
    for *expressions, line in engines._LINE_ENDS:
        matcher = compile_patterns([regex(text.decode()) for text in expressions], engine)
        for data in (line, line + b"\n"):
            assert 2 in {match.pattern for match in run(matcher, data, [])}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pattern_that_the_engine_refuses_is_named(engine: str) -> None:
    bad = {"hyperscan": r"(?:a.{900}){900}b", "re2": r"(?:a.{900}){900}b"}[engine]
    with pytest.raises(PatternError, match="pattern"):
        compile_patterns([literal("fine"), regex(bad)], engine)


def test_more_patterns_than_re2_has_memory_for_are_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_RE2_MEMORY", 1 << 14)
    with pytest.raises(PatternError, match="too many"):
        compile_patterns([literal(f"error number {number} of many") for number in range(500)], "re2")
