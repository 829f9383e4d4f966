"""Defects of what is concluded: tests, intervals, censoring, corrections, verdicts."""

from tests.mutants.mutant import Mutant, defects

STATISTICS: tuple[Mutant, ...] = (
    *defects(
        "tests/analysis/test_significance.py",
        "analysis/statistics/significance.py",
        ("Holm corrects nothing", "(len(p_values) - place) * p_values[name]", "p_values[name]"),
        ("Holm's p values may fall again", "largest = max(largest, min(", "largest = max(0.0, min("),
        (
            "a two-sided test is one-sided",
            "min(1.0, 2 * (subset_sums(of) <= tolerance).mean())",
            "min(1.0, (subset_sums(of) <= tolerance).mean())",
        ),
        ("p may be 0", "2 * (as_far + 1) / (DRAWS + 1)", "2 * as_far / (DRAWS + 1)"),
        (
            "an interval is too narrow by one value",
            "else float(means[place - 1])",
            "else float(means[place])",
        ),
        ("equal sums do not count as equal", "tolerance = 1e-9 *", "tolerance = 0.0 *"),
    ),
    *defects(
        "tests/analysis/test_speedup.py",
        "analysis/statistics/speedup.py",
        (
            "censored runs count as arrived",
            "            return self.value, math.inf\n",
            "            return self.value, self.value\n",
        ),
        (
            "an interval is normal for three seeds",
            "side * t_factor(num - 1, alpha) * error",
            "side * 1.96 * error",
        ),
        ("a variance forgets its mean", "/ (num - 1) / num)", "/ num / num)"),
        (
            "whole epochs count as exact",
            "return (max(0.0, low - self.resolution), high) if self.reached",
            "return (low, high) if self.reached",
        ),
        (
            "the ratio is turned round",
            "return base[0] / arm[1], base[1] / arm[0]",
            "return arm[0] / base[1], base[1] / arm[0]",
        ),
        (
            "equivalence without a narrow interval",
            "farthest < math.log(EQUIVALENT)",
            "farthest < 2 * math.log(EQUIVALENT)",
        ),
    ),
    *defects(
        "tests/analysis/test_survival.py",
        "analysis/statistics/survival.py",
        (
            "who arrives is not at risk any more",
            "at_risk = sum(duration >= time",
            "at_risk = sum(duration > time",
        ),
        (
            "the median of an unfinished curve is its last step",
            "/ 2 if following else None",
            "/ 2 if following else curve.times[index]",
        ),
    ),
    *defects(
        "tests/analysis/test_findings.py",
        "analysis/findings.py",
        (
            "contrasts are not corrected",
            "adjusted = holm({str(each.contrast)",
            "adjusted = dict({str(each.contrast)",
        ),
        (
            "the others do not wait for the primary contrast",
            'is_open = not declared if primary is None else primary.verdict in ("faster", "slower")',
            "is_open = True",
        ),
        ("tasks that nobody learned are pooled", "if speedup.is_informative}\n    counted", "}\n    counted"),
    ),
    *defects(
        "tests/analysis/test_findings.py tests/analysis/test_verdict.py",
        "analysis/verdict.py",
        (
            "a verdict while runs go on",
            "speedup is None or speedup.num_open or not",
            "speedup is None or not",
        ),
        ("a verdict from four seeds", "FEWEST_PAIRS = 5", "FEWEST_PAIRS = 4"),
    ),
    *defects(
        "tests/test_until_decided.py",
        "analysis/statistics/sequential.py",
        ("looking twice costs nothing", "Interim(10, 3 / 160)", "Interim(10, 1 / 20)"),
    ),
    *defects(
        "tests/analysis/test_pooling.py",
        "analysis/statistics/pooling.py",
        (
            "a task with many seeds counts for more",
            "weights = [1 / speedup.num_pairs for",
            "weights = [1.0 for",
        ),
        (
            "tasks are all the same",
            "far = t_factor(num - 2, alpha) * math.sqrt(between + error**2)",
            "far = t_factor(num - 2, alpha) * error",
        ),
    ),
    *defects(
        "tests/analysis/test_significance.py",
        "analysis/statistics/order.py",
        (
            "Student's quantile has a degree of freedom too many",
            "_t_within(middle, degrees_of_freedom) < 1 - alpha",
            "_t_within(middle, degrees_of_freedom + 1) < 1 - alpha",
        ),
    ),
    *defects(
        "tests/theory/test_vectors.py tests/theory/test_top_k_stability.py",
        "theory/attention_lipschitz.py",
        (
            "a bound has the square of a norm for its cube",
            '3 * log(not_negative("token_norm", token_norm)))\n    gap',
            '2 * log(not_negative("token_norm", token_norm)))\n    gap',
        ),
    ),
)
