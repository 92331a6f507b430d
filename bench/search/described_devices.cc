// Says what the described device h200 predicts for models: `described_devices MODEL.onnx...` brings
// each into normal form, covers it with the device's kernels and prints
//
//   kernels, chain    launches, and those on the longest path
//   fp32, tf32, fp16  ms by PredictionDetail::kEnvelope at each rate, in fp16 with halves for
//                     numbers: with any number of streams, and with one (practical_times.py counts
//                     the same from the file alone)
//   plait, line       ms by PredictionDetail::kBlocks under the policies plait and sequential, and
//                     these divided by the envelope's in fp32
//
// and below that how many kernels of which families are none of
// optimizer/cost/generated_kernels.def.
//
// `described_devices --search MODEL.onnx...` rewrites them first, as a job does, by the envelope.
//
// `described_devices --draws N MODEL.onnx...` draws the device's constants anew N times, each times
// or by up to 1.3, and prints the policy that is predicted to be the best, the share of draws in
// which it stays so, and the most that it then takes beyond the best, in percent. What stays in
// less than 90 % is undecided without a GPU. No number here was measured.
//
//   cmake --build build --target described_devices && build/described_devices build/models/*.onnx
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "bench/search/described_plans.h"
#include "bench/search/described_search.h"
#include "optimizer/cost/critical_path_cost.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/search/optimize.h"

namespace plait {
namespace {

constexpr double kDecidedShareMin = 0.9;

PathCost PathsOf(const ScheduleProblem& problem, bool counts_launches) {
  std::vector<CostedStep> steps;
  for (const Launch& launch : problem.launches) {
    const double us = launch.part.latency_us;
    steps.push_back({counts_launches ? (us > 0 ? 1.0 : 0.0) : us, launch.predecessors});
  }
  return MeasurePaths(steps);
}

// The same kernels on numbers that have two bytes instead of four.
CoveredGraph OnHalves(CoveredGraph covered) {
  for (DescribedKernel& kernel : covered.kernels) {
    kernel.work.weight_bytes /= 2;
    kernel.work.value_bytes /= 2;
  }
  return covered;
}

// Longest path and sum by the envelope, in milliseconds.
std::string EnvelopeMs(const CoveredGraph& covered, const DescribedDevice& device) {
  const PathCost us = PathsOf(ProblemOn(covered, device, PredictionDetail::kEnvelope), false);
  return absl::StrFormat("%6.3f %6.3f", us.critical_us / 1e3, us.total_us / 1e3);
}

// Kernels that the table of registers has not take what the worst of their family does.
std::string UnknownKernels(const CoveredGraph& covered) {
  std::map<std::string, int> counts;
  for (const DescribedKernel& kernel : covered.kernels) {
    const std::string& name = kernel.blocks.resources_of;
    if (!name.empty() && !absl::StrContains(name, '/')) ++counts[name];
  }
  return absl::StrJoin(counts, ", ", absl::PairFormatter(" "));
}

absl::Status PrintPredictions(const std::string& name, const Graph& normal_form, bool searches) {
  Graph graph = normal_form;
  if (searches) {
    PLAIT_ASSIGN_OR_RETURN(SearchResult found,
                           SearchDescribed(normal_form, kH200Device, PredictionDetail::kEnvelope));
    graph = std::move(found.graph);
  }
  PLAIT_ASSIGN_OR_RETURN(
      const CoveredGraph covered,
      CoverDescribed(graph, kH200Device, kH200Device.streams_max, PredictionDetail::kEnvelope));
  const ScheduleProblem envelope = ProblemOn(covered, kH200Device, PredictionDetail::kEnvelope);
  const PathCost launches = PathsOf(envelope, true);
  const PathCost fp32_us = PathsOf(envelope, false);
  PLAIT_ASSIGN_OR_RETURN(
      const CoveredGraph in_blocks,
      CoverDescribed(graph, kH200Device, kH200Device.streams_max, PredictionDetail::kBlocks));
  const ScheduleProblem blocks = ProblemOn(in_blocks, kH200Device, PredictionDetail::kBlocks);
  const double plait_us = MakespanUs(blocks, kPlaitPolicy.assign(blocks));
  const double line_us = MakespanUs(blocks, kSequentialPolicy.assign(blocks));
  std::printf("%-16s %4.0f %4.0f  %s  %s  %s  %6.3f %6.3f  %5.2f %5.2f\n", name.c_str(),
              launches.total_us, launches.critical_us, EnvelopeMs(covered, kH200Device).c_str(),
              EnvelopeMs(covered, InTf32(kH200Device)).c_str(),
              EnvelopeMs(OnHalves(covered), In16Bits(kH200Device)).c_str(), plait_us / 1e3,
              line_us / 1e3, plait_us / fp32_us.critical_us, line_us / fp32_us.total_us);
  const std::string unknown = UnknownKernels(in_blocks);
  if (!unknown.empty()) std::printf("  registers of the family's worst: %s\n", unknown.c_str());
  return absl::OkStatus();
}

// By policy, but for plait, which is as good as the best of them whatever the constants.
std::vector<double> MakespansOn(const CoveredGraph& covered, const DescribedDevice& device) {
  const ScheduleProblem problem = ProblemOn(covered, device, PredictionDetail::kBlocks);
  std::vector<double> us;
  for (const SchedulePolicy* policy : AllPolicies()) {
    if (policy != &kPlaitPolicy) us.push_back(MakespanUs(problem, policy->assign(problem)));
  }
  return us;
}

absl::Status PrintDraws(const std::string& name, const Graph& graph, int draws) {
  PLAIT_ASSIGN_OR_RETURN(
      const CoveredGraph covered,
      CoverDescribed(graph, kH200Device, kH200Device.streams_max, PredictionDetail::kBlocks));
  const std::vector<double> nominal = MakespansOn(covered, kH200Device);
  const auto best = std::min_element(nominal.begin(), nominal.end()) - nominal.begin();
  int stays = 0;
  double regret = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const std::vector<double> us =
        MakespansOn(covered, DrawnDevice(kH200Device, static_cast<uint64_t>(draw) + 1));
    const double least = *std::min_element(us.begin(), us.end());
    // Policies often give one schedule: what is as good has stayed.
    if (us[best] <= least * (1 + 1e-9)) ++stays;
    regret = std::max(regret, us[best] / least - 1);
  }
  const double share = static_cast<double>(stays) / draws;
  std::printf("%-16s %-12s %5.1f%% %6.2f%%  %5.2f%s\n", name.c_str(),
              std::string(AllPolicies()[best]->name).c_str(), 100 * share, 100 * regret,
              nominal[0] / nominal[best], share < kDecidedShareMin ? "  undecided" : "");
  return absl::OkStatus();
}

absl::Status Run(int argc, char** argv) {
  int draws = 0;
  const bool searches = argc > 2 && absl::string_view(argv[1]) == "--search";
  int first = searches ? 2 : 1;
  if (argc > 3 && absl::string_view(argv[1]) == "--draws" && absl::SimpleAtoi(argv[2], &draws)) {
    first = 3;
  }
  if (draws > 0) {
    std::printf("%-16s %-12s %6s %7s  %s\n", "model", "best", "stays", "regret", "over line");
  } else {
    std::printf("%-16s %4s %4s  %-13s  %-13s  %-13s  %-13s  %s\n", "model", "kern", "chai",
                "fp32 any, one", "tf32 any, one", "fp16 any, one", "plait, line", "to envelope");
  }
  for (int i = first; i < argc; ++i) {
    const std::string path = argv[i];
    std::string name = path.substr(path.rfind('/') + 1);
    name = name.substr(0, name.rfind('.'));
    PLAIT_ASSIGN_OR_RETURN(const Graph graph, NormalFormOf(path));
    PLAIT_RETURN_IF_ERROR(draws > 0 ? PrintDraws(name, graph, draws)
                                    : PrintPredictions(name, graph, searches));
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: described_devices [--draws N | --search] MODEL.onnx...\n");
    return 2;
  }
  const absl::Status status = plait::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
