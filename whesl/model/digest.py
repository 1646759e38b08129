"""Short digests of names and small files, without loading ``hashlib``.

``hashlib`` loads OpenSSL's library with it, which is 2 ms of a task's start and 3.5 MiB of its isolator's
memory. The interpreter's own module of ``blake2b`` (RFC 7693) needs neither.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from hashlib import blake2b as blake2b
else:
    try:
        from _blake2 import blake2b
    except ImportError:  # an interpreter that is built in another way
        from hashlib import blake2b as blake2b

# Bytes of a file's name; a file system takes 255, and locks and temporary files have longer names.
_LONGEST, _KEPT = 224, 180


def hexdigest(content: bytes, size: int) -> str:
    """Return the BLAKE2b digest of bytes as text.

    Args:
        content: what is digested.
        size: of the digest, bytes.
    """
    return blake2b(content, digest_size=size).hexdigest()


def file_name(quoted: str) -> str:
    """Return a name as a file can have it: the name itself; its beginning and a digest where it is too long.

    Args:
        quoted: the name, in ASCII.
    """
    return quoted if len(quoted) <= _LONGEST else f"{quoted[:_KEPT]}-{hexdigest(quoted.encode(), 16)}"
