#include <algorithm>
#include <limits>

#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/window_pool.h"

namespace plait {
namespace {

// Far more windows than begin in the padding of any real pool; of more we look at none.
constexpr int64_t kWindowsMax = 1 << 20;

// Whether a window may have all of the input between two of its taps, which must be farther apart
// than the input is long: kernel 2 with dilation 3 does at -1 and 2 around two elements.
bool MayMissInput(const WindowAxis& axis) {
  if (axis.dilation <= axis.input || axis.kernel == 1) return false;
  for (int64_t o = 0; o < axis.output && axis.start(o) < 0; ++o) {
    if (o == kWindowsMax || axis.kernel_begin(o) >= axis.kernel_end(o)) return true;
  }
  return false;
}

Types InferMaxPool(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window, ReadPoolWindow(call));
  PLAIT_ASSIGN_OR_RETURN(TensorType type, PooledType(call, window));
  if (std::any_of(window.begin(), window.end(), MayMissInput)) {
    return absl::UnimplementedError("a window that lies around the input has no maximum");
  }
  std::vector<TensorType> types = {type};
  if (call.output_count == 2) types.push_back({DataType::kInt64, type.shape});
  return types;
}

// An element's index within its channel when the first spatial axis runs fastest (storage_order 1).
int64_t ColumnMajor(const std::vector<WindowAxis>& axes, int64_t position) {
  const int64_t x = position % axes[2].input;
  const int64_t y = position / axes[2].input % axes[1].input;
  const int64_t z = position / axes[2].input / axes[1].input;
  return z + axes[0].input * (y + axes[1].input * x);
}

// Of equal elements the first one wins, which decides the index. A NaN is greater than nothing, so
// that it never wins.
template <typename T>
void PoolMaxima(const std::vector<WindowAxis>& axes, const EvalTensor& input, bool column_major,
                std::vector<T>* output, std::vector<int64_t>* indices) {
  const auto& x = std::get<std::vector<T>>(input.values);
  const int64_t channels = input.type.shape[0] * input.type.shape[1];
  const int64_t input_step = axes[0].input * axes[1].input * axes[2].input;
  const int64_t output_step = axes[0].output * axes[1].output * axes[2].output;
  T lowest = std::numeric_limits<T>::lowest();
  if constexpr (std::is_same_v<T, double>) lowest = -std::numeric_limits<double>::infinity();
  std::fill(output->begin(), output->end(), lowest);
  for (int64_t channel = 0; channel < channels; ++channel) {
    const T* from = x.data() + channel * input_step;
    T* to = output->data() + channel * output_step;
    ForEachWindowElement(axes, [&](int64_t index, int64_t position) {
      if (!(from[position] > to[index])) return;
      to[index] = from[position];
      if (indices == nullptr) return;
      (*indices)[channel * output_step + index] =
          channel * input_step + (column_major ? ColumnMajor(axes, position) : position);
    });
  }
}

absl::Status EvaluateMaxPool(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window, ReadPoolWindow(call));
  const std::vector<WindowAxis> axes = ThreeAxes(window);
  const bool column_major = call.attributes.Int("storage_order", 0) != 0;
  auto* indices = outputs.size() > 1 ? &std::get<std::vector<int64_t>>(outputs[1].values) : nullptr;
  if (auto* floats = std::get_if<std::vector<double>>(&outputs[0].values)) {
    PoolMaxima(axes, *inputs[0], column_major, floats, indices);
  } else if (auto* integers = std::get_if<std::vector<int64_t>>(&outputs[0].values)) {
    PoolMaxima(axes, *inputs[0], column_major, integers, indices);
  } else {
    return absl::UnimplementedError("a field has no order");
  }
  return absl::OkStatus();
}

absl::Status LowerMaxPool(VersionedNode* node) {
  if (node->opset < 8 && node->output_count > 1) {
    return absl::UnimplementedError("opset 7 has no output Indices");
  }
  if (node->opset < 8) node->attributes.Erase("storage_order");
  return LowerPool(node, /*dilations_opset=*/10);
}

}  // namespace

// y[o] = the largest of x[o * stride - pad + k * dilation] over the kernel elements k; padding
// never wins. Indices, the second output, and storage_order came with opset 8, ceil_mode and
// dilations with 10.
const OpSpec kMaxPoolSpec = {
    .kind = OpKind::kMaxPool,
    .outputs = {1, 2},
    .infer = InferMaxPool,
    .work = WorkOfPool,
    .evaluate = EvaluateMaxPool,
    .raise = RaiseAutoPad,
    .lower = LowerMaxPool,
};

}  // namespace plait
