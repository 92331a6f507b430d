#include "gpu_worker/simulated_gpu/libraries/faults_from_text.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plait::simulated_gpu {
namespace {

constexpr std::pair<const char*, Fault::Kind> kKinds[] = {{"error", Fault::Kind::kError},
                                                          {"sticky", Fault::Kind::kSticky},
                                                          {"memory", Fault::Kind::kOutOfMemory},
                                                          {"hang", Fault::Kind::kHang},
                                                          {"lost", Fault::Kind::kLost}};

absl::StatusOr<Fault> FaultFromText(absl::string_view text) {
  const std::vector<std::string> words = absl::StrSplit(text, ':');
  const absl::Status wrong =
      absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no function:kind[:calls]"));
  if (words.size() < 2 || words.size() > 3 || words[0].empty()) return wrong;
  Fault fault;
  fault.function = words[0];
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const auto& known) { return words[1] == known.first; });
  if (kind == std::end(kKinds)) return wrong;
  fault.kind = kind->second;
  if (words.size() == 3 &&
      (!absl::SimpleAtoi(words[2], &fault.calls_before) || fault.calls_before < 0)) {
    return wrong;
  }
  return fault;
}

}  // namespace

absl::StatusOr<std::vector<Fault>> FaultsFromText(absl::string_view text) {
  std::vector<Fault> faults;
  for (const absl::string_view one : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    absl::StatusOr<Fault> fault = FaultFromText(one);
    if (!fault.ok()) return fault.status();
    faults.push_back(*std::move(fault));
  }
  return faults;
}

}  // namespace plait::simulated_gpu
