#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// Which RPCs there are and who may call them, as methods.def lists them. Pure and thread-safe.
namespace plait {

// What a caller is to this server.
// A role is no person: it follows from the server that a call came in by, and from nothing that the
// call says of itself.
enum class Role {
  kClient,    // has models optimized
  kWorker,    // measures for this server
  kOperator,  // runs this server
};

// A set of roles.
class Roles {
 public:
  // May be empty: then nobody has it.
  constexpr Roles(std::initializer_list<Role> roles) {
    for (const Role role : roles) bits_ |= BitOf(role);
  }
  constexpr bool Has(Role role) const { return (bits_ & BitOf(role)) != 0; }

 private:
  static constexpr uint32_t BitOf(Role role) { return uint32_t{1} << static_cast<int>(role); }

  uint32_t bits_ = 0;
};

// An RPC: kOptimizeModel, kGetJob, ...
// Its numbers are of this build only; nothing stores or sends them.
enum class Method {
#define PLAIT_METHOD(service, name, ...) k##name,
#include "server/services/methods.def"
#undef PLAIT_METHOD
};

// In the order of methods.def.
// Valid for as long as the program.
absl::Span<const Method> AllMethods();

// "OptimizeModel": the name in the protos, in metrics and in the log.
absl::string_view MethodName(Method method);

// The roles that may call it; at least one.
Roles RolesOf(Method method);

// Whoever made a call, as far as this server trusts them.
// The tenant is what the call says of itself, and checked in form only: it keeps tenants' names
// apart, it does not keep a liar out.
struct Caller {
  std::string tenant;  // whose jobs and blobs are meant
  Role role = Role::kClient;
};

// The caller of `method` on a server whose callers have the roles `granted`, with the role by which
// the call is allowed.
// Errors: PermissionDenied naming the method and whom it is for, when none of the roles may call
// it.
// Pure: the same arguments give the same answer, and a test tries every method with every role.
absl::StatusOr<Caller> Admit(Method method, Roles granted, absl::string_view tenant);

}  // namespace plait
