"""A suite's tests, unchanged, on submissions in their sandbox: the same verdicts as under plain pytest."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shared import WarmUp, exercise_of

from grader.files import python_files
from grader.intake.submission import Submission
from grader.results import SubmissionResult
from grader.suites.deferred import Deferred
from grader.testkit.show import show

COURSE = Path(__file__).parent.parent / "courses" / "suite"
ADAPTERS, PKG, OPS, OBJECTS = "adapters.py", "pkg/__init__.py", "pkg/deep/ops.py", "pkg/objects.py"
DERIVED, SHARED, BOTH = "pkg/derived.py", "pkg/shared.py", "pkg/both.py"
NAMES, LOSSES = "pkg/names.py", "pkg/losses.py"
WRONG = (
    (ADAPTERS, 'p.data -= g["lr"]', 'p.data -= 2 * g["lr"]', {"optimizer_class"}),
    (ADAPTERS, "    x[x < 0] = 0\n    return x", "    return x.clamp(min=0)", {"in_place_and_identity"}),
    (ADAPTERS, "return model(x)", "return model(x).detach()", {"own_module_passed"}),
    (ADAPTERS, "return x @ self.weight.T", "return x @ self.weight.T + 1", {"subclass"}),
    (ADAPTERS, "for i in range(n)", "for i in range(n - 2, n)", {"callbacks"}),
    (ADAPTERS, 'print("hello", name)', "pass", {"prints"}),
    (ADAPTERS, 'log.warning("careful: %s", x)', "pass", {"log"}),
    (ADAPTERS, "write_text(json.dumps(data))", 'write_text("{}")', {"tmp"}),
    (ADAPTERS, ".read_text().split()", ".read_text().splitlines()", {"path"}),
    (ADAPTERS, "yield from text.split()", "yield text", {"iterates"}),
    (ADAPTERS, "return torch.randn(3).tolist()", "return torch.rand(3).tolist()", {"random_state"}),
    (ADAPTERS, "    np.random.seed(n)", "    np.random.seed(n + int(torch.seed() % 9) + 1)", {"their_seed"}),
    (ADAPTERS, "self.path.unlink()", "pass", {"diary"}),
    (ADAPTERS, "return 2 * self._number", "return self._number", {"times_and_sets"}),
    (ADAPTERS, "function.__name__", '"function"', {"local_class"}),
    (ADAPTERS, 'os.environ["SUITE_HOME"]', '"home"', {"place"}),
    (ADAPTERS, "time.sleep(seconds)", "time.sleep(0)", {"patched"}),
    (ADAPTERS, 'warnings.warn("old", DeprecationWarning, stacklevel=2)', "pass", {"warning"}),
    (ADAPTERS, "weight /= 2", "weight /= 4", {"modes"}),
    (ADAPTERS, "return json.loads(text)", "return eval(text)", {"exceptions"}),
    (ADAPTERS, "return sum(values)", "return sum(values) + 1", {"values_of_libraries"}),
    (ADAPTERS, "return 2 * ctx.saved_tensors[0] * grad", "return ctx.saved_tensors[0] * grad", {"function_of_theirs"}),
    (ADAPTERS, "x.data -= 0.2 * x.grad", "x.data += 0.2 * x.grad", {"function_of_ours"}),
    (ADAPTERS, '["lr"] = 0.05', '["lr"] = 0.5', {"training"}),
    (ADAPTERS, '{"x": x, "step": 1}', '{"x": 2 * x}', {"saved"}),
    (ADAPTERS, "return kind is KeyError", "return kind is TypeError", {"objects"}),
    (PKG, "raise BadScalar(data)", "return", {"raises"}),
    (PKG, "        return self\n", "        self.data = 0.0\n        return self\n", {"itself"}),
    (PKG, "return x / 2", "return x // 3", {"table[half-half-1]"}),
    (PKG, "return param.ask()", "return param", {"own_object"}),
    (OBJECTS, "class Closed(LookupError, ValueError)", "class Closed(LookupError)", {"exception_of_theirs"}),
    (OBJECTS, 'return "end"', "return", {"end_of_a_generator"}),
    (OBJECTS, "timeout=shown", "timeout=0", {"mocks"}),
    (OBJECTS, 'done.append("begun")', "done.append(0)", {"changes_before_it_raises"}),
    (OBJECTS, "line = file.readline()", "line = file.read()", {"made_file"}),
    (OBJECTS, "class SGD(torch.optim.SGD):\n    pass", "from torch.optim import Adam as SGD", {"scheduler"}),
    (OPS, "return a + b", "return a - b", {"add", "drawn"}),
    (PKG, "def work", "def works", {"fast"}),
    (DERIVED, "return x**3", "return x.detach() ** 2 * x", {"second_derivative", "transforms_of_torch"}),
    (DERIVED, "return self.inner(x) * 2", "return self.inner(x) * 3", {"layer"}),
    (DERIVED, "torch.nn.Linear(2, 2)", "torch.nn.Linear(2, 2, bias=False)", {"tools_of_torch"}),
    (DERIVED, "return torch.tensor(at * 2)", "return torch.tensor(at)", {"loader_with_workers"}),
    (DERIVED, "first + info.id", "first", {"loader_whose_workers_have_a_shard_each"}),
    (DERIVED, "return Point(a.x - b.x, a.y - b.y).norm()", "return Point(a.x, b.y).norm()", {"named_tuples"}),
    (DERIVED, "return 6", "return 7", {"TestNumbers.length"}),
    (DERIVED, "self.items.sort()", "self.items.reverse()", {"TestBag.runTest"}),
    (DERIVED, "line.upper()", "line", {"echo"}),
    (DERIVED, "    model.eval()\n", "", {"module_of_the_test_is_changed"}),
    (DERIVED, "set_default_dtype(before)", "set_default_dtype(torch.float64)", {"modes_that_a_submission_sets"}),
    (DERIVED, "return str(error)", "return repr(error)", {"exceptions_that_the_test_raises"}),
    (DERIVED, "itertools.islice(values, count)", "itertools.islice(values, count + 1)", {"iterators"}),
    (DERIVED, 'nested["inner"].append(2)', 'nested["inner"].append(3)', {"values_of_more_kinds"}),
    (DERIVED, "function.__name__", "function", {"parameters"}),
    (DERIVED, "in range(steps)", "in range(steps + 1)", {"schedules_and_distributions"}),
    (DERIVED, "in range(count)", "in range(count + 1)", {"variables_that_classes_of_the_test_change"}),
    (DERIVED, "    listener.begin()\n", "", {"variables_of_classes_of_the_test"}),
    (DERIVED, "return kind(*args)", "return args", {"object_made_of_a_class_of_the_test"}),
    (DERIVED, "for one in self.steps:", "for one in self.steps[:1]:", {"objects_of_the_test_that_are_used_later"}),
    (
        DERIVED,
        "with torch.no_grad():\n        return function()",
        "return function()",
        {"function_that_is_called_without_gradients"},
    ),
    (SHARED, '["W"], params["b"]', '["W"].copy(), params["b"]', {"numeric_gradient"}),
    (SHARED, "_sinks.append(sink)", "_sinks.append(list(sink))", {"function_that_keeps"}),
    (SHARED, 'out.append("b")', 'out = [*out, "b"]', {"generator_that_fills"}),
    (SHARED, "return x.T", "return x.T.contiguous()", {"views"}),
    (SHARED, "generator.manual_seed(seed)", "torch.manual_seed(seed)", {"random_generator_of_torch"}),
    (BOTH, "+ tokenizer.pad", "", {"object_that_is_called"}),
    (BOTH, "current.reset(token)", "pass", {"context_variable"}),
    (BOTH, "        self.place = place\n", "        self.place = None\n", {"names_that_proxies_have"}),
    (BOTH, "Plugin.known.append(cls)", "pass", {"class_that_is_told_of_a_derived_one"}),
    (BOTH, "= history, callbacks", "= [*history], callbacks", {"list_of_the_test_that_is_kept"}),
    (BOTH, "one(self.state)", "one({**self.state})", {"dict_of_theirs_that_a_function_of_the_test_changes"}),
    (BOTH, "    yield found\n", "    yield {}\n", {"results_that_change_later"}),
    (LOSSES, "    loss.backward()\n    norm", "    loss.detach()\n    norm", {"step", "step_of_their_model"}),
    (LOSSES, "torch.autograd.grad(loss,", "torch.autograd.grad(2 * loss,", {"gradients"}),
    (LOSSES, "return self.layer(x)", "return 2 * self.layer(x)", {"gradients_of_their_parameters"}),
    (LOSSES, "loss /= len(losses)", "loss += 0", {"accumulate"}),
    (LOSSES, "return x * x", "return x.detach() * x", {"the_test_goes_back"}),
    (LOSSES, "scaler.step(optimizer)", "optimizer.step()", {"scaler"}),
    (LOSSES, "init_scale=size", "init_scale=2 * size", {"scaler_of_theirs"}),
    (LOSSES, "    log.lines = []", "    log.lines = [1]", {"equal_list_in_the_place_of_another"}),
    (BOTH, "loss().backward()", "(2 * loss()).backward()", {"tensor_that_only_the_test_has"}),
    (BOTH, "class Linear(Policy, nn.Module)", "class Linear(Policy)", {"layer_with_an_abstract_base"}),
    (BOTH, "LIMIT = 3", "LIMIT = 3.0", {"variables"}),
    (NAMES, '"circle": Circle', '"circle": Square', {"is", "keys_that_are_classes"}),
    (NAMES, '"square": Square', '"square": Circle', {"TestIs.assert_is", "match", "pickled"}),
    (NAMES, "KNOWN[cls.__name__] = cls", "KNOWN[cls.__name__] = Shape", {"classes_of_the_test"}),
    (NAMES, "Scaled(layer)", "layer", {"layers_in_a_model_of_the_test"}),
    (NAMES, "lambda: [0, 0]", "list", {"dicts_that_make_values"}),
    (NAMES, "return KNOWN[name]", "return KNOWN.get(name)", {"class_in_a_dict_that_is_patched"}),
    (NAMES, "return x.requires_grad_()", "return x", {"tensor_that_requires_grad_from_now_on"}),
    (NAMES, "str(2 * int(match[0]))", "match[0]", {"match_of_a_pattern"}),
    (NAMES, "x.unsqueeze_(0)", "x.unsqueeze(0)", {"shape_changed_in_place"}),
    (NAMES, "self.loss = 0.5", "self.loss = 1", {"callback_that_gets_what_is_new"}),
    (NAMES, "return self.r**2", "return self.r * self.r", {"source"}),
    (BOTH, "file.write(text)", "file.write(text[:1])", {"files_in_the_current_folder"}),
)
"""Wrong answers: a file, what is replaced in it with what, and the tests that fail."""


def submission(name: str = "right", *, more: dict[str, str] | None = None) -> Submission:
    """The solution, with more code at the end of some of its files."""
    files = python_files(COURSE / "solutions")
    for file, text in (more or {}).items():
        files[file] += text.encode()
    return Submission(name, files)


def verdicts(result: SubmissionResult) -> dict[str, str]:
    """By check, but for those that are not assessed here."""
    checks = [check for one in result.exercises for check in one.checks]
    return {check.name: check.verdict for check in checks if check.verdict != "skipped"}


def failing(result: SubmissionResult) -> set[str]:
    return {name for name, verdict in verdicts(result).items() if verdict != "passed"}


def plain_pytest(folder: Path, storage: Path) -> set[str]:
    """The tests that fail under plain pytest, named as checks are: in a copy, for a wrong answer leaves files there."""
    course = shutil.copytree(COURSE, storage / "course", dirs_exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rf", "--tb=no", "tests"]
    command += ["-k", "not little", "--submission", str(folder)]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(storage)
    run = subprocess.run(command, cwd=course, capture_output=True, text=True, check=False, env=environment)
    assert "passed" in run.stdout, run.stdout + run.stderr
    return {
        one.replace("::test_", ".").replace("::", ".")
        for one in re.findall(r"^(?:SUB)?FAILED(?:\(.*?\))? \S+?\.py::(?:test_)?(\S+)", run.stdout, re.MULTILINE)
    }


def test_right_answer_passes_everything_that_can_be_assessed(warm: WarmUp) -> None:
    result = warm(COURSE).of(submission())
    assert set(verdicts(result).values()) == {"passed"} and len(verdicts(result)) == 175
    assert result.score == result.max == 138.25
    first, second, memory = (one for one in exercise_of(result, "clock").checks if one.verdict == "skipped")
    assert "needs a TPU" in first.message and "needs ours" in second.message
    assert "limits its own process (test_clock.py:29)" in memory.message


def test_plain_pytest_gives_the_same_verdicts(warm: WarmUp, tmp_path: Path) -> None:
    """For the right answer, and for all wrong ones that can be in one submission at once."""
    files = python_files(COURSE / "solutions")
    for file, old, new, _ in WRONG:
        assert old.encode() in files[file]
        files[file] = files[file].replace(old.encode(), new.encode())
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    result = warm(COURSE).of(Submission("wrong", files))
    found = failing(result)
    assert set(verdicts(result).values()) == {"passed", "failed"}
    assert found >= {name for *_, names in WRONG for name in names}
    assert plain_pytest(tmp_path, tmp_path / "hypothesis") == found
    assert plain_pytest(COURSE / "solutions", tmp_path / "hypothesis") == set()


def test_message_is_pytests_own_with_the_students_lines(warm: WarmUp) -> None:
    wrong = "\ndef words(text):\n    print('not split')\n    return [text]\n"
    wrong += "def scale(a, n):\n    a *= n + 1\ndef softmax_(x, dim): return x\n"
    adds = "\ndel work\ndef add_(self, other):\n    self.data = 5.0\n    return self\nScalar.__add__ = add_\n"
    exercises = ("adapters.files", "adapters.tensors", "pkg.scalars", "pkg.clock")
    result = warm(COURSE).of(submission(more={ADAPTERS: wrong, PKG: adds}), *exercises)
    (check,) = (one for one in exercise_of(result, "files").checks if one.verdict == "failed")
    first, _, rest = check.message.partition("\n")
    assert first == "Iterates: words('a b') gives ['a b'] where ['a', 'b'] was expected"
    assert check.cause is not None and check.cause.prints == "not split"
    assert "the test" not in rest and "Iterates" not in rest  # it would say the same again
    array, softmax = (one.message for one in exercise_of(result, "tensors").checks if one.verdict == "failed")
    assert array.startswith("In place and identity: 2 of 2 values differ, the first at [0]: 4.0 where 3.0 was expected")
    assert show(Deferred("pkg", ("Scalar",))) == "Scalar"  # by whose name a message shows calls of its methods
    assert softmax.startswith("Parametrized: 2 of 2 values differ, the first at [0]: 0.0 where 0.5 was expected")
    fixture = next(one.message for one in exercise_of(result, "scalars").checks if one.name == "fixture")
    assert (
        fixture.startswith("Fixture: ") and "\nthe test: assert " in fixture
    )  # and not with its fixture's end, which fails, too
    splits = "\n\ndef words(text):\n    return text.splitt()\n"
    raises = warm(COURSE).of(submission(more={ADAPTERS: splits}), "adapters.files")
    (check,) = (one for one in exercise_of(raises, "files").checks if one.verdict == "failed")
    assert "return text.splitt()" in check.message
    missing = next(one for one in exercise_of(result, "clock").checks if one.name == "fast")
    assert "`work` is not defined in pkg" in missing.message


def test_hidden_test_shows_nothing_of_the_answer(warm: WarmUp) -> None:
    result = warm(COURSE).of(submission(more={PKG: "\n\ndef secret(n):\n    return 5\n"}), "pkg.clock")
    check = next(one for one in exercise_of(result, "clock").checks if one.name == "secret")
    assert check.verdict == "failed" and check.hidden_until
    assert "4711" not in str(check)


LIES = {
    "objects": (
        {
            ADAPTERS: """
class Liar:
    def __eq__(self, other):
        print("asked about", other)
        return True
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    def __bool__(self):
        return True
    def __len__(self):
        return 3
class List(list):
    def __eq__(self, other):
        return True
def vocab():
    return List([9])
def count_words(path):
    return Liar()
def greeting():
    return Liar()
""",
            OPS: """
class Number(float):
    def __eq__(self, other):
        return True
    def __sub__(self, other):
        return 0.0
    __rsub__ = __sub__
def add(a, b):
    return Number(99)
""",
        },
        {"snapshot", "path", "monkeypatch", "not_patched", "add", "drawn"},
    ),
    "tensors": (
        {
            ADAPTERS: """
class Lying(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
    def tolist(self):
        return [6.0, 6.0]
def run_through(model, x):
    return torch.zeros(1).as_subclass(Lying)
def softmax_(x, dim):
    return torch.zeros(2).as_subclass(Lying)
"""
        },
        {"own_module_passed", "parametrized[softmax_]"},
    ),
    "arrays": (
        {
            OBJECTS: """
def doubled(array):
    import sys
    frame = sys._getframe()
    while "wire" not in frame.f_globals:
        frame = frame.f_back
    forged = ["n", "float64", [1 << 40], None, b"short"]
    frame.f_globals["wire"]._ENCODERS[type(array)] = lambda *_: forged
    return array
"""
        },
        {"array"},
    ),
    "pickles": (
        {
            ADAPTERS: """
class Bomb:
    def __reduce__(self):
        return (print, ("owned",))
def dump(data, path):
    import pickle
    Path(path).write_bytes(pickle.dumps(Bomb(), 0))
"""
        },
        {"tmp"},
    ),
}


@pytest.mark.parametrize("names", [("objects", "tensors", "pickles"), ("arrays",)], ids=" and ".join)
def test_lie_passes_no_test(warm: WarmUp, names: tuple[str, ...]) -> None:
    """Several lies are in one submission, but for the one that changes what its process sends."""
    more: dict[str, str] = {}
    for files, _ in map(LIES.__getitem__, names):
        more |= {file: more.get(file, "") + text for file, text in files.items()}
    result = warm(COURSE).of(submission("lies", more=more))
    assert failing(result) == {test for name in names for test in LIES[name][1]}
    assert "asked about" not in str(result)  # no expected value is sent to be compared


@pytest.mark.parametrize("code", ["while True:\n        pass", "import os; os._exit(0)"])
def test_hang_or_crash_costs_its_exercise_only(warm: WarmUp, code: str) -> None:
    more = {PKG: f"\n\ndef work():\n    {code}\n", OBJECTS: f"\n\ndef late():\n    {code}\n"}
    result = warm(COURSE).of(submission(more=more))
    found = verdicts(result)
    assert found["fast"] == ("timeout" if "while" in code else "crashed")
    assert {name for name, verdict in found.items() if verdict != "passed"} <= {
        "fast",
        "at_once",
        "secret",
        "TestMemory.device[cpu]",
    }
    if "while" in code:
        assert "no answer in 2 s" in exercise_of(result, "clock").checks[0].message
        assert "no answer in 1 s" in exercise_of(result, "objects").checks[-1].message  # as the test's own mark says


def test_crash_in_a_fixture_leaves_nothing_for_the_next_submission(warm: WarmUp) -> None:
    ends = "\n\nclass Scalar:\n    def __init__(self, data):\n        import os; os._exit(0)\n"
    grader = warm(COURSE)
    assert verdicts(grader.of(submission("ends", more={PKG: ends}), "pkg.scalars"))["fixture"] == "crashed"
    assert set(verdicts(grader.of(submission())).values()) == {"passed"}
