"""Training and DDP do not import torch's compiler; whoever asks for more gets the real one, and gets it once.

Each case runs in a process forked from one that has trained with every optimizer, as student processes are; one from it
before it trained.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from shared import REPO, as_nightly

TRAIN = """
import os, sys, traceback
import torch, torch.distributed as dist
import sympy  # the compiler's, and a third of its time: once for all
from grader.student import late_dynamo

if not (child := os.fork()):
    try:
        import torch._dynamo as real
        late_dynamo.install()
        assert sys.modules["torch._dynamo"] is torch._dynamo is real and real.optimize, "what was imported before"
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
if os.waitpid(child, 0)[1]:
    print("what was imported before")
late_dynamo.install()
late_dynamo.install()
model = torch.nn.Linear(3, 1)
x = torch.ones(2, 3)
kinds = [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad, torch.optim.RMSprop]
optimizers = [kind(model.parameters(), lr=0.1) for kind in kinds]

def train(model):
    for optimizer in optimizers:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
    return model(x)

def modules():
    return {name: module for name, module in sys.modules.items() if name.startswith("torch._dynamo")}

train(model)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
train(torch.nn.parallel.DistributedDataParallel(model))
dist.destroy_process_group()
import inspect
inspect.stack()  # looks at every module's file
assert len(modules()) == 1, list(modules())
"""
WAYS = {
    "a submodule": """
        import torch._dynamo.config as config, torch._dynamo.eval_frame as frame
        assert torch._dynamo.config is config and torch._dynamo.eval_frame is frame
    """,
    "a submodule that the package does not import": """
        import torch._dynamo.debug_utils as late
        assert torch._dynamo.debug_utils is late and late.__spec__.name == "torch._dynamo.debug_utils"
    """,
    "no such submodule": """
        try:
            import torch._dynamo.no_such_module
        except ModuleNotFoundError as error:
            assert error.name == "torch._dynamo.no_such_module"
        from torch._dynamo import config, optimize
        assert torch._dynamo.optimize is optimize and callable(torch._dynamo.trace_rules.lookup)
    """,
    "a setting": """
        torch._dynamo.config.suppress_errors = True
        import torch._dynamo.config as config
        assert config.suppress_errors is True
    """,
    "something compiled": """
        counts = []
        def backend(graph, inputs):
            counts.append(graph)
            return graph.forward
        assert torch.equal(torch.compile(lambda x: x * 2 + 1, backend=backend)(x), x * 2 + 1) and len(counts) == 1
        assert torch.compile(train, backend=backend)(model).shape == (2, 1)
    """,
    "nothing compiled": """
        double = lambda x: x * 2
        assert torch.compile(double) is double is torch.compile(mode="max-autotune")(double)
        assert torch.compile(double, fullgraph=True, dynamic=True, options={"max_autotune": True}) is double
        module = torch.nn.Linear(3, 1)
        module.compile()
        assert torch.equal(module(x), torch.nn.functional.linear(x, module.weight, module.bias))
        assert torch.compile(module) is module and len(modules()) == 1
        train(model), torch._dynamo.optimize
    """,
}


AT_NIGHT = ("a submodule", "a setting")
"""Ways like two of the others; each takes a second or two."""
BY_DAY = tuple(name for name in WAYS if name not in AT_NIGHT)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks, to import torch once only")
@pytest.mark.parametrize("names", [BY_DAY, as_nightly((AT_NIGHT,))], ids=["by day", "at night"])
def test_the_real_module_takes_the_place_when_it_is_needed(names: tuple[str, ...]) -> None:
    """And what was imported before stays."""
    forks = """
for name, way in %r.items():
    if not (child := os.fork()):
        try:
            exec(way)
            train(model)
            real = sys.modules["torch._dynamo"]
            assert torch._dynamo is real and real.__file__ and real.optimize, "not the real one"
            assert len(modules()) > 1 and not [one for one in sys.meta_path if "late" in type(one).__module__]
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(name)
""" % {name: textwrap.dedent(WAYS[name]) for name in names}
    command = [sys.executable, "-W", "ignore", "-c", TRAIN + forks]
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}  # where torch sees a GPU, it trains in threads, and no fork can
    done = subprocess.run(command, cwd=REPO, env=hidden, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr
