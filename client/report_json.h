#pragma once

#include "client/json.h"
#include "plait/v1/report.pb.h"

namespace plait {

// A report as `plait optimize --json` prints it; the field names are part of the interface.
// The digest is the hash alone; warnings are printed elsewhere. Pure.
Json ReportJson(const v1::Report& report);

// "equivalent", "different" or "inconclusive".
std::string VerdictName(v1::Verdict verdict);

}  // namespace plait
