#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"
#include "plait/v1/capability.pb.h"
#include "plait/v1/optimization.pb.h"

namespace plait {

// Keeps fields in the order in which they are set, which is the documented one.
using Json = nlohmann::ordered_json;

// The text with a line feed at its end: indented, or everything on one line. Numbers are written
// with the fewest digits that parse to the same bits, infinities and NaN as null, and bytes that
// are no UTF-8 as replacement characters.
std::string JsonText(const Json& json);
std::string JsonLine(const Json& json);

// "PHASE": a type without its prefix.
std::string EventTypeName(v1::EventType type);

// {"id", "state", "submitted_at", "started_at", "ended_at", "device", "model", "phase", "fraction",
// "seconds_left", "speedup", "speedup_predicted", "error"}; times are RFC 3339, fields that are not
// known yet are left out.
Json JobJson(const v1::Job& job);

// {"sequence", "type", "time", "text", "fraction", "seconds_left", "speedup"}
Json EventJson(const v1::Event& event);

// {"id", "name", "fingerprint", "cores", "instruction_set", "memory_bytes", "versions",
// "predicted", "workers", "workers_idle"}
Json DeviceJson(const v1::AvailableDevice& device);

}  // namespace plait
