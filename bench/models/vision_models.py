"""Images and sound: architectures of torchvision beyond classifiers, and such built like published
ones. Each function returns (model, inputs, input names, output names).

Detectors end at raw boxes and scores: what follows them selects a number of boxes that is known
only at run time.
"""

import torch
from torch import nn
from torch.nn import functional


def image(side, channels=3):
    """Returns one random image in [-1, 1)."""
    return (torch.rand(1, channels, side, side) * 2 - 1,)


def torchvision_model(name, side=224, **options):
    """Returns a torchvision classifier."""
    import torchvision
    model = getattr(torchvision.models, name)(weights=None, **options)
    return model, image(side), ["input"], ["output"]


def torchvision_segmentation(name, side=256):
    """Returns a torchvision segmentation network; its scores are as large as the image."""
    import torchvision
    build = getattr(torchvision.models.segmentation, name)
    model = OutputOfRecord(build(weights=None, weights_backbone=None, num_classes=21), "out")
    return model, image(side), ["input"], ["output"]


class OutputOfRecord(nn.Module):
    """Calls a model and returns one entry of the record that it gives."""

    def __init__(self, model, key):
        super().__init__()
        self.model, self.key = model, key

    def forward(self, x):
        return self.model(x)[self.key]


def ssdlite():
    """Returns SSDLite over MobileNetV3 without its anchors and its selection of boxes."""
    import torchvision
    detector = torchvision.models.detection.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None)
    return RawDetector(detector), image(320), ["input"], ["boxes", "scores"]


def fcos():
    """Returns FCOS over ResNet-50 and a feature pyramid, before its selection of boxes."""
    import torchvision
    detector = torchvision.models.detection.fcos_resnet50_fpn(weights=None, weights_backbone=None)
    return RawDetector(detector), image(256), ["input"], ["boxes", "scores"]


class RawDetector(nn.Module):
    """The backbone and the heads of a torchvision detector."""

    def __init__(self, detector):
        super().__init__()
        self.backbone, self.head = detector.backbone, detector.head

    def forward(self, x):
        outputs = self.head(list(self.backbone(x).values()))
        return outputs["bbox_regression"], outputs["cls_logits"]


def conv_block(inputs, outputs, kernel=3, stride=1):
    """Returns convolution, BatchNorm and SiLU, the unit of YOLO networks."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs), nn.SiLU())


class SplitBlock(nn.Module):
    """Half of the channels pass through bottlenecks; all that they give is concatenated."""

    def __init__(self, inputs, outputs, count, residual):
        super().__init__()
        half = outputs // 2
        self.first = conv_block(inputs, outputs, 1)
        self.last = conv_block(half * (count + 2), outputs, 1)
        self.residual = residual
        self.bottlenecks = nn.ModuleList(
            nn.Sequential(conv_block(half, half), conv_block(half, half)) for _ in range(count))

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for bottleneck in self.bottlenecks:
            y = bottleneck(parts[-1])
            parts.append(parts[-1] + y if self.residual else y)
        return self.last(torch.cat(parts, 1))


class PyramidPool(nn.Module):
    """Three max pools in a row, concatenated with what they read."""

    def __init__(self, channels):
        super().__init__()
        self.first = conv_block(channels, channels // 2, 1)
        self.last = conv_block(channels * 2, channels, 1)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Yolo(nn.Module):
    """Built like YOLOv8-n: three scales, boxes as distributions over 16 distances, 80 classes."""

    BINS, CLASSES = 16, 80

    def __init__(self):
        super().__init__()
        widths = (16, 32, 64, 128, 256)
        self.stem = conv_block(3, widths[0], 3, 2)
        self.down = nn.ModuleList(
            conv_block(a, b, 3, 2) for a, b in zip(widths, widths[1:]))
        self.blocks = nn.ModuleList(
            SplitBlock(width, width, count, True)
            for width, count in zip(widths[1:], (1, 2, 2, 1)))
        self.pool = PyramidPool(256)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.merges = nn.ModuleList([
            SplitBlock(384, 128, 1, False), SplitBlock(192, 64, 1, False),
            SplitBlock(192, 128, 1, False), SplitBlock(384, 256, 1, False)])
        self.narrow = nn.ModuleList([conv_block(64, 64, 3, 2), conv_block(128, 128, 3, 2)])
        self.boxes = nn.ModuleList(self._head(w, 64, 4 * self.BINS) for w in (64, 128, 256))
        self.scores = nn.ModuleList(self._head(w, 80, self.CLASSES) for w in (64, 128, 256))
        self.register_buffer("distances", torch.arange(self.BINS, dtype=torch.float32))

    @staticmethod
    def _head(inputs, width, outputs):
        return nn.Sequential(conv_block(inputs, width), conv_block(width, width),
                             nn.Conv2d(width, outputs, 1))

    def _pyramid(self, x):
        levels = [self.stem(x)]
        for down, block in zip(self.down, self.blocks):
            levels.append(block(down(levels[-1])))
        top = self.pool(levels[-1])
        middle = self.merges[0](torch.cat([self.up(top), levels[-2]], 1))
        fine = self.merges[1](torch.cat([self.up(middle), levels[-3]], 1))
        middle = self.merges[2](torch.cat([self.narrow[0](fine), middle], 1))
        return fine, middle, self.merges[3](torch.cat([self.narrow[1](middle), top], 1))

    def _decode(self, level, stride, boxes):
        height, width = level.shape[2:]
        weights = boxes.unflatten(1, (4, self.BINS)).flatten(3).softmax(2)
        reach = (weights * self.distances.view(1, 1, -1, 1)).sum(2)
        rows, columns = torch.meshgrid(
            torch.arange(height, dtype=level.dtype) + 0.5,
            torch.arange(width, dtype=level.dtype) + 0.5, indexing="ij")
        centers = torch.stack([columns.flatten(), rows.flatten()]).unsqueeze(0)
        first, last = centers - reach[:, :2], centers + reach[:, 2:]
        return torch.cat([(first + last) / 2, last - first], 1) * stride

    def forward(self, x):
        found = []
        for level, stride, boxes, scores in zip(
                self._pyramid(x), (8, 16, 32), self.boxes, self.scores):
            found.append(torch.cat([self._decode(level, stride, boxes(level)),
                                    scores(level).flatten(2).sigmoid()], 1))
        return torch.cat(found, 2)


class Unet(nn.Module):
    """Built like U-Net (Ronneberger et al., 2015) with transposed convolutions on the way up."""

    def __init__(self, widths=(16, 32, 64, 128)):
        super().__init__()
        self.down = nn.ModuleList(
            self._double(a, b) for a, b in zip((3, *widths), widths))
        self.widen = nn.ModuleList(
            nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(self._double(2 * a, a) for a in widths[:-1])
        self.last = nn.Conv2d(widths[0], 2, 1)

    @staticmethod
    def _double(inputs, outputs):
        layers = []
        for width in (inputs, outputs):
            layers += [nn.Conv2d(width, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
        return nn.Sequential(*layers)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(functional.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        for level in reversed(range(len(self.up))):
            x = self.up[level](torch.cat([kept[level], self.widen[level](x)], 1))
        return self.last(x)


def espcn():
    """Returns ESPCN (Shi et al., CVPR 2016): three convolutions and a pixel shuffle by 3."""
    model = nn.Sequential(
        nn.Conv2d(1, 64, 5, padding=2), nn.Tanh(), nn.Conv2d(64, 32, 3, padding=1), nn.Tanh(),
        nn.Conv2d(32, 9, 3, padding=1), nn.PixelShuffle(3))
    return model, image(128, channels=1), ["input"], ["output"]


class Edsr(nn.Module):
    """Built like EDSR (Lim et al., 2017): residual blocks without norms, pixel shuffles by 2."""

    def __init__(self, width=32, blocks=6):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
                          nn.Conv2d(width, width, 3, padding=1)) for _ in range(blocks))
        self.last = nn.Sequential(
            nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2),
            nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2),
            nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x):
        x = first = self.first(x)
        for block in self.blocks:
            x = x + 0.1 * block(x)
        return self.last(first + x)


class Pose(nn.Module):
    """Built like SimpleBaseline (Xiao et al., ECCV 2018): ResNet-18, three deconvolutions, maps."""

    def __init__(self, joints=17):
        super().__init__()
        import torchvision
        network = torchvision.models.resnet18(weights=None)
        layers = list(network.children())[:-2]
        for inputs in (512, 128, 128):
            layers += [nn.ConvTranspose2d(inputs, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128),
                       nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Conv2d(128, joints, 1))

    def forward(self, x):
        maps = self.layers(x).flatten(2)
        return maps, maps.argmax(2).float()


class SpatialTransformer(nn.Module):
    """A crop that a small network chooses (Jaderberg et al., NeurIPS 2015), then convolutions."""

    def __init__(self):
        super().__init__()
        self.find = nn.Sequential(
            nn.Conv2d(3, 16, 7, 4), nn.ReLU(), nn.Conv2d(16, 16, 5, 4), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 6))
        self.see = nn.Sequential(
            nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 100))

    def forward(self, x):
        near = torch.tensor([[1.0, 0, 0], [0, 1.0, 0]])
        theta = self.find(x).view(-1, 2, 3) * 0.1 + near
        rows, columns = torch.meshgrid(
            torch.linspace(-1, 1, x.shape[2]), torch.linspace(-1, 1, x.shape[3]), indexing="ij")
        places = torch.stack([columns, rows, torch.ones_like(rows)], 2).view(1, -1, 3)
        grid = (places @ theta.transpose(1, 2)).view(1, x.shape[2], x.shape[3], 2)
        return self.see(functional.grid_sample(x, grid, align_corners=False))


class Vocoder(nn.Module):
    """Built like HiFi-GAN's generator (Kong et al., NeurIPS 2020): mel bands become sound."""

    def __init__(self, width=128):
        super().__init__()
        self.first = nn.Conv1d(80, width, 7, padding=3)
        self.widen, self.blocks = nn.ModuleList(), nn.ModuleList()
        for factor in (8, 8, 2):
            self.widen.append(
                nn.ConvTranspose1d(width, width // 2, 2 * factor, factor, factor // 2))
            width //= 2
            self.blocks.append(nn.ModuleList(
                nn.Conv1d(width, width, kernel, dilation=dilation,
                          padding=(kernel - 1) // 2 * dilation)
                for kernel in (3, 7) for dilation in (1, 3)))
        self.last = nn.Conv1d(width, 1, 7, padding=3)

    def forward(self, x):
        x = self.first(x)
        for widen, block in zip(self.widen, self.blocks):
            x = widen(functional.leaky_relu(x, 0.1))
            for conv in block:
                x = x + conv(functional.leaky_relu(x, 0.1))
        return torch.tanh(self.last(functional.leaky_relu(x)))


def vocoder():
    return Vocoder(), (torch.rand(1, 80, 64) * 2 - 1,), ["input"], ["output"]


class DiffusionBlock(nn.Module):
    """A stage of Stable Diffusion's U-Net: convolutions, attention over pixels and text."""

    def __init__(self, width=128, heads=4, text_width=96):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.GroupNorm(32, width) for _ in range(3))
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.time = nn.Linear(128, width)
        self.layer_norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.query = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.key_value = nn.ModuleList(
            nn.Linear(size, 2 * width, bias=False) for size in (width, text_width))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.wide, self.narrow = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def _attend(self, index, tokens, others):
        def split(rows):
            return rows.view(1, rows.shape[1], self.heads, -1).transpose(1, 2)
        key, value = self.key_value[index](others).chunk(2, 2)
        mixed = functional.scaled_dot_product_attention(
            split(self.query[index](tokens)), split(key), split(value))
        return self.out[index](mixed.transpose(1, 2).flatten(2))

    def forward(self, x, time, text):
        y = self.convs[0](functional.silu(self.norms[0](x)))
        y = y + self.time(functional.silu(time))[:, :, None, None]
        x = x + self.convs[1](functional.silu(self.norms[1](y)))
        tokens = self.norms[2](x).flatten(2).transpose(1, 2)
        normed = self.layer_norms[0](tokens)
        tokens = tokens + self._attend(0, normed, normed)
        tokens = tokens + self._attend(1, self.layer_norms[1](tokens), text)
        value, gate = self.wide(self.layer_norms[2](tokens)).chunk(2, 2)
        tokens = tokens + self.narrow(value * functional.gelu(gate))
        return x + tokens.transpose(1, 2).view(x.shape)


def diffusion_block():
    inputs = (*image(32, channels=128), torch.randn(1, 128), torch.randn(1, 77, 96))
    return DiffusionBlock(), inputs, ["input", "time", "text"], ["output"]


MODELS = {
    "convnext_tiny": lambda: torchvision_model("convnext_tiny"),
    "deeplabv3": lambda: torchvision_segmentation("deeplabv3_mobilenet_v3_large"),
    "diffusion_block": diffusion_block,
    "edsr": lambda: (Edsr(), image(64), ["input"], ["output"]),
    "efficientnet_v2_s": lambda: torchvision_model("efficientnet_v2_s"),
    "espcn": espcn,
    "fcos": fcos,
    "lraspp": lambda: torchvision_segmentation("lraspp_mobilenet_v3_large"),
    "maxvit_t": lambda: torchvision_model("maxvit_t"),
    "pose": lambda: (Pose(), image(192), ["input"], ["maps", "places"]),
    "regnet_y_1_6gf": lambda: torchvision_model("regnet_y_1_6gf"),
    "shufflenet_v2": lambda: torchvision_model("shufflenet_v2_x1_0"),
    "spatial_transformer": lambda: (SpatialTransformer(), image(128), ["input"], ["output"]),
    "ssdlite": ssdlite,
    "swin_t": lambda: torchvision_model("swin_t"),
    "unet": lambda: (Unet(), image(128), ["input"], ["output"]),
    "vocoder": vocoder,
    "yolo": lambda: (Yolo(), image(320), ["input"], ["output"]),
}
