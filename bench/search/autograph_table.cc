// Says what ways to search and to schedule make of models on the described device h200: for each
// model and setting a line of JSON with a row for each pair. bench/search/autograph_table.py makes
// tables of these lines, AutoGraph's (AAAI 2023, table 2 and figure 10) among them.
//
//   autograph_table [--settings A,B] [--pairs A,B] MODEL.onnx...
//
// Settings are strict or tf32, and behind a colon how much of kernels is looked at: blocks, by
// which kernels that run side by side take from each other, or envelope, by which they do not. A
// pair is SEARCH:SCHEDULE, or SEARCH:SCHEDULE:N where only the N best plans by the search's own
// cost count; six otherwise, of which the simulator takes the best.
//
//   schedule_used   the policy that placed the plan: of a job's plans one runs in line
//   predicted_us    by the simulator, at the constants that the search had
//   bound_us        what no schedule of the same kernels is under (schedule/makespan_bound.h)
//   drawn_us        the same plan at 20 other sets of constants, each times or by up to 1.3, that
//                   the search did not have
//   search_seconds  of one core; import and export are not in it
//
// No number here was measured.
//
//   cmake --build build --target autograph_table && build/autograph_table build/models/*.onnx
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "bench/search/described_plans.h"
#include "bench/search/described_search.h"
#include "optimizer/schedule/makespan_bound.h"

namespace plait {
namespace {

constexpr uint64_t kDraws = 20;

constexpr absl::string_view kSettings = "strict:blocks,strict:envelope,tf32:blocks,tf32:envelope";
constexpr absl::string_view kPairs =
    "none:sequential,"
    "normal_form:sequential,normal_form:greedy,normal_form:nimble,normal_form:ios,"
    "normal_form:opara,taso:sequential,taso:greedy,taso:nimble,taso:ios,taso:opara,"
    "taso:nimble:1,autograph:nimble,autograph:plait,plait:sequential,plait:plait,"
    "autograph_no_dp:plait,autograph_no_partition:plait,autograph_no_path:plait";

struct Setting {
  std::string name;
  DescribedDevice device;
  PredictionDetail detail = PredictionDetail::kBlocks;
};

absl::StatusOr<std::vector<Setting>> ParseSettings(absl::string_view text) {
  std::vector<Setting> settings;
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(name, ':');
    const bool is_tf32 = parts.first == "tf32";
    const bool is_envelope = parts.second == "envelope";
    if ((!is_tf32 && parts.first != "strict") || (!is_envelope && parts.second != "blocks")) {
      return absl::InvalidArgumentError(absl::StrCat("no setting is called ", name));
    }
    settings.push_back({std::string(name), is_tf32 ? InTf32(kH200Device) : kH200Device,
                        is_envelope ? PredictionDetail::kEnvelope : PredictionDetail::kBlocks});
  }
  return settings;
}

absl::StatusOr<std::vector<SearchOptions>> ParsePairs(absl::string_view text) {
  std::vector<SearchOptions> pairs;
  for (const absl::string_view pair : absl::StrSplit(text, ',')) {
    const std::vector<std::string> parts = absl::StrSplit(pair, ':');
    SearchOptions options;
    if (parts.size() < 2 || parts.size() > 3 ||
        (parts.size() == 3 && !absl::SimpleAtoi(parts[2], &options.candidates_max))) {
      return absl::InvalidArgumentError(absl::StrCat("no pair of policies: ", pair));
    }
    options.search = parts[0];
    options.schedule = parts[1];
    pairs.push_back(std::move(options));
  }
  return pairs;
}

// The plan at constants that the search did not have: kernels, streams and order stay.
std::vector<double> DrawnUs(const CoveredGraph& covered, const Schedule& schedule,
                            const Setting& setting) {
  std::vector<double> us;
  for (uint64_t seed = 1; seed <= kDraws; ++seed) {
    const DescribedDevice device = DrawnDevice(setting.device, seed);
    us.push_back(MakespanUs(ProblemOn(covered, device, setting.detail), schedule));
  }
  return us;
}

// The plan that a search found, made anew.
struct FoundPlan {
  CoveredGraph covered;
  ScheduleProblem problem;
  Schedule schedule;
  double us = 0;
};

// By its cover for one stream, or where several are used the faster of that and of the one for as
// many as there are (PlanFused). Errors: Internal where it takes another time than was predicted.
absl::StatusOr<FoundPlan> FindAgain(const SearchResult& result, const Setting& setting) {
  PLAIT_ASSIGN_OR_RETURN(const SchedulePolicy* policy, FindPolicy(result.schedule));
  std::vector<int> streams = {1};
  if (policy != &kSequentialPolicy) streams.push_back(setting.device.streams_max);
  std::optional<FoundPlan> best;
  for (const int count : streams) {
    FoundPlan found;
    PLAIT_ASSIGN_OR_RETURN(found.covered, CoverDescribed(result.graph, setting.device, count,
                                                         setting.detail, result.improved));
    found.problem = ProblemOn(found.covered, setting.device, setting.detail);
    found.schedule = policy->assign(found.problem);
    found.us = MakespanUs(found.problem, found.schedule);
    if (!best.has_value() || found.us < best->us) best = std::move(found);
  }
  if (std::abs(best->us - result.predicted_us) <= 1e-6 * best->us) return *std::move(best);
  return absl::InternalError(absl::StrCat(result.schedule, ": ", best->us,
                                          " us is not the plan of ", result.predicted_us));
}

absl::StatusOr<std::string> RowOf(const Graph& original, const SearchOptions& options,
                                  const Setting& setting) {
  const std::clock_t start = std::clock();
  PLAIT_ASSIGN_OR_RETURN(const SearchResult result,
                         SearchDescribed(original, setting.device, setting.detail, options));
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  absl::StatusOr<FoundPlan> found = FindAgain(result, setting);
  if (!found.ok()) return Annotate(found.status(), absl::StrCat("search ", options.search));
  int64_t rewrites = 0;
  std::vector<std::string> rules;
  for (const auto& [rule, count] : result.rules_applied) {
    rewrites += count;
    rules.push_back(absl::StrFormat("\"%s\": %d", rule, count));
  }
  return absl::StrFormat(
      R"({"search": "%s", "schedule": "%s", "candidates_max": %d, "schedule_used": "%s", )"
      R"("predicted_us": %.3f, "bound_us": %.3f, "search_seconds": %.2f, )"
      R"("candidates": %d, "kernels": %d, )"
      R"("streams": %d, "rewrites": %d, "rules": {%s}, "drawn_us": [%s]})",
      options.search, options.schedule, options.candidates_max, result.schedule, found->us,
      BoundMakespan(found->problem).makespan_us, seconds, result.candidates,
      result.plan.steps.size(), result.plan.streams, rewrites, absl::StrJoin(rules, ", "),
      absl::StrJoin(
          DrawnUs(found->covered, found->schedule, setting), ", ",
          [](std::string* out, double drawn) { absl::StrAppendFormat(out, "%.3f", drawn); }));
}

absl::Status Run(int argc, char** argv) {
  std::string settings_text(kSettings);
  std::string pairs_text(kPairs);
  int first = 1;
  for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
    const absl::string_view option = argv[first];
    if (option != "--settings" && option != "--pairs") {
      return absl::InvalidArgumentError(absl::StrCat("no option is called ", option));
    }
    (option == "--settings" ? settings_text : pairs_text) = argv[first + 1];
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Setting> settings, ParseSettings(settings_text));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<SearchOptions> pairs, ParsePairs(pairs_text));
  for (int i = first; i < argc; ++i) {
    const std::string path = argv[i];
    std::string name = path.substr(path.rfind('/') + 1);
    name = name.substr(0, name.rfind('.'));
    PLAIT_ASSIGN_OR_RETURN(const DescribedModel original, DescribedModelOf(path));
    for (const Setting& setting : settings) {
      std::vector<std::string> rows;
      for (const SearchOptions& options : pairs) {
        PLAIT_ASSIGN_OR_RETURN(rows.emplace_back(), RowOf(original.graph, options, setting));
      }
      std::printf(
          "{\"model\": \"%s\", \"device\": \"model:h200\", \"predicted\": true, "
          "\"setting\": \"%s\", \"rows\": [%s]}\n",
          name.c_str(), setting.name.c_str(), absl::StrJoin(rows, ", ").c_str());
      std::fflush(stdout);
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: autograph_table [--settings A,B] [--pairs A,B] MODEL.onnx...\n");
    return 2;
  }
  const absl::Status status = plait::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
