"""Where locks of a file system hold, as its mount says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.runtime.locking.lock_scope import Scope, mount_of

MOUNTS = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,errors=remount-ro
40 22 0:40 / /home rw,relatime shared:1 - nfs4 srv:/home rw,vers=4.2,hard,local_lock=none
41 22 0:41 / /old rw,relatime - nfs srv:/old rw,vers=3,nolock,local_lock=all,addr=10.0.0.1
42 22 0:42 / /posix rw,relatime - nfs srv:/posix rw,vers=3,local_lock=posix
43 22 0:43 / /flock rw,relatime - nfs srv:/flock rw,vers=3,local_lock=flock
44 22 0:44 / /scratch rw,relatime - lustre 10.0.0.2@tcp:/scratch rw,flock,lazystatfs
45 22 0:45 / /site rw,relatime - lustre 10.0.0.2@tcp:/site rw,localflock
46 22 0:46 / /with\\040blank rw - beegfs beegfs_nodev rw
48 22 0:48 / /over rw - ext4 /dev/sdb rw
49 48 0:49 / /over rw - lustre mds:/over rw
broken line
34 22 - -
47 40 0:47 / /home/over rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "scope", "options"),
    [
        ("/etc", "ext4", Scope.EVERYWHERE, ()),
        ("/home/me", "nfs4", Scope.EVERYWHERE, ()),
        ("/homes", "ext4", Scope.EVERYWHERE, ()),
        ("/old", "nfs", Scope.HOST, ("local_lock=all", "nolock")),
        ("/posix/x", "nfs", Scope.EVERYWHERE, ()),
        ("/flock/x", "nfs", Scope.HOST, ("local_lock=flock",)),
        ("/scratch/x", "lustre", Scope.EVERYWHERE, ()),
        ("/site/x", "lustre", Scope.HOST, ("localflock",)),
        ("/with blank/x", "beegfs", Scope.UNKNOWN, ()),
        ("/over/x", "lustre", Scope.EVERYWHERE, ()),
        ("/home/over/x", "tmpfs", Scope.EVERYWHERE, ()),
    ],
)
def test_by_type_and_options(path: str, kind: str, scope: Scope, options: tuple[str, ...]) -> None:
    mount = mount_of(path, MOUNTS)
    assert (mount.kind, mount.scope, mount.local_options) == (kind, scope, options)


@given(st.text(), st.text())
def test_any_text_is_read(path: str, text: str) -> None:
    assert mount_of(path, text).kind
