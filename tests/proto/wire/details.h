#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "plait/internal/rpc_status.pb.h"
#include "proto/wire/error_details.h"

namespace plait::wire {

// The detail that a status carries under this type URL, if it does.
template <typename Detail>
std::optional<Detail> DetailOf(const absl::Status& status, absl::string_view type_url) {
  const auto payload = status.GetPayload(type_url);
  Detail detail;
  if (!payload || !detail.ParseFromString(std::string(*payload))) return std::nullopt;
  return detail;
}

// The one field that a status names for programs; empty when it names none.
inline std::string FieldOf(const absl::Status& status) {
  const auto detail = DetailOf<internal::BadRequest>(status, kBadRequestUrl);
  return detail && detail->field_violations_size() == 1 ? detail->field_violations(0).field() : "";
}

}  // namespace plait::wire
