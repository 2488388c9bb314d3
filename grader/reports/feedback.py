"""Symbols and words about a result that all reports share, whatever their format.

Decides nothing and prints nothing: terminal, pages and exports share it, so that all of them say the same.
"""

import hashlib
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from grader.course import Course, Exercise
from grader.course.definitions import lines_in
from grader.gradebook import Comment, Mark, MarkedItem, Override, Row
from grader.intake.notebook import Cells
from grader.results import CheckResult, ExerciseResult, SubmissionResult, VerdictKind, total_points
from grader.text import clean, counted, listed, one_line, points

_OF_VERDICT: Final[dict[VerdictKind, tuple[str, str, str, str]]] = {
    "error": ("!", "bold magenta", "the grader's own fault, no points are lost", ""),
    "crashed": ("✗", "red", "crashed", "crashed"),
    "timeout": ("✗", "red", "took too long", "too slow"),
    "failed": ("✗", "red", "failed", ""),
    "blocked": ("○", "yellow", "blocked", ""),
    "skipped": ("–", "dim", "skipped", "not assessed"),
    "passed": ("✓", "green", "passed", ""),
}
"""The symbol, the style of a terminal and the words of each verdict, and what an instructor sees; the worst first."""
SYMBOLS: Final = {verdict: symbol for verdict, (symbol, _, _, _) in _OF_VERDICT.items()}
STYLES: Final = {verdict: style for verdict, (_, style, _, _) in _OF_VERDICT.items()}
VERDICT_WORDS: Final = {verdict: words for verdict, (_, _, words, _) in _OF_VERDICT.items()}
CHANGED: Final = "the work under it has changed"
"""The words about a mark, a comment or an override of other work than the present one."""
FAILING: frozenset[VerdictKind] = frozenset({"failed", "timeout", "crashed"})
"""Verdicts of a check that ran and did not pass because of the submission."""
_RESERVED: Final = re.compile(r'[<>:"/\\|?*\n\ufffd]+')
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names that Windows takes for devices."""
_NAME_BYTES: Final = 150
_FEW = 3
_NAMED = 6
"""Exercises that a list on one line names."""


def worst(exercise: ExerciseResult) -> VerdictKind:
    """The verdict that is shown for an exercise: the worst of its checks; ``skipped`` only if none passed."""
    kinds = {check.verdict for check in exercise.parts or exercise.checks}
    for kind in _OF_VERDICT:
        if kind in kinds and not (kind == "skipped" and "passed" in kinds):
            return kind
    return "skipped"


def not_assessed(result: SubmissionResult, by_hand: Collection[str] = ()) -> str:
    """The points that are not in the total, e.g. ``3 points not assessed: ddp.wrap, ddp.train``; empty if all are.

    Args:
        by_hand: exercises that a person gave points for.
    """
    worth = {one.name: one.not_assessed for one in result.left_out if one.name not in by_hand}
    return _points_aside(worth, "not assessed")


def not_marked(result: SubmissionResult, by_hand: Collection[str] = ()) -> str:
    """The points that nobody has marked yet, e.g. ``4 points not marked yet: findings.report``; empty if all are.

    Args:
        by_hand: exercises that a person gave points for.
    """
    worth = {one.name: one.manual.points for one in result.to_mark if one.manual and one.name not in by_hand}
    return _points_aside(worth, "not marked yet")


def _points_aside(worth: Mapping[str, float], why: str) -> str:
    total = total_points(worth.values())
    return f"{counted(total, 'point') + ' ' if total else ''}{why}: {listed([*worth], _NAMED)}" if worth else ""


def left_out(result: SubmissionResult, by_hand: Collection[str] = ()) -> str:
    """All points that are not in the total: not assessed, or not marked yet."""
    return "; ".join(filter(None, (not_assessed(result, by_hand), not_marked(result, by_hand))))


def about_manual(exercise: ExerciseResult) -> str:
    """An exercise that a person marks, on one line."""
    manual = exercise.manual
    if manual is None:
        return ""
    worth = f"marked by a person, worth {counted(manual.points, 'point')}"
    if manual.instead:
        there = [one.removesuffix(".md") for one in manual.instead]
        if there != [*manual.instead] and all(one.endswith(".ipynb") for one in there):
            return f"{worth}; it is in the text cells of {one_line(', '.join(there), 200)}"
        return f"{worth}; {manual.file} is not there, but {one_line(', '.join(manual.instead), 200)}"
    states = {"missing": f"; {manual.file} is not there", "untouched": f"; {manual.file} is as it was handed out"}
    return f"{worth}{states.get(manual.state, '')}"


def item_lines(items: Sequence[MarkedItem]) -> list[str]:
    """The items of a rubric and whether each was given, a line each."""
    return [f"{'✓' if one.given else '✗'} {one.text}: {points(one.given * one.points, one.points)}" for one in items]


def to_look_at(row: Row) -> list[str]:
    """Why a person should look at a submission: work that cannot be read or imported, or that was changed since."""
    there = {one.topic for one in row.result.unread}
    given = {one.exercise for one in row.overrides}
    failed: dict[str, str] = {}
    for exercise in row.result.exercises:
        for check in exercise.checks if exercise.topic not in there and exercise.name not in given else ():
            if check.cause and check.cause.stage == "import":
                failed.setdefault(exercise.topic, one_line(headline(check), 200))
    now = {one.name: one.score for one in row.result.exercises}
    below = [
        f"override of {one.exercise}: {one.points or 0.0:g} by hand, but the checks now give {now[one.exercise]:g}"
        for one in row.overrides
        if one.automatic is not None and one.automatic <= (one.points or 0.0) < now.get(one.exercise, 0.0)
    ]  # they gave less than the checks do now, but not when they were given
    return [*unread(row), *failed.values(), *changed_since(row), *below]


def notable(row: Row) -> list[str]:
    """Notable facts about a submission besides its points, for an instructor, a few words each."""
    result, penalty = row.result, row.penalty
    kinds = Counter(worst(exercise) for exercise in result.checked)
    found = ["GRADER FAULT"] if kinds["error"] else []
    found += ["needs a look"] if to_look_at(row) else []
    found += [f"{kinds[kind]} {word}" for kind, (_, _, _, word) in _OF_VERDICT.items() if word and kinds[kind]]
    named = sum(exercise.misconception is not None for exercise in result.exercises)
    found += [counted(named, "misconception")] if named else []
    found += [f"{len(row.given)} by hand"] if row.given else []
    found += [counted(len(row.comments), "comment")] if row.comments else []
    found += [f"late, {penalty:.0%} off" if penalty else "late"] if row.lates else []
    found += [counted(len(result.flags), "flag")] if result.flags else []
    return [*found, *filter(None, [left_out(result, row.given)])]


def changed_since(row: Row) -> list[str]:
    """Points and comments that people gave for other work than the present one, a line each."""
    of_kind = (("mark", row.marks), ("override", row.overrides), ("comment", row.comments))
    return [f"{kind} of {_subject(one)}: {CHANGED}" for kind, given in of_kind for one in given if one.stale]


def _subject(given: Mark | Override | Comment) -> str:
    return f"{given.exercise}, {given.place}" if isinstance(given, Comment) and given.line else given.exercise


def unread(row: Row) -> list[str]:
    """That topics could not be read, a line for each reason; the topics are named unless it is all of them."""
    if row.differing and row.unread:
        return [row.differing]
    return [f"{names} could not be read: {reason}".lstrip() for reason, names in _unread(row).items()]


def why_unread(row: Row) -> list[str]:
    """The same without the words "could not be read", for a text that has said so."""
    if row.differing and row.unread:
        return [row.differing]
    return [f"{names}: {reason}" if names else reason for reason, names in _unread(row).items()]


def _unread(row: Row) -> dict[str, str]:
    """The topics of each reason; empty for all."""
    topics = {exercise.topic for exercise in row.result.exercises}
    of_reason: dict[str, list[str]] = {}
    for one in row.unread:
        of_reason.setdefault(one.reason, []).append(one.topic)
    return {reason: "" if topics == set(those) else listed(those, _NAMED) for reason, those in of_reason.items()}


def not_imported(result: SubmissionResult) -> list[str]:
    """Why files could not be imported, a line for each: its name, the line or the cell, and the error."""
    checks = (check for exercise in result.exercises for check in exercise.checks)
    return [*dict.fromkeys(gist(check) for check in checks if check.cause and check.cause.stage == "import")]


def name_with_missing(row: Row) -> str:
    """The name of a submission, and the exercises that are not graded yet."""
    missing = f" ({listed(row.missing, _FEW)})" if row.missing else ""
    return f"{one_line(row.result.submission)}{missing}"


def work_file(exercise: ExerciseResult) -> str:
    """The file that has a student's answer, whether a person marks it or checks do."""
    return exercise.manual.work if exercise.manual else f"{exercise.topic}.py"


def lines_by_place(content: bytes) -> dict[tuple[int, int], tuple[int, str]]:
    """The lines of a file as reports number them: by the notebook's cell (0: it is no notebook) and the line there.

    Returns:
        The line's number in the file and its text. The headings of cells are not among them.
    """
    lines, cells = lines_in(content), Cells(content)
    if lines[-1:] == [""]:
        del lines[-1]
    found = ((cells.find(n) if cells else (0, n), (n, text)) for n, text in enumerate(lines, start=1))
    return {place: line for place, line in found if place[1]}


def own_name(exercise: ExerciseResult) -> str:
    """Its name without its topic's."""
    return exercise.name.partition(".")[2] or exercise.name


def not_passed(exercise: ExerciseResult) -> list[CheckResult]:
    """The checks of an exercise that did not pass."""
    return [check for check in exercise.checks if check.verdict != "passed"]


def earned(exercise: ExerciseResult) -> str:
    """The points of an exercise, its bonus apart: ``1/2 + 1 bonus``."""
    if exercise.max == 0:
        return "not assessed"
    bonus = f" + {exercise.bonus:g} bonus" if exercise.bonus else ""
    return f"{points(exercise.score - exercise.bonus, exercise.max)}{bonus}"


def worth_of(check: CheckResult) -> str:
    """The points of a check that has points of its own: ``0.5/1 points``; else empty."""
    bonus = " of a bonus" if check.is_bonus else ""
    return f"{points(check.score, check.max)} points{bonus}" if check.max > 0 else ""


def grouped(checks: Sequence[CheckResult], key: Callable[[CheckResult], object]) -> list[list[CheckResult]]:
    """The checks in groups of equal keys; groups are in the order of their first checks."""
    groups: dict[object, list[CheckResult]] = {}
    for check in checks:
        groups.setdefault(key(check), []).append(check)
    return list(groups.values())


def equal_groups(checks: Sequence[CheckResult]) -> list[list[CheckResult]]:
    """The checks in groups of equal verdict and cause."""
    return grouped(checks, lambda check: (check.verdict, check.cause))


def likeness(check: CheckResult) -> object:
    """Equal for checks that fail alike: the same exception at the same line, or the same reason with other numbers.

    In which situation does not matter: it is that of the check.
    """
    cause = check.cause
    if cause is None:
        return check.message
    if cause.exception_type:
        return cause.kind, cause.exception_type, cause.frames[-1:]
    reason = gist(check).removeprefix(f"wrong {cause.situation}: ")
    return cause.kind, re.sub(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", "#", reason)


def one_cause(exercise: ExerciseResult) -> CheckResult | None:
    """The first check, if one cause (such as a failing import) stopped all checks of the exercise; else None."""
    checks = exercise.checks
    is_shared = len(checks) > 1 and checks[0].verdict != "passed" and len(equal_groups(checks)) == 1
    return checks[0] if is_shared else None


def explanation_of(exercise: ExerciseResult) -> str | None:
    """The explanation of the misconception that was recognised; None if a slip of the pen, with its line, says more."""
    has_slip = any(check.cause is not None and check.cause.is_slip for check in exercise.checks)
    return None if has_slip else exercise.explanation


def hint_for(exercise: Exercise, check: CheckResult) -> str | None:
    """The hint that fits a check that does not pass; None for an exception or a wrong type: hints are about values.

    That is the one that names the check, else the first that names none.
    """
    if check.cause is not None and (check.cause.kind != "assertion" or check.cause.is_of_another_type):
        return None
    number = _named_hint(exercise, check)
    others = (number for number in range(1, len(exercise.hints) + 1) if number not in exercise.hints_for.values())
    number = number or next(others, 0)
    return exercise.hints[number - 1] if number else None


def _named_hint(exercise: Exercise, check: CheckResult) -> int:
    """The number of the hint that names a check; 0 if none does."""
    return exercise.hints_for.get(check.name.partition("[")[0], 0)


def hint_order(exercise: Exercise, result: ExerciseResult | None) -> list[int]:
    """The numbers of all hints, from 1: first the one for the check that fails first, then the others in order."""
    failing = [check for check in result.checks if check.verdict in FAILING] if result else []
    hint = hint_for(exercise, failing[0]) if failing else None
    first = exercise.hints.index(hint) + 1 if hint else _named_hint(exercise, failing[0]) if failing else 0
    return sorted(range(1, len(exercise.hints) + 1), key=lambda number: number != first)


def check_title(name: str) -> str:
    """A check's name in words; pytest's own id of a parameter, such as ``values0``, becomes the number of the case."""
    words, bracket, parameters = clean(name).replace("\n", " ").partition("[")
    words = words.replace("_", " ")
    if not bracket:
        return words
    made_up = re.fullmatch(r"[^\W\d]\w*?(\d+)", parameters.removesuffix("]"))
    return f"{words} (case {int(made_up[1]) + 1})" if made_up else f"{words} ({parameters.removesuffix(']')})"


def gist(check: CheckResult) -> str:
    """The advice of the cause on one line; the headline if it has none."""
    return check.cause.advice.partition("\n")[0] if check.cause and check.cause.advice else headline(check)


def what_happened(exercise: ExerciseResult, check: CheckResult) -> str:
    """The first sentence about a failure, on one line: the misconception's if one was recognised, else the advice.

    An advice that only compares numbers, or only names an exception, is followed by the check's own sentence.
    """
    explanation = explanation_of(exercise)
    if explanation:
        return explanation
    found, cause = gist(check), check.cause
    if cause is None or not cause.sentence:
        return found
    is_comparison = cause.kind == "assertion" and found == cause.reason.partition("\n")[0]
    return f"{found}: {cause.sentence}" if is_comparison or found.startswith("your code raised ") else found


def help_for(exercise: ExerciseResult, course: Course) -> tuple[str | None, str | None]:
    """The hint for the first failing check, unless a misconception explains it; and the command for the next one."""
    known = next((one for one in course.exercises if one.full_name == exercise.name), None)
    if known is None:
        return None, None
    failing = [check for check in exercise.checks if check.verdict in FAILING]
    hint = hint_for(known, failing[0]) if failing and not explanation_of(exercise) else None
    order = hint_order(known, exercise)[1 if hint else 0 :]
    level = f" --level {order[0]}" if order and order[0] > 1 else ""
    return hint, f"grader hint {known.full_name}{level}" if order else None


def file_stem(submission: str) -> str:
    """A unique file name for a submission, without extension: always the same, and safe on every file system.

    It has the letters and digits of the name, in their script, and a hash, as two names may have the same ones.
    """
    text = unicodedata.normalize("NFC", submission[:60].lower())
    slug = "".join(one if unicodedata.category(one)[0] in "LMN" else " " for one in text)
    slug = _beginning("-".join(slug.split())).strip("-")
    return f"{slug or 'submission'}-{hashlib.sha256(submission.encode('utf-8', 'replace')).hexdigest()[:10]}"


def file_names(people: Sequence[tuple[str, str]], taken: Iterable[str] = ()) -> list[str]:
    """A readable file name for each of some people, without extension: their name, in its own script.

    They differ on file systems that do not tell capital letters, too: those of one name have their ids, or numbers.

    Args:
        people: name and id of each; the id may be empty.
        taken: names that none of these may get.
    """
    names = [_file_name(name) or _file_name(key) or "submission" for name, key in people]
    counts = Counter(map(str.casefold, names))
    used = {one.casefold() for one in taken} | {key for key, count in counts.items() if count == 1}
    found = []
    for name, (_, key) in zip(names, people, strict=True):
        if counts[name.casefold()] > 1:
            numbered = (f"{name} ({number})" for number in itertools.count(1))
            others = itertools.chain([f"{name} ({_file_name(key)})"] if _file_name(key) else [], numbered)
            name = next(one for one in others if one.casefold() not in used)
            used.add(name.casefold())
        found.append(name)
    return found


def _file_name(text: str) -> str:
    """The text as a file's name that every system takes, composed (NFC); empty if nothing is left of it."""
    plain = _RESERVED.sub(" ", clean(unicodedata.normalize("NFC", text[:400])))
    plain = _beginning(" ".join(plain.split()).strip(" .-~")).strip(" .-~")
    return f"_{plain}" if _DEVICE.fullmatch(plain) else plain


def _beginning(text: str) -> str:
    """As much of a text as fits into a file's name, with room for more."""
    return text.encode("utf-8", "replace")[:_NAME_BYTES].decode("utf-8", "ignore")


def bounded(message: str, lines: int = 60, width: int = 2000) -> str:
    """A message made harmless and cut to at most `lines` lines of at most `width` characters."""
    found = clean(message).rstrip().split("\n")
    kept = [line[:width] for line in found[:lines]]
    return "\n".join(kept + ([f"… and {counted(len(found) - lines, 'more line')}"] if len(found) > lines else []))


def lines_of(check: CheckResult) -> list[tuple[str, int]]:
    """The student's own lines that a check's cause points at: file and line number, innermost last."""
    return [(frame.file, frame.line) for frame in check.cause.frames] if check.cause else []


def is_brief(check: CheckResult) -> bool:
    """Whether the message is only a reason of one line: no call, no lines of the student's code, no prints."""
    cause = check.cause
    if cause is None or cause.stage == "submission":
        return False
    has_more = cause.sentence or cause.call or cause.returned or cause.frames or cause.prints or cause.note
    return not has_more and "\n" not in cause.reason + cause.exception_message


def headline(check: CheckResult) -> str:
    """A failure in one line: the check's sentence, else the exception or the reason, else the check's name."""
    cause = check.cause
    if cause is None:
        return check.name.replace("_", " ")
    if cause.sentence:
        return cause.sentence
    if cause.exception_type:
        prefix = f"{cause.file} cannot be imported: " if cause.stage == "import" else ""
        return f"{prefix}{cause.exception_type}: {cause.exception_message}".partition("\n")[0]
    if cause.stage == "import" and cause.kind != "timeout":
        return f"importing {cause.file} {cause.reason}"
    return cause.reason.partition("\n")[0] or check.name.replace("_", " ")


def steps_of(course: Course, exercise: str) -> str:
    """How hard an exercise (full name) is, how long it takes and its purpose, if the course says so."""
    found = next((one for one in course.all_exercises if one.full_name == exercise), None)
    return ": ".join(filter(None, [found.effort, found.why])) if found else ""
