#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "optimizer/ir/attributes.h"
#include "optimizer/ir/fingerprint.h"
#include "optimizer/ir/op_kind.h"
#include "optimizer/ir/tensor.h"

// What is known before a model runs. Constants are described, not held: a graph of gigabytes of
// weights is as small as any other, and its fingerprint still covers them.
namespace plait {

class Constant;
// Constants are immutable and shared between graphs; never null where a constant is expected.
using ConstantRef = std::shared_ptr<const Constant>;

// A value that is known before the model runs: a weight, a small inline value, or an expression
// over such values (a folded BatchNorm, concatenated weights). Expressions cost nothing at run
// time, are seen by no rule and no partition, and are computed only when a model is materialized or
// loaded.
class Constant {
 public:
  // The weight whose bytes have this digest; a WeightSource has the bytes.
  struct Weight {
    Digest digest;
  };
  // A value of at most kInlineConstantBytesMax bytes, which rules may read.
  struct Inline {
    Tensor value;
  };
  // Seeded random values in [-1, 1): stands for a weight where only its type matters (profiling).
  struct Synthetic {
    uint64_t seed = 0;
  };
  // Output `output_index` of an operator applied to constants; a null input is an omitted one.
  struct Apply {
    OpKind op = OpKind::kOpaque;
    AttributesRef attributes = NoAttributes();
    std::vector<ConstantRef> inputs;
    int output_index = 0;
  };
  using Value = std::variant<Weight, Inline, Synthetic, Apply>;

  // REQUIRES: `type` is the value's; of an Apply, what the operator infers for that output.
  Constant(TensorType type, Value value);

  const TensorType& type() const { return type_; }
  const Value& value() const { return value_; }

  // Equal exactly for equal expressions over equal weights. Computed once, at construction.
  const Fingerprint& fingerprint() const { return fingerprint_; }

  // Applications nested in each other, counting this one; kConstantDepthMax bounds it, because the
  // destruction of an expression recurses. Whoever builds an Apply over an expression of that depth
  // keeps the operator as a node instead.
  int depth() const { return depth_; }

  // The value when it is inline, nullptr otherwise. Lives as long as the constant.
  const Tensor* inline_value() const;

  // The kinds of leaves. An Apply is made by the constructor, with the type that was inferred for
  // it.
  static ConstantRef OfWeight(TensorType type, Digest digest);
  static ConstantRef OfTensor(Tensor value);  // always inline, whatever its size
  static ConstantRef OfSynthetic(TensorType type, uint64_t seed);

 private:
  TensorType type_;
  Value value_;
  int depth_;
  Fingerprint fingerprint_;
};

// The bytes of weights, by digest: the imported model's, a blob store's, or those that a worker was
// sent. Implementations are safe to read from any thread.
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  // Errors: NotFound when there is no weight with this digest and type.
  virtual absl::StatusOr<Tensor> Get(const Digest& digest, const TensorType& type) const = 0;
};

}  // namespace plait
