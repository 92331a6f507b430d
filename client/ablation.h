#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/json.h"
#include "plait/v1/report.pb.h"

namespace plait {

// What one pair of policies made of a model.
struct AblationRow {
  std::string search;    // how graphs were searched
  std::string schedule;  // how kernels were placed on streams
  v1::Report report;
};

// The system that AutoGraph's table (AAAI 2023, section 4.2) calls by these policies, such as
// "Nimble" for normal_form and nimble; empty where it has none.
absl::string_view SystemOf(absl::string_view search, absl::string_view schedule);

// {"schema_version", "model", "rows": [{"search", "schedule", "system", "origin", "speedup",
// "speedup_low", "speedup_high", "latency_us_median", "predicted_us", "search_seconds",
// "profiling_seconds", "verification_seconds", "candidates", "rules_applied"}]}; system is null
// where there is none.
Json AblationJson(absl::string_view model, absl::Span<const AblationRow> rows);

// The same as a table, a line for each pair. A speed-up is over the original; where no plan of a
// pair was surely faster it is 1 and the line says so.
std::string AblationTable(absl::Span<const AblationRow> rows);

}  // namespace plait
