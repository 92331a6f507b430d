#pragma once

#include <string>

#include "plait/v1/report.pb.h"

namespace plait {

// A report for people: latencies, speed-up with its interval, equivalence, runtimes where there are
// others than plait, kernels, rules, cost of the search and where the result is. With `explain`,
// each rule stands beside its law. Pure; ends with a line feed. Its form may change with each
// release: scripts read the JSON.
std::string ReportTable(const v1::Report& report, bool explain);

}  // namespace plait
