#include "tests/gpu_worker/backends/cpu/sweep/sweep_layers.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "optimizer/ir/tensor_type.h"

namespace plait {
namespace {

using absl::StrCat;
using absl::Substitute;

constexpr int64_t kMultiplyAddsMax = 2'000'000;

// A convolution: of `channels` in `group` groups to `filters`.
struct Layer {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t filters = 1;
  int64_t group = 1;
  Window window;

  int64_t MultiplyAdds() const {
    return batch * filters * channels / group * window.taps[0] * window.taps[1] *
           window.outputs[0] * window.outputs[1];
  }
  Shape input() const { return {batch, channels, window.size[0], window.size[1]}; }
  Shape weights() const { return {filters, channels / group, window.taps[0], window.taps[1]}; }
  Shape output() const { return {batch, filters, window.outputs[0], window.outputs[1]}; }
};

// A window of given taps and strides; pads and dilations are random where they may be.
Window WindowOf(Random& random, std::vector<int64_t> taps, std::vector<int64_t> strides,
                bool is_padded, int64_t dilation_max) {
  Window window{.taps = std::move(taps)};
  std::vector<int64_t> pads(4), dilations;
  for (size_t axis = 0; axis < 2; ++axis) {
    dilations.push_back(random.Integer(1, dilation_max));
    const int64_t reach = (window.taps[axis] - 1) * dilations[axis];
    for (const size_t side : {axis, axis + 2}) {
      if (is_padded) pads[side] = random.Integer(0, window.taps[axis] - 1);
    }
    const int64_t padding = pads[axis] + pads[axis + 2];
    const int64_t least = std::max<int64_t>(1, reach + 1 - padding);
    window.size.push_back(random.Integer(least, std::max<int64_t>(29, least)));
    window.outputs.push_back((window.size[axis] + padding - reach - 1) / strides[axis] + 1);
  }
  window.text = Substitute("pads=$0, strides=$1", ListOf(pads), ListOf(strides));
  if (dilation_max > 1) absl::StrAppend(&window.text, ", dilations=", ListOf(dilations));
  return window;
}

// What follows a layer whose result is %y, to the graph's end.
std::string Followed(Random& random, absl::Span<const int64_t> shape) {
  std::string text, last = "%y";
  if (random.Integer(0, 2) == 0) {
    text = Substitute("  input %skip: float32$0\n", ListOf(shape));
    const bool is_first = random.Integer(0, 1) == 0;
    absl::StrAppend(&text, "  %s = Add(", is_first ? "%skip, %y" : "%y, %skip", ")\n");
    last = "%s";
  }
  switch (random.Integer(0, 4)) {
    case 0:
      break;
    case 1:
      absl::StrAppend(&text, "  %r = HardSwish(", last, ")\n");
      break;
    case 2:
      absl::StrAppend(&text, "  const %low: float32[] = [-0.5]\n  const %high: float32[] = [6.0]\n",
                      "  %r = Clip(", last, ", %low, %high)\n");
      break;
    default:
      absl::StrAppend(&text, "  %r = Relu(", last, ")\n");
      break;
  }
  const bool is_activated = absl::StrContains(text, "%r");
  return StrCat(text, "  output ", is_activated ? "%r" : last, "\n}");
}

std::string TextOf(Random& random, const Layer& layer) {
  const bool has_bias = random.Integer(0, 1) == 1;
  return StrCat(Substitute("graph {\n  input %x: float32$0\n  const %w: float32$1 = synthetic 1\n"
                           "  const %b: float32[$2] = synthetic 2\n",
                           ListOf(layer.input()), ListOf(layer.weights()), layer.filters),
                Substitute("  %y = Conv(%x, %w$0) {group=$1, $2}\n", has_bias ? ", %b" : "",
                           layer.group, layer.window.text),
                Followed(random, layer.output()));
}

// The first one that is small enough.
template <typename MakeLayer>
std::string SmallLayer(Random& random, MakeLayer make) {
  for (;;) {
    const Layer layer = make();
    if (layer.MultiplyAdds() <= kMultiplyAddsMax) return TextOf(random, layer);
  }
}

}  // namespace

std::string ListOf(absl::Span<const int64_t> numbers) {
  return StrCat("[", absl::StrJoin(numbers, ","), "]");
}

int64_t AnyOf(Random& random, std::initializer_list<int64_t> numbers) {
  return numbers.begin()[random.Integer(0, static_cast<int64_t>(numbers.size()) - 1)];
}

int64_t AnyChannels(Random& random) {
  if (random.Integer(0, 1) == 0) return random.Integer(1, 97);
  return AnyOf(random, {3, 15, 17, 44, 88});
}

std::string AnyImage(Random& random) {
  return ListOf(
      {random.Integer(1, 3), AnyChannels(random), random.Integer(1, 29), random.Integer(1, 29)});
}

Window AnyWindow(Random& random, int64_t taps_max) {
  const std::vector<int64_t> taps = {2 * random.Integer(0, taps_max / 2) + 1,
                                     2 * random.Integer(0, taps_max / 2) + 1};
  const std::vector<int64_t> strides = {random.Integer(1, 3), random.Integer(1, 3)};
  return WindowOf(random, taps, strides, /*is_padded=*/true, random.Integer(1, 2));
}

std::string AnyConvolution(Random& random) {
  return SmallLayer(random, [&random] {
    return Layer{random.Integer(1, 3), AnyChannels(random), AnyChannels(random), 1,
                 AnyWindow(random, 7)};
  });
}

std::string PointwiseConvolution(Random& random) {
  return SmallLayer(random, [&random] {
    const int64_t stride = random.Integer(1, 2);
    return Layer{random.Integer(1, 3), AnyChannels(random), AnyChannels(random), 1,
                 WindowOf(random, {1, 1}, {stride, stride}, /*is_padded=*/false, 1)};
  });
}

std::string ThreeByThreeConvolution(Random& random) {
  return SmallLayer(random, [&random] {
    return Layer{random.Integer(1, 3), AnyOf(random, {16, 17, 24, 44, 88}),
                 AnyOf(random, {16, 17, 24, 44, 88}), 1,
                 WindowOf(random, {3, 3}, {1, 1}, /*is_padded=*/true, 1)};
  });
}

std::string StemConvolution(Random& random) {
  return SmallLayer(random, [&random] {
    const int64_t taps = AnyOf(random, {3, 5, 7}), stride = random.Integer(1, 2);
    return Layer{random.Integer(1, 3), 3, AnyOf(random, {15, 16, 24, 32, 44}), 1,
                 WindowOf(random, {taps, taps}, {stride, stride}, /*is_padded=*/true, 1)};
  });
}

std::string GroupedConvolution(Random& random) {
  return SmallLayer(random, [&random] {
    const int64_t group = random.Integer(2, 12), channels = AnyOf(random, {2, 3, 4, 8, 15, 16});
    const int64_t filters = random.Integer(0, 2) > 0 ? channels : random.Integer(1, 9);
    return Layer{random.Integer(1, 3), group * channels, group * filters, group,
                 AnyWindow(random, 3)};
  });
}

std::string DepthwiseConvolution(Random& random) {
  return SmallLayer(random, [&random] {
    const int64_t channels = AnyChannels(random);
    return Layer{random.Integer(1, 3), channels, channels, channels, AnyWindow(random, 7)};
  });
}

std::string SeparableConvolution(Random& random) {
  // Both convolutions are one kernel where there is more between them than caches hold.
  constexpr int64_t kElementsBetween = 65536;
  const bool is_large = random.Integer(0, 1) == 1;
  Layer layer;
  int64_t elements = 0;
  do {
    const int64_t channels = AnyOf(random, {15, 16, 17, 44, 88});
    const int64_t taps = AnyOf(random, {3, 5}), stride = random.Integer(1, 2);
    layer = {random.Integer(1, 3), channels, channels, channels,
             WindowOf(random, {taps, taps}, {stride, stride}, /*is_padded=*/true, 1)};
    elements = layer.batch * channels * layer.window.outputs[0] * layer.window.outputs[1];
  } while ((elements >= kElementsBetween) != is_large);
  const int64_t channels = layer.channels, filters = random.Integer(1, is_large ? 44 : 97);
  Shape output = layer.output();
  output[1] = filters;
  return StrCat(
      Substitute("graph {\n  input %x: float32$0\n  const %w: float32$1 = synthetic 1\n"
                 "  const %b: float32[$2] = synthetic 2\n",
                 ListOf(layer.input()), ListOf(layer.weights()), channels),
      Substitute("  const %v: float32[$0,$1,1,1] = synthetic 3\n", filters, channels),
      Substitute("  %d = Conv(%x, %w, %b) {group=$0, $1}\n  %e = Relu(%d)\n  %y = Conv(%e, %v)\n",
                 channels, layer.window.text),
      Followed(random, output));
}

std::string TransposedConvolution(Random& random) {
  const int64_t group = random.Integer(1, 3), channels = group * random.Integer(1, 16);
  const int64_t filters = random.Integer(1, 17);
  const std::vector<int64_t> taps = {random.Integer(1, 4), random.Integer(1, 4)};
  const std::vector<int64_t> strides = {random.Integer(1, 3), random.Integer(1, 3)};
  return Substitute(
             "graph {\n  input %x: float32[$0,$1,$2,$3]\n"
             "  const %w: float32[$1,$4,$5,$6] = synthetic 1\n  const %b: float32[$7] = synthetic "
             "2\n",
             random.Integer(1, 2), channels, random.Integer(2, 13), random.Integer(2, 13), filters,
             taps[0], taps[1], filters * group) +
         Substitute(
             "  %y = ConvTranspose(%x, %w, %b) {group=$0, strides=$1, pads=[0,$2,0,0]}\n"
             "  %r = Relu(%y)\n  output %r\n}",
             group, ListOf(strides), random.Integer(0, taps[1] - 1));
}

std::string ConstantProduct(Random& random) {
  int64_t rows = random.Integer(1, 97), depth = random.Integer(1, 200);
  int64_t columns = random.Integer(0, 1) == 0 ? AnyChannels(random) : random.Integer(1, 160);
  // A third has the million of multiply-adds from which on planes are worth it.
  if (random.Integer(0, 2) == 0) {
    rows = random.Integer(64, 97), depth = random.Integer(128, 200);
    columns = random.Integer(128, 160);
  }
  if (random.Integer(0, 1) == 0) {
    return StrCat(
        Substitute("graph {\n  input %x: float32[$0,$1]\n  const %w: float32[$2,$1] = synthetic 1\n"
                   "  const %b: float32[$2] = synthetic 2\n"
                   "  %y = Gemm(%x, %w, %b) {transB=1}\n",
                   rows, depth, columns),
        Followed(random, {rows, columns}));
  }
  const int64_t batch = random.Integer(1, 3);
  return StrCat(Substitute("graph {\n  input %x: float32[$0,$1,$2]\n"
                           "  const %w: float32[$2,$3] = synthetic 1\n"
                           "  const %b: float32[$3] = synthetic 2\n"
                           "  %p = MatMul(%x, %w)\n  %y = Add(%p, %b)\n",
                           batch, rows / batch + 1, depth, columns),
                Followed(random, {batch, rows / batch + 1, columns}));
}

std::string ProductOfTwo(Random& random) {
  const int64_t batch = random.Integer(1, 3), rows = random.Integer(1, 33);
  const int64_t depth = random.Integer(1, 97), columns = random.Integer(1, 97);
  return StrCat(Substitute("graph {\n  input %x: float32[$0,$1,$2]\n  input %z: float32[$0,$2,$3]\n"
                           "  %y = MatMul(%x, %z)\n",
                           batch, rows, depth, columns),
                Followed(random, {batch, rows, columns}));
}

std::string SqueezeAndExcite(Random& random) {
  const int64_t channels = AnyChannels(random), squeezed = random.Integer(1, 24);
  return Substitute(
      "graph {\n  input %x: float32[$0,$1,$2,$3]\n  const %w: float32[$4,$1,1,1] = synthetic 1\n"
      "  const %b: float32[$4] = synthetic 2\n  const %v: float32[$1,$4,1,1] = synthetic 3\n"
      "  const %c: float32[$1] = synthetic 4\n  %m = GlobalAveragePool(%x)\n"
      "  %h = Conv(%m, %w, %b)\n  %r = Relu(%h)\n  %e = Conv(%r, %v, %c)\n  %g = Sigmoid(%e)\n"
      "  %y = Mul(%g, %x)\n  output %y\n}",
      random.Integer(1, 3), channels, random.Integer(1, 29), random.Integer(1, 29), squeezed);
}

}  // namespace plait
