#include "tests/gpu_worker/backends/cpu/sweep/sweep_graphs.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "tests/gpu_worker/backends/cpu/sweep/sweep_layers.h"

namespace plait {
namespace {

using absl::StrCat;
using absl::Substitute;

std::string Pool(Random& random) {
  const Window window = AnyWindow(random, 3);
  const std::string image =
      ListOf({random.Integer(1, 3), AnyChannels(random), window.size[0], window.size[1]});
  const std::string extents = Substitute("kernel_shape=$0, $1", ListOf(window.taps), window.text);
  return Substitute(
      "graph {\n  input %x: float32$0\n  %a = MaxPool(%x) {$1}\n"
      "  %b = AveragePool(%x) {$1, count_include_pad=$2}\n  output %a, %b\n}",
      image, extents, random.Integer(0, 1));
}

std::string Reductions(Random& random) {
  const int64_t first = random.Integer(0, 2);
  return Substitute(
      "graph {\n  input %x: float32$0\n  const %some: int64[2] = [$1,$2]\n"
      "  const %one: int64[1] = [$1]\n  %a = ReduceMean(%x, %some) {keepdims=$3}\n"
      "  %b = ReduceMax(%x, %one) {keepdims=$3}\n  %c = ReduceSum(%x, %one) {keepdims=$3}\n"
      "  %d = GlobalAveragePool(%x)\n  %e = ReduceMin(%x, %some) {keepdims=$3}\n"
      "  output %a, %b, %c, %d, %e\n}",
      AnyImage(random), first, first + 1, random.Integer(0, 1));
}

std::string Softmaxes(Random& random) {
  const std::string shape = AnyImage(random);
  return Substitute(
      "graph {\n  input %x: float32$0\n  input %m: float32$0\n  const %c: float32[] = [8.0]\n"
      "  %a = Softmax(%x) {axis=$1}\n  %b = LogSoftmax(%x) {axis=$2}\n  %s = Div(%x, %c)\n"
      "  %t = Add(%s, %m)\n  %d = Softmax(%t) {axis=-1}\n  output %a, %b, %d\n}",
      shape, random.Integer(0, 3), random.Integer(0, 3));
}

std::string Norms(Random& random) {
  const int64_t channels = 4 * random.Integer(1, 24), size = random.Integer(2, 29);
  return Substitute(
      "graph {\n  input %x: float32[$0,$1,$2]\n  input %g: float32[$2]\n  input %h: float32[$1]\n"
      "  %a = LayerNormalization(%x, %g, %g) {axis=-1}\n  %b = RMSNormalization(%x, %g)\n"
      "  %c = InstanceNormalization(%x, %h, %h)\n"
      "  %d = GroupNormalization(%x, %h, %h) {num_groups=$3}\n  output %a, %b, %c, %d\n}",
      random.Integer(1, 3), channels, size, channels / 4);
}

std::string ResponseNorm(Random& random) {
  return Substitute(
      "graph {\n  input %x: float32$0\n  %a = LRN(%x) {size=$1, alpha=0.3}\n  output %a\n}",
      AnyImage(random), random.Integer(1, 9));
}

std::string Attention(Random& random) {
  const int64_t batch = random.Integer(1, 3), heads = random.Integer(1, 4);
  const int64_t queries = random.Integer(1, 29), keys = random.Integer(1, 70);
  const int64_t width = AnyOf(random, {3, 8, 15, 17, 32, 44, 64});
  const int64_t values = AnyOf(random, {3, 8, 15, 17, 32, 44, 64});
  const std::string causal = queries <= keys && random.Integer(0, 1) == 1 ? "is_causal=1" : "";
  return Substitute(
      "graph {\n  input %q: float32[$0,$1,$2,$4]\n  input %k: float32[$0,$1,$3,$4]\n"
      "  input %v: float32[$0,$1,$3,$5]\n  input %m: float32[$0,1,1,$3]\n"
      "  %a = Attention(%q, %k, %v) {$6}\n  %b = Attention(%q, %k, %v, %m) {scale=0.3}\n"
      "  output %a, %b\n}",
      batch, heads, queries, keys, width, values, causal);
}

std::string Movement(Random& random) {
  const std::string shape = AnyImage(random);
  std::vector<int64_t> order = {0, 1, 2, 3};
  for (size_t i = 3; i > 0; --i) {
    std::swap(order[i], order[random.Integer(0, static_cast<int64_t>(i))]);
  }
  std::vector<int64_t> pads;
  for (int i = 0; i < 8; ++i) pads.push_back(i % 4 == 0 ? 0 : random.Integer(0, 3));
  return Substitute(
      "graph {\n  input %x: float32$0\n  input %z: float32$0\n  const %pads: int64[8] = $1\n"
      "  const %begin: int64[2] = [0,-1]\n  const %end: int64[2] = [100,-100]\n"
      "  const %axes: int64[2] = [1,3]\n  const %steps: int64[2] = [$2,-1]\n"
      "  %a = Transpose(%x) {perm=$3}\n  %b = Pad(%x, %pads)\n"
      "  %c = Slice(%x, %begin, %end, %axes, %steps)\n  %d = Concat(%x, %z) {axis=$4}\n"
      "  %f = Flatten(%x) {axis=2}\n  %p = Concat(%x, %z, %x, %z) {axis=1}\n"
      "  %s = DepthToSpace(%p) {blocksize=2}\n  output %a, %b, %c, %d, %f, %s\n}",
      shape, ListOf(pads), random.Integer(1, 3), ListOf(order), random.Integer(0, 3));
}

std::string Repeats(Random& random) {
  return Substitute(
      "graph {\n  input %x: float32[$0,1,$1]\n  const %shape: int64[4] = [2,$0,$2,$1]\n"
      "  const %repeats: int64[3] = [2,$3,1]\n  %a = Expand(%x, %shape)\n"
      "  %b = Tile(%x, %repeats)\n  output %a, %b\n}",
      random.Integer(1, 5), random.Integer(1, 29), random.Integer(1, 17), random.Integer(1, 3));
}

std::string Elementwise(Random& random) {
  const int64_t channels = AnyChannels(random);
  const std::string shape =
      ListOf({random.Integer(1, 3), channels, random.Integer(1, 29), random.Integer(1, 29)});
  constexpr const char* kUnary[] = {"Relu",     "Sigmoid",   "Tanh", "Exp", "Abs",
                                    "Neg",      "HardSwish", "Gelu", "Erf", "Sqrt",
                                    "Softplus", "Elu",       "Swish"};
  constexpr const char* kBinary[] = {"Add", "Sub", "Mul", "Max", "Min"};
  const auto any = [&random](const auto& names) {
    return names[random.Integer(0, static_cast<int64_t>(std::size(names)) - 1)];
  };
  return Substitute(
      "graph {\n  input %x: float32$0\n  input %z: float32$0\n  input %c: float32[$1,1,1]\n"
      "  const %k: float32[$1,1,1] = synthetic 1\n  %a = $2(%x, %z)\n  %b = $3(%a)\n"
      "  %d = $4(%b, %c)\n  %e = $5(%d)\n  %f = $6(%k, %e)\n  %g = $3(%x)\n  output %f, %g\n}",
      shape, channels, any(kBinary), any(kUnary), any(kBinary), any(kUnary), any(kBinary));
}

std::string Indices(Random& random) {
  const int64_t rows = random.Integer(6, 29), width = random.Integer(1, 97);
  return Substitute(
      "graph {\n  input %x: float32[$0,$1]\n  input %u: float32[3,$1]\n  input %i: int64[4]\n"
      "  const %j: int64[3,1] = [4,-6,4]\n  const %one: int64[] = [$2]\n"
      "  const %few: int64[1] = [$3]\n  %a = Gather(%x, %i) {axis=0}\n"
      "  %b = ScatterND(%x, %j, %u)\n  %c = CumSum(%x, %one) {reverse=$2}\n"
      "  %d = ArgMax(%x) {axis=$2}\n  %e, %f = TopK(%x, %few) {axis=0}\n"
      "  output %a, %b, %c, %d, %e, %f\n}",
      rows, width, random.Integer(0, 1), random.Integer(1, 6));
}

std::string Resizes(Random& random) {
  const int64_t batch = random.Integer(1, 2), channels = AnyChannels(random);
  return Substitute(
      "graph {\n  input %x: float32[$0,$1,$2,$3]\n  input %g: float32[$0,$4,$5,2]\n"
      "  const %n: int64[4] = [$0,$1,$4,$5]\n  %a = Resize(%x, _, _, %n) {mode=\"linear\"}\n"
      "  %b = Resize(%x, _, _, %n)\n  %c = GridSample(%x, %g)\n  output %a, %b, %c\n}",
      batch, channels, random.Integer(2, 13), random.Integer(2, 13), random.Integer(1, 17),
      random.Integer(1, 17));
}

std::string Rotations(Random& random) {
  const int64_t half = random.Integer(1, 32);
  return Substitute(
      "graph {\n  input %x: float32[$0,$1,$2,$3]\n  input %c: float32[$0,$2,$4]\n"
      "  %a = RotaryEmbedding(%x, %c, %c) {interleaved=$5}\n  output %a\n}",
      random.Integer(1, 3), random.Integer(1, 4), random.Integer(1, 17), 2 * half, half,
      random.Integer(0, 1));
}

std::string Quantization(Random& random) {
  const int64_t channels = AnyChannels(random);
  return Substitute(
      "graph {\n  input %x: float32[$0,$1,$2]\n  const %s: float32[] = [0.02]\n"
      "  const %z: uint8[] = [120]\n  const %f: float32[$1] = synthetic 1\n"
      "  const %h: float32[] = [0.5]\n  const %t: float32[$1] = Add(%f, %h)\n"
      "  %q = QuantizeLinear(%x, %s, %z)\n  %a = DequantizeLinear(%q, %s, %z)\n"
      "  %d, %ds, %dz = DynamicQuantizeLinear(%x)\n  output %a, %d, %ds, %dz\n}",
      random.Integer(1, 3), channels, random.Integer(1, 29));
}

std::string IntegerProduct(Random& random) {
  const int64_t depth = random.Integer(1, 97), columns = random.Integer(1, 97);
  return Substitute(
      "graph {\n  input %x: float32[$0,$1,$2]\n  const %f: float32[$2,$3] = synthetic 1\n"
      "  const %t: float32[] = [0.0078]\n  const %tz: int8[] = [-5]\n"
      "  const %w: int8[$2,$3] = QuantizeLinear(%f, %t, %tz) {}\n"
      "  %q, %s, %z = DynamicQuantizeLinear(%x)\n  %y = MatMulInteger(%q, %w, %z, %tz)\n"
      "  output %y\n}",
      random.Integer(1, 3), random.Integer(1, 29), depth, columns);
}

std::string IntegerConvolution(Random& random) {
  const Window window = AnyWindow(random, 3);
  const int64_t channels = AnyOf(random, {1, 3, 8, 15, 17, 44});
  const int64_t filters = AnyOf(random, {1, 3, 15, 17, 44});
  return Substitute(
      "graph {\n  input %x: float32$0\n  const %f: float32$1 = synthetic 1\n"
      "  const %t: float32[] = [0.0078]\n  const %w: int8$1 = QuantizeLinear(%f, %t, _) "
      "{output_dtype=3}\n  %q, %s, %z = DynamicQuantizeLinear(%x)\n"
      "  %y = ConvInteger(%q, %w, %z) {$2}\n  output %y\n}",
      ListOf({random.Integer(1, 2), channels, window.size[0], window.size[1]}),
      ListOf({filters, channels, window.taps[0], window.taps[1]}), window.text);
}

// The other side has bytes of either kind, and is dequantized before the convolution or behind it.
std::string ResidualConnection(Random& random) {
  const Window window = AnyWindow(random, 5);
  const int64_t batch = random.Integer(1, 2), filters = AnyChannels(random);
  const bool is_depthwise = random.Integer(0, 1) == 1, is_first = random.Integer(0, 1) == 1;
  const int64_t channels = is_depthwise ? filters : random.Integer(1, 33);
  const bool is_bounded = random.Integer(0, 1) == 1;
  const std::string other = "  %o = DequantizeLinear(%p, %rs, %rz)\n";
  return StrCat(
      Substitute("graph {\n  input %x: float32$0\n  input %r: float32$1\n"
                 "  const %f: float32$2 = synthetic 1\n  const %t: float32[] = [0.0078]\n"
                 "  const %tz: int8[] = [0]\n  const %w: int8$2 = QuantizeLinear(%f, %t, %tz) {}\n"
                 "  const %xs: float32[] = [0.02]\n  const %xz: uint8[] = [$3]\n",
                 ListOf({batch, channels, window.size[0], window.size[1]}),
                 ListOf({batch, filters, window.outputs[0], window.outputs[1]}),
                 ListOf({filters, is_depthwise ? 1 : channels, window.taps[0], window.taps[1]}),
                 random.Integer(0, 255)),
      Substitute("  const %rs: float32[] = [0.017]\n  const %rz: $0[] = [$1]\n"
                 "  const %ys: float32[] = [0.021]\n  const %yz: uint8[] = [$2]\n"
                 "  const %ss: float32[] = [$3]\n  const %sz: int8[] = [$4]\n",
                 random.Integer(0, 1) == 0 ? "int8" : "uint8", random.Integer(0, 127),
                 random.Integer(0, 255), random.Integer(0, 2) == 0 ? "0.042" : "0.023",
                 random.Integer(-128, 127)),
      "  %q = QuantizeLinear(%x, %xs, %xz)\n  %p = QuantizeLinear(%r, %rs, %rz)\n",
      is_first ? other : "",
      Substitute("  %c = QLinearConv(%q, %xs, %xz, %w, %t, %tz, %ys, %yz) {group=$0, $1}\n",
                 is_depthwise ? filters : 1, window.text),
      "  %d = DequantizeLinear(%c, %ys, %yz)\n", is_first ? "" : other,
      is_first ? "  %a = Add(%o, %d)\n" : "  %a = Add(%d, %o)\n",
      is_bounded ? "  %b = Relu(%a)\n" : "", "  %y = QuantizeLinear(%", is_bounded ? "b" : "a",
      ", %ss, %sz)\n  output %y\n}");
}

std::string PoolOfBytes(Random& random) {
  const Window window = AnyWindow(random, 5);
  return Substitute(
      "graph {\n  input %x: float32$0\n  const %s: float32[] = [0.02]\n"
      "  const %z: $1[] = [$2]\n  %q = QuantizeLinear(%x, %s, %z)\n"
      "  %a = DequantizeLinear(%q, %s, %z)\n  %b = MaxPool(%a) {kernel_shape=$3, $4}\n"
      "  %y = QuantizeLinear(%b, %s, %z)\n  output %y\n}",
      ListOf({random.Integer(1, 2), AnyChannels(random), window.size[0], window.size[1]}),
      random.Integer(0, 1) == 0 ? "int8" : "uint8", random.Integer(0, 127), ListOf(window.taps),
      window.text);
}

std::string Recurrent(Random& random) {
  const int64_t hidden = random.Integer(1, 33), width = random.Integer(1, 33);
  const bool is_lstm = random.Integer(0, 1) == 1;
  const int64_t gates = is_lstm ? 4 : 3;
  return Substitute(
      "graph {\n  input %x: float32[$0,$1,$2]\n  const %w: float32[1,$3,$2] = synthetic 1\n"
      "  const %r: float32[1,$3,$4] = synthetic 2\n  const %b: float32[1,$5] = synthetic 3\n"
      "  %y, %h = $6(%x, %w, %r, %b) {hidden_size=$4$7}\n  output %y, %h\n}",
      random.Integer(1, 7), random.Integer(1, 3), width, gates * hidden, hidden, 2 * gates * hidden,
      is_lstm ? "LSTM" : "GRU", is_lstm ? "" : ", linear_before_reset=1");
}

std::string Borders(Random& random) {
  std::vector<int64_t> pads;
  for (int i = 0; i < 8; ++i) pads.push_back(random.Integer(0, 1) * random.Integer(0, 9));
  constexpr const char* kModes[] = {"reflect", "edge", "wrap"};
  return Substitute(
      "graph {\n  input %x: float32$0\n  const %pads: int64[8] = $1\n"
      "  %a = Pad(%x, %pads) {mode=\"$2\"}\n  output %a\n}",
      AnyImage(random), ListOf(pads), kModes[random.Integer(0, 2)]);
}

std::string Gathers(Random& random) {
  const int64_t rows = random.Integer(1, 29), columns = random.Integer(1, 97);
  const int64_t few = random.Integer(1, rows);
  return Substitute(
      "graph {\n  input %x: float32[3,$0,$1]\n  input %i: int64[3,$2,$1]\n"
      "  input %j: int64[3,$0,$3]\n  input %k: int64[3,$3,1]\n"
      "  const %l: int64[3] = [0,$2,$0]\n  const %d: int64[] = [$4]\n"
      "  %a = GatherElements(%x, %i) {axis=1}\n  %b = GatherElements(%x, %j) {axis=2}\n"
      "  %c = GatherND(%x, %k) {batch_dims=1}\n  %e = Trilu(%x, %d) {upper=$5}\n"
      "  %f = ReverseSequence(%x, %l) {time_axis=1, batch_axis=0}\n"
      "  output %a, %b, %c, %e, %f\n}",
      rows, columns, few, random.Integer(1, 33), random.Integer(-9, 9), random.Integer(0, 1));
}

std::string SeparateAxes(Random& random) {
  const std::string shape = ListOf(
      {random.Integer(1, 5), random.Integer(1, 17), random.Integer(1, 17), random.Integer(1, 97)});
  return Substitute(
      "graph {\n  input %x: float32$0\n  input %i: int32$0\n"
      "  const %some: int64[2] = [$1,$2]\n  %a = ReduceMean(%x, %some)\n"
      "  %b = ReduceL2(%x, %some) {keepdims=0}\n  %c = ReduceLogSumExp(%x, %some)\n"
      "  %d = ReduceSum(%i, %some)\n  %e = ReduceMin(%i, %some) {keepdims=0}\n"
      "  output %a, %b, %c, %d, %e\n}",
      shape, random.Integer(0, 1), random.Integer(2, 3));
}

constexpr SweepKind kKinds[] = {
    {"Convolution", 40, AnyConvolution},
    {"Pointwise", 16, PointwiseConvolution},
    {"ThreeByThree", 16, ThreeByThreeConvolution},
    {"Stem", 8, StemConvolution},
    {"Grouped", 16, GroupedConvolution},
    {"Depthwise", 24, DepthwiseConvolution},
    {"Separable", 10, SeparableConvolution},
    {"Transposed", 12, TransposedConvolution},
    {"Product", 24, ConstantProduct},
    {"ProductOfTwo", 12, ProductOfTwo},
    {"SqueezeExcite", 10, SqueezeAndExcite},
    {"Pool", 16, Pool},
    {"Reductions", 10, Reductions},
    {"Softmaxes", 10, Softmaxes},
    {"Norms", 10, Norms},
    {"ResponseNorm", 6, ResponseNorm},
    {"Attention", 12, Attention},
    {"Movement", 16, Movement},
    {"Repeats", 6, Repeats},
    {"Elementwise", 20, Elementwise},
    {"Indices", 10, Indices},
    {"Resizes", 10, Resizes},
    {"Rotations", 6, Rotations},
    {"Quantization", 6, Quantization},
    {"IntegerProduct", 8, IntegerProduct},
    {"IntegerConvolution", 10, IntegerConvolution},
    {"ResidualConnection", 16, ResidualConnection},
    {"PoolOfBytes", 8, PoolOfBytes},
    {"Recurrent", 8, Recurrent},
    {"Borders", 12, Borders},
    {"Gathers", 10, Gathers},
    {"SeparateAxes", 10, SeparateAxes},
};

}  // namespace

absl::Span<const SweepKind> SweepKinds() { return kKinds; }

}  // namespace plait
