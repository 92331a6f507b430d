#include "optimizer/kernels/device.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/instruction_set_names.h"

namespace plait {
namespace {

constexpr absl::string_view kThreadsField = "_threads=";

}  // namespace

absl::string_view BackendOfFingerprint(absl::string_view fingerprint) {
  return fingerprint.substr(0, fingerprint.find(';'));
}

absl::string_view InstructionSetOfFingerprint(absl::string_view fingerprint) {
  for (absl::string_view field : absl::StrSplit(fingerprint, ';')) {
    field = absl::StripPrefix(field, "_");
    if (!field.empty() && ExpectedInstructionSet(field).empty()) return field;
  }
  return "";
}

std::string FingerprintWithThreads(absl::string_view fingerprint, int threads) {
  std::vector<std::string> fields = absl::StrSplit(fingerprint, ';');
  for (std::string& field : fields) {
    if (absl::StartsWith(field, kThreadsField)) field = absl::StrCat(kThreadsField, threads);
  }
  return absl::StrJoin(fields, ";");
}

}  // namespace plait
