#pragma once

#include <google/protobuf/message.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plait::wire {

// Whether this build knows every field of a request, in every message within it. `path` is the
// message's place in the request; empty for the request itself. Pure and thread-safe.
// Errors: InvalidArgument naming the message and the number of the unknown field, whose name only
// its sender knows.
absl::Status CheckFieldsKnown(absl::string_view path, const google::protobuf::Message& message);

}  // namespace plait::wire
