"""Simulated devices over many torch functions and layers: the CPU's own answer, on the right device."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.testkit import devices

Case = TypeVar("Case")

# x, y: (4, 4); p: positive; v, w: (4,); i: indices; b: bool; n, m: integers; g: images; s: a sequence; q: a batch of x
ALONE = {
    "arithmetic": """
        x + 1 | 2 - x | -x | x * 3 | x / 2 | x ** 2 | 2 ** x | abs(x) | x.T | x.mT | x.t()
    """,
    "functions of each value": """
        x.exp() | torch.log(p) | p.sqrt() | p.rsqrt() | torch.sin(x) | x.cos() | x.tan() | x.tanh() | x.sigmoid()
        x.relu() | torch.erf(x) | x.floor() | x.ceil() | x.round() | x.trunc() | x.frac() | x.sign() | x.square()
        x.reciprocal() | p.log2() | p.log10() | p.log1p() | x.expm1() | x.sinh() | x.clamp(0, 1) | x.clamp(min=0)
    """,
    "reductions": """
        x.sum() | x.sum(0) | x.mean(1, keepdim=True) | x.std() | x.var(0) | x.prod(1) | x.max() | x.max(1)
        x.min(0).indices | x.amax(1) | x.amin(0) | x.argmax() | x.argmin(1) | x.median() | x.mode(0) | x.logsumexp(1)
        x.norm()
    """,
    "scans and order": """
        x.cumsum(0) | x.cumprod(1) | x.cummax(0) | x.sort(1) | x.argsort() | x.topk(2) | x.kthvalue(2)
        x.quantile(0.5)
    """,
    "truth and integers": """
        b.any() | b.all(0) | b.sum() | x.isnan() | x.isinf() | x.isfinite() | b.logical_not() | ~b | x > 0 | x == 0
        n % 3 | n // 2 | n << 1 | n & 3
    """,
    "shapes": """
        x.view(2, 8) | x.reshape(-1) | x.flatten() | x.unsqueeze(0) | x[None].squeeze(0) | x.permute(1, 0)
        x.transpose(0, 1) | v.expand(3, 4) | v.repeat(2, 2) | v.repeat_interleave(2) | x.flip(0) | x.roll(1, 0)
        torch.rot90(x) | x.tril() | x.triu(1) | x.diag() | x.diagonal() | torch.diag_embed(v) | x.trace()
        x.unfold(0, 2, 1) | x.narrow(0, 1, 2) | x.select(0, 1)
    """,
    "parts and copies": """
        x[1:3] | x[..., 0] | x[0, 1] | x.chunk(2) | x.split(2) | x.unbind() | list(x) | x.clone() | x.contiguous()
        x.detach()
    """,
    "dtypes and new tensors": """
        x.double() | x.half() | x.long() | x.int() | x.bool() | x.to(torch.float64) | x.type(torch.float64)
        x.new_zeros(2) | x.new_tensor([1.0]) | x.new_full((2,), 3.0) | torch.zeros_like(x) | torch.ones_like(x)
        torch.full_like(x, 2) | torch.empty_like(x).zero_() | torch.rand_like(x) | torch.randn_like(x)
    """,
    "activations and layers": """
        torch.softmax(x, 1) | F.log_softmax(x, 1) | F.gelu(x) | F.silu(x) | F.elu(x) | F.leaky_relu(x) | F.softplus(x)
        F.hardtanh(x) | F.normalize(x) | F.dropout(x, 0.5) | F.one_hot(i) | F.pad(x, (1, 1)) | F.layer_norm(x, (4,))
        F.glu(x) | F.logsigmoid(x)
    """,
    "linear algebra": """
        torch.linalg.inv(x) | torch.linalg.det(x) | torch.linalg.norm(x) | torch.linalg.svdvals(x)
        torch.linalg.qr(x) | torch.linalg.eigvalsh(x)
        torch.linalg.cholesky(x @ x.T + 4 * torch.eye(4, device=x.device)) | torch.pinverse(x) | torch.matrix_exp(x)
        x.matrix_power(2) | torch.fft.fft(v) | torch.view_as_real(torch.fft.rfft(v)) | torch.cov(x)
        torch.corrcoef(x)
    """,
    "combinations": """
        torch.cdist(x, x) | torch.pdist(x) | torch.atleast_3d(x) | torch.meshgrid(v, v, indexing="ij")
        torch.cartesian_prod(v, v) | torch.combinations(v) | torch.vander(v) | torch.nan_to_num(x)
    """,
    "random draws and counts": """
        torch.bernoulli(p / 10) | torch.multinomial(p, 2) | torch.normal(x, 1.0) | torch.histc(x) | torch.bincount(i)
        torch.nonzero(b) | torch.unique(n)
    """,
    "selection": """
        x[b] | x[i] | x[i, i] | x[[0, 2]] | x[:, i] | b.nonzero(as_tuple=True) | torch.argwhere(b)
    """,
    "images": """
        F.avg_pool2d(g, 2) | F.max_pool2d(g, 2) | F.adaptive_avg_pool2d(g, 1) | F.interpolate(g, scale_factor=2)
        F.unfold(g, 2) | F.pixel_unshuffle(g, 2)
    """,
    "in place": """
        x.add_(1) | x.mul_(2) | x.zero_() | x.fill_(3) | x.relu_() | x.clamp_(0) | x.uniform_() | x.normal_()
        x.exp_() | x.t_() | nn.init.xavier_uniform_(x) | nn.init.zeros_(x)
    """,
    "joins": """
        torch.einsum("ij->ji", x) | torch.stack([v, v]) | torch.cat([x, x]) | torch.tensor_split(x, 2)
        torch.block_diag(x, x) | torch.broadcast_tensors(x, v) | torch.triu_indices(3, 3, device=x.device)
    """,
    "numbers of Python": """
        torch.is_nonzero(x[0, 0]) | x.tolist() | x.sum().item() | float(x[0, 0]) | bool(b[0, 0]) | int(n[0, 0])
        x.size(0) | len(x) | x.dtype
    """,
}

MEET = {
    "arithmetic": """
        x + y | x - y | x * y | x / y
    """,
    "products": """
        x @ y
    """,
    "comparisons": """
        x > y | x == y | x.pow(y) | torch.atan2(x, y) | torch.maximum(x, y) | torch.minimum(x, y)
    """,
    "products of matrices": """
        torch.mm(x, y) | torch.matmul(x, v) | torch.bmm(q, q2) | torch.mv(x, v) | torch.dot(v, w) | torch.outer(v, w)
        torch.addmm(x, y, y2) | torch.baddbmm(q, q2, q3) | torch.einsum("ij,jk->ik", x, y) | torch.kron(x, y)
        torch.linalg.solve(x, y) | torch.tensordot(x, y, 1)
    """,
    "joins": """
        torch.cat([x, y]) | torch.stack([x, y]) | torch.hstack([x, y]) | torch.vstack([x, y])
    """,
    "selection": """
        torch.where(b, x, y) | x.masked_fill(b, 0.0) | x.masked_select(b) | x.gather(1, n) | torch.take(x, i)
        x.index_select(0, i) | x.index_add(0, i, y) | x.scatter(0, n, y) | x.scatter_add(0, n, y)
        x.index_copy(0, i, y) | x.index_fill(0, i, 1.0) | x.masked_scatter(b, y)
    """,
    "several at once": """
        x.lerp(y, 0.5) | torch.addcmul(x, y, y2) | torch.addcdiv(x, y, p) | x.add_(y) | x.mul_(y) | x.copysign(y)
        torch.hypot(x, y) | torch.fmod(x, y) | torch.remainder(x, y)
    """,
    "integers and truth": """
        torch.logical_and(b, x) | n & m | torch.bitwise_or(n, m)
    """,
    "distances and searches": """
        torch.dist(x, y) | torch.cdist(x, y) | torch.cross(x[:, :3], y[:, :3], dim=1) | torch.searchsorted(v, x)
        torch.bucketize(x, v) | torch.isclose(x, y) | torch.allclose(x, y) | torch.equal(x, y)
        torch.cosine_similarity(x, y)
    """,
    "layers": """
        F.linear(x, y) | F.linear(x, y, v) | F.bilinear(x, y, q) | F.embedding(i, x) | F.conv2d(g, k)
        F.conv1d(s, k[..., 0]) | F.conv_transpose2d(g, k.transpose(0, 1))
    """,
    "losses": """
        F.mse_loss(x, y) | F.l1_loss(x, y) | F.smooth_l1_loss(x, y) | F.huber_loss(x, y) | F.cross_entropy(x, i)
        F.cross_entropy(x, y.softmax(1)) | F.nll_loss(x.log_softmax(1), i)
        F.binary_cross_entropy(x.sigmoid(), y.sigmoid()) | F.binary_cross_entropy_with_logits(x, y.sigmoid())
        F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean") | F.hinge_embedding_loss(x, y.sign())
        F.cosine_embedding_loss(x, y, v.sign()) | F.margin_ranking_loss(x, y, b.float())
        F.triplet_margin_loss(x, y, y2) | F.gaussian_nll_loss(x, y, p) | F.poisson_nll_loss(x, y)
    """,
    "norms and attention": """
        F.batch_norm(x, v, p[0]) | F.layer_norm(x, (4,), v, w) | F.group_norm(q, 2, v, w) | F.prelu(x, v)
        F.grid_sample(g, gr, align_corners=False) | F.scaled_dot_product_attention(q, q2, q3)
    """,
    "more of them": """
        F.multi_margin_loss(x, i) | F.soft_margin_loss(x, y.sign()) | F.pairwise_distance(x, y)
        torch.nn.utils.rnn.pad_sequence([v, w]) | torch.column_stack([x, y]) | torch.dstack([x, y])
        torch.addr(x, v, w) | torch.inner(x, y) | torch.vdot(v, w)
    """,
}


def expressions(group: str) -> list[str]:
    return [part.strip() for line in group.strip().splitlines() for part in line.split(" | ")]


def assert_all_pass(cases: Iterable[Case], test: Callable[[Case], None]) -> None:
    """Runs `test` on each case; fails with the name of every case that fails, and how."""
    failures = []
    for case in cases:
        try:
            test(case)
        except (Exception, pytest.fail.Exception) as problem:
            failures.append(f"{case}: {type(problem).__name__}: {problem}")
    assert not failures, "\n".join(failures)


def inputs() -> dict[str, Any]:
    seeded = torch.Generator().manual_seed(5)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=seeded)

    index = torch.tensor([2, 0, 3, 1])
    return {
        "x": normal(4, 4), "y": normal(4, 4), "y2": normal(4, 4), "p": normal(4, 4).abs() + 0.1, "v": normal(4),
        "w": normal(4), "i": index, "b": normal(4, 4) > 0, "n": torch.arange(16).reshape(4, 4) % 4,
        "m": torch.arange(16).reshape(4, 4) % 3, "g": normal(2, 3, 8, 8), "k": normal(5, 3, 3, 3), "s": normal(2, 3, 9),
        "q": normal(4, 4, 4), "q2": normal(4, 4, 4), "q3": normal(4, 4, 4), "gr": normal(2, 5, 5, 2).tanh(),
    }  # fmt: skip


def evaluate(expression: str, names: dict[str, Any]) -> Any:
    torch.manual_seed(3)
    return eval(expression, {"torch": torch, "F": F, "nn": nn, **names})


def parts(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in parts(item)] if isinstance(value, (list, tuple)) else [value]


def assert_same(found: Any, expected: Any) -> None:
    """Equal bits where both ran on the CPU's own kernels."""
    for one, other in zip(parts(found), parts(expected), strict=True):
        if isinstance(other, Tensor):
            torch.testing.assert_close(one.detach(), other.detach(), rtol=0, atol=0, equal_nan=True)
        else:
            assert one == other


def same_on(device: str, run: Callable[[dict[str, Any]], Any]) -> None:
    """`run` gives the same on a simulated GPU, and there only."""
    expected = run(inputs())
    with devices.simulated(gpus=2):
        found = run({name: tensor.to(device) for name, tensor in inputs().items()})
        assert {str(t.device) for t in parts(found) if isinstance(t, Tensor)} <= {device}
        assert all(t.is_cuda and not t.is_cpu for t in parts(found) if isinstance(t, Tensor))
    assert_same(found, expected)


def used(expression: str) -> list[str]:
    return [name for name in inputs() if re.search(rf"(?<![\w.\"]){name}(?!\w|=|\")", expression)]


@pytest.mark.parametrize("group", ALONE)
def test_a_function_of_one_tensor_gives_the_cpus_answer_on_its_own_device(group: str) -> None:
    def test(expression: str) -> None:
        same_on("cuda:1", lambda names: evaluate(expression, names))

    assert_all_pass(expressions(ALONE[group]), test)


@pytest.mark.parametrize("group", MEET)
def test_tensors_that_meet_must_be_on_one_device(group: str) -> None:
    def test(expression: str) -> None:
        same_on("cuda:1", lambda names: evaluate(expression, names))
        with devices.simulated(gpus=2):
            for stray in used(expression):
                for place in ("cpu", "cuda:0"):
                    names = {n: t.to(place if n == stray else "cuda:1") for n, t in inputs().items()}
                    with pytest.raises(RuntimeError, match=r"same device|should be the same"):
                        evaluate(expression, names)

    assert_all_pass(expressions(MEET[group]), test)


def test_the_lists_are_as_long_as_promised() -> None:
    assert len({one for group in (*ALONE.values(), *MEET.values()) for one in expressions(group)}) >= 250


def test_every_operation_that_fails_is_reported_by_its_name() -> None:
    def test(expression: str) -> None:
        if evaluate(expression, inputs()) is False:
            pytest.fail("no such thing")

    with pytest.raises(AssertionError) as caught:
        assert_all_pass(["x is y", "x + 2", "x.no_such_method()"], test)
    for words in ("x is y: Failed: no such thing\n", "x.no_such_method(): AttributeError"):
        assert words in str(caught.value)
    assert "x + 2" not in str(caught.value)


LAYERS = {
    "linear and convolutions": """
        nn.Linear(4, 2) @ 3 4
        nn.Identity() @ 3 4
        nn.Flatten() @ 2 3 4
        nn.Conv1d(3, 4, 3) @ 2 3 8
        nn.Conv2d(3, 4, 3, padding=1) @ 2 3 6 6
        nn.Conv3d(1, 2, 2) @ 1 1 4 4 4
        nn.ConvTranspose2d(3, 2, 2) @ 1 3 4 4
    """,
    "norms": """
        nn.BatchNorm1d(4) @ 3 4
        nn.BatchNorm2d(3) @ 2 3 4 4
        nn.LayerNorm(4) @ 3 4
        nn.GroupNorm(2, 4) @ 2 4 3
        nn.InstanceNorm2d(3, affine=True) @ 2 3 4 4
        nn.RMSNorm(4) @ 3 4
    """,
    "recurrent": """
        nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True) @ 2 3 4
        nn.GRU(4, 5) @ 2 3 4
        nn.RNN(4, 5) @ 2 3 4
        nn.LSTMCell(4, 5) @ 3 4
        nn.GRUCell(4, 5) @ 3 4
    """,
    "dropout and pooling": """
        nn.Dropout(0.5) @ 3 4
        nn.Dropout2d(0.5) @ 2 3 4 4
        nn.MaxPool2d(2) @ 1 2 4 4
        nn.AvgPool1d(2) @ 1 2 4
        nn.AdaptiveAvgPool2d(1) @ 1 2 4 4
        nn.AdaptiveMaxPool1d(2) @ 1 2 4
    """,
    "transformers": """
        nn.TransformerEncoderLayer(4, 2, 8, batch_first=True) @ 2 3 4
        nn.TransformerDecoderLayer(4, 2, 8) @ 3 2 4
        nn.MultiheadAttention(4, 2, batch_first=True) @ 2 3 4
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2, enable_nested_tensor=False) @ 3 2 4
    """,
    "activations": """
        nn.ReLU() @ 3 4
        nn.GELU() @ 3 4
        nn.SiLU() @ 3 4
        nn.Tanh() @ 3 4
        nn.Sigmoid() @ 3 4
        nn.Softmax(1) @ 3 4
        nn.LogSoftmax(1) @ 3 4
        nn.LeakyReLU() @ 3 4
        nn.PReLU() @ 3 4
        nn.ELU() @ 3 4
        nn.Hardswish() @ 3 4
        nn.Softplus() @ 3 4
    """,
    "images": """
        nn.Upsample(scale_factor=2) @ 1 1 3 3
        nn.PixelShuffle(2) @ 1 4 2 2
        nn.ZeroPad2d(1) @ 1 1 2 2
    """,
    "parametrized and lazy": """
        nn.Bilinear(4, 4, 2) @ 3 4
        nn.utils.parametrizations.weight_norm(nn.Linear(4, 2)) @ 3 4
        nn.utils.parametrizations.spectral_norm(nn.Linear(4, 2)) @ 3 4
        nn.LazyLinear(3) @ 3 4
        nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d()) @ 2 3 6 6
    """,
}


def layers(*groups: str) -> list[tuple[str, tuple[int, ...]]]:
    """Each layer's expression and the shape of its input."""
    pairs = [line.split(" @ ") for group in groups for line in group.strip().splitlines()]
    return [(layer.strip(), tuple(map(int, shape.split()))) for layer, shape in pairs]


def make(layer: str) -> nn.Module:
    return eval(layer, {"nn": nn})


def call(layer: nn.Module, x: Tensor) -> Any:
    if isinstance(layer, nn.MultiheadAttention):
        return layer(x, x, x)
    return layer(x, x) if isinstance(layer, (nn.TransformerDecoderLayer, nn.Bilinear)) else layer(x)


def outputs_and_gradients(expression: str, shape: tuple[int, ...], device: str) -> tuple[Any, ...]:
    """What a layer gives in training and in evaluation, its gradients and its buffers."""
    torch.manual_seed(1)
    layer, x = make(expression), torch.randn(shape)
    layer, x = layer.to(device), x.to(device).requires_grad_()
    torch.manual_seed(2)
    out = call(layer, x)
    sum(t.square().sum() for t in parts(out)).backward()
    layer.eval()
    after = call(layer, x)
    grads = [p.grad for p in layer.parameters() if p.grad is not None]
    return parts(out), parts(after), grads, x.grad, list(layer.buffers())


@pytest.mark.parametrize("group", LAYERS)
@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_layers_give_the_cpus_outputs_and_gradients(group: str) -> None:
    def test(case: tuple[str, tuple[int, ...]]) -> None:
        expected = outputs_and_gradients(*case, "cpu")
        with devices.simulated(gpus=2):
            found = outputs_and_gradients(*case, "cuda:1")
            assert {str(t.device) for t in parts(found)} == {"cuda:1"}
        assert_same(found, expected)

    assert_all_pass(layers(LAYERS[group]), test)


def test_a_layer_refuses_an_input_from_another_device() -> None:
    with devices.simulated(gpus=2):
        for expression, shape in layers(*LAYERS.values()):
            layer = make(expression)
            if not list(layer.parameters()) or any(
                isinstance(m, nn.modules.lazy.LazyModuleMixin) for m in layer.modules()
            ):
                continue
            layer.cuda()
            with pytest.raises(RuntimeError, match=r"same device|should be the same"):
                call(layer, torch.ones(shape))
