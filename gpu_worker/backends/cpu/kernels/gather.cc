#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/index_check.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// result[outer, i, inner] = data[outer, indices[i], inner]
class GatherKernel : public CpuKernel {
 public:
  GatherKernel(int threads, const Operand& data, const Operand& indices, const Operand& result,
               int64_t axis)
      : threads_(threads), data_(data), indices_(indices), result_(result) {
    const Shape& shape = data.type.shape;
    for (int64_t i = 0; i < axis; ++i) outer_ *= shape[i];
    size_ = shape[axis];
    row_bytes_ = BytesOf(data.type.dtype);
    for (size_t i = axis + 1; i < shape.size(); ++i) row_bytes_ *= shape[i];
  }

  // Rows are counted through the result, which is written front to back.
  absl::Status Run() override {
    PLAIT_RETURN_IF_ERROR(CheckIndicesInParts(threads_, indices_, {size_}, "Gather"));
    const int64_t count = indices_.type.elements();
    ForEachPart(threads_, outer_ * count, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t index = IndexAt(indices_, row % count);
        const int64_t source = row / count * size_ + (index < 0 ? index + size_ : index);
        std::memcpy(result_.data + row * row_bytes_, data_.data + source * row_bytes_,
                    static_cast<size_t>(row_bytes_));
      }
    });
    return absl::OkStatus();
  }

 private:
  int threads_;
  Operand data_;
  Operand indices_;
  Operand result_;
  int64_t outer_ = 1;
  int64_t size_ = 1;
  int64_t row_bytes_ = 1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadGather(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kGatherOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand data, context->Find(node.inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand indices, context->Find(node.inputs[1]));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(node.outputs[0]));
  const auto is_plain = [](const Operand& operand) { return operand.format == Format::kPlain; };
  if (!is_plain(data) || !is_plain(indices) || !is_plain(result)) return context->Refuse();
  const int64_t axis = NormalAxis(node.attributes->Int("axis", 0), data.type.rank());
  return std::make_unique<GatherKernel>(context->width(), data, indices, result, axis);
}

}  // namespace plait
