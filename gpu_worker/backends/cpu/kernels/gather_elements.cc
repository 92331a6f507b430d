#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/index_check.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/ops/shared/broadcast.h"

namespace plait {
namespace {

struct GatherOperands {
  Operand data;
  Operand indices;
  Operand result;
};

// Elements are counted through the result, which is written front to back in runs along its last
// axis. Where a run's elements come from is one place plus a distance for each index, and, unless
// indices stand for that very axis, plus one for each element.
template <typename Element, typename Index>
class GatherElementsKernel : public CpuKernel {
 public:
  GatherElementsKernel(int width, const GatherOperands& operands, int axis)
      : width_(width), operands_(operands), dim_(operands.data.type.shape[axis]) {
    const Shape& shape = operands.result.type.shape;
    const Shape strides = RowMajorStrides(operands.data.type.shape);
    const int last = static_cast<int>(shape.size()) - 1;
    index_stride_ = strides[axis];
    element_stride_ = axis == last ? 0 : 1;
    run_ = shape[last];
    for (int i = 0; i < last; ++i) {
      if (shape[i] > 1) outer_.push_back({shape[i], i == axis ? 0 : strides[i]});
    }
  }

  absl::Status Run() override {
    PLAIT_RETURN_IF_ERROR(CheckIndicesInParts(width_, operands_.indices, {dim_}, "GatherElements"));
    ForEachPart(width_, operands_.result.type.elements(), [&](int64_t begin, int64_t end, int) {
      while (begin < end) {
        const int64_t size = std::min(end - begin, run_ - begin % run_);
        CopyRun(begin, size);
        begin += size;
      }
    });
    return absl::OkStatus();
  }

 private:
  struct OuterAxis {
    int64_t size;
    int64_t data_stride;  // 0: indices stand for the axis
  };

  // The next `size` elements of a run.
  void CopyRun(int64_t begin, int64_t size) const {
    const Element* data =
        reinterpret_cast<const Element*>(operands_.data.data) + begin % run_ * element_stride_;
    int64_t rest = begin / run_;
    for (size_t i = outer_.size(); i-- > 0;) {
      data += rest % outer_[i].size * outer_[i].data_stride;
      rest /= outer_[i].size;
    }
    const Index* const indices = reinterpret_cast<const Index*>(operands_.indices.data) + begin;
    Element* const result = reinterpret_cast<Element*>(operands_.result.data) + begin;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t index = indices[i] < 0 ? indices[i] + dim_ : int64_t{indices[i]};
      result[i] = data[index * index_stride_ + i * element_stride_];
    }
  }

  const int width_;
  const GatherOperands operands_;
  const int64_t dim_;  // of the data, along the axis
  int64_t index_stride_ = 1;
  int64_t element_stride_ = 0;
  int64_t run_ = 1;  // elements along the last axis
  std::vector<OuterAxis> outer_;
};

template <typename Element>
std::unique_ptr<CpuKernel> KernelOf(int width, const GatherOperands& operands, int axis) {
  if (operands.indices.type.dtype == DataType::kInt64) {
    return std::make_unique<GatherElementsKernel<Element, int64_t>>(width, operands, axis);
  }
  return std::make_unique<GatherElementsKernel<Element, int32_t>>(width, operands, axis);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadGatherElements(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kGatherElementsOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  GatherOperands operands;
  PLAIT_ASSIGN_OR_RETURN(operands.data, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(operands.indices, FindIn(context, node.inputs[1], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(operands.result, FindIn(context, node.outputs[0], Format::kPlain));
  const int axis = *AxisOf(graph, nodes[0], 0);
  switch (BytesOf(operands.data.type.dtype)) {
    case 1:
      return KernelOf<uint8_t>(context->width(), operands, axis);
    case 2:
      return KernelOf<uint16_t>(context->width(), operands, axis);
    case 4:
      return KernelOf<uint32_t>(context->width(), operands, axis);
    default:
      return KernelOf<uint64_t>(context->width(), operands, axis);
  }
}

}  // namespace plait
