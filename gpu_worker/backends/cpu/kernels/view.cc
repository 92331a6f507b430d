#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {
namespace {

// Nothing when the plan lets the result share the input's bytes, else a copy.
class ViewKernel : public CpuKernel {
 public:
  ViewKernel(const Operand& source, const Operand& result) : source_(source), result_(result) {}

  absl::Status Run() override {
    if (source_.data != result_.data) {
      std::memcpy(result_.data, source_.data, static_cast<size_t>(source_.type.bytes()));
    }
    return absl::OkStatus();
  }

 private:
  Operand source_;
  Operand result_;
};

}  // namespace

// Never divided: where bytes are shared, which is the rule, there is nothing to do.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadView(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kViewOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(node.inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(node.outputs[0]));
  const bool same_bytes = source.format == result.format &&
                          (source.format == Format::kPlain || source.type == result.type);
  if (!same_bytes || source.type.bytes() != result.type.bytes()) return context->Refuse();
  return std::make_unique<ViewKernel>(source, result);
}

}  // namespace plait
