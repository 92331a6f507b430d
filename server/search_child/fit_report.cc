#include "server/search_child/fit_report.h"

#include "absl/strings/str_cat.h"
#include "base/limits.h"

namespace plait {
namespace {

struct ReportPart {
  const char* name;
  void (*leave_out)(v1::Report& report);
};

// What a user misses least comes first.
constexpr ReportPart kReportParts[] = {
    {"the trace of the search", [](v1::Report& report) { report.mutable_search()->clear_trace(); }},
    {"the operators of host segments",
     [](v1::Report& report) {
       for (v1::HostSegment& segment : *report.mutable_model()->mutable_host_segments()) {
         segment.clear_operators();
       }
     }},
    {"the names of nodes that run as reference code",
     [](v1::Report& report) {
       for (auto* const fallbacks : {report.mutable_baseline()->mutable_fallback_operators(),
                                     report.mutable_optimized()->mutable_fallback_operators()}) {
         for (v1::FallbackOperator& fallback : *fallbacks) fallback.clear_names();
       }
     }},
    {"the shapes of plans",
     [](v1::Report& report) {
       for (v1::PlanReport& plan : *report.mutable_plans()) plan.clear_shapes();
       for (v1::KeptPlanReport& plan : *report.mutable_kept_plans()) plan.clear_shapes();
     }},
};

}  // namespace

void FitReport(v1::Report& report) {
  for (const ReportPart& part : kReportParts) {
    const auto bytes = static_cast<int64_t>(report.ByteSizeLong());
    if (bytes <= kReportBytesMax) return;
    part.leave_out(report);
    report.add_warnings(absl::StrCat("the report would have ", bytes, " bytes and may have ",
                                     kReportBytesMax, ": it leaves out ", part.name));
  }
}

}  // namespace plait
