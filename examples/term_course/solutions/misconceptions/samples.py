"""Classic wrong answers of samples."""

from grader.testkit import misconception


@misconception(
    "mean", tell="You returned the number in the middle, which is the median. The mean is the sum / the count."
)
def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


@misconception("centered", tell="You subtracted the smallest number, so the list begins at 0. Subtract the mean.")
def from_zero(values: list[float]) -> list[float]:
    return [value - min(values) for value in values]
