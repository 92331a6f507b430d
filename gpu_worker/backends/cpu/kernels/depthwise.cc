#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/depthwise_window.h"
#include "gpu_worker/backends/cpu/kernels/pixel_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {
namespace {

constexpr int64_t kDepthwisePixelsMin = 8;

class DepthwiseKernel : public PixelKernel {
 public:
  DepthwiseKernel(int width, const DepthwiseWindow& window, RowLayer layer)
      : PixelKernel(
            {width, window.pixels(),
             WholeRows(ChunkPixels(width, window.pixels(), kDepthwisePixelsMin), window.columns()),
             PixelsOf(layer.result), std::move(layer.epilogue)}),
        window_(window) {}

 private:
  void RunPixels(int64_t begin, int64_t end, const PixelWindow::Target& to) const override {
    window_.Run(begin, end, to);
  }

  const DepthwiseWindow window_;
};

}  // namespace

// Depthwise convolutions of images in channels-last.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadDepthwise(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kDepthwiseOffer.runs(graph, nodes[0])) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(RowLayer layer, ReadRowLayer(context, Format::kChannelsLast,
                                                      graph.output_type(nodes[0]).shape[1]));
  PLAIT_ASSIGN_OR_RETURN(const DepthwiseWindow window,
                         DepthwiseWindow::Load(context, nodes[0], layer.epilogue.bias()));
  return std::make_unique<DepthwiseKernel>(context->width(), window, std::move(layer));
}

}  // namespace plait
