#include <algorithm>
#include <cmath>
#include <optional>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/reduced_groups.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/reduced_axes.h"

namespace plait {
namespace {

// What becomes of the elements before they are combined, how they are, and what becomes of that.
struct Reduction {
  std::optional<UnaryLoop> first;
  BinaryLoop combine = BinaryLoop::kAdd;
  enum class Last {
    kNothing,
    kMean,
    kRoot,
    kLogarithm,
    kLogarithmOfExponentials
  } last = Last::kNothing;
  int64_t count = 1;  // of the elements that a mean is of
};

Reduction ReductionOf(OpKind op) {
  using Last = Reduction::Last;
  switch (op) {
    case OpKind::kReduceMax:
    case OpKind::kGlobalMaxPool:
      return {.combine = BinaryLoop::kMax};
    case OpKind::kReduceMin:
      return {.combine = BinaryLoop::kMin};
    case OpKind::kReduceSum:
      return {};
    case OpKind::kReduceL1:
      return {.first = UnaryLoop::kAbs};
    case OpKind::kReduceSumSquare:
      return {.first = UnaryLoop::kSquare};
    case OpKind::kReduceL2:
      return {.first = UnaryLoop::kSquare, .last = Last::kRoot};
    case OpKind::kReduceLogSum:
      return {.last = Last::kLogarithm};
    case OpKind::kReduceLogSumExp:
      return {.combine = BinaryLoop::kMax, .last = Last::kLogarithmOfExponentials};
    default:
      return {.last = Last::kMean};
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
    const float combined = CombineRow(row);
    switch (reduction_.last) {
      case Reduction::Last::kNothing:
        return combined;
      case Reduction::Last::kMean:
        return combined / static_cast<float>(reduction_.count);
      case Reduction::Last::kRoot:
        return std::sqrt(combined);
      case Reduction::Last::kLogarithm:
        return std::log(combined);
      case Reduction::Last::kLogarithmOfExponentials: {
        const float shift = ShiftOf(combined);
        return std::log(Loops().sum_of_exponentials(row, shape_.size, shift)) + shift;
      }
    }
    return 0;
  }

  float CombineRow(const float* row) const {
    const LoopTable& loops = Loops();
    if (reduction_.combine == BinaryLoop::kMax) return loops.maximum(row, shape_.size);
    if (reduction_.combine == BinaryLoop::kMin) return loops.minimum(row, shape_.size);
    if (reduction_.first == UnaryLoop::kAbs) return loops.magnitudes(row, shape_.size).sum;
    if (reduction_.first == UnaryLoop::kSquare) return loops.sum_of_squares(row, shape_.size);
    return loops.sum(row, shape_.size);
  }

  // What is subtracted before the exponentials, so that none overflows: the largest element. An
  // infinite one would make NaN of itself.
  static float ShiftOf(float largest) { return std::isinf(largest) ? 0 : largest; }

  // The result is the accumulator: one piece of it stays in the first-level cache for all rows.
  void ReduceColumns(int64_t outer, int64_t first, int64_t width) const {
    const float* const x = source_ + outer * shape_.size * shape_.inner + first;
    float* const y = result_ + outer * shape_.inner + first;
    float piece[kPiece];
    if (reduction_.first.has_value()) {
      Apply(*reduction_.first, x, y, width);
    } else {
      std::copy(x, x + width, y);
    }
    for (int64_t i = 1; i < shape_.size; ++i) {
      const float* row = x + i * shape_.inner;
      if (reduction_.first.has_value()) {
        Apply(*reduction_.first, row, piece, width);
        row = piece;
      }
      Combine(reduction_.combine, y, row, y, width);
    }
    FinishColumns(x, y, width);
  }

  void FinishColumns(const float* x, float* y, int64_t width) const {
    switch (reduction_.last) {
      case Reduction::Last::kNothing:
        return;
      case Reduction::Last::kMean:
        return Apply(UnaryLoop::kLinear, y, y, width, 1.0f / static_cast<float>(reduction_.count));
      case Reduction::Last::kRoot:
        return Apply(UnaryLoop::kSqrt, y, y, width);
      case Reduction::Last::kLogarithm:
        return Apply(UnaryLoop::kLog, y, y, width);
      case Reduction::Last::kLogarithmOfExponentials:
        break;
    }
    float shifts[kPiece];
    float piece[kPiece];
    for (int64_t i = 0; i < width; ++i) shifts[i] = ShiftOf(y[i]);
    std::fill(y, y + width, 0.0f);
    for (int64_t i = 0; i < shape_.size; ++i) {
      Combine(BinaryLoop::kSub, x + i * shape_.inner, shifts, piece, width);
      Apply(UnaryLoop::kExp, piece, piece, width);
      Combine(BinaryLoop::kAdd, y, piece, y, width);
    }
    Apply(UnaryLoop::kLog, y, y, width);
    Combine(BinaryLoop::kAdd, y, shifts, y, width);
  }

  static void Apply(UnaryLoop loop, const float* x, float* y, int64_t size, float alpha = 0) {
    Loops().unary[static_cast<int>(loop)](x, y, size, alpha, 0);
  }
  static void Combine(BinaryLoop loop, const float* a, const float* b, float* y, int64_t size) {
    Loops().binary[static_cast<int>(loop)](a, b, y, size);
  }

  int threads_;
  Reduction reduction_;
  ReducedShape shape_;
  const float* source_;
  float* result_;
};

// One reduction after the other.
class StagedReduceKernel : public CpuKernel {
 public:
  explicit StagedReduceKernel(std::vector<ReduceKernel> stages) : stages_(std::move(stages)) {}

  absl::Status Run() override {
    for (ReduceKernel& stage : stages_) PLAIT_RETURN_IF_ERROR(stage.Run());
    return absl::OkStatus();
  }

 private:
  std::vector<ReduceKernel> stages_;
};

// A shape for each group of axes that are reduced, the innermost one first: [4, 6, 5, 3] over axes
// 0 and 2 is [24, 5, 3], and then what is left, [1, 4, 18].
std::vector<ReducedShape> StagesOf(const Shape& shape, absl::Span<const int> axes) {
  const std::vector<ReducedGroup> groups = ReducedGroupsOf(shape, axes);
  std::vector<ReducedShape> stages;
  int64_t outer = ElementsOf(shape);
  int64_t inner = 1;
  for (size_t i = groups.size(); i-- > 0;) {
    outer /= groups[i].size;
    if (groups[i].is_reduced) {
      stages.push_back({outer, groups[i].size, inner});
    } else {
      inner *= groups[i].size;
    }
  }
  if (stages.empty()) stages.push_back({1, 1, inner});
  return stages;
}

// What is done to the elements is done in the first stage, and what is done at the end in the last
// one. A logarithm of a sum of exponentials is that of its parts' logarithms.
Reduction ReductionIn(size_t stage, size_t stages, Reduction reduction) {
  if (reduction.last == Reduction::Last::kLogarithmOfExponentials) return reduction;
  if (stage > 0) reduction.first = std::nullopt;
  if (stage + 1 < stages) reduction.last = Reduction::Last::kNothing;
  return reduction;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadReduce(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kReduceOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(node.inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(node.outputs[0]));
  if (result.format != Format::kPlain) return context->Refuse();
  const std::vector<int> axes = *ReducedAxes(graph, nodes[0]);
  const Shape& shape = source.type.shape;
  Reduction reduction = ReductionOf(node.op);
  reduction.count = source.type.elements() / result.type.elements();
  std::vector<ReducedShape> shapes = StagesOf(shape, axes);
  if (source.format == Format::kChannelsLast) {
    // Pixels lie between images and channels.
    if (axes != std::vector<int>({2, 3})) return context->Refuse();
    shapes = {{shape[0], shape[2] * shape[3], shape[1]}};
  }
  std::vector<ReduceKernel> stages;
  const float* from = source.floats();
  for (size_t i = 0; i < shapes.size(); ++i) {
    float* to = result.floats();
    if (i + 1 < shapes.size()) {
      PLAIT_ASSIGN_OR_RETURN(to, ScratchOf<float>(context, shapes[i].outer * shapes[i].inner));
    }
    stages.emplace_back(context->width(), ReductionIn(i, shapes.size(), reduction), shapes[i], from,
                        to);
    from = to;
  }
  return std::make_unique<StagedReduceKernel>(std::move(stages));
}

}  // namespace plait
