"""Stubs: made from solutions without giving anything away, and handed to students without harming their work."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from grader.course import Course, CourseError
from grader.course.handout import init
from grader.course.stubs import programs, release, solution_of, stub_of, stub_of_topic
from grader.errors import UserError

REPO = Path(__file__).resolve().parent.parent.parent
OWN = REPO / "examples" / "own_course"

SOLVED = '''\
"""A topic."""

import math


def plain(x):
    """Adds.

    # solution: is only text here
    """
    # solution: one line is enough
    # secret
    return x + math.pi
    # end


class Cube:
    """Holds two methods."""

    def forward(self, x):
        # solution:
        def inner():
            return x**3

        return inner()
        # end

    def given(self):
        return "stays"


def partly(x):
    y = x + 1
    # solution:
    y = y * 2  # secret
    # end
    return y
'''
STUB = '''\
"""A topic."""

import math


def plain(x):
    """Adds.

    # solution: is only text here
    """
    # one line is enough
    raise NotImplementedError("write `plain` here")


class Cube:
    """Holds two methods."""

    def forward(self, x):
        raise NotImplementedError("write `Cube.forward` here")

    def given(self):
        return "stays"


def partly(x):
    y = x + 1
    raise NotImplementedError("write `partly` here")
    return y
'''


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A copy of the example course, without its stubs."""
    folder = tmp_path / "course"
    shutil.copytree(OWN, folder, ignore=shutil.ignore_patterns("exercises", "__pycache__"))
    return Course.load(folder, complete=False)


def test_marked_parts_become_one_line_that_raises() -> None:
    assert stub_of(SOLVED, "topic.py") == STUB


def test_stub_runs_and_raises_where_the_answer_was() -> None:
    module: dict[str, object] = {}
    exec(compile(stub_of(SOLVED, "topic.py"), "topic.py", "exec"), module)
    with pytest.raises(NotImplementedError, match="write `partly` here"):
        module["partly"](1)  # type: ignore[operator]


WITH_HELPERS = '''"""A topic. `named_here` is given."""

import math
import secrets
from functools import cache

LIMIT = 3
_TABLE = (1, 2)


class Shown(Exception):
    """Raised by what is handed out."""


# How it is done.
@cache
def _deep(x):
    return secrets.choice(_TABLE) + x


def helper(x):
    return _deep(x)


def again(x):
    return again(x - 1)


def named_here(x):
    return other(x)


def other(x):
    return x


def never_used(x):
    return x


def answer(x):
    """Answers."""
    # solution:
    return helper(again(named_here(other(x)))) + LIMIT * math.pi
    # end


def check(x):
    raise Shown


def last(x):
    return 1


def second(x):
    """Answers."""
    # solution:
    return last(x)
    # end
'''


def test_helpers_that_only_answers_use_are_part_of_the_answer() -> None:
    """They are left out with what only they need; what students read of, or what is used elsewhere, stays."""
    stub = stub_of(WITH_HELPERS, "work.py")
    defined = [one.name for one in ast.parse(stub).body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    assert defined == ["Shown", "named_here", "other", "never_used", "answer", "check", "second"]
    assert "How it is done" not in stub and "_TABLE" not in stub and "secrets" not in stub and "cache" not in stub
    assert "import math\n\nLIMIT = 3\n\n\nclass Shown" in stub and "\n\n\n\n" not in stub
    at_end = WITH_HELPERS.replace("def last", "def answer2").replace("return last(x)", "return late(x)")
    assert stub_of(f"{at_end}\n\ndef late(x):\n    return 1\n", "work.py").endswith('write `second` here")\n')
    raises = at_end.replace("return last(x)", "raise Late(late(x))")  # whoever asks for it must be able to expect it
    assert "class Late" in stub_of(f"{raises}\n\nclass Late(Shown):\n    pass\n", "work.py")


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("    # solution:\n    return 1\n", 2, "without an `# end`"),
        ("    return 1\n    # end\n", 3, "without a `# solution:`"),
        ("    # solution:\n    # solution:\n    return 1\n    # end\n", 3, "inside the one of line 2"),
        ("    # solution:\n    return 1\n  # end\n", 4, "not indented like its"),
        ("  # solution:\n    return 1\n  # end\n", 2, "not indented like the body of `f`"),
        (
            "    if True:\n        # solution:\n        return 1\n        # end\n",
            3,
            "not indented like the body of `f`",
        ),
        ("    # solution:\n    # end\n    return 1\n", 2, "nothing between"),
        ("    return 1\n    # solution:\n    # end\n", 3, "is not indented like the module"),
        ("    x = [\n    # solution:\n    1,\n    # end\n    ]\n", 3, "cut through the statement in line 2"),
        ("    x = 1  # solution:\n    # end\n", 2, "on a line of its own"),
        ("    return (\n", 2, "not valid Python"),
    ],
)
def test_wrong_markers_are_refused_with_their_line(body: str, line: int, message: str) -> None:
    with pytest.raises(CourseError, match=message) as info:
        stub_of(f"def f():\n{body}", "topic.py")
    assert (info.value.line, str(info.value.file)) == (line, "topic.py")


METHODS = '''\
class Attention(Module):
    """Looks back."""

    # solution: two matrices and a product
    scale = 8  # secret

    def __init__(self, size: int) -> None:
        """
        Args:
            size: of the rows.
        """
        self.secret = size

    def _secret(self):
        return self.secret

    @cached
    def forward(
        self,
        x,
    ):
        # secret
        @cached
        def secret():
            return self._secret() * x

        return secret()

    # end
    def given(self):
        return "stays"
'''
UNWRITTEN_METHODS = '''\
class Attention(Module):
    """Looks back."""

    def __init__(self, size: int) -> None:
        """
        Args:
            size: of the rows.
        """
        # two matrices and a product
        raise NotImplementedError("write `Attention.__init__` here")

    @cached
    def forward(
        self,
        x,
    ):
        raise NotImplementedError("write `Attention.forward` here")
    def given(self):
        return "stays"
'''


def test_markers_round_methods_keep_their_signatures() -> None:
    assert stub_of(METHODS, "topic.py") == UNWRITTEN_METHODS


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("# solution:\nimport x\n# handed out:\n# x = 1\n# end\n", 3, "must be in the body of a function or class"),
        ("class A:\n    # solution:\n    x = 1\n    # end\n", 3, "round at least one method"),
        ("class A:\n    # solution:\n    def _helper(self):\n        pass\n    # end\n", 3, "at least one method"),
        ("class A:\n    # solution:\n    def f(self): return 1\n    # end\n", 3, "body of `A.f` must begin on a line"),
        ("class A:\n    @one\n    # solution:\n    def f(self):\n        pass\n    # end\n", 3, "cut through"),
        ("class A:\n        # solution:\n    def f(self):\n        pass\n        # end\n", 2, "not indented like"),
    ],
)
def test_markers_that_are_not_round_methods_are_refused(source: str, line: int, message: str) -> None:
    with pytest.raises(CourseError, match=message) as info:
        stub_of(source, "topic.py")
    assert info.value.line == line


PROGRAM = '''\
def total(numbers):
    """Adds."""
    found = 0
    for number in numbers:
        # solution:
        found += number
        # handed out:
        # if number:
        #     found = number  # the latest
        #
        # end
    # solution:
    # handed out:
    # found -= 1
    # end
    return found
'''
PROGRAM_WITH_ITS_BUG = '''\
def total(numbers):
    """Adds."""
    found = 0
    for number in numbers:
        if number:
            found = number  # the latest

    found -= 1
    return found
'''
RIGHT_PROGRAM = '''\
def total(numbers):
    """Adds."""
    found = 0
    for number in numbers:
        found += number
    return found'''


def test_a_program_is_handed_out_with_its_bug() -> None:
    assert stub_of(PROGRAM, "topic.py") == PROGRAM_WITH_ITS_BUG


def test_a_program_says_whether_it_hangs() -> None:
    assert programs(PROGRAM, "topic.py") == {"total": False}
    hanging = PROGRAM.replace("    # handed out:\n    # found", "    # handed out: hangs\n    # found")
    assert programs(hanging, "topic.py") == {"total": True}
    assert programs(SOLVED, "topic.py") == {}


def test_the_solution_that_students_see_has_no_bug(tmp_path: Path) -> None:
    file = tmp_path / "topic.py"
    file.write_text(PROGRAM, encoding="utf-8")
    assert solution_of(file, "total") == RIGHT_PROGRAM


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("    return 1\n    # handed out:\n    # return 2\n    # end\n", 3, "`# handed out:` without a `# solution:`"),
        ("    # solution:\n    return 1\n    # handed out:\n    return 2\n    # end\n", 5, "must be a comment"),
        ("    # solution:\n    return 1\n  # handed out:\n    # end\n", 4, "not indented like its"),
        ("    # solution: here\n    return 1\n    # handed out:\n    # return 2\n    # end\n", 2, "where the bug is"),
        ("    # solution:\n    return 1\n    # handed out:\n    # return 1\n    # end\n", 2, "equals the solution"),
        ("    # solution:\n    return 1\n    # handed out: soon\n    # pass\n    # end\n", 4, "only be followed by"),
        ("    # solution:\n    return 1\n    # handed out:\n    # x\n    # handed out:\n    # end\n", 6, "a second"),
        ("    # solution:\n    return 1\n    # handed out:\n    # return (\n    # end\n", None, "not valid Python"),
    ],
)
def test_wrong_markers_of_a_program_are_refused(body: str, line: int | None, message: str) -> None:
    with pytest.raises(CourseError, match=message) as info:
        stub_of(f"def f():\n{body}", "topic.py")
    assert (info.value.line, str(info.value.file)) == (line, "topic.py")


def test_solution_without_markers_is_refused_as_its_stub_would_be_the_answer(course: Course) -> None:
    file = course.solution_file("vectors")
    source = file.read_text(encoding="utf-8")
    head, tail = source.rsplit("    # solution:\n", 1)
    file.write_text(head + tail.replace("    # end\n", ""), encoding="utf-8")
    with pytest.raises(CourseError, match="`cosine` has no `# solution:`") as info:
        release(course)
    assert source.splitlines()[(info.value.line or 0) - 1].startswith("def cosine")
    assert not course.exercises_dir.exists()


def test_exercise_that_the_solution_does_not_define_is_refused(course: Course) -> None:
    file = course.solution_file("vectors")
    file.write_text(file.read_text(encoding="utf-8").replace("def cosine", "def sine"), encoding="utf-8")
    with pytest.raises(CourseError, match=r"vectors\.py: `cosine` is in course\.toml but is not defined here"):
        release(course)


def test_an_exercise_with_the_name_of_an_import_is_refused_with_the_line_of_the_import(course: Course) -> None:
    file = course.solution_file("vectors")
    text = file.read_text(encoding="utf-8").replace("def cosine", "def sine")
    file.write_text(
        text.replace("import torch\n", "import torch\nfrom math import cos as cosine\n", 1), encoding="utf-8"
    )
    with pytest.raises(CourseError, match=r"`cosine` is in course\.toml but is imported here") as info:
        release(course)
    assert file.read_text(encoding="utf-8").splitlines()[(info.value.line or 0) - 1] == "from math import cos as cosine"


def test_missing_solution_is_refused(course: Course) -> None:
    course.solution_file("vectors").unlink()
    with pytest.raises(CourseError, match=r"solutions/vectors\.py: there is no such file"):
        release(course)


def test_release_writes_what_differs_and_then_nothing(course: Course) -> None:
    stub = course.stub_file("vectors")
    assert release(course, check=True) == [stub]
    assert not stub.exists()
    assert release(course) == [stub]
    assert stub.read_bytes() == (OWN / "exercises" / "vectors.py").read_bytes()
    assert release(course) == release(course, check=True) == []
    assert [file.name for file in course.exercises_dir.iterdir()] == ["vectors.py"]


@pytest.mark.parametrize("root", [None, OWN], ids=["shipped", "own_course"])
def test_stubs_are_exactly_what_release_makes(root: Path | None) -> None:
    course = Course.load(root)
    for topic in course.topics:
        stub = stub_of_topic(course, topic)
        assert course.stub_file(topic.name).read_bytes() == stub.encode(), f"run `grader release` ({topic.name})"
        assert "# solution:" not in stub
        names = {node.name for node in ast.parse(stub).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert {exercise.name for exercise in topic.exercises} <= names


def test_init_gives_stubs_and_a_readme_with_the_next_command(tmp_path: Path) -> None:
    course = Course.load(OWN)
    written = init(course, tmp_path / "new" / "work")
    assert {file.name for file in written} == {"vectors.py", "README.md", ".gitignore", "tasks.json"}
    assert (tmp_path / "new/work/vectors.py").read_bytes() == course.stub_file("vectors").read_bytes()
    assert "grader check vectors.normalize" in (tmp_path / "new/work/README.md").read_text(encoding="utf-8")
    assert init(course, tmp_path / "new" / "work") == []


def test_init_never_overwrites_work(tmp_path: Path) -> None:
    course = Course.load(OWN)
    (tmp_path / "vectors.py").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match=r"other versions of: vectors\.py") as info:
        init(course, tmp_path)
    assert "--force" in (info.value.fix or "")
    assert [(file.name, file.read_text(encoding="utf-8")) for file in tmp_path.iterdir()] == [("vectors.py", "mine")]


def test_forced_init_keeps_every_earlier_version(tmp_path: Path) -> None:
    course = Course.load(OWN)
    for work in ("first", "second"):
        (tmp_path / "vectors.py").write_text(work, encoding="utf-8")
        init(course, tmp_path, force=True)
    assert (tmp_path / "vectors.py").read_bytes() == course.stub_file("vectors").read_bytes()
    assert (tmp_path / "vectors.py.bak").read_text(encoding="utf-8") == "first"
    assert (tmp_path / "vectors.py.bak2").read_text(encoding="utf-8") == "second"


def test_init_leaves_a_readme_of_the_students_own(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    init(Course.load(OWN), tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine"


def test_init_into_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="is a file"):
        init(Course.load(OWN), tmp_path / "file")
