#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "optimizer/ir/constant.h"
#include "optimizer/onnx/strip.h"

namespace plait {

// Says the constants of a graph by the weights of another file, in which the graph's own may be
// folded into others. A constant is, where it can be,
//   inline, where it has kInlineConstantBytesMax or less
//   the weight of the file that has its bytes
//   an expression over such, by the constant's own
//   for the weights that then are still missing, inline
// Every one has the value that it had. Not thread-safe.
class BodyConstants {
 public:
  // `weights` are those that the constants read, `body` those of the file; both must outlive it.
  // No more than `kept_bytes_max` are put inline of what the file lacks.
  BodyConstants(const WeightSource& weights, const StrippedWeights& body, int64_t kept_bytes_max)
      : weights_(weights), body_(body), kept_bytes_max_(kept_bytes_max) {}

  // Errors: ResourceExhausted beyond `kept_bytes_max`; those of EvaluateConstant.
  absl::StatusOr<ConstantRef> In(const ConstantRef& constant);

  // Of weights that the file lacks, so far.
  int64_t kept_bytes() const { return kept_bytes_; }

 private:
  absl::StatusOr<ConstantRef> Find(const ConstantRef& constant);
  absl::StatusOr<ConstantRef> Anew(const Constant& constant, const Tensor& value);
  absl::StatusOr<ConstantRef> Keep(Tensor value);

  const WeightSource& weights_;
  const StrippedWeights& body_;
  const int64_t kept_bytes_max_;
  int64_t kept_bytes_ = 0;
  absl::flat_hash_map<Fingerprint, ConstantRef> known_;
};

}  // namespace plait
