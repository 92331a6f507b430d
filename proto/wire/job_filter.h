#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "plait/v1/optimization.pb.h"

namespace plait::wire {

// Which jobs a listing shows: comparisons that are all true of a job. A part of AIP-160's language:
//
//   filter     = [ comparison { "AND" comparison } ]
//   comparison = field operator value
//   operator   = "=" | "!=" | "<" | "<=" | ">" | ">="
//   value      = word | '"' any text but '"' and '\' '"'
//
// Fields and the operators of each are those of ListJobsRequest.filter. A value; thread-safe.
class JobFilter {
 public:
  // Errors: InvalidArgument naming what stands at the wrong place and what may stand there.
  static absl::StatusOr<JobFilter> Parse(absl::string_view text);

  // True of every job when it was parsed from the empty text.
  bool Matches(const v1::Job& job) const;

 private:
  enum class Operator { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
  struct Comparison {
    std::string field;
    Operator op = Operator::kEqual;
    std::string text;  // the value of a field of text
    absl::Time time;   // the value of a field of time
  };

  static absl::StatusOr<Comparison> ParseComparison(absl::string_view& rest);
  static absl::StatusOr<Operator> ParseOperator(absl::string_view& rest);
  static bool Matches(const Comparison& comparison, const v1::Job& job);

  std::vector<Comparison> comparisons_;
};

}  // namespace plait::wire
