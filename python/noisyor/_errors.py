"""Errors of the library. Files that cannot be read or written raise ``OSError`` and its subclasses."""


class NoisyOrError(Exception):
    """Anything that the library refuses or fails with."""


class UsageError(NoisyOrError, ValueError):
    """Options that make no sense, alone, together, or with this data."""


class InputError(NoisyOrError, ValueError):
    """A file's content is not what it should be; the message has the line where the file has lines."""


class DeviceError(NoisyOrError, RuntimeError):
    """A GPU is missing, cannot run the kernels, or failed."""


class NumericError(NoisyOrError, ArithmeticError):
    """NaN or infinity turned up: weights out of range, or a step that is too large."""


class TrainingInterrupted(UserWarning):
    """Training was stopped by Ctrl-C; the model is the best so far."""
