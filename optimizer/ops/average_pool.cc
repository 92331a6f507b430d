#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/quotient.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/window_pool.h"

namespace plait {
namespace {

Types InferAveragePool(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kFloat));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window, ReadPoolWindow(call));
  PLAIT_ASSIGN_OR_RETURN(TensorType type, PooledType(call, window));
  return std::vector<TensorType>{std::move(type)};
}

// Per window, how many elements the sum is divided by. With count_include_pad the padding counts,
// but not what ceil_mode lets a window reach beyond it.
std::vector<int64_t> Divisors(std::vector<WindowAxis> axes, bool count_include_pad) {
  if (count_include_pad) {
    // The padding as if it were input.
    for (WindowAxis& axis : axes) {
      axis.input += axis.pad_begin + axis.pad_end;
      axis.pad_begin = 0;
    }
  }
  std::vector<int64_t> divisors;
  for (int64_t z = 0; z < axes[0].output; ++z) {
    const int64_t depth = axes[0].kernel_end(z) - axes[0].kernel_begin(z);
    for (int64_t y = 0; y < axes[1].output; ++y) {
      const int64_t height = axes[1].kernel_end(y) - axes[1].kernel_begin(y);
      for (int64_t x = 0; x < axes[2].output; ++x) {
        const int64_t width = axes[2].kernel_end(x) - axes[2].kernel_begin(x);
        // A dilated window can miss the input; its sum is 0, whatever it is divided by.
        divisors.push_back(depth > 0 && height > 0 && width > 0 ? depth * height * width : 1);
      }
    }
  }
  return divisors;
}

template <typename T>
void PoolAverages(const std::vector<WindowAxis>& axes, absl::Span<const int64_t> divisors,
                  const EvalTensor& input, std::vector<T>* output) {
  const auto& x = std::get<std::vector<T>>(input.values);
  const int64_t channels = input.type.shape[0] * input.type.shape[1];
  const int64_t input_step = axes[0].input * axes[1].input * axes[2].input;
  const int64_t output_step = axes[0].output * axes[1].output * axes[2].output;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const T* from = x.data() + channel * input_step;
    T* to = output->data() + channel * output_step;
    ForEachWindowElement(
        axes, [&](int64_t index, int64_t position) { to[index] = to[index] + from[position]; });
    for (int64_t i = 0; i < output_step; ++i) to[i] = Quotient(to[i], divisors[i]);
  }
}

absl::Status EvaluateAveragePool(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window, ReadPoolWindow(call));
  if (outputs[0].type.elements() == 0) return absl::OkStatus();
  const std::vector<WindowAxis> axes = ThreeAxes(window);
  const std::vector<int64_t> divisors =
      Divisors(axes, call.attributes.Int("count_include_pad", 0) != 0);
  std::visit([&](auto& output) { PoolAverages(axes, divisors, *inputs[0], &output); },
             outputs[0].values);
  return absl::OkStatus();
}

absl::Status LowerAveragePool(VersionedNode* node) {
  return LowerPool(node, /*dilations_opset=*/19);
}

}  // namespace

// y[o] = the mean of x[o * stride - pad + k * dilation] over the kernel elements k that lie on the
// input or, with count_include_pad, on its padding. ceil_mode came with opset 10, dilations with
// 19.
const OpSpec kAveragePoolSpec = {
    .kind = OpKind::kAveragePool,
    .infer = InferAveragePool,
    .work = WorkOfPool,
    .evaluate = EvaluateAveragePool,
    .raise = RaiseAutoPad,
    .lower = LowerAveragePool,
};

}  // namespace plait
