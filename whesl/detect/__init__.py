"""Detection: from a task's output, exits, nodes and disks to exceptions with their evidence.

``Watch`` is what the isolator uses. Below it: ``tail`` (files), ``matcher`` (patterns in bytes), ``core``
(the detectors, pure). Beside it: ``transform`` (counting), ``disk``, ``stacks``.
"""

from whesl.detect.core import Detected
from whesl.detect.disk import Usage, read_usage
from whesl.detect.patterns import PatternError
from whesl.detect.transform import History, Transformed, transform
from whesl.detect.watch import Watch

__all__ = [
    "Detected",
    "History",
    "PatternError",
    "Transformed",
    "Usage",
    "Watch",
    "read_usage",
    "transform",
]
