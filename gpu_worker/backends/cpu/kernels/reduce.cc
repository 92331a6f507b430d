#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/reduced_axes.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

enum class Reduction { kSum, kMean, kMaximum, kMinimum };

Reduction ReductionOf(OpKind op) {
  switch (op) {
    case OpKind::kReduceMax:
    case OpKind::kGlobalMaxPool:
      return Reduction::kMaximum;
    case OpKind::kReduceMin:
      return Reduction::kMinimum;
    case OpKind::kReduceSum:
      return Reduction::kSum;
    default:
      return Reduction::kMean;
  }
}

// The input as [outer, size, inner], whose middle axis goes.
struct ReducedShape {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
};

// The mean over the pixels of a [1, 2048, 7, 7] image is [2048, 49, 1] row-major and [1, 49, 2048]
// in channels-last. In the first each thread sums rows of 49 neighbours. In the second 64 columns
// at a time are added up row by row: vectors side by side, four of which hold the sums of one step,
// and the threads divide the 32 pieces of columns.
class ReduceKernel : public CpuKernel {
 public:
  ReduceKernel(int threads, Reduction reduction, const ReducedShape& shape, const float* source,
               float* result)
      : threads_(threads), reduction_(reduction), shape_(shape), source_(source), result_(result) {}

  absl::Status Run() override {
    const int64_t pieces = (shape_.inner + kPiece - 1) / kPiece;
    ForEachPart(threads_, shape_.outer * pieces, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        if (shape_.inner == 1) {
          result_[i] = ReduceRow(source_ + i * shape_.size);
        } else {
          const int64_t first = i % pieces * kPiece;
          ReduceColumns(i / pieces, first, std::min(kPiece, shape_.inner - first));
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kPiece = 64;  // four vectors of AVX-512: wide enough, and divisible

  float ReduceRow(const float* row) const {
    const LoopTable& loops = Loops();
    switch (reduction_) {
      case Reduction::kMaximum:
        return loops.maximum(row, shape_.size);
      case Reduction::kMinimum:
        return loops.minimum(row, shape_.size);
      case Reduction::kSum:
        return loops.sum(row, shape_.size);
      case Reduction::kMean:
        return loops.sum(row, shape_.size) / static_cast<float>(shape_.size);
    }
    return 0;
  }

  // The result is the accumulator: one piece of it stays in the first-level cache for all rows.
  void ReduceColumns(int64_t outer, int64_t first, int64_t width) const {
    const LoopTable& loops = Loops();
    BinaryLoop step = BinaryLoop::kAdd;
    if (reduction_ == Reduction::kMaximum) step = BinaryLoop::kMax;
    if (reduction_ == Reduction::kMinimum) step = BinaryLoop::kMin;
    const float* const x = source_ + outer * shape_.size * shape_.inner + first;
    float* const y = result_ + outer * shape_.inner + first;
    std::copy(x, x + width, y);
    for (int64_t i = 1; i < shape_.size; ++i) {
      loops.binary[static_cast<int>(step)](y, x + i * shape_.inner, y, width);
    }
    if (reduction_ != Reduction::kMean) return;
    loops.unary[static_cast<int>(UnaryLoop::kLinear)](y, y, width,
                                                      1.0f / static_cast<float>(shape_.size), 0);
  }

  int threads_;
  Reduction reduction_;
  ReducedShape shape_;
  const float* source_;
  float* result_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadReduce(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kReduceOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(node.inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(node.outputs[0]));
  const std::vector<int> axes = *ReducedAxes(graph, nodes[0]);
  const Shape& shape = source.type.shape;
  ReducedShape reduced;
  if (source.format == Format::kChannelsLast) {
    // Pixels lie between images and channels.
    if (axes != std::vector<int>({2, 3})) return context->Refuse();
    reduced = {shape[0], shape[2] * shape[3], shape[1]};
  } else {
    for (int i = 0; i < source.type.rank(); ++i) {
      const bool is_inner = i > axes.back();
      const bool is_outer = i < axes.front();
      (is_outer ? reduced.outer : is_inner ? reduced.inner : reduced.size) *= shape[i];
    }
  }
  if (result.format != Format::kPlain) return context->Refuse();
  return std::make_unique<ReduceKernel>(context->width(), ReductionOf(node.op), reduced,
                                        source.floats(), result.floats());
}

}  // namespace plait
