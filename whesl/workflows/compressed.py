"""Text files, compressed or not."""

from __future__ import annotations

import gzip
import lzma
import zlib
from typing import TYPE_CHECKING

from whesl.model.errors import WheslError

if TYPE_CHECKING:
    from pathlib import Path


def text(path: Path) -> str:
    """Return a whole file as text; ``.xz`` and ``.gz`` are unpacked.

    Args:
        path: the file.

    Raises:
        WheslError: it cannot be read, is damaged, or is no text in UTF-8.
    """
    try:
        if path.suffix == ".xz":
            data = lzma.decompress(path.read_bytes())
        elif path.suffix == ".gz":
            data = gzip.decompress(path.read_bytes())
        else:
            data = path.read_bytes()
        return data.decode()
    except OSError as error:
        raise WheslError(f"cannot read {path}: {error.strerror or error}") from error
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise WheslError(f"cannot read {path}: {error}", hint="is it whole?") from error
    except UnicodeDecodeError as error:
        raise WheslError(f"{path} is no text: byte {error.start} is not UTF-8") from error
