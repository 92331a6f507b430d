#include <algorithm>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/convolution_channels.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/spatial_window.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// 64 Ki elements of unfolded input (half a MiB as doubles) stay in the second-level cache while
// every output channel reads them.
constexpr int64_t kUnfoldedElements = 64 << 10;

absl::StatusOr<std::vector<WindowAxis>> WindowOf(const OpCall& call) {
  const Shape& weights = call.input_types[1].shape;
  return ReadWindow(call.attributes, call.input_types[0], absl::MakeConstSpan(weights).subspan(2),
                    /*ceil_mode=*/false);
}

Types InferConv(const OpCall& call) {
  for (size_t i = 0; i < call.input_types.size(); ++i) {
    if (i == 2 && !call.has_input(2)) continue;
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
  }
  PLAIT_ASSIGN_OR_RETURN(const int64_t channels, ResultChannels(call, WeightOrder::kResultFirst));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window, WindowOf(call));
  Shape shape = {call.input_types[0].shape[0], channels};
  for (const WindowAxis& axis : window) shape.push_back(axis.output);
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

// Padding counts as input: the definition's multiplications, as every paper counts them.
Work WorkOfConv(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  const TensorType& weights = call.input_types[1];
  const int64_t terms = weights.shape[0] == 0 ? 0 : weights.elements() / weights.shape[0];
  const int64_t bias = call.has_input(2) ? 1 : 0;
  work.flops = SaturatingMultiply(output_types[0].elements(), 2 * terms + bias);
  return work;
}

// The input under kernel element (a, b, c) for output positions [first, first + count), zeros where
// it is padding. `input` is one channel.
template <typename T>
void UnfoldRow(const std::vector<WindowAxis>& axes, const T* input, std::array<int64_t, 3> element,
               int64_t first, absl::Span<T> row) {
  std::array<int64_t, 3> at = {first / (axes[1].output * axes[2].output),
                               first / axes[2].output % axes[1].output, first % axes[2].output};
  for (T& value : row) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t i = 0; i < 3; ++i) {
      const int64_t position = axes[i].start(at[i]) + element[i] * axes[i].dilation;
      inside = inside && position >= 0 && position < axes[i].input;
      offset = offset * axes[i].input + position;
    }
    value = inside ? input[offset] : T(0);
    if (++at[2] < axes[2].output) continue;
    at[2] = 0;
    if (++at[1] < axes[1].output) continue;
    at[1] = 0;
    ++at[0];
  }
}

// One group of one image: output[m, p] = sum over k of weights[m, k] * unfolded[k, p].
template <typename T>
void ConvolveGroup(const std::vector<WindowAxis>& axes, const T* input, Matrix<const T> weights,
                   Matrix<T> output) {
  const int64_t input_elements = axes[0].input * axes[1].input * axes[2].input;
  const int64_t kernel_elements = axes[0].kernel * axes[1].kernel * axes[2].kernel;
  const int64_t count_max = std::max<int64_t>(32, kUnfoldedElements / weights.columns / 8 * 8);
  std::vector<T> unfolded(
      static_cast<size_t>(weights.columns * std::min(count_max, output.columns)));
  for (int64_t first = 0; first < output.columns; first += count_max) {
    const int64_t count = std::min(count_max, output.columns - first);
    for (int64_t k = 0; k < weights.columns; ++k) {
      const int64_t element = k % kernel_elements;
      UnfoldRow<T>(axes, input + k / kernel_elements * input_elements,
                   {element / (axes[1].kernel * axes[2].kernel),
                    element / axes[2].kernel % axes[1].kernel, element % axes[2].kernel},
                   first, absl::MakeSpan(unfolded).subspan(k * count, count));
    }
    AddProduct<T>(weights, {unfolded.data(), weights.columns, count, count},
                  {output.values + first, output.rows, count, output.columns});
  }
}

// Batch and groups are blocks that follow each other in input and output alike, so that one loop
// does both. The bias is laid down first and the product added to it.
template <typename T>
void Convolve(const OpCall& call, const std::vector<WindowAxis>& axes, EvalInputs inputs,
              std::vector<T>* output) {
  const auto& x = std::get<std::vector<T>>(inputs[0]->values);
  const auto& w = std::get<std::vector<T>>(inputs[1]->values);
  const int64_t group = call.attributes.Int("group", 1);
  const int64_t batch = call.input_types[0].shape[0];
  const int64_t channels = call.input_types[1].shape[0];
  const int64_t positions = axes[0].output * axes[1].output * axes[2].output;
  if (output->empty()) return;
  if (inputs.size() > 2 && inputs[2] != nullptr) {
    const auto& bias = std::get<std::vector<T>>(inputs[2]->values);
    for (int64_t plane = 0; plane < batch * channels; ++plane) {
      std::fill_n(output->begin() + plane * positions, positions, bias[plane % channels]);
    }
  }
  if (w.empty()) return;
  const int64_t terms = static_cast<int64_t>(w.size()) / channels;
  const int64_t rows = channels / group;
  const int64_t input_step = static_cast<int64_t>(x.size()) / (batch * group);
  for (int64_t i = 0; i < batch * group; ++i) {
    ConvolveGroup<T>(axes, x.data() + i * input_step,
                     {w.data() + i % group * rows * terms, rows, terms, terms},
                     {output->data() + i * rows * positions, rows, positions, positions});
  }
}

absl::Status EvaluateConv(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window, WindowOf(call));
  std::visit([&](auto& output) { Convolve(call, ThreeAxes(window), inputs, &output); },
             outputs[0].values);
  return absl::OkStatus();
}

}  // namespace

// y[n,m,p] = b[m] + sum over c, k of x[n,c,p*stride + k*dilation - pad] * w[m,c,k], where p and k
// have one coordinate per spatial axis and c runs over the channels of m's group. Computed as the
// product of the weights [m, (c,k)] with the unfolded input [(c,k), p], a cache's worth of
// positions at a time.
const OpSpec kConvSpec = {
    .kind = OpKind::kConv,
    .inputs = {2, 3},
    .infer = InferConv,
    .work = WorkOfConv,
    .evaluate = EvaluateConv,
    .raise = RaiseAutoPad,
};

}  // namespace plait
