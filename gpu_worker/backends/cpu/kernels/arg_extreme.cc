#include <algorithm>
#include <cmath>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// What is looked for in the middle axis of [outer, size, inner].
struct Extreme {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  bool largest = true;
  bool last = false;
};

// In rows of neighbours the extreme is found first and then its place, both by vectors. Where
// columns lie side by side, pieces of 64 of them keep their best and its place in the first-level
// cache while the rows pass by.
class ArgExtremeKernel : public CpuKernel {
 public:
  ArgExtremeKernel(int width, const Extreme& extreme, const float* source, int64_t* result)
      : width_(width), extreme_(extreme), source_(source), result_(result) {}

  absl::Status Run() override {
    const int64_t pieces = CeilDiv(extreme_.inner, kPiece);
    ForEachPart(width_, extreme_.outer * pieces, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        if (extreme_.inner == 1) {
          result_[i] = FindInRow(source_ + i * extreme_.size);
        } else {
          const int64_t first = i % pieces * kPiece;
          FindInColumns(i / pieces, first, std::min(kPiece, extreme_.inner - first));
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kPiece = 64;

  // A NaN anywhere makes the extreme one, and is what is looked for then.
  int64_t FindInRow(const float* row) const {
    const LoopTable& loops = Loops();
    const float best =
        extreme_.largest ? loops.maximum(row, extreme_.size) : loops.minimum(row, extreme_.size);
    const auto is_best = [best](float x) { return x == best || (x != x && best != best); };
    const float* const end = row + extreme_.size;
    if (!extreme_.last) return std::find_if(row, end, is_best) - row;
    const auto reversed = std::make_reverse_iterator(end);
    return extreme_.size - 1 -
           (std::find_if(reversed, std::make_reverse_iterator(row), is_best) - reversed);
  }

  void FindInColumns(int64_t outer, int64_t first, int64_t width) const {
    const auto step = Loops().best_columns[extreme_.largest ? 1 : 0][extreme_.last ? 1 : 0];
    const float* const x = source_ + outer * extreme_.size * extreme_.inner + first;
    float best[kPiece];
    int32_t places[kPiece] = {};
    std::copy(x, x + width, best);
    for (int64_t i = 1; i < extreme_.size; ++i) {
      step(x + i * extreme_.inner, static_cast<int32_t>(i), best, places, width);
    }
    std::copy(places, places + width, result_ + outer * extreme_.inner + first);
  }

  const int width_;
  const Extreme extreme_;
  const float* const source_;
  int64_t* const result_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadArgExtreme(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kArgExtremeOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, node.outputs[0], Format::kPlain));
  const int axis = *AxisOf(graph, nodes[0], 0);
  Extreme extreme;
  for (int i = 0; i < source.type.rank(); ++i) {
    (i < axis ? extreme.outer : i > axis ? extreme.inner : extreme.size) *= source.type.shape[i];
  }
  extreme.largest = node.op == OpKind::kArgMax;
  extreme.last = node.attributes->Int("select_last_index", 0) != 0;
  return std::make_unique<ArgExtremeKernel>(context->width(), extreme, source.floats(),
                                            reinterpret_cast<int64_t*>(result.data));
}

}  // namespace plait
