"""A twin as a torch module: weights registered under their names, so that every compiler of torch sees them."""
import numpy as np
import torch
from protocol import Unsupported
from protocol.bundle import tree_of

from . import forward, training


class Node(torch.nn.Module):
    """A dict of weights and further nodes, by key."""

    def __init__(self, children):
        super().__init__()
        for key, child in children.items():
            setattr(self, "_" + key, _registered(child))

    def __getitem__(self, key):
        return getattr(self, "_" + key)


def _registered(child):
    if isinstance(child, dict):
        return Node(child)
    if isinstance(child, list):
        return torch.nn.ModuleList([_registered(c) for c in child])
    return torch.nn.Parameter(child, requires_grad=False)


class Forward(torch.nn.Module):
    """inputs -> outputs of a forward workload."""

    def __init__(self, fn, tree):
        super().__init__()
        self.fn, self.params = fn, _registered(tree)

    def forward(self, *inputs):
        return self.fn(self.params, *inputs)


class TrainingStep(torch.nn.Module):
    """inputs -> loss and weights, in the order of `weights`; these are updated in place."""

    def __init__(self, loss_fn, learning_rate, weights):
        super().__init__()
        self.loss_fn, self.learning_rate = loss_fn, learning_rate
        self.weights = [weight.requires_grad_() for weight in weights.values()]
        self.params = tree_of(dict(zip(weights, self.weights)))

    def forward(self, *inputs):
        loss = self.loss_fn(self.params, *inputs)
        gradients = torch.autograd.grad(loss, self.weights)
        with torch.no_grad():
            for weight, gradient in zip(self.weights, gradients):
                weight.sub_(gradient, alpha=self.learning_rate)
        return loss.detach(), *(weight.detach() for weight in self.weights)


def make(bundle):
    """(module, inputs) of a bundle's workload; `Unsupported` where there is no twin."""
    weights = {name: to_torch(name, array) for name, array in bundle.weights().items()}
    inputs = [as_tensor(array) for array in bundle.inputs().values()]
    if fn := forward(bundle.model):
        return Forward(fn, tree_of(weights)).eval(), inputs
    if step := training(bundle.model):
        return TrainingStep(*step, weights).eval(), inputs
    raise Unsupported(f"There is no torch twin of {bundle.model or 'a model from a file'} in bench/twins.")


def to_torch(name, array):
    """A weight as a tensor of its own; convolution kernels HWIO -> OIHW, channels last in memory."""
    tensor = as_tensor(array)
    if is_kernel(name):
        tensor = tensor.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    return tensor


def as_tensor(array):
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(array.view(np.uint16))).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def outputs_of(bundle, results):
    """The outputs as numpy arrays in the module's layout."""
    results = results if isinstance(results, (tuple, list)) else [results]
    arrays = []
    for entry, value in zip(bundle.results, results, strict=True):
        value = value.permute(2, 3, 1, 0) if is_kernel(entry["name"]) else value
        arrays.append(value.contiguous().numpy())
    return arrays


def is_kernel(name):
    return name.endswith("kernel")
