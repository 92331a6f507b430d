#include <algorithm>
#include <cstring>
#include <optional>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/index_check.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

// Of each row of a matrix one end is copied, and the other one is zeros.
class TriluKernel : public CpuKernel {
 public:
  // `diagonal`: nullopt: 0.
  TriluKernel(int width, bool is_upper, const Operand& source, const Operand& result,
              const std::optional<Operand>& diagonal)
      : width_(width),
        is_upper_(is_upper),
        source_(source),
        result_(result),
        diagonal_(diagonal),
        rows_(source.type.shape[source.type.rank() - 2]),
        columns_(source.type.shape.back()) {}

  absl::Status Run() override {
    // Farther diagonals keep all or nothing, as these do.
    const int64_t diagonal =
        std::clamp(diagonal_.has_value() ? IndexAt(*diagonal_, 0) : 0, -rows_ - 1, columns_ + 1);
    const int64_t element_bytes = BytesOf(source_.type.dtype);
    ForEachPart(width_, source_.type.elements() / columns_, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t cut = row % rows_ + diagonal + (is_upper_ ? 0 : 1);
        const int64_t front = std::clamp<int64_t>(cut, 0, columns_) * element_bytes;
        const int64_t first = row * columns_ * element_bytes;
        const int64_t back = columns_ * element_bytes - front;
        WritePart(first, front, !is_upper_);
        WritePart(first + front, back, is_upper_);
      }
    });
    return absl::OkStatus();
  }

 private:
  void WritePart(int64_t first, int64_t bytes, bool keeps) const {
    if (keeps) {
      std::memcpy(result_.data + first, source_.data + first, static_cast<size_t>(bytes));
    } else {
      std::memset(result_.data + first, 0, static_cast<size_t>(bytes));
    }
  }

  const int width_;
  const bool is_upper_;
  const Operand source_;
  const Operand result_;
  const std::optional<Operand> diagonal_;
  const int64_t rows_;  // of a matrix
  const int64_t columns_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadTrilu(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kTriluOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, node.outputs[0], Format::kPlain));
  std::optional<Operand> diagonal;
  if (node.inputs.size() > 1 && node.inputs[1] != kNoTensor) {
    PLAIT_ASSIGN_OR_RETURN(diagonal, FindIn(context, node.inputs[1], Format::kPlain));
  }
  const bool is_upper = node.attributes->Int("upper", 1) != 0;
  return std::make_unique<TriluKernel>(context->width(), is_upper, source, result, diagonal);
}

}  // namespace plait
