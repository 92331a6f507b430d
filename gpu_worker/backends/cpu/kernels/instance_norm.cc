#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

// Each channel of each image, or each group of channels, is a row that is normalized on its own,
// and then scaled and moved by its channels' numbers while it is in the caches.
class InstanceNormKernel : public CpuKernel {
 public:
  struct Planes {
    NormalizationRow first;  // without scale and bias, which are one number for all of a row here
    int64_t count = 0;
    int64_t channels = 0;
    int64_t row_channels = 1;
    const float* scale = nullptr;  // by channel
    const float* bias = nullptr;
  };

  InstanceNormKernel(int width, const Planes& planes) : width_(width), planes_(planes) {}

  absl::Status Run() override {
    ForEachPart(width_, planes_.count, [this](int64_t begin, int64_t end, int) {
      for (int64_t plane = begin; plane < end; ++plane) RunPlane(plane);
    });
    return absl::OkStatus();
  }

 private:
  void RunPlane(int64_t plane) const {
    NormalizationRow row = planes_.first;
    row.x += plane * row.size;
    row.y += plane * row.size;
    Loops().normalization_row(row);
    const int64_t size = row.size / planes_.row_channels;
    for (int64_t i = 0; i < planes_.row_channels; ++i, row.y += size) {
      const int64_t channel = (plane * planes_.row_channels + i) % planes_.channels;
      Loops().unary[static_cast<size_t>(UnaryLoop::kLinear)](
          row.y, row.y, size, planes_.scale[channel], planes_.bias[channel]);
    }
  }

  const int width_;
  const Planes planes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadInstanceNorm(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kInstanceNormOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  Operand inputs[3];
  for (size_t i = 0; i < 3; ++i) {
    PLAIT_ASSIGN_OR_RETURN(inputs[i], FindIn(context, node.inputs[i], Format::kPlain));
  }
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, node.outputs[0], Format::kPlain));
  const Shape& shape = inputs[0].type.shape;
  const bool is_grouped = node.op == OpKind::kGroupNormalization;
  const int64_t rows = is_grouped ? node.attributes->Int("num_groups", 1) : shape[1];
  InstanceNormKernel::Planes planes{.count = shape[0] * rows,
                                    .channels = shape[1],
                                    .row_channels = shape[1] / rows,
                                    .scale = inputs[1].floats(),
                                    .bias = inputs[2].floats()};
  planes.first = {.x = inputs[0].floats(),
                  .scale = nullptr,
                  .bias = nullptr,
                  .y = result.floats(),
                  .size = inputs[0].type.elements() / planes.count,
                  .epsilon = node.attributes->Float("epsilon", 1e-5f)};
  return std::make_unique<InstanceNormKernel>(context->width(), planes);
}

}  // namespace plait
