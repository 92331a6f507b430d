#include "gpu_worker/backends/cpu/microkernel/microkernel.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace plait {
namespace {

// What an operation reads of an instruction.
enum Field : uint8_t { kTarget = 1, kOperands = 2, kPointer = 4, kNumber = 8 };

// By MicroOp; a pointer comes with an offset.
constexpr uint8_t kFields[] = {
    kTarget,                       // zero
    kTarget | kPointer | kNumber,  // load
    kTarget | kPointer,            // broadcast
    kTarget | kOperands,           // multiply_add
    kTarget | kOperands,           // add
    kTarget | kOperands,           // max
    kTarget | kPointer | kNumber,  // store
    kPointer,                      // prefetch
    kPointer,                      // advance
    kNumber,                       // repeat
    0,                             // end
    kTarget,                       // tile_zero
    kTarget | kPointer | kNumber,  // tile_load
    kTarget | kOperands,           // tile_multiply_bytes
    kTarget | kOperands,           // tile_multiply_bf16
    kTarget | kPointer | kNumber,  // tile_store
};
static_assert(std::size(kFields) == static_cast<size_t>(MicroOp::kTileStore) + 1);

bool Reads(const MicroInstruction& instruction, Field field) {
  return (kFields[static_cast<int>(instruction.op)] & field) != 0;
}

bool OtherFieldsAreZero(const MicroInstruction& instruction) {
  const bool no_operands = instruction.left == 0 && instruction.right == 0;
  const bool no_pointer = instruction.pointer == 0 && instruction.offset == 0;
  return (Reads(instruction, kTarget) || instruction.target == 0) &&
         (Reads(instruction, kOperands) || no_operands) &&
         (Reads(instruction, kPointer) || no_pointer) &&
         (Reads(instruction, kNumber) || instruction.number == 0);
}

bool IsTileOp(MicroOp op) { return op >= MicroOp::kTileZero; }

// Of the product t[m, n] += l[m, k] * r[k, n]: four bytes of a row of r belong to one n.
bool TilesFit(const TileShape& target, const TileShape& left, const TileShape& right) {
  return target.rows == left.rows && target.row_bytes == right.row_bytes &&
         left.row_bytes == right.rows * 4;
}

class Checker {
 public:
  explicit Checker(const Microkernel& microkernel) : microkernel_(microkernel) {}

  // What is wrong with an instruction; nullptr: nothing.
  const char* FaultOf(const MicroInstruction& instruction) {
    if (instruction.op > MicroOp::kTileStore) return "no such operation";
    if (!OtherFieldsAreZero(instruction)) return "says more than its operation reads";
    if (Reads(instruction, kPointer) && instruction.pointer >= microkernel_.pointers) {
      return "no such pointer";
    }
    if (IsTileOp(instruction.op)) return FaultOfTiles(instruction);
    switch (instruction.op) {
      case MicroOp::kLoad:
      case MicroOp::kStore:
        if (instruction.target >= microkernel_.vectors()) break;
        if (const char* const fault = FaultOfLanes(instruction)) return fault;
        break;
      case MicroOp::kRepeat:
        if (instruction.number < 1) return "repeats less than once";
        if (++depth_ > kMicroRepeatDepth) return "repeats are nested too deeply";
        return nullptr;
      case MicroOp::kEnd:
        return --depth_ < 0 ? "ends nothing" : nullptr;
      default:
        break;
    }
    const int largest = std::max({instruction.target, instruction.left, instruction.right});
    if (largest >= microkernel_.vectors()) return "no such vector register";
    const int target_floats = microkernel_.floats_of(instruction.target);
    const bool has_all = !Reads(instruction, kOperands) ||
                         (microkernel_.floats_of(instruction.left) >= target_floats &&
                          microkernel_.floats_of(instruction.right) >= target_floats);
    return has_all ? nullptr : "a whole vector of half a one";
  }

  bool IsOpen() const { return depth_ > 0; }

 private:
  const char* FaultOfLanes(const MicroInstruction& instruction) {
    const int lanes = instruction.number;
    const int floats = microkernel_.floats_of(instruction.target);
    if (lanes < 1 || lanes > floats) return "lanes that a vector has not";
    if (lanes == floats) return nullptr;
    if (tail_ != 0 && tail_ != lanes) return "a second tail";
    tail_ = lanes;
    return nullptr;
  }

  const char* FaultOfTiles(const MicroInstruction& instruction) const {
    const bool multiplies = Reads(instruction, kOperands);
    for (const int tile : {instruction.target, instruction.left, instruction.right}) {
      if (tile >= kMicroTiles) return "no such tile";
      if (microkernel_.tiles[tile].rows == 0) return "a tile without a shape";
      if (!multiplies) return nullptr;
    }
    if (instruction.target == instruction.left || instruction.target == instruction.right ||
        instruction.left == instruction.right) {
      return "one tile twice";
    }
    const bool fit =
        TilesFit(microkernel_.tiles[instruction.target], microkernel_.tiles[instruction.left],
                 microkernel_.tiles[instruction.right]);
    return fit ? nullptr : "tiles that do not fit each other";
  }

  const Microkernel& microkernel_;
  int depth_ = 0;
  int tail_ = 0;
};

}  // namespace

bool Microkernel::uses_tiles() const {
  return std::any_of(std::begin(tiles), std::end(tiles),
                     [](const TileShape& tile) { return tile.rows > 0; });
}

absl::Status CheckMicrokernel(const Microkernel& microkernel) {
  if (microkernel.vector_floats != 8 && microkernel.vector_floats != 16) {
    return absl::InvalidArgumentError("microkernel: vectors have 8 or 16 floats");
  }
  if (microkernel.half_vectors != 0 && microkernel.vector_floats != 16) {
    return absl::InvalidArgumentError("microkernel: halves of vectors of 8 floats");
  }
  if (microkernel.pointers < 0 || microkernel.pointers > kMicroPointers) {
    return absl::InvalidArgumentError("microkernel: too many pointers");
  }
  for (const TileShape& tile : microkernel.tiles) {
    if (tile.rows <= 16 && tile.row_bytes <= 64 && tile.row_bytes % 4 == 0 &&
        (tile.rows == 0) == (tile.row_bytes == 0)) {
      continue;
    }
    return absl::InvalidArgumentError("microkernel: a tile has at most 16 rows of 64 bytes");
  }
  Checker checker(microkernel);
  for (size_t i = 0; i < microkernel.instructions.size(); ++i) {
    const char* const fault = checker.FaultOf(microkernel.instructions[i]);
    if (fault == nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat("microkernel: instruction ", i, ": ", fault));
  }
  if (checker.IsOpen()) return absl::InvalidArgumentError("microkernel: a repeat has no end");
  return absl::OkStatus();
}

int TailLanes(const Microkernel& microkernel) {
  for (const MicroInstruction& instruction : microkernel.instructions) {
    const bool has_lanes = instruction.op == MicroOp::kLoad || instruction.op == MicroOp::kStore;
    if (has_lanes && instruction.number < microkernel.floats_of(instruction.target)) {
      return instruction.number;
    }
  }
  return 0;
}

}  // namespace plait
