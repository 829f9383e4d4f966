"""Every figure: a function from a tidy frame to a chart, by name."""

from semfocus.report.figures.attention_map import ATTENTION_MAP
from semfocus.report.figures.figure import FORMATS, Figure, Look, Panel, Picture
from semfocus.report.figures.layers import LAYERS
from semfocus.report.figures.learning import CURVES
from semfocus.report.figures.lengths import LENGTHS
from semfocus.report.figures.loss_maps import CUTS, SLOPES, SURFACE
from semfocus.report.figures.mechanisms import ALONG, CORRELATIONS, DISPERSION, KEPT_KEYS, WORST_CASE
from semfocus.report.figures.regions import REGIONS
from semfocus.report.figures.scatter import (
    DISPERSION_AND_SPEEDUP,
    FOCUS_AND_SPEEDUP,
    MASKS,
    SPARSITY_OR_SHARPNESS,
)
from semfocus.report.figures.speedup import ROBUSTNESS, SPEEDUP
from semfocus.report.figures.survival import SURVIVAL
from semfocus.report.figures.trial_ratios import TRIAL_CURVES, TRIAL_INSIDE, TRIAL_RATIOS
from semfocus.report.figures.twin_distances import TWINS

__all__ = ["FIGURES", "FORMATS", "STUDY_FIGURES", "Figure", "Look", "Panel", "Picture"]

#: from the summaries of a study
STUDY_FIGURES = {figure.name: figure for figure in (SPEEDUP, CURVES, SURVIVAL, LENGTHS, TWINS)}
#: from a sweep over one setting, or from a mechanism test
_TESTS = (
    *(ROBUSTNESS, DISPERSION, DISPERSION_AND_SPEEDUP, CORRELATIONS, SPARSITY_OR_SHARPNESS),
    *(FOCUS_AND_SPEEDUP, MASKS, KEPT_KEYS, WORST_CASE, ALONG),
)
#: from probed runs, loss landscapes and numbers of the theory
_OTHERS = (LAYERS, ATTENTION_MAP, SURFACE, CUTS, SLOPES, REGIONS)
#: from the result of a trial
_OF_TRIALS = (TRIAL_RATIOS, TRIAL_CURVES, TRIAL_INSIDE)
FIGURES = STUDY_FIGURES | {figure.name: figure for figure in (*_TESTS, *_OTHERS, *_OF_TRIALS)}
