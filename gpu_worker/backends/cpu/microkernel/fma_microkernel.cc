#include "gpu_worker/backends/cpu/microkernel/fma_microkernel.h"

#include <algorithm>

#include "base/status_macros.h"

// Three rows, one vector, depth 9, four steps at a time:
//   zero v0 v1 v2                       the sums
//   repeat 2
//     load v3 [right]                   a row of right
//     broadcast v4 [left]               row 0, and so on for 1 and 2
//     multiply_add v0 v3 v4
//     ...                               three more steps, at left + 4 and right + its row
//     advance left 16, right 4 rows
//   end
//   load, broadcast, multiply_add ...   the ninth step
//   store v0 v1 v2

namespace plait {
namespace {

// Long enough that counting is nothing beside it, short enough that the code of all tiles of a
// layer stays in the first cache.
constexpr int kStepsPerRepeat = 4;

class FmaWriter {
 public:
  explicit FmaWriter(const FmaTile& tile)
      : tile_(tile), vectors_((tile.columns + tile.vector_floats - 1) / tile.vector_floats) {
    list_.vector_floats = tile.vector_floats;
    list_.pointers = static_cast<int>(FmaPointer::kOthers);
    if (tile.has_bias) bias_ = list_.pointers++;
    if (tile.has_added) added_ = list_.pointers++;
    if (tile.prefetch_bytes_per_step > 0) prefetched_ = list_.pointers++;
    for (int vector = 0; vector < vectors_; ++vector) {
      if (FloatsOf(vector) == tile.vector_floats) continue;
      list_.half_vectors |= 1u << RightOf(vector);
      for (int row = 0; row < tile.rows; ++row) list_.half_vectors |= 1u << SumOf(row, vector);
    }
  }

  Microkernel Write() {
    const int64_t part = tile_.part_depth > 0 ? tile_.part_depth : tile_.depth;
    WritePart(std::min(part, tile_.depth), added_);
    const int64_t others = std::max<int64_t>(tile_.depth / part - 1, 0);
    if (others > 0) {
      Add({.op = MicroOp::kRepeat, .number = static_cast<int32_t>(others)});
      WritePart(part, kResult);
      Add({.op = MicroOp::kEnd});
    }
    if (tile_.depth > part && tile_.depth % part > 0) WritePart(tile_.depth % part, kResult);
    return std::move(list_);
  }

 private:
  static constexpr uint8_t kLeft = static_cast<uint8_t>(FmaPointer::kLeft);
  static constexpr uint8_t kRight = static_cast<uint8_t>(FmaPointer::kRight);
  static constexpr uint8_t kResult = static_cast<uint8_t>(FmaPointer::kResult);

  void Add(const MicroInstruction& instruction) { list_.instructions.push_back(instruction); }
  void Advance(int pointer, int32_t bytes) {
    Add({.op = MicroOp::kAdvance, .pointer = static_cast<uint8_t>(pointer), .offset = bytes});
  }

  uint8_t SumOf(int row, int vector) const { return static_cast<uint8_t>(row * vectors_ + vector); }
  uint8_t RightOf(int vector) const { return SumOf(tile_.rows, vector); }
  uint8_t Element() const { return SumOf(tile_.rows + 1, 0); }

  // Columns of a vector that count.
  int LanesOf(int vector) const {
    return std::min(tile_.vector_floats, tile_.columns - vector * tile_.vector_floats);
  }
  // What a vector holds: half of one of AVX-512, where that is enough.
  int FloatsOf(int vector) const { return LanesOf(vector) <= 8 ? 8 : tile_.vector_floats; }
  int32_t BytesTo(int vector) const {
    return vector * tile_.vector_floats * static_cast<int32_t>(sizeof(float));
  }

  // Sums of parts are added to the result's.
  int32_t AddedRowBytes(int added) const {
    return added == kResult ? tile_.result_row_bytes : tile_.added_row_bytes;
  }

  // The sums of so many steps, and of what lies at the pointer `added`; -1: of nothing else. Leaves
  // left and right behind the steps as far as these are a multiple of kStepsPerRepeat.
  void WritePart(int64_t depth, int added) {
    BeginSums();
    const int64_t repeats = depth / kStepsPerRepeat;
    if (repeats > 0) {
      Add({.op = MicroOp::kRepeat, .number = static_cast<int32_t>(repeats)});
      for (int step = 0; step < kStepsPerRepeat; ++step) WriteStep(step);
      Prefetch(kStepsPerRepeat);
      Advance(kLeft, kStepsPerRepeat * static_cast<int32_t>(sizeof(float)));
      Advance(kRight, kStepsPerRepeat * tile_.right_row_bytes);
      Add({.op = MicroOp::kEnd});
    }
    for (int step = 0; step < depth % kStepsPerRepeat; ++step) WriteStep(step);
    EndSums(added);
  }

  void BeginSums() {
    for (int row = 0; row < tile_.rows; ++row) {
      for (int vector = 0; vector < vectors_; ++vector) {
        const uint8_t sum = SumOf(row, vector);
        if (!tile_.has_bias) {
          Add({.op = MicroOp::kZero, .target = sum});
          continue;
        }
        Add({.op = MicroOp::kLoad,
             .target = sum,
             .pointer = static_cast<uint8_t>(bias_),
             .offset = BytesTo(vector),
             .number = LanesOf(vector)});
      }
    }
  }

  void WriteStep(int step) {
    for (int vector = 0; vector < vectors_; ++vector) {
      Add({.op = MicroOp::kLoad,
           .target = RightOf(vector),
           .pointer = kRight,
           .offset = step * tile_.right_row_bytes + BytesTo(vector),
           .number = FloatsOf(vector)});
    }
    for (int row = 0; row < tile_.rows; ++row) {
      Add({.op = MicroOp::kBroadcast,
           .target = Element(),
           .pointer = kLeft,
           .offset = row * tile_.left_row_bytes + step * static_cast<int32_t>(sizeof(float))});
      for (int vector = 0; vector < vectors_; ++vector) {
        Add({.op = MicroOp::kMultiplyAdd,
             .target = SumOf(row, vector),
             .left = Element(),
             .right = RightOf(vector)});
      }
    }
  }

  // A cache line for each 64 bytes, as far as they are whole.
  void Prefetch(int steps) {
    if (prefetched_ < 0) return;
    const int32_t bytes = steps * tile_.prefetch_bytes_per_step;
    for (int32_t offset = 0; offset < bytes; offset += 64) {
      Add({.op = MicroOp::kPrefetch,
           .pointer = static_cast<uint8_t>(prefetched_),
           .offset = offset});
    }
    Advance(prefetched_, bytes);
  }

  void EndSums(int added) {
    const uint8_t zero = Element();
    if (tile_.has_relu) Add({.op = MicroOp::kZero, .target = zero});
    for (int row = 0; row < tile_.rows; ++row) {
      for (int vector = 0; vector < vectors_; ++vector) {
        const uint8_t sum = SumOf(row, vector);
        MicroInstruction place = {.op = MicroOp::kStore,
                                  .target = sum,
                                  .pointer = kResult,
                                  .offset = row * tile_.result_row_bytes + BytesTo(vector),
                                  .number = LanesOf(vector)};
        if (added >= 0) {
          const uint8_t other = RightOf(vector);
          MicroInstruction load = place;
          load.op = MicroOp::kLoad;
          load.offset = row * AddedRowBytes(added) + BytesTo(vector);
          load.target = other;
          load.pointer = static_cast<uint8_t>(added);
          Add(load);
          Add({.op = MicroOp::kAdd, .target = sum, .left = sum, .right = other});
        }
        if (tile_.has_relu) {
          Add({.op = MicroOp::kMax, .target = sum, .left = zero, .right = sum});
        }
        Add(place);
      }
    }
  }

  const FmaTile tile_;
  const int vectors_;
  int bias_ = -1;
  int added_ = -1;
  int prefetched_ = -1;
  Microkernel list_;
};

}  // namespace

Microkernel FmaMicrokernel(const FmaTile& tile) {
  const int vectors = (tile.columns + tile.vector_floats - 1) / tile.vector_floats;
  PLAIT_CHECK(vectors >= 1 && vectors <= FmaVectorsMax(tile.vector_floats));
  PLAIT_CHECK(tile.rows >= 1 && tile.rows <= FmaRowsMax(tile.vector_floats, vectors));
  PLAIT_CHECK(tile.depth >= 1 && tile.part_depth >= 0 && tile.part_depth % kStepsPerRepeat == 0);
  PLAIT_CHECK(tile.part_depth == 0 || !(tile.has_bias || tile.has_added || tile.has_relu));
  return FmaWriter(tile).Write();
}

}  // namespace plait
