"""`grader adopt` on small suites: how tests become exercises, what a person is told, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_here import run_here

from grader.adopt.adopted import Adopted
from grader.adopt.suite import adopt_suite
from grader.course import Course
from grader.errors import UserError

FILES = {
    "shapes.py": """
import enum
from dataclasses import dataclass
from helpers import half
@dataclass
class Point:
    x: int
def area(a, b):
    return _times(a, b)
def _times(a, b):
    return a * b
def side(area, other):
    return half(2 * area) / other
def broken(x):
    raise ValueError(f"no {x}")
cube = lambda x: x**3
class Unit(enum.Enum):
    METRE = 1
    def times(self, x):
        return x * self.value
class Kind(enum.Enum):
    FLAT = 1
""",
    "helpers.py": "def half(x):\n    return x / 2\n",
    "tools/__init__.py": "from tools.files import size\n",
    "tools/files.py": "def size(path):\n    return len(path.read_text())\ndef lines(path):\n    return size(path)\n",
    "tools/lists.py": """
class Stack:
    def push(self, x):
        self.x = x
def size(items):
    return len(items)
""",
    "tools/words.txt": "data\n",
    "tools/more/__init__.py": "",
    "tools/more/lists.py": "def size(items):\n    return 0\n",
    "unused.py": "",
    "conftest.py": "",
    "tests/conftest.py": """
import pytest, tools.lists
@pytest.fixture(scope="module")
def stack():
    made = tools.lists.Stack()
    made.push(1)
    return made
""",
    "tests/near.py": "import shapes\ndef is_four(x):\n    return shapes.area(x, 1) == 4\n",
    "tests/test_shapes.py": """
import pytest, shapes
from near import is_four

@pytest.mark.parametrize("a", [1, 2])
def test_area(a):
    assert shapes.area(a, 3) == 3 * a
def test_area_by_a_helper():
    assert is_four(4)
def test_there_and_back():
    assert shapes.side(shapes.area(2, 3), 3) == 2
def test_back_and_there():
    assert shapes.area(shapes.side(6, 3), 3) == 6
def test_area_and_more():
    assert shapes.area(*map(shapes.cube, (1, 2))) == 8
def test_point():
    assert shapes.Point(2).x == 2
def test_cube():
    assert shapes.cube(2) == 8
def test_memory():
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE))
    assert shapes.area(1, 1) == 1
def test_nothing():
    assert 1 + 1 == 2
def test_broken():
    shapes.broken("luck")
@pytest.mark.skip(reason="needs a ruler")
def test_skipped():
    shapes.area(1, 1)
@pytest.mark.xfail
def test_known_fault():
    assert shapes.area(1, 1) == 2
@pytest.mark.parametrize("b", [pytest.param(1, marks=pytest.mark.skip(reason="needs a GPU")), 2])
def test_area_there(b):
    assert shapes.area(1, b) == b
@pytest.mark.parametrize("b", [1, pytest.param(2, marks=pytest.mark.xfail)])
def test_known_area(b):
    assert shapes.area(1, b) == 1
def test_units():
    assert [one.name for one in shapes.Unit] == ["METRE"] and shapes.Unit(1).value == 1
def test_unit_times():
    assert shapes.Unit.METRE.times(2) == 2
def test_kinds():
    assert [one.name for one in shapes.Kind] == ["FLAT"]
""",
    "tests/inner/test_tools.py": """
import tools.files, tools.lists, tools.more.lists
class TestSize:
    def test_of_a_file(self, tmp_path):
        (tmp_path / "a").write_text("abc")
        assert tools.size(tmp_path / "a") == 3
    def test_of_another(self, tmp_path):
        (tmp_path / "b").write_text("")
        assert tools.files.size(tmp_path / "b") == 0
def test_size_of_a_list():
    assert tools.lists.size([1]) == 1
def test_size_of_nothing():
    assert tools.more.lists.size([]) == 0
def test_stack(stack):
    assert stack.x == 1
def test_stack_again(stack):
    assert vars(stack) == {"x": 1}
""",
    "tests/test_elsewhere.py": "import is_not_installed_anywhere\n",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Adopted:
    folder = written(tmp_path_factory.mktemp("suite"), FILES)
    (folder / "tests/up").symlink_to("..")
    (folder / "tests/gone").symlink_to("nowhere")
    (folder / "tests/words.txt").symlink_to("../tools/words.txt")
    before = sorted(folder.rglob("*"))
    found = adopt_suite(folder / "tests", ["shapes", "tools"], folder / "made" / "course")
    assert sorted(one for one in folder.rglob("*") if "made" not in one.parts) == before
    return found


def test_a_test_belongs_to_the_name_that_it_says_or_to_the_rarest_that_it_calls(adopted: Adopted) -> None:
    groups = {one.exercise: one.tests for one in Course.load(adopted.course).groups}
    assert groups == {
        "shapes.area": (
            "test_shapes.py::test_area",
            "test_shapes.py::test_area_by_a_helper",
            "test_shapes.py::test_area_and_more",
            "test_shapes.py::test_area_there",
        ),
        "shapes.side": ("test_shapes.py::test_there_and_back", "test_shapes.py::test_back_and_there"),
        "shapes.Point": ("test_shapes.py::test_point",),
        "shapes.Unit": ("test_shapes.py::test_unit_times", "test_shapes.py::test_units"),
        "shapes.cube": ("test_shapes.py::test_cube",),
        "tools.size": ("inner/test_tools.py::TestSize",),
        "tools.size_lists": ("inner/test_tools.py::test_size_of_a_list",),
        "tools.size_lists_more": ("inner/test_tools.py::test_size_of_nothing",),
        "tools.Stack": ("inner/test_tools.py::test_stack", "inner/test_tools.py::test_stack_again"),
    }


def test_what_a_person_must_look_at_is_listed_with_its_line(adopted: Adopted) -> None:
    found = "\n".join(adopted.look).replace(f"{adopted.course}/", "").replace(f"{adopted.course.parent.parent}/", "")
    for line in (
        "tests/test_elsewhere.py: cannot be read, so its tests are left out: ModuleNotFoundError: No module named",
        "tests/test_shapes.py:20: `test_memory` limits its own process, and the students' code is in another one",
        "tests/test_shapes.py:24: `test_nothing` calls nothing of shapes or tools, so it is in no exercise",
        "tests/test_shapes.py:44: `test_kinds` calls nothing of shapes or tools, so it is in no exercise",
        "tests/test_shapes.py:26: `test_broken` fails on the solution, so it is left out: ValueError: no luck",
        "tests/test_shapes.py:28: `test_skipped` is skipped on the solution, so it is left out: Skipped: needs a ruler",
        "tests/test_shapes.py:31: `test_known_fault` is expected to fail, so it is left out",
        "tests/test_shapes.py:34: `test_area_there` is skipped on the solution with some parameters, which count",
        "tests/test_shapes.py:37: `test_known_area` is expected to fail, so it is left out",
        "solutions/shapes.py:26: `cube` is neither a def nor a class, so its stub gives it away",
        "exercises/helpers.py: the solution needs it and --modules does not name it, so students get it empty",
        "tests/words.txt: was a link to tools/words.txt, and is a copy now, which students get",
        "conftest.py: is not taken along; copy what the tests need of it into",
    ):
        assert line in found, found
    assert "unused" not in found


def test_students_get_stubs_and_what_lies_beside_them(adopted: Adopted) -> None:
    begin = adopted.course / "exercises"
    files = {one.relative_to(begin).as_posix() for one in begin.rglob("*") if one.is_file()}
    package = {"tools/__init__.py", "tools/files.py", "tools/lists.py", "tools/words.txt"}
    package |= {"tools/more/__init__.py", "tools/more/lists.py"}
    assert files == {"shapes.py", "helpers.py", *package}
    assert (begin / "helpers.py").read_text() == ""
    stub = (begin / "shapes.py").read_text()
    assert "_times" not in stub and "half" not in stub and 'raise NotImplementedError("write `area` here")' in stub
    assert (begin / "tools" / "__init__.py").read_text() == FILES["tools/__init__.py"]
    tests = adopted.course / "tests"
    assert all((tests.parent / name).read_text() == text for name, text in FILES.items() if name.startswith("tests/"))


@pytest.mark.slow
def test_the_rest_of_a_package_is_handed_out_as_it_is(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "src/pkg/__init__.py": "",
            "src/pkg/one.py": "def one():\n    return 1\n",
            "conftest.py": "import pytest\n@pytest.fixture\ndef three():\n    return 3\n",
            "src/pkg/two.py": "from pkg.one import one\ndef two():\n    return one() + one()\n",
            "apps/tool.py": "def read():\n    return open('data/n.txt').read()\n",
            "data/n.txt": "7",
            "tests/test_both.py": "import sys\nsys.path.append('./apps')\nfrom pkg import one, two\nimport tool\n"
            "def test_read():\n    assert tool.read() == '7'\n"
            "def test_both(three):\n    assert one.one() + two.two() == three\n"
            "def test_absent(four):\n    assert one.one() == four\n"
            "def test_process():\n    from multiprocessing import Process\n"
            "    one.one()\n    ran = Process(target=print)\n    ran.start()\n    ran.join()\n"
            "def test_limit():\n    import resource\n    one.one()\n"
            "    resource.setrlimit(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))\n",
        },
    )
    found = adopt_suite(tmp_path / "tests", ["pkg.one", "tool"], tmp_path / "course")
    stubs = {one.name: one.read_text() for one in (tmp_path / "course" / "exercises" / "pkg").iterdir()}
    assert "return one() + one()" in stubs["two.py"] and "return" not in stubs["one.py"]
    assert [(one.exercise, one.tests) for one in Course.load(found.course).groups] == [
        ("pkg.one", ("test_both.py::test_both",)),
        ("tool.read", ("test_both.py::test_read",)),
    ]
    assert (tmp_path / "course/data/n.txt").read_text() == "7"
    look = "\n".join(found.look)
    assert "`test_absent` fails on the solution, so it is left out: fixture 'four' not found" in look
    assert "`test_limit` limits its own process" in look
    assert "`test_process` starts processes, and those cannot ask the students' code: it is left out" in look
    assert f"tests/conftest.py: is a copy of {tmp_path / 'conftest.py'}" in look


@pytest.mark.slow
def test_src_may_be_the_package_itself_and_the_solution_may_need_a_helper_of_the_tests(tmp_path: Path) -> None:
    test = "from common import Flat\nfrom src.shapes.flat import area as f\n"
    test += "class TestFlat(Flat):\n    area = staticmethod(f)\n"
    written(
        tmp_path,
        {
            "src/shapes/flat.py": "from lib import twice\ndef area(a):\n    return twice(a)\n",
            "tests/lib.py": "import more\ndef twice(a):\n    return 2 * a\n",
            "tests/more.py": "",
            "tests/common.py": "class Flat:\n    def test_flat(self):\n        assert self.area(2) == 4\n",
            "tests/test_flat.py": test,
        },
    )
    found = adopt_suite(tmp_path / "tests", ["src"], tmp_path / "course")
    course = Course.load(found.course)
    assert [one.tests for one in course.groups] == [("test_flat.py::TestFlat::test_flat",)]
    assert {one.name for one in course.exercises_dir.iterdir()} == {"src", "lib.py", "more.py"}
    assert "lib.py: the solution takes it from the tests, so students get it" in "\n".join(found.look)


@pytest.mark.slow
def test_the_solution_may_lie_among_the_tests_and_is_no_part_of_them_then(tmp_path: Path) -> None:
    test = "from hw import f\ndef test_f():\n    assert f() == 1\n"
    written(tmp_path, {"hw/hw.py": "def f():\n    return 1\n", "hw/hw_test.py": test})
    found = adopt_suite(tmp_path / "hw", ["hw"], tmp_path / "course")
    files = {one.relative_to(found.course).as_posix() for one in found.course.rglob("*.*")}
    assert files == {"course.toml", "hw/hw_test.py", "exercises/hw.py", "solutions/hw.py"}
    suite = Course.load(found.course).suite
    assert suite is not None and (suite.path, suite.modules) == ("hw", ("hw",))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tests", "modules", "message", "fix"),
    [
        ("nowhere", ["shapes"], "has no files", "name the folder with the tests"),
        ("tests", [], "it is not said which modules students write", "--modules shapes, --modules tools"),
        ("tests", ["shape"], "there is no module `shape` in", "--solution DIR"),
        ("tests", ["unused"], "no test that passes on the solution calls a function of unused", "--modules"),
        ("ending", ["shapes"], r"one of them ended the process \(exit status 3\)", "run them with pytest"),
        ("raising", ["shapes"], "calls a function of shapes: RuntimeError: no luck", "run them with pytest"),
        ("latin/tests", ["pi"], "pi.py: it is not saved as UTF-8", ""),
    ],
)
def test_what_cannot_be_adopted_is_refused_in_one_line(
    tmp_path: Path, tests: str, modules: list[str], message: str, fix: str
) -> None:
    written(tmp_path, FILES)
    written(tmp_path / "ending", {"test_a.py": "import os\n\ndef test_end():\n    os._exit(3)\n"})
    written(tmp_path / "raising", {"test_a.py": "", "conftest.py": "raise RuntimeError('no luck')\n"})
    written(tmp_path / "latin", {"tests/test_pi.py": "import pi\n\ndef test_it():\n    assert pi.f() == 3\n"})
    (tmp_path / "latin/pi.py").write_bytes("# über\ndef f():\n    return 3\n".encode("latin-1"))
    with pytest.raises(UserError, match=message) as info:
        adopt_suite(tmp_path / tests, modules, tmp_path / "course")
    assert fix in (info.value.fix or "") and not (tmp_path / "course").exists()


def test_command_never_writes_into_a_folder_that_holds_something(tmp_path: Path) -> None:
    done = run_here("adopt", tmp_path, "--modules", "shapes", "tools", "--to", written(tmp_path / "mine", {"a": ""}))
    assert (done.returncode, [one.name for one in (tmp_path / "mine").iterdir()]) == (4, ["a"])
    assert "mine is not empty" in done.stderr and "--to COURSE" in done.stderr
    done = run_here("adopt", tmp_path, "shapes")
    assert (done.returncode, "there is more than one folder: shapes" in done.stderr) == (4, True)
    done = run_here("adopt", tmp_path, "--to", tmp_path / "mine" / "a" / "course")
    assert (done.returncode, "mine/a is a file" in done.stderr) == (4, True)
    (tmp_path / "circle").symlink_to("circle")
    done = run_here("adopt", tmp_path / "circle")
    assert (done.returncode, "there is no" in done.stderr) == (4, True)
