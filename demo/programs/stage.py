"""One stage of the OAI image analysis, as an input/output skeleton.

The dissertation's table 4.2 gives the files and megabytes that each stage writes for one image; this
program writes just those, scaled, with contents that depend on everything it has read. So a wrong or
missing input shows in the outputs, and two runs can be compared byte for byte.

A file appears under its final name only when it is complete; a restart keeps what is complete.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from pathlib import Path

# stage: (megabytes in all, files), dissertation (2026), table 4.2
STAGES = {
    "preprocess": (28.20, 1),
    "segmentation": (76.80, 2),
    "extract_surface_mesh": (5.99, 1),
    "register_image_to_atlas": (234.75, 1),
    "warp_mesh": (2.09, 6),
}
CHUNKS = 8


def digest_inputs(directories: list[Path]) -> bytes:
    """Return the digest of all files in the input directories, by name and content."""
    digest = hashlib.sha256()
    for directory in directories:
        files = sorted(path for path in directory.iterdir() if path.suffix == ".dat")
        if not files:
            raise FileNotFoundError(2, "no input files", str(directory))
        for path in files:
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.digest()


def write_file(path: Path, size: int, seed: bytes, pause: float) -> None:
    """Write ``size`` bytes in chunks with a pause after each, and name the file when it is whole."""
    part = path.with_suffix(".part")
    chunk = max(1, size // CHUNKS)
    written = 0
    with part.open("wb", buffering=0) as file:
        while written < size:
            data = hashlib.shake_256(seed + written.to_bytes(8, "big")).digest(min(chunk, size - written))
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            written += len(data)
            time.sleep(pause)
        os.fsync(file.fileno())
    part.rename(path)


def main() -> int:
    """Run the stage; the exit status is 1 when an output could not be written, 2 for a missing input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=sorted(STAGES))
    parser.add_argument("--image", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--input", type=Path, action="append", default=[])
    parser.add_argument("--scale", type=float, default=0.01, help="share of the table's megabytes")
    parser.add_argument("--seconds", type=float, default=0.5, help="time that the writing takes")
    options = parser.parse_args()

    megabytes, files = STAGES[options.stage]
    size = int(megabytes * 1e6 * options.scale / files)
    print(f"{options.stage}: image {options.image}, {files} files of {size} bytes", flush=True)
    try:
        inputs = digest_inputs(options.input)
    except OSError as error:
        print(f"{options.stage}: cannot read {error.filename}: {error.strerror}", flush=True)
        return 2
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for index in range(files):
            path = options.out / f"{options.stage}_{options.image}_{index}.dat"
            if path.exists():
                print(f"{options.stage}: {path.name} is complete already", flush=True)
                continue
            seed = hashlib.sha256(f"{options.stage}/{options.image}/{index}".encode() + inputs).digest()
            write_file(path, size, seed, options.seconds / files / CHUNKS)
            print(f"{options.stage}: wrote {path.name}", flush=True)
    except OSError as error:
        print(f"{options.stage}: cannot write in {options.out}: {error.strerror}", flush=True)
        return 1
    print(f"{options.stage}: done", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
