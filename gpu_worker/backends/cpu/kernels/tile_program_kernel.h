#pragma once

#include "absl/types/span.h"
#include "gpu_worker/backends/cpu/kernels/elementwise_program.h"

namespace plait {

// A tile program over all elements of its results, in the order in which they lie.
class TileProgramKernel : public CpuKernel {
 public:
  // Long against the cost of calling an instruction, and short enough that a handful of tiles fits
  // the first-level cache.
  static constexpr int64_t kTileElements = 1024;

  // REQUIRES: tile_elements > 0.
  TileProgramKernel(int threads, TileProgram program, int64_t tile_elements = kTileElements)
      : threads_(threads), program_(std::move(program)), tile_elements_(tile_elements) {}

  absl::Status Prepare(LoadContext* context);
  absl::Status Run() override;

 private:
  // An axis of the iteration, with the distances along it of every operand and then every result.
  struct Axis {
    int64_t size = 1;
    std::vector<int64_t> strides;
  };

  // How a tile of an operand becomes a register.
  enum class Fetch {
    kInPlace,   // the tile is contiguous in memory
    kConstant,  // every tile is the same; filled once per part
    kPerTile,
  };

  struct OperandPlan {
    const std::byte* data;
    DataType dtype;
    Fetch fetch;
    bool holds_floats;  // the register does
  };

  // Of one thread: where the program's registers are.
  using Registers = absl::Span<std::byte*>;

  void PlanAxes();
  void PlanFetches();
  void PlanSlots();
  void PlanRows();
  // Of the axes' distances.
  size_t IndexOfResult(size_t result) const { return program_.operands.size() + result; }
  // A slot holds a tile of the widest elements.
  int64_t SlotBytes() const { return tile_elements_ * 8; }
  bool HasLongRowsApart() const;
  // Whether the register of an operand or result holds floats.
  bool HoldsFloats(const Operand& memory, size_t tile_register) const;
  bool IsContiguous(size_t index) const;
  int64_t Offset(size_t index, int64_t outer) const;
  void FetchTile(size_t operand, int64_t offset, int64_t rows, int64_t columns,
                 std::byte* slot) const;
  void StoreTile(size_t result, int64_t offset, int64_t rows, int64_t columns,
                 const std::byte* slot) const;
  void RunInstructions(int64_t rows, int64_t columns, Registers registers) const;
  void RunTiles(int64_t begin, int64_t end, std::byte* slots, Registers registers) const;
  void RunTile(int64_t tile, std::byte* slots, Registers registers) const;

  int threads_;
  TileProgram program_;
  int64_t tile_elements_;
  std::vector<Axis> axes_;  // merged; the last two are rows and columns of tiles
  std::vector<OperandPlan> operands_;
  std::vector<int> slots_;  // per register: its place in scratch; -1: in memory
  int64_t slot_count_ = 0;
  int64_t rows_per_tile_ = 1;
  bool runs_by_rows_ = false;       // of a tile
  std::vector<int64_t> row_bytes_;  // per register, where rows are run one by one
  int64_t row_tiles_ = 1;
  int64_t column_tiles_ = 1;
  int64_t tiles_ = 1;
  std::byte* scratch_ = nullptr;
  std::vector<std::byte*> registers_;  // of each thread
};

}  // namespace plait
