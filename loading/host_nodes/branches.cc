#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "loading/host_nodes/operators.h"

namespace plait {

// The branch that a bool chooses, which reads nothing but what it captures.
absl::StatusOr<HostOperator> MakeIf(const HostNode& node) {
  if (node.Find("then_branch") == nullptr || node.Find("else_branch") == nullptr) {
    return absl::InvalidArgumentError("a branch is missing");
  }
  const std::shared_ptr<HostBody> branches[] = {node.body("else_branch"), node.body("then_branch")};
  return [other = branches[0], then = branches[1]](
             absl::Span<const Tensor> inputs) -> absl::StatusOr<std::vector<Tensor>> {
    PLAIT_RETURN_IF_ERROR(CheckGiven(inputs, 1));
    if (inputs[0].type().dtype != DataType::kBool || inputs[0].elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the condition must be one bool, is ", inputs[0].type().ToString()));
    }
    HostBody& branch = inputs[0].bytes()[0] != 0 ? *then : *other;
    return branch.Run(inputs.subspan(1));
  };
}

}  // namespace plait
