"""`grader verify`: every kind of defect gives one line with its file; a sound course gives none.

The defects are in two courses, each with many: a line too many or too few fails a test.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from command_here import run_here
from msgspec.structs import replace
from shared import DEVICES_AND_RANKS, KIT_COURSE, MARKED_COURSE, OWN_COURSE, REPO, without_examples

from grader.course import Course
from grader.grading import promises
from grader.grading.evidence import TopicEvidence
from grader.grading.verify import verify_course

pytestmark = pytest.mark.slow

STUB, SOLUTION = "exercises/vectors.py", "solutions/vectors.py"
WRONG, CHECKS = "solutions/misconceptions/vectors.py", "checks/test_vectors.py"
Edit = tuple[str, str, str]
"""A file, a piece of it, and what takes its place."""
Defect = tuple[list[Edit], str, str]
"""What makes it, the file that its line must name, and words of that line."""

NEVER_WRONG = """
@misconception("cosine", tell="Nothing is wrong with it.")
def right_after_all(a: Tensor, b: Tensor) -> Tensor:
    a, b = (x / x.norm(dim=1, keepdim=True).clamp_min(1e-12) for x in (a, b))
    return (a * b).sum(dim=1)
"""
TWIN = """
@misconception("cosine", tell="You returned the plain dot product.")
def dot_product_again(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("nd,nd->n", a, b)
"""
MUTE = """
@misconception("cosine", tell="You raised.")
def gives_up(a: Tensor, b: Tensor) -> Tensor:
    raise NotImplementedError
"""
ALWAYS_PASSES = '''
@exercise("vectors.cosine")
def test_nothing(submission: Submission) -> None:
    """Nothing."""
'''
BUGGY = '''
@exercise("vectors.cosine")
def test_with_a_bug(submission: Submission) -> None:
    """Has a bug."""
    submission.cosine(torch.ones(1, 2), torch.ones(1, 2)).no_such_method()
'''
TOO_STRICT = '''
@exercise("vectors.cosine")
def test_too_strict(submission: Submission) -> None:
    """Wants what the solution does not give."""
    assert_equal(submission.cosine(torch.ones(1, 2), torch.ones(1, 2)), 1.0)
'''
NO_VALUE = '''
@exercise("vectors.cosine")
def test_a_handle(submission: Submission) -> None:
    """Adds to an object of the submission."""
    submission.cosine(torch.ones(1, 2), torch.ones(1, 2))
    submission.there(recipes.model, "mlp") + 1
'''

CHANGED = '''
@exercise("vectors.cosine")
def test_changed(submission: Submission) -> None:
    """Passes what is changed in place."""
    submission.torch.relu_(torch.ones(1, 2) - 2)
'''
OF_A_CLASS = '''
@exercise("vectors.cosine")
def test_of_a_class(submission: Submission) -> None:
    """Asks for a class of this process."""
    submission.cosine(torch.ones(1, 2), torch.ones(1, 2))
    assert isinstance(submission.there(recipes.model, "mlp"), torch.nn.Module)
'''
SWAPPED = '''
@exercise("vectors.cosine")
def test_swapped(submission: Submission) -> None:
    """Compares the other way round."""
    assert_close(torch.ones(1), submission.cosine(torch.ones(1, 2), torch.ones(1, 2)))
'''
BY_A_FILE = '''
@exercise("vectors.cosine")
def test_by_a_file(submission: Submission) -> None:
    """Reads a file that students do not get."""
    import pathlib
    (file,) = pathlib.Path(__file__).parent.rglob("rows.txt")
    cosine = submission.cosine(torch.ones(1, 2), torch.ones(1, 2))
    assert_close(cosine, torch.tensor([float(file.read_text())]))
'''


def parities(hash_seed: str) -> str:
    """Of the hashes of the small letters."""
    program = "print(*(hash(letter) % 2 for letter in map(chr, range(97, 123))), sep='')"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True).stdout


LETTER = chr(97 + list(zip(parities("2"), parities("1"), strict=True)).index(("0", "1")))
"""Its hash is even in the first run of the solution, and odd in the second."""
BY_CHANCE = '''
@exercise("vectors.cosine")
def test_by_chance(submission: Submission) -> None:
    """Depends on the order of a set."""
    submission.cosine(torch.ones(1, 2), torch.ones(1, 2))
    assert hash("LETTER") % 2 == 0
'''.replace("LETTER", LETTER)
# This one and the next wait; those that burn the processor are in `test_judge_ends.py`.
ENDLESS = '''
@exercise("vectors.cosine")
def test_endless(submission: Submission) -> None:
    """Does not end."""
    while submission.cosine(torch.ones(1, 2), torch.ones(1, 2)) is not None:
        for number in iter(int, 1):
            __import__("time").sleep(0.05)
'''
ENDLESS_IN_C = '''
@exercise("vectors.cosine")
def test_endless_in_c(submission: Submission) -> None:
    """Does not end, and cannot be interrupted."""
    submission.cosine(torch.ones(1, 2), torch.ones(1, 2))
    import ctypes
    c, lock = ctypes.PyDLL(None), ctypes.create_string_buffer(128)  # keeps Python's own lock while it waits
    c.pthread_mutex_init(lock, None)
    c.pthread_mutex_lock(lock)
    c.pthread_mutex_lock(lock)
'''


WANTS_A_GRADIENT = '''
@exercise("vectors.cosine")
def test_a_gradient(submission: Submission) -> None:
    """Looks for a gradient at the argument."""
    x = torch.ones(1, 2, requires_grad=True)
    submission.cosine(x, torch.ones(1, 2))
    assert x.grad is not None
'''
PICTURE_OF_NOTHING = """
@picture("vectors.cosine", title="Nothing")
def nothing(submission: Submission) -> Points:
    return Points(x=[1.0], y=[1.0])
"""
NOT_RUN = "not run: small changes of the solutions, which show what no check asks for: grader verify --mutants"


def append(file: str, text: str) -> Edit:
    """An edit that adds text at the end of a file."""
    return (file, "", text)


TEXTS_AND_ANSWERS: dict[str, Defect] = {
    "a picture that its solution has no numbers for": (
        [(CHECKS, 'names=["before", "after"])', 'names=["before"])')],
        CHECKS,
        "picture `Forty vectors, before and after` of `vectors.normalize` cannot be drawn with the solution: 1 is",
    ),
    "a picture of something else than the answer": (
        [append(CHECKS, PICTURE_OF_NOTHING)],
        CHECKS,
        "picture `Nothing` of `vectors.cosine` shows something of a stub that is not written",
    ),
    "a stub that was edited by hand": (
        [(STUB, "Nothing needs a loop.", "Nothing needs a loop!")],
        STUB,
        "is not what `grader release` makes of the solution",
    ),
    "an exercise without a docstring": (
        [(file, '    """Every row scaled', '    r = """Every row scaled') for file in (STUB, SOLUTION)],
        STUB,
        "`normalize` has no docstring",
    ),
    "a check without a docstring": (
        [(CHECKS, '    """A row of zeros comes back as zeros, not as NaN."""\n', "")],
        CHECKS,
        "`test_zero_row_stays_zero` has no docstring: students read it",
    ),
    "an example that is not true": (
        [(file, "tensor([0.6000])\n", "tensor([0.7000])\n") for file in (STUB, SOLUTION)],
        SOLUTION,
        "gives `tensor([0.6000])`, but the docstring says `tensor([0.7000])`",
    ),
    "a comparison the other way round": (
        [append(CHECKS, SWAPPED)],
        CHECKS,
        "`test_swapped` has the expected value first",
    ),
    "an exercise without hints": (
        [
            ("course.toml", 'hints = [\n    "The cosine', 'hints = []\nignored = [\n    "The cosine'),
            (
                "course.toml",
                'ignored = [\n    "The cosine of two vectors of length 1 is their dot product.",\n'
                '    "Normalize both, multiply entry by entry, and sum each row.",\n]\n',
                "",
            ),
        ],
        "course.toml",
        "`vectors.cosine` has no hints",
    ),
    "a check that fails right answers where students are": (
        [append(CHECKS, BY_A_FILE), append("checks/reference/rows.txt", "1.0")],
        CHECKS,
        "`vectors.cosine`, check by_a_file fails a right answer with the files that students get",
    ),
    "a wrong answer that no check catches": (
        [append(WRONG, NEVER_WRONG)],
        WRONG,
        "misconception `right_after_all` of `vectors.cosine` is not caught by any check",
    ),
    "a wrong answer that looks like another": (
        [append(WRONG, TWIN)],
        WRONG,
        "misconception `dot_product_again` of `vectors.cosine` cannot be told apart from `plain_dot_product`",
    ),
    "a matcher that sees the solution, too": (
        [
            (
                WRONG,
                ' 0 / 0 is NaN. Keep the divisor away from 0."',
                ' 0 / 0 is NaN. Keep the divisor away from 0.", seen="calls(\'vector_norm\')"',
            )
        ],
        WRONG,
        "misconception `divides_by_zero` of `vectors.normalize`: `calls('vector_norm')` sees it in the solution, too",
    ),
    "a matcher that does not see its own": (
        [(WRONG, ' the root of the sum of squares."', ' the root of the sum of squares.", seen="calls(\'sub\')"')],
        WRONG,
        "misconception `sum_of_absolute_values` of `vectors.normalize`: `calls('sub')` does not see it",
    ),
    "a matcher that does not exist": (
        [
            (
                WRONG,
                ' The cosine is that of the directions."',
                ' The cosine is that of the directions.", seen="cals(\'x\')"',
            )
        ],
        WRONG,
        "misconception `plain_dot_product` of `vectors.cosine`: there is no matcher `cals`; did you mean `calls`?",
    ),
    "a wrong answer that never answers": (
        [append(WRONG, MUTE)],
        WRONG,
        "misconception `gives_up` of `vectors.cosine` is caught but not named",
    ),
}
"""Defects of what students read, and of wrong answers: all in one course, as none of them hides or makes another."""

CHECKS_AND_FILES: dict[str, Defect] = {
    "a check that the solution fails": (
        [append(CHECKS, TOO_STRICT)],
        SOLUTION,
        "`vectors.cosine`, check too_strict: the solution gets failed",
    ),
    "a check that takes an object for a value": (
        [append(CHECKS, "from grader.testkit import recipes" + NO_VALUE)],
        SOLUTION,
        "; read a plain value of the object in the check, such as `value.data`",
    ),
    "a check that takes no change in place": (
        [append(CHECKS, CHANGED)],
        SOLUTION,
        "; if that is the exercise, say so: `@exercise(..., may_change=True)`",
    ),
    "a check that asks for a class of this process": (
        [append(CHECKS, OF_A_CLASS)],
        SOLUTION,
        "; ask the class by `submission.there(probes.is_a, handle, 'torch.nn.Module')`",
    ),
    "a check that looks for a gradient where none comes": (
        [append(CHECKS, WANTS_A_GRADIENT)],
        SOLUTION,
        "; a gradient does not come back from the other process: value_and_grad(submission.f, x) gives it",
    ),
    "a check that the stub passes": (
        [append(CHECKS, ALWAYS_PASSES)],
        STUB,
        "`vectors.cosine`, check nothing: the stub gets passed, but must fail",
    ),
    "a check that depends on chance": (
        [append(CHECKS, BY_CHANCE)],
        CHECKS,
        "check by_chance: two runs of the solution differ: passed and failed",
    ),
    "a check that does not end": (
        [append(CHECKS, ENDLESS)],
        CHECKS,
        "check endless: the check itself is wrong (test_vectors.py:",
    ),
    "a check that does not end and cannot be interrupted": (
        [append(CHECKS, ENDLESS_IN_C)],
        CHECKS,
        "check endless: the check itself is wrong (test_vectors.py:",
    ),
    "a check with a bug": ([append(CHECKS, BUGGY)], CHECKS, "check with_a_bug: the check itself is wrong"),
    "a solution without its marks": (
        [(SOLUTION, "    # end\n\n\ndef cosine", "\n\ndef cosine")],
        SOLUTION,
        "`# solution:` inside the one of line 26: they do not nest",
    ),
    "wrong answers that cannot be imported": (
        [(WRONG, "import torch\n", "import torch\nimport no_such_module\n")],
        WRONG,
        "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
    ),
}
"""Defects of checks, and files that cannot be used: all in one course too."""

VERIFY = """
import json, sys
from pathlib import Path
from grader.course import Course
from grader.grading.verify import verify_course
root = Path(sys.argv[1]).resolve()
defects = []
verify_course(Course.load(root), defects.append, judge_seconds=1.0)
print(json.dumps([[str(defect.file.relative_to(root)), defect.message] for defect in defects]))
"""


def broken(root: Path, defects: dict[str, Defect]) -> Path:
    """The example course with all these defects."""
    shutil.copytree(OWN_COURSE, root, ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in (edit for edits, _, _ in defects.values() for edit in edits):
        (root / file).parent.mkdir(exist_ok=True)
        text = (root / file).read_text() if (root / file).exists() else ""
        assert old in text, f"{old!r} is not in {file}"
        (root / file).write_text(text.replace(old, new) if old else text + new)
    return root


@pytest.fixture(scope="module")
def in_checks_and_files(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """File and message of each defect that is found in a course with all `CHECKS_AND_FILES`."""
    course = broken(tmp_path_factory.mktemp("courses") / "course", CHECKS_AND_FILES)
    done = subprocess.run(
        [sys.executable, "-c", VERIFY, str(course)],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": str(REPO), "PYTHONHASHSEED": "2"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [(file, message) for file, message in json.loads(done.stdout)]


@pytest.mark.parametrize("name", CHECKS_AND_FILES)
def test_each_defect_of_checks_and_files_gives_one_line(in_checks_and_files: list[tuple[str, str]], name: str) -> None:
    _, file, words = CHECKS_AND_FILES[name]
    assert [found for found, message in in_checks_and_files if words in message] == [file], in_checks_and_files


def test_no_defect_speaks_to_students(in_checks_and_files: list[tuple[str, str]]) -> None:
    assert [message for _, message in in_checks_and_files if "instructor" in message] == []


def test_nothing_else_is_found(in_checks_and_files: list[tuple[str, str]]) -> None:
    assert len(in_checks_and_files) == len(CHECKS_AND_FILES), in_checks_and_files


def test_the_command_prints_each_defect_and_exits_1(tmp_path: Path) -> None:
    course = broken(tmp_path / "course", TEXTS_AND_ANSWERS)
    without_examples(course)  # the one that is not true would catch the answer that no check catches
    done = run_here("verify", "--course", course)
    assert done.returncode == 1, done.stderr
    *lines, last, suggestion = done.stdout.splitlines()
    defects = lines[: next(number for number, line in enumerate(lines) if line.startswith("exercise "))]
    notes = [line.strip() for line in lines[lines.index("notes, no defects:") + 1 :]]
    printed = [*defects, *notes]
    assert len(notes) == 3 and all("has no hints" in one or "has no docstring" in one for one in notes), notes
    assert last == f"{len(TEXTS_AND_ANSWERS) - len(notes)} defects" and len(printed) == len(TEXTS_AND_ANSWERS), printed
    assert suggestion == f"{NOT_RUN} --course {course}"
    for name, (_, file, words) in TEXTS_AND_ANSWERS.items():
        (line,) = (line for line in printed if words in line)
        assert line.removeprefix("note: ").startswith(f"{course / file}:"), name
    line = (course / WRONG).read_text().splitlines().index("def right_after_all(a: Tensor, b: Tensor) -> Tensor:") + 1
    assert f"{course / WRONG}:{line}: {TEXTS_AND_ANSWERS['a wrong answer that no check catches'][2]}" in printed


def test_hints_and_docstrings_are_a_must_in_the_course_that_comes_with_the_grader() -> None:
    """In others, such as one made of somebody's tests, their lack is a note."""
    for root, is_note in ((None, False), (OWN_COURSE, True)):
        course = Course.load(root)
        topic = course.modules[0]
        bare = replace(topic, exercises=(replace(topic.exercises[0], hints=()),))
        evidence = TopicEvidence(course, bare, cast(Any, None), None)
        (found,) = promises.exercises_are_described(evidence)
        assert found.message.endswith("has no hints") and found.is_note is is_note


@pytest.mark.parametrize("course", [DEVICES_AND_RANKS, KIT_COURSE, MARKED_COURSE], ids=lambda course: course.name)
def test_the_command_exits_0_for_a_sound_course(course: Path) -> None:
    """That nothing is wrong in the example course shows above: nothing is found but what is broken there on purpose."""
    done = run_here("verify", "--course", course)
    assert done.returncode == 0, done.stdout
    *table, sound, suggestion = done.stdout.splitlines()
    assert sound == "the course is sound" and suggestion.startswith(NOT_RUN)
    exercises = [one.full_name for one in Course.load(course).exercises]
    assert [line.split()[0] for line in table[: len(exercises) + 1]] == ["exercise", *exercises]
    assert all(int(line.split()[1]) >= 1 for line in table[1 : len(exercises) + 1]), table


def test_a_kit_that_imports_answers_is_refused_line_by_line(tmp_path: Path) -> None:
    course = Path(shutil.copytree(KIT_COURSE, tmp_path / "course"))
    for name in ("probes", "recipes"):
        with (course / "kit" / f"{name}.py").open("a") as file:
            file.write("from solutions import layers\n")
    defects: list[promises.Defect] = []
    verify_course(Course.load(course), defects.append)
    for name, defect in zip(("probes", "recipes"), defects, strict=True):
        file = course / "kit" / f"{name}.py"
        assert (defect.file, defect.line) == (file, len(file.read_text().splitlines()))
        assert defect.message.startswith("the kit imports `solutions.layers`: "), defect


HANGS_ON_THE_SEED = """
from hypothesis import given, settings

from grader.testkit import seeds


@exercise("gpus.mean_on")
@settings(max_examples=1)
@given(seed=seeds())
def test_hangs_on_the_seed(submission: Submission, seed: int) -> None:
    \"\"\"The mean is found, where 0 is drawn: what Hypothesis tries first.\"\"\"
    submission.there(devices.start, gpus=2)
    assert_close(submission.mean_on(BATCHES, torch.device("cpu")), MEAN + seed)
"""


def test_only_what_is_named_is_looked_at_and_with_the_seed_that_is_named(tmp_path: Path) -> None:
    """What is wrong elsewhere in the course is not found, nor what is wrong with other inputs only."""
    course = Path(shutil.copytree(DEVICES_AND_RANKS, tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__")))
    with (course / "exercises" / "team.py").open("a") as file:
        file.write("# not what `grader release` makes\n")
    with (course / "checks" / "test_gpus.py").open("a") as file:
        file.write(HANGS_ON_THE_SEED)
    command = ("verify", "mean_on", "--course", course)
    done = run_here(*command)
    assert {line.partition(":")[0] for line in done.stderr.splitlines()} == {"gpus"}
    assert done.returncode == 0 and "\nthe course is sound\n" in done.stdout, done.stdout
    done = run_here(*command, "--seed", "7")
    assert done.returncode == 1 and "hangs_on_the_seed" in done.stdout, done
