#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plait {

// Checks a serialized ModelProto before it is parsed, because parsing multiplies its size in
// memory: total size, number of nodes (of all subgraphs and functions), number of fields of all
// messages in it, nesting of subgraphs. Packed numbers that grow in memory count as the fields that
// take as much.
// Errors: InvalidArgument for truncated or malformed bytes; ResourceExhausted naming the limit.
absl::Status CheckModelWire(absl::string_view bytes);

}  // namespace plait
