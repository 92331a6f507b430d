#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace plait::cuda {

// The numbers that a kernel reads and writes, and the units that may compute them.
//   kStrict: fp32 storage; no tensor cores and no rounding of inputs.
//   kTf32:   fp32 storage; inputs may be rounded to 10 bits of mantissa.
//   kFp16, kBf16: that storage, fp32 accumulation.
// A key of every measurement. kStrict and kTf32 differ in the engines that are allowed, not in
// bytes.
enum class Precision { kStrict, kTf32, kFp16, kBf16 };

// How a 4-d activation lies in memory. Weights follow: KCRS with kNchw, KRSC with kNhwc.
// Only the place of elements changes: sizes and strides are always written in the order n, c, h, w.
enum class MemoryLayout { kNchw, kNhwc };

// kGelu is x/2 (1 + erf(x / sqrt 2)), kGeluTanh its approximation by tanh; libraries that offer one
// for the other change the results by more than a tolerance for fp32.
enum class Activation { kNone, kRelu, kRelu6, kGelu, kGeluTanh, kSilu, kSigmoid, kTanh };

// What one element is. kFloat: of the precision's storage; bool is one byte, 0 or 1, as in ONNX.
// kFloat32: of fp32 whatever the precision is, for what casts between the two. kInt16: any two
// bytes, which are moved alone.
enum class ElementType { kFloat, kInt64, kInt32, kBool, kFloat32, kInt16 };

// One kernel that the models need, free of precision and layout. All sizes are in elements.

// y[n,k,oh,ow] = activation(conv(x[n,c,h,w], weights[k,c/groups,r,s]) + bias[k] + residual).
// A prologue_relu is applied to x first.
// A cross-correlation: the window is not flipped, as in ONNX. With groups == c == k it is
// depthwise; its weights then lie alike in both layouts.
struct ConvProblem {
  int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  std::array<int64_t, 4> pad = {0, 0, 0, 0};  // top, left, bottom, right
  int64_t groups = 1;
  bool bias = false;
  bool residual = false;
  bool prologue_relu = false;
  Activation activation = Activation::kNone;

  // Pixels of the output, by the usual formula; whole windows only.
  int64_t output_h() const {
    return (h + pad[0] + pad[2] - dilation[0] * (r - 1) - 1) / stride[0] + 1;
  }
  int64_t output_w() const {
    return (w + pad[1] + pad[3] - dilation[1] * (s - 1) - 1) / stride[1] + 1;
  }

  // One input channel for each output channel.
  bool is_depthwise() const { return groups == c && k == c && c > 1; }

  // Whether it is a product of pixels as rows: every pixel of the output reads one of the input.
  bool is_product() const {
    return r == 1 && s == 1 && stride == std::array<int64_t, 2>{1, 1} &&
           pad == std::array<int64_t, 4>{0, 0, 0, 0} && groups == 1;
  }

  friend bool operator==(const ConvProblem&, const ConvProblem&) = default;
};

// pointwise(relu?(depthwise(relu?(x)))): a depthwise convolution with multiplier 1 and the 1x1
// convolution that reads it, as one kernel. The depthwise half has groups == c == k.
// The activations and biases of both halves are applied; a residual belongs to the second alone.
struct SeparableConvProblem {
  ConvProblem depthwise;
  ConvProblem pointwise;

  friend bool operator==(const SeparableConvProblem&, const SeparableConvProblem&) = default;
};

// y[b,m,n] = activation(a[b,m,k] x w[b,k,n] + bias[n] + residual[b,m,n]), row-major. `weights`: w
// is a constant without a batch dimension (packed once); otherwise it is an activation with
// `batch`.
// A stored transpose has the last two sizes exchanged: with transpose_a, a is [b,k,m].
struct GemmProblem {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool weights = true;
  bool transpose_a = false, transpose_b = false;  // as stored
  bool bias = false;
  bool residual = false;
  Activation activation = Activation::kNone;

  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};

// softmax(scale * q k^T + mask) v with q[batch,heads,query,dim], k and v[batch,heads,keys,dim];
// the mask is added, if present.
// A mask has a size for each of batch, heads, query and keys, or one that repeats: [batch,1,query,
// keys] unless told otherwise. `causal` hides the keys behind the query's own place: key > query.
// Heads may lie in the rows of a product, [batch, query, heads, dim], or each behind the other.
struct AttentionProblem {
  // How many elements lie between neighbours along batch, heads, rows and dim.
  using Strides = std::array<int64_t, 4>;
  int64_t batch = 1, heads = 1, query = 1, keys = 1, dim = 1;
  bool mask = false;
  bool causal = false;
  std::optional<float> scale = std::nullopt;  // 1/sqrt(dim) where none is given
  // Whether the mask differs along these; along the keys it always does.
  bool mask_batch = true, mask_heads = false, mask_query = true;
  // Of each operand from its first element on; none: it is dense. The result leaves no gaps.
  std::optional<Strides> query_strides = std::nullopt, key_strides = std::nullopt;
  std::optional<Strides> value_strides = std::nullopt, result_strides = std::nullopt;

  // The scale that holds.
  float factor() const {
    return scale ? *scale : static_cast<float>(1 / std::sqrt(static_cast<double>(dim)));
  }

  friend bool operator==(const AttentionProblem&, const AttentionProblem&) = default;
};

// The averages differ in the divisor at the border: kAverage divides by the pixels inside of the
// image, kAverageWithPadding by those inside of the padded one. A window of ceil_mode may reach
// beyond the padding, and what lies there never counts.
struct PoolProblem {
  enum class Mode { kMax, kAverage, kAverageWithPadding };
  // The largest element of the window that lies in the image, or an average.
  Mode mode = Mode::kMax;
  int64_t n = 1, c = 1, h = 1, w = 1, r = 1, s = 1;
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 4> pad = {0, 0, 0, 0};
  int64_t output_h = 1, output_w = 1;  // given, because ceil_mode changes them

  friend bool operator==(const PoolProblem&, const PoolProblem&) = default;
};

// The longest row that a kernel of ours holds; longer layer norms are cuDNN's.
constexpr int64_t kRowColumnsMax = 65536;

// Over the `columns` elements of each of `rows` rows, which lie `inner` apart: row r begins at
// r / inner * inner * columns + r % inner. With 1 rows lie one behind the other; only softmaxes and
// reductions have another number.
// A layer norm multiplies by the weights and adds the bias, one number per column, and divides by
// sqrt(variance + epsilon); an RMS norm divides by sqrt(mean of squares + epsilon), and has weights
// alone. An instance norm is a layer norm whose weights and bias are one number per channel, that
// of row r being r % channels. The other kinds have none of these.
struct RowsProblem {
  enum class Kind {
    kSoftmax,
    kLogSoftmax,
    kLayerNorm,
    kReduceSum,
    kReduceMean,
    kReduceMax,
    kRmsNorm,
    kInstanceNorm
  };
  // The reductions give one number per row.
  Kind kind = Kind::kSoftmax;
  int64_t rows = 1, columns = 1;
  int64_t inner = 1;
  int64_t channels = 1;   // of kInstanceNorm
  bool residual = false;  // kLayerNorm or kRmsNorm of x + residual
  float epsilon = 1e-5F;  // of the norms; what ONNX takes where nothing is said

  bool reduces() const {
    return kind == Kind::kReduceSum || kind == Kind::kReduceMean || kind == Kind::kReduceMax;
  }
  bool normalizes() const {
    return kind == Kind::kLayerNorm || kind == Kind::kRmsNorm || kind == Kind::kInstanceNorm;
  }

  friend bool operator==(const RowsProblem&, const RowsProblem&) = default;
};

// Inference BatchNormalization that was not folded: y = x * scale[c] + shift[c], then activation.
// `spatial` is h * w. scale and shift are the weights and the bias.
struct ScaleShiftProblem {
  int64_t n = 1, c = 1, spatial = 1;
  Activation activation = Activation::kNone;

  friend bool operator==(const ScaleShiftProblem&, const ScaleShiftProblem&) = default;
};

// A chain of elementwise operators as one expression over the inputs, such as
// "relu(add(x0,mul(x1,0.5)))", of add sub mul div max min pow neg exp log sqrt rsqrt erf tanh
// sigmoid relu silu gelu gelu_tanh abs clip(x,lo,hi). Inputs broadcast to `shape`.
// Broadcasting is that of ONNX: shapes are aligned at their ends, and a size of one repeats.
// Integers have add sub mul max min, which wrap around. equal less greater less_or_equal
// greater_or_equal compare two of one type and give a bool; and or xor not are of bools;
// where(c,a,b) chooses. float int64 int32 bool convert: a float is cut towards zero and kept in the
// integer's range, NaN gives 0; an integer keeps its low bits; all but zero is true.
struct ElementwiseProblem {
  std::string expression;
  std::vector<int64_t> shape;
  std::vector<std::vector<int64_t>> inputs;
  std::vector<ElementType> input_types;  // empty: all are floats
  ElementType result_type = ElementType::kFloat;

  friend bool operator==(const ElementwiseProblem&, const ElementwiseProblem&) = default;
};

// The steps of a recurrence, unrolled, such as those of a simple recurrent unit: a program over
// columns that know nothing of each other. Values are rows of `columns` floats. The first are the
// rows of the inputs, one behind the other, and each step makes the next one: its text is an
// expression of an ElementwiseProblem, all floats, in which x<i> is value i, an earlier one.
// Row r of output i is value outputs[i][r].
// With inputs {2, 1} values 0 and 1 are the rows of the first, 2 that of the second; the steps
// "mul(x0,x2)" and "add(x3,x1)" make values 3 and 4.
struct RecurrenceProblem {
  int64_t columns = 1;
  std::vector<int64_t> inputs;  // rows of each
  std::vector<std::string> steps;
  std::vector<std::vector<int64_t>> outputs;

  friend bool operator==(const RecurrenceProblem&, const RecurrenceProblem&) = default;
};

// An image of other sizes: pixel (i, j) of the result is the sum of pixels of the input, its taps,
// by the products of their weights along both axes.
struct ResizeProblem {
  // Element i of the result has the `taps` elements and weights from i * taps on.
  struct Axis {
    int64_t input = 1;
    int64_t taps = 1;
    std::vector<int64_t> elements;
    std::vector<float> weights;

    int64_t output() const { return static_cast<int64_t>(elements.size()) / taps; }

    friend bool operator==(const Axis&, const Axis&) = default;
  };
  int64_t n = 1, c = 1;
  Axis rows, columns;

  friend bool operator==(const ResizeProblem&, const ResizeProblem&) = default;
};

// A layer of RNN, GRU or LSTM cells, as ONNX defines them, which hands a state from step to step.
// The inputs are x [steps, batch, input], then h and c of before the first step where they are
// given, [directions, batch, hidden] each. The weights are W [directions, gates, hidden, input],
// the second ones R [directions, gates, hidden, hidden], and the bias is that of W, then that of R:
// [directions, 2, gates, hidden]. Gates lie in ONNX's order: z, r, h of GRU; i, o, f, c of LSTM.
// Outputs are those asked for of Y [steps, directions, batch, hidden], and of Y_h and Y_c, which
// have the states behind the last step of each direction.
// Gates have the sigmoid, and what a state is made of has tanh, or in an RNN relu.
// Not to be confused with RecurrenceProblem, whose steps are unrolled.
struct RecurrentLayerProblem {
  enum class Kind { kRnn, kGru, kLstm };
  enum class Direction { kForward, kReverse, kBidirectional };
  Kind kind = Kind::kLstm;
  Direction direction = Direction::kForward;
  int64_t steps = 1, batch = 1, input = 1, hidden = 1;
  bool bias = false;
  bool initial_h = false, initial_c = false;  // c is LSTM's
  bool linear_before_reset = false;           // of GRU: r times the product by R, not by h
  Activation activation = Activation::kTanh;  // of RNN
  bool y = true, y_h = false, y_c = false;

  int64_t directions() const { return direction == Direction::kBidirectional ? 2 : 1; }
  int64_t gates() const { return kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1; }
  // The second direction of two walks back.
  bool walks_back(int64_t of_direction) const {
    return direction == Direction::kReverse || of_direction == 1;
  }
  // Elements of all states of a step.
  int64_t states() const { return directions() * batch * hidden; }

  friend bool operator==(const RecurrentLayerProblem&, const RecurrentLayerProblem&) = default;
};

// A transpose (`permutation`), a concatenation of `inputs` along `axis`, a slice or split
// (`starts` and `sizes` per output of one input along `axis`), a gather of rows, or padding.
// Padding writes `value`; negative numbers of it take elements away, as a slice along several axes
// does, and of what is there then each `steps`-th stays, from the first one on. Or it goes on with
// elements of the input: that at the border, those that lie as far on its other side, or those from
// the other end on, as a tile does. A copy moves each input to the output of its index. No element
// is computed with, so that results are exact in every precision. A transpose alone may also cast
// between kFloat and kFloat32: to the nearest, ties to even.
struct MovementProblem {
  enum class Kind { kTranspose, kConcat, kSlice, kGather, kPad, kCopy };
  enum class Fill { kValue, kEdge, kReflect, kWrap };
  Kind kind = Kind::kCopy;
  std::vector<std::vector<int64_t>> inputs;
  std::vector<int64_t> permutation;
  int64_t axis = 0;
  std::vector<int64_t> starts, sizes;  // kSlice: one pair per output; kPad: before, after
  std::vector<int64_t> steps;          // kPad: by dimension; none: 1 everywhere
  Fill fill = Fill::kValue;            // of kPad; others than kValue take nothing away
  double value = 0;                    // of kPad; whole where the type is no float
  // Of all that is moved; a gather's indices are int64. Any of its size does for other types.
  ElementType type = ElementType::kFloat;
  std::optional<ElementType> cast_to = std::nullopt;  // of kTranspose; none: it stays that type

  friend bool operator==(const MovementProblem&, const MovementProblem&) = default;
};

// The order of alternatives is that of the names in ProblemName().
using Problem =
    std::variant<ConvProblem, SeparableConvProblem, GemmProblem, AttentionProblem, PoolProblem,
                 RowsProblem, ScaleShiftProblem, ElementwiseProblem, MovementProblem,
                 RecurrenceProblem, ResizeProblem, RecurrentLayerProblem>;

}  // namespace plait::cuda
