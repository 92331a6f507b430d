#pragma once

#include <string>

#include <nlohmann/json.hpp>

// JSON as scripts read it. All functions are pure and thread-safe.
namespace plait::wire {

// Keeps fields in the order in which they are set, which is the documented one.
using Json = nlohmann::ordered_json;

// The text with a line feed at its end: indented, or everything on one line. Numbers are written
// with the fewest digits that parse to the same bits, infinities and NaN as null, and bytes that
// are no UTF-8 as replacement characters.
std::string JsonText(const Json& json);
std::string JsonLine(const Json& json);

// A number, or null where there is none to tell.
inline Json NumberOrNull(bool is_null, double number) { return is_null ? Json() : Json(number); }

}  // namespace plait::wire
