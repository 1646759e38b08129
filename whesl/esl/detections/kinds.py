"""The list of all kinds: what stands in the union is part of the language."""

from __future__ import annotations

from typing import get_args

from whesl.esl.detections.base import Kind
from whesl.esl.detections.cause import CauseDetection
from whesl.esl.detections.disk import DiskDetection
from whesl.esl.detections.exit import ExitDetection
from whesl.esl.detections.external_and_counted import CountDetection, ExternalDetection, PredictedDetection
from whesl.esl.detections.job_exception import JobExceptionDetection
from whesl.esl.detections.log import LogDetection
from whesl.esl.detections.node import NodeDetection
from whesl.esl.detections.promised import PromisedDetection
from whesl.esl.detections.timers import HangDetection, ProgressDetection, SilenceDetection

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
