#include "gpu_worker/backends/cpu/microkernel/interpret.h"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {
namespace {

using Vector = std::array<float, 16>;
using Tile = std::array<std::array<std::byte, 64>, 16>;

// An element of a tile's row.
template <typename T>
T At(const Tile& tile, int row, int index) {
  T value;
  std::memcpy(&value, tile[row].data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void Put(Tile& tile, int row, int index, T value) {
  std::memcpy(tile[row].data() + static_cast<size_t>(index) * sizeof(T), &value, sizeof(T));
}

// Products of bf16 take denormal numbers for zeros, and give zeros for denormal sums.
float WithoutDenormal(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

float FloatOfBf16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return WithoutDenormal(value);
}

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
        MultiplyBytes(instruction);
        return true;
      case MicroOp::kTileMultiplyBf16:
        MultiplyBf16(instruction);
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

  void MultiplyBytes(const MicroInstruction& instruction) {
    const TileShape& shape = microkernel_.tiles[instruction.target];
    const Tile& left = tiles_[instruction.left];
    const Tile& right = tiles_[instruction.right];
    const int depth = microkernel_.tiles[instruction.right].rows;
    for (int m = 0; m < shape.rows; ++m) {
      for (int n = 0; n < shape.row_bytes / 4; ++n) {
        // Wraps around as the processor's does.
        auto sum = At<uint32_t>(tiles_[instruction.target], m, n);
        for (int k = 0; k < depth * 4; ++k) {
          const int product = At<int8_t>(left, m, k) * At<int8_t>(right, k / 4, n * 4 + k % 4);
          sum += static_cast<uint32_t>(product);
        }
        Put(tiles_[instruction.target], m, n, sum);
      }
    }
  }

  // In the order that the processor's manual gives: of the pairs of a row and a column the first
  // numbers' products are added up, and the second ones', from zero on; then these two sums, and
  // what comes of it to the sum in the tile, which so is rounded once for a whole tile of numbers.
  void MultiplyBf16(const MicroInstruction& instruction) {
    const TileShape& shape = microkernel_.tiles[instruction.target];
    const Tile& left = tiles_[instruction.left];
    const Tile& right = tiles_[instruction.right];
    const int depth = microkernel_.tiles[instruction.right].rows;
    for (int m = 0; m < shape.rows; ++m) {
      for (int n = 0; n < shape.row_bytes / 4; ++n) {
        float sums[2] = {};
        for (int k = 0; k < depth * 2; ++k) {
          float& sum = sums[k % 2];
          sum = WithoutDenormal(std::fma(FloatOfBf16(At<uint16_t>(left, m, k)),
                                         FloatOfBf16(At<uint16_t>(right, k / 2, n * 2 + k % 2)),
                                         sum));
        }
        const float more = WithoutDenormal(sums[0] + sums[1]);
        const float before = WithoutDenormal(At<float>(tiles_[instruction.target], m, n));
        Put(tiles_[instruction.target], m, n, WithoutDenormal(before + more));
      }
    }
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
