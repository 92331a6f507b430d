#include "optimizer/ir/op_kind.h"

#include <array>

namespace plait {
namespace {

constexpr std::array<const char*, kOpKindCount> kNames = {
    "Opaque",
#define PLAIT_OP(name) #name,
#include "optimizer/ir/op_kinds.def"
#undef PLAIT_OP
};

}  // namespace

absl::string_view OpKindName(OpKind op) { return kNames[static_cast<size_t>(op)]; }

std::optional<OpKind> OpKindFromName(absl::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<OpKind>(i);
  }
  return std::nullopt;
}

}  // namespace plait
