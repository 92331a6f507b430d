#pragma once

#include <string>

#include "plait/v1/capability.pb.h"
#include "plait/v1/optimization.pb.h"
#include "proto/wire/json.h"

namespace plait {

using wire::Json;
using wire::JsonLine;
using wire::JsonText;

// "2026-01-31T00:00:00Z"
std::string TimeText(const google::protobuf::Timestamp& time);

// "PHASE": a type without its prefix.
std::string EventTypeName(v1::EventType type);

// {"id", "state", "submitted_at", "started_at", "ended_at", "device", "model", "phase", "fraction",
// "seconds_left", "speedup", "speedup_predicted", "error"}; times are RFC 3339, fields that are not
// known yet are left out.
Json JobJson(const v1::Job& job);

// {"sequence", "type", "time", "text", "fraction", "seconds_left", "speedup"}
Json EventJson(const v1::Event& event);

// {"id", "name", "fingerprint", "cores", "instruction_set", "memory_bytes",
// "predicted", "workers", "workers_idle"}
Json DeviceJson(const v1::AvailableDevice& device);

}  // namespace plait
