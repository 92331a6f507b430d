#include "gpu_worker/backends/cpu/microkernel/digit_microkernel.h"

#include <random>

#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/microkernel/assemble.h"
#include "gpu_worker/backends/cpu/microkernel/interpret.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cpu/plane_tiles.h"

namespace plait {
namespace {

// Digits of both sides, with bytes around the rows that belong to nobody.
struct Digits {
  Digits(const PlaneTile& tile, unsigned seed)
      : left(static_cast<size_t>(tile.planes) * tile.left_plane_bytes),
        right(static_cast<size_t>(RightTileBytes(tile))),
        sums(static_cast<size_t>(DigitSumCount(tile)), 12345) {
    std::mt19937 random(seed);
    for (int8_t& digit : left) digit = static_cast<int8_t>(random() % 256);
    for (int8_t& digit : right) digit = static_cast<int8_t>(random() % 256);
  }

  std::vector<MicroOperand> Operands(const PlaneTile& tile) {
    const auto size = static_cast<int64_t>(left.size());
    auto* const bytes = reinterpret_cast<std::byte*>(left.data());
    std::vector<MicroOperand> operands = {
        {bytes, size},
        {bytes + PieceBegin(tile, 1), size - PieceBegin(tile, 1)},
        {reinterpret_cast<std::byte*>(right.data()), static_cast<int64_t>(right.size())},
        {reinterpret_cast<std::byte*>(sums.data()), static_cast<int64_t>(sums.size() * 4), true}};
    if (tile.prefetch_bytes_per_step > 0) operands.push_back(operands[2]);
    return operands;
  }

  std::vector<int8_t> left, right;
  std::vector<int32_t> sums;
};

std::vector<PlaneTile> DigitTiles() {
  std::vector<PlaneTile> tiles;
  for (const int products : {3, 6, 8}) {
    for (const int columns : {3, 16, 29}) AddTiles(products, columns, tiles);
  }
  return tiles;
}

// One sum of one level, as its definition says.
int32_t SumOfDigits(const PlaneTile& tile, const Digits& digits,
                    const std::vector<std::pair<int, int>>& level, int64_t row_begin, int n) {
  const std::vector<int64_t> steps = StepBegins(tile);
  int32_t sum = 0;
  for (const auto& [left, right] : level) {
    for (size_t k = 0; k < steps.size() * 64; ++k) {
      const int64_t place =
          left * tile.left_plane_bytes + row_begin + steps[k / 64] + static_cast<int64_t>(k % 64);
      sum += digits.left[place] *
             digits.right[RightDigitOffset(tile, right, static_cast<int64_t>(k), n)];
    }
  }
  return sum;
}

TEST(DigitMicrokernelTest, EachLevelIsTheExactSumOfItsProducts) {
  for (const PlaneTile& tile : DigitTiles()) {
    SCOPED_TRACE(NameOf(tile));
    Digits digits(tile, 1);
    const absl::Status status = Interpret(DigitMicrokernel(tile), digits.Operands(tile));
    ASSERT_TRUE(status.ok()) << status;
    const auto levels = ProductLevels(tile.products);
    for (int level = 0; level < static_cast<int>(levels.size()); ++level) {
      for (int piece = 0; piece < 2; ++piece) {
        for (int m = 0; m < tile.rows[piece]; m += 3) {
          const int64_t begin = PieceBegin(tile, piece) + m * tile.left_row_bytes;
          for (int n = 0; n < tile.columns; n += 2) {
            EXPECT_EQ(digits.sums[SumOffset(tile, level, piece, m, n)],
                      SumOfDigits(tile, digits, levels[level], begin, n));
          }
        }
      }
    }
  }
}

TEST(DigitMicrokernelTest, TheCodeComputesWhatTheListDoes) {
  if (DetectedInstructionSet() != InstructionSet::kAmx) GTEST_SKIP() << "not run: no AMX";
  for (const PlaneTile& tile : DigitTiles()) {
    SCOPED_TRACE(NameOf(tile));
    const Microkernel microkernel = DigitMicrokernel(tile);
    const auto code = Assemble(microkernel);
    ASSERT_TRUE(code.ok()) << code.status();
    Digits interpreted(tile, 2);
    Digits assembled(tile, 2);
    ASSERT_TRUE(Interpret(microkernel, interpreted.Operands(tile)).ok());
    std::vector<std::byte*> pointers;
    for (const MicroOperand& operand : assembled.Operands(tile)) pointers.push_back(operand.data);
    const TileScope scope(microkernel);
    (**code)(pointers.data());
    EXPECT_EQ(assembled.sums, interpreted.sums);
  }
}

// Every product of a digit is its own place: no two share one, and none lies outside.
TEST(DigitMicrokernelTest, DigitsOfTheRightSideHaveAPlaceEach) {
  PlaneTile tile{.columns = 29};
  SetDepth(tile, 128);
  std::vector<int> users(static_cast<size_t>(RightTileBytes(tile)), 0);
  for (int plane = 0; plane < tile.planes; ++plane) {
    for (int64_t k = 0; k < 128; ++k) {
      for (int n = 0; n < 32; ++n) ++users[RightDigitOffset(tile, plane, k, n)];
    }
  }
  for (const int number : users) EXPECT_EQ(number, 1);
}

}  // namespace
}  // namespace plait
