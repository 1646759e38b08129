"""The port to clouds: start one instance for a token, look, end. Contract tests: ``ProviderContract``."""

from __future__ import annotations

from whesl.api.lazy_names_and_deprecation import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whesl.cloud.providers.port import EndReason as EndReason
    from whesl.cloud.providers.port import Instance as Instance
    from whesl.cloud.providers.port import InstanceRequest as InstanceRequest
    from whesl.cloud.providers.port import InstanceState as InstanceState
    from whesl.cloud.providers.port import Market as Market
    from whesl.cloud.providers.port import NoCapacityError as NoCapacityError
    from whesl.cloud.providers.port import Offer as Offer
    from whesl.cloud.providers.port import Provider as Provider
    from whesl.cloud.providers.port import TellsLimits as TellsLimits
    from whesl.cloud.providers.port import TokenMismatchError as TokenMismatchError
    from whesl.model.errors import CouldNotObserveError as CouldNotObserveError
    from whesl.model.errors import RefusedError as RefusedError
    from whesl.model.errors import TransientError as TransientError
    from whesl.model.errors import UsageError as UsageError

if not TYPE_CHECKING:  # for type checkers a misspelled name stays an error
    __getattr__, __dir__ = lazily(__name__)
