#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "optimizer/ir/tensor.h"
#include "optimizer/onnx/messages/messages.h"

namespace plait {

// What iterations give, one after the other, as one tensor with an axis more.
class Collected {
 public:
  // `empty`: the type of one when there is none.
  explicit Collected(TensorType empty) : type_(std::move(empty)) {}

  // Errors: InvalidArgument where it is of another type than those before;
  // ResourceExhausted where all would be larger than a tensor may be.
  absl::Status Add(const Tensor& one);

  // All, along a new axis, which the result has: from 0 to the rank of one; in the order in which
  // they came, or the reverse. REQUIRES: the axis is one.
  Tensor Take(int64_t axis, bool is_reversed = false) &&;
  int rank() const { return type_.rank(); }

 private:
  TensorType type_;  // of one
  int64_t count_ = 0;
  std::string bytes_;
};

// What is declared of a result, with 0 for sizes that are not.
TensorType EmptyType(const onnx::ValueInfoProto& declared);

}  // namespace plait
