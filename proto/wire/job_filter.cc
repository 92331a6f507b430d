#include "proto/wire/job_filter.h"

#include <algorithm>
#include <utility>

#include <google/protobuf/timestamp.pb.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "proto/wire/job_state.h"

namespace plait::wire {
namespace {

// Longer than any filter that a person writes.
constexpr size_t kFilterBytesMax = 1024;

absl::Status Wrong(absl::string_view what, absl::string_view text) {
  return FieldError("filter",
                    absl::StrCat(what, ", is \"", absl::CHexEscape(text.substr(0, 80)), "\""));
}

bool IsWordCharacter(char c) { return absl::ascii_isalnum(c) || absl::StrContains("-_.:+", c); }

// The word at the beginning, which may be empty.
absl::string_view TakeWord(absl::string_view& rest) {
  const auto* const end = std::find_if_not(rest.begin(), rest.end(), IsWordCharacter);
  const absl::string_view word = rest.substr(0, static_cast<size_t>(end - rest.begin()));
  rest.remove_prefix(word.size());
  return word;
}

void SkipSpace(absl::string_view& rest) { rest = absl::StripLeadingAsciiWhitespace(rest); }

absl::StatusOr<std::string> TakeValue(absl::string_view& rest) {
  if (!absl::ConsumePrefix(&rest, "\"")) {
    const absl::string_view word = TakeWord(rest);
    if (word.empty()) return Wrong("a value must be a word or a text in quotes", rest);
    return std::string(word);
  }
  const size_t end = rest.find_first_of("\"\\");
  if (end == absl::string_view::npos || rest[end] == '\\') {
    return Wrong("a text in quotes must end, and have no \\", rest);
  }
  std::string text(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return text;
}

bool IsTimeField(absl::string_view field) {
  return field == "create_time" || field == "start_time" || field == "end_time";
}

bool IsTextField(absl::string_view field) {
  return field == "state" || field == "device" || field == "id" || field == "model";
}

std::string TextOf(absl::string_view field, const v1::Job& job) {
  if (field == "state") return JobStateName(job.state());
  if (field == "device") return job.options().device();
  if (field == "id") return job.id();
  return job.model().sha256_hex();
}

// REQUIRES: IsTimeField. Infinite when the job has no such time yet.
absl::Time TimeOf(absl::string_view field, const v1::Job& job) {
  const bool is_set = field == "create_time"  ? job.has_create_time()
                      : field == "start_time" ? job.has_start_time()
                                              : job.has_end_time();
  if (!is_set) return absl::InfiniteFuture();
  const google::protobuf::Timestamp& time = field == "create_time"  ? job.create_time()
                                            : field == "start_time" ? job.start_time()
                                                                    : job.end_time();
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

}  // namespace

absl::StatusOr<JobFilter::Operator> JobFilter::ParseOperator(absl::string_view& rest) {
  // The longer ones first.
  constexpr std::pair<absl::string_view, Operator> kOperators[] = {
      {"!=", Operator::kNotEqual},
      {"<=", Operator::kLessOrEqual},
      {">=", Operator::kGreaterOrEqual},
      {"=", Operator::kEqual},
      {"<", Operator::kLess},
      {">", Operator::kGreater},
  };
  for (const auto& [name, op] : kOperators) {
    if (absl::ConsumePrefix(&rest, name)) return op;
  }
  return Wrong("an operator must be =, !=, <, <=, > or >=", rest);
}

absl::StatusOr<JobFilter::Comparison> JobFilter::ParseComparison(absl::string_view& rest) {
  Comparison comparison;
  comparison.field = std::string(TakeWord(rest));
  const bool is_time = IsTimeField(comparison.field);
  if (!is_time && !IsTextField(comparison.field)) {
    return Wrong("a field must be state, device, id, model, create_time, start_time or end_time",
                 comparison.field.empty() ? rest : comparison.field);
  }
  SkipSpace(rest);
  PLAIT_ASSIGN_OR_RETURN(comparison.op, ParseOperator(rest));
  if (!is_time && comparison.op != Operator::kEqual && comparison.op != Operator::kNotEqual) {
    return Wrong("only times are compared by other operators than = and !=", comparison.field);
  }
  SkipSpace(rest);
  PLAIT_ASSIGN_OR_RETURN(comparison.text, TakeValue(rest));
  std::string error;
  if (is_time && !absl::ParseTime(absl::RFC3339_full, comparison.text, &comparison.time, &error)) {
    return Wrong("a time must be one of RFC 3339, such as 2026-01-31T00:00:00Z", comparison.text);
  }
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  if (comparison.field == "state" &&
      !v1::JobState_Parse(absl::StrCat("JOB_STATE_", comparison.text), &state)) {
    return Wrong("a state must be QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED or QUARANTINED",
                 comparison.text);
  }
  return comparison;
}

absl::StatusOr<JobFilter> JobFilter::Parse(absl::string_view text) {
  if (text.size() > kFilterBytesMax) {
    return FieldError(
        "filter", absl::StrCat("must have at most ", kFilterBytesMax, " bytes, has ", text.size()));
  }
  JobFilter filter;
  absl::string_view rest = text;
  SkipSpace(rest);
  while (!rest.empty()) {
    PLAIT_ASSIGN_OR_RETURN(Comparison comparison, ParseComparison(rest));
    filter.comparisons_.push_back(std::move(comparison));
    SkipSpace(rest);
    if (rest.empty()) break;
    absl::string_view after = rest;
    if (TakeWord(after) != "AND") return Wrong("comparisons must be joined by AND", rest);
    rest = after;
    SkipSpace(rest);
    if (rest.empty()) return Wrong("a comparison must follow AND", rest);
  }
  return filter;
}

bool JobFilter::Matches(const v1::Job& job) const {
  return std::all_of(comparisons_.begin(), comparisons_.end(),
                     [&](const Comparison& comparison) { return Matches(comparison, job); });
}

bool JobFilter::Matches(const Comparison& comparison, const v1::Job& job) {
  if (!IsTimeField(comparison.field)) {
    const bool is_equal = TextOf(comparison.field, job) == comparison.text;
    return is_equal == (comparison.op == Operator::kEqual);
  }
  const absl::Time time = TimeOf(comparison.field, job);
  if (time == absl::InfiniteFuture()) return comparison.op == Operator::kNotEqual;
  switch (comparison.op) {
    case Operator::kEqual:
      return time == comparison.time;
    case Operator::kNotEqual:
      return time != comparison.time;
    case Operator::kLess:
      return time < comparison.time;
    case Operator::kLessOrEqual:
      return time <= comparison.time;
    case Operator::kGreater:
      return time > comparison.time;
    case Operator::kGreaterOrEqual:
      return time >= comparison.time;
  }
  return false;
}

}  // namespace plait::wire
