#include "optimizer/ops/shared/rotary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

struct RotaryOperands {
  Operand source;
  Operand cosines;
  Operand sines;
  Operand positions;  // without memory where there are none
  Operand result;
};

// Heads of tokens, each turned on its own by the row of angles of its token.
class RotaryKernel : public CpuKernel {
 public:
  RotaryKernel(int width, const RotaryShape& shape, const RotaryOperands& operands)
      : width_(width), shape_(shape), operands_(operands) {}

  // All positions are checked before anything is written, so that the threads need not report.
  absl::Status Run() override {
    const int64_t tokens = shape_.batch * shape_.sequence;
    for (int64_t token = 0; token < tokens && shape_.angles > 0; ++token) {
      const int64_t position = Position(token);
      if (position < -shape_.angles || position >= shape_.angles) {
        return absl::InvalidArgumentError(absl::StrCat("RotaryEmbedding: position ", position,
                                                       " is outside of ", shape_.angles, " rows"));
      }
    }
    ForEachPart(width_, tokens * shape_.heads, [this](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) Turn(i / shape_.heads, i % shape_.heads);
    });
    return absl::OkStatus();
  }

 private:
  int64_t Position(int64_t token) const {
    const Operand& positions = operands_.positions;
    return positions.type.dtype == DataType::kInt64
               ? reinterpret_cast<const int64_t*>(positions.data)[token]
               : reinterpret_cast<const int32_t*>(positions.data)[token];
  }

  void Turn(int64_t token, int64_t head) const {
    int64_t row = token;
    if (shape_.angles > 0) {
      row = Position(token);
      row = row < 0 ? row + shape_.angles : row;
    }
    const int64_t pairs = shape_.rotated / 2;
    const int64_t first =
        token / shape_.sequence * shape_.sequence * shape_.heads * shape_.head_size +
        token % shape_.sequence * shape_.token_step() + head * shape_.head_step();
    const float* const x = operands_.source.floats() + first;
    float* const y = operands_.result.floats() + first;
    Loops().turn_pairs({.x = x,
                        .cosines = operands_.cosines.floats() + row * pairs,
                        .sines = operands_.sines.floats() + row * pairs,
                        .y = y,
                        .pairs = pairs,
                        .interleaved = shape_.interleaved});
    std::copy(x + shape_.rotated, x + shape_.head_size, y + shape_.rotated);
  }

  const int width_;
  const RotaryShape shape_;
  const RotaryOperands operands_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadRotary(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kRotaryOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  RotaryOperands operands;
  PLAIT_ASSIGN_OR_RETURN(operands.source, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(operands.cosines,
                         FindIn(context, node.inputs[kRotaryCosines], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(operands.sines,
                         FindIn(context, node.inputs[kRotarySines], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(operands.result, FindIn(context, node.outputs[0], Format::kPlain));
  std::vector<TensorType> types = {operands.source.type, operands.cosines.type,
                                   operands.sines.type};
  if (node.inputs.size() > kRotaryPositions && node.inputs[kRotaryPositions] != kNoTensor) {
    PLAIT_ASSIGN_OR_RETURN(operands.positions,
                           FindIn(context, node.inputs[kRotaryPositions], Format::kPlain));
    types.push_back(operands.positions.type);
  }
  PLAIT_ASSIGN_OR_RETURN(const RotaryShape shape, ReadRotaryShape(*node.attributes, types));
  return std::make_unique<RotaryKernel>(context->width(), shape, operands);
}

}  // namespace plait
