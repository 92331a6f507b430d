#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/index_check.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

// Tuples of indices choose slices, each in a batch of its own if there are several. Data
// [batches, dims.., slice], indices [batches, tuples, dims.size()].
class GatherNdKernel : public CpuKernel {
 public:
  GatherNdKernel(int width, const Operand& data, const Operand& indices, const Operand& result,
                 int64_t batch_dims)
      : width_(width), data_(data), indices_(indices), result_(result) {
    const Shape& shape = data.type.shape;
    const auto first = shape.begin() + batch_dims;
    dims_.assign(first, first + indices.type.shape.back());
    int64_t batches = 1;
    for (int64_t i = 0; i < batch_dims; ++i) batches *= shape[i];
    tuples_ = indices.type.elements() / indices.type.shape.back();
    tuples_of_batch_ = tuples_ / batches;
    batch_slices_ = 1;
    for (const int64_t dim : dims_) batch_slices_ *= dim;
    slice_bytes_ = result.type.bytes() / tuples_;
  }

  absl::Status Run() override {
    PLAIT_RETURN_IF_ERROR(CheckIndicesInParts(width_, indices_, dims_, "GatherND"));
    ForEachPart(width_, tuples_, [&](int64_t begin, int64_t end, int) {
      for (int64_t tuple = begin; tuple < end; ++tuple) {
        std::memcpy(result_.data + tuple * slice_bytes_, data_.data + SliceOf(tuple) * slice_bytes_,
                    static_cast<size_t>(slice_bytes_));
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t SliceOf(int64_t tuple) const {
    const auto depth = static_cast<int64_t>(dims_.size());
    int64_t place = 0;
    for (int64_t i = 0; i < depth; ++i) {
      const int64_t index = IndexAt(indices_, tuple * depth + i);
      place = place * dims_[i] + (index < 0 ? index + dims_[i] : index);
    }
    return tuple / tuples_of_batch_ * batch_slices_ + place;
  }

  const int width_;
  const Operand data_;
  const Operand indices_;
  const Operand result_;
  Shape dims_;  // that are indexed
  int64_t tuples_ = 0;
  int64_t tuples_of_batch_ = 0;
  int64_t batch_slices_ = 1;
  int64_t slice_bytes_ = 1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadGatherNd(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kGatherNdOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand data, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand indices, FindIn(context, node.inputs[1], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, node.outputs[0], Format::kPlain));
  return std::make_unique<GatherNdKernel>(context->width(), data, indices, result,
                                          node.attributes->Int("batch_dims", 0));
}

}  // namespace plait
