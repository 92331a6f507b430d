#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/index_check.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/slice_scatter.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/scattering.h"

namespace plait {
namespace {

struct ScatterOperands {
  Operand data;
  Operand indices;
  Operand updates;
  Operand result;
};

// The data are copied and then written line by line: a line is all updates that differ along the
// axis only, and no two lines write to one place, so that threads divide them. Updates of a line
// keep their order. Other numbers than float32 are met by a SliceScatter, which is told the places.
class ScatterElementsKernel : public CpuKernel {
 public:
  // `scatter`: of updates that meet numbers other than float32.
  ScatterElementsKernel(int width, const ScatterOperands& operands, int axis, Meeting meeting,
                        std::optional<SliceScatter> scatter)
      : width_(width), operands_(operands), meeting_(meeting), scatter_(std::move(scatter)) {
    const Shape& shape = operands.indices.type.shape;
    const Shape strides = RowMajorStrides(shape);
    const Shape data_strides = RowMajorStrides(operands.data.type.shape);
    dim_ = operands.data.type.shape[axis];
    count_ = shape[axis];
    step_ = strides[axis];
    data_step_ = data_strides[axis];
    for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
      if (i == axis) continue;
      outer_.push_back({shape[i], strides[i], data_strides[i]});
      lines_ *= shape[i];
    }
  }

  absl::Status Run() override {
    PLAIT_RETURN_IF_ERROR(
        CheckIndicesInParts(width_, operands_.indices, {dim_}, "ScatterElements"));
    if (!scatter_.has_value()) CopyInParts(width_, operands_.data, operands_.result);
    ForEachPart(width_, lines_, [&](int64_t begin, int64_t end, int) {
      for (int64_t line = begin; line < end; ++line) RunLine(line);
    });
    if (scatter_.has_value()) scatter_->Run();
    return absl::OkStatus();
  }

 private:
  struct OuterAxis {
    int64_t size;
    int64_t stride;
    int64_t data_stride;
  };

  void RunLine(int64_t line) const {
    int64_t first = 0;
    int64_t data_first = 0;
    for (size_t i = outer_.size(); i-- > 0;) {
      const int64_t at = line % outer_[i].size;
      line /= outer_[i].size;
      first += at * outer_[i].stride;
      data_first += at * outer_[i].data_stride;
    }
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t update = first + i * step_;
      const int64_t index = IndexAt(operands_.indices, update);
      Write(update, data_first + (index < 0 ? index + dim_ : index) * data_step_);
    }
  }

  void Write(int64_t update, int64_t place) const {
    if (scatter_.has_value()) {
      scatter_->places()[update] = place;
      return;
    }
    if (meeting_ == Meeting::kReplace) {
      const int64_t bytes = BytesOf(operands_.data.type.dtype);
      std::memcpy(operands_.result.data + place * bytes, operands_.updates.data + update * bytes,
                  static_cast<size_t>(bytes));
      return;
    }
    float& y = operands_.result.floats()[place];
    const float x = operands_.updates.floats()[update];
    // x != x holds for a NaN alone, and nothing is better than one in y: NaNs stay.
    if (meeting_ == Meeting::kAdd) y += x;
    if (meeting_ == Meeting::kMul) y *= x;
    if (meeting_ == Meeting::kMax) y = x > y || x != x ? x : y;
    if (meeting_ == Meeting::kMin) y = x < y || x != x ? x : y;
  }

  const int width_;
  const ScatterOperands operands_;
  const Meeting meeting_;
  const std::optional<SliceScatter> scatter_;
  std::vector<OuterAxis> outer_;
  int64_t lines_ = 1;
  int64_t dim_ = 0;        // of the data, along the axis
  int64_t count_ = 0;      // of a line's updates
  int64_t step_ = 0;       // from one update of a line to the next
  int64_t data_step_ = 0;  // the same of the data
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadScatterElements(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kScatterElementsOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  ScatterOperands operands;
  PLAIT_ASSIGN_OR_RETURN(operands.data, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(operands.indices,
                         FindIn(context, node.inputs[kScatterIndices], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(operands.updates,
                         FindIn(context, node.inputs[kScatterUpdates], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(operands.result, FindIn(context, node.outputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Meeting meeting, MeetingOf(*node.attributes));
  const int axis = *AxisOf(graph, nodes[0], 0);
  std::optional<SliceScatter> scatter;
  if (meeting != Meeting::kReplace && operands.data.type.dtype != DataType::kFloat32) {
    PLAIT_ASSIGN_OR_RETURN(
        scatter,
        SliceScatter::Load(context, meeting, {operands.data, operands.updates, operands.result},
                           operands.indices.type.elements()));
  }
  return std::make_unique<ScatterElementsKernel>(context->width(), operands, axis, meeting,
                                                 std::move(scatter));
}

}  // namespace plait
