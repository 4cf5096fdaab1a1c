"""Noisy-OR Bayesian networks: hierarchical topic models of binary data.

`NoisyOr` is the estimator for scikit-learn, `Model` a trained network, `Corpus` documents that are used often.
"""

import os as _os
import sys as _sys

from ._core import __version__
from ._errors import DeviceError, InputError, NoisyOrError, NumericError, TrainingInterrupted, UsageError
from .corpus import Corpus
from .devices import bench, devices
from .estimator import NoisyOr
from .explanation import Explanation
from .inference import Inference, Sample
from .model import Model
from .topics import Topic, Topics

# Mesa's device-selection layer complains where there is no display, as the program knows, too.
if _sys.platform == "linux" and not {"MESA_VK_DEVICE_SELECT", "DRI_PRIME"} & _os.environ.keys():
    _os.environ.setdefault("NODEVICE_SELECT", "1")

__all__ = [
    "Corpus",
    "DeviceError",
    "Explanation",
    "Inference",
    "InputError",
    "Model",
    "NoisyOr",
    "NoisyOrError",
    "NumericError",
    "Sample",
    "Topic",
    "Topics",
    "TrainingInterrupted",
    "UsageError",
    "__version__",
    "bench",
    "devices",
]
