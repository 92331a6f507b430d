#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/pixel_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {
namespace {

// Weights are read once for all pixels of a chunk that lie in one row.
constexpr int64_t kChunkPixelsMax = 64;

class GroupedKernel : public PixelKernel {
 public:
  GroupedKernel(int width, const PixelWindow& window, RowLayer layer)
      : PixelKernel({width, window.pixels(), std::min(window.axis(1).output, kChunkPixelsMax),
                     PixelsOf(layer.result), std::move(layer.epilogue)}),
        window_(window) {}

  // Errors: those of ConstantValue; ResourceExhausted.
  absl::Status PackWeights(LoadContext* context, const Node& node);

 private:
  void RunPixels(int64_t begin, int64_t end, const PixelWindow::Target& to) const override {
    window_.ForEachRun(begin, end, to, [&](const PixelWindow::Run& run) {
      const int64_t columns = window_.axis(1).kernel;
      const int64_t first_tap = run.first_tap[0] * columns + run.first_tap[1];
      Loops().grouped_pixels({run.pixels, weights_ + first_tap * tap_floats_, columns * tap_floats_,
                              window_.axis(0).kernel * columns * tap_floats_, bias(),
                              group_channels_});
    });
  }

  const PixelWindow window_;
  float* weights_ = nullptr;  // as GroupedPixels says
  int64_t group_channels_ = 0;
  int64_t tap_floats_ = 0;  // of a vector of results
};

absl::Status GroupedKernel::PackWeights(LoadContext* context, const Node& node) {
  const TensorType& type = context->graph().type(node.inputs[1]);
  const Shape& shape = type.shape;
  const int64_t taps = shape[2] * shape[3];
  const int64_t vector_floats = Loops().vector_floats;
  group_channels_ = shape[1];
  tap_floats_ = group_channels_ * vector_floats;
  const Fingerprint form = FingerprintBuilder().Add("grouped").Add(vector_floats).Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePacked(type.bytes(), form));
  weights_ = reinterpret_cast<float*>(place.data);
  if (place.is_packed) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const Tensor tensor, context->ConstantValue(node.inputs[1]));
  const auto* const values = reinterpret_cast<const float*>(tensor.bytes().data());
  for (int64_t c = 0; c < shape[0]; ++c) {
    float* const vector = weights_ + c / vector_floats * taps * tap_floats_ + c % vector_floats;
    for (int64_t s = 0; s < group_channels_; ++s) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        vector[tap * tap_floats_ + s * vector_floats] =
            values[(c * group_channels_ + s) * taps + tap];
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

// Convolutions of images in channels-last by few channels a group (see loops/loops.h).
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConvGrouped(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kConvGroupedOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(RowLayer layer, ReadRowLayer(context, Format::kChannelsLast,
                                                      graph.output_type(nodes[0]).shape[1]));
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<WindowAxis> axes,
      ReadWindow(*node.attributes, layer.source.type,
                 absl::MakeConstSpan(graph.input_type(nodes[0], 1).shape).subspan(2),
                 /*ceil_mode=*/false));
  const PixelWindow window(layer.source, axes);
  auto kernel = std::make_unique<GroupedKernel>(context->width(), window, std::move(layer));
  PLAIT_RETURN_IF_ERROR(kernel->PackWeights(context, node));
  return kernel;
}

}  // namespace plait
