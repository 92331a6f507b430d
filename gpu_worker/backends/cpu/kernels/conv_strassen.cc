#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/strassen_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// Convolutions that make each pixel of the one at its place, in channels-last, with fewer
// multiplications (see loops/loops.h).
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConvStrassen(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kConvStrassenOffer.runs(graph, nodes[0])) return context->Refuse();
  const ConstantProduct shape = *PixelProductAt(graph, nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(RowLayer layer,
                         ReadRowLayer(context, Format::kChannelsLast, shape.columns));
  const TensorId right = graph.node(nodes[0]).inputs[1];
  const int64_t source_apart_floats = layer.source.pixel_elements();
  return StrassenKernel::Create(context, shape, right, std::move(layer), source_apart_floats);
}

}  // namespace plait
