#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/ops/shared/channel_planes.h"

namespace plait {
namespace {

struct LrnWindow {
  int64_t size = 1;  // in channels
  float alpha = 0;   // of one channel
  float beta = 0;
  float bias = 0;
};

// Of a [1, 96, 55, 55] image and a window of 5 channels a thread takes pieces of 256 pixels: for
// each channel it adds up the squares of 5 rows of 256 neighbours, 4 of which it has just read, so
// that they come from the first-level cache.
class LrnKernel : public CpuKernel {
 public:
  LrnKernel(int width, const ChannelPlanes& planes, const LrnWindow& window, const float* source,
            float* result)
      : width_(width), planes_(planes), window_(window), source_(source), result_(result) {}

  absl::Status Run() override {
    const int64_t pieces = CeilDiv(planes_.elements, kPiece);
    const int64_t images = planes_.planes / planes_.channels;
    ForEachPart(width_, images * pieces, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * kPiece;
        RunPiece(i / pieces * planes_.channels * planes_.elements + first,
                 std::min(kPiece, planes_.elements - first));
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kPiece = 256;

  void RunPiece(int64_t offset, int64_t pixels) const {
    float sums[kPiece];
    const float* const x = source_ + offset;
    for (int64_t c = 0; c < planes_.channels; ++c) {
      const int64_t begin = c - std::min(c, (window_.size - 1) / 2);
      const int64_t end = c + std::min(planes_.channels - 1 - c, window_.size / 2) + 1;
      std::fill(sums, sums + pixels, 0.0f);
      for (int64_t other = begin; other < end; ++other) {
        const float* const row = x + other * planes_.elements;
        Loops().multiply_add(row, row, sums, sums, pixels);
      }
      Apply(UnaryLoop::kLinear, sums, pixels, window_.alpha, window_.bias);
      float* const y = result_ + offset + c * planes_.elements;
      Divide(x + c * planes_.elements, sums, y, pixels);
    }
  }

  // y = x / sums^beta. The usual exponent, 3/4, is two roots.
  void Divide(const float* x, float* sums, float* y, int64_t size) const {
    if (window_.beta == 0.75f) {
      float roots[kPiece];
      Loops().unary[static_cast<int>(UnaryLoop::kSqrt)](sums, roots, size, 0, 0);
      std::copy(roots, roots + size, sums);
      Apply(UnaryLoop::kSqrt, sums, size);
      Combine(BinaryLoop::kMul, sums, roots, sums, size);
    } else {
      Apply(UnaryLoop::kLog, sums, size);
      Apply(UnaryLoop::kLinear, sums, size, window_.beta);
      Apply(UnaryLoop::kExp, sums, size);
    }
    Combine(BinaryLoop::kDiv, x, sums, y, size);
  }

  static void Apply(UnaryLoop loop, float* x, int64_t size, float alpha = 0, float beta = 0) {
    Loops().unary[static_cast<int>(loop)](x, x, size, alpha, beta);
  }
  static void Combine(BinaryLoop loop, const float* a, const float* b, float* y, int64_t size) {
    Loops().binary[static_cast<int>(loop)](a, b, y, size);
  }

  const int width_;
  const ChannelPlanes planes_;
  const LrnWindow window_;
  const float* const source_;
  float* const result_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadLrn(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kLrnOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, node.outputs[0], Format::kPlain));
  LrnWindow window;
  window.size = node.attributes->Int("size", 1);
  window.alpha = node.attributes->Float("alpha", 1e-4f) / static_cast<float>(window.size);
  window.beta = node.attributes->Float("beta", 0.75f);
  window.bias = node.attributes->Float("bias", 1.0f);
  return std::make_unique<LrnKernel>(context->width(), ChannelPlanes(source.type), window,
                                     source.floats(), result.floats());
}

}  // namespace plait
