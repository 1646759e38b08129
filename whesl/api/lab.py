"""The lab: policies and predictors on real traces, in simulated machines. Needs the extra ``lab``.

Everything below is imported when it is first used, so that importing this module costs nothing:

    from pathlib import Path
    from whesl.api import lab

    log = lab.read_swf(Path("SDSC-SP2.swf.xz"))
    work, left_out = lab.workload(log, processors=128)
    easy = lab.simulate(work, 128, "easy")
    print(easy.measures["mean_wait"], "seconds")

docs/lab/library.md goes on from there.
"""

from __future__ import annotations

from whesl.api.lazy_names_and_deprecation import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whesl.lab.execution.progress_interface import Progress as Progress
    from whesl.lab.execution.progress_interface import Silent as Silent
    from whesl.lab.readers.failures import periods as read_periods
    from whesl.lab.readers.machine_file import read as read_resources
    from whesl.lab.readers.site_log_format_detection import read_failures as read_failures
    from whesl.lab.readers.site_log_format_detection import read_jobs as read_jobs
    from whesl.lab.readers.swf import read as read_swf
    from whesl.lab.readers.workflow_formats import read as read_graph
    from whesl.lab.replay.case_from_logs import Case as Case
    from whesl.lab.replay.case_from_logs import prepare as prepare
    from whesl.lab.replay.policy_comparison import Replay as Replay
    from whesl.lab.replay.policy_comparison import candidate as candidate
    from whesl.lab.replay.policy_comparison import replay as replay_case
    from whesl.lab.replay.savings_bootstrap import savings as savings
    from whesl.lab.results.jobs_parquet_and_summary_json import write_jobs as write_jobs
    from whesl.lab.results.jobs_parquet_and_summary_json import write_summary as write_summary
    from whesl.lab.results.report_figures import Figure as Figure
    from whesl.lab.results.report_figures import Series as Series
    from whesl.lab.results.report_figures import write_figure as write_figure
    from whesl.lab.results.report_page import Page as Page
    from whesl.lab.results.report_page import Section as Section
    from whesl.lab.results.report_page import write_page as write_page
    from whesl.lab.results.report_tables import Table as Table
    from whesl.lab.results.report_tables import write_table as write_table
    from whesl.lab.simulators.cluster.measures import measures as measures
    from whesl.lab.simulators.cluster.measures import outcome as outcome
    from whesl.lab.simulators.cluster.python_event_loop import simulate as simulate_policy
    from whesl.lab.simulators.cluster.simulation import Simulation as Simulation
    from whesl.lab.simulators.cluster.simulation import simulate as simulate
    from whesl.lab.simulators.cluster.simulation_records import Attempts as Attempts
    from whesl.lab.simulators.cluster.simulation_records import Workload as Workload
    from whesl.lab.simulators.cluster.simulation_records import workload as workload
    from whesl.lab.simulators.workflow.simulate import simulate as simulate_workflows
    from whesl.placement.policies.port import Decisions as Decisions
    from whesl.placement.policies.port import Policy as Policy
    from whesl.placement.policies.port import View as View
    from whesl.prediction.failures.failure_history import History as History
    from whesl.prediction.failures.failure_history import merged as merged
    from whesl.prediction.failures.given_accuracy_predictors import exact as exact
    from whesl.prediction.failures.given_accuracy_predictors import of_accuracy as of_accuracy
    from whesl.prediction.failures.periodic_and_survival_prediction import fit as fit_ffp
    from whesl.prediction.failures.port import Predictor as Predictor
    from whesl.prediction.failures.survival import fit as fit_survival

if not TYPE_CHECKING:  # for type checkers a misspelled name stays an error
    __getattr__, __dir__ = lazily(__name__, extra="whesl[lab]")
