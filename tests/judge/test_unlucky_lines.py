"""Lines at the top of a file that change the process: whoever has them above right answers loses nothing by them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest
import torch
from shared import REPO, WarmUp

from grader.student.statements import put_back

EXERCISES = ("tensor_ops", "checkpoints.save_weights", "checkpoints.load_weights", "efficiency.amp_step", "ddp.main")
UNLUCKY = {
    "files": "import os\nos.makedirs('checkpoints', exist_ok=True)\n_ = open('model.pt', 'wb').write(b'1')",
    "a folder of Colab": "import os\nos.chdir('/')\nos.umask(0o777)",
    "a drive of Colab": "from google.colab import drive\ndrive.mount('/content/drive')\nos.chdir('/content/work')",
    "a data file": "rows = open('data.csv').read()",
    "prints": "print('torch', torch.__version__)",
    "logging": "import logging\nlogging.basicConfig(level=logging.DEBUG, force=True)\nlogging.info('begun')",
    "a warning, and warnings as errors": "import warnings\nwarnings.warn('old')\nwarnings.filterwarnings('error')",
    "a log of all prints": "import io, sys\nsys.stdout = sys.stderr = io.StringIO()",
    "a progress bar": "import sys\nsys.stderr.write('50%|#####     |\\r')",
    "seeds": "import random\nrandom.seed(1)\ntorch.manual_seed(1)\n_ = torch.rand(3)",
    "a deeper stack": "sys.setrecursionlimit(20_000)",
    "signal handlers": "import signal\nsignal.signal(signal.SIGINT, print)\nsignal.signal(signal.SIGALRM, print)",
    "variables": "os.environ.update(CUDA_VISIBLE_DEVICES='', OMP_NUM_THREADS='4', PYTHONHASHSEED='0')",
    "torch's settings": "torch.set_printoptions(precision=2)\ntorch.use_deterministic_algorithms(True)",
    "modes of torch": "torch.autograd.set_detect_anomaly(True)\ntorch.set_grad_enabled(False)",
    "threads": "from concurrent.futures import ThreadPoolExecutor as Pool\nPOOL = Pool(3)\n_ = [*POOL.map(abs, [1])]",
    "threads of torch": "torch.set_num_threads(4)\n_ = torch.rand(300, 300) @ torch.rand(300, 300)",
}
NOT_IN_SCRIPTS = ("a drive of Colab", "a data file", "modes of torch", "a log of all prints")
"""A script that raises ends with another exit code than 0, and one without gradients cannot train: for anybody."""


def unlucky(name: str) -> str:
    """The course's solution with all of these lines above its functions."""
    text = (REPO / "solutions" / f"{name}.py").read_text()
    lines = "\n".join(one for key, one in UNLUCKY.items() if name != "ddp" or key not in NOT_IN_SCRIPTS)
    head, mark, rest = text.partition("\nimport torch\n")
    return f"{head}{mark}{lines}\n{rest}"


@pytest.mark.slow
def test_right_answers_below_them_earn_everything(warm: WarmUp) -> None:
    worker = warm(None, only=EXERCISES, misconceptions=False)
    topics = ("tensor_ops", "checkpoints", "efficiency", "ddp")
    result = worker.grade(**{topic: unlucky(topic) for topic in topics})
    wrong = [check for one in result.exercises for check in one.checks if check.verdict not in ("passed", "skipped")]
    assert result.score == result.max, wrong
    expected = ("google", "`drive`", "/content/", "data.csv")
    assert [note for note in result.notes if not any(word in note for word in expected)] == []


def test_settings_are_put_back_also_after_an_exception(tmp_path: Path) -> None:
    folder, filters = os.getcwd(), [*warnings.filters]
    with pytest.raises(ZeroDivisionError), put_back():
        os.chdir(tmp_path)
        warnings.simplefilter("ignore")
        torch.set_default_dtype(torch.float64)
        torch.autograd.set_detect_anomaly(True)
        torch.set_grad_enabled(False)
        _ = 1 / 0
    assert (os.getcwd(), [*warnings.filters]) == (folder, filters)
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled() and not torch.is_anomaly_enabled()
