#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

namespace plait {

// What an expansion of several steps computes in: float32 for narrower floats, which would be
// rounded, or overflow, at each of them; else the type itself.
constexpr DataType WideType(DataType dtype) {
  return dtype == DataType::kFloat16 || dtype == DataType::kBfloat16 ? DataType::kFloat32 : dtype;
}

// Whether the node has an input at that place.
inline bool HasInput(const Node& node, size_t index) {
  return index < node.inputs.size() && node.inputs[index] != kNoTensor;
}

// Writes the nodes of an OpSpec::expand one after the other: types are inferred, and the first
// error is kept until Outputs(), so that an expansion reads like its formula. The nodes have the
// newest opset's form; the exporter lowers each of them. Not thread-safe.
class Expansion {
 public:
  explicit Expansion(GraphBuilder* builder) : builder_(builder) {}

  // Adds a node and returns its first output; kNoTensor after an error.
  TensorId Add(OpKind op, std::vector<TensorId> inputs, Attributes attributes = {});

  // An inline constant.
  TensorId Constant(Tensor value);

  // A list of integers, as axes and shapes are given.
  TensorId Ints(std::vector<int64_t> values);

  // The tensor in another element type; itself where it has that.
  TensorId Cast(TensorId tensor, DataType dtype);

  // A scalar constant of the element type `dtype`.
  TensorId Scalar(DataType dtype, double value);

  // The inferred type of a tensor so far; undefined for kNoTensor, so that an expansion may go on
  // after an error without asking.
  TensorType type(TensorId id) const;

  // The outputs of the expansion, or the first error.
  absl::StatusOr<std::vector<TensorId>> Outputs(std::vector<TensorId> outputs) const;

 private:
  GraphBuilder* builder_;
  absl::Status status_;
};

}  // namespace plait
