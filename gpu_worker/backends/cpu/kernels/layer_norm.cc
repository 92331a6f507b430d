#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

// Rows of the axes from `axis` on, each normalized on its own.
class LayerNormKernel : public CpuKernel {
 public:
  using RowLoop = void (*)(const NormalizationRow& row);

  LayerNormKernel(int threads, RowLoop loop, NormalizationRow row, int64_t rows)
      : threads_(threads), loop_(loop), row_(row), rows_(rows) {}

  // Threads take consecutive rows; a row is normalized by one of them, so that the result does not
  // depend on how many there are.
  absl::Status Run() override {
    ForEachPart(threads_, rows_, [&](int64_t begin, int64_t end, int) {
      NormalizationRow row = row_;
      for (int64_t i = begin; i < end; ++i) {
        row.x = row_.x + i * row.size;
        row.y = row_.y + i * row.size;
        loop_(row);
      }
    });
    return absl::OkStatus();
  }

 private:
  int threads_;
  RowLoop loop_;
  NormalizationRow row_;
  int64_t rows_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadLayerNorm(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kLayerNormOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(node.inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(node.outputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand scale, context->Find(node.inputs[1]));
  if (source.format != Format::kPlain || result.format != Format::kPlain ||
      scale.format != Format::kPlain) {
    return context->Refuse();
  }
  NormalizationRow row = {source.floats(),
                          scale.floats(),
                          nullptr,
                          result.floats(),
                          1,
                          node.attributes->Float("epsilon", 1e-5f)};
  if (node.inputs.size() > 2 && node.inputs[2] != kNoTensor) {
    PLAIT_ASSIGN_OR_RETURN(const Operand bias, context->Find(node.inputs[2]));
    if (bias.format != Format::kPlain) return context->Refuse();
    row.bias = bias.floats();
  }
  row.size = scale.type.elements();
  const LayerNormKernel::RowLoop loop = node.op == OpKind::kRMSNormalization
                                            ? Loops().root_mean_square_row
                                            : Loops().normalization_row;
  return std::make_unique<LayerNormKernel>(context->width(), loop, row,
                                           source.type.elements() / row.size);
}

}  // namespace plait
