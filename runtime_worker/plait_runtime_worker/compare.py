"""How far a model's outputs are from the original's, as plait.v1.EquivalenceReport and
CandidateMeasurement define it."""

import math

import numpy

# A channel is measured by its own largest value and this share of its output's.
OUTPUT_SHARE = 0.1
# Errors of single outputs that an answer has.
OUTPUTS_MAX = 256


class Comparison:
    """Over all outputs and inputs; the largest of each error counts."""

    def __init__(self):
        self.max_abs_error = 0.0
        self.max_rel_error = 0.0
        self.max_channel_error = 0.0
        self.inputs_tried = 0
        self.outputs = []  # [max_abs_error, max_rel_error, max_channel_error, rms_error] of each
        self._alive = []
        self._first = []

    @property
    def dead_outputs(self):
        """Whether some output had one value everywhere, whatever the input."""
        return not all(self._alive)

    def add(self, original, candidate):
        """The outputs of both on one input, as lists of arrays."""
        self.inputs_tried += 1
        while len(self._alive) < len(original):
            self._alive.append(False)
            self._first.append(None)
            self.outputs.append([0.0] * 4)
        for index, expected in enumerate(original):
            self._look_alive(index, expected)
            is_like = (len(original) == len(candidate)
                       and expected.dtype == candidate[index].dtype
                       and expected.shape == candidate[index].shape)
            errors = _errors(expected, candidate[index]) if is_like else (0, *[math.inf] * 3)
            absolute, relative, channel, _ = errors
            self.max_abs_error = max(self.max_abs_error, absolute)
            self.max_rel_error = max(self.max_rel_error, relative)
            self.max_channel_error = max(self.max_channel_error, channel)
            self.outputs[index] = [max(pair) for pair in zip(self.outputs[index], errors)]

    def _look_alive(self, index, array):
        if array.size == 0:
            self._alive[index] = True
            return
        flat = array.reshape(-1)
        if self._first[index] is None:
            self._first[index] = flat[0]
        first = self._first[index]
        if first != first:  # NaN
            self._alive[index] |= not bool(numpy.isnan(flat).all())
        else:
            self._alive[index] |= bool((flat != first).any())


def _errors(expected, got):
    """Absolute, relative, of a channel, and root mean square."""
    if expected.size == 0:
        return 0.0, 0.0, 0.0, 0.0
    if expected.dtype.kind not in "fiub":
        return 0.0, math.inf, math.inf, math.inf
    a, b = expected.astype(numpy.float64), got.astype(numpy.float64)
    finite = numpy.isfinite(a) & numpy.isfinite(b)
    same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    difference = numpy.where(finite, numpy.abs(numpy.where(finite, a - b, 0)), 0)
    absolute = float(difference.max())
    is_float = expected.dtype.kind == "f"
    if not bool((finite | same).all()) or (not is_float and absolute > 0):
        return absolute, math.inf, math.inf, math.inf
    size = numpy.where(finite, numpy.abs(a), 0)
    largest = float(size.max())
    axes = tuple(axis for axis in range(a.ndim) if axis != 1) if a.ndim >= 3 else None
    channel_error = numpy.atleast_1d(difference.max(axis=axes))
    scale = numpy.atleast_1d(size.max(axis=axes)) + OUTPUT_SHARE * largest
    ratio = numpy.divide(channel_error, scale, out=channel_error.copy(), where=scale > 0)
    rms = math.sqrt(float((difference * difference).sum()) / a.size)
    return absolute, absolute / largest if largest > 0 else absolute, float(ratio.max()), rms
