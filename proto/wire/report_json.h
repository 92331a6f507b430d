#pragma once

#include <string>

#include "plait/v1/report.pb.h"
#include "proto/wire/json.h"

// The one JSON form of a report: what `plait optimize --json` prints and what the server stores
// beside a result. docs/schema/optimize.json describes it. All functions are pure and thread-safe.
namespace plait::wire {

// Changes when a field goes or means something else; new fields leave it as it is.
constexpr int kReportSchemaVersion = 1;

// "equivalent", "different" or "inconclusive".
std::string VerdictName(v1::Verdict verdict);

// "different", "inconclusive", "failed", "not_chosen", "not_faster" or "inaccurate"; "unspecified"
// for one of a later plait.
std::string RefusalReasonName(v1::RefusalReason reason);

// Digests are their sha256_hex alone. `with_trace`: what the search decided, too, which is long.
Json ReportJson(const v1::Report& report, bool with_trace);

}  // namespace plait::wire
