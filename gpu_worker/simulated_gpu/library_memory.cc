#include "gpu_worker/simulated_gpu/library_memory.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait::simulated_gpu {

absl::Status CheckApart(const Touches& touches, DeviceMemory* memory) {
  const std::optional<ByteRange> both = Common(touches.reads(), touches.writes());
  if (!both.has_value()) return absl::OkStatus();
  uint64_t start = 0;
  const std::string name(memory->NameAt(both->begin, &start));
  return absl::AbortedError(absl::StrCat("race: bytes ", both->begin - start, " to ",
                                         both->end - 1 - start, " of \"", name,
                                         "\" are operand and result of one kernel"));
}

absl::Status SpoilWorkspace(uint64_t address, uint64_t bytes, DeviceMemory* memory) {
  const std::vector<std::byte> spoilt(bytes, std::byte{0xff});
  return Annotate(memory->Write(address, spoilt), "workspace");
}

}  // namespace plait::simulated_gpu
