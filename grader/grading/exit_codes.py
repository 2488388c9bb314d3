"""The exit codes of the commands that grade, and which of them results lead to."""

from collections.abc import Iterable

from grader.results import ALL_LAYERS, SubmissionResult, total_points
from grader.sandbox.sandbox import full_set

PASSED, FAILED, INTERRUPTED, FAULT, USAGE = range(5)


def exit_code(results: Iterable[SubmissionResult], fail_under: float | None, skipped_ok: bool = False) -> int:
    """0 all passed, 1 some failed (`fail_under`: only if a score is below that percentage), 3 a fault of the grader.

    Points that are not assessed count as missing, unless `skipped_ok`.
    """
    tally = Tally(fail_under, skipped_ok)
    for result in results:
        tally.add(result)
    return tally.code


class Tally:
    """The exit code of results that are added one after another.

    Attributes:
        code: the exit code so far.
        missing_layers: the sandbox's layers that some submission was graded without.
        is_incomplete: whether points that are not assessed count as missing.
    """

    def __init__(self, fail_under: float | None, skipped_ok: bool = False) -> None:
        self.code = PASSED
        self.missing_layers: set[str] = set()
        self.is_incomplete = False
        self._fail_under = fail_under
        self._skipped_ok = skipped_ok

    def add(self, result: SubmissionResult) -> None:
        """Counts one more result."""
        if "error" in result.verdicts:
            self.code = FAULT
            return
        self.missing_layers.update(missing_layers(result))
        missing = () if self._skipped_ok else result.left_out
        self.is_incomplete = self.is_incomplete or bool(missing)
        if self._fail_under is None:
            fails = bool(missing) or not result.verdicts <= {"passed", "skipped"}
        else:
            most = total_points([result.max, *(exercise.not_assessed for exercise in missing)])
            # A submission of which nothing was assessed fails too: its percentage is not known.
            fails = result.max <= 0 or 100 * result.score < self._fail_under * most - 1e-9
        if fails:
            self.code = max(self.code, FAILED)


def missing_layers(result: SubmissionResult) -> list[str]:
    """The layers of a full sandbox that the submission was graded without; none if nothing of it was run."""
    full = full_set()
    if result.verdicts <= {"error", "skipped"}:
        return []
    if not full or not result.sandbox:
        return [ALL_LAYERS]
    return [layer for layer in full if layer not in result.sandbox]
