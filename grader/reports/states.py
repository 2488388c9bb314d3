"""How far each exercise is, which one is next, and the lines of `--format concise`.

Reads text only, and decides no verdict.
"""

from collections.abc import Collection, Iterator, Sequence

from grader.course import Course
from grader.course.home import LastCheck, State
from grader.reports.feedback import FAILING, lines_of, what_happened, worst
from grader.reports.where import Locations, due_words, in_order, places_in_term
from grader.results import Cause, ExerciseResult, SubmissionResult, total_points
from grader.text import counted, one_line, percent, points


def next_exercise(exercises: Sequence[ExerciseResult]) -> ExerciseResult | None:
    """The exercise to look at next: the first that was tried and fails, else the first that can be written."""
    open_ones = [one for one in exercises if worst(one) in FAILING]
    tried = [one for one in open_ones if not is_untouched(one)]
    return next(iter([*tried, *open_ones]), None)


def at_hand_first(exercises: Sequence[ExerciseResult], course: Course) -> list[ExerciseResult]:
    """The exercises as they are proposed, with those of the assignment at hand first."""
    places = places_in_term(course, last_checks(exercises))
    path = {one.full_name: place for place, one in enumerate(course.path)}
    return sorted(exercises, key=lambda one: (places.get(one.name, len(places)), path.get(one.name, len(path))))


def due_lines(exercises: Sequence[ExerciseResult], course: Course, asked: Collection[str]) -> list[str]:
    """For each assignment whose exercises were asked for: its points, if all of it was checked, and when it is due.

    Args:
        asked: full names; others were only needed.
    """
    checked = {one.name: one for one in exercises}
    lines = []
    for one in in_order(course.assignments, last_checks(exercises)):
        if due_words(one) and set(one.exercises) & set(asked):
            of_it = [checked[name] for name in one.exercises if name in checked]
            earned = points(total_points(x.score for x in of_it), total_points(x.max for x in of_it))
            has_all = len(of_it) == len(one.exercises)
            lines.append(f"{one.name}: " + (f"{earned} points, " if has_all else "") + due_words(one))
    return lines


def beside_lines(exercises: Sequence[ExerciseResult], course: Course, asked: Collection[str]) -> list[str]:
    """How to see the course's answer beside one's own, if one exercise was asked for, and it has passed."""
    passed = [one for one in exercises if one.name in asked and worst(one) == "passed"]
    if len(asked) > 1 or not passed or course.show_solutions != "after_passing":
        return []
    is_there = course.solution_file(passed[0].topic).is_file()
    return [f"yours beside the course's: grader solution {passed[0].name} --beside"] if is_there else []


def last_checks(exercises: Sequence[ExerciseResult]) -> dict[str, LastCheck]:
    """How each exercise went, by full name."""
    return {one.name: LastCheck(state_of(one), one.score, one.max) for one in exercises}


def next_lines(
    exercises: Sequence[ExerciseResult], course: Course, places: Locations, passed: Collection[str] = ()
) -> list[str]:
    """The last line of `grader check`: the next step; none if everything has passed.

    Args:
        passed: exercises that have passed before.
    """
    found = next_exercise(at_hand_first(exercises, course))
    if found is not None:
        cause = next((check.cause for check in found.checks if check.cause), None)
        if cause is not None and cause.stage == "import" and cause.frames:
            return [f"next: repair {places.line(cause.frames[-1].file, cause.frames[-1].line)}"]
        return [f"next: {found.name}  {places.of(found.name)}"]
    in_term = places_in_term(course, last_checks(exercises))
    names = sorted((one.full_name for one in course.path), key=lambda one: in_term.get(one, len(in_term)))
    checked = {one.name for one in exercises}
    last = -1 if in_term else max((names.index(name) for name in checked if name in names), default=-1)
    following = [name for name in names[last + 1 :] if name not in checked and name not in passed]
    return [f"next: {following[0]}  {places.of(following[0])}"] if following else []


def state_of(exercise: ExerciseResult) -> State:
    """How an exercise went, as a student's folder keeps it."""
    verdict = worst(exercise)
    if exercise.max == 0 or verdict in ("skipped", "error"):
        return "left_out"
    if verdict in ("passed", "blocked"):
        return verdict
    return "unwritten" if is_untouched(exercise) else "failing"


def is_untouched(exercise: ExerciseResult) -> bool:
    """Whether an exercise is as it was handed out, or its file is not there."""
    return is_unwritten(exercise) or is_program_with_its_bug(exercise)


def is_program_with_its_bug(exercise: ExerciseResult) -> bool:
    """Whether it is a program to repair that is as it was handed out: it runs and shows what is wrong."""
    return exercise.as_handed_out and worst(exercise) in FAILING and not is_unwritten(exercise)


def is_unwritten(exercise: ExerciseResult) -> bool:
    """Whether there is no answer to an exercise, so that nothing of it could be run.

    An answer under another name, or with its stub again below it, is one.
    """
    causes = [check.cause for check in exercise.checks if check.cause is not None and check.verdict != "skipped"]
    kinds = {cause.kind for cause in causes}
    all_fail = all(check.verdict != "passed" for check in exercise.checks)
    is_there = any(is_misplaced(cause) for cause in causes)
    return bool(kinds) and kinds <= {"unwritten", "missing"} and all_fail and not is_there


def is_misplaced(cause: Cause) -> bool:
    """Whether there is an answer that does not count: under nearly its name, or with its stub again below it."""
    is_under_another_name = cause.kind == "missing" and cause.stage == "check"
    return cause.is_slip or (is_under_another_name and cause.advice not in ("", cause.reason))


def _with_line(place: str) -> str:
    return place if place.rpartition(":")[2].isdigit() else f"{place}:1"


def concise_lines(result: SubmissionResult, places: Locations) -> Iterator[str]:
    """A line for each exercise that was tried and fails, at its line; a file that cannot be imported has one line.

    What is not written yet is a note, one for a topic of which nothing is written. The last line has the points; no
    editor takes it for a problem.
    """
    shown = set()
    unwritten = [one for one in result.exercises if is_untouched(one)]
    begun = {one.topic for one in result.exercises if not is_untouched(one) and worst(one) != "blocked"}
    for exercise in result.exercises:
        if is_untouched(exercise) and exercise.topic not in shown:
            count = sum(one.topic == exercise.topic for one in unwritten)
            is_one_of_all = exercise.topic not in begun and count > 1
            shown |= {exercise.topic} if is_one_of_all else set()
            text = f"{exercise.topic}: {counted(count, 'exercise')}" if is_one_of_all else exercise.name
            yield f"{_with_line(places.of(exercise.name))}: note: {text}: not written yet"
        failing = next((check for check in exercise.checks if check.verdict in FAILING | {"error"}), None)
        if failing is None or is_untouched(exercise):
            continue
        is_of_topic = failing.cause is not None and failing.cause.stage in ("import", "topic")
        if is_of_topic and exercise.topic in shown:
            continue
        shown |= {exercise.topic} if is_of_topic else set()
        own = [line for file, line in lines_of(failing) if file == f"{exercise.topic}.py" and line]
        place = places.line(f"{exercise.topic}.py", own[-1]) if own else places.of(exercise.name)
        place = _with_line(place)
        said = one_line(what_happened(exercise, failing), 300)
        yield f"{place}: {exercise.topic if is_of_topic else exercise.name}: {said}"
    share = percent(result.score, result.max)
    yield f"{points(result.score, result.max)} points" + ("" if share is None else f", {share:.1f}%")
