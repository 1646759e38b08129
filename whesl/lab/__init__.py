"""The lab: policies and predictors on real traces, in simulated machines. Needs the extra ``lab``.

Everything below is imported when it is first used, so that ``import whesl.lab`` costs nothing:

    from pathlib import Path
    from whesl import lab

    log = lab.read_swf(Path("SDSC-SP2.swf.xz"))
    work, left_out = lab.workload(log, processors=128)
    easy = lab.simulate(work, 128, "easy")
    print(easy.measures["mean_wait"], "seconds")

docs/lab/library.md goes on from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whesl.lab.execution.progress_interface import Progress, Silent
    from whesl.lab.readers.failures import periods as read_periods
    from whesl.lab.readers.format_detection import read_failures, read_jobs
    from whesl.lab.readers.machine_file import read as read_resources
    from whesl.lab.readers.swf import read as read_swf
    from whesl.lab.readers.workflow_formats import read as read_graph
    from whesl.lab.replay.case_from_logs import Case, prepare
    from whesl.lab.replay.policy_comparison import Replay, candidate
    from whesl.lab.replay.policy_comparison import replay as replay_case
    from whesl.lab.replay.savings_bootstrap import savings
    from whesl.lab.results.figures import write_figure
    from whesl.lab.results.page import Page, Section, write_page
    from whesl.lab.results.result_writers import write_jobs, write_summary, write_table
    from whesl.lab.results.table_and_figure import Figure, Series, Table
    from whesl.lab.simulators.cluster.measures import measures, outcome
    from whesl.lab.simulators.cluster.policy_object_event_loop import simulate as simulate_policy
    from whesl.lab.simulators.cluster.simulation import Simulation, simulate
    from whesl.lab.simulators.cluster.simulation_records import Attempts, Workload, workload
    from whesl.lab.simulators.workflow.simulate import simulate as simulate_workflows
    from whesl.placement.policies.port import Decisions, Policy, View
    from whesl.prediction.failures.failure_history import History, merged
    from whesl.prediction.failures.given_accuracy import exact, of_accuracy
    from whesl.prediction.failures.periodic_and_survival_prediction import fit as fit_ffp
    from whesl.prediction.failures.port import Predictor
    from whesl.prediction.failures.survival import fit as fit_survival

__all__ = [
    "Attempts",
    "Case",
    "Decisions",
    "Figure",
    "History",
    "Page",
    "Policy",
    "Predictor",
    "Progress",
    "Replay",
    "Section",
    "Series",
    "Silent",
    "Simulation",
    "Table",
    "View",
    "Workload",
    "candidate",
    "exact",
    "fit_ffp",
    "fit_survival",
    "measures",
    "merged",
    "of_accuracy",
    "outcome",
    "prepare",
    "read_failures",
    "read_graph",
    "read_jobs",
    "read_periods",
    "read_resources",
    "read_swf",
    "replay_case",
    "savings",
    "simulate",
    "simulate_policy",
    "simulate_workflows",
    "workload",
    "write_figure",
    "write_jobs",
    "write_page",
    "write_summary",
    "write_table",
]
# name: (module, its name there); what is imported above for type checkers.
_PLACES = {
    "Attempts": ("whesl.lab.simulators.cluster.simulation_records", "Attempts"),
    "Case": ("whesl.lab.replay.case_from_logs", "Case"),
    "Decisions": ("whesl.placement.policies.port", "Decisions"),
    "Figure": ("whesl.lab.results.table_and_figure", "Figure"),
    "History": ("whesl.prediction.failures.failure_history", "History"),
    "Page": ("whesl.lab.results.page", "Page"),
    "Policy": ("whesl.placement.policies.port", "Policy"),
    "Predictor": ("whesl.prediction.failures.port", "Predictor"),
    "Progress": ("whesl.lab.execution.progress_interface", "Progress"),
    "Replay": ("whesl.lab.replay.policy_comparison", "Replay"),
    "Section": ("whesl.lab.results.page", "Section"),
    "Series": ("whesl.lab.results.table_and_figure", "Series"),
    "Silent": ("whesl.lab.execution.progress_interface", "Silent"),
    "Simulation": ("whesl.lab.simulators.cluster.simulation", "Simulation"),
    "Table": ("whesl.lab.results.table_and_figure", "Table"),
    "View": ("whesl.placement.policies.port", "View"),
    "Workload": ("whesl.lab.simulators.cluster.simulation_records", "Workload"),
    "candidate": ("whesl.lab.replay.policy_comparison", "candidate"),
    "exact": ("whesl.prediction.failures.given_accuracy", "exact"),
    "fit_ffp": ("whesl.prediction.failures.periodic_and_survival_prediction", "fit"),
    "fit_survival": ("whesl.prediction.failures.survival", "fit"),
    "measures": ("whesl.lab.simulators.cluster.measures", "measures"),
    "merged": ("whesl.prediction.failures.failure_history", "merged"),
    "of_accuracy": ("whesl.prediction.failures.given_accuracy", "of_accuracy"),
    "outcome": ("whesl.lab.simulators.cluster.measures", "outcome"),
    "prepare": ("whesl.lab.replay.case_from_logs", "prepare"),
    "read_failures": ("whesl.lab.readers.format_detection", "read_failures"),
    "read_graph": ("whesl.lab.readers.workflow_formats", "read"),
    "read_jobs": ("whesl.lab.readers.format_detection", "read_jobs"),
    "read_periods": ("whesl.lab.readers.failures", "periods"),
    "read_resources": ("whesl.lab.readers.machine_file", "read"),
    "read_swf": ("whesl.lab.readers.swf", "read"),
    "replay_case": ("whesl.lab.replay.policy_comparison", "replay"),
    "savings": ("whesl.lab.replay.savings_bootstrap", "savings"),
    "simulate": ("whesl.lab.simulators.cluster.simulation", "simulate"),
    "simulate_policy": ("whesl.lab.simulators.cluster.policy_object_event_loop", "simulate"),
    "simulate_workflows": ("whesl.lab.simulators.workflow.simulate", "simulate"),
    "workload": ("whesl.lab.simulators.cluster.simulation_records", "workload"),
    "write_figure": ("whesl.lab.results.figures", "write_figure"),
    "write_jobs": ("whesl.lab.results.result_writers", "write_jobs"),
    "write_page": ("whesl.lab.results.page", "write_page"),
    "write_summary": ("whesl.lab.results.result_writers", "write_summary"),
    "write_table": ("whesl.lab.results.result_writers", "write_table"),
}

if not TYPE_CHECKING:  # for type checkers a misspelled name stays an error

    def __getattr__(name):
        """Import and return what is called ``name``."""
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        module, there = _PLACES[name]
        try:
            found = getattr(importlib.import_module(module), there)
        except ModuleNotFoundError as error:
            from whesl.model.errors import missing

            raise missing(error, "the lab", "whesl[lab]") from error
        globals()[name] = found
        return found

    def __dir__():
        """Return the names."""
        return sorted([*globals(), *_PLACES])
