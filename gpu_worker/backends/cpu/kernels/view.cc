#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "optimizer/kernels/strided_view.h"

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
  const std::vector<Format>& from = context->kernel().input_formats;
  const std::vector<Format>& to = context->kernel().output_formats;
  if (from.size() != 1 || to.size() != 1 || !KeepsBytes(graph, nodes, from[0], to[0])) {
    return context->Refuse();
  }
  const TensorId input = graph.node(nodes.front()).inputs[0];
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(input));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(graph.node(nodes.back()).outputs[0]));
  return std::make_unique<ViewKernel>(source, result);
}

}  // namespace plait
