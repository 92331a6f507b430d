#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/pixel_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {
namespace {

constexpr int64_t kPooledPixelsMin = 4;

enum class Pool {
  kLargest,
  kMean,           // of what lies on the source
  kMeanWithZeros,  // of the padding too
};

class PoolKernel : public PixelKernel {
 public:
  PoolKernel(int width, Pool pool, const PixelWindow& window, RowLayer layer)
      : PixelKernel({width, window.pixels(),
                     WholeRows(ChunkPixels(width, window.pixels(), kPooledPixelsMin),
                               window.axis(1).output),
                     PixelsOf(layer.result), std::move(layer.epilogue)}),
        pool_(pool),
        window_(window),
        by_rows_(window.axis(1).dilation == 1 &&
                 HasPoolRow(window.axis(1).kernel, window.axis(1).stride)) {
    for (int axis = 0; axis < 2; ++axis) {
      padded_[axis] = window.axis(axis);
      if (pool != Pool::kMeanWithZeros) continue;
      // The padding as if it were source.
      padded_[axis].input += padded_[axis].pad_begin + padded_[axis].pad_end;
      padded_[axis].pad_begin = 0;
    }
    if (pool == Pool::kLargest) return;
    for (int64_t row = 0; row < padded_[0].output; ++row) {
      for (int64_t column = 0; column < padded_[1].output; ++column) {
        divisors_.push_back(static_cast<float>(CountedAt(row, column)));
      }
    }
  }

 private:
  void RunPixels(int64_t begin, int64_t end, const PixelWindow::Target& to) const override {
    if (by_rows_) {
      return window_.ForEachRow(begin, end, to, [&](const PixelWindow::Row& row) {
        if (pool_ == Pool::kLargest) {
          Loops().largest_row({row.pixels});
        } else {
          Loops().mean_row({row.pixels, &DivisorAt(row.at)});
        }
      });
    }
    window_.ForEachRun(begin, end, to, [&](const PixelWindow::Run& run) {
      if (pool_ == Pool::kLargest) {
        Loops().largest_pixels(run.pixels);
      } else {
        Loops().mean_pixels(run.pixels, DivisorAt(run.at));
      }
    });
  }

  // How many taps of a pixel's window count; a window that misses the source has the sum 0,
  // whatever it is divided by.
  int64_t CountedAt(int64_t row, int64_t column) const {
    const int64_t rows = padded_[0].kernel_end(row) - padded_[0].kernel_begin(row);
    const int64_t columns = padded_[1].kernel_end(column) - padded_[1].kernel_begin(column);
    return std::max<int64_t>(rows * columns, 1);
  }

  const float& DivisorAt(const int64_t (&at)[2]) const {
    return divisors_[at[0] * padded_[1].output + at[1]];
  }

  const Pool pool_;
  const PixelWindow window_;
  const bool by_rows_;
  WindowAxis padded_[2];
  std::vector<float> divisors_;  // of each pixel of an image
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
  if (nodes.empty() || !kPoolPixelsOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(RowLayer layer, ReadRowLayer(context, Format::kChannelsLast,
                                                      graph.output_type(nodes[0]).shape[1]));
  // The loops begin with nothing.
  if (layer.epilogue.bias() != nullptr) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<WindowAxis> axes,
      ReadWindow(*node.attributes, layer.source.type, node.attributes->Ints("kernel_shape"),
                 node.attributes->Int("ceil_mode", 0) != 0));
  const PixelWindow window(layer.source, axes);
  return std::make_unique<PoolKernel>(context->width(), PoolOf(node), window, std::move(layer));
}

}  // namespace plait
