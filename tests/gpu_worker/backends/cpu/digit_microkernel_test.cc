#include "gpu_worker/backends/cpu/microkernel/digit_microkernel.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/microkernel/assemble.h"
#include "gpu_worker/backends/cpu/microkernel/interpret.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

// Where each step begins behind a piece, in the order in which they go by.
std::vector<int64_t> StepBegins(const PlaneTile& tile) {
  std::vector<int64_t> begins = {0};
  for (size_t i = tile.repeats.size(); i-- > 0;) {
    std::vector<int64_t> inner;
    for (const int64_t begin : begins) {
      for (int turn = 0; turn < tile.repeats[i].count; ++turn) {
        inner.push_back(begin + int64_t{turn} * tile.repeats[i].left_bytes);
      }
    }
    begins = inner;
  }
  std::vector<int64_t> steps;
  for (const int64_t begin : begins) {
    for (const int32_t step : tile.block_steps) steps.push_back(begin + step);
  }
  const int64_t end = tile.repeats.empty() ? 0 : tile.repeats[0].count * tile.repeats[0].left_bytes;
  for (const int32_t step : tile.last_steps) steps.push_back(end + step);
  return steps;
}

// Digits of both sides, with bytes around the rows that belong to nobody. The second piece begins
// in the middle of the first one's rows, as one row of an image may.
struct Digits {
  Digits(const PlaneTile& tile, unsigned seed)
      : left(static_cast<size_t>(tile.planes) * tile.left_plane_bytes),
        right(static_cast<size_t>(RightBytes(tile))),
        sums(static_cast<size_t>(DigitSumCount(tile)), 12345) {
    std::mt19937 random(seed);
    for (int8_t& digit : left) digit = static_cast<int8_t>(random() % 256);
    for (int8_t& digit : right) digit = static_cast<int8_t>(random() % 256);
  }

  static int64_t PieceBegin(const PlaneTile& tile, int piece) {
    return piece * 5 * tile.left_row_bytes;
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

void AddTiles(int products, int columns, std::vector<PlaneTile>& tiles) {
  PlaneTile tile{.columns = columns, .planes = products == 3 ? 2 : 3, .products = products};
  for (const std::pair<int, int>& rows : {std::pair(1, 0), {15, 0}, {16, 0}, {16, 1}, {16, 16}}) {
    tile.rows[0] = rows.first;
    tile.rows[1] = rows.second;
    for (const int64_t depth : {64, 192, 320, 448}) {
      SetDepth(tile, depth);
      tile.left_row_bytes = static_cast<int32_t>(depth) + 64;
      tile.left_plane_bytes = 21 * tile.left_row_bytes;
      tile.prefetch_bytes_per_step = depth == 192 ? 128 : 0;
      tiles.push_back(tile);
    }
  }
  // A convolution of 3 by 3 pixels of 128 channels over rows of 12 pixels, at every other pixel.
  constexpr int kPixel = 192;
  tile.rows[0] = tile.rows[1] = 5;
  tile.left_row_bytes = 2 * kPixel;
  tile.left_plane_bytes = 60 * kPixel;
  tile.block_steps = {0, kPixel, 2 * kPixel};
  tile.repeats = {{3, 12 * kPixel}, {2, 64}};
  tile.last_steps.clear();
  tiles.push_back(tile);
}

std::vector<PlaneTile> Tiles() {
  std::vector<PlaneTile> tiles;
  for (const int products : {3, 6, 8}) {
    for (const int columns : {3, 16, 29}) AddTiles(products, columns, tiles);
  }
  return tiles;
}

std::string NameOf(const PlaneTile& tile) {
  return absl::StrCat(tile.rows[0], " and ", tile.rows[1], " x ", tile.columns, ", ",
                      PlaneSteps(tile), " steps, ", tile.repeats.size(), " repeats, x",
                      tile.products);
}

// One sum of one level, as its definition says.
int32_t SumOf(const PlaneTile& tile, const Digits& digits,
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
  for (const PlaneTile& tile : Tiles()) {
    SCOPED_TRACE(NameOf(tile));
    Digits digits(tile, 1);
    const absl::Status status = Interpret(DigitMicrokernel(tile), digits.Operands(tile));
    ASSERT_TRUE(status.ok()) << status;
    const auto levels = ProductLevels(tile.products);
    for (int level = 0; level < static_cast<int>(levels.size()); ++level) {
      for (int piece = 0; piece < 2; ++piece) {
        for (int m = 0; m < tile.rows[piece]; m += 3) {
          const int64_t begin = Digits::PieceBegin(tile, piece) + m * tile.left_row_bytes;
          for (int n = 0; n < tile.columns; n += 2) {
            EXPECT_EQ(digits.sums[SumOffset(tile, level, piece, m, n)],
                      SumOf(tile, digits, levels[level], begin, n));
          }
        }
      }
    }
  }
}

TEST(DigitMicrokernelTest, TheCodeComputesWhatTheListDoes) {
  if (DetectedInstructionSet() != InstructionSet::kAmx) GTEST_SKIP() << "not run: no AMX";
  for (const PlaneTile& tile : Tiles()) {
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
  std::vector<int> users(static_cast<size_t>(RightBytes(tile)), 0);
  for (int plane = 0; plane < tile.planes; ++plane) {
    for (int64_t k = 0; k < 128; ++k) {
      for (int n = 0; n < 32; ++n) ++users[RightDigitOffset(tile, plane, k, n)];
    }
  }
  for (const int number : users) EXPECT_EQ(number, 1);
}

}  // namespace
}  // namespace plait
