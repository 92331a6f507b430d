#pragma once

#include "plait/v1/report.pb.h"

namespace plait {

// Leaves out, one after the other, the parts that names of a model's nodes, operators and inputs
// make long, until what is left takes kReportBytesMax, and warns of each. Only hostile models have
// so long a report, which nobody could fetch. Pure and thread-safe.
void FitReport(v1::Report& report);

}  // namespace plait
