// Says whether the laws that a program found pay: `law_search MODEL.onnx...` searches each model
// without them and with them, for a described GPU (model:h200) and for two threads of a processor
// with AVX-512, by predicted times, and prints for each pair
//
//   places     where a generated law applies to the normal form
//   graphs     that were priced, without and with them
//   seconds    of one core, of the search
//   us         predicted of the best plan
//   rules      generated ones in the plan that was chosen
//
// `law_search --all FOLDER MODEL.onnx...` asks every law of optimizer/rules/generated, in both
// directions, in the place of those of rules.txt. No number here was measured.
//
//   cmake --build build --target law_search_binary && build/law_search build/models/*.onnx
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "bench/search/described_search.h"
#include "bench/search/select_laws.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/cost/predicted_profiler.h"
#include "optimizer/rules/laws/law_rules.h"

namespace plait {
namespace {

struct Found {
  SearchResult result;
  double seconds = 0;
};

absl::StatusOr<Found> Search(const Graph& graph, const std::string& device, RuleList rules) {
  const std::clock_t start = std::clock();
  Found found;
  if (device == "model:h200") {
    PLAIT_ASSIGN_OR_RETURN(found.result,
                           SearchDescribed(graph, kH200Device, PredictionDetail::kBlocks,
                                           /*threads=*/1, rules));
  } else {
    PLAIT_ASSIGN_OR_RETURN(found.result, SearchPredicted(graph, rules));
  }
  found.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return found;
}

absl::Status Compare(const std::string& path, const std::string& device, RuleList with) {
  std::string name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  PLAIT_ASSIGN_OR_RETURN(const Graph graph, NormalFormOf(path));
  PLAIT_ASSIGN_OR_RETURN(const Found without, Search(graph, device, AllRules()));
  PLAIT_ASSIGN_OR_RETURN(const Found found, Search(graph, device, with));
  std::vector<std::string> used;
  for (const auto& [rule, count] : found.result.rules_applied) {
    if (IsGeneratedName(rule)) used.push_back(absl::StrCat(rule, " x", count));
  }
  const size_t places = MatchIndex(graph).FindMatches(with.subspan(AllRules().size())).size();
  std::printf("%-16s %-10s %6zu %7ld %7ld %7.2f %7.2f %10.2f %10.2f %7.4f  %s\n", name.c_str(),
              device.c_str(), places, static_cast<long>(without.result.candidates),
              static_cast<long>(found.result.candidates), without.seconds, found.seconds,
              without.result.predicted_us, found.result.predicted_us,
              without.result.predicted_us / found.result.predicted_us,
              absl::StrJoin(used, ", ").c_str());
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Run(int argc, char** argv) {
  int first = 1;
  std::unique_ptr<const LawRules> all;
  std::vector<const Rule*> with(EveryRule().begin(), EveryRule().end());
  if (argc > 3 && absl::string_view(argv[1]) == "--all") {
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Law> laws, ReadGeneratedLaws(argv[2]));
    PLAIT_ASSIGN_OR_RETURN(all, LawRules::Parse(PrintLaws(DirectedLaws(laws))));
    with.assign(AllRules().begin(), AllRules().end());
    with.insert(with.end(), all->rules().begin(), all->rules().end());
    first = 3;
  }
  std::printf("%zu rules written by hand, %zu generated\n", AllRules().size(),
              with.size() - AllRules().size());
  std::printf("%-16s %-10s %6s %15s %15s %21s %7s  %s\n", "model", "device", "places", "graphs",
              "seconds", "predicted us", "gain", "rules");
  for (int i = first; i < argc; ++i) {
    for (const char* device : {"model:h200", "cpu"}) {
      PLAIT_RETURN_IF_ERROR(Compare(argv[i], device, with));
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: law_search [--all FOLDER] MODEL.onnx...\n");
    return 2;
  }
  const absl::Status status = plait::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
