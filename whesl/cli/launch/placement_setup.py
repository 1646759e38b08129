"""Uses of the predictions of ``whesl run --placement``: a table for tasks, Flux's scheduler module."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from whesl.files import file_retry
from whesl.model.errors import UsageError, WheslError, missing
from whesl.placement.site.publish import risk_table as published

_MODEL = b"PK"  # first bytes of a fitted model's file
_VALID = 30 * 86400.0  # seconds for which a table made of a model is valid


def table(file: str, directory: Path) -> str:
    """Return the path of a table of predictions for tasks: the file itself, or a table made of a model.

    Args:
        file: the file of a table or model, as the user gave it.
        directory: the run's directory, for a new table.

    Raises:
        WheslError: the file holds no predictions.
    """
    path = Path(file).absolute()
    try:
        with path.open("rb") as opened:
            begin = opened.read(len(_MODEL))
    except OSError as error:
        raise UsageError(
            f"--placement {file}: {error.strerror}", hint="`whesl placement learn` makes such a file"
        ) from None
    if begin != _MODEL:
        published.read(path)
        return str(path)
    try:
        from whesl.placement.site.history import model
    except ModuleNotFoundError as error:
        raise missing(error, "a model", "whesl[predict]") from None
    found = model.load(path)
    made = published.make(found.predictor, found.names, time.time(), valid_for=_VALID)
    target = directory / "placement.json"
    file_retry.replace(target, published.encode(made), durable=True)
    return str(target)


@contextmanager
def placed(file: str, say: Callable[[str], None], *, act: bool) -> Iterator[None]:
    """Within the context, let this process's Flux instance place jobs by predictions.

    If that is impossible, the workflow runs nevertheless, and the reason is shown.

    Args:
        file: the file of the predictions, as the user gave it.
        say: shows a line to the user.
        act: whether jobs get the ranks of the policy; otherwise the module only reports its choice.
    """
    from whesl.placement.site.flux import module_loading

    mine = False
    try:
        if module_loading.scheduler() == module_loading.MODULE:
            say(f"whesl: {module_loading.MODULE} is loaded already, and stays as it is")
        else:
            instead = module_loading.load(module_loading.Options(predictions=file, acts=act)).instead
            mine = True
            say(f"whesl: {module_loading.MODULE} places jobs in the place of {instead or 'no scheduler'}")
    except WheslError as error:
        say(f"whesl: jobs are placed by Flux alone: {error.message}")
    try:
        yield
    finally:
        if mine:
            try:
                module_loading.remove()
            except WheslError as error:
                say(f"whesl: {error.message}; {error.hint}")
