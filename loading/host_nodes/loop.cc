#include <limits>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "base/status_macros.h"
#include "loading/host_nodes/collected.h"
#include "loading/host_nodes/operators.h"

namespace plait {
namespace {

// Of the node: how often at most, whether at all, and the states to begin with.
constexpr size_t kStates = 2;

// What a Loop is besides its body.
struct LoopForm {
  size_t states = 0;
  size_t explicit_inputs = 0;  // the rest is captured
  size_t outputs = 0;
  std::vector<TensorType> empty;  // of each collected output, when there is no iteration
};

absl::StatusOr<int64_t> TripsOf(const Tensor& given) {
  if (!given.type().known()) return std::numeric_limits<int64_t>::max();
  if (given.type().dtype != DataType::kInt64 || given.elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number of iterations must be one int64, is ", given.type().ToString()));
  }
  return given.at<int64_t>(0);
}

absl::StatusOr<bool> IsTrue(const Tensor& condition) {
  if (!condition.type().known()) return true;
  if (condition.type().dtype != DataType::kBool || condition.elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the condition must be one bool, is ", condition.type().ToString()));
  }
  return condition.bytes()[0] != 0;
}

Tensor Truth() {
  static constexpr bool kTrue[] = {true};
  return Tensor::Of<bool>({}, kTrue);
}

absl::StatusOr<std::vector<Tensor>> RunLoop(HostBody& body, const LoopForm& form,
                                            absl::Span<const Tensor> inputs) {
  PLAIT_ASSIGN_OR_RETURN(const int64_t trips, TripsOf(InputOr(inputs, 0)));
  PLAIT_ASSIGN_OR_RETURN(bool goes, IsTrue(InputOr(inputs, 1)));
  // The body's inputs: the iteration, the condition, the states, and what it captures.
  std::vector<Tensor> given = {Tensor::ScalarInt64(0), Truth()};
  given.insert(given.end(), inputs.begin() + kStates, inputs.end());
  std::vector<Collected> collected(form.empty.begin(), form.empty.end());
  for (int64_t iteration = 0; goes && iteration < trips; ++iteration) {
    given[0] = Tensor::ScalarInt64(iteration);
    PLAIT_ASSIGN_OR_RETURN(std::vector<Tensor> results,
                           RunBody(body, given, 1 + form.states + collected.size()));
    PLAIT_ASSIGN_OR_RETURN(goes, IsTrue(results[0]));
    given[1] = Truth();
    for (size_t i = 0; i < form.states; ++i) given[kStates + i] = results[1 + i];
    for (size_t i = 0; i < collected.size(); ++i) {
      PLAIT_RETURN_IF_ERROR(collected[i].Add(results[1 + form.states + i]));
    }
  }
  std::vector<Tensor> outputs(given.begin() + kStates, given.begin() + kStates + form.states);
  for (Collected& one : collected) outputs.push_back(std::move(one).Take(/*axis=*/0));
  return outputs;
}

}  // namespace

// Runs its body until the condition is false or it has run as often as is said: states go from one
// iteration to the next, the other results are collected.
absl::StatusOr<HostOperator> MakeLoop(const HostNode& node) {
  const onnx::AttributeProto* const graph = node.Find("body");
  LoopForm form;
  form.explicit_inputs = node.proto.input.size();
  form.states = form.explicit_inputs < kStates ? 0 : form.explicit_inputs - kStates;
  const size_t results = graph == nullptr ? 0 : graph->g().output.size();
  if (graph == nullptr || form.explicit_inputs < kStates || results < 1 + form.states ||
      graph->g().input.size() != form.explicit_inputs || node.proto.output.size() > results - 1) {
    return absl::InvalidArgumentError("the body has other inputs or outputs than the node");
  }
  for (size_t i = 1 + form.states; i < results; ++i) {
    form.empty.push_back(EmptyType(graph->g().output[i]));
  }
  const std::shared_ptr<HostBody> body = node.body("body");
  return [body, form](absl::Span<const Tensor> inputs) { return RunLoop(*body, form, inputs); };
}

}  // namespace plait
