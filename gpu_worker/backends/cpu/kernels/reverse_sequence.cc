#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/index_check.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

// The first two axes count steps and sequences, in one order or the other; what lies behind them is
// copied whole.
class ReverseSequenceKernel : public CpuKernel {
 public:
  ReverseSequenceKernel(int width, int time_axis, const Operand& source, const Operand& lengths,
                        const Operand& result)
      : width_(width),
        time_axis_(time_axis),
        source_(source),
        lengths_(lengths),
        result_(result),
        steps_(source.type.shape[time_axis]),
        columns_(source.type.shape[1]) {}

  absl::Status Run() override {
    for (int64_t i = 0; i < lengths_.type.elements(); ++i) {
      const int64_t length = IndexAt(lengths_, i);
      if (length < 0 || length > steps_) {
        return absl::InvalidArgumentError(absl::StrCat("ReverseSequence: a sequence of ", length,
                                                       " elements on an axis of ", steps_));
      }
    }
    const int64_t rows = source_.type.shape[0] * columns_;
    const int64_t row_bytes = source_.type.bytes() / rows;
    ForEachPart(width_, rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        std::memcpy(result_.data + row * row_bytes, source_.data + SourceOf(row) * row_bytes,
                    static_cast<size_t>(row_bytes));
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t SourceOf(int64_t row) const {
    const bool steps_first = time_axis_ == 0;
    const int64_t step = steps_first ? row / columns_ : row % columns_;
    const int64_t length = IndexAt(lengths_, steps_first ? row % columns_ : row / columns_);
    if (step >= length) return row;
    return row + (length - 1 - 2 * step) * (steps_first ? columns_ : 1);
  }

  const int width_;
  const int time_axis_;  // 0 or 1
  const Operand source_;
  const Operand lengths_;
  const Operand result_;
  const int64_t steps_;
  const int64_t columns_;  // along the second axis
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadReverseSequence(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kReverseSequenceOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand lengths, FindIn(context, node.inputs[1], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, node.outputs[0], Format::kPlain));
  const auto time_axis = static_cast<int>(node.attributes->Int("time_axis", 0));
  return std::make_unique<ReverseSequenceKernel>(context->width(), time_axis, source, lengths,
                                                 result);
}

}  // namespace plait
