#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// A product as a batch of matrix products: vectors are matrices of one row or one column.
struct Product {
  int64_t rows = 1;
  int64_t shared = 1;
  int64_t columns = 1;
  Shape left_batch;
  Shape right_batch;
  Shape batch;  // of the result
  Shape shape;  // of the result, without the axes that vectors lack
};

Shape Leading(const Shape& shape, size_t dropped) {
  return shape.size() <= dropped ? Shape{} : Shape(shape.begin(), shape.end() - dropped);
}

// [2,1,4,3] times [5,3,6]: batches [2,1] and [5] make [2,5], matrices [4,3] and [3,6] make [4,6].
absl::StatusOr<Product> ProductOf(const Shape& left, const Shape& right) {
  if (left.empty() || right.empty()) {
    return absl::InvalidArgumentError("inputs must have at least one axis");
  }
  Product product;
  const bool left_vector = left.size() == 1;
  const bool right_vector = right.size() == 1;
  product.shared = left.back();
  if (!left_vector) product.rows = left[left.size() - 2];
  if (!right_vector) product.columns = right.back();
  if (product.shared != (right_vector ? right[0] : right[right.size() - 2])) {
    return absl::InvalidArgumentError(absl::StrCat("inputs of shapes ", ShapeToString(left),
                                                   " and ", ShapeToString(right),
                                                   " do not agree on the summed axis"));
  }
  product.left_batch = Leading(left, 2);
  product.right_batch = Leading(right, 2);
  PLAIT_ASSIGN_OR_RETURN(product.batch, BroadcastShapes(product.left_batch, product.right_batch));
  product.shape = product.batch;
  if (!left_vector) product.shape.push_back(product.rows);
  if (!right_vector) product.shape.push_back(product.columns);
  return product;
}

Types InferMatMul(const OpCall& call) {
  for (size_t i = 0; i < 2; ++i) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kNumber));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
  }
  PLAIT_ASSIGN_OR_RETURN(const Product product,
                         ProductOf(call.input_types[0].shape, call.input_types[1].shape));
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, product.shape));
  return std::vector<TensorType>{std::move(type)};
}

Work WorkOfMatMul(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  work.flops = SaturatingMultiply(output_types[0].elements(), 2 * call.input_types[0].shape.back());
  return work;
}

// A repeated batch is read again, not copied: its stride is 0.
template <typename T>
void MultiplyBatches(const Product& product, EvalInputs inputs, std::vector<T>* output) {
  const T* a = std::get<std::vector<T>>(inputs[0]->values).data();
  const T* b = std::get<std::vector<T>>(inputs[1]->values).data();
  ForEachIndex<2>(product.batch,
                  {BroadcastStrides(product.left_batch, product.batch),
                   BroadcastStrides(product.right_batch, product.batch)},
                  [&](int64_t index, const std::array<int64_t, 2>& offsets) {
                    AddProduct<T>({a + offsets[0] * product.rows * product.shared, product.rows,
                                   product.shared, product.shared},
                                  {b + offsets[1] * product.shared * product.columns,
                                   product.shared, product.columns, product.columns},
                                  {output->data() + index * product.rows * product.columns,
                                   product.rows, product.columns, product.columns});
                  });
}

absl::Status EvaluateMatMul(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Product product,
                         ProductOf(inputs[0]->type.shape, inputs[1]->type.shape));
  std::visit([&](auto& output) { MultiplyBatches(product, inputs, &output); }, outputs[0].values);
  return absl::OkStatus();
}

}  // namespace

// y[..., i, j] = sum over k of a[..., i, k] * b[..., k, j], with numpy's rules for vectors and
// batches.
const OpSpec kMatMulSpec = {
    .kind = OpKind::kMatMul,
    .inputs = {2, 2},
    .infer = InferMatMul,
    .work = WorkOfMatMul,
    .evaluate = EvaluateMatMul,
};

}  // namespace plait
