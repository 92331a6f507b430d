#include <algorithm>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/convolution_channels.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/transposed_window.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// 64 Ki products (half a MiB as doubles) stay in the second-level cache until they are added up.
constexpr int64_t kProductElements = 64 << 10;

absl::StatusOr<std::vector<WindowAxis>> TransposedWindowOf(const OpCall& call) {
  const Shape& weights = call.input_types[1].shape;
  return ReadTransposedWindow(call.attributes, call.input_types[0],
                              absl::MakeConstSpan(weights).subspan(2));
}

Types InferConvTranspose(const OpCall& call) {
  for (size_t i = 0; i < call.input_types.size(); ++i) {
    if (i == 2 && !call.has_input(2)) continue;
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
  }
  PLAIT_ASSIGN_OR_RETURN(const int64_t channels, ResultChannels(call, WeightOrder::kInputFirst));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window, TransposedWindowOf(call));
  Shape shape = {call.input_types[0].shape[0], channels};
  for (const WindowAxis& axis : window) shape.push_back(axis.input);
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

// Every element of the input meets every weight of its channel; what is cut off counts too.
Work WorkOfConvTranspose(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  const TensorType& weights = call.input_types[1];
  const int64_t terms = weights.shape[0] == 0 ? 0 : weights.elements() / weights.shape[0];
  const int64_t bias = call.has_input(2) ? output_types[0].elements() : 0;
  work.flops = SaturatingAdd(SaturatingMultiply(call.input_types[0].elements(), 2 * terms), bias);
  return work;
}

// Adds a row of products, one per position of the input, to where the kernel element (a, b, c)
// writes in `output`, which is one channel.
template <typename T>
void ScatterRow(const std::vector<WindowAxis>& axes, std::array<int64_t, 3> element, const T* row,
                T* output) {
  std::array<int64_t, 3> at = {};
  for (at[0] = 0; at[0] < axes[0].output; ++at[0]) {
    for (at[1] = 0; at[1] < axes[1].output; ++at[1]) {
      for (at[2] = 0; at[2] < axes[2].output; ++at[2], ++row) {
        int64_t offset = 0;
        bool inside = true;
        for (size_t i = 0; i < 3; ++i) {
          const int64_t position = axes[i].start(at[i]) + element[i] * axes[i].dilation;
          inside = inside && position >= 0 && position < axes[i].input;
          offset = offset * axes[i].input + position;
        }
        if (inside) output[offset] = MultiplyAdd(T(1), *row, output[offset]);
      }
    }
  }
}

// One output channel of one image: products[k, p] = sum over c of weights[c, k] * input[c, p], then
// each row to its place. `weights` are those of the channel, transposed: [kernel elements, c]. As
// many rows at a time as `products` has room for.
template <typename T>
void ConvolveChannel(const std::vector<WindowAxis>& axes, Matrix<const T> weights,
                     Matrix<const T> input, std::vector<T>* products, T* output) {
  const int64_t room = static_cast<int64_t>(products->size()) / input.columns;
  for (int64_t first = 0; first < weights.rows; first += room) {
    const int64_t rows = std::min(room, weights.rows - first);
    std::fill(products->begin(), products->end(), T(0));
    AddProduct<T>(
        {weights.values + first * weights.row_stride, rows, weights.columns, weights.row_stride},
        input, {products->data(), rows, input.columns, input.columns});
    for (int64_t k = first; k < first + rows; ++k) {
      ScatterRow<T>(axes,
                    {k / (axes[1].kernel * axes[2].kernel), k / axes[2].kernel % axes[1].kernel,
                     k % axes[2].kernel},
                    products->data() + (k - first) * input.columns, output);
    }
  }
}

// The kernel elements of output channel `channel` of group `group`, as [kernel elements, c].
template <typename T>
std::vector<T> WeightsOfChannel(const std::vector<T>& weights, const Shape& shape, int64_t groups,
                                int64_t group, int64_t channel) {
  const int64_t step = static_cast<int64_t>(weights.size()) / shape[0];
  const int64_t elements = step / shape[1];
  const int64_t inputs = shape[0] / groups;
  std::vector<T> result(static_cast<size_t>(elements * inputs));
  for (int64_t c = 0; c < inputs; ++c) {
    const T* from = weights.data() + (group * inputs + c) * step + channel * elements;
    for (int64_t k = 0; k < elements; ++k) result[k * inputs + c] = from[k];
  }
  return result;
}

template <typename T>
void ConvolveTransposed(const OpCall& call, const std::vector<WindowAxis>& axes, EvalInputs inputs,
                        std::vector<T>* output) {
  const auto& x = std::get<std::vector<T>>(inputs[0]->values);
  const auto& w = std::get<std::vector<T>>(inputs[1]->values);
  const Shape& shape = call.input_types[1].shape;
  const int64_t groups = call.attributes.Int("group", 1);
  const int64_t batch = call.input_types[0].shape[0];
  const int64_t channels = shape[1] * groups;
  const int64_t positions = axes[0].input * axes[1].input * axes[2].input;
  if (output->empty()) return;
  if (inputs.size() > 2 && inputs[2] != nullptr) {
    const auto& bias = std::get<std::vector<T>>(inputs[2]->values);
    for (int64_t plane = 0; plane < batch * channels; ++plane) {
      std::fill_n(output->begin() + plane * positions, positions, bias[plane % channels]);
    }
  }
  if (w.empty()) return;
  const int64_t depth = shape[0] / groups;
  const int64_t columns = axes[0].output * axes[1].output * axes[2].output;
  const int64_t elements = axes[0].kernel * axes[1].kernel * axes[2].kernel;
  const int64_t rows = std::clamp<int64_t>(kProductElements / columns, 1, elements);
  std::vector<T> products(static_cast<size_t>(rows * columns));
  for (int64_t m = 0; m < channels; ++m) {
    const int64_t group = m / shape[1];
    const std::vector<T> weights = WeightsOfChannel(w, shape, groups, group, m % shape[1]);
    for (int64_t n = 0; n < batch; ++n) {
      ConvolveChannel<T>(
          axes, {weights.data(), elements, depth, depth},
          {x.data() + (n * groups + group) * depth * columns, depth, columns, columns}, &products,
          output->data() + (n * channels + m) * positions);
    }
  }
}

absl::Status EvaluateConvTranspose(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window, TransposedWindowOf(call));
  std::visit([&](auto& output) { ConvolveTransposed(call, ThreeAxes(window), inputs, &output); },
             outputs[0].values);
  return absl::OkStatus();
}

}  // namespace

// y[n,m,p * stride + k * dilation - pad] += x[n,c,p] * w[c,m,k] for all c of m's group, p and k,
// over b[m]: what Conv's gradient by its input is, which gives the operator its name.
const OpSpec kConvTransposeSpec = {
    .kind = OpKind::kConvTranspose,
    .inputs = {2, 3},
    .infer = InferConvTranspose,
    .work = WorkOfConvTranspose,
    .evaluate = EvaluateConvTranspose,
    .raise = RaiseTransposedWindow,
};

}  // namespace plait
