#include "gpu_worker/backends/cpu/microkernel/bf16_microkernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/microkernel/assemble.h"
#include "gpu_worker/backends/cpu/microkernel/interpret.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cpu/plane_tiles.h"

namespace plait {
namespace {

uint16_t HalfOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

float ValueOf(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Small whole numbers, whose products add up exactly in any order.
struct Halves {
  Halves(const PlaneTile& tile, unsigned seed)
      : left(static_cast<size_t>(tile.planes) * tile.left_plane_bytes / 2),
        right(static_cast<size_t>(RightTileBytes(tile) / 2)),
        sums(static_cast<size_t>(LevelNumbers(tile)), 12345) {
    std::mt19937 random(seed);
    const auto number = [&] { return HalfOf(static_cast<float>(random() % 17) - 8); };
    for (uint16_t& half : left) half = number();
    for (uint16_t& half : right) half = number();
  }

  std::vector<MicroOperand> Operands(const PlaneTile& tile) {
    const auto size = static_cast<int64_t>(left.size() * 2);
    auto* const bytes = reinterpret_cast<std::byte*>(left.data());
    std::vector<MicroOperand> operands = {
        {bytes, size},
        {bytes + PieceBegin(tile, 1), size - PieceBegin(tile, 1)},
        {reinterpret_cast<std::byte*>(right.data()), static_cast<int64_t>(right.size() * 2)},
        {reinterpret_cast<std::byte*>(sums.data()), static_cast<int64_t>(sums.size() * 4), true}};
    if (tile.prefetch_bytes_per_step > 0) operands.push_back(operands[2]);
    return operands;
  }

  std::vector<uint16_t> left, right;
  std::vector<float> sums;
};

std::vector<PlaneTile> Bf16Tiles() {
  std::vector<PlaneTile> tiles;
  for (const int products : {1, 3, 6}) {
    for (const int columns : {3, 16, 29}) AddTiles(products, columns, tiles);
  }
  return tiles;
}

// One sum, as its definition says.
float SumOfHalves(const PlaneTile& tile, const Halves& halves, int64_t row_begin, int n) {
  const std::vector<int64_t> steps = StepBegins(tile);
  float sum = 0;
  for (const auto& level : ProductLevels(tile.products)) {
    for (const auto& [left, right] : level) {
      for (size_t k = 0; k < steps.size() * 32; ++k) {
        const int64_t place = left * tile.left_plane_bytes + row_begin + steps[k / 32] +
                              static_cast<int64_t>(k % 32) * 2;
        sum += ValueOf(halves.left[place / 2]) *
               ValueOf(halves.right[RightBf16Offset(tile.planes, ColumnTiles(tile), right,
                                                    static_cast<int64_t>(k), n) /
                                    2]);
      }
    }
  }
  return sum;
}

// The number of sums that are not what they should be; -1: the list was not run.
int WrongSums(const PlaneTile& tile, const Microkernel& list, Halves& halves) {
  if (!Interpret(list, halves.Operands(tile)).ok()) return -1;
  int wrong = 0;
  for (int piece = 0; piece < 2; ++piece) {
    for (int m = 0; m < tile.rows[piece]; m += 3) {
      const int64_t begin = PieceBegin(tile, piece) + m * tile.left_row_bytes;
      for (int n = 0; n < tile.columns; n += 2) {
        const float sum = halves.sums[SumOffset(tile, 0, piece, m, n)];
        wrong += sum != SumOfHalves(tile, halves, begin, n) ? 1 : 0;
      }
    }
  }
  return wrong;
}

TEST(Bf16MicrokernelTest, SumsAreThoseOfAllProductsOfPlanes) {
  for (const PlaneTile& tile : Bf16Tiles()) {
    SCOPED_TRACE(NameOf(tile));
    Halves halves(tile, 1);
    EXPECT_EQ(WrongSums(tile, Bf16Microkernel(tile), halves), 0);
  }
}

// Without any of its loads, products and steps forward the list is another one, and it is noticed.
TEST(Bf16MicrokernelTest, EveryInstructionCounts) {
  PlaneTile tile = Bf16Tiles().back();
  tile.columns = 29;
  const Microkernel list = Bf16Microkernel(tile);
  int count = 0;
  for (size_t i = 0; i < list.instructions.size(); ++i) {
    const MicroOp op = list.instructions[i].op;
    const bool is_last_advance = i + 1 == list.instructions.size();
    if (op != MicroOp::kTileLoad && op != MicroOp::kTileMultiplyBf16 && op != MicroOp::kTileStore &&
        (op != MicroOp::kAdvance || is_last_advance)) {
      continue;
    }
    Microkernel mutated = list;
    mutated.instructions.erase(mutated.instructions.begin() + static_cast<int64_t>(i));
    Halves halves(tile, 3);
    EXPECT_NE(WrongSums(tile, mutated, halves), 0) << "instruction " << i;
    ++count;
  }
  EXPECT_GT(count, 30);
}

TEST(Bf16MicrokernelTest, DenormalNumbersAreZeros) {
  PlaneTile tile{
      .columns = 1, .planes = 1, .products = 1, .left_row_bytes = 64, .left_plane_bytes = 16 * 64};
  Halves halves(tile, 4);
  std::fill(halves.left.begin(), halves.left.end(), 0);
  std::fill(halves.right.begin(), halves.right.end(), HalfOf(1e30f));
  halves.left[0] = HalfOf(1e-39f);
  halves.left[32] = HalfOf(2e-38f);
  ASSERT_TRUE(Interpret(Bf16Microkernel(tile), halves.Operands(tile)).ok());
  EXPECT_EQ(halves.sums[SumOffset(tile, 0, 0, 0, 0)], 0.0f);
  EXPECT_NEAR(halves.sums[SumOffset(tile, 0, 0, 1, 0)], 2e-8f, 2e-10f);
}

TEST(Bf16MicrokernelTest, TheCodeComputesWhatTheListDoes) {
  if (DetectedInstructionSet() != InstructionSet::kAmx) GTEST_SKIP() << "not run: no AMX";
  for (const PlaneTile& tile : Bf16Tiles()) {
    SCOPED_TRACE(NameOf(tile));
    const Microkernel microkernel = Bf16Microkernel(tile);
    const auto code = Assemble(microkernel);
    ASSERT_TRUE(code.ok()) << code.status();
    Halves interpreted(tile, 2);
    Halves assembled(tile, 2);
    ASSERT_TRUE(Interpret(microkernel, interpreted.Operands(tile)).ok());
    std::vector<std::byte*> pointers;
    for (const MicroOperand& operand : assembled.Operands(tile)) pointers.push_back(operand.data);
    const TileScope scope(microkernel);
    (**code)(pointers.data());
    EXPECT_EQ(assembled.sums, interpreted.sums);
  }
}

// Every number is its own place: no two share one, and none lies outside.
TEST(Bf16MicrokernelTest, NumbersOfTheRightSideHaveAPlaceEach) {
  PlaneTile tile{.columns = 29};
  SetDepth(tile, 128);
  std::vector<int> users(static_cast<size_t>(RightTileBytes(tile) / 2), 0);
  for (int plane = 0; plane < tile.planes; ++plane) {
    for (int64_t k = 0; k < 64; ++k) {
      for (int n = 0; n < 32; ++n) {
        ++users[RightBf16Offset(tile.planes, ColumnTiles(tile), plane, k, n) / 2];
      }
    }
  }
  for (const int number : users) EXPECT_EQ(number, 1);
}

}  // namespace
}  // namespace plait
