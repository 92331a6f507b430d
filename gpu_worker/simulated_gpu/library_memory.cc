#include "gpu_worker/simulated_gpu/library_memory.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait::simulated_gpu {

namespace {

void Join(const Touches& part, Touches* joined) {
  for (const ByteRange& range : part.reads()) joined->Read(range);
  for (const ByteRange& range : part.writes()) joined->Write(range);
}

absl::Status Race(ByteRange bytes, const char* what, DeviceMemory* memory) {
  uint64_t start = 0;
  const std::string name(memory->NameAt(bytes.begin, &start));
  return absl::AbortedError(absl::StrCat("race: bytes ", bytes.begin - start, " to ",
                                         bytes.end - 1 - start, " of \"", name, "\" are ", what,
                                         " one kernel"));
}

}  // namespace

Touches Joined(const TouchedParts& parts) {
  Touches joined;
  for (const Touches& part : parts) Join(part, &joined);
  return joined;
}

absl::Status CheckApart(const TouchedParts& parts, DeviceMemory* memory) {
  Touches before;
  for (const Touches& part : parts) {
    if (const auto both = Common(before.writes(), part.writes())) {
      return Race(*both, "written twice by", memory);
    }
    if (const auto both = Conflict(before, part)) {
      return Race(*both, "operand and result of", memory);
    }
    Join(part, &before);
  }
  return absl::OkStatus();
}

absl::Status SpoilWorkspace(uint64_t address, uint64_t bytes, DeviceMemory* memory) {
  const std::vector<std::byte> spoilt(bytes, std::byte{0xff});
  return Annotate(memory->Write(address, spoilt), "workspace");
}

}  // namespace plait::simulated_gpu
