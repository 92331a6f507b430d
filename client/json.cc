#include "client/json.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "google/protobuf/util/time_util.h"
#include "proto/wire/error.h"
#include "proto/wire/job_state.h"

namespace plait {
std::string TimeText(const google::protobuf::Timestamp& time) {
  return google::protobuf::util::TimeUtil::ToString(time);
}

std::string EventTypeName(v1::EventType type) {
  return std::string(absl::StripPrefix(v1::EventType_Name(type), "EVENT_TYPE_"));
}

// The header lists the names: scripts read them.
Json JobJson(const v1::Job& job) {
  Json json;
  json["id"] = job.id();
  json["state"] = wire::JobStateName(job.state());
  if (job.has_create_time()) json["submitted_at"] = TimeText(job.create_time());
  if (job.has_start_time()) json["started_at"] = TimeText(job.start_time());
  if (job.has_end_time()) json["ended_at"] = TimeText(job.end_time());
  json["device"] = job.options().device();
  json["model"] = job.model().sha256_hex();
  if (job.has_progress()) {
    json["phase"] = job.progress().phase();
    json["fraction"] = job.progress().fraction();
    json["seconds_left"] = job.progress().seconds_left();
    json["speedup"] = job.progress().speedup();
    json["speedup_predicted"] = job.progress().speedup_predicted();
  }
  if (job.has_error()) {
    json["error"]["reason"] = wire::ReasonName(job.error().reason());
    json["error"]["message"] = job.error().message();
  }
  return json;
}

Json EventJson(const v1::Event& event) {
  Json json;
  json["sequence"] = event.sequence();
  json["type"] = EventTypeName(event.type());
  if (event.has_time()) json["time"] = TimeText(event.time());
  json["text"] = event.text();
  json["fraction"] = event.fraction();
  json["seconds_left"] = event.seconds_left();
  json["speedup"] = event.speedup();
  return json;
}

Json DeviceJson(const v1::AvailableDevice& available) {
  const v1::Device& device = available.device();
  Json json;
  json["id"] = device.id();
  json["name"] = device.name();
  json["fingerprint"] = device.fingerprint();
  json["cores"] = device.cores();
  json["instruction_set"] = device.instruction_set();
  json["memory_bytes"] = device.memory_bytes();
  json["predicted"] = device.predicted();
  json["runtime_version"] =
      device.runtime_version().empty() ? Json() : Json(device.runtime_version());
  json["workers"] = available.workers();
  json["workers_idle"] = available.workers_idle();
  return json;
}

}  // namespace plait
