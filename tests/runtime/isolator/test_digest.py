"""Digests without OpenSSL."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.model.digest import hexdigest


@given(content=st.binary(max_size=300), size=st.integers(1, 64))
def test_it_is_what_hashlib_says(content: bytes, size: int) -> None:
    assert hexdigest(content, size) == hashlib.blake2b(content, digest_size=size).hexdigest()


@pytest.mark.parametrize(
    "module", ["whesl.runtime.isolator.launch.full_start", "whesl.runtime.isolator.__main__"]
)
def test_a_task_is_started_and_looked_after_without_openssl(module: str) -> None:
    code = f"import {module}, sys; print('_hashlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
