// Says whether a search decides the same each time: `search_replays N MODEL.onnx...` searches each
// model N times with one thread and N times with two, for the described device h200, each time from
// nothing, and prints
//
//   replays   of both numbers of threads together
//   digests   different ones among the files written: bodies with the plan and the rewrites inside;
//             1 is promised
//   digest    of the first
//   seconds   of processor time that all of it took
//
// Exit codes: 0 one digest for each model, 1 otherwise or for an error, 2 usage.
//
//   cmake --build build --target search_replays && build/search_replays 100 build/models/*.onnx
#include <cstdio>
#include <ctime>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "bench/search/described_search.h"
#include "optimizer/ir/text.h"
#include "optimizer/onnx/export.h"
#include "optimizer/plan/plan.h"

namespace plait {
namespace {

absl::StatusOr<std::string> FileDigest(const DescribedModel& model, int threads) {
  PLAIT_ASSIGN_OR_RETURN(
      const SearchResult result,
      SearchDescribed(model.graph, kH200Device, PredictionDetail::kBlocks, threads));
  ExportOptions options;
  options.plans = {
      {PrintPlan(result.plan), PrintGraph(result.graph), "", PrintRecipe(result.recipe)}};
  PLAIT_ASSIGN_OR_RETURN(const std::string file,
                         ExportOnnx(model.model, result.graph, model.model.weights(), options));
  return DigestOf(file).ToString();
}

absl::StatusOr<bool> Replay(const std::string& path, int replays) {
  std::string name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  const std::clock_t start = std::clock();
  PLAIT_ASSIGN_OR_RETURN(const DescribedModel model, DescribedModelOf(path));
  std::set<std::string> digests;
  std::string first;
  for (int replay = 0; replay < replays; ++replay) {
    for (const int threads : {1, 2}) {
      PLAIT_ASSIGN_OR_RETURN(const std::string digest, FileDigest(model, threads));
      if (first.empty()) first = digest;
      digests.insert(digest);
    }
  }
  std::printf("%-16s %7d %7zu  %s %8.1f\n", name.c_str(), 2 * replays, digests.size(),
              first.substr(0, 16).c_str(),
              static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  std::fflush(stdout);
  return digests.size() == 1;
}

int Run(int argc, char** argv) {
  int replays = 0;
  if (argc < 3 || !absl::SimpleAtoi(argv[1], &replays) || replays < 1) {
    std::fprintf(stderr, "usage: search_replays N MODEL.onnx...\n");
    return 2;
  }
  std::printf("%-16s %7s %7s  %-16s %8s\n", "model", "replays", "digests", "digest", "seconds");
  bool all_equal = true;
  for (int i = 2; i < argc; ++i) {
    const absl::StatusOr<bool> equal = Replay(argv[i], replays);
    if (!equal.ok()) {
      std::fprintf(stderr, "%s: %s\n", argv[i], equal.status().ToString().c_str());
      return 1;
    }
    all_equal &= *equal;
  }
  return all_equal ? 0 : 1;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) { return plait::Run(argc, argv); }
