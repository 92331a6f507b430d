#include "client/kernel_list/recorded_lines.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plait {
namespace {

using wire::Json;

// A day: no kernel takes as long, and so many of them add up to a number.
constexpr double kTimeUsMax = 86400e6;
// More than a recorder takes, and what a store keeps.
constexpr int64_t kSamplesMax = 10'000;

std::optional<double> NumberIn(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<double> TimeIn(const Json& object, const char* name) {
  const std::optional<double> us = NumberIn(object, name);
  return us.has_value() && *us >= 0 && *us <= kTimeUsMax ? us : std::nullopt;
}

// Whether "NVIDIA H200; driver 13000; ..." is that device.
bool IsDevice(absl::string_view fingerprint, absl::string_view device) {
  return absl::ConsumePrefix(&fingerprint, device) &&
         (fingerprint.empty() || fingerprint.front() == ';');
}

}  // namespace

void Refusals::Add(const std::string& file, int number, const std::string& reason) {
  lines_[{file, reason}].push_back(number);
}

std::vector<RefusedLines> Refusals::Take() && {
  std::vector<RefusedLines> taken;
  for (auto& [place, lines] : lines_) {
    taken.push_back({place.first, place.second, std::move(lines)});
  }
  return taken;
}

Json ParsedJson(absl::string_view text) {
  Json parsed = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return parsed.is_discarded() ? Json() : parsed;
}

void VisitLines(const std::string& file, absl::string_view text, Refusals* refusals,
                absl::FunctionRef<void(int number, const Json& line)> visit) {
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const Json parsed = ParsedJson(line);
    parsed.is_object() ? visit(number, parsed)
                       : refusals->Add(file, number, "no JSON object: cut off, or damaged");
  }
}

std::string StringIn(const Json& object, absl::string_view name) {
  const auto found = object.find(std::string(name));
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<int64_t> IntegerIn(const Json& object, absl::string_view name) {
  const auto found = object.find(std::string(name));
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

std::string WhyForeign(const Json& line, absl::string_view device) {
  const std::string fingerprint = StringIn(line, "device");
  if (!IsDevice(fingerprint, device)) {
    const std::string name = fingerprint.substr(0, fingerprint.find(';'));
    return absl::StrCat("of another device: \"", name, "\"");
  }
  const std::string precision = StringIn(line, "precision");
  if (precision != "strict") {
    return absl::StrCat("in ", precision, ", which no search on a description runs");
  }
  const auto cold = line.find("cold_weights");
  if (cold == line.end() || *cold != Json(true)) {
    return "with weights in a cache, where they do not lie in a model";
  }
  return "";
}

std::optional<Profile> RecordedProfileIn(const Json& line) {
  const std::optional<double> median = TimeIn(line, "latency_us_median");
  const std::optional<double> p10 = TimeIn(line, "latency_us_p10");
  const std::optional<double> mad = TimeIn(line, "latency_us_mad");
  const std::optional<int64_t> samples = IntegerIn(line, "samples");
  const std::optional<double> share = NumberIn(line, "compute_share");
  if (!median || !p10 || !mad || !samples || !share || *median == 0) return std::nullopt;
  if (*samples < 1 || *samples > kSamplesMax) return std::nullopt;
  if (!(*share >= 0 && *share <= 1)) return std::nullopt;
  return Profile{.latency_us_median = *median,
                 .latency_us_p10 = *p10,
                 .latency_us_mad = *mad,
                 .samples = static_cast<int>(*samples),
                 .compute_share = *share};
}

std::optional<std::pair<std::string, double>> FastestCandidateIn(const Json& line) {
  std::map<std::string, double> times;
  for (const char* field : {"us", "finalist_us"}) {
    const auto found = line.find(field);
    if (found == line.end() || !found->is_object()) continue;
    for (const auto& [name, unused] : found->items()) {
      const std::optional<double> us = TimeIn(*found, name.c_str());
      if (us.has_value() && *us > 0) times[name] = *us;
    }
  }
  std::optional<std::pair<std::string, double>> fastest;
  for (const auto& time : times) {
    if (!fastest.has_value() || time.second < fastest->second) fastest = time;
  }
  return fastest;
}

}  // namespace plait
