#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/warp.h"

// What the lanes of a warp do together. The mask that these instructions take names the lanes that
// execute them; here they have to be there at that very moment. A device waits for lanes that come
// later on another path, which none of our kernels is written to rely on.

namespace plait::simulated_gpu {
namespace {

// Where lane `lane` reads from, and whether that is inside of its segment. From the manual: `clamp`
// has the bounding lane in bits 0-4 and the mask of the segment in bits 8-12.
int SourceLane(Instruction::Shuffle shuffle, int lane, uint32_t by, uint32_t clamp, bool* inside) {
  const int offset = static_cast<int>(by & 31);
  const int bound = static_cast<int>(clamp & 31);
  const int segment = static_cast<int>(clamp >> 8 & 31);
  const int least = lane & segment;
  const int most = least | (bound & ~segment);
  int source = lane;
  switch (shuffle) {
    case Instruction::Shuffle::kUp:
      source = lane - offset;
      *inside = source >= most;
      break;
    case Instruction::Shuffle::kDown:
      source = lane + offset;
      *inside = source <= most;
      break;
    case Instruction::Shuffle::kButterfly:
      source = lane ^ offset;
      *inside = source <= most;
      break;
    case Instruction::Shuffle::kIndex:
      source = least | (offset & ~segment);
      *inside = source <= most;
      break;
  }
  return *inside ? source : lane;
}

}  // namespace

absl::Status Warp::CheckMembers(const uint64_t* members, uint32_t mask) const {
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const auto named = static_cast<uint32_t>(members[lane]);
    if (named == mask) continue;
    return Annotated(
        absl::AbortedError(absl::StrFormat(
            "idle lanes: the mask names 0x%08x, the lanes that are there are 0x%08x", named, mask)),
        lane);
  }
  return absl::OkStatus();
}

absl::Status Warp::Shuffle(const Instruction& instruction, uint32_t mask) {
  PLAIT_RETURN_IF_ERROR(CheckMembers(slot(instruction.in[3]), mask));
  const uint64_t* values = slot(instruction.in[0]);
  const uint64_t* by = slot(instruction.in[1]);
  const uint64_t* clamp = slot(instruction.in[2]);
  uint64_t results[kLanes] = {};
  bool inside[kLanes] = {};
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const int source = SourceLane(instruction.shuffle, lane, static_cast<uint32_t>(by[lane]),
                                  static_cast<uint32_t>(clamp[lane]), &inside[lane]);
    if ((mask >> source & 1) == 0) {
      return Annotated(
          absl::AbortedError(absl::StrCat("idle lanes: a shuffle reads from lane ", source)), lane);
    }
    results[lane] = values[source] & 0xffffffffu;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    slot(instruction.out[0])[lane] = results[lane];
    if (instruction.out[1] >= 0) slot(instruction.out[1])[lane] = inside[lane] ? 1 : 0;
  }
  return absl::OkStatus();
}

absl::Status Warp::Vote(const Instruction& instruction, uint32_t mask) {
  PLAIT_RETURN_IF_ERROR(CheckMembers(slot(instruction.in[1]), mask));
  const uint32_t votes = PredicateMask(instruction.in[0]) & mask;
  uint64_t result = votes;
  if (instruction.vote == Instruction::Vote::kAny) result = votes != 0 ? 1 : 0;
  if (instruction.vote == Instruction::Vote::kAll) result = votes == mask ? 1 : 0;
  if (instruction.vote == Instruction::Vote::kUniform) {
    result = votes == mask || votes == 0 ? 1 : 0;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) != 0) slot(instruction.out[0])[lane] = result;
  }
  return absl::OkStatus();
}

// Of 16 rows by 8 columns, 8 deep, whose numbers lie in the lanes as the manual says: with g = lane
// / 4 and t = lane % 4, [g + 8 i, t + 4 j] of the left side are i + 2 j, [t + 4 j, g] of the right
// side j, and [g + 8 i, 2 t + j] of the sums 2 i + j. A device reads the upper 19 bits of a number,
// and adds up in an order of its own.
absl::Status Warp::Product(const Instruction& instruction, uint32_t mask) {
  if (mask != kAllLanes) {
    return Annotated(absl::AbortedError("idle lanes: a product takes all lanes of a warp"),
                     std::countr_zero(mask));
  }
  const auto number = [&](int operand, int lane) {
    return double{FromSlot<float>(slot(operand)[lane] & 0xffffe000u)};
  };
  float sums[4][kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int column = lane % 4 * 2 + i % 2;
      double sum = FromSlot<float>(slot(instruction.addend[i])[lane]);
      for (int k = 0; k < 8; ++k) {
        sum += number(instruction.in[i / 2 + k / 4 * 2], lane / 4 * 4 + k % 4) *
               number(instruction.right[k / 4], column * 4 + k % 4);
      }
      sums[i][lane] = static_cast<float>(sum);
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int lane = 0; lane < kLanes; ++lane)
      slot(instruction.out[i])[lane] = ToSlot(sums[i][lane]);
  }
  return absl::OkStatus();
}

// Orders the memory of the lanes that it names. Of fewer than all, it would order some lanes and
// not others, which race_cells.h has no words for.
absl::Status Warp::WarpBarrier(const Instruction& instruction, uint32_t mask) {
  PLAIT_RETURN_IF_ERROR(CheckMembers(slot(instruction.in[0]), mask));
  if (mask != alive_) {
    return Annotated(absl::UnimplementedError("a barrier of a part of a warp"),
                     std::countr_zero(mask));
  }
  ++warp_interval_;
  return absl::OkStatus();
}

}  // namespace plait::simulated_gpu
