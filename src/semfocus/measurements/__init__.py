"""Measurements: what is found out about a trained run and kept in its directory."""

from semfocus.measurements.interior import Inside
from semfocus.measurements.landscape.grids import Landscape
from semfocus.measurements.lengths import Lengths
from semfocus.measurements.measurement import MEASUREMENTS, Measurement, measurement_of
from semfocus.measurements.twins import Twins

__all__ = ["MEASUREMENTS", "Inside", "Landscape", "Lengths", "Measurement", "Twins", "measurement_of"]
