"""Contract tests: what an adapter of each port has to do. A test class inherits one and gives its fixtures.

Needs pytest; call ``pytest.register_assert_rewrite("whesl.testing")`` first for failures that say more.
"""

from whesl.testing.contract_allocation import AllocationContract as AllocationContract
from whesl.testing.contract_allocation import NodeLossContract as NodeLossContract
from whesl.testing.contract_policy import PolicyContract as PolicyContract
from whesl.testing.contract_predictor import PredictorContract as PredictorContract
from whesl.testing.contract_provider import ProviderContract as ProviderContract
from whesl.testing.contract_rjms import SchedulerContract as SchedulerContract
from whesl.testing.contract_workflow import WorkflowManagerContract as WorkflowManagerContract
