#include "base/simulated_device.h"

#include "absl/strings/str_split.h"

namespace plait {

bool IsSimulatedFingerprint(absl::string_view fingerprint) {
  for (const absl::string_view field : absl::StrSplit(fingerprint, ';')) {
    if (field == "_simulated") return true;
  }
  return false;
}

}  // namespace plait
