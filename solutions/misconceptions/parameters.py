"""Classic wrong answers of parameters, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.testkit import misconception

# ---------------------------------------------------------------- NeuralNetwork


@misconception(
    "NeuralNetwork",
    name="layers_in_a_plain_list",
    tell="The module does not register layers in a plain Python list, so it has no parameters to train, move or save. "
    "nn.Sequential registers what it is given.",
)
class LayersInAPlainList(nn.Module):
    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.layers = [nn.Linear(num_inputs, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, num_outputs)]

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


@misconception(
    "NeuralNetwork",
    name="no_activation",
    tell="There is no activation between your Linear layers. Three linear maps in a row are one linear map; put ReLUs "
    "between them.",
)
class NoActivation(nn.Module):
    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(num_inputs, 30), nn.Linear(30, 20), nn.Linear(20, num_outputs))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@misconception(
    "NeuralNetwork",
    name="softmax_in_forward",
    tell="Your forward returns probabilities. Return raw logits: cross-entropy has the softmax inside, and a second "
    "one makes training slow and wrong.",
)
class SoftmaxInForward(nn.Module):
    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(num_inputs, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, num_outputs)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.layers(x), dim=1)


@misconception(
    "NeuralNetwork",
    name="softmax_as_a_layer",
    tell="The last of your layers is a softmax. The network should end with the Linear layer and give raw logits: "
    "cross-entropy has the softmax inside.",
    seen="calls('softmax', 'Softmax', 'log_softmax', 'LogSoftmax')",
)
class SoftmaxAsALayer(nn.Module):
    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(num_inputs, 30),
            nn.ReLU(),
            nn.Linear(30, 20),
            nn.ReLU(),
            nn.Linear(20, num_outputs),
            nn.Softmax(1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@misconception(
    "NeuralNetwork",
    name="relu_on_the_logits",
    tell="There is a ReLU after the last Linear, so no score can be negative. Logits are what the last Linear gives.",
)
class ReluOnTheLogits(nn.Module):
    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(num_inputs, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, num_outputs), nn.ReLU()
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@misconception(
    "NeuralNetwork",
    name="hidden_sizes_swapped",
    tell="Your hidden layers have 20 and 30 units; the first has 30 and the second 20.",
)
class HiddenSizesSwapped(nn.Module):
    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(num_inputs, 20), nn.ReLU(), nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, num_outputs)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@misconception(
    "NeuralNetwork",
    name="forward_without_a_graph",
    tell="Your forward runs under no_grad, so the network can predict but never learn: no gradient reaches its "
    "parameters. Whether to record is for the caller to say.",
)
class ForwardWithoutAGraph(nn.Module):
    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(num_inputs, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, num_outputs)
        )

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return self.layers(x)


@misconception(
    "NeuralNetwork",
    name="all_weights_zero",
    tell="All your weights begin at the same number. Then all units of a layer compute the same, get the same "
    "gradient, and stay the same for ever. Leave the random weights that nn.Linear makes.",
)
class AllWeightsZero(nn.Module):
    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(num_inputs, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, num_outputs)
        )
        for p in self.parameters():
            nn.init.zeros_(p)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@misconception(
    "NeuralNetwork",
    name="the_same_weights_every_time",
    tell="You seed torch inside the class, so every network begins with the same weights, and the random numbers of "
    "all other code start again. Seeding is for the caller.",
    seen="calls('torch.manual_seed')",
)
class TheSameWeightsEveryTime(nn.Module):
    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        torch.manual_seed(123)
        self.layers = nn.Sequential(
            nn.Linear(num_inputs, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, num_outputs)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@misconception(
    "NeuralNetwork",
    name="relu_after_the_last_layer",
    tell="There is a ReLU after your last layer: no logit can be negative. Raw logits are what the last Linear gives.",
)
class ReluAfterTheLastLayer(nn.Module):
    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(num_inputs, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, num_outputs)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.layers(x))


# ---------------------------------------------------------------- count_parameters


@misconception(
    "count_parameters",
    tell="You counted tensors. A Linear(50, 30) has two of them, but 1530 numbers: add up numel().",
    seen="lacks('numel', 'nelement', 'size', 'shape', 'prod')",
)
def counts_tensors(model: nn.Module, trainable_only: bool = True) -> int:
    return sum(1 for p in model.parameters() if p.requires_grad or not trainable_only)


@misconception(
    "count_parameters", tell="Frozen parameters are in your count though trainable_only is True. Look at requires_grad."
)
def ignores_requires_grad(model: nn.Module, trainable_only: bool = True) -> int:
    return sum(p.numel() for p in model.parameters())


@misconception("count_parameters", tell="You leave out frozen parameters even when trainable_only is False.")
def never_counts_frozen(model: nn.Module, trainable_only: bool = True) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


@misconception(
    "count_parameters",
    tell="The condition is the wrong way round: with trainable_only=False you count the frozen parameters alone, "
    "but all are wanted.",
)
def frozen_alone_when_false(model: nn.Module, trainable_only: bool = True) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad == trainable_only)


@misconception(
    "count_parameters",
    tell="state_dict() also has buffers, such as BatchNorm's running statistics, and it lists shared tensors twice. "
    "parameters() is what you want.",
    seen="calls('state_dict')",
)
def counts_the_state_dict(model: nn.Module, trainable_only: bool = True) -> int:
    return sum(t.numel() for t in model.state_dict(keep_vars=True).values() if t.requires_grad or not trainable_only)


@misconception(
    "count_parameters", tell="A weight that two layers share was counted twice. model.parameters() gives it once."
)
def tied_weights_twice(model: nn.Module, trainable_only: bool = True) -> int:
    return sum(
        p.numel() for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad or not trainable_only
    )


@misconception(
    "count_parameters",
    tell="You distinguish tensors by their memory address. On the meta device there is no memory, and every address "
    "is 0; model.parameters() already gives each parameter once.",
)
def tells_apart_by_address(model: nn.Module, trainable_only: bool = True) -> int:
    seen = {p.data_ptr(): p for p in model.parameters() if p.requires_grad or not trainable_only}
    return sum(p.numel() for p in seen.values())


@misconception(
    "count_parameters",
    tell="Nested parameters are counted again for each module around them: model.parameters() has all levels already, "
    "and so has the parameters() of each part in modules().",
)
def again_in_every_module(model: nn.Module, trainable_only: bool = True) -> int:
    found = [p for module in model.modules() for p in module.parameters()]
    return sum(p.numel() for p in found if p.requires_grad or not trainable_only)


@misconception("count_parameters", tell="You counted one level only. Modules nest: parameters() goes all the way down.")
def only_one_level(model: nn.Module, trainable_only: bool = True) -> int:
    return sum(
        p.numel()
        for module in [model, *model.children()]
        for p in module.parameters(recurse=False)
        if p.requires_grad or not trainable_only
    )


@misconception(
    "count_parameters",
    tell="You switch requires_grad on in order to count, and leave it so: frozen parameters are trained from now on. "
    "Only look at the model.",
)
def unfreezes_to_count(model: nn.Module, trainable_only: bool = True) -> int:
    if not trainable_only:
        model.requires_grad_(True)
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


@misconception(
    "count_parameters",
    tell="With trainable_only=False nothing passes your condition. Then every parameter counts: leave out a parameter "
    "only if trainable_only is set and it is frozen.",
)
def none_unless_trainable_only(model: nn.Module, trainable_only: bool = True) -> int:
    return sum(p.numel() for p in model.parameters() if trainable_only and p.requires_grad)


@misconception(
    "count_parameters", tell="You stop at the first frozen parameter. Leave out that one, and go on with the next."
)
def stops_at_the_first_frozen(model: nn.Module, trainable_only: bool = True) -> int:
    total = 0
    for p in model.parameters():
        if trainable_only and not p.requires_grad:
            break
        total += p.numel()
    return total


@misconception(
    "count_parameters",
    tell="len of a tensor is its number of rows. A matrix holds rows times columns numbers: ask for numel().",
)
def rows_for_numbers(model: nn.Module, trainable_only: bool = True) -> int:
    return sum(len(p) for p in model.parameters() if p.requires_grad or not trainable_only)


# ---------------------------------------------------------------- mlp_parameter_count


@misconception(
    "mlp_parameter_count", tell="You left out the biases: each layer has one per output, unless bias is False."
)
def forgets_biases(sizes: Sequence[int], bias: bool = True) -> int:
    if len(sizes) < 2:
        raise ValueError
    return sum(a * b for a, b in zip(sizes, sizes[1:]))


@misconception("mlp_parameter_count", tell="You count biases even when bias is False.")
def biases_always(sizes: Sequence[int], bias: bool = True) -> int:
    if len(sizes) < 2:
        raise ValueError
    return sum(a * b + b for a, b in zip(sizes, sizes[1:]))


@misconception(
    "mlp_parameter_count",
    tell="You count a bias per input. A layer adds its bias to its output: one number per output.",
)
def bias_per_input(sizes: Sequence[int], bias: bool = True) -> int:
    if len(sizes) < 2:
        raise ValueError
    return sum(a * b + a * bias for a, b in zip(sizes, sizes[1:]))


@misconception(
    "mlp_parameter_count", tell="You count one bias number per layer. A bias is a vector, with one number per output."
)
def one_number_per_bias(sizes: Sequence[int], bias: bool = True) -> int:
    if len(sizes) < 2:
        raise ValueError
    return sum(a * b + int(bias) for a, b in zip(sizes, sizes[1:]))


@misconception("mlp_parameter_count", tell="Fewer than two sizes make no layer: raise a ValueError, do not return 0.")
def accepts_too_few_sizes(sizes: Sequence[int], bias: bool = True) -> int:
    return sum(a * b + b * bias for a, b in zip(sizes, sizes[1:]))


@misconception(
    "mlp_parameter_count",
    tell="You make the layers in order to count them. The count follows from the sizes by arithmetic, and must work "
    "for networks that are too large for any memory.",
)
def builds_the_network(sizes: Sequence[int], bias: bool = True) -> int:
    if len(sizes) < 2:
        raise ValueError
    return sum(p.numel() for a, b in zip(sizes, sizes[1:]) for p in nn.Linear(a, b, bias=bias).parameters())


@misconception(
    "mlp_parameter_count",
    tell="You take the sizes out of the caller's list, which is empty afterwards. Read them where they are.",
)
def empties_the_list(sizes: Sequence[int], bias: bool = True) -> int:
    if len(sizes) < 2:
        raise ValueError
    count, inputs = 0, sizes.pop(0) if isinstance(sizes, list) else sizes[0]
    for outputs in [sizes.pop(0) for _ in range(len(sizes))] if isinstance(sizes, list) else sizes[1:]:
        count += inputs * outputs + outputs * bias
        inputs = outputs
    return count


@misconception(
    "mlp_parameter_count",
    tell="64 bits are not enough for every product: torch's and NumPy's integers overflow without a word. Python's own "
    "integers do not.",
)
def overflows(sizes: Sequence[int], bias: bool = True) -> int:
    if len(sizes) < 2:
        raise ValueError
    inputs, outputs = torch.tensor(sizes[:-1]), torch.tensor(sizes[1:])
    return int((inputs * outputs).sum() + outputs.sum() * bias)


@misconception(
    "mlp_parameter_count",
    tell="You count biases for the input as well. A bias belongs to the outputs of a layer: the first size has none.",
)
def biases_for_the_input(sizes: Sequence[int], bias: bool = True) -> int:
    if len(sizes) < 2:
        raise ValueError("too few sizes")
    weights = sum(a * b for a, b in zip(sizes, sizes[1:], strict=False))
    return weights + (sum(sizes) if bias else 0)


# ---------------------------------------------------------------- parameter_table


@misconception(
    "parameter_table",
    tell="Your table contains buffers: state_dict() lists them with the parameters. named_parameters() does not.",
    seen="calls('state_dict')",
)
def buffers_in_the_table(model: nn.Module) -> list[tuple[str, tuple[int, ...], int]]:
    return [(name, tuple(t.shape), t.numel()) for name, t in model.state_dict().items()]


@misconception("parameter_table", tell="Frozen parameters are missing. They are parameters too.")
def leaves_out_frozen(model: nn.Module) -> list[tuple[str, tuple[int, ...], int]]:
    return [(name, tuple(p.shape), p.numel()) for name, p in model.named_parameters() if p.requires_grad]


@misconception(
    "parameter_table",
    tell="You sorted the rows by name, which puts layer 10 before layer 2. The order of registration is the one in "
    "which the module gives them.",
    seen="calls('sorted', 'sort')",
)
def sorted_by_name(model: nn.Module) -> list[tuple[str, tuple[int, ...], int]]:
    return sorted((name, tuple(p.shape), p.numel()) for name, p in model.named_parameters())


@misconception(
    "parameter_table",
    tell="Your count is the length of the first dimension, as len() gives it. numel() is the number of elements.",
)
def len_for_the_count(model: nn.Module) -> list[tuple[str, tuple[int, ...], int]]:
    return [(name, tuple(p.shape), p.shape[0] if p.dim() else 1) for name, p in model.named_parameters()]


@misconception(
    "parameter_table",
    tell="You used the names of the modules. Each parameter has a dotted name of its own, like '0.weight'.",
)
def names_of_modules(model: nn.Module) -> list[tuple[str, tuple[int, ...], int]]:
    return [
        (name, tuple(p.shape), p.numel())
        for name, module in model.named_modules()
        for p in module.parameters(recurse=False)
    ]


# ---------------------------------------------------------------- memory_bytes


@misconception(
    "memory_bytes",
    tell="You took 4 bytes for every number. That is float32; ask each tensor for its element_size().",
    seen="lacks('element_size', 'itemsize', 'nbytes', 'storage', 'untyped_storage')",
)
def four_bytes_each(model: nn.Module) -> int:
    return sum(4 * t.numel() for t in [*model.parameters(), *model.buffers()])


@misconception(
    "memory_bytes",
    tell="You took 4 bytes for every number, and counted parameters only. Ask each tensor for its element_size(), and "
    "count the buffers, too.",
)
def four_bytes_for_each_parameter(model: nn.Module) -> int:
    return sum(4 * t.numel() for t in model.parameters())


@misconception("memory_bytes", tell="You counted parameters only. Buffers take memory too.")
def without_buffers(model: nn.Module) -> int:
    return sum(p.numel() * p.element_size() for p in model.parameters())


@misconception(
    "memory_bytes",
    tell="state_dict() lists a shared tensor under each of its names, and leaves out buffers that are not saved. "
    "parameters() and buffers() give each tensor once.",
    seen="calls('state_dict')",
)
def bytes_of_the_state_dict(model: nn.Module) -> int:
    return sum(t.numel() * t.element_size() for t in model.state_dict().values())


@misconception("memory_bytes", tell="A tensor that is used in two places was counted twice. It is in memory only once.")
def shared_tensors_twice(model: nn.Module) -> int:
    tensors = [t for _, t in model.named_parameters(remove_duplicate=False)]
    tensors += [t for _, t in model.named_buffers(remove_duplicate=False)]
    return sum(t.numel() * t.element_size() for t in tensors)


@misconception("memory_bytes", tell="You left out frozen parameters. They take as much memory as trainable ones.")
def trainable_bytes_only(model: nn.Module) -> int:
    tensors = [*(p for p in model.parameters() if p.requires_grad), *model.buffers()]
    return sum(t.numel() * t.element_size() for t in tensors)


@misconception("memory_bytes", tell="You counted numbers, not bytes: multiply by element_size().")
def numbers_for_bytes(model: nn.Module) -> int:
    return sum(t.numel() for t in [*model.parameters(), *model.buffers()])


@misconception(
    "memory_bytes",
    tell="You counted gradients as well. They belong to training; the model is its parameters and buffers.",
)
def gradients_too(model: nn.Module) -> int:
    tensors = [*model.parameters(), *model.buffers()]
    tensors += [p.grad for p in model.parameters() if p.grad is not None]
    return sum(t.numel() * t.element_size() for t in tensors)


# ---------------------------------------------------------------- freeze


@misconception(
    "freeze",
    tell="You froze every parameter whose name contains the prefix somewhere. It must be at the front, and end where "
    "a part of the dotted name ends.",
)
def prefix_anywhere(model: nn.Module, prefix: str) -> int:
    chosen = [p for name, p in model.named_parameters() if prefix in name]
    for p in chosen:
        p.requires_grad_(False)
    return len(chosen)


@misconception(
    "freeze",
    tell="startswith alone matches too many names: 'layers.10.weight' also begins with 'layers.1'. A dot must follow.",
)
def prefix_without_a_dot(model: nn.Module, prefix: str) -> int:
    chosen = [p for name, p in model.named_parameters() if name.startswith(prefix)]
    for p in chosen:
        p.requires_grad_(False)
    return len(chosen)


@misconception("freeze", tell="A prefix may also be the whole name of one parameter, with no dot after it.")
def never_a_single_parameter(model: nn.Module, prefix: str) -> int:
    chosen = [p for name, p in model.named_parameters() if name.startswith(prefix + ".")]
    for p in chosen:
        p.requires_grad_(False)
    return len(chosen)


@misconception("freeze", tell="You return how many numbers were frozen. Return how many tensors were frozen.")
def returns_the_numbers(model: nn.Module, prefix: str) -> int:
    chosen = [p for name, p in model.named_parameters() if name == prefix or name.startswith(prefix + ".")]
    for p in chosen:
        p.requires_grad_(False)
    return sum(p.numel() for p in chosen)


@misconception(
    "freeze",
    tell="No parameter was frozen. Each has its own switch, requires_grad: set on a module, it is a new attribute "
    "without an effect; module.requires_grad_(False), with the underscore, sets it for all of its parameters.",
)
def sets_it_on_the_module(model: nn.Module, prefix: str) -> int:
    chosen = [name for name, _ in model.named_parameters() if name == prefix or name.startswith(prefix + ".")]
    for name, module in model.named_modules():
        if name == prefix:
            module.requires_grad = False
    return len(chosen)


@misconception("freeze", tell="You froze the rest of the model and kept the named part trainable.")
def freezes_the_rest(model: nn.Module, prefix: str) -> int:
    count = 0
    for name, p in model.named_parameters():
        p.requires_grad_(name == prefix or name.startswith(prefix + "."))
        count += not p.requires_grad
    return count


@misconception(
    "freeze",
    tell="In a regular expression the dot stands for any character, so 'a.b' also matches 'a_b'. Escape the prefix, or "
    "compare strings.",
)
def dot_matches_anything(model: nn.Module, prefix: str) -> int:
    chosen = [p for name, p in model.named_parameters() if re.match(prefix + r"(\.|$)", name)]
    for p in chosen:
        p.requires_grad_(False)
    return len(chosen)


# ---------------------------------------------------------------- seeded


@misconception(
    "seeded",
    tell="Your seed leaks: after the call the global random numbers go on from it, so all code that draws later gets "
    "numbers that depend on your seed. Restore the generator's state.",
    seen="lacks('fork_rng', 'get_rng_state', 'set_rng_state', 'get_state', at='manual_seed')",
)
def leaks_the_seed(build: Callable[[], Any], seed: int) -> Any:
    torch.manual_seed(seed)
    return build()


@misconception(
    "seeded",
    tell="Seeding again with the old seed starts its stream from the beginning, so numbers that were drawn already "
    "come again. Save the generator's state, and restore it.",
)
def seeds_again_afterwards(build: Callable[[], Any], seed: int) -> Any:
    before = torch.initial_seed()
    torch.manual_seed(seed)
    made = build()
    torch.manual_seed(before)
    return made


@misconception(
    "seeded",
    tell="You seeded another generator (one of your own, or Python's random), but build() draws "
    "from torch's global one: torch.manual_seed.",
)
def seeds_another_generator(build: Callable[[], Any], seed: int) -> Any:
    torch.Generator().manual_seed(seed)
    return build()


@misconception(
    "seeded",
    tell="You saved the state after seeding, so you restore the start of your own seed's stream. Save the state first.",
)
def saves_the_state_too_late(build: Callable[[], Any], seed: int) -> Any:
    torch.manual_seed(seed)
    state = torch.get_rng_state()
    made = build()
    torch.set_rng_state(state)
    return made


@misconception(
    "seeded",
    tell="The global stream is safe, but the seed does not reach the numbers that build() draws: seed first, then "
    "build.",
    seen="lacks('manual_seed', 'set_rng_state')",
)
def never_seeds(build: Callable[[], Any], seed: int) -> Any:
    with torch.random.fork_rng():
        return build()


@misconception("seeded", tell="You set the seed when build() has drawn its numbers already. Seed first, then build.")
def seeds_after_building(build: Callable[[], Any], seed: int) -> Any:
    state = torch.get_rng_state()
    result = build()
    torch.manual_seed(seed)
    torch.set_rng_state(state)
    return result


@misconception(
    "seeded",
    tell="You keep what build() made and return it again, so that two callers share one object. Make a new one each "
    "time.",
)
def keeps_what_it_made(build: Callable[[], Any], seed: int) -> Any:
    made = getattr(build, "made", {})
    if seed not in made:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            made[seed] = build()
        build.made = made
    return made[seed]


@misconception(
    "seeded",
    tell="Torch's stream is safe, but you seeded Python's random as well, and did not put it back.",
    seen="calls('random.seed')",
)
def seeds_python_as_well(build: Callable[[], Any], seed: int) -> Any:
    random.seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build()
