#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "loading/host_nodes/collected.h"
#include "loading/host_nodes/operators.h"

namespace plait {
namespace {

// Along which axis an input is walked, or an output collected, and from which end.
struct Walk {
  int64_t axis = 0;
  bool is_reversed = false;
};

struct ScanForm {
  size_t states = 0;
  std::vector<Walk> inputs;
  std::vector<Walk> outputs;
  std::vector<TensorType> empty;  // of each collected output, when there is no iteration
};

absl::StatusOr<std::vector<Walk>> ReadWalks(const HostNode& node, absl::string_view axes_name,
                                            absl::string_view directions_name, size_t count) {
  const std::vector<int64_t> axes = node.Integers(axes_name);
  const std::vector<int64_t> directions = node.Integers(directions_name);
  if ((!axes.empty() && axes.size() != count) ||
      (!directions.empty() && directions.size() != count)) {
    return absl::InvalidArgumentError(
        absl::StrCat(axes_name, " and ", directions_name, " must be as many as there are scans"));
  }
  std::vector<Walk> walks(count);
  for (size_t i = 0; i < count; ++i) {
    if (!axes.empty()) walks[i].axis = axes[i];
    walks[i].is_reversed = !directions.empty() && directions[i] != 0;
  }
  return walks;
}

// Element `index` along an axis, which it has no more.
Tensor SliceOf(const Tensor& x, int64_t axis, int64_t index) {
  const AroundAxis seen = SeenAround(x.type(), axis);
  TensorType type = x.type();
  type.shape.erase(type.shape.begin() + axis);
  std::string bytes;
  bytes.reserve(static_cast<size_t>(type.bytes()));
  for (int64_t outer = 0; outer < seen.outer; ++outer) {
    const int64_t at = (outer * seen.size + index) * seen.inner_bytes;
    bytes.append(x.bytes().data() + at, static_cast<size_t>(seen.inner_bytes));
  }
  return Tensor(std::move(type), std::move(bytes));
}

// The axes of the inputs that are walked, which all have one length. Errors: InvalidArgument.
absl::StatusOr<int64_t> FindLength(const ScanForm& form, absl::Span<const Tensor> walked,
                                   std::vector<int64_t>* axes) {
  int64_t length = 0;
  for (size_t i = 0; i < walked.size(); ++i) {
    const TensorType& type = walked[i].type();
    PLAIT_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(form.inputs[i].axis, type.rank()));
    if (i > 0 && type.shape[axis] != length) {
      return absl::InvalidArgumentError(
          absl::StrCat("scanned inputs have ", length, " and ", type.shape[axis], " slices"));
    }
    length = type.shape[axis];
    axes->push_back(axis);
  }
  return length;
}

absl::StatusOr<std::vector<Tensor>> RunScan(HostBody& body, const ScanForm& form,
                                            absl::Span<const Tensor> inputs) {
  const size_t states = form.states;
  PLAIT_RETURN_IF_ERROR(CheckGiven(inputs, states + form.inputs.size()));
  std::vector<int64_t> axes;
  const absl::Span<const Tensor> walked = inputs.subspan(states, form.inputs.size());
  PLAIT_ASSIGN_OR_RETURN(const int64_t length, FindLength(form, walked, &axes));
  std::vector<Tensor> given(inputs.begin(), inputs.end());
  std::vector<Collected> collected(form.empty.begin(), form.empty.end());
  for (int64_t step = 0; step < length; ++step) {
    for (size_t i = 0; i < walked.size(); ++i) {
      const int64_t index = form.inputs[i].is_reversed ? length - 1 - step : step;
      given[states + i] = SliceOf(walked[i], axes[i], index);
    }
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                           RunBody(body, given, states + collected.size()));
    for (size_t i = 0; i < states; ++i) given[i] = results[i];
    for (size_t i = 0; i < collected.size(); ++i) {
      PLAIT_RETURN_IF_ERROR(collected[i].Add(results[states + i]));
    }
  }
  std::vector<Tensor> outputs(given.begin(), given.begin() + static_cast<ptrdiff_t>(states));
  for (size_t i = 0; i < collected.size(); ++i) {
    const Walk& walk = form.outputs[i];
    PLAIT_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(walk.axis, collected[i].rank() + 1));
    outputs.push_back(std::move(collected[i]).Take(axis, walk.is_reversed));
  }
  return outputs;
}

}  // namespace

// Runs its body for the slices of its inputs, one after the other: states go from one to the next,
// the other results are collected.
absl::StatusOr<HostOperator> MakeScan(const HostNode& node) {
  if (node.opset < 9) return absl::UnimplementedError("scans of batches, as before opset 9");
  const onnx::AttributeProto* const graph = node.Find("body");
  const size_t given = node.proto.input.size();
  const auto walked = static_cast<size_t>(node.Integer("num_scan_inputs", 0));
  const size_t results = graph == nullptr ? 0 : graph->g().output.size();
  if (graph == nullptr || walked < 1 || walked > given || results < given - walked ||
      graph->g().input.size() != given || node.proto.output.size() > results) {
    return absl::InvalidArgumentError("the body has other inputs or outputs than the node");
  }
  ScanForm form;
  form.states = given - walked;
  for (size_t i = form.states; i < results; ++i) {
    form.empty.push_back(EmptyType(graph->g().output[i]));
  }
  PLAIT_ASSIGN_OR_RETURN(form.inputs,
                         ReadWalks(node, "scan_input_axes", "scan_input_directions", walked));
  PLAIT_ASSIGN_OR_RETURN(form.outputs, ReadWalks(node, "scan_output_axes", "scan_output_directions",
                                                 results - form.states));
  const std::shared_ptr<HostBody> body = node.body("body");
  return [body, form](absl::Span<const Tensor> inputs) { return RunScan(*body, form, inputs); };
}

}  // namespace plait
