"""The client of coordinated checkpoints for programs in Python (docs/checkpoints.md)."""

from __future__ import annotations

from whesl.api.lazy_names_and_deprecation import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whesl.checkpoints.client import Client as Client
    from whesl.checkpoints.client import CommitError as CommitError
    from whesl.checkpoints.client import DamagedError as DamagedError
    from whesl.checkpoints.client import OtherRanksError as OtherRanksError
    from whesl.checkpoints.manifest import Part as Part

if not TYPE_CHECKING:  # for type checkers a misspelled name stays an error
    __getattr__, __dir__ = lazily(__name__)
