"""The situations of an exercise in its own words, for the first sentence of a check that fails.

A check that compares numbers says which situation each of its cases is in; a recipe says that of what it makes. What
the failed cases have in common, and no passed one has, is what the student reads first.
"""

from collections.abc import Mapping

from grader.border.proxies import SubmissionProxy


def situations(submission: SubmissionProxy, words: Mapping[str, object]) -> None:
    """Names the situation of what the check does next. A second call in one run of the check begins the next case.

    Args:
        words: phrases that complete "wrong only", such as ``with a last batch that is shorter``, each with whether it
            is true here.
    """
    submission._channel.cases.name(words)
