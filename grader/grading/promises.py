"""The promises of a course: each is one function that yields the defects which break it. `PROMISES` lists them.

Every defect is one line with its file. Nothing is graded here: `TopicEvidence` has the results.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from grader.course import Exercise, checks_of, misconceptions_of
from grader.course.answer_code import AnswerCode
from grader.course.answers import files_that_students_read, given_away
from grader.course.slips import line_in, matchers_of
from grader.course.source import names_bound_by, parse, swapped_comparisons, variables_in
from grader.course.stubs import stub_of
from grader.errors import did_you_mean
from grader.grading.changed_replies import CHANGES
from grader.grading.evidence import TopicEvidence
from grader.grading.mutants import equivalents_of
from grader.grading.questions import LineRun
from grader.judge.explain import fault_of_check
from grader.judge.points import with_points
from grader.reports.drawing import problem_of
from grader.results import NOT_ASSESSED, CheckResult

_NOTICE: Final = "assert_equal and assert_close also look at type, dtype and shape, as `==` does not"
_PASSED: Final = ("passed", *NOT_ASSESSED)


class Defect(msgspec.Struct, frozen=True):
    """One fault of a course; ``line`` is None if the whole file is meant.

    Attributes:
        is_note: whether it is no fault, but something that the author may want to know.
    """

    file: Path
    line: int | None
    message: str
    is_note: bool = False
    """Whether it is no fault: a course may be as it is, and its author may want to know."""

    def __str__(self) -> str:
        return f"{'note: ' if self.is_note else ''}{self.place}: {self.message}"

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


def stub_is_released(evidence: TopicEvidence) -> Iterator[Defect]:
    """The stub equals the one that `grader release` makes of the solution; of a suite, it is an own file."""
    if evidence.course.suite is not None:
        return
    try:
        made = stub_of(evidence.solution.read_text(encoding="utf-8"), str(evidence.solution))
        if evidence.stub.read_text(encoding="utf-8") != made:
            yield Defect(evidence.stub, None, "is not what `grader release` makes of the solution")
    except OSError as error:
        yield Defect(evidence.solution, None, str(error))


def exercises_are_described(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every exercise has hints; it is in the stub, and has a docstring there, unless it is a variable.

    A course of one's own may do without hints and docstrings.
    """
    may_lack = not evidence.course.is_shipped
    try:
        tree = ast.parse(evidence.stub.read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        tree = None  # then it does not equal the released one either
    for exercise in evidence.topic.exercises:
        if not exercise.hints:
            yield Defect(evidence.course.manifest, None, f"`{exercise.full_name}` has no hints", may_lack)
        if tree is not None and not exercise.group:
            nodes = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
            found = [node for node in nodes if node.name == exercise.name]
            if exercise.name in variables_in(evidence.stub):
                continue
            if not found:
                yield Defect(evidence.stub, None, f"`{exercise.name}` is not in the stub")
            elif not ast.get_docstring(found[-1]):
                yield Defect(evidence.stub, found[-1].lineno, f"`{exercise.name}` has no docstring", may_lack)


def checks_are_described(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every check has a docstring. In every comparison the returned value comes first: students read that it came."""
    is_suite = evidence.course.suite is not None
    for check in checks_of(evidence.course, evidence.topic.name):
        if not check.docstring:
            file = evidence.course.checks_dir / check.file if is_suite else evidence.check_file
            text = f"`{check.function}` has no docstring: students read {'its name in words' if is_suite else 'it'}"
            yield Defect(file, check.line, text, is_note=not evidence.course.is_shipped)
    if is_suite:
        return
    for function, line in swapped_comparisons(evidence.check_file):
        message = "has the expected value first; the returned one comes first: assert_close(submission.f(x), expected)"
        yield Defect(evidence.check_file, line, f"`{function}` {message}")


def answers_are_not_handed_out(evidence: TopicEvidence) -> Iterator[Defect]:
    """No function of a file that is handed out does the same as the solution; one of a suite's tests is a note."""
    stub, solution = (file.read_bytes() for file in (evidence.stub, evidence.solution))
    files = {one: one.read_bytes() for one in files_that_students_read(evidence.course, evidence.topic.name)}
    for file, line, function, of in given_away(evidence.topic.name, solution, stub, files):
        is_suite = evidence.course.suite is not None
        fix = "students get it with the tests" if is_suite else "move it to checks/reference/"
        yield Defect(file, line, f"`{function}` is handed out and does the same as `{of}`; {fix}", is_note=is_suite)


def lesson_is_there(evidence: TopicEvidence) -> Iterator[Defect]:
    """The topic has a lesson, if the course says that its topics have; no function in it does what a solution does."""
    lesson = evidence.lesson
    if lesson is None:
        if evidence.course.lessons:
            file = evidence.course.lesson_file(evidence.topic.name)
            yield Defect(file, None, f"is missing: topic `{evidence.topic.name}` has no lesson")
        return
    stub, solution = (file.read_bytes() for file in (evidence.stub, evidence.solution))
    code = {lesson.file: lesson.code.encode()}
    for file, line, function, of in given_away(evidence.topic.name, solution, stub, code):
        yield Defect(file, line, f"`{function}` does the same as `{of}`: a worked example must not answer an exercise")


def exercises_have_steps(evidence: TopicEvidence) -> Iterator[Defect]:
    """Where some exercise of the course has `minutes`, `level` or `why`, every exercise has all three."""
    every = evidence.course.all_exercises
    if any(_steps(one) for one in every):
        for exercise in evidence.topic.exercises:
            if missing := [key for key in ("minutes", "level", "why") if key not in _steps(exercise)]:
                text = f"`{exercise.full_name}` has no {', '.join(missing)}, and other exercises have"
                yield Defect(evidence.course.manifest, None, text)


def _steps(exercise: Exercise) -> list[str]:
    return [key for key in ("minutes", "level", "why") if getattr(exercise, key)]


def modules_can_be_imported(evidence: TopicEvidence) -> Iterator[Defect]:
    """Solution and stub can be imported."""
    for graded in (evidence.graded_solution, evidence.graded_stub):
        if graded.not_imported:
            yield Defect(graded.file, None, graded.not_imported)


def checks_end_in_no_error(evidence: TopicEvidence) -> Iterator[Defect]:
    """No check ends in an error, neither on the solution nor on the stub."""
    for name, (exercise, result) in _errors(evidence).items():
        cause = result.cause
        is_fault = cause is not None and cause.kind == "grader_fault" and cause.stage == "check"
        text = fault_of_check(cause) if cause is not None and is_fault else result.message
        yield Defect(evidence.check_file, None, f"`{exercise.full_name}`, check {name}: {text}{_why(evidence, name)}")


def _errors(evidence: TopicEvidence) -> dict[str, tuple[Exercise, CheckResult]]:
    """By its name, each check that ends in an error on the solution, or else on the stub."""
    results = (*evidence.graded_stub.results, *evidence.graded_solution.results)
    return {result.name: (exercise, result) for exercise, result in results if result.verdict == "error"}


_FIXES: Final = {
    " argument in place": "if that is the exercise, say so: `@exercise(..., may_change=True)`",
    "object where a plain value was expected": "read a plain value of the object in the check, such as `value.data`",
    " isinstance(<": "ask the class by `submission.there(probes.is_a, handle, 'torch.nn.Module')`",
}
"""What the author of a check does, by a part of the message if it does not pass on the solution."""


def solution_passes(evidence: TopicEvidence) -> Iterator[Defect]:
    """The solution passes every check that can be assessed here."""
    for exercise, result in evidence.graded_solution.results:
        if result.verdict not in _PASSED:
            said = _one_line(result.message)
            fix = next((f"; {words}" for part, words in _FIXES.items() if part in said), "")
            text = f"{_about(exercise, result)}: the solution gets {result.verdict}: {said}{fix}"
            yield Defect(evidence.solution, None, text + _why(evidence, result.name))


def examples_are_true(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every example in a docstring of the solution is true."""
    for untrue in evidence.graded_solution.untrue:
        yield Defect(evidence.solution, untrue.line, untrue.message, evidence.course.suite is not None)


def lesson_is_true(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every worked example of the lesson gives what is written below it, from top to bottom."""
    if evidence.lesson is not None:
        for untrue in evidence.graded_solution.untrue_in_lesson:
            yield Defect(evidence.lesson.file, untrue.line, untrue.message)


def questions_have_answers(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every question of the topic can be run, gives the same with another seed, and names an idea of the lesson."""
    questions = evidence.topic.questions
    if not questions:
        return
    runs = [LineRun(questions, seed) for seed in (0, 1)]
    first, second = (run.answers() for run in runs)
    ideas = [idea.title for idea in evidence.lesson.ideas] if evidence.lesson else []
    for number, (question, one, other) in enumerate(zip(questions, first, second, strict=True), start=1):
        problem = f"fails: {one.problem}" if one.problem else ""
        if not problem and one != other:
            problem = f"depends on chance: it gives {one.text}, and {other.text or other.problem} with another seed"
        if not problem and question.idea and question.idea not in ideas:
            problem = f"names no idea of the lesson: `{question.idea}`{did_you_mean(question.idea, ideas)}"
        if problem:
            text = f"question {number} of `{evidence.topic.name}` {_one_line(problem)}"
            yield Defect(evidence.course.manifest, None, text)


def replies_are_looked_at(evidence: TopicEvidence) -> Iterator[Defect]:
    """Some check of each exercise fails when every value that the solution gives is changed, in each of some ways."""
    accepted = {(one.definition, one.change) for one in equivalents_of(evidence.course).values() if not one.line}
    solution = evidence.graded_solution
    for exercise in evidence.topic.exercises:
        checks = [result.name for other, result in solution.results if other.full_name == exercise.full_name]
        runs = [solution.changed_runs.get((exercise.full_name, check)) for check in checks]
        known = [one for one in runs if one is not None]
        if len(known) < len(runs):  # a check that is not known may notice
            continue
        for change in CHANGES:
            passes = [one[change] for one in known if change in one]
            if passes and all(passes) and (exercise.full_name, change) not in accepted:
                message = f"no check notices when all values that come back are changed: {change}; {_NOTICE}"
                text = f"`{exercise.full_name}`: {message}"
                yield Defect(evidence.check_file, None, text, evidence.course.suite is not None)


def results_are_repeatable(evidence: TopicEvidence) -> Iterator[Defect]:
    """A second run of the solution, in another process and with another order of sets, gives the same results."""
    second = evidence.second_results or {}
    for exercise, result in evidence.graded_solution.results:
        other = second.get((exercise.full_name, result.name), result)
        was_run = other.verdict != "blocked" and (other.cause is None or other.cause.stage != "submission")
        if was_run and (other.verdict, other.message) != (result.verdict, result.message):
            found = [one.verdict + (f" ({_one_line(one.message)})" if one.message else "") for one in (result, other)]
            text = f"two runs of the solution differ: {' and '.join(found)}"
            why = "it depends on chance, on the order of a set, or on the process"
            yield Defect(evidence.check_file, None, f"{_about(exercise, result)}: {text}; {why}")


def stub_fails(evidence: TopicEvidence) -> Iterator[Defect]:
    """The stub fails every check that can be assessed here, unless it is a program with a bug."""
    of_stub = evidence.graded_stub.results
    for exercise, result in of_stub:
        if exercise.name not in evidence.programs and result.verdict not in ("failed", *NOT_ASSESSED):
            why = f": {_one_line(result.message)}" if result.message else ""
            text = f"{_about(exercise, result)}: the stub gets {result.verdict}, but must fail{why}"
            # Of a suite, one test may be about code that is given, but not all of an exercise.
            is_note = bool(exercise.group) and any(one.verdict == "failed" for of, one in of_stub if of is exercise)
            yield Defect(evidence.stub, None, text, is_note)


def programs_fail_by_their_answers(evidence: TopicEvidence) -> Iterator[Defect]:
    """A program that is handed out with a bug earns nothing, and fails by what it answers.

    It raises nothing, and it ends, unless its marker says that it hangs. No message names one of its lines.
    """
    for exercise in evidence.topic.exercises:
        if exercise.name not in evidence.programs:
            continue
        results = [result for one, result in evidence.graded_stub.results if one is exercise]
        failures = [result for result in results if result.verdict not in _PASSED]
        about = f"`{exercise.full_name}`, as it is handed out,"
        if with_points(exercise, evidence.judge.checks.of(exercise.full_name), results).score:
            yield Defect(evidence.stub, None, f"{about} earns points")
        hangs = evidence.programs[exercise.name]
        if hangs != any(result.verdict == "timeout" for result in failures):
            says = "ends, and is marked `hangs`" if hangs else "never ends, and is not marked `hangs`"
            yield Defect(evidence.stub, None, f"{about} {says}")
        for result in failures:
            cause = result.cause
            if cause is None or cause.kind not in ("assertion", "timeout"):
                text = f"must give a wrong answer in check {result.name}: {_one_line(result.message)}"
                yield Defect(evidence.stub, None, f"{about} {text}")
            elif cause.frames or f"{evidence.topic.name}.py" in cause.reason:
                text = f"fails check {result.name} with a line of it: {_one_line(result.message)}"
                yield Defect(evidence.stub, None, f"{about} {text}")


def pictures_can_be_drawn(evidence: TopicEvidence) -> Iterator[Defect]:
    """Each picture is drawn with the solution, in a terminal and on a page; one of what is not written is a line."""
    solution, stub = evidence.graded_solution, evidence.graded_stub
    assessed = {exercise.full_name for exercise, result in solution.results if result.verdict == "passed"}
    for name, picture in solution.pictures:
        if name not in assessed:
            continue  # as with its checks: it cannot be made here
        # If the author wants it quick, there are no second results: matplotlib is slow.
        problem = problem_of(picture, on_a_page=evidence.second_results is not None)
        if problem:
            text = f"picture `{picture.title}` of `{name}` cannot be drawn with the solution: {problem}"
            yield Defect(evidence.check_file, None, text)
    unwritten = {one.full_name for one, result in stub.results if result.cause and result.cause.kind == "unwritten"}
    for name, picture in stub.pictures:
        if name in unwritten and picture.data is not None:
            text = f"picture `{picture.title}` of `{name}` shows something of a stub that is not written"
            yield Defect(evidence.check_file, None, text)


def misconceptions_are_caught_and_named(evidence: TopicEvidence) -> Iterator[Defect]:
    """Every misconception fails a check of its exercise, and makes none end in an error.

    A student who has it gets a name for it: that of this misconception, not of another.
    """
    file = evidence.course.misconceptions_file(evidence.topic.name)
    for graded in evidence.graded_misconceptions:
        misconception = graded.misconception
        if all(verdict in _PASSED for verdict in graded.verdicts.values()):
            text = "is not caught by any check"
        elif any(verdict == "error" and name not in _errors(evidence) for name, verdict in graded.verdicts.items()):
            text = "makes a check end in error"
        elif graded.named is None:
            text = "is caught but not named: its checks see no answer of it"
        elif graded.named != misconception.name:
            text = f"cannot be told apart from `{graded.named}`"
        else:
            continue
        about = f"misconception `{misconception.name}` of `{misconception.exercise}`"
        yield Defect(file, misconception.line, f"{about} {text}")


def slips_are_seen(evidence: TopicEvidence) -> Iterator[Defect]:
    """What says how a misconception is seen in code finds it in its own code, and nothing in the solution."""
    course, topic = evidence.course, evidence.topic.name
    file, own = course.misconceptions_file(topic), matchers_of(course)
    for one in misconceptions_of(course, topic):
        if not one.seen:
            continue
        try:
            is_seen = line_in(AnswerCode(parse(file), one.function), one.seen, own)
            is_false = line_in(AnswerCode(parse(course.solution_file(topic)), one.part), one.seen, own)
        except (ValueError, TypeError) as error:
            text = str(error)
        else:
            if is_seen and not is_false:
                continue
            text = f"`{one.seen}` sees it in the solution, too" if is_false else f"`{one.seen}` does not see it"
        yield Defect(file, one.line, f"misconception `{one.name}` of `{one.exercise}`: {text}")


Promise = Callable[[TopicEvidence], Iterator[Defect]]

PROMISES: Final[dict[str, tuple[Promise, ...]]] = {
    "stub, docstrings, hints, lesson": (
        stub_is_released,
        exercises_are_described,
        checks_are_described,
        answers_are_not_handed_out,
        exercises_have_steps,
        lesson_is_there,
    ),
    "solution, stub and misconceptions as submissions": (
        modules_can_be_imported,
        checks_end_in_no_error,
        solution_passes,
        examples_are_true,
        lesson_is_true,
        questions_have_answers,
        replies_are_looked_at,
        results_are_repeatable,
        stub_fails,
        pictures_can_be_drawn,
        programs_fail_by_their_answers,
        misconceptions_are_caught_and_named,
        slips_are_seen,
    ),
}
"""All that a course promises, by the line of progress that is printed while it is verified."""


def _about(exercise: Exercise, result: CheckResult) -> str:
    return f"`{exercise.full_name}`, check {result.name}"


def _why(evidence: TopicEvidence, check: str) -> str:
    """What helps the author of a check that the solution does not pass; empty if nothing is known."""
    if evidence.course.suite is not None:
        return "; if it passes under pytest, take it out of its exercise in course.toml"
    function = f"test_{check.partition('[')[0]}"
    is_hidden = any(one.hidden and one.function == function for one in checks_of(evidence.course, evidence.topic.name))
    nodes = (
        node for one in parse(evidence.check_file).body if names_bound_by(one) == {function} for node in ast.walk(one)
    )
    reads = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    words = "; take `hidden` off the check to see why" if is_hidden else ""
    if reads & {"grad", "backward"}:
        words += "; a gradient does not come back from the other process: value_and_grad(submission.f, x) gives it"
    return words


def _one_line(message: str) -> str:
    return " | ".join(message.splitlines())
