#include "optimizer/rules/generator/core_operators.h"

namespace plait {
namespace {

using Ints = std::vector<int64_t>;

TensorType Float(Shape shape) { return {DataType::kFloat32, std::move(shape)}; }

CoreOperator Concat(int64_t axis) { return {OpKind::kConcat, {{"axis", axis}}, 2}; }

CoreOperator Split(int64_t axis) {
  return {OpKind::kSplit, {{"axis", axis}, {"num_outputs", int64_t{2}}}, 1, 2};
}

CoreOperator Conv(int64_t stride, int64_t pad) {
  return {
      OpKind::kConv, {{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}}, 2};
}

}  // namespace

Core MatrixCore() {
  const TensorType matrix = Float({4, 4});
  return {"matrix",
          {{OpKind::kMatMul, {}, 2},
           {OpKind::kAdd, {}, 2, 1, true},
           {OpKind::kMul, {}, 2, 1, true},
           Concat(0),
           Concat(1),
           Split(0),
           Split(1),
           {OpKind::kTranspose, {{"perm", Ints{1, 0}}}},
           {OpKind::kRelu, {}}},
          {matrix, matrix, matrix},
          3,
          2};
}

Core DeepMatrixCore() {
  const TensorType matrix = Float({4, 4});
  return {"deep",
          {{OpKind::kMatMul, {}, 2}, {OpKind::kAdd, {}, 2, 1, true}},
          {matrix, matrix, matrix},
          4,
          1};
}

Core SumCore() {
  const TensorType matrix = Float({4, 4});
  return {"sum",
          {{OpKind::kMatMul, {}, 2}, {OpKind::kAdd, {}, 2, 1, true}, Concat(0), Concat(1)},
          {matrix, matrix, matrix, matrix},
          3,
          1};
}

Core ImageCore() {
  const TensorType image = Float({2, 2, 5, 5});
  const TensorType kernel = Float({2, 2, 3, 3});
  return {"image",
          {Conv(1, 1),
           Conv(2, 1),
           Conv(1, 0),
           Conv(2, 0),
           {OpKind::kAveragePool,
            {{"kernel_shape", Ints{3, 3}},
             {"pads", Ints{1, 1, 1, 1}},
             {"count_include_pad", int64_t{1}}}},
           {OpKind::kAdd, {}, 2, 1, true},
           Concat(0),
           Concat(1),
           Split(0),
           Split(1),
           {OpKind::kRelu, {}},
           // Enlarges a kernel of one tap to 3x3.
           {OpKind::kPad, {}, 1, 1, false, Tensor::Int64s({0, 0, 1, 1, 0, 0, 1, 1})}},
          {image, image, kernel, kernel, Float({2, 2, 1, 1})},
          3,
          2};
}

}  // namespace plait
