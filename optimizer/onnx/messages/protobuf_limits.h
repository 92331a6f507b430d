#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plait {

// What a field takes in memory, at most, as kModelFieldsMax reckons.
constexpr int64_t kModelFieldBytes = 200;

// Checks a serialized ModelProto without building anything, because what is built of it may take
// many times its size in memory: total size, number of nodes (of all subgraphs and functions),
// number of fields of all messages in it, nesting of subgraphs and of messages. What takes more
// than kModelFieldBytes in memory counts as several fields.
// Errors: InvalidArgument for truncated or malformed bytes, which groups are; ResourceExhausted
// naming the limit.
absl::Status CheckModelWire(absl::string_view bytes);

}  // namespace plait
