#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/softmax_pattern.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/ops/shared/axes.h"

// Softmax of 1, 2, 4: the maximum, 4, is subtracted first, which changes nothing in exact
// arithmetic, because numerator and denominator lose the same factor. exp(-3), exp(-2), exp(0) are
// 0.050, 0.135, 1; their sum is 1.185, and the weights are 0.042, 0.114, 0.844. No exponent is
// above 0, so that nothing overflows, and one term is exactly 1, so that the sum is never 0.
// LogSoftmax is x - maximum - log(sum), and never takes the logarithm of a weight that has become
// 0.
//
// Rows of the last axis are contiguous: one row at a time, in vectors. Along another axis a row's
// elements lie `inner` apart, and walking it would touch a cache line per element. There 256
// neighbouring columns are walked together: every step along the axis reads 1 KiB side by side, and
// maximum, sum and exponential of all columns are three small arrays.

namespace plait {
namespace {

// Along the last axis: whole rows, with scale and mask applied while they are read.
class RowSoftmaxKernel : public CpuKernel {
 public:
  // `mask_strides`: distance between mask rows along each axis but the last; 0 repeats.
  RowSoftmaxKernel(int threads, SoftmaxRow row, Shape outer, Shape mask_strides)
      : threads_(threads), row_(row), outer_(std::move(outer)), strides_(std::move(mask_strides)) {
    for (const int64_t size : outer_) rows_ *= size;
  }

  absl::Status Run() override {
    const LoopTable& loops = Loops();
    ForEachPart(threads_, rows_, [&](int64_t begin, int64_t end, int) {
      SoftmaxRow row = row_;
      for (int64_t i = begin; i < end; ++i) {
        row.x = row_.x + i * row.size;
        row.y = row_.y + i * row.size;
        if (row_.mask != nullptr) row.mask = row_.mask + MaskOffset(i);
        loops.softmax_row(row);
      }
    });
    return absl::OkStatus();
  }

 private:
  // The mask's row for a row of the source, by the mask's own axes: 0 along those that repeat.
  int64_t MaskOffset(int64_t row) const {
    int64_t offset = 0;
    for (int i = static_cast<int>(outer_.size()) - 1; i >= 0; --i) {
      offset += row % outer_[i] * strides_[i];
      row /= outer_[i];
    }
    return offset;
  }

  int threads_;
  SoftmaxRow row_;
  Shape outer_;
  Shape strides_;
  int64_t rows_ = 1;
};

// Along another axis: `inner` softmaxes side by side, in vectors.
class ColumnSoftmaxKernel : public CpuKernel {
 public:
  ColumnSoftmaxKernel(int threads, const Operand& source, const Operand& result, int axis)
      : threads_(threads), source_(source.floats()), result_(result.floats()) {
    const Shape& shape = source.type.shape;
    for (int i = 0; i < axis; ++i) outer_ *= shape[i];
    size_ = shape[axis];
    for (int i = axis + 1; i < source.type.rank(); ++i) inner_ *= shape[i];
  }

  void set_logarithm(bool logarithm) { logarithm_ = logarithm; }

  absl::Status Run() override {
    const int64_t pieces = (inner_ + kPiece - 1) / kPiece;
    ForEachPart(threads_, outer_ * pieces, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * kPiece;
        RunPiece(i / pieces * size_ * inner_ + first, std::min(kPiece, inner_ - first));
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kPiece = 256;  // two such rows of scratch stay in the first-level cache

  static LoopTable::Binary Binary(BinaryLoop loop) {
    return Loops().binary[static_cast<int>(loop)];
  }
  static LoopTable::Unary Unary(UnaryLoop loop) { return Loops().unary[static_cast<int>(loop)]; }

  // Two passes over the source and one more over the result. Between them a row of the result holds
  // the exponentials, or for the logarithm the shifted values, so that nothing is computed twice.
  void RunPiece(int64_t offset, int64_t width) const {
    float best[kPiece];
    float sum[kPiece] = {};
    float exponential[kPiece];
    const float* const x = source_ + offset;
    float* const y = result_ + offset;
    Unary(UnaryLoop::kCopy)(x, best, width, 0, 0);
    for (int64_t i = 1; i < size_; ++i) {
      Binary(BinaryLoop::kMax)(best, x + i * inner_, best, width);
    }
    for (int64_t i = 0; i < size_; ++i) {
      float* const row = y + i * inner_;
      Binary(BinaryLoop::kSub)(x + i * inner_, best, row, width);
      Unary(UnaryLoop::kExp)(row, exponential, width, 0, 0);
      Binary(BinaryLoop::kAdd)(sum, exponential, sum, width);
      if (!logarithm_) Unary(UnaryLoop::kCopy)(exponential, row, width, 0, 0);
    }
    if (logarithm_) Unary(UnaryLoop::kLog)(sum, sum, width, 0, 0);
    const BinaryLoop finish = logarithm_ ? BinaryLoop::kSub : BinaryLoop::kDiv;
    for (int64_t i = 0; i < size_; ++i) Binary(finish)(y + i * inner_, sum, y + i * inner_, width);
  }

  int threads_;
  const float* source_;
  float* result_;
  int64_t outer_ = 1;
  int64_t size_ = 1;
  int64_t inner_ = 1;
  bool logarithm_ = false;
};

// Distances between the mask's rows for a value of `shape`, whose last axis is the row.
Shape MaskStrides(const Operand& mask, const Shape& shape) {
  Shape strides(shape.size() - 1, 0);
  const size_t lead = shape.size() - mask.type.shape.size();
  const Shape own = mask.strides();
  for (size_t i = lead; i + 1 < shape.size(); ++i) {
    strides[i] = mask.type.shape[i - lead] == 1 ? 0 : own[i - lead];
  }
  return strides;
}

}  // namespace

// Nodes: a softmax, with the scaling before it and the mask that is added, as ParseSoftmax finds
// them.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadSoftmax(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::optional<SoftmaxPattern> pattern = ParseSoftmax(graph, context->kernel().nodes);
  if (!pattern.has_value()) return context->Refuse();
  const Node& node = graph.node(pattern->softmax);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(pattern->input));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(node.outputs[0]));
  if (source.format != Format::kPlain || result.format != Format::kPlain) return context->Refuse();
  const Shape& shape = source.type.shape;
  const int64_t axis = NormalAxis(node.attributes->Int("axis", -1), source.type.rank());
  const bool logarithm = node.op == OpKind::kLogSoftmax;
  if (axis + 1 < source.type.rank()) {
    auto kernel = std::make_unique<ColumnSoftmaxKernel>(context->width(), source, result,
                                                        static_cast<int>(axis));
    kernel->set_logarithm(logarithm);
    return kernel;
  }
  SoftmaxRow row = {source.floats(), nullptr,        result.floats(),
                    shape.back(),    pattern->scale, logarithm};
  Shape mask_strides(shape.size() - 1, 0);
  if (pattern->mask != kNoTensor) {
    PLAIT_ASSIGN_OR_RETURN(const Operand mask, context->Find(pattern->mask));
    if (mask.format != Format::kPlain) return context->Refuse();
    row.mask = mask.floats();
    mask_strides = MaskStrides(mask, shape);
  }
  return std::make_unique<RowSoftmaxKernel>(context->width(), row,
                                            Shape(shape.begin(), shape.end() - 1), mask_strides);
}

}  // namespace plait
