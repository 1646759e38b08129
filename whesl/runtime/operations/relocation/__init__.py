"""Work on trees of files for the operations on file systems: mirror, copy, link, carry over."""
