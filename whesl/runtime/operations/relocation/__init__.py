"""What the operations on file systems do with trees of files: mirror, copy, link, carry over."""
