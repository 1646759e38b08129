"""All kinds of detections of the language, as a union of their records."""

from __future__ import annotations

from typing import get_args

from whesl.language.detections.base import Kind
from whesl.language.detections.cause import CauseDetection
from whesl.language.detections.disk import DiskDetection
from whesl.language.detections.exit import ExitDetection
from whesl.language.detections.external_and_counted import (
    CountDetection,
    ExternalDetection,
    PredictedDetection,
)
from whesl.language.detections.job_exception import JobExceptionDetection
from whesl.language.detections.log import LogDetection
from whesl.language.detections.node import NodeDetection
from whesl.language.detections.output_file import PromisedDetection
from whesl.language.detections.timers import HangDetection, ProgressDetection, SilenceDetection

Detection = (
    LogDetection
    | HangDetection
    | SilenceDetection
    | ProgressDetection
    | ExitDetection
    | CauseDetection
    | PromisedDetection
    | NodeDetection
    | JobExceptionDetection
    | ExternalDetection
    | PredictedDetection
    | DiskDetection
    | CountDetection
)
KINDS: tuple[type[Kind], ...] = get_args(Detection)


def by_form() -> dict[str, type[Kind]]:
    """Return the kind that each alternative of ``detection`` in the grammar becomes."""
    return {alternative: kind for kind in KINDS for alternative in kind.alternatives}
