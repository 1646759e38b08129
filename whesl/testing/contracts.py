"""Contract tests for the adapters of each port. A test class inherits a contract and defines its fixtures.

Needs pytest; call ``pytest.register_assert_rewrite("whesl.testing")`` first for detailed failures.
"""

from whesl.testing.contract_allocation import AllocationContract as AllocationContract
from whesl.testing.contract_allocation import NodeLossContract as NodeLossContract
from whesl.testing.contract_policy import PolicyContract as PolicyContract
from whesl.testing.contract_predictor import PredictorContract as PredictorContract
from whesl.testing.contract_provider import ProviderContract as ProviderContract
from whesl.testing.contract_rjms import SchedulerContract as SchedulerContract
from whesl.testing.contract_workflow import WorkflowManagerContract as WorkflowManagerContract
