#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/pixel_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {
namespace {

constexpr int64_t kChunkPixelsMin = 4;

enum class Pool {
  kLargest,
  kMean,           // of what lies on the source
  kMeanWithZeros,  // of the padding too
};

class PoolKernel : public PixelKernel {
 public:
  PoolKernel(int width, Pool pool, const PixelWindow& window, const Operand& result)
      : PixelKernel({width, window.pixels(), ChunkPixels(width, window.pixels(), kChunkPixelsMin),
                     PixelsOf(result), RowEpilogue()}),
        pool_(pool),
        window_(window) {
    for (int axis = 0; axis < 2; ++axis) {
      padded_[axis] = window.axis(axis);
      if (pool != Pool::kMeanWithZeros) continue;
      // The padding as if it were source.
      padded_[axis].input += padded_[axis].pad_begin + padded_[axis].pad_end;
      padded_[axis].pad_begin = 0;
    }
  }

 private:
  void RunPixels(int64_t begin, int64_t end, const PixelWindow::Target& to) const override {
    window_.ForEachRun(begin, end, to, [&](const PixelWindow::Run& run) {
      if (pool_ == Pool::kLargest) {
        Loops().largest_pixels(run.pixels);
      } else {
        Loops().mean_pixels(run.pixels, static_cast<float>(CountedAt(run.at)));
      }
    });
  }

  // How many taps of a pixel's window count; a window that misses the source has the sum 0,
  // whatever it is divided by.
  int64_t CountedAt(const int64_t (&at)[2]) const {
    int64_t counted = 1;
    for (int axis = 0; axis < 2; ++axis) {
      counted *= padded_[axis].kernel_end(at[axis]) - padded_[axis].kernel_begin(at[axis]);
    }
    return std::max<int64_t>(counted, 1);
  }

  const Pool pool_;
  const PixelWindow window_;
  WindowAxis padded_[2];
};

Pool PoolOf(const Node& node) {
  if (node.op == OpKind::kMaxPool) return Pool::kLargest;
  return node.attributes->Int("count_include_pad", 0) != 0 ? Pool::kMeanWithZeros : Pool::kMean;
}

}  // namespace

// AveragePool and MaxPool of images in channels-last.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadPoolPixels(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kPoolPixelsOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source,
                         FindIn(context, node.inputs[0], Format::kChannelsLast));
  PLAIT_ASSIGN_OR_RETURN(const Operand result,
                         FindIn(context, node.outputs[0], Format::kChannelsLast));
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<WindowAxis> axes,
      ReadWindow(*node.attributes, source.type, node.attributes->Ints("kernel_shape"),
                 node.attributes->Int("ceil_mode", 0) != 0));
  return std::make_unique<PoolKernel>(context->width(), PoolOf(node), PixelWindow(source, axes),
                                      result);
}

}  // namespace plait
