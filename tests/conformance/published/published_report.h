#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/conformance/published/published_case.h"

namespace plait {

// How one way of running models fares on the published cases.
struct PublishedReport {
  int total = 0;
  int applicable = 0;
  int passed = 0;
  std::vector<std::string> passes;
  // By case: what went wrong, and why a case is not applicable.
  std::map<std::string, std::string> failures;
  std::map<std::string, std::string> skips;

  // Counts, every failure, and every reason for skipping with its number of cases.
  std::string ToString() const;

  // A line for each case: "passed NAME", "failed NAME REASON" or "skipped NAME REASON".
  std::string AllCases() const;
};

// The outputs of a case under test; Unimplemented counts as not applicable.
using CaseRunner = std::function<absl::StatusOr<std::vector<Tensor>>(const LoadedCase& loaded)>;

using CaseLoader = std::function<absl::StatusOr<LoadedCase>(const PublishedCase& published)>;

// Writes AllCases() as well, to a file with the running test's name in the folder that
// PLAIT_PUBLISHED_RESULTS names; nowhere without it.
PublishedReport RunPublishedCases(const std::vector<PublishedCase>& cases, const CaseRunner& run,
                                  const CaseLoader& load = LoadPublishedCase);

// Empty when `got` is what is expected: integers exactly, floats within a tolerance that follows
// from their format (float32: 1e-3 relative, 1e-7 absolute, as ONNX's own runner has it).
std::string DifferenceOf(const std::vector<Tensor>& expected, const std::vector<Tensor>& got);

// Fails the running test when a case fails that known_failures.txt (here, or in the folder that
// PLAIT_PUBLISHED_CASES names) does not list with its reason,
// when a listed one passes, or when far fewer cases apply than are known to.
void ExpectOnlyKnownFailures(const PublishedReport& report);

}  // namespace plait
