#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace plait {

// Which operator a node applies. One enumerator per line of optimizer/ir/op_kinds.def, named as
// ONNX names the operator; the numbers are not stable between builds and are never stored.
enum class OpKind : uint16_t {
  // A node that plait does not understand: kept as it is, and nothing moves across it.
  kOpaque,
#define PLAIT_OP(name) k##name,
#include "optimizer/ir/op_kinds.def"
#undef PLAIT_OP
};

// Operators and kOpaque: the length of a table by OpKind.
constexpr int kOpKindCount = 1
#define PLAIT_OP(name) +1
#include "optimizer/ir/op_kinds.def"
#undef PLAIT_OP
    ;

// Stored forms, hashes and keys use the name. The operator's ONNX name, such as "Conv"; "Opaque"
// for kOpaque.
absl::string_view OpKindName(OpKind op);

// The inverse of OpKindName; nullopt for a name that is not in op_kinds.def.
std::optional<OpKind> OpKindFromName(absl::string_view name);

}  // namespace plait
