#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {
namespace {

// One node by its reference evaluation, for what has no kernel.
// Slow, and it allocates its results in every run; counted as a fallback so that a report shows it.
class ReferenceKernel : public CpuKernel {
 public:
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Create(LoadContext* context, NodeId id) {
    const Node& node = context->graph().node(id);
    auto kernel = std::make_unique<ReferenceKernel>();
    kernel->graph_ = &context->graph();
    kernel->node_ = id;
    for (const TensorId input : node.inputs) {
      Operand operand;
      if (input != kNoTensor) {
        PLAIT_ASSIGN_OR_RETURN(operand, context->Find(input));
      }
      if (operand.format != Format::kPlain) return context->Refuse();
      kernel->inputs_.push_back(operand);
    }
    for (const TensorId output : node.outputs) {
      Operand operand;
      const bool is_read = output != kNoTensor && (!context->graph().users(output).empty() ||
                                                   context->graph().is_output(output));
      if (is_read) {
        PLAIT_ASSIGN_OR_RETURN(operand, context->Find(output));
      }
      if (operand.format != Format::kPlain) return context->Refuse();
      kernel->outputs_.push_back(operand);
    }
    return kernel;
  }

  absl::Status Run() override {
    std::vector<Tensor> values;
    values.reserve(inputs_.size());
    std::vector<const Tensor*> pointers;
    for (const Operand& input : inputs_) {
      const absl::string_view bytes(reinterpret_cast<const char*>(input.data),
                                    static_cast<size_t>(input.type.bytes()));
      // Nobody changes the bytes while the node runs, so they need no owner.
      if (input.data != nullptr) values.emplace_back(input.type, bytes, nullptr);
      pointers.push_back(input.data == nullptr ? nullptr : &values.back());
    }
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                           EvaluateNode(*graph_, node_, pointers));
    for (size_t i = 0; i < outputs_.size() && i < results.size(); ++i) {
      if (outputs_[i].data == nullptr) continue;
      std::memcpy(outputs_[i].data, results[i].bytes().data(), results[i].bytes().size());
    }
    return absl::OkStatus();
  }

  int fallback_nodes() const override { return 1; }

 private:
  const Graph* graph_ = nullptr;
  NodeId node_ = kNoNode;
  std::vector<Operand> inputs_;
  std::vector<Operand> outputs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadReference(LoadContext* context) {
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || context->graph().node(nodes[0]).op == OpKind::kOpaque) {
    return context->Refuse();
  }
  return ReferenceKernel::Create(context, nodes[0]);
}

}  // namespace plait
