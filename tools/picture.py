"""Draw the README's picture from a real demo: ``make demo | python tools/picture.py docs/recovery.svg``."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

STYLES = {
    r"fault: .*": "bold yellow",
    r"raised \w+": "bold red",
    r"restarted in .*|recovered from .*|all \d+ outputs equal.*|\d+ recovered in place": "bold green",
    r"completed": "green",
    r"runs again.*": "cyan",
    r"^\d\d:\d\d:\d\d": "dim",
    r"^demo:": "bold",
}
WIDTH = 118
SHOWN = re.compile(
    r"demo:|\d\d:\d\d:\d\d .*(raised|step|again|restarted|recovered)|\S+: \d+ of|recovery took|resubmission"
)


def main() -> int:
    """Read the demo's output on standard input and write the picture to the file named."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    # Where the demo stood does not matter to the reader.
    place = re.compile(r"/\S*?/demo/output/")
    for line in sys.stdin:
        if not SHOWN.match(line) or "look further" in line:
            continue
        text = Text(place.sub("", line.rstrip()))
        for pattern, style in STYLES.items():
            text.highlight_regex(pattern, style)
        text.truncate(WIDTH, overflow="ellipsis")
        console.print(text, no_wrap=True)
    Path(sys.argv[1]).write_text(console.export_svg(title="make demo"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
