"""A stack of simple recurrent units (SRU) with its time steps unrolled.

This is the RNNTC-SRU of the graph-optimization literature: per layer three matrix products for
all time steps at once, then an elementwise recurrence.

    z = W x           f = sigmoid(W_f x + b_f)           r = sigmoid(W_r x + b_r)
    c_t = f_t * c_{t-1} + (1 - f_t) * z_t                 c_0 = 0
    h_t = r_t * tanh(c_t) + (1 - r_t) * x_t

The three products read one input, so that merging them is the obvious win; the recurrence is a
chain of tiny operators, so that fusing them is the next one.
"""

import numpy as np

from builder import ModelBuilder


def sru_model(name, seed, layers, hidden, steps):
    """Returns the stack for one sequence; input and output are [steps, 1, hidden].

    With ten steps a layer is 54 nodes.
    """
    b = ModelBuilder(name, seed)
    shape = [steps, 1, hidden]
    x = b.input("input", shape)
    for _ in range(layers):
        x = _layer(b, x, hidden, steps)
    return b.finish({"output": (x, shape)})


def _layer(b, x, hidden, steps):
    candidate = b.node("MatMul", x, b.weight((hidden, hidden), hidden))
    forget = _gate(b, x, hidden)
    reset = _gate(b, x, hidden)
    one = b.constant(1.0)
    update = b.node("Mul", b.node("Sub", one, forget), candidate)
    sizes = b.constant([1] * steps, np.int64)
    forgets = b.node("Split", forget, sizes, outputs=steps, axis=0)
    updates = b.node("Split", update, sizes, outputs=steps, axis=0)
    resets = b.node("Split", reset, sizes, outputs=steps, axis=0)
    state = updates[0]
    outputs = []
    for step in range(steps):
        if step > 0:
            state = b.node("Add", b.node("Mul", forgets[step], state), updates[step])
        outputs.append(b.node("Mul", resets[step], b.node("Tanh", state)))
    joined = b.concat(outputs, axis=0)
    highway = b.node("Mul", b.node("Sub", one, reset), x)
    return b.node("Add", joined, highway)


def _gate(b, x, hidden):
    product = b.node("MatMul", x, b.weight((hidden, hidden), hidden, gain=1.0))
    return b.node("Sigmoid", b.node("Add", product, b.bias(hidden)))
