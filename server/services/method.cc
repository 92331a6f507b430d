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
#define PLAIT_METHOD(service, name, ...) {Method::k##name, #name, {__VA_ARGS__}},
#include "server/services/methods.def"
#undef PLAIT_METHOD
};

constexpr Method kMethods[] = {
#define PLAIT_METHOD(service, name, ...) Method::k##name,
#include "server/services/methods.def"
#undef PLAIT_METHOD
};

struct RoleName {
  Role role;
  absl::string_view name;
};

constexpr RoleName kRoleNames[] = {
    {kClient, "clients"}, {kWorker, "workers"}, {kOperator, "operators"}};

// The enumerators stand in the order of the rows.
const MethodRow& RowOf(Method method) { return kRows[static_cast<size_t>(method)]; }

}  // namespace

absl::Span<const Method> AllMethods() { return kMethods; }

absl::string_view MethodName(Method method) { return RowOf(method).name; }

Roles RolesOf(Method method) { return RowOf(method).roles; }

absl::StatusOr<Caller> Admit(Method method, Roles granted, absl::string_view tenant) {
  const Roles allowed = RolesOf(method);
  std::string names;
  for (const RoleName& row : kRoleNames) {
    if (!allowed.Has(row.role)) continue;
    if (granted.Has(row.role)) return Caller{std::string(tenant), row.role};
    absl::StrAppend(&names, names.empty() ? "" : " and ", row.name);
  }
  return wire::Error(
      v1::ERROR_REASON_PERMISSION_DENIED,
      absl::StrCat(MethodName(method), ": is not served on this address, it is for ", names));
}

}  // namespace plait
