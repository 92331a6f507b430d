#include "base/status_macros.h"
#include "optimizer/ops/shared/indices.h"
#include "optimizer/ops/shared/rotary.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

Types InferRotaryEmbedding(const OpCall& call) {
  for (size_t i = 0; i < 3; ++i) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
  }
  if (call.has_input(kRotaryPositions)) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, kRotaryPositions, TypeSet::kInteger));
  }
  PLAIT_ASSIGN_OR_RETURN(const RotaryShape shape,
                         ReadRotaryShape(call.attributes, call.input_types));
  if (const Tensor* positions = call.constant(kRotaryPositions); positions != nullptr) {
    PLAIT_RETURN_IF_ERROR(CheckIndices(positions->AsInt64s(), shape.angles));
  }
  return std::vector<TensorType>{call.input_types[0]};
}

// Two products and a sum for each element.
Work WorkOfRotaryEmbedding(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  work.flops *= 3;
  return work;
}

// A head of one token: the pairs as complex numbers times those of the row of angles.
template <typename T>
void Turn(const RotaryShape& shape, const T* x, const T* cosines, const T* sines, T* y) {
  const int64_t pairs = shape.rotated / 2;
  for (int64_t i = 0; i < pairs; ++i) {
    const int64_t a = shape.interleaved ? 2 * i : i;
    const int64_t b = shape.interleaved ? 2 * i + 1 : i + pairs;
    y[a] = x[a] * cosines[i] - x[b] * sines[i];
    y[b] = x[a] * sines[i] + x[b] * cosines[i];
  }
  for (int64_t i = shape.rotated; i < shape.head_size; ++i) y[i] = x[i];
}

template <typename T>
void TurnAll(const RotaryShape& shape, const std::vector<int64_t>& rows, EvalInputs inputs,
             std::vector<T>* y) {
  const auto& x = std::get<std::vector<T>>(inputs[0]->values);
  const auto& cosines = std::get<std::vector<T>>(inputs[kRotaryCosines]->values);
  const auto& sines = std::get<std::vector<T>>(inputs[kRotarySines]->values);
  for (size_t token = 0; token < rows.size(); ++token) {
    const int64_t image = static_cast<int64_t>(token) / shape.sequence;
    const int64_t place = static_cast<int64_t>(token) % shape.sequence;
    const int64_t angles = rows[token] * (shape.rotated / 2);
    for (int64_t head = 0; head < shape.heads; ++head) {
      const int64_t first = image * shape.sequence * shape.heads * shape.head_size +
                            place * shape.token_step() + head * shape.head_step();
      Turn(shape, x.data() + first, cosines.data() + angles, sines.data() + angles,
           y->data() + first);
    }
  }
}

// Sums and products only, so that it is exact in GF(p).
absl::Status EvaluateRotaryEmbedding(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const RotaryShape shape,
                         ReadRotaryShape(call.attributes, call.input_types));
  std::vector<int64_t> rows(static_cast<size_t>(shape.batch * shape.sequence));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  if (shape.angles > 0) {
    rows = std::get<std::vector<int64_t>>(inputs[kRotaryPositions]->values);
    PLAIT_RETURN_IF_ERROR(CheckIndices(rows, shape.angles));
    for (int64_t& row : rows) row = row < 0 ? row + shape.angles : row;
  }
  if (auto* floats = std::get_if<std::vector<double>>(&outputs[0].values)) {
    TurnAll(shape, rows, inputs, floats);
  } else {
    TurnAll(shape, rows, inputs, &std::get<std::vector<FieldElement>>(outputs[0].values));
  }
  return absl::OkStatus();
}

}  // namespace

// y = x with pairs of a head's elements turned by the angles of their token's position (Su et al.,
// 2021).
const OpSpec kRotaryEmbeddingSpec = {
    .kind = OpKind::kRotaryEmbedding,
    .since_opset = 23,
    .inputs = {3, 4},
    .infer = InferRotaryEmbedding,
    .work = WorkOfRotaryEmbedding,
    .evaluate = EvaluateRotaryEmbedding,
    .expand = ExpandRotary,
};

}  // namespace plait
