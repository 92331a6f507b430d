#include "optimizer/plan/body_constants.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ops/evaluation/evaluate.h"

// A plan's graph reads Concat(Mul(w, s), v), where w, s and v are weights of the original. In the
// file there are the product and v: the constant becomes Concat(p, v), where p is the weight with
// the product's bytes. Were v not there, its bytes would stand in the plan's graph.

namespace plait {

absl::StatusOr<ConstantRef> BodyConstants::In(const ConstantRef& constant) {
  const auto known = known_.find(constant->fingerprint());
  if (known != known_.end()) return known->second;
  PLAIT_ASSIGN_OR_RETURN(ConstantRef found, Find(constant));
  return known_.emplace(constant->fingerprint(), std::move(found)).first->second;
}

absl::StatusOr<ConstantRef> BodyConstants::Find(const ConstantRef& constant) {
  if (constant->inline_value() != nullptr) return constant;
  if (const auto* const weight = std::get_if<Constant::Weight>(&constant->value())) {
    if (body_.Has(weight->digest)) return constant;
  }
  PLAIT_ASSIGN_OR_RETURN(Tensor value, EvaluateConstant(*constant, weights_));
  if (value.type().bytes() <= kInlineConstantBytesMax) return Constant::OfTensor(std::move(value));
  const Digest digest = DigestOf(value.bytes());
  if (body_.Has(digest)) return Constant::OfWeight(value.type(), digest);
  const bool is_expression = std::holds_alternative<Constant::Apply>(constant->value());
  return is_expression ? Anew(*constant, value) : Keep(std::move(value));
}

// The expression over what its inputs become, which is compared with what it was.
absl::StatusOr<ConstantRef> BodyConstants::Anew(const Constant& constant, const Tensor& value) {
  Constant::Apply apply = std::get<Constant::Apply>(constant.value());
  for (ConstantRef& input : apply.inputs) {
    if (input == nullptr) continue;
    PLAIT_ASSIGN_OR_RETURN(input, In(input));
  }
  auto anew = std::make_shared<const Constant>(constant.type(), std::move(apply));
  PLAIT_ASSIGN_OR_RETURN(const Tensor same, EvaluateConstant(*anew, body_));
  if (same == value) return anew;
  return absl::InternalError("a constant has another value over the weights of the file");
}

absl::StatusOr<ConstantRef> BodyConstants::Keep(Tensor value) {
  kept_bytes_ += value.type().bytes();
  if (kept_bytes_ > kept_bytes_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the file lacks weights that the plan reads, of more than ", kept_bytes_max_,
                     " bytes, which is what a plan may take of it"));
  }
  return Constant::OfTensor(std::move(value));
}

}  // namespace plait
