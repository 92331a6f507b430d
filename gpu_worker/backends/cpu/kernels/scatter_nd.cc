#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/index_check.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/slice_scatter.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {
namespace {

// Tuples of indices choose the slices that are met.
class ScatterNdKernel : public CpuKernel {
 public:
  ScatterNdKernel(int width, SliceScatter scatter, const Operand& indices, const Shape& data)
      : width_(width),
        scatter_(std::move(scatter)),
        indices_(indices),
        dims_(data.begin(), data.begin() + indices.type.shape.back()) {}

  absl::Status Run() override {
    PLAIT_RETURN_IF_ERROR(CheckIndicesInParts(width_, indices_, dims_, "ScatterND"));
    int64_t next = 0;
    for (int64_t& place : scatter_.places()) {
      place = 0;
      for (const int64_t dim : dims_) {
        const int64_t index = IndexAt(indices_, next++);
        place = place * dim + (index < 0 ? index + dim : index);
      }
    }
    scatter_.Run();
    return absl::OkStatus();
  }

 private:
  const int width_;
  const SliceScatter scatter_;
  const Operand indices_;
  const Shape dims_;  // that are indexed
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadScatterNd(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kScatterNdOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  SliceScatter::Ends ends;
  PLAIT_ASSIGN_OR_RETURN(ends.data, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand indices,
                         FindIn(context, node.inputs[kScatterIndices], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(ends.updates,
                         FindIn(context, node.inputs[kScatterUpdates], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(ends.result, FindIn(context, node.outputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Meeting meeting, MeetingOf(*node.attributes));
  const int64_t updates = indices.type.elements() / indices.type.shape.back();
  PLAIT_ASSIGN_OR_RETURN(SliceScatter scatter, SliceScatter::Load(context, meeting, ends, updates));
  return std::make_unique<ScatterNdKernel>(context->width(), std::move(scatter), indices,
                                           ends.data.type.shape);
}

}  // namespace plait
