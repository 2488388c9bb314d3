"""Whoever reaches into the grader or into torch is flagged for an instructor; the verdicts are as without a flag."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared import Warm, WarmUp

from grader.results import SubmissionResult, to_json

COURSE = Path(__file__).resolve().parent.parent / "courses" / "needs"
RIGHT = (COURSE / "solutions" / "lab.py").read_text()


HONEST_LINES = {
    "display": """
import builtins, functools, warnings
import numpy as np
import torch
from torch import nn
plain_repr = torch.Tensor.__repr__
torch.Tensor.__repr__ = lambda self: f"{tuple(self.shape)}:{plain_repr(self)}"
torch.Tensor._repr_html_ = lambda self: str(self)
torch.Tensor.info = lambda self: (self.shape, self.dtype)
nn.Module.__str__ = lambda self: type(self).__name__
nn.Module.device = property(lambda self: next(self.parameters()).device)
builtins.print = functools.partial(print, flush=True)
torch.set_printoptions(precision=3, sci_mode=False)
np.set_printoptions(suppress=True)
warnings.filterwarnings("ignore")
warnings.formatwarning = lambda message, *rest: str(message)
""",
    "machine": """
import os, platform, subprocess, sys
import torch
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("OMP_NUM_THREADS", "1")
torch.set_default_dtype(torch.float32)
torch.set_num_threads(1)
torch.manual_seed(0)
torch.use_deterministic_algorithms(False)
torch.backends.cudnn.benchmark = False
torch.backends.cuda.matmul.allow_tf32 = True
setattr(torch.backends.cudnn, "deterministic", True)
torch.cuda.is_available = lambda: False
cores = open("/proc/cpuinfo").read().count("processor") if os.path.exists("/proc/cpuinfo") else 1
with open("/proc/self/status") as status:
    memory = status.read()
in_colab = "google.colab" in sys.modules
in_notebook = "ipykernel" in sys.modules or hasattr(__builtins__, "__IPYTHON__") or sys.modules.get("IPython")
sys.setrecursionlimit(5000)
system = platform.platform(), os.cpu_count(), sys.version
""",
    "imports": """
import sys, pathlib, importlib, os
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.append(str(pathlib.Path(__file__).parent))
own_text = pathlib.Path(__file__).read_text()
own_lines = open(__file__).readlines()
versions = {}
for name in ("torch", "numpy", "json"):
    versions[name] = importlib.import_module(name).__version__ if name != "json" else __import__(name).__name__
try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
this = sys.modules[__name__]
current = getattr(sys.modules.get(__name__), "this", None)
""",
    "compiled": """
import torch
@torch.compile(backend="eager")
def compiled(x):
    return (x @ x.T).relu()
compiled(torch.ones(2, 3))
quick = torch.compile(lambda x: x + 1, dynamic=True, backend="eager")
quick(torch.ones(2))
torch._dynamo.config.suppress_errors = True
""",
    "processes and time": """
import faulthandler, gc, logging, multiprocessing, signal, threading, time
faulthandler.disable()
multiprocessing.set_start_method("fork", force=True)
child = multiprocessing.Process(target=print)
child.start()
child.join()
thread = threading.Thread(target=print)
thread.start()
thread.join()
logging.basicConfig(level=logging.INFO)
logging.getLogger(__name__).info("x")
started = time.perf_counter()
gc.collect()
signal.signal(signal.SIGTERM, signal.SIG_DFL)
""",
    "functions and types": """
import abc, collections, dataclasses, enum, functools, inspect, operator, typing
T = typing.TypeVar("T")
Pair = collections.namedtuple("Pair", "a b")
class Typed(typing.NamedTuple):
    x: int = 0
@dataclasses.dataclass(frozen=True)
class Config:
    lr: float = 0.1
class Base(abc.ABC):
    registry: typing.ClassVar[dict] = {}
    def __init_subclass__(cls) -> None:
        Base.registry[cls.__name__] = cls
class Kind(Base):
    def __getattr__(self, name):
        raise AttributeError(name)
kinds = Base.__subclasses__()
def checked(function):
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    @functools.wraps(function)
    def inner(*args, **kwargs):
        inspect.signature(function).bind(*args, **kwargs)
        return function(*args, **kwargs)
    return inner
@functools.lru_cache(maxsize=None)
@checked
def add(a: int, b: int = 1) -> int:
    return a + b
add(1), inspect.getsource(add), operator.attrgetter("lr")(Config()), typing.get_type_hints(add)
inspect.getdoc(add), vars(Config()), globals().get("add"), getattr(Config(), "lr"), eval("1 + 1")
exec("made = 2")
""",
}


@pytest.fixture
def lab(warm: WarmUp) -> Warm:
    return warm(COURSE)


def with_own(body: str, head: str = "") -> str:
    return f"{head}\n{RIGHT}\n\ndef plain():\n    {body}\n"


def seen(result: SubmissionResult) -> list[str]:
    return [str(flag) for flag in result.flags]


def test_an_honest_submission_has_no_flag(lab: Warm) -> None:
    assert lab.grade(lab=RIGHT).flags == ()


@pytest.mark.parametrize("lines", HONEST_LINES)
def test_lines_that_many_people_write_are_no_reason_to_look(lab: Warm, lines: str) -> None:
    result = lab.grade(lab=with_own("return 1", HONEST_LINES[lines]))
    assert (seen(result), result.exercises[0].score) == ([], 1)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("import torch\ntorch.allclose = print", "replaces torch.allclose"),
        ("import torch\nt = vars(__import__('torch'))\nt['allclose'] = print", "uses vars(torch)"),
        ("class T: pass\nimport torch\nx = torch\nx.equal = print", "replaces torch.equal"),
        ("import builtins as b\nc = b\nc.abs = print", "replaces builtins.abs"),
        ("import torch\nput = setattr\nput(torch.Tensor, '__e' + 'q__', print)", "replaces torch.Tensor.__eq__"),
    ],
)
def test_replaced_functions_are_flagged(lab: Warm, head: str, words: str) -> None:
    assert any(words in text for text in seen(lab.grade(lab=with_own("return 1", head))))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import gc\n    n = 'get_objects'\n    getattr(gc, n)()\n    return 1", "look at line "),
        ("s = [__import__('sys')]\n    s[0]._getframe()\n    return 1", "looked at the frames of its callers"),
        ("f = open\n    f(chr(47) + 'proc/self/maps').read()\n    return 1", "opened memory or open files"),
        ("(lambda: 0).__getattribute__('__glo' 'bals__')\n    return 1", "__globals__"),
        ("e = [eval]\n    e[0]('__import__(chr(115) + \"ys\")._getframe()')\n    return 1", "frames of its callers"),
    ],
)
def test_what_happens_in_a_call_is_flagged_and_changes_no_verdict(lab: Warm, body: str, words: str) -> None:
    honest, result = lab.grade(lab=RIGHT), lab.grade(lab=with_own(body))
    assert any(words in text for text in seen(result)), seen(result)
    assert result.exercises == honest.exercises


def test_what_a_wrong_answer_does_is_flagged_too_and_once(lab: Warm) -> None:
    result = lab.grade(lab=with_own("s = [__import__('sys')]\n    s[0]._getframe()\n    return 2"))
    assert result.exercises[0].score == 0
    assert sum("frames of its callers" in text for text in seen(result)) == 1


@pytest.mark.parametrize("head", ["import sys\nsys.modules\n1 / 0", "import sys\nsys.modules\ndef"])
def test_a_submission_that_cannot_be_imported_is_flagged_as_far_as_it_can_be_read(lab: Warm, head: str) -> None:
    result = lab.grade(lab=head)
    assert result.score == 0 and bool(result.flags) == ("1 / 0" in head)


def test_forging_notes_flags_nobody_but_oneself(lab: Warm) -> None:
    honest = to_json(lab.grade(lab=RIGHT))
    forge = """
import os
for descriptor in range(3, 64):
    try:
        os.write(descriptor, b"looked at \\x1b[2J\\tother.py\\t3\\n" + b"x" * 20_000)
    except OSError:
        pass
"""
    result = lab.grade(lab=with_own("return 1", forge))
    assert all(text.isprintable() for text in seen(result))
    assert to_json(lab.grade(lab=RIGHT)) == honest


def test_a_full_pipe_stops_nobody(lab: Warm) -> None:
    many = "import sys\nfor n in range(999):\n    exec(compile('s._getframe()', 'x', 'eval'), {'s': sys})"
    assert lab.grade(lab=with_own("return 1", many)).exercises[0].score == 1
