#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

bool Transposes(const Attributes& attributes, absl::string_view name) {
  return attributes.Int(name, 0) != 0;
}

// Unlike MatMul's, matrices only; the bias broadcasts to the product and never the other way
// around.
Types InferGemm(const OpCall& call) {
  for (size_t i = 0; i < 3; ++i) {
    if (i == 2 && !call.has_input(2)) continue;
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kNumber));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
  }
  const TensorType& a = call.input_types[0];
  const TensorType& b = call.input_types[1];
  const int a_summed = Transposes(call.attributes, "transA") ? 0 : 1;
  const int b_summed = Transposes(call.attributes, "transB") ? 1 : 0;
  if (a.rank() != 2 || b.rank() != 2 || a.shape[a_summed] != b.shape[b_summed]) {
    return absl::InvalidArgumentError(
        absl::StrCat("inputs ", a.ToString(), " and ", b.ToString(),
                     " must be matrices that agree on the summed axis"));
  }
  if (!IsFloat(a.dtype) &&
      (call.attributes.Float("alpha", 1) != 1 || call.attributes.Float("beta", 1) != 1)) {
    return absl::UnimplementedError("alpha and beta of integer products are not implemented");
  }
  PLAIT_ASSIGN_OR_RETURN(TensorType type,
                         CheckedType(a.dtype, {a.shape[1 - a_summed], b.shape[1 - b_summed]}));
  if (call.has_input(2)) {
    const Shape& bias = call.input_types[2].shape;
    PLAIT_ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(type.shape, bias));
    if (shape != type.shape) {
      return absl::InvalidArgumentError(absl::StrCat("input 2 of shape ", ShapeToString(bias),
                                                     " must broadcast to ",
                                                     ShapeToString(type.shape)));
    }
  }
  return std::vector<TensorType>{std::move(type)};
}

Work WorkOfGemm(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  const int64_t shared = call.input_types[0].shape[Transposes(call.attributes, "transA") ? 0 : 1];
  work.flops =
      SaturatingMultiply(output_types[0].elements(), 2 * shared + (call.has_input(2) ? 1 : 0));
  return work;
}

// A copy costs little beside the product, which then knows one layout only.
// The matrix of an input, with rows and columns exchanged when `transposed`.
template <typename T>
std::vector<T> MatrixOf(const EvalTensor& input, bool transposed) {
  const auto& values = std::get<std::vector<T>>(input.values);
  if (!transposed) return values;
  const int64_t rows = input.type.shape[0];
  const int64_t columns = input.type.shape[1];
  std::vector<T> result(values.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) result[j * rows + i] = values[i * columns + j];
  }
  return result;
}

// In GF(p) a factor such as 0.1 is the symbol that ToFieldElement makes of it.
template <typename T>
T FactorOf(const Attributes& attributes, absl::string_view name) {
  const double value = attributes.Float(name, 1);
  if constexpr (std::is_same_v<T, FieldElement>) {
    return ToFieldElement(value);
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
void MultiplyGemm(const OpCall& call, EvalInputs inputs, const TensorType& type,
                  std::vector<T>* output) {
  const bool transposes_a = Transposes(call.attributes, "transA");
  const std::vector<T> a = MatrixOf<T>(*inputs[0], transposes_a);
  const std::vector<T> b = MatrixOf<T>(*inputs[1], Transposes(call.attributes, "transB"));
  const int64_t rows = type.shape[0];
  const int64_t columns = type.shape[1];
  const int64_t shared = inputs[0]->type.shape[transposes_a ? 0 : 1];
  AddProduct<T>({a.data(), rows, shared, shared}, {b.data(), shared, columns, columns},
                {output->data(), rows, columns, columns});
  const T alpha = FactorOf<T>(call.attributes, "alpha");
  for (T& value : *output) value = MultiplyAdd(alpha, value, T(0));
  if (!call.has_input(2)) return;
  const T beta = FactorOf<T>(call.attributes, "beta");
  const auto& bias = std::get<std::vector<T>>(inputs[2]->values);
  ForEachIndex<1>(type.shape, {BroadcastStrides(inputs[2]->type.shape, type.shape)},
                  [&](int64_t index, const std::array<int64_t, 1>& offsets) {
                    (*output)[index] = MultiplyAdd(beta, bias[offsets[0]], (*output)[index]);
                  });
}

absl::Status EvaluateGemm(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  std::visit([&](auto& output) { MultiplyGemm(call, inputs, outputs[0].type, &output); },
             outputs[0].values);
  return absl::OkStatus();
}

// Up to opset 10 the third input was required.
absl::Status LowerGemm(VersionedNode* node) {
  if (node->opset >= 11 || (node->present.size() > 2 && node->present[2])) return absl::OkStatus();
  const TensorType type = {node->input_types[0].dtype, {1}};
  node->constants.resize(2);
  node->present.resize(2);
  node->input_types.resize(2);
  node->constants.push_back(Tensor(type, std::string(BytesOf(type.dtype), '\0')));
  node->present.push_back(true);
  node->input_types.push_back(type);
  return absl::OkStatus();
}

}  // namespace

// y = alpha * a * b + beta * c, where a and b may be transposed first.
const OpSpec kGemmSpec = {
    .kind = OpKind::kGemm,
    .inputs = {2, 3},
    .infer = InferGemm,
    .work = WorkOfGemm,
    .evaluate = EvaluateGemm,
    .lower = LowerGemm,
};

}  // namespace plait
