#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"

#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/unary_choice.h"
#include "optimizer/kernels/format_rules.h"

namespace plait {
namespace {

std::optional<RowEpilogue::Bounds> BoundsOf(const UnaryChoice& choice) {
  if (choice.loop == UnaryLoop::kRelu) return RowEpilogue::Bounds{.lowest = 0};
  if (choice.loop == UnaryLoop::kClip) return RowEpilogue::Bounds{choice.alpha, choice.beta};
  return std::nullopt;
}

int64_t ApartFloats(const Operand& operand, int64_t row_floats) {
  return operand.whole_channels > 0 ? operand.whole_channels : row_floats;
}

}  // namespace

absl::StatusOr<RowEpilogue> RowEpilogue::Load(LoadContext* context,
                                              absl::Span<const PostOperation> operations,
                                              const float* bias, Format format, const Rows& rows) {
  using Kind = PostOperation::Kind;
  const LoopTable& loops = Loops();
  RowEpilogue epilogue;
  epilogue.bias_ = bias;
  epilogue.rows_ = rows;
  for (const PostOperation& operation : operations) {
    Operation& loaded = epilogue.operations_.emplace_back();
    if (operation.kind == Kind::kActivation || operation.kind == Kind::kLinear) {
      const std::optional<UnaryChoice> choice = ChooseUnary(operation);
      if (!choice.has_value()) return context->Refuse();
      loaded.unary = loops.unary[static_cast<int>(choice->loop)];
      loaded.bounds = BoundsOf(*choice);
      loaded.alpha = choice->alpha;
      loaded.beta = choice->beta;
      continue;
    }
    PLAIT_ASSIGN_OR_RETURN(const Operand operand, context->Find(operation.operand));
    loaded.operand = operand.floats();
    const bool multiplies = operation.kind == Kind::kMulTensor;
    loaded.binary =
        loops.binary[static_cast<int>(multiplies ? BinaryLoop::kMul : BinaryLoop::kAdd)];
    if (operation.kind == Kind::kAddChannel) {
      if (epilogue.bias_ != nullptr || epilogue.operations_.size() > 1) continue;
      epilogue.bias_ = loaded.operand;
      epilogue.operations_.pop_back();
      continue;
    }
    if (operand.format != format) return context->Refuse();
    loaded.is_added = operation.kind == Kind::kAddTensor;
    loaded.operand_apart_floats = ApartFloats(operand, rows.floats);
  }
  return epilogue;
}

absl::StatusOr<RowEpilogue> RowEpilogue::OfConvolution(LoadContext* context, NodeId conv,
                                                       const Epilogue& epilogue,
                                                       int64_t apart_floats) {
  const Graph& graph = context->graph();
  PLAIT_ASSIGN_OR_RETURN(const float* const bias, BiasOf(context, graph.node(conv)));
  const TensorType& type = graph.output_type(conv);
  return Load(context, epilogue.operations, bias, EffectiveFormat(type, Format::kChannelsLast),
              {type.shape[1], apart_floats});
}

RowEpilogue::Bounds RowEpilogue::TakeBounds() {
  if (operations_.empty() || !operations_[0].bounds.has_value()) return {};
  const Bounds bounds = *operations_[0].bounds;
  operations_.erase(operations_.begin());
  return bounds;
}

bool RowEpilogue::TakeRelu() {
  if (operations_.empty() || !operations_[0].bounds.has_value()) return false;
  const Bounds& bounds = *operations_[0].bounds;
  if (bounds.lowest != 0 || bounds.highest != Bounds().highest) return false;
  operations_.erase(operations_.begin());
  return true;
}

RowEpilogue::Added RowEpilogue::TakeAdded() {
  if (operations_.empty() || !operations_[0].is_added) return {};
  const Added added = {operations_[0].operand, operations_[0].operand_apart_floats};
  operations_.erase(operations_.begin());
  return added;
}

// Where all lies beside each other, and each row has an operand of its own, rows are one long row.
void RowEpilogue::ApplyToRows(float* values, int64_t row, int64_t rows) const {
  const bool has_gaps =
      std::any_of(operations_.begin(), operations_.end(), [&](const Operation& operation) {
        return operation.unary == nullptr && operation.operand_apart_floats != rows_.floats;
      });
  if (!has_gaps && rows_.apart_floats == rows_.floats) {
    return Apply(values, row, 0, rows * rows_.floats);
  }
  for (int64_t i = 0; i < rows; ++i) {
    Apply(values + i * rows_.apart_floats, row + i, 0, rows_.floats);
  }
}

void RowEpilogue::Apply(float* values, int64_t row, int64_t column, int64_t count) const {
  for (const Operation& operation : operations_) {
    if (operation.unary != nullptr) {
      operation.unary(values, values, count, operation.alpha, operation.beta);
    } else {
      const float* const operand =
          operation.operand + row * operation.operand_apart_floats + column;
      operation.binary(values, operand, values, count);
    }
  }
}

absl::StatusOr<RowLayer> ReadRowLayer(LoadContext* context, Format format, int64_t row_floats) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  const Node& node = graph.node(nodes[0]);
  const std::optional<Epilogue> epilogue =
      ParseEpilogue(graph, node.outputs[0], absl::MakeConstSpan(nodes).subspan(1),
                    ChannelAxisOf(graph, nodes[0]));
  if (!epilogue.has_value()) return context->Refuse();
  RowLayer layer;
  PLAIT_ASSIGN_OR_RETURN(layer.source, FindIn(context, node.inputs[0], format));
  PLAIT_ASSIGN_OR_RETURN(layer.result, FindIn(context, epilogue->result, format));
  PLAIT_ASSIGN_OR_RETURN(const float* const bias, BiasOf(context, node));
  layer.result_apart_floats = ApartFloats(layer.result, row_floats);
  PLAIT_ASSIGN_OR_RETURN(layer.epilogue,
                         RowEpilogue::Load(context, epilogue->operations, bias, layer.result.format,
                                           {row_floats, layer.result_apart_floats}));
  return layer;
}

}  // namespace plait
