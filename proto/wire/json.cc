#include "proto/wire/json.h"

namespace plait::wire {
namespace {

// Replaced, not refused: names in a model may be any bytes.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string JsonText(const Json& json) { return Dump(json, 2); }
std::string JsonLine(const Json& json) { return Dump(json, -1); }

}  // namespace plait::wire
