"""Placement policies: which waiting jobs start now, and where. Contract tests: ``PolicyContract``.

``whesl lab replay --policy FILE.py:CLASS`` runs one on a site's own log, ``whesl.api.lab.simulate_policy``
on any.
"""

from __future__ import annotations

from whesl.api.lazy_names_and_deprecation import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whesl.placement.policies.port import Decisions as Decisions
    from whesl.placement.policies.port import Nodes as Nodes
    from whesl.placement.policies.port import Policy as Policy
    from whesl.placement.policies.port import Queue as Queue
    from whesl.placement.policies.port import Running as Running
    from whesl.placement.policies.port import View as View

if not TYPE_CHECKING:  # for type checkers a misspelled name stays an error
    __getattr__, __dir__ = lazily(__name__)
