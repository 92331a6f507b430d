#include "gpu_worker/backends/cpu/microkernel/digit_microkernel.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/microkernel/assemble.h"
#include "gpu_worker/backends/cpu/microkernel/interpret.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

// Digits of both sides, rows with 64 bytes between them that belong to nobody.
struct Digits {
  explicit Digits(const DigitTile& tile, unsigned seed)
      : left(static_cast<size_t>(tile.planes) * tile.left_plane_bytes),
        right(static_cast<size_t>(RightBytes(tile))),
        sums(static_cast<size_t>(SumCount(tile)), 12345) {
    std::mt19937 random(seed);
    for (int8_t& digit : left) digit = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
    for (int8_t& digit : right) digit = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
  }

  std::vector<MicroOperand> Operands(const DigitTile& tile) {
    std::vector<MicroOperand> operands = {
        {reinterpret_cast<std::byte*>(left.data()), static_cast<int64_t>(left.size())},
        {reinterpret_cast<std::byte*>(right.data()), static_cast<int64_t>(right.size())},
        {reinterpret_cast<std::byte*>(sums.data()), static_cast<int64_t>(sums.size() * 4), true}};
    if (tile.prefetch_bytes_per_step > 0) operands.push_back(operands[1]);
    return operands;
  }

  std::vector<int8_t> left, right;
  std::vector<int32_t> sums;
};

std::vector<DigitTile> Tiles() {
  std::vector<DigitTile> tiles;
  for (const int products : {3, 6, 8}) {
    for (const int rows : {1, 15, 16, 17, 32}) {
      for (const int columns : {3, 16, 29}) {
        for (const int64_t depth : {64, 192, 320, 448}) {
          DigitTile tile{.rows = rows,
                         .columns = columns,
                         .depth = depth,
                         .planes = products == 3 ? 2 : 3,
                         .products = products};
          tile.left_row_bytes = static_cast<int32_t>(depth) + 64;
          tile.left_plane_bytes = rows * tile.left_row_bytes;
          tile.prefetch_bytes_per_step = depth == 192 ? 128 : 0;
          tiles.push_back(tile);
        }
      }
    }
  }
  return tiles;
}

std::string NameOf(const DigitTile& tile) {
  return absl::StrCat(tile.rows, " x ", tile.columns, ", depth ", tile.depth, ", x", tile.products);
}

TEST(DigitMicrokernelTest, EachLevelIsTheExactSumOfItsProducts) {
  for (const DigitTile& tile : Tiles()) {
    SCOPED_TRACE(NameOf(tile));
    Digits digits(tile, 1);
    const absl::Status status = Interpret(DigitMicrokernel(tile), digits.Operands(tile));
    ASSERT_TRUE(status.ok()) << status;
    const auto levels = DigitLevels(tile.products);
    for (size_t level = 0; level < levels.size(); ++level) {
      for (int m = 0; m < tile.rows; m += 3) {
        for (int n = 0; n < tile.columns; n += 2) {
          int32_t sum = 0;
          for (const auto& [left, right] : levels[level]) {
            for (int64_t k = 0; k < tile.depth; ++k) {
              sum += digits.left[left * tile.left_plane_bytes + m * tile.left_row_bytes + k] *
                     digits.right[RightDigitOffset(tile, right, k, n)];
            }
          }
          EXPECT_EQ(digits.sums[SumOffset(tile, static_cast<int>(level), m, n)], sum);
        }
      }
    }
  }
}

TEST(DigitMicrokernelTest, TheCodeComputesWhatTheListDoes) {
  if (DetectedInstructionSet() != InstructionSet::kAmx) GTEST_SKIP() << "not run: no AMX";
  for (const DigitTile& tile : Tiles()) {
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
  const DigitTile tile{.columns = 29, .depth = 128};
  std::vector<int> users(static_cast<size_t>(RightBytes(tile)), 0);
  for (int plane = 0; plane < tile.planes; ++plane) {
    for (int64_t k = 0; k < tile.depth; ++k) {
      for (int n = 0; n < 32; ++n) ++users[RightDigitOffset(tile, plane, k, n)];
    }
  }
  for (const int number : users) EXPECT_EQ(number, 1);
}

}  // namespace
}  // namespace plait
