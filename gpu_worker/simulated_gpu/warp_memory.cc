#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/traffic.h"
#include "gpu_worker/simulated_gpu/warp.h"

namespace plait::simulated_gpu {
namespace {

using Space = PtxVariable::Space;

// The element's bytes as a slot has them.
uint64_t FromMemory(const std::byte* data, int bytes, bool sign_extends) {
  uint64_t value = 0;
  if (bytes == 4) {  // nearly always, and a copy of a size that the compiler knows
    std::memcpy(&value, data, 4);
  } else {
    std::memcpy(&value, data, bytes);
  }
  if (!sign_extends || bytes == 8) return value;
  const int unused = 64 - 8 * bytes;
  return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
}

}  // namespace

DeviceMemory& Warp::LocalMemory(int lane) {
  if (local_.empty()) local_.resize(kLanes);  // no variables: every access is out of bounds
  return local_[lane];
}

void Warp::SetElements(const Instruction& instruction, int lane, const std::byte* data) {
  for (int i = 0; i < instruction.count; ++i) {
    slot(instruction.out[i])[lane] = FromMemory(
        data + i * instruction.element_bytes, instruction.element_bytes, instruction.sign_extends);
  }
}

void Warp::LoadParameter(const Instruction& instruction, uint32_t mask) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    SetElements(instruction, lane, launch_.parameters.data() + instruction.offset);
  }
}

absl::Status Warp::Access(const Instruction& instruction, DeviceMemory& memory, int lane,
                          uint64_t address) {
  const int bytes = instruction.element_bytes * instruction.count;
  const Accessor who = {block_.number, block_.interval,
                        static_cast<int16_t>(number_ * kLanes + lane),
                        static_cast<int16_t>(number_), warp_interval_};
  std::byte data[16];
  if (instruction.kind == Instruction::Kind::kLoad) {
    const Use use = instruction.read_only ? Use::kReadOnly : Use::kRead;
    PLAIT_RETURN_IF_ERROR(memory.Load(who, address, bytes, data, use));
    SetElements(instruction, lane, data);
    return absl::OkStatus();
  }
  for (int i = 0; i < instruction.count; ++i) {
    const uint64_t value = slot(instruction.out[i])[lane];
    std::memcpy(data + i * instruction.element_bytes, &value, instruction.element_bytes);
  }
  const Use use = instruction.is_strong ? Use::kStrongWrite : Use::kWrite;
  return memory.Store(who, address, bytes, data, use);
}

void Warp::NoteEarly(const Instruction& instruction, int lane, uint64_t address) {
  if ((waited_ >> lane & 1) != 0) return;
  const auto bytes = static_cast<uint64_t>(instruction.element_bytes * instruction.count);
  if (instruction.kind == Instruction::Kind::kLoad) {
    launch_.early.Read({address, address + bytes});
  } else {
    launch_.early.Write({address, address + bytes});
  }
}

// Every lane's address is taken before any lane loads: a load may write the register that its
// address came from.
absl::Status Warp::Memory(const Instruction& instruction, uint32_t mask) {
  if (instruction.space == Space::kParameter) {
    if (instruction.kind == Instruction::Kind::kStore) {
      return Annotated(absl::UnimplementedError("a store to parameters"), std::countr_zero(mask));
    }
    LoadParameter(instruction, mask);
    return absl::OkStatus();
  }
  uint64_t addresses[kLanes] = {};
  const uint64_t* base = slot(instruction.in[0]);
  for (int lane = 0; lane < kLanes; ++lane) {
    addresses[lane] = base[lane] + static_cast<uint64_t>(instruction.offset);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    DeviceMemory* memory = &launch_.memory;
    if (instruction.space == Space::kShared) memory = &block_.shared;
    if (instruction.space == Space::kLocal) memory = &LocalMemory(lane);
    const bool of_module =
        !launch_.program.module.empty() && !launch_.module_memory.NameAt(addresses[lane]).empty();
    if (instruction.space == Space::kConstant || (memory == &launch_.memory && of_module)) {
      memory = &launch_.module_memory;
    }
    if (memory == &launch_.memory) NoteEarly(instruction, lane, addresses[lane]);
    const absl::Status status = Access(instruction, *memory, lane, addresses[lane]);
    if (!status.ok()) return Annotated(status, lane);
  }
  if (launch_.options.count_traffic) CountAccess(instruction, mask, addresses);
  return absl::OkStatus();
}

void Warp::CountAccess(const Instruction& instruction, uint32_t mask, const uint64_t* addresses) {
  AccessReport& report = launch_.accesses[at_];
  const int bytes = instruction.element_bytes * instruction.count;
  const bool shared = instruction.space == Space::kShared;
  if (report.requests++ == 0) {
    report.line = instruction.line;
    report.opcode = instruction.opcode;
    DeviceMemory& memory = shared ? block_.shared : launch_.memory;
    report.range = std::string(memory.NameAt(addresses[std::countr_zero(mask)]));
  }
  report.bytes_asked += int64_t{std::popcount(mask)} * bytes;
  if (shared) {
    const Wavefronts wavefronts = WavefrontsOf(addresses, mask, bytes);
    report.wavefronts += wavefronts.needed;
    report.wavefronts_least += wavefronts.least;
  } else if (instruction.space == Space::kGlobal) {
    report.sectors += SectorsOf(addresses, mask, bytes);
  }
}

}  // namespace plait::simulated_gpu
