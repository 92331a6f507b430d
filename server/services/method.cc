#include "server/services/method.h"

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

using enum Role;

struct MethodRow {
  Method method;
  absl::string_view name;
  Roles roles;
};

constexpr MethodRow kRows[] = {
#define PLAIT_METHOD(name, ...) {Method::k##name, #name, {__VA_ARGS__}},
#include "server/services/methods.def"
#undef PLAIT_METHOD
};

constexpr Method kMethods[] = {
#define PLAIT_METHOD(name, ...) Method::k##name,
#include "server/services/methods.def"
#undef PLAIT_METHOD
};

// The enumerators stand in the order of the rows.
const MethodRow& RowOf(Method method) { return kRows[static_cast<size_t>(method)]; }

}  // namespace

absl::Span<const Method> AllMethods() { return kMethods; }

absl::string_view MethodName(Method method) { return RowOf(method).name; }

Roles RolesOf(Method method) { return RowOf(method).roles; }

absl::StatusOr<Caller> Admit(Method method, Roles granted, absl::string_view tenant) {
  const Roles allowed = RolesOf(method);
  const auto may_call_as = [&](Role role) { return allowed.Has(role) && granted.Has(role); };
  // Both are possible only where a listener cannot tell its callers apart.
  const bool is_worker = may_call_as(kWorker) && (tenant == kWorkerTenant || !may_call_as(kClient));
  if (is_worker) return Caller{std::string(tenant), kWorker};
  for (const Role role : {kClient, kOperator}) {
    if (may_call_as(role)) return Caller{std::string(tenant), role};
  }
  return wire::Error(v1::ERROR_REASON_PERMISSION_DENIED,
                     absl::StrCat(MethodName(method), ": may not be called here"));
}

}  // namespace plait
