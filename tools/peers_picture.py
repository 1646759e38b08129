"""Draw what a fault costs with each peer, from the figures of a real run, and print the table beside it.

python benchmarks/peers.py --json FILE && python tools/peers_picture.py FILE docs/peers.svg
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

NAME = re.compile(r"^(?P<fault>none|crash|hang|disk), (?P<who>[\w-]+), wait (?P<wait>\d+) min$")
FAULTS = {"crash": "a rank crashes", "hang": "a rank hangs", "disk": "the disk is full"}
WHO = {
    "Maestro": "Maestro's resubmission",
    "Snakemake": "Snakemake --retries",
    "Snakemake-rule": "Snakemake, the rule's own retries",
    "Slurm": "Slurm's requeue",
    "WHESL": "WHESL, in place",
}
WIDTH, LABELS, RIGHT = 960, 190, 24
ROW, GROUP, PANEL, TOP = 18, 14, 46, 74
# Colours that can be told apart by people who see few of them, on light and on dark ground.
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 17px; font-weight: 600 }
.wait { font-size: 14px; font-weight: 600 }
.small { font-size: 12px; fill: #57606a }
.ground { fill: #ffffff } .line { stroke: #d0d7de }
.Maestro { fill: #9aa4b0 } .Snakemake, .Snakemake-rule { fill: #7f8b99 } .Slurm { fill: #64707e }
.WHESL { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } .ground { fill: #0d1117 } .line { stroke: #3d444d }
  .WHESL { fill: #3fb950 }
}
"""

Seconds = dict[tuple[int, str, str], float]


def makespans(figures: list[dict[str, object]]) -> Seconds:
    """Return the makespans by wait in minutes, fault and approach.

    Args:
        figures: as ``benchmarks/peers.py`` writes them.
    """
    made: Seconds = {}
    for figure in figures:
        if match := NAME.match(str(figure["name"])):
            made[int(match["wait"]), match["fault"], match["who"]] = float(str(figure["value"]))
    return made


def costs(made: Seconds) -> Seconds:
    """Return what each fault adds to a makespan. What has no run without a fault is left out."""
    return {
        (wait, fault, who): seconds - made[wait, "none", who]
        for (wait, fault, who), seconds in made.items()
        if fault != "none" and (wait, "none", who) in made
    }


def table(made: Seconds) -> str:
    """Return the makespans as a table in Markdown, with the passes through the queue that they stand for."""
    waits = sorted({wait for wait, _, _ in made})
    lines = ["| | no fault | " + " | ".join(FAULTS.values()) + " |", "| --- | --- | --- | --- | --- |"]
    for who, words in WHO.items():
        cells = [words]
        for fault in ("none", *FAULTS):
            times = [made[wait, fault, who] for wait in waits if (wait, fault, who) in made]
            if len(times) == len(waits) > 1:
                passes = round((times[-1] - times[0]) / (waits[-1] - waits[0]) / 60)
                cells.append(f"{' / '.join(map(spoken, times))} ({passes})")
            else:
                cells.append("did not end" if not times else " / ".join(map(spoken, times)))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def spoken(seconds: float) -> str:
    """Return a time as people say it."""
    seconds = round(seconds) + 0.0  # never -0
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def draw(found: Seconds) -> str:
    """Return the picture: a panel for each wait, a group for each fault, a bar for each approach."""
    waits = sorted({wait for wait, _, _ in found})
    parts: list[str] = []
    y = TOP
    for wait in waits:
        most = max(seconds for (of, _, _), seconds in found.items() if of == wait)
        how = "measured" if wait == 0 else "computed from the measured run"
        parts.append(f'<text class="wait" x="16" y="{y}">{_wait(wait)}</text>')
        parts.append(f'<text class="small" x="{WIDTH - RIGHT}" y="{y}" text-anchor="end">{how}</text>')
        parts.append(f'<line class="line" x1="16" x2="{WIDTH - RIGHT}" y1="{y + 8}" y2="{y + 8}"/>')
        y += 20
        for fault, words in FAULTS.items():
            rows = [who for who in WHO if (wait, fault, who) in found]
            parts.append(f'<text x="16" y="{y + 13}">{escape(words)}</text>')
            for who in rows:
                seconds = found[wait, fault, who]
                length = max(seconds, 0) / most * (WIDTH - LABELS - RIGHT - 230)
                place = f'x="{LABELS}" y="{y + 2}" width="{max(length, 1):.1f}" height="13" rx="2"'
                parts.append(f'<rect class="{who}" {place}/>')
                label = f"{spoken(seconds)} · {WHO[who]}"
                parts.append(
                    f'<text class="small" x="{LABELS + length + 8:.1f}" y="{y + 13}">{escape(label)}</text>'
                )
                y += ROW
            y += GROUP
        y += PANEL - GROUP
    height = y - PANEL + 24
    title = "How much longer a workflow takes when something goes wrong once"
    under = "Three steps, one fault in the middle of the longest; work since its last checkpoint is included."
    ground = f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n"
        f'{ground}\n<text class="title" x="16" y="28">{title}</text>\n'
        f'<text class="small" x="16" y="46">{under}</text>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _wait(minutes: int) -> str:
    if minutes == 0:
        return "An empty queue"
    return f"{minutes} minute{'s' if minutes > 1 else ''} in the queue each time"


def main() -> int:
    """Read the figures of the file named first, write the picture to the second, and print the table."""
    figures = json.loads(Path(sys.argv[1]).read_text())["figures"]
    made = makespans(figures)
    found = costs(made)
    if not found:
        print(f"{sys.argv[1]}: no figures of faults with one without", file=sys.stderr)
        return 1
    Path(sys.argv[2]).write_text(draw(found))
    print(table(made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
