#!/usr/bin/env python3
"""Counts what models would take on a device of round numbers, and compares with described_devices.

    practical_times.py [--search | --paper] MODEL.onnx...

The count is made from the file alone, in a page of Python that shares nothing with plait: a check
of the program, and not of the world. A kernel takes 2.5 us and its multiply-adds at 60 % of the
rate, or its weights at 60 % of 4.3 TB/s where that takes longer. A kernel is
  - a convolution or product, an attention (both products and what lies between), or any other
    operator that computes,
  - with the elementwise operators behind it that read it and what is ready without it,
  - with the Relu in front of a depthwise convolution that alone reads it.
Views, transposes and concatenations are free. A kernel that adds another's result waits for it; of
two, that which is ready last adds.

--search has described_devices rewrite the model first. With --paper the count is compared with the
estimates that were made on paper before there was a program, and by their rules: a separable
convolution is one kernel, Relus are free, products of one value by weights are one, and a kernel
takes its multiply-adds, or what it reads and writes but for weights where that takes longer. Their
longest paths have kernels that their sums of all kernels do not have: a Relu behind a concatenation
and a sum that no dense convolution or product makes. The second number is the path's kernels then,
and the last the largest share of all multiply-adds that lies on one path. Estimates of kernels that
plait does not have were left out: products that normalize first, one kernel for all layers of a
recurrence. bert_large_384 is bert_large for 384 tokens (bench/models/tokens.py).

Columns, for fp32 (60 TFLOP/s), TF32 (400) and fp16 (780, and half of the bytes): milliseconds of
the longest path and of all kernels, and how far those of `described_devices` (or on paper) are from
them, which covers the graph by kernels that the cuda backend offers. Nothing here was measured.

Exit codes: 0 within --off-max (10 %), 1 not so, 2 usage.
"""

import argparse
import collections
import pathlib
import subprocess
import sys

import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "models"))

import sample_inputs  # noqa: E402 (found through the line above)

KERNEL_US, SHARE, BYTES_PER_US = 2.5, 0.6, 4.3e6
# A number has so many bytes in memory, whatever a product rounds it to.
Precision = collections.namedtuple("Precision", "flops_per_us number_bytes")
PRECISIONS = {"fp32": Precision(60e6, 4), "tf32": Precision(400e6, 4), "fp16": Precision(780e6, 2)}

# Milliseconds on paper, in the columns' order; 0: none was made.
ON_PAPER = {
    "inception_v3": (0.34, 0.60, 0.165, 0.335, 0.147, 0.304),
    "resnet50": (0.355, 0.37, 0.176, 0.189, 0.153, 0.165),
    "resnext50": (0.36, 0.38, 0.18, 0.19, 0.153, 0.166),
    "nasnet_large": (1.16, 2.25, 0.51, 1.19, 0.41, 1.03),
    "nasnet_mobile": (0.26, 0.69, 0.25, 0.67, 0.25, 0.67),
    "rnntc_sru": (0.055, 0, 0, 0, 0, 0),
    "bert_base": (0, 0.84, 0, 0.31, 0, 0.26),
    "bert_large": (0, 2.6, 0, 0.76, 0, 0.60),
    "bert_large_384": (0, 7.3, 0, 1.5, 0, 0.96),
}
NO_ESTIMATES = (0,) * 6

FREE = {"Concat", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Cast",
        "Constant", "ConstantOfShape", "Shape", "Split", "Slice", "Pad", "Expand", "Dropout"}
ELEMENTWISE = {"Add", "Sub", "Mul", "Div", "Relu", "Clip", "Sigmoid", "Tanh", "Erf",
               "BatchNormalization", "HardSwish", "Sqrt", "Pow", "Where", "Equal", "And"}


class Kernel:
    """One launch: what it computes, and the values that it waits for."""

    def __init__(self):
        self.flops = 0
        self.weights = 0
        self.values = {}             # numbers by value read or written
        self.inputs = set()
        self.is_elementwise = False  # and nothing else
        self.is_scores = False       # the first product of an attention
        self.is_front = False        # the Relu in front of a depthwise convolution
        self.is_depthwise = False    # and nothing behind it yet
        self.is_separable = False    # a depthwise convolution and what is behind it

    def us(self, precision):
        moved_bytes = precision.number_bytes * (self.weights + sum(self.values.values()))
        work_us = max(self.flops / precision.flops_per_us, moved_bytes / BYTES_PER_US)
        return KERNEL_US + work_us / SHARE


def shapes_of(model):
    """The sizes of what is computed, as a run has them."""
    wanted = {name for node in model.graph.node if node.op_type not in FREE
              for name in (node.input[0], node.output[0])}
    wanted -= {value.name for value in model.graph.initializer}
    told = {value.name for value in (*model.graph.input, *model.graph.output)}
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    probe.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted - told)
    session = onnxruntime.InferenceSession(
        probe.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = sample_inputs.model_inputs(model, seed=1)
    names = sorted(wanted - {value.name for value in model.graph.input})
    shapes = dict(zip(names, (list(array.shape) for array in session.run(names, feeds))))
    return shapes | {name: list(array.shape) for name, array in feeds.items()}


class Count:
    """The kernels of one model, by the rules on paper if so; and by those of longest paths."""

    def __init__(self, path, on_paper=False, for_paths=False):
        self.on_paper = on_paper
        self.for_paths = for_paths
        model = onnx.load(str(path))
        graph = model.graph
        self.shapes = shapes_of(model)
        self.nodes = list(graph.node)
        self.weights = {value.name: list(value.dims) for value in graph.initializer}
        self.readers = collections.defaultdict(list)
        self.weights |= {node.output[0]: list(node.attribute[0].t.dims)
                         for node in self.nodes if node.op_type == "Constant"}
        self._merge_twins()
        for node in self.nodes:
            for name in node.input:
                self.readers[name].append(node)
        self.kernels = []
        self.kernel_of = {}  # value to the kernel that computes it; None: an input or a constant
        for node in self.nodes:
            self._add(node)

    def _merge_twins(self):
        """Of nodes that compute the same one stays."""
        first, renamed, kept = {}, {}, []
        for node in self.nodes:
            names = tuple(renamed.get(name, name) for name in node.input)
            del node.input[:]
            node.input.extend(names)
            key = (node.op_type, names, str(node.attribute))
            twin = first.setdefault(key, node)
            if twin is node:
                kept.append(node)
            renamed |= dict(zip(node.output, twin.output))
        self.nodes = kept

    def _add(self, node):
        names = [name for name in node.input if name and self.kernel_of.get(name)]
        if not names and node.op_type not in ("Conv", "MatMul", "Gemm", "Relu"):
            return  # made of inputs and constants: counted with what reads it
        if self._is_free(node, names):
            made_by = {kernel for name in names for kernel in self.kernel_of[name]}
            self.kernel_of |= {name: made_by for name in node.output}
            return
        kernel = self._host_on_paper(node) if self.on_paper else None
        kernel = kernel or self._host(node, names)
        if kernel is None:
            kernel = Kernel()
            kernel.is_elementwise = node.op_type in ELEMENTWISE
            self.kernels.append(kernel)
        self._work(node, kernel)
        if self.on_paper:
            self._move(node, kernel)
        kernel.inputs |= {other for name in names for other in self.kernel_of[name]} - {kernel}
        for name in node.output:
            self.kernel_of[name] = {kernel}

    def _is_free(self, node, names):
        if node.op_type == "Softmax":
            return all(self._sole(name) and self._sole(name).is_scores for name in names)
        # Of one place along an axis.
        is_slice = node.op_type == "Gather" and self.weights.get(node.input[1]) == []
        is_free_relu = self.on_paper and node.op_type == "Relu" and not (
            self.for_paths and names and self._sole(names[0]) is None)
        return node.op_type in FREE or is_slice or is_free_relu

    def _sole(self, name):
        """The kernel that alone makes a value."""
        kernels = self.kernel_of.get(name) or ()
        return next(iter(kernels)) if len(kernels) == 1 else None

    def _host(self, node, names):
        """The kernel that the node is part of, or None."""
        if node.op_type == "MatMul" and node.input[0] in self.kernel_of:
            scores = self._sole(node.input[0])
            if scores and scores.is_scores:
                return scores  # the second product of an attention
        if node.op_type == "Conv" and self._is_depthwise(node):
            front = self._sole(node.input[0]) if names else None
            if front and front.is_front:
                return front
        if node.op_type not in ELEMENTWISE:
            return None
        size = self.shapes[node.output[0]]
        hosts = [self._sole(name) for name in names if self._takes_along(name)
                 and _product(self.shapes.get(name, size)) == _product(size)]
        if self.for_paths:
            hosts = [host for host in hosts
                     if host.is_elementwise or (host.flops and not host.is_separable)]
        hosts = [host for host in hosts if not any(
            self._waits(other, host) for name in names for other in self.kernel_of[name])]
        self._join([host for host in hosts if host.is_elementwise])
        hosts = [host for host in hosts if host in self.kernels]
        # That which is ready last.
        return max(hosts, key=lambda host: self.ready_us(host, PRECISIONS["fp32"]), default=None)

    def _host_on_paper(self, node):
        front = self._sole(node.input[0])
        if node.op_type == "Conv" and front and front.is_depthwise:
            return front
        if node.op_type in ("MatMul", "Gemm") and node.input[1] in self.weights:
            return next((self._sole(reader.output[0]) for reader in self.readers[node.input[0]]
                         if reader.op_type == node.op_type and self._sole(reader.output[0])), None)
        return None

    def _join(self, kernels):
        """Makes one of kernels that are elementwise, none of which waits for another."""
        for other in kernels[1:]:
            if other is kernels[0]:
                continue
            kernels[0].inputs |= other.inputs
            self.kernels.remove(other)
            for name, made_by in self.kernel_of.items():
                self.kernel_of[name] = {kernels[0] if kernel is other else kernel
                                        for kernel in made_by}
            for kernel in self.kernels:
                if other in kernel.inputs:
                    kernel.inputs = kernel.inputs - {other} | {kernels[0]}

    def _takes_along(self, name):
        """Whether a kernel may compute more of a value that it alone makes: one that multiplies
        where nothing else reads the value, since it writes its last result only."""
        kernel = self._sole(name)
        return kernel and (kernel.is_elementwise or all(
            reader.op_type in ELEMENTWISE for reader in self.readers[name]))

    def _waits(self, kernel, other):
        """Whether a kernel waits for another one."""
        seen, todo = {kernel}, [kernel]
        while todo:
            for earlier in todo.pop().inputs - seen:
                if earlier is other:
                    return True
                seen.add(earlier)
                todo.append(earlier)
        return False

    def _is_depthwise(self, node):
        weights = self.weights[node.input[1]]
        return weights[1] == 1 and weights[0] > 1

    def _work(self, node, kernel):
        if node.op_type == "Relu":
            readers = self.readers[node.output[0]]
            kernel.is_front = (kernel.flops == 0 and len(readers) == 1
                               and readers[0].op_type == "Conv" and self._is_depthwise(readers[0]))
        elif node.op_type == "Conv":
            kernel.is_front = kernel.is_elementwise = False
            kernel.is_separable = kernel.is_separable or self._is_depthwise(node)
            kernel.is_depthwise = self._is_depthwise(node)
            size, weights = self.shapes[node.output[0]], self.weights[node.input[1]]
            kernel.flops += 2 * _product(size) * _product(weights[1:])
            kernel.weights += 0 if self.on_paper else _product(weights)
        elif node.op_type in ("MatMul", "Gemm"):
            weights = self.weights.get(node.input[1])
            kernel.flops += (2 * _product(self.shapes[node.output[0]])
                             * self.shapes[node.input[0]][-1])
            kernel.weights += _product(weights) if weights and not self.on_paper else 0
            kernel.is_scores = weights is None and not kernel.is_scores

    def _move(self, node, kernel):
        """Adds what is read and written, but for what stays within the kernel."""
        for name in node.input:
            if self._sole(name) is kernel:
                kernel.values.pop(name, None)
            elif name in self.shapes and name not in self.weights:
                kernel.values[name] = _product(self.shapes[name])
        kernel.values[node.output[0]] = _product(self.shapes[node.output[0]])

    def ready_us(self, kernel, precision):
        """When it ends, on any number of streams."""
        return self._longest(kernel, lambda done: done.us(precision))

    def _longest(self, kernel, cost):
        """The longest path that ends there."""
        ends, todo = {}, [kernel]
        while todo:
            waiting = [other for other in todo[-1].inputs if other not in ends]
            if waiting:
                todo += waiting
                continue
            done = todo.pop()
            ends[done] = cost(done) + max((ends[other] for other in done.inputs), default=0)
        return ends[kernel]

    def chain(self):
        """The kernels of the path that has most of them."""
        return max(self._longest(kernel, lambda _: 1) for kernel in self.kernels)

    def path_flops_share(self):
        """The most of all multiply-adds that one path has."""
        longest = max(self._longest(kernel, lambda done: done.flops) for kernel in self.kernels)
        return longest / sum(kernel.flops for kernel in self.kernels)

    def times_ms(self, precision):
        """The longest path, and all kernels."""
        return (max(self.ready_us(kernel, precision) for kernel in self.kernels) / 1000,
                sum(kernel.us(precision) for kernel in self.kernels) / 1000)


def _product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result


def described(program, path, searches):
    """The milliseconds that described_devices prints, in the order of this table, and kernels."""
    command = [str(program), *(["--search"] if searches else []), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    words = done.stdout.splitlines()[1].split()
    return [float(word) for word in words[3:9]], words[1]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL.onnx")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--search", action="store_true", help="rewrite the models first")
    way.add_argument("--paper", action="store_true", help="compare with the estimates on paper")
    parser.add_argument("--described", type=pathlib.Path, metavar="PROGRAM",
                        default=ROOT / "build" / "described_devices")
    parser.add_argument("--off-max", type=float, default=0.1, metavar="X",
                        help="how far the two may be apart (0.1)")
    arguments = parser.parse_args()
    columns = [column for name in PRECISIONS for column in (f"{name} any", "one")]
    print(f"{'model':<16} {'kernels':>11}  " + " ".join(f"{name:>14}" for name in columns))
    worst = 0
    for path in arguments.models:
        count = Count(path, arguments.paper)
        paths = Count(path, True, for_paths=True) if arguments.paper else count
        times = [ms for precision in PRECISIONS.values()
                 for ms in (paths.times_ms(precision)[0], count.times_ms(precision)[1])]
        if arguments.paper:
            others, kernels = ON_PAPER.get(path.stem, NO_ESTIMATES), paths.chain()
        else:
            others, kernels = described(arguments.described, path, arguments.search)
        off = [other / ms - 1 if other else None for ms, other in zip(times, others)]
        worst = max(worst, *(abs(share) for share in off if share is not None), 0)
        cells = " ".join(f"{ms:>7.3f} {'-' if share is None else f'{share:+.0%}':>6}"
                         for ms, share in zip(times, off))
        print(f"{path.stem:<16} {len(count.kernels):>5} {kernels:>5}  {cells}"
              + (f" {paths.path_flops_share():>5.0%}" if arguments.paper else ""), flush=True)
    return 0 if worst <= arguments.off_max else 1


if __name__ == "__main__":
    sys.exit(main())
