"""The kinds of detections, a module each: how they are written, checked and said, and what raises them.

A kind is part of the language once it is in the union below; ``CONTRIBUTING.md`` says what it consists of.
"""

from __future__ import annotations

from typing import get_args

from whesl.esl.detections.base import Kind
from whesl.esl.detections.disk import DiskDetection, DiskMetric
from whesl.esl.detections.exit import CodeRange, ExitDetection
from whesl.esl.detections.job_exception import JobExceptionDetection
from whesl.esl.detections.log import LogDetection, Require
from whesl.esl.detections.node import NodeCondition, NodeDetection
from whesl.esl.detections.timers import HangDetection, ProgressDetection, SilenceDetection
from whesl.esl.detections.told import CountDetection, ExternalDetection, PredictedDetection

__all__ = [
    "KINDS",
    "CodeRange",
    "CountDetection",
    "Detection",
    "DiskDetection",
    "DiskMetric",
    "ExitDetection",
    "ExternalDetection",
    "HangDetection",
    "JobExceptionDetection",
    "LogDetection",
    "NodeCondition",
    "NodeDetection",
    "PredictedDetection",
    "ProgressDetection",
    "Require",
    "SilenceDetection",
]

Detection = (
    LogDetection
    | HangDetection
    | SilenceDetection
    | ProgressDetection
    | ExitDetection
    | NodeDetection
    | JobExceptionDetection
    | ExternalDetection
    | PredictedDetection
    | DiskDetection
    | CountDetection
)
KINDS: tuple[type[Kind], ...] = get_args(Detection)
