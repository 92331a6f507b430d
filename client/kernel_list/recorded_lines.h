#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "client/kernel_list/recording.h"
#include "optimizer/cost/profile.h"
#include "proto/wire/json.h"

// Lines of a recorder's files, which come from another machine and may be cut off. Pure.
namespace plait {

// Lines that count for nothing, by file and reason.
class Refusals {
 public:
  // `number` is counted from 1.
  void Add(const std::string& file, int number, const std::string& reason);
  std::vector<RefusedLines> Take() &&;

 private:
  std::map<std::pair<std::string, std::string>, std::vector<int>> lines_;
};

// null where the text is no JSON.
wire::Json ParsedJson(absl::string_view text);

// Calls visit(number, object) for each line that is a JSON object; others are refused. Empty lines
// are none.
void VisitLines(const std::string& file, absl::string_view text, Refusals* refusals,
                absl::FunctionRef<void(int number, const wire::Json& line)> visit);

// "" or nullopt where the object has no field of that name and type.
std::string StringIn(const wire::Json& object, absl::string_view name);
std::optional<int64_t> IntegerIn(const wire::Json& object, absl::string_view name);

// Why a profile's line is none that a search on the description of `device` asks for; "" where it
// is one.
std::string WhyForeign(const wire::Json& line, absl::string_view device);

// The times of a profile's line, and the share of the device. nullopt: there are none.
std::optional<Profile> RecordedProfileIn(const wire::Json& line);

// Of a line of candidates.jsonl: the fastest, and its microseconds. A time in turns counts more
// than one in a graph of the same. nullopt: there is no time.
std::optional<std::pair<std::string, double>> FastestCandidateIn(const wire::Json& line);

}  // namespace plait
