#include "tests/gpu_worker/backends/kernel_case.h"

#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/files/source_path.h"

namespace plait {

absl::StatusOr<std::vector<KernelCase>> ReadKernelCases(absl::string_view backend,
                                                        absl::string_view family) {
  const std::string path =
      SourcePath(absl::StrCat("tests/gpu_worker/backends/", backend, "/cases/", family, ".txt"));
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("no cases ", path));
  std::vector<KernelCase> cases;
  int line_number = 0;
  for (std::string line; std::getline(file, line);) {
    ++line_number;
    absl::string_view text = line;
    if (absl::ConsumePrefix(&text, "case: ")) {
      cases.push_back({.name = std::string(text)});
    } else if (cases.empty()) {
      continue;
    } else if (absl::ConsumePrefix(&text, "largest: ")) {
      if (absl::SimpleAtoi(text, &cases.back().largest)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", line_number, ": expected a number of nodes"));
    } else {
      absl::StrAppend(&cases.back().graph, text, "\n");
    }
  }
  return cases;
}

}  // namespace plait
