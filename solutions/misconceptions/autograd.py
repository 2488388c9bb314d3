"""Classic wrong answers of autograd, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.testkit import misconception

# ---------------------------------------------------------------- logistic_loss


@misconception(
    "logistic_loss",
    tell="The number is right, but the loss has no graph: .item(), .detach(), .data or torch.tensor(...) cuts it off "
    "from w and b. The loss must be a tensor that torch operations computed from w and b.",
    seen="cuts_the_graph",
)
def cuts_the_graph(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return torch.tensor(F.binary_cross_entropy_with_logits(x * w + b, y).item())


@misconception(
    "logistic_loss",
    tell="You added up the losses of the examples. The mean does not grow with the number of examples, so that one "
    "learning rate fits batches of any size.",
    seen="passes('sum', 'reduction')",
)
def sum_for_mean(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(x * w + b, y, reduction="sum")


@misconception(
    "logistic_loss", tell="You return one loss per example. The loss to differentiate is a single number: their mean."
)
def one_loss_per_example(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(x * w + b, y, reduction="none")


@misconception(
    "logistic_loss",
    tell="You applied the sigmoid twice: binary_cross_entropy_with_logits has one inside. Give it x * w + b as it is.",
)
def sigmoid_twice(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(torch.sigmoid(x * w + b), y)


@misconception(
    "logistic_loss",
    tell="Only examples of class 1 count in your loss. Those of class 0 have a term too, with 1 - y and 1 - p.",
)
def only_class_one(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return -(y * torch.sigmoid(x * w + b).log()).mean()


@misconception(
    "logistic_loss",
    tell="For a large logit the sigmoid is exactly 0 or 1, and your loss takes the logarithm of 0: it becomes inf or "
    "NaN. Compute the loss from the logits, as binary_cross_entropy_with_logits does.",
    seen="lacks('softplus', 'logsigmoid', 'logaddexp', 'log1p', 'clamp', 'logsumexp', at='log')",
)
def the_formula_as_it_stands(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    p = torch.sigmoid(x * w + b)
    return -(y * p.log() + (1 - y) * (1 - p).log()).mean()


@misconception(
    "logistic_loss",
    tell="binary_cross_entropy cuts off the logarithm at -100: for a large logit of the wrong class your loss is 100 "
    "and has no gradient. The variant that takes logits is right for all of them.",
)
def cut_off_at_100(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.binary_cross_entropy(torch.sigmoid(x * w + b), y)


@misconception(
    "logistic_loss",
    tell="Clamping the probability keeps the loss finite, but wrong: for a large logit of the wrong class it stops "
    "growing, and its gradient is 0. Compute the loss from the logits.",
    seen="calls('clamp', 'clip', unless=('softplus', 'logsigmoid', 'relu', 'log1p'))",
)
def clamps_the_probability(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    p = torch.sigmoid(x * w + b).clamp(1e-7, 1 - 1e-7)
    return -(y * p.log() + (1 - y) * (1 - p).log()).mean()


def _with_epsilon(x: Tensor, y: Tensor, w: Tensor, b: Tensor, epsilon: float) -> Tensor:
    p = torch.sigmoid(x * w + b)
    return -(y * torch.log(p + epsilon) + (1 - y) * torch.log(1 - p + epsilon)).mean()


@misconception(
    "logistic_loss",
    tell="A small number inside the logarithm makes every loss a little wrong, and large ones very wrong: none can be "
    "above -log of that number, and its gradient vanishes. Compute the loss from the logit x * w + b itself.",
)
def adds_1e_7_in_the_logarithm(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return _with_epsilon(x, y, w, b, 1e-7)


@misconception(
    "logistic_loss",
    tell="A small number inside the logarithm makes every loss a little wrong, and large ones very wrong: none can be "
    "above -log of that number, and its gradient vanishes. Compute the loss from the logit x * w + b itself.",
)
def adds_1e_8_in_the_logarithm(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return _with_epsilon(x, y, w, b, 1e-8)


@misconception(
    "logistic_loss",
    tell="A small number inside the logarithm makes every loss a little wrong, and large ones very wrong: none can be "
    "above -log of that number, and its gradient vanishes. Compute the loss from the logit x * w + b itself.",
)
def adds_1e_12_in_the_logarithm(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return _with_epsilon(x, y, w, b, 1e-12)


@misconception(
    "logistic_loss",
    tell="That is the squared error. Cross-entropy takes logarithms of probabilities, and punishes a confident "
    "mistake far harder.",
    seen="calls('mse_loss', 'MSELoss')",
)
def squared_error(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.mse_loss(torch.sigmoid(x * w + b), y)


@misconception(
    "logistic_loss",
    tell="You call backward() yourself, which puts gradients into w.grad and b.grad; the caller's backward() adds the "
    "same once more. Only compute the loss.",
    seen="calls('backward')",
)
def calls_backward_itself(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    loss = F.binary_cross_entropy_with_logits(x * w + b, y)
    if loss.requires_grad:
        loss.backward(retain_graph=True)
    return loss


@misconception(
    "logistic_loss",
    tell="*= and += write into the caller's x: the next step would start from other examples. Write x * w + b.",
)
def computes_in_the_memory_of_x(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    x *= w
    x += b
    return F.binary_cross_entropy_with_logits(x, y)


@misconception(
    "logistic_loss", tell="The loss takes the logits first, then the labels: you have them the other way round."
)
def labels_for_logits(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(y, x * w + b)


# ---------------------------------------------------------------- gradients


@misconception(
    "gradients",
    tell="Your gradients are right the first time, but computing them freed the graph, so a second call fails. Tell "
    "torch to retain the graph.",
)
def frees_the_graph(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(loss, params, allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(params, found)]


@misconception(
    "gradients",
    tell="backward() adds into .grad, so what you return has old gradients in it, and .grad is not empty afterwards. "
    "There is a torch function that returns gradients without storing them.",
)
def leaves_grad_populated(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    loss.backward(retain_graph=True)
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in params]


@misconception(
    "gradients",
    tell="The result is right, but you overwrote .grad of the parameters: gradients that other code collected there "
    "are lost. torch.autograd.grad leaves .grad alone.",
)
def overwrites_grad(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
    for p, g in zip(params, found):
        p.grad = torch.zeros_like(p) if g is None else g.clone()
    return [p.grad for p in params]


@misconception(
    "gradients",
    tell="You restored .grad of the parameters, but backward() also wrote into the other leaves of the graph. "
    "Differentiate with respect to params only.",
)
def forgets_the_other_leaves(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    before = [p.grad for p in params]
    for p in params:
        p.grad = None
    loss.backward(retain_graph=True)
    found = [torch.zeros_like(p) if p.grad is None else p.grad for p in params]
    for p, g in zip(params, before):
        p.grad = g
    return found


@misconception(
    "gradients",
    tell="For a parameter that the loss does not depend on you return None. Its gradient is zeros of its shape: "
    "moving it changes nothing.",
)
def none_for_unused(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor | None]:
    return list(torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True))


@misconception(
    "gradients",
    tell="torch.autograd.grad raises an error for parameters that the loss does not depend on, unless you allow "
    "unused ones.",
    seen="lacks('allow_unused', 'materialize_grads', at='grad')",
)
def refuses_unused(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(loss, params, retain_graph=True))


@misconception(
    "gradients",
    tell="For a parameter that the loss does not depend on, torch.zeros(shape) gives float32. The gradient has the "
    "dtype of its parameter: torch.zeros_like(p).",
)
def zeros_in_float32(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(loss, params, retain_graph=True, allow_unused=True)
    return [torch.zeros(p.shape) if g is None else g for p, g in zip(params, found)]


# ---------------------------------------------------------------- numerical_gradient


@misconception(
    "numerical_gradient",
    tell="You take a forward difference. A difference taken on both sides of x cancels the first-order error: f(x + "
    "eps) - f(x - eps), over 2 * eps.",
)
def forward_differences(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    flat, here = x.detach().flatten(), f(x)
    result = torch.zeros_like(flat)
    for i in range(flat.numel()):
        up = flat.clone()
        up[i] += eps
        result[i] = (f(up.reshape(x.shape)) - here) / eps
    return result.reshape(x.shape)


@misconception(
    "numerical_gradient", tell="Your gradient is twice too large: the distance from x - eps to x + eps is 2 * eps."
)
def divides_by_one_step(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    flat = x.detach().flatten()
    result = torch.zeros_like(flat)
    for i in range(flat.numel()):
        up, down = flat.clone(), flat.clone()
        up[i] += eps
        down[i] -= eps
        result[i] = (f(up.reshape(x.shape)) - f(down.reshape(x.shape))) / eps
    return result.reshape(x.shape)


@misconception(
    "numerical_gradient",
    tell="You divide by 2 and then multiply by eps: / 2 * eps is worked out from left to right. Divide by the product, "
    "(2 * eps).",
)
def multiplies_by_the_step(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    flat = x.detach().flatten()
    result = torch.zeros_like(flat)
    for i in range(flat.numel()):
        up, down = flat.clone(), flat.clone()
        up[i] += eps
        down[i] -= eps
        result[i] = (f(up.reshape(x.shape)) - f(down.reshape(x.shape))) / 2 * eps
    return result.reshape(x.shape)


@misconception(
    "numerical_gradient",
    tell="You move all elements at once, so every entry is the sum of the whole gradient. Move one element, keep the "
    "others, and start again from x for the next element.",
)
def moves_all_elements(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    return (f(x + eps) - f(x - eps)) / (2 * eps) * torch.ones_like(x)


@misconception(
    "numerical_gradient",
    tell="x has changed: adding eps and subtracting it again leaves a rounding error. Work on a copy, or restore the "
    "saved number.",
)
def leaves_rounding_errors(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    result = torch.zeros_like(x)
    for index in torch.ones_like(x).nonzero().tolist():
        place = tuple(index)
        x[place] += eps
        up = f(x)
        x[place] -= 2 * eps
        down = f(x)
        x[place] += eps
        result[place] = (up - down) / (2 * eps)
    return result


@misconception(
    "numerical_gradient",
    tell="Your steps add up in x: you never undid them, or you worked on a view of x. Each element starts from the x "
    "that was given, and x must come out unchanged.",
)
def steps_pile_up(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    result = torch.zeros_like(x)
    for place in torch.ones_like(x).nonzero().tolist():
        x[tuple(place)] += eps
        up = f(x)
        x[tuple(place)] -= 2 * eps
        result[tuple(place)] = (up - f(x)) / (2 * eps)
    return result


@misconception(
    "numerical_gradient",
    tell="You collect the result in float32, which is what torch.zeros gives: the extra digits of float64 are lost. "
    "zeros_like keeps the dtype.",
)
def result_in_float32(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    flat = x.detach().flatten()
    result = torch.zeros(flat.shape)
    for i in range(flat.numel()):
        up, down = flat.clone(), flat.clone()
        up[i] += eps
        down[i] -= eps
        result[i] = (f(up.reshape(x.shape)) - f(down.reshape(x.shape))) / (2 * eps)
    return result.reshape(x.shape)


@misconception(
    "numerical_gradient",
    tell="You pass a flat tensor to f. It takes a tensor of the shape of x: give each moved copy that shape first.",
)
def passes_a_flat_tensor(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    flat = x.detach().flatten()
    result = torch.zeros_like(flat)
    for i in range(flat.numel()):
        up, down = flat.clone(), flat.clone()
        up[i] += eps
        down[i] -= eps
        result[i] = (f(up) - f(down)) / (2 * eps)
    return result.reshape(x.shape)


@misconception(
    "numerical_gradient",
    tell="That is the gradient by autograd. The exercise is to approximate it: move one element by eps both ways, and "
    "see how much f changes.",
)
def gradient_by_autograd(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    leaf = x.detach().clone().requires_grad_(True)
    f(leaf).backward()
    return leaf.grad


@misconception("numerical_gradient", tell="You use a step of your own, not eps.")
def ignores_the_step(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    flat, eps = x.detach().flatten(), 1e-4
    result = torch.zeros_like(flat)
    for i in range(flat.numel()):
        up, down = flat.clone(), flat.clone()
        up[i] += eps
        down[i] -= eps
        result[i] = (f(up.reshape(x.shape)) - f(down.reshape(x.shape))) / (2 * eps)
    return result.reshape(x.shape)


@misconception(
    "numerical_gradient",
    tell="You move all elements at once, which gives one number: the sum of all slopes. Move one element at a time.",
)
def all_elements_at_once(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    return (f(x + eps) - f(x - eps)) / (2 * eps)


@misconception(
    "numerical_gradient",
    tell="`plus = x` is another name for the same tensor, and no copy: both steps change one tensor, and what is left "
    "of them is 0. Make copies with clone().",
)
def plus_and_minus_are_one(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    found = torch.zeros_like(x)
    for i in range(x.numel()):
        plus, minus = x, x
        plus.view(-1)[i] += eps
        minus.view(-1)[i] -= eps
        found.view(-1)[i] = (f(plus) - f(minus)) / (2 * eps)
    return found


# ---------------------------------------------------------------- sgd_step


@misconception(
    "sgd_step",
    tell="The parameters did not move: `p = p - ...` makes a new tensor and gives it the name p. "
    "Write into the parameter, with an in-place operation.",
)
def rebinds_the_name(params: Sequence[Tensor], lr: float) -> None:
    for p in params:
        if p.grad is not None:
            p = p - lr * p.grad


@misconception(
    "sgd_step", tell="You put new tensors into the list. The model still holds the old ones, which did not move."
)
def replaces_in_the_list(params: list[Tensor], lr: float) -> None:
    for i, p in enumerate(params):
        if p.grad is not None:
            params[i] = (p - lr * p.grad).detach().requires_grad_(True)


@misconception(
    "sgd_step",
    tell="The parameters got new memory (`p.data = ...`). Other tensors that share the old memory do not see the "
    "step; an in-place operation writes into the existing memory.",
)
def swaps_the_memory(params: Sequence[Tensor], lr: float) -> None:
    for p in params:
        if p.grad is not None:
            p.data = p.data - lr * p.grad


@misconception(
    "sgd_step",
    tell="Torch refuses an in-place change of a leaf that requires grad, as the step would become part of a graph. "
    "Switch recording off for the step.",
)
def updates_outside_no_grad(params: Sequence[Tensor], lr: float) -> None:
    for p in params:
        if p.grad is not None:
            p -= lr * p.grad


@misconception(
    "sgd_step",
    tell="You added the gradient, which points in the direction where the loss grows. Subtract it.",
    seen="climbs('lr')",
)
def climbs(params: Sequence[Tensor], lr: float) -> None:
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p += lr * p.grad


@misconception("sgd_step", tell="A parameter that was not used in the loss has .grad None. Skip it.")
def expects_every_grad(params: Sequence[Tensor], lr: float) -> None:
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad


@misconception(
    "sgd_step",
    tell="Your step also clears the gradients. Stepping and clearing are separate tasks; here the gradients must stay.",
)
def clears_after_the_step(params: Sequence[Tensor], lr: float) -> None:
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad
                p.grad = None


@misconception(
    "sgd_step",
    tell="You switched requires_grad off for the step and never on again: these parameters will not get another "
    "gradient. torch.no_grad() does not touch them.",
)
def stops_requiring_grad(params: Sequence[Tensor], lr: float) -> None:
    for p in params:
        if p.grad is not None:
            p.requires_grad_(False)
            p -= lr * p.grad


@misconception(
    "sgd_step",
    tell="Your step remembers earlier ones (momentum). Plain gradient descent uses the gradient of this step alone.",
)
def keeps_a_velocity(params: Sequence[Tensor], lr: float) -> None:
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p.velocity = p.grad + 0.9 * getattr(p, "velocity", torch.zeros_like(p))
                p -= lr * p.velocity


@misconception(
    "sgd_step",
    tell="You multiplied p.grad by the learning rate in place. The gradients must stay as they are: compute lr * "
    "p.grad as a new tensor.",
)
def scales_the_gradients(params: Sequence[Tensor], lr: float) -> None:
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= p.grad.mul_(lr)


@misconception(
    "sgd_step",
    tell="torch.set_grad_enabled(False) stays in force after your step: no graph is recorded from then on. Use `with "
    "torch.no_grad():`, which ends.",
    seen="recording_stays_off",
)
def recording_stays_off_after_a_step(params: Sequence[Tensor], lr: float) -> None:
    torch.set_grad_enabled(False)
    for p in params:
        if p.grad is not None:
            p -= lr * p.grad


@misconception(
    "sgd_step",
    tell="You end at the first parameter without a gradient, so those after it do not move. Skip that one, with "
    "continue.",
)
def ends_at_the_first_without(params: Sequence[Tensor], lr: float) -> None:
    with torch.no_grad():
        for p in params:
            if p.grad is None:
                return
            p -= lr * p.grad


# ---------------------------------------------------------------- clear_gradients


@misconception(
    "clear_gradients",
    tell="You filled the gradients with zeros. Zeros take memory, and an optimizer with momentum or weight decay still "
    "steps on them; None says that there is no gradient.",
    seen="calls('zero_', 'zeros_like')",
)
def fills_with_zeros(params: Sequence[Tensor]) -> None:
    for p in params:
        if p.grad is not None:
            p.grad.zero_()


@misconception(
    "clear_gradients",
    tell="You fill gradients with zeros, and some parameters have none yet (p.grad is None). Assign None to p.grad: "
    "that clears it, whatever was there.",
)
def fills_all_with_zeros(params: Sequence[Tensor]) -> None:
    for p in params:
        p.grad.zero_()


@misconception(
    "clear_gradients",
    tell="No gradient was cleared: you assigned to something else, such as a variable of your own or an attribute of "
    "the list. Assign to p.grad, for each p.",
)
def clears_a_local_name(params: Sequence[Tensor]) -> None:
    for p in params:
        grad = p.grad
        grad = None  # noqa: F841


@misconception(
    "clear_gradients",
    tell="You stop at the first parameter without a gradient; those after it keep theirs. Go on with the next one.",
)
def stops_at_the_first_none(params: Sequence[Tensor]) -> None:
    for p in params:
        if p.grad is None:
            return
        p.grad = None


@misconception(
    "clear_gradients",
    tell="You set the parameters themselves to zero: p.zero_() and p.data = ... change the weights, not the gradients.",
)
def zeros_the_parameters(params: Sequence[Tensor]) -> None:
    with torch.no_grad():
        for p in params:
            p.zero_()
            p.grad = None


@misconception(
    "clear_gradients",
    tell="You also switched requires_grad off: these parameters will not get another gradient. Clear .grad alone.",
)
def freezes_the_parameters(params: Sequence[Tensor]) -> None:
    for p in params:
        p.grad = None
        p.requires_grad_(False)


# ---------------------------------------------------------------- predict_logits


@misconception(
    "predict_logits",
    tell="no_grad does not switch Dropout and BatchNorm to their eval behaviour: the model still ran in training mode.",
    seen="no_eval",
)
def no_grad_without_eval(model: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return model(x)


@misconception(
    "predict_logits",
    tell="eval() does not stop the recording: your result still has a graph. Use no_grad as well.",
    seen="lacks('no_grad', 'inference_mode', 'set_grad_enabled', 'detach', 'detach_', 'requires_grad_')",
)
def eval_without_no_grad(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    out = model(x)
    for module, training in flags:
        module.training = training
    return out


@misconception(
    "predict_logits",
    tell="The model is left in eval mode, so the training that goes on after your prediction runs without Dropout. "
    "Restore every flag.",
    seen="stays_in_eval",
)
def leaves_in_eval(model: nn.Module, x: Tensor) -> Tensor:
    model.eval()
    with torch.no_grad():
        return model(x)


@misconception(
    "predict_logits",
    tell="You end with model.train(), whatever the mode was before. A model, or a part of it, that was in eval mode "
    "must still be.",
    seen="always_back_to_train",
)
def always_back_to_train(model: nn.Module, x: Tensor) -> Tensor:
    model.eval()
    with torch.no_grad():
        out = model(x)
    model.train()
    return out


@misconception(
    "predict_logits",
    tell="Every part of the model ends with the flag of the model itself: train(flag) sets all submodules, too. Each "
    "has a flag of its own, and some may differ on purpose: remember each, and set `training`.",
)
def one_flag_for_all(model: nn.Module, x: Tensor) -> Tensor:
    was_training = model.training
    model.eval()
    with torch.no_grad():
        out = model(x)
    model.train(was_training)
    return out


@misconception(
    "predict_logits",
    tell="`model.training = False` sets the flag of the outermost module alone. Dropout and BatchNorm look at "
    "their own; model.eval() sets all of them.",
    seen="outermost_flag_only",
)
def only_the_outermost_flag(model: nn.Module, x: Tensor) -> Tensor:
    was_training, model.training = model.training, False
    with torch.no_grad():
        out = model(x)
    model.training = was_training
    return out


@misconception(
    "predict_logits",
    tell="model.forward(x) skips the model's hooks. Call the model itself: model(x).",
    seen="reads('forward')",
)
def calls_forward(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        out = model.forward(x)
    for module, training in flags:
        module.training = training
    return out


@misconception(
    "predict_logits",
    tell="You return probabilities. Logits are the model's output as it is, before any softmax.",
    seen="calls('softmax', 'sigmoid', 'Softmax')",
)
def gives_probabilities(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        out = torch.softmax(model(x), dim=-1)
    for module, training in flags:
        module.training = training
    return out


@misconception(
    "predict_logits",
    tell="torch.set_grad_enabled(False) stays in force after your prediction: the training that goes on records no "
    "graph. Use `with torch.no_grad():`, which ends.",
    seen="recording_stays_off",
)
def switches_recording_off_for_good(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    torch.set_grad_enabled(False)
    out = model(x)
    for module, training in flags:
        module.training = training
    return out


@misconception(
    "predict_logits",
    tell="You froze the parameters to get no graph, and left them so: the model cannot be trained any more. "
    "torch.no_grad() does not touch the parameters.",
)
def freezes_the_model(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    model.requires_grad_(False)
    out = model(x).detach()
    for module, training in flags:
        module.training = training
    return out


@misconception(
    "predict_logits",
    tell="You switch requires_grad off, and then on for all parameters. Those that were frozen before are trained "
    "from now on. torch.no_grad() does not touch the parameters.",
)
def unfreezes_the_model(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    model.requires_grad_(False)
    out = model(x).detach()
    model.requires_grad_(True)
    for module, training in flags:
        module.training = training
    return out


@misconception(
    "predict_logits",
    tell="You cleared the gradients of the model. Predicting has nothing to do with them; somebody may be collecting "
    "them.",
    seen="calls('zero_grad')",
)
def clears_the_gradients(model: nn.Module, x: Tensor) -> Tensor:
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    model.zero_grad()
    with torch.no_grad():
        out = model(x)
    for module, training in flags:
        module.training = training
    return out


@misconception(
    "predict_logits",
    tell="You wrote into the caller's x. Whoever calls you still needs it: leave what you are given as it is.",
)
def empties_the_input(model: nn.Module, x: Tensor) -> Tensor:
    flags = {module: module.training for module in model.modules()}
    model.eval()
    with torch.no_grad():
        logits = model(x).clone()
        x.zero_()
    for module, training in flags.items():
        module.training = training
    return logits


# ---------------------------------------------------------------- Cube


@misconception(
    "Cube",
    name="ignores_grad_output",
    tell="Your backward ignores grad_output: it is right only when Cube is the last operation. The chain rule "
    "multiplies the local derivative by grad_output.",
)
class IgnoresGradOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2


@misconception(
    "Cube",
    name="saves_the_output",
    tell="You saved the result x³ and used it in place of x. Backward needs the input (or must compute it from the "
    "result).",
)
class SavesTheOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        out = x**3
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


@misconception(
    "Cube",
    name="wrong_derivative",
    tell="The derivative of x³ is three times the square of x; your backward has another factor or power.",
)
class WrongDerivative(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_output * x**2


@misconception(
    "Cube",
    name="passes_the_gradient_through",
    tell="Your backward returns grad_output unchanged. It must be multiplied by the derivative at x.",
)
class PassesTheGradientThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return x**3

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> Tensor:
        return grad_output.clone()


@misconception(
    "Cube",
    name="cubes_in_place",
    tell="forward changed its input in place. The caller still needs x, and so does your backward.",
)
class CubesInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.clone())
        return x.pow_(3).clone()

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


@misconception(
    "Cube",
    name="keeps_x_on_the_class",
    tell="You keep x in a place that all uses of Cube share, so a second use overwrites it before the first has gone "
    "backward. Keep it in ctx, which belongs to one use.",
)
class KeepsXOnTheClass(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        KeepsXOnTheClass.x = x
        return x**3

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> Tensor:
        return grad_output * 3 * KeepsXOnTheClass.x**2


@misconception(
    "Cube",
    name="changes_grad_output",
    tell="backward changed grad_output in place. Torch may give the same tensor to other parts of the graph: multiply "
    "into a new one.",
)
class ChangesGradOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_output.mul_(3 * x**2).clone() if grad_output.is_contiguous() else grad_output * 3 * x**2


@misconception(
    "Cube",
    name="leaves_it_to_torch",
    tell="Your apply computes x**3 with torch's own backward. The exercise is a torch.autograd.Function with a "
    "forward and a backward written by hand.",
)
class LeavesItToTorch:
    @staticmethod
    def apply(x: Tensor) -> Tensor:
        return x**3


@misconception(
    "Cube",
    name="backward_returns_nothing",
    tell="Your backward works the gradient out and does not return it: did you forget `return`?",
)
class BackwardReturnsNothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> None:
        return None


# ---------------------------------------------------------------- accumulate_gradients


@misconception(
    "accumulate_gradients",
    tell="You average the batches' means: an example in a short batch counts more than one in a full batch. Weight "
    "each batch by its number of examples.",
    seen="mean_of_batch_means",
)
def mean_of_batch_means(model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence) -> None:
    model.zero_grad()
    for features, targets in batches:
        (loss_fn(model(features), targets) / len(batches)).backward()


@misconception(
    "accumulate_gradients",
    tell="Gradients from before the call are still in the sum. Clear them first: backward() adds.",
    seen="no_zero_grad",
)
def keeps_stale_gradients(model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence) -> None:
    total = sum(len(features) for features, _ in batches)
    for features, targets in batches:
        (loss_fn(model(features), targets) * len(features) / total).backward()


@misconception(
    "accumulate_gradients",
    tell="You add up the gradients of the batches' mean losses without dividing: the more batches, the larger "
    "the gradient.",
)
def sum_of_batch_means(model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence) -> None:
    model.zero_grad()
    for features, targets in batches:
        loss_fn(model(features), targets).backward()


@misconception(
    "accumulate_gradients",
    tell="That is the gradient of the sum over all examples. The mean divides it by the number of examples.",
)
def sum_over_examples(model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence) -> None:
    model.zero_grad()
    for features, targets in batches:
        (loss_fn(model(features), targets) * len(features)).backward()


@misconception(
    "accumulate_gradients",
    tell="You clear the gradients before every batch, so only the last batch's are left. Clear once, then add.",
    seen="zero_grad_in_loop",
)
def clears_before_every_batch(model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence) -> None:
    total = sum(len(features) for features, _ in batches)
    for features, targets in batches:
        model.zero_grad()
        (loss_fn(model(features), targets) * len(features) / total).backward()


@misconception(
    "accumulate_gradients",
    tell="You assume that every batch is as large as the first. The last one is often shorter: count the examples.",
)
def all_batches_like_the_first(
    model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence
) -> None:
    model.zero_grad()
    size = len(batches[0][0])
    for features, targets in batches:
        (loss_fn(model(features), targets) * len(features) / (size * len(batches))).backward()


@misconception(
    "accumulate_gradients",
    tell="You call model.train(), so parts that were in eval mode are not any more. Leave the training flags as they "
    "are.",
    seen="calls('train')",
)
def switches_to_train(model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence) -> None:
    model.train()
    model.zero_grad()
    total = sum(len(features) for features, _ in batches)
    for features, targets in batches:
        (loss_fn(model(features), targets) * len(features) / total).backward()


@misconception(
    "accumulate_gradients",
    tell="You replace the gradients of parameters that the loss depends on, but the others keep their old ones. Clear "
    "all of them first.",
)
def old_gradients_of_unused_parameters(
    model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence
) -> None:
    params = [p for p in model.parameters() if p.requires_grad]
    total = sum(len(features) for features, _ in batches)
    sums = [None] * len(params)
    for features, targets in batches:
        loss = loss_fn(model(features), targets) * len(features) / total
        found = torch.autograd.grad(loss, params, allow_unused=True)
        sums = [g if s is None else s if g is None else s + g for s, g in zip(sums, found)]
    for p, s in zip(params, sums):
        if s is not None:
            p.grad = s


@misconception(
    "accumulate_gradients",
    tell="You step on the gradients as well. Only compute them: the parameters keep their values.",
)
def steps_as_well(model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence) -> None:
    model.zero_grad()
    total = sum(len(features) for features, _ in batches)
    for features, targets in batches:
        (loss_fn(model(features), targets) * len(features) / total).backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= 0.1 * p.grad


@misconception(
    "accumulate_gradients",
    tell="The loss of a batch is a mean already, and you divide it by the size of the batch again. Multiply it by that "
    "size, and divide by the number of all examples.",
)
def divides_each_mean_again(
    model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence[tuple[Tensor, Tensor]]
) -> None:
    model.zero_grad()
    for features, targets in batches:
        (loss_fn(model(features), targets) / len(features)).backward()


@misconception(
    "accumulate_gradients",
    tell="There is one backward for all batches, joined or added up, so the graphs of all of them are in memory at the "
    "same time. Call the model and backward for each batch: backward frees the graph, and adds to the gradients.",
)
def one_graph_for_all_batches(model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence) -> None:
    model.zero_grad()
    total = sum(len(features) for features, _ in batches)
    sum(loss_fn(model(features), targets) * len(features) / total for features, targets in batches).backward()


# ---------------------------------------------------------------- what is as before


@misconception(
    "predict_logits",
    tell="Only the model and its direct children get their training flags back: parts of parts stay in eval "
    "mode. model.modules() has all of them, at any depth.",
)
def predict_logits_puts_back_the_children_only(model: nn.Module, x: Tensor) -> Tensor:
    flags = {part: part.training for part in [model, *model.children()]}
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        for part, training in flags.items():
            part.training = training


@misconception(
    "predict_logits",
    tell="You switch the recording of gradients on afterwards, also if the caller had it off. `with "
    "torch.no_grad():` puts back what was there.",
)
def predict_logits_switches_recording_on(model: nn.Module, x: Tensor) -> Tensor:
    flags = {part: part.training for part in model.modules()}
    model.eval()
    torch.set_grad_enabled(False)
    try:
        return model(x)
    finally:
        torch.set_grad_enabled(True)
        for part, training in flags.items():
            part.training = training


# ---------------------------------------------------------------- evaluating


def _flags_of(model: nn.Module) -> dict[nn.Module, bool]:
    return {part: part.training for part in model.modules()}


def _put_back(flags: dict[nn.Module, bool]) -> None:
    for part, training in flags.items():
        part.training = training


@misconception(
    "evaluating",
    tell="An error in the block comes out at the yield, so the lines below it are never reached, and the model stays "
    "in eval mode. `finally:` runs them in any case.",
    seen="yields_unprotected",
)
@contextmanager
def nothing_is_put_back_after_an_error(model: nn.Module) -> Iterator[None]:
    flags = _flags_of(model)
    model.eval()
    with torch.no_grad():
        yield
    _put_back(flags)


@misconception(
    "evaluating",
    tell="A function with a yield gives a generator, and `with` cannot use that: `@contextmanager`, on the line above "
    "`def`, makes a context manager of it.",
)
def without_the_decorator(model: nn.Module) -> Iterator[None]:
    flags = _flags_of(model)
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        _put_back(flags)


@misconception(
    "evaluating",
    tell="An error in the block disappears in your manager. Its caller must get it: do not catch it, `finally:` is "
    "enough.",
)
@contextmanager
def swallows_the_error(model: nn.Module) -> Iterator[None]:
    flags = _flags_of(model)
    model.eval()
    try:
        with torch.no_grad():
            yield
    except Exception:
        pass
    _put_back(flags)


@misconception("evaluating", tell="After the block the model is in eval mode still: put back each flag.")
@contextmanager
def stays_in_eval_after_the_block(model: nn.Module) -> Iterator[None]:
    model.eval()
    with torch.no_grad():
        yield


@misconception(
    "evaluating",
    tell="You end with model.train(), which puts every part into training mode. Those that were in eval mode before "
    "must be so again.",
    seen="always_back_to_train",
)
@contextmanager
def back_to_train_after_the_block(model: nn.Module) -> Iterator[None]:
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train()


@misconception(
    "evaluating",
    tell="Every part of the model ends with the flag of the model itself: train(flag) sets all submodules, too. "
    "Remember each one's own flag, and set its `training`.",
    seen="calls('train', unless=('modules', 'named_modules', '_modules', 'children', 'apply'))",
)
@contextmanager
def one_flag_after_the_block(model: nn.Module) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


@misconception(
    "evaluating",
    tell="Only the model and its direct children get their flags back. model.modules() has all parts, at any depth.",
)
@contextmanager
def children_only_after_the_block(model: nn.Module) -> Iterator[None]:
    flags = {part: part.training for part in [model, *model.children()]}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        _put_back(flags)


@misconception(
    "evaluating",
    tell="Inside the block gradients are recorded still: eval() does not stop that. Use torch.no_grad(), too.",
    seen="no_no_grad",
)
@contextmanager
def eval_alone_in_the_block(model: nn.Module) -> Iterator[None]:
    flags = _flags_of(model)
    model.eval()
    try:
        yield
    finally:
        _put_back(flags)


@misconception(
    "evaluating",
    tell="Inside the block the model is in training mode still: no_grad does not switch Dropout and BatchNorm. Call "
    "model.eval().",
    seen="no_eval",
)
@contextmanager
def no_grad_alone_in_the_block(model: nn.Module) -> Iterator[None]:
    with torch.no_grad():
        yield


@misconception(
    "evaluating",
    tell="`model.training = False` sets the flag of the outermost module alone. model.eval() sets that of every part.",
    seen="outermost_flag_only",
)
@contextmanager
def outermost_flag_in_the_block(model: nn.Module) -> Iterator[None]:
    training, model.training = model.training, False
    try:
        with torch.no_grad():
            yield
    finally:
        model.training = training


@misconception(
    "evaluating",
    tell="You switch the recording on after the block, also if the caller had it off. `with torch.no_grad():` puts "
    "back what was there.",
)
@contextmanager
def recording_on_after_the_block(model: nn.Module) -> Iterator[None]:
    flags = _flags_of(model)
    model.eval()
    torch.set_grad_enabled(False)
    try:
        yield
    finally:
        torch.set_grad_enabled(True)
        _put_back(flags)


@misconception(
    "evaluating", tell="After the block no gradient is recorded any more: torch.set_grad_enabled(False) stays in force."
)
@contextmanager
def recording_off_after_the_block(model: nn.Module) -> Iterator[None]:
    flags = _flags_of(model)
    model.eval()
    torch.set_grad_enabled(False)
    try:
        yield
    finally:
        _put_back(flags)


@misconception(
    "evaluating",
    tell="You switch requires_grad on for every parameter afterwards, also for those that were frozen before. "
    "no_grad needs none of that.",
)
@contextmanager
def thaws_after_the_block(model: nn.Module) -> Iterator[None]:
    flags = _flags_of(model)
    model.eval()
    model.requires_grad_(False)
    try:
        with torch.no_grad():
            yield
    finally:
        model.requires_grad_(True)
        _put_back(flags)
