#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/depthwise_window.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

// Few enough to be in the first cache when what follows is applied, and enough to hide that.
constexpr int64_t kChunkPixelsMin = 8;
constexpr int64_t kChunkPixelsMax = 64;

class DepthwiseKernel : public CpuKernel {
 public:
  DepthwiseKernel(int threads, const DepthwiseWindow& window, RowEpilogue epilogue,
                  const PixelWindow::Target& result)
      : threads_(threads),
        window_(window),
        epilogue_(std::move(epilogue)),
        result_(result),
        chunk_pixels_(std::clamp(window_.pixels() / (int64_t{8} * threads), kChunkPixelsMin,
                                 kChunkPixelsMax)) {}

  absl::Status Run() override {
    ForEachPart(threads_, CeilDiv(window_.pixels(), chunk_pixels_),
                [&](int64_t begin, int64_t end, int) {
                  for (int64_t chunk = begin; chunk < end; ++chunk) RunChunk(chunk);
                });
    return absl::OkStatus();
  }

 private:
  void RunChunk(int64_t chunk) const {
    const int64_t begin = chunk * chunk_pixels_;
    const int64_t end = std::min(window_.pixels(), begin + chunk_pixels_);
    PixelWindow::Target pixels = result_;
    pixels.data += begin * pixels.pixel_floats;
    window_.Run(begin, end, pixels);
    epilogue_.ApplyToRows(pixels.data, begin, end - begin);
  }

  const int threads_;
  const DepthwiseWindow window_;
  const RowEpilogue epilogue_;
  const PixelWindow::Target result_;
  const int64_t chunk_pixels_;
};

}  // namespace

// Depthwise convolutions of images in channels-last.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadDepthwise(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kDepthwiseOffer.runs(graph, nodes[0])) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(RowLayer layer, ReadRowLayer(context, Format::kChannelsLast,
                                                      graph.output_type(nodes[0]).shape[1]));
  PLAIT_ASSIGN_OR_RETURN(DepthwiseWindow window,
                         DepthwiseWindow::Load(context, nodes[0], layer.epilogue.bias()));
  return std::make_unique<DepthwiseKernel>(
      context->width(), window, std::move(layer.epilogue),
      PixelWindow::Target{layer.result.floats(), layer.result.pixel_elements()});
}

}  // namespace plait
