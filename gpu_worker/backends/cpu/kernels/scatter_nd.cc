#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/slice_scatter.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {
namespace {

// Tuples of indices choose the slices that are met.
class ScatterNdKernel : public CpuKernel {
 public:
  ScatterNdKernel(SliceScatter scatter, const Operand& indices, const Shape& data)
      : scatter_(std::move(scatter)),
        indices_(indices),
        dims_(data.begin(), data.begin() + indices.type.shape.back()) {}

  // All indices are checked before anything is written.
  absl::Status Run() override {
    PLAIT_RETURN_IF_ERROR(indices_.type.dtype == DataType::kInt64
                              ? FindPlaces(reinterpret_cast<const int64_t*>(indices_.data))
                              : FindPlaces(reinterpret_cast<const int32_t*>(indices_.data)));
    scatter_.Run();
    return absl::OkStatus();
  }

 private:
  template <typename Index>
  absl::Status FindPlaces(const Index* tuple) const {
    for (int64_t& place : scatter_.places()) {
      place = 0;
      for (const int64_t dim : dims_) {
        const int64_t index = *tuple++;
        if (index < -dim || index >= dim) {
          return absl::InvalidArgumentError(
              absl::StrCat("ScatterND: index ", index, " is outside an axis of ", dim));
        }
        place = place * dim + (index < 0 ? index + dim : index);
      }
    }
    return absl::OkStatus();
  }

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
  return std::make_unique<ScatterNdKernel>(std::move(scatter), indices, ends.data.type.shape);
}

}  // namespace plait
