#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/statistics.h"
#include "client/kernel_list/recording.h"

namespace plait {
namespace {

constexpr size_t kNumbersTold = 3;

// How predictions of a family's kernels compare with what was recorded.
struct FamilyRatios {
  std::string family;
  int listed = 0;
  std::vector<double> ratios;  // predicted over recorded

  double worst() const {
    return *std::max_element(ratios.begin(), ratios.end(), [](double a, double b) {
      return std::abs(std::log(a)) < std::abs(std::log(b));
    });
  }
};

// In the order of their names, and all of them together.
std::vector<FamilyRatios> RatiosOf(const Recording& recording) {
  std::map<std::string, FamilyRatios> families;
  for (const auto& [family, listed] : recording.kernels) families[family] = {family, listed, {}};
  FamilyRatios all{"all", 0, {}};
  for (const RecordedTime& time : recording.times) {
    // Of a kernel that nothing was predicted of.
    if (time.predicted_us <= 0) continue;
    const double ratio = time.predicted_us / time.profile.latency_us_median;
    families[time.key.family].ratios.push_back(ratio);
    all.ratios.push_back(ratio);
  }
  std::vector<FamilyRatios> rows;
  for (auto& [family, row] : families) {
    all.listed += row.listed;
    rows.push_back(std::move(row));
  }
  rows.push_back(std::move(all));
  return rows;
}

}  // namespace

std::string RecordingTable(const Recording& recording) {
  std::string table = absl::StrFormat("%-12s %8s %9s  %21s %6s %6s %6s\n", "FAMILY", "KERNELS",
                                      "RECORDED", "PREDICTED / RECORDED", "P10", "P90", "WORST");
  for (const FamilyRatios& row : RatiosOf(recording)) {
    absl::StrAppendFormat(&table, "%-12s %8d %9d", row.family, row.listed, row.ratios.size());
    if (!row.ratios.empty()) {
      absl::StrAppendFormat(&table, "  %21.2f %6.2f %6.2f %6.2f", Median(row.ratios),
                            Quantile(row.ratios, 0.1), Quantile(row.ratios, 0.9), row.worst());
    }
    table += "\n";
  }
  return table;
}

wire::Json FamiliesJson(const Recording& recording) {
  wire::Json families = wire::Json::array();
  for (const FamilyRatios& row : RatiosOf(recording)) {
    const bool none = row.ratios.empty();
    families.push_back({{"family", row.family},
                        {"kernels", row.listed},
                        {"recorded", row.ratios.size()},
                        {"ratio_median", wire::NumberOrNull(none, Median(row.ratios))},
                        {"ratio_p10", wire::NumberOrNull(none, Quantile(row.ratios, 0.1))},
                        {"ratio_p90", wire::NumberOrNull(none, Quantile(row.ratios, 0.9))},
                        {"ratio_worst", wire::NumberOrNull(none, none ? 0 : row.worst())}});
  }
  return families;
}

std::string RefusedText(const Recording& recording) {
  std::string text;
  for (const RefusedLines& refused : recording.refused) {
    const size_t count = refused.lines.size();
    const auto told = absl::MakeConstSpan(refused.lines).first(std::min(count, kNumbersTold));
    absl::StrAppend(&text, refused.file, ": ", count, count == 1 ? " line (" : " lines (",
                    absl::StrJoin(told, ", "), count > kNumbersTold ? ", ..." : "",
                    "): ", refused.reason, "\n");
  }
  return text;
}

wire::Json RefusedJson(const Recording& recording) {
  wire::Json json = wire::Json::array();
  for (const RefusedLines& refused : recording.refused) {
    json.push_back({{"file", refused.file}, {"reason", refused.reason}, {"lines", refused.lines}});
  }
  return json;
}

}  // namespace plait
