// Says which generated laws a search may ask, and writes them, as they lie in
// optimizer/rules/generated, and why the others are left out:
//
//   cmake --build build --target select_rules_binary && build/select_rules FOLDER
//
// Reads deep.txt, matrix.txt, sum.txt and image.txt there; writes rules.txt and selection.txt.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/search/select_laws.h"

namespace plait {
namespace {

absl::Status Run(const std::string& folder) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Law> laws, ReadGeneratedLaws(folder));
  const auto start = std::chrono::steady_clock::now();
  const LawSelection selection = SelectLaws(laws);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::ofstream(absl::StrCat(folder, "/rules.txt"))
      << "# Laws that a search may ask, from source to target: made by build/select_rules.\n"
      << PrintLaws(selection.rules);
  const std::string text = PrintSelection(selection);
  std::ofstream(absl::StrCat(folder, "/selection.txt")) << text;
  std::printf("%s", text.substr(0, text.find("deep_1 ")).c_str());
  std::printf("%zu laws, %zu rules, %.1f s\n", laws.size(), selection.rules.size(),
              seconds.count());
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: select_rules FOLDER\n");
    return 2;
  }
  const absl::Status status = plait::Run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
