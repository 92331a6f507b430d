// Finds laws over the generator's cores and writes them as they lie in optimizer/rules/generated:
//
//   cmake --build build --target generate_rules_binary && build/generate_rules [FOLDER]
//
// Prints a line for each core: what was enumerated, left out, refuted and kept, and the seconds.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "optimizer/rules/generator/find_laws.h"

namespace plait {
namespace {

constexpr uint64_t kSeed = 1;
// Some 300 bytes each.
constexpr int64_t kGraphsMax = 4'000'000;

int Run(const std::string& folder) {
  std::printf("%-8s %9s %8s %9s %9s %8s %8s %8s %8s %6s %8s\n", "core", "graphs", "classes",
              "pairs", "common", "renamed", "implied", "untyped", "rejected", "laws", "seconds");
  std::set<std::string> known;
  for (const Core& core : {DeepMatrixCore(), MatrixCore(), SumCore(), ImageCore()}) {
    const auto start = std::chrono::steady_clock::now();
    const auto found = FindLaws(core, kSeed, kGraphsMax, &known);
    if (!found.ok()) {
      std::fprintf(stderr, "%s\n", found.status().ToString().c_str());
      return 1;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%-8s %9ld %8ld %9ld %9ld %8ld %8ld %8ld %8ld %6zu %8.1f\n", core.name,
                static_cast<long>(found->graphs), static_cast<long>(found->classes),
                static_cast<long>(found->pairs), static_cast<long>(found->common),
                static_cast<long>(found->renamed), static_cast<long>(found->implied),
                static_cast<long>(found->untyped), static_cast<long>(found->rejected),
                found->laws.size(), seconds.count());
    if (!folder.empty()) {
      std::ofstream(absl::StrCat(folder, "/", core.name, ".txt")) << PrintLaws(found->laws);
    }
  }
  return 0;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) { return plait::Run(argc > 1 ? argv[1] : ""); }
