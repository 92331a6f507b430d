#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// Fills the whole result, then copies the input into its place.
// The middle is written twice, which is one pass more than needed and spares telling the border's
// pieces apart, of which there are two per axis.
class PadKernel : public CpuKernel {
 public:
  PadKernel(int threads, const Operand& result, absl::string_view value, StridedCopy copy)
      : threads_(threads), result_(result), copy_(std::move(copy)) {
    if (!value.empty()) std::memcpy(value_, value.data(), value.size());
  }

  absl::Status Run() override {
    const int64_t element_bytes = BytesOf(result_.type.dtype);
    ForEachPart(threads_, result_.type.elements(), [&](int64_t begin, int64_t end, int) {
      std::byte* const data = result_.data + begin * element_bytes;
      std::memcpy(data, value_, static_cast<size_t>(element_bytes));
      // What is filled so far is copied behind itself: twice as much each time.
      const int64_t bytes = (end - begin) * element_bytes;
      for (int64_t filled = element_bytes; filled < bytes;) {
        const int64_t piece = std::min(filled, bytes - filled);
        std::memcpy(data + filled, data, static_cast<size_t>(piece));
        filled += piece;
      }
    });
    copy_.Run(threads_);
    return absl::OkStatus();
  }

 private:
  int threads_;
  Operand result_;
  StridedCopy copy_;
  std::byte value_[8] = {};
};

}  // namespace

// Constant padding.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadPad(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kPadOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(node.inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(node.outputs[0]));
  const std::vector<int64_t> pads = graph.inline_constant(nodes[0], 1)->AsInt64s();
  const bool has_axes = node.inputs.size() > 3 && node.inputs[3] != kNoTensor;
  const bool has_value = node.inputs.size() > 2 && node.inputs[2] != kNoTensor;
  const Shape strides = result.strides();
  int64_t offset = 0;
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    const int64_t axis =
        has_axes ? graph.inline_constant(nodes[0], 3)->AsInt64s()[i] : static_cast<int64_t>(i);
    offset += pads[i] * strides[NormalAxis(axis, result.type.rank())];
  }
  const int64_t element_bytes = BytesOf(result.type.dtype);
  StridedCopy copy(element_bytes, source.type.shape, {source.data, source.strides()},
                   {result.data + offset * element_bytes, strides});
  const absl::string_view value =
      has_value ? graph.inline_constant(nodes[0], 2)->bytes() : absl::string_view();
  return std::make_unique<PadKernel>(context->width(), result, value, std::move(copy));
}

}  // namespace plait
