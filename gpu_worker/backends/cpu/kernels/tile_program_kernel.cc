#include "gpu_worker/backends/cpu/kernels/tile_program_kernel.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/bytes.h"
#include "gpu_worker/backends/cpu/kernels/tile_instructions.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/elementwise_ops.h"

// Adding a bias of [64, 1, 1] to a float image of [1, 64, 56, 56], in both formats:
//   row-major      the last two axes merge, as the bias repeats along both: 64 rows of 3,136
//                  columns. A row is four tiles; x and the result are used where they lie, and the
//                  bias, one number per row, is filled into its register for every tile.
//   channels-last  the pixels merge: 3,136 rows of 64 columns. A tile is 16 rows; the bias is the
//                  same 64 numbers in every row and so in every tile: filled in once per thread.
// Threads take consecutive tiles, and so consecutive memory of the result.

namespace plait {
namespace {

// Rows of so many that do not lie beside each other are computed one by one, where they lie;
// shorter ones are copied together first.
constexpr int64_t kLongRowElements = 128;

// Block by block, since of a loop over single numbers, whose count it does not know, the compiler
// makes no vectors.
void Repeat(float number, int64_t count, float* to) {
  float block[16];
  std::fill(std::begin(block), std::end(block), number);
  constexpr auto kBlock = static_cast<int64_t>(std::size(block));
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) std::memcpy(to + i, block, sizeof(block));
  std::memcpy(to + i, block, static_cast<size_t>(count - i) * sizeof(float));
}

// Of the loops over floats of 16 bits.
int LoopOfHalf(DataType dtype) { return dtype == DataType::kBfloat16 ? 1 : 0; }

void FetchHalves(DataType dtype, const std::byte* memory, int64_t stride, int64_t size,
                 float* tile) {
  const auto* const halves = reinterpret_cast<const uint16_t*>(memory);
  const HalfLoops::Widen widen = Loops().halves.widen[LoopOfHalf(dtype)];
  if (stride == 1) return widen(halves, tile, size);
  for (int64_t i = 0; i < size; ++i) widen(halves + i * stride, tile + i, 1);
}

// Bytes as floats of the same value, and back; floats of 16 bits likewise.
void FetchAsFloats(DataType dtype, const std::byte* memory, int64_t stride, int64_t size,
                   float* tile) {
  if (IsHalf(dtype)) return FetchHalves(dtype, memory, stride, size, tile);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(memory);
  const auto widen = Loops().integers.dequantize[SignOf(dtype)];
  if (stride == 1) return widen(bytes, size, 1, 0, tile);
  for (int64_t i = 0; i < size; ++i) widen(bytes + i * stride, 1, 1, 0, tile + i);
}

void StoreFloats(DataType dtype, const float* tile, int64_t size, std::byte* memory) {
  if (IsHalf(dtype)) {
    return Loops().halves.narrow[LoopOfHalf(dtype)](tile, reinterpret_cast<uint16_t*>(memory),
                                                    size);
  }
  Loops().integers.quantize(tile, size, 1, ByteRangeOf(dtype, 0),
                            reinterpret_cast<uint8_t*>(memory));
}

}  // namespace

absl::Status TileProgramKernel::Prepare(LoadContext* context) {
  if (program_.results.empty()) return context->Refuse();
  for (const TileProgram::Result& result : program_.results) {
    if (result.memory.format != program_.results[0].memory.format) return context->Refuse();
  }
  PlanAxes();
  PlanFetches();
  PlanSlots();
  PLAIT_ASSIGN_OR_RETURN(scratch_, context->AllocateScratch(threads_ * slot_count_ * SlotBytes()));
  registers_.resize(static_cast<size_t>(threads_) * program_.register_count);
  return absl::OkStatus();
}

// Axes in the order in which results lie, merged where no operand tells them apart.
void TileProgramKernel::PlanAxes() {
  const Operand& result = program_.results[0].memory;
  std::vector<int> order;
  for (int i = 0; i < result.type.rank(); ++i) order.push_back(i);
  if (result.format == Format::kChannelsLast) order = {0, 2, 3, 1};
  for (const int axis : order) {
    if (result.type.shape[axis] == 1) continue;
    Axis next{result.type.shape[axis], {}};
    for (const Operand& operand : program_.operands) {
      const int own = axis - (result.type.rank() - operand.type.rank());
      const bool repeats = own < 0 || operand.type.shape[own] == 1;
      next.strides.push_back(repeats ? 0 : operand.strides()[own]);
    }
    for (const TileProgram::Result& other : program_.results) {
      next.strides.push_back(other.memory.strides()[axis]);
    }
    bool merges = !axes_.empty();
    for (size_t i = 0; merges && i < next.strides.size(); ++i) {
      merges = axes_.back().strides[i] == next.strides[i] * next.size;
    }
    if (merges) {
      next.size *= axes_.back().size;
      axes_.back() = next;
    } else {
      axes_.push_back(next);
    }
  }
  const Axis single{1, std::vector<int64_t>(program_.operands.size() + program_.results.size(), 0)};
  while (axes_.size() < 2) axes_.insert(axes_.begin(), single);
  const int64_t columns = axes_.back().size;
  const int64_t rows = axes_[axes_.size() - 2].size;
  runs_by_rows_ = HasLongRowsApart();
  rows_per_tile_ = std::clamp<int64_t>(tile_elements_ / columns, 1, rows);
  row_tiles_ = (rows + rows_per_tile_ - 1) / rows_per_tile_;
  column_tiles_ = (columns + tile_elements_ - 1) / tile_elements_;
  tiles_ = row_tiles_ * column_tiles_;
  for (size_t i = 0; i + 2 < axes_.size(); ++i) tiles_ *= axes_[i].size;
}

// Parts of images with many channels.
bool TileProgramKernel::HasLongRowsApart() const {
  const Axis& rows = axes_[axes_.size() - 2];
  const Axis& columns = axes_.back();
  if (columns.size < kLongRowElements) return false;
  for (size_t i = 0; i < columns.strides.size(); ++i) {
    const bool is_apart = rows.strides[i] != 0 && rows.strides[i] != columns.size;
    if (is_apart && columns.strides[i] == 1) return true;
  }
  return false;
}

// Whether what an instruction computes at once lies beside each other.
bool TileProgramKernel::IsContiguous(size_t index) const {
  const Axis& columns = axes_.back();
  return (columns.strides[index] == 1 || columns.size == 1) &&
         (rows_per_tile_ == 1 || runs_by_rows_ ||
          axes_[axes_.size() - 2].strides[index] == columns.size);
}

bool TileProgramKernel::HoldsFloats(const Operand& memory, size_t tile_register) const {
  const std::vector<int>& bytes = program_.bytes_as_floats;
  return IsFloat(memory.type.dtype) ||
         std::find(bytes.begin(), bytes.end(), static_cast<int>(tile_register)) != bytes.end();
}

// The cheapest way that is right for every tile of the operand: no copy, one copy for all tiles, or
// one for each. Other types than float32 and int64 are widened and so always copied.
void TileProgramKernel::PlanFetches() {
  const Axis& rows = axes_[axes_.size() - 2];
  const Axis& columns = axes_.back();
  for (size_t i = 0; i < program_.operands.size(); ++i) {
    const Operand& operand = program_.operands[i];
    const bool is_direct =
        operand.type.dtype == DataType::kFloat32 || operand.type.dtype == DataType::kInt64;
    bool same = rows.strides[i] == 0 && (columns.strides[i] == 0 || column_tiles_ == 1);
    for (size_t axis = 0; axis + 2 < axes_.size(); ++axis)
      same = same && axes_[axis].strides[i] == 0;
    Fetch fetch = Fetch::kPerTile;
    if (same) fetch = Fetch::kConstant;
    if (is_direct && IsContiguous(i)) fetch = Fetch::kInPlace;
    operands_.push_back({operand.data, operand.type.dtype, fetch, HoldsFloats(operand, i)});
  }
}

// A register keeps its slot from its definition to its last use; filled operands keep theirs.
void TileProgramKernel::PlanSlots() {
  slots_.assign(program_.register_count, -1);
  std::vector<int> last_use(program_.register_count, -1);
  for (size_t i = 0; i < program_.instructions.size(); ++i) {
    for (const int operand : program_.instructions[i].operands) {
      if (operand >= 0) last_use[operand] = static_cast<int>(i);
    }
  }
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].fetch != Fetch::kInPlace) slots_[i] = static_cast<int>(slot_count_++);
  }
  std::vector<bool> in_memory(program_.register_count, false);
  for (size_t i = 0; i < program_.results.size(); ++i) {
    const auto& [memory, tile_register] = program_.results[i];
    const DataType dtype = memory.type.dtype;
    const bool direct = (dtype == DataType::kFloat32 || dtype == DataType::kInt64) &&
                        IsContiguous(IndexOfResult(i));
    in_memory[tile_register] = direct;
    // What is stored from its slot must survive to the tile's end.
    if (!direct) last_use[tile_register] = static_cast<int>(program_.instructions.size());
  }
  std::vector<int> free_slots;
  for (size_t i = 0; i < program_.instructions.size(); ++i) {
    const int target = program_.instructions[i].result;
    if (!in_memory[target] && slots_[target] < 0) {
      if (free_slots.empty()) free_slots.push_back(static_cast<int>(slot_count_++));
      slots_[target] = free_slots.back();
      free_slots.pop_back();
    }
    std::vector<int> ended;
    for (const int operand : program_.instructions[i].operands) {
      const bool computed = operand >= static_cast<int>(operands_.size());
      if (!computed || in_memory[operand] || last_use[operand] != static_cast<int>(i)) continue;
      if (std::find(ended.begin(), ended.end(), operand) != ended.end() || operand == target)
        continue;
      ended.push_back(operand);
      free_slots.push_back(slots_[operand]);
    }
  }
  slot_count_ = std::max<int64_t>(slot_count_, 1);
  if (runs_by_rows_) PlanRows();
}

// From one row of a tile to the next, by register: within a slot, whose rows have no gaps, or in
// memory. What is the same in all rows, or used within one only, stays where it is.
void TileProgramKernel::PlanRows() {
  const Axis& rows = axes_[axes_.size() - 2];
  const int64_t columns = std::min(tile_elements_, axes_.back().size);
  const auto bytes_of = [&](size_t index, const Operand& operand, int tile_register,
                            bool in_memory) {
    const int64_t slot_bytes = HoldsFloats(operand, static_cast<size_t>(tile_register)) ? 4 : 8;
    return in_memory ? rows.strides[index] * BytesOf(operand.type.dtype) : columns * slot_bytes;
  };
  row_bytes_.assign(program_.register_count, 0);
  for (size_t i = 0; i < operands_.size(); ++i) {
    const bool in_memory = operands_[i].fetch == Fetch::kInPlace;
    row_bytes_[i] = bytes_of(i, program_.operands[i], static_cast<int>(i), in_memory);
  }
  for (size_t i = 0; i < program_.results.size(); ++i) {
    const auto& [memory, tile_register] = program_.results[i];
    row_bytes_[tile_register] =
        bytes_of(IndexOfResult(i), memory, tile_register, slots_[tile_register] < 0);
  }
}

// Of the first element of a row and column 0: what the axes in front of the last two contribute.
int64_t TileProgramKernel::Offset(size_t index, int64_t outer) const {
  int64_t offset = 0;
  for (int axis = static_cast<int>(axes_.size()) - 3; axis >= 0; --axis) {
    offset += outer % axes_[axis].size * axes_[axis].strides[index];
    outer /= axes_[axis].size;
  }
  return offset;
}

// A vector side by side, one number repeated, or elements at a distance, row by row; the tile
// itself has no gaps between its rows.
void TileProgramKernel::FetchTile(size_t operand, int64_t offset, int64_t rows, int64_t columns,
                                  std::byte* slot) const {
  const OperandPlan& plan = operands_[operand];
  const int64_t row_stride = axes_[axes_.size() - 2].strides[operand];
  const int64_t stride = axes_.back().strides[operand];
  const int64_t element_bytes = BytesOf(plan.dtype);
  for (int64_t row = 0; row < rows; ++row) {
    const std::byte* const source = plan.data + (offset + row * row_stride) * element_bytes;
    if (plan.dtype != DataType::kFloat32 && plan.holds_floats) {
      FetchAsFloats(plan.dtype, source, stride, columns,
                    reinterpret_cast<float*>(slot) + row * columns);
      continue;
    }
    if (plan.dtype != DataType::kFloat32) {
      int64_t* const tile = reinterpret_cast<int64_t*>(slot) + row * columns;
      LoadIntegers(plan.dtype, source, stride, columns, tile);
      continue;
    }
    const float* const from = reinterpret_cast<const float*>(source);
    float* const tile = reinterpret_cast<float*>(slot) + row * columns;
    if (stride == 1) {
      std::memcpy(tile, from, static_cast<size_t>(columns) * sizeof(float));
    } else if (stride == 0) {
      Repeat(*from, columns, tile);
    } else {
      for (int64_t i = 0; i < columns; ++i) tile[i] = from[i * stride];
    }
  }
}

// What instructions could not write into memory themselves: integers that are narrowed, and tiles
// whose rows lie apart.
void TileProgramKernel::StoreTile(size_t result, int64_t offset, int64_t rows, int64_t columns,
                                  const std::byte* slot) const {
  const Operand& memory = program_.results[result].memory;
  const int64_t element_bytes = BytesOf(memory.type.dtype);
  const int64_t row_stride = axes_[axes_.size() - 2].strides[IndexOfResult(result)];
  for (int64_t row = 0; row < rows; ++row) {
    std::byte* const to = memory.data + (offset + row * row_stride) * element_bytes;
    if (memory.type.dtype == DataType::kFloat32) {
      std::memcpy(to, slot + row * columns * element_bytes,
                  static_cast<size_t>(columns * element_bytes));
    } else if (HoldsFloats(memory, program_.results[result].tile_register)) {
      StoreFloats(memory.type.dtype, reinterpret_cast<const float*>(slot) + row * columns, columns,
                  to);
    } else {
      StoreIntegers(memory.type.dtype, reinterpret_cast<const int64_t*>(slot) + row * columns,
                    columns, to);
    }
  }
}

void TileProgramKernel::RunInstructions(int64_t rows, int64_t columns, Registers registers) const {
  const int64_t pieces = runs_by_rows_ ? rows : 1;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    for (const TileInstruction& instruction : program_.instructions) {
      instruction.run(instruction, registers.data(), runs_by_rows_ ? columns : rows * columns);
    }
    for (size_t i = 0; i < row_bytes_.size(); ++i) registers[i] += row_bytes_[i];
  }
  for (size_t i = 0; i < row_bytes_.size(); ++i) registers[i] -= pieces * row_bytes_[i];
}

// Fetches what changes from tile to tile, runs the instructions and stores.
void TileProgramKernel::RunTile(int64_t tile, std::byte* slots, Registers registers) const {
  const int64_t all_rows = axes_[axes_.size() - 2].size;
  const int64_t all_columns = axes_.back().size;
  const int64_t first_column = tile % column_tiles_ * tile_elements_;
  const int64_t columns = std::min(tile_elements_, all_columns - first_column);
  const int64_t first_row = tile / column_tiles_ % row_tiles_ * rows_per_tile_;
  const int64_t rows = std::min(rows_per_tile_, all_rows - first_row);
  const int64_t outer = tile / column_tiles_ / row_tiles_;
  const auto offset_of = [&](size_t index) {
    return Offset(index, outer) + first_row * axes_[axes_.size() - 2].strides[index] +
           first_column * axes_.back().strides[index];
  };
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].fetch == Fetch::kConstant) continue;
    const int64_t offset = offset_of(i);
    if (operands_[i].fetch == Fetch::kInPlace) {
      registers[i] =
          const_cast<std::byte*>(operands_[i].data) + offset * BytesOf(operands_[i].dtype);
    } else {
      FetchTile(i, offset, rows, columns, slots + slots_[i] * SlotBytes());
    }
  }
  for (size_t i = 0; i < program_.results.size(); ++i) {
    const auto& [memory, tile_register] = program_.results[i];
    if (slots_[tile_register] >= 0) continue;
    registers[tile_register] =
        memory.data + offset_of(IndexOfResult(i)) * BytesOf(memory.type.dtype);
  }
  RunInstructions(rows, columns, registers);
  for (size_t i = 0; i < program_.results.size(); ++i) {
    const int tile_register = program_.results[i].tile_register;
    if (slots_[tile_register] < 0) continue;
    StoreTile(i, offset_of(IndexOfResult(i)), rows, columns, registers[tile_register]);
  }
}

void TileProgramKernel::RunTiles(int64_t begin, int64_t end, std::byte* slots,
                                 Registers registers) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] >= 0) registers[i] = slots + slots_[i] * SlotBytes();
  }
  const int64_t columns = std::min(tile_elements_, axes_.back().size);
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].fetch == Fetch::kConstant)
      FetchTile(i, 0, rows_per_tile_, columns, registers[i]);
  }
  for (int64_t tile = begin; tile < end; ++tile) RunTile(tile, slots, registers);
}

// Each thread has slots and registers of its own.
absl::Status TileProgramKernel::Run() {
  ForEachPart(threads_, tiles_, [this](int64_t begin, int64_t end, int thread) {
    const auto count = static_cast<size_t>(program_.register_count);
    RunTiles(begin, end, scratch_ + thread * slot_count_ * SlotBytes(),
             absl::MakeSpan(registers_).subspan(thread * count, count));
  });
  return absl::OkStatus();
}

}  // namespace plait
