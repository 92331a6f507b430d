"""Light convolutional models: the shapes of well-known families at the size of a unit test."""

from builder import ModelBuilder


def tiny_resnet(seed):
    """Returns a residual network with basic and downsampling blocks and unfused BatchNorm."""
    b = ModelBuilder("tiny_resnet", seed)
    x = b.conv_bn_relu(b.input("input", [1, 3, 32, 32]), 16, 3)
    x = b.pool("MaxPool", x, 3, 2)
    for width, stride in ((16, 1), (32, 2), (32, 1)):
        x = residual_block(b, x, width, stride)
    return b.finish({"output": (b.classifier(x), [1, 10])})


def residual_block(b, x, width, stride=1, group=1):
    """Appends conv-BN-relu-conv-BN plus a shortcut, which is projected when the shape changes."""
    body = b.conv_bn(b.conv_bn_relu(x, width, 3, stride, group), width, 3)
    if stride != 1 or b.channels[x] != width:
        x = b.conv_bn(x, width, 1, stride)
    return b.node("Relu", b.node("Add", body, x))


def tiny_inception(seed):
    """Returns a network of inception blocks: four branches on one input, joined by Concat."""
    b = ModelBuilder("tiny_inception", seed)
    x = b.conv_bn_relu(b.input("input", [1, 3, 32, 32]), 16, 3, stride=2)
    x = inception_block(b, x, 8)
    x = b.pool("MaxPool", x, 3, 2)
    x = inception_block(b, x, 12)
    return b.finish({"output": (b.classifier(x), [1, 10])})


def inception_block(b, x, width):
    """Appends the branches 1x1, 1x1-3x3, 1x1-5x5 and pool-1x1; three 1x1 could become one."""
    one = b.conv_bn_relu(x, width, 1)
    three = b.conv_bn_relu(b.conv_bn_relu(x, width, 1), width + width // 2, 3)
    five = b.conv_bn_relu(b.conv_bn_relu(x, width // 2, 1), width, 5)
    pooled = b.conv_bn_relu(b.pool("AveragePool", x), width // 2, 1)
    return b.concat([one, three, five, pooled])


def tiny_nasnet(seed):
    """Returns two NASNet-like cells: separable convolutions, pairwise adds, one Concat each."""
    b = ModelBuilder("tiny_nasnet", seed)
    stem = b.conv(b.input("input", [1, 3, 32, 32]), 12, 3, stride=2, bias=True)
    previous, current = stem, nasnet_cell(b, stem, stem, 8)
    previous, current = current, nasnet_cell(b, previous, current, 8)
    _, current = current, nasnet_cell(b, previous, current, 8)
    head = b.classifier(b.node("Relu", current))
    return b.finish({"output": (head, [1, 10])})


def nasnet_cell(b, previous, current, width):
    """Appends a cell on its two predecessors, both first squeezed to `width` channels."""
    p = b.conv(b.node("Relu", previous), width, 1, bias=True)
    h = b.conv(b.node("Relu", current), width, 1, bias=True)
    sums = [
        b.node("Add", separable(b, h, 5), separable(b, p, 3)),
        b.node("Add", separable(b, p, 5), separable(b, p, 3)),
        b.node("Add", b.pool("AveragePool", h), p),
        b.node("Add", b.pool("AveragePool", p), b.pool("AveragePool", p)),
        b.node("Add", separable(b, h, 3), h),
    ]
    return b.concat([p] + sums)


def separable(b, x, kernel):
    """Appends relu, depthwise and pointwise convolution twice: NASNet's separable convolution."""
    width = b.channels[x]
    for _ in range(2):
        x = b.conv(b.node("Relu", x), width, kernel, group=width)
        x = b.conv(x, width, 1, bias=True)
    return x


def tiny_mobilenet(seed):
    """Returns inverted residuals with each activation that mobile networks use."""
    b = ModelBuilder("tiny_mobilenet", seed)
    x = hard_swish(b, b.conv_bn(b.input("input", [1, 3, 32, 32]), 16, 3, stride=2))
    x = inverted_residual(b, x, 16, relu6, squeeze=False)
    x = inverted_residual(b, x, 24, silu, squeeze=True, stride=2)
    x = inverted_residual(b, x, 24, silu, squeeze=True)
    x = inverted_residual(b, x, 32, hard_swish, squeeze=True, hard_gate=True)
    return b.finish({"output": (b.classifier(x), [1, 10])})


def relu6(b, x):
    return b.node("Clip", x, b.constant(0.0), b.constant(6.0))


def silu(b, x):
    """Appends x * sigmoid(x) as two nodes, which is how exporters write SiLU."""
    return b.node("Mul", x, b.node("Sigmoid", x))


def hard_swish(b, x):
    return b.node("HardSwish", x)


def inverted_residual(b, x, width, activation, squeeze, stride=1, hard_gate=False):
    """Appends expand, depthwise, optional squeeze-and-excite, project, and the shortcut."""
    inner = b.channels[x] * 4
    y = activation(b, b.conv_bn(x, inner, 1))
    y = activation(b, b.conv_bn(y, inner, 3, stride, group=inner))
    if squeeze:
        y = squeeze_excite(b, y, inner // 4, hard_gate)
    y = b.conv_bn(y, width, 1)
    return b.node("Add", y, x) if stride == 1 and b.channels[x] == width else y


def squeeze_excite(b, x, inner, hard_gate):
    """Appends a gate per channel, computed from the average of the whole image."""
    gate = b.node("Relu", b.conv(b.node("GlobalAveragePool", x), inner, 1, bias=True))
    gate = b.conv(gate, b.channels[x], 1, bias=True)
    gate = b.node("HardSigmoid", gate, alpha=1 / 6, beta=0.5) if hard_gate \
        else b.node("Sigmoid", gate)
    return b.node("Mul", x, gate)


def tiny_densenet(seed):
    """Returns two dense blocks with a transition; every layer reads all layers before it."""
    b = ModelBuilder("tiny_densenet", seed)
    x = b.conv_bn_relu(b.input("input", [1, 3, 32, 32]), 16, 3, stride=2)
    x = dense_block(b, x, layers=3, growth=8)
    x = b.conv(b.node("Relu", b.batch_norm(x)), 20, 1)
    x = b.node("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = dense_block(b, x, layers=3, growth=8)
    x = b.node("Relu", b.batch_norm(x))
    return b.finish({"output": (b.classifier(x), [1, 10])})


def dense_block(b, x, layers, growth):
    """Appends BN-relu-1x1-BN-relu-3x3 layers; BatchNorm comes first, so few of them fold."""
    features = [x]
    for _ in range(layers):
        y = b.concat(features) if len(features) > 1 else x
        y = b.conv_bn_relu(b.node("Relu", b.batch_norm(y)), 2 * growth, 1)
        features.append(b.conv(y, growth, 3))
    return b.concat(features)


def demo(seed):
    """Returns a mid-size hybrid of inception and residual blocks for demonstrations.

    Its BatchNorms, biases and activations stand apart, its inception blocks start with three 1x1
    convolutions on one input and some layers are narrow, so folding, merging and fusion each have
    something to win.
    """
    b = ModelBuilder("demo", seed)
    x = b.conv_bn_relu(b.input("input", [1, 3, 192, 192]), 32, 3, stride=2)
    x = b.pool("MaxPool", x, 3, 2)
    for width in (32, 32):
        x = inception_block(b, x, width)
    x = residual_block(b, x, 96, stride=2)
    for width in (48, 48, 48):
        x = inception_block(b, x, width)
    x = residual_block(b, x, 128, stride=2)
    for width in (64, 64):
        x = inception_block(b, x, width)
    return b.finish({"output": (b.classifier(x, classes=100), [1, 100])})
