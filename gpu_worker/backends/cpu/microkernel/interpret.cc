#include "gpu_worker/backends/cpu/microkernel/interpret.h"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/microkernel/tile_products.h"

namespace plait {
namespace {

using Vector = std::array<float, 16>;

class Interpreter {
 public:
  Interpreter(const Microkernel& microkernel, absl::Span<const MicroOperand> operands)
      : microkernel_(microkernel), operands_(operands), places_(operands.size(), 0) {}

  absl::Status Run() {
    const std::vector<MicroInstruction>& list = microkernel_.instructions;
    // Of each open repeat: where it begins, and how often it has still to be done.
    std::vector<std::pair<size_t, int>> repeats;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].op == MicroOp::kRepeat) {
        repeats.emplace_back(i, list[i].number);
      } else if (list[i].op == MicroOp::kEnd) {
        if (--repeats.back().second > 0) {
          i = repeats.back().first;
        } else {
          repeats.pop_back();
        }
      } else if (!Do(list[i])) {
        return absl::OutOfRangeError(absl::StrCat("microkernel: instruction ", i,
                                                  " reaches outside of operand ",
                                                  static_cast<int>(list[i].pointer)));
      }
    }
    return absl::OkStatus();
  }

 private:
  // The bytes that an instruction reaches; nullptr when they are not the operand's.
  std::byte* Reach(const MicroInstruction& instruction, int64_t skipped, int64_t bytes,
                   bool writes) const {
    const MicroOperand& operand = operands_[instruction.pointer];
    const int64_t begin = places_[instruction.pointer] + instruction.offset + skipped;
    if (begin < 0 || begin + bytes > operand.size_bytes) return nullptr;
    if (writes && !operand.is_written) return nullptr;
    return operand.data + begin;
  }

  // False when it reaches where it may not.
  bool Do(const MicroInstruction& instruction) {
    switch (instruction.op) {
      case MicroOp::kLoad:
      case MicroOp::kStore:
      case MicroOp::kBroadcast:
        return Move(instruction);
      case MicroOp::kTileLoad:
      case MicroOp::kTileStore:
        return MoveTile(instruction);
      case MicroOp::kAdvance:
        places_[instruction.pointer] += instruction.offset;
        return true;
      case MicroOp::kPrefetch:  // reads nothing, wherever it points
        return true;
      case MicroOp::kTileZero:
        tiles_[instruction.target] = {};
        return true;
      case MicroOp::kTileMultiplyBytes:
        Multiply(MultiplyByteTiles, instruction);
        return true;
      case MicroOp::kTileMultiplyBf16:
        Multiply(MultiplyBf16Tiles, instruction);
        return true;
      default:
        Compute(instruction);
        return true;
    }
  }

  bool Move(const MicroInstruction& instruction) {
    Vector& vector = vectors_[instruction.target];
    const bool is_store = instruction.op == MicroOp::kStore;
    const int lanes = instruction.op == MicroOp::kBroadcast ? 1 : instruction.number;
    const size_t bytes = static_cast<size_t>(lanes) * sizeof(float);
    std::byte* const memory = Reach(instruction, 0, static_cast<int64_t>(bytes), is_store);
    if (memory == nullptr) return false;
    if (is_store) {
      std::memcpy(memory, vector.data(), bytes);
      return true;
    }
    vector = {};
    std::memcpy(vector.data(), memory, bytes);
    if (instruction.op == MicroOp::kBroadcast) vector.fill(vector[0]);
    return true;
  }

  bool MoveTile(const MicroInstruction& instruction) {
    Tile& tile = tiles_[instruction.target];
    const TileShape& shape = microkernel_.tiles[instruction.target];
    const bool is_store = instruction.op == MicroOp::kTileStore;
    if (!is_store) tile = {};
    for (int row = 0; row < shape.rows; ++row) {
      std::byte* const memory =
          Reach(instruction, int64_t{row} * instruction.number, shape.row_bytes, is_store);
      if (memory == nullptr) return false;
      if (is_store) {
        std::memcpy(memory, tile[row].data(), shape.row_bytes);
      } else {
        std::memcpy(tile[row].data(), memory, shape.row_bytes);
      }
    }
    return true;
  }

  void Compute(const MicroInstruction& instruction) {
    const Vector a = vectors_[instruction.left];
    const Vector b = vectors_[instruction.right];
    Vector& v = vectors_[instruction.target];
    for (int i = 0; i < microkernel_.floats_of(instruction.target); ++i) {
      switch (instruction.op) {
        case MicroOp::kZero:
          v[i] = 0;
          break;
        case MicroOp::kMultiplyAdd:
          v[i] = std::fma(a[i], b[i], v[i]);
          break;
        case MicroOp::kAdd:
          v[i] = a[i] + b[i];
          break;
        case MicroOp::kMax:
          v[i] = a[i] > b[i] ? a[i] : b[i];
          break;
        default:
          break;
      }
    }
  }

  void Multiply(decltype(MultiplyByteTiles)* product, const MicroInstruction& instruction) {
    product(microkernel_.tiles[instruction.target], microkernel_.tiles[instruction.right].rows,
            tiles_[instruction.left], tiles_[instruction.right], &tiles_[instruction.target]);
  }

  const Microkernel& microkernel_;
  const absl::Span<const MicroOperand> operands_;
  std::vector<int64_t> places_;  // of the pointers, in bytes from their operands' starts
  std::array<Vector, 32> vectors_ = {};
  std::array<Tile, kMicroTiles> tiles_ = {};
};

}  // namespace

absl::Status Interpret(const Microkernel& microkernel, absl::Span<const MicroOperand> operands) {
  PLAIT_RETURN_IF_ERROR(CheckMicrokernel(microkernel));
  if (static_cast<int>(operands.size()) != microkernel.pointers) {
    return absl::InvalidArgumentError("microkernel: another number of pointers is passed");
  }
  return Interpreter(microkernel, operands).Run();
}

}  // namespace plait
