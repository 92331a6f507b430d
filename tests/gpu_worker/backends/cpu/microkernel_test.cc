#include "gpu_worker/backends/cpu/microkernel/microkernel.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/microkernel/assemble.h"
#include "gpu_worker/backends/cpu/microkernel/fma_microkernel.h"
#include "gpu_worker/backends/cpu/microkernel/interpret.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

using testing::HasSubstr;

// Whether this processor runs what is assembled for such vectors; else lists are interpreted only.
bool RunsHere(int vector_floats) {
  return DetectedInstructionSet() >=
         (vector_floats == 16 ? InstructionSet::kAvx512 : InstructionSet::kAvx2);
}

// Matrices of a tile, with room behind each row that must stay as it is.
struct TileData {
  explicit TileData(const FmaTile& tile, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> values(-1, 1);
    const auto fill = [&](std::vector<float>& floats, int64_t bytes) {
      floats.resize(static_cast<size_t>(bytes) / sizeof(float));
      for (float& value : floats) value = values(random);
    };
    fill(left, int64_t{tile.rows} * tile.left_row_bytes);
    fill(right, tile.depth * tile.right_row_bytes);
    fill(result, int64_t{tile.rows} * tile.result_row_bytes);
    fill(bias, int64_t{tile.columns} * 4);
    fill(added, int64_t{tile.rows} * tile.added_row_bytes);
  }

  std::vector<MicroOperand> Operands(const FmaTile& tile) {
    std::vector<MicroOperand> operands = {Of(left), Of(right), Of(result)};
    operands[2].is_written = true;
    if (tile.has_bias) operands.push_back(Of(bias));
    if (tile.has_added) operands.push_back(Of(added));
    if (tile.prefetch_bytes_per_step > 0) operands.push_back(Of(right));
    return operands;
  }

  static MicroOperand Of(std::vector<float>& floats) {
    return {reinterpret_cast<std::byte*>(floats.data()),
            static_cast<int64_t>(floats.size() * sizeof(float))};
  }

  std::vector<float> left, right, result, bias, added;
};

void RunCode(const AssembledMicrokernel& code, absl::Span<const MicroOperand> operands) {
  std::vector<std::byte*> pointers;
  for (const MicroOperand& operand : operands) pointers.push_back(operand.data);
  code(pointers.data());
}

// What the tile is, by definition; what lies behind its columns stays.
std::vector<float> Expected(const FmaTile& tile, const TileData& data) {
  std::vector<float> result = data.result;
  for (int m = 0; m < tile.rows; ++m) {
    for (int n = 0; n < tile.columns; ++n) {
      float sum = tile.has_bias ? data.bias[n] : 0;
      float parts_before = 0;
      for (int64_t k = 0; k < tile.depth; ++k) {
        if (tile.part_depth > 0 && k > 0 && k % tile.part_depth == 0) {
          parts_before += sum;
          sum = 0;
        }
        sum = std::fma(data.left[m * tile.left_row_bytes / 4 + k],
                       data.right[k * tile.right_row_bytes / 4 + n], sum);
      }
      sum += parts_before;
      const int64_t place = m * tile.result_row_bytes / 4 + n;
      if (tile.has_added) sum += data.added[m * tile.added_row_bytes / 4 + n];
      if (tile.has_relu) sum = sum > 0 ? sum : 0;
      result[place] = sum;
    }
  }
  return result;
}

// Rows, columns and depths with every kind of rest.
std::vector<FmaTile> FmaTiles(int vector_floats) {
  std::vector<FmaTile> tiles;
  const int columns_max = FmaVectorsMax(vector_floats) * vector_floats;
  for (const int columns :
       {1, vector_floats - 1, vector_floats, vector_floats + 3, vector_floats * 3 / 2,
        2 * vector_floats, columns_max - 8, columns_max - 4, columns_max}) {
    const int vectors = (columns + vector_floats - 1) / vector_floats;
    for (const int rows : {1, 2, 5, FmaRowsMax(vector_floats, vectors)}) {
      for (const int64_t depth : {1, 3, 4, 9, 64}) {
        FmaTile tile{
            .vector_floats = vector_floats, .rows = rows, .columns = columns, .depth = depth};
        tile.left_row_bytes = static_cast<int32_t>(depth * 4 + 12);
        tile.right_row_bytes = (columns + vector_floats - 1) / vector_floats * vector_floats * 4;
        tile.result_row_bytes = columns * 4 + 20;
        tile.added_row_bytes = columns * 4 + 8;
        tile.has_bias = depth % 2 == 1;
        tile.has_added = rows % 2 == 1;
        tile.has_relu = columns % 2 == 1;
        tile.prefetch_bytes_per_step = depth == 9 ? 32 : 0;
        tiles.push_back(tile);
        tile.has_bias = tile.has_added = tile.has_relu = false;
        tile.part_depth = columns % 2 == 1 ? 4 : 8;
        tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

std::string FmaTileName(const FmaTile& tile) {
  return absl::StrCat(tile.rows, " x ", tile.columns, ", depth ", tile.depth, " in parts of ",
                      tile.part_depth, ", vectors of ", tile.vector_floats);
}

TEST(FmaMicrokernelTest, TheListComputesTheProductBitForBit) {
  for (const int vector_floats : {8, 16}) {
    for (const FmaTile& tile : FmaTiles(vector_floats)) {
      SCOPED_TRACE(FmaTileName(tile));
      TileData data(tile, 1);
      const std::vector<float> expected = Expected(tile, data);
      const Microkernel microkernel = FmaMicrokernel(tile);
      const absl::Status status = Interpret(microkernel, data.Operands(tile));
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(data.result, expected);
    }
  }
}

TEST(FmaMicrokernelTest, TheCodeComputesWhatTheListDoesBitForBit) {
  for (const int vector_floats : {8, 16}) {
    if (!RunsHere(vector_floats)) {
      std::printf("not run: vectors of %d floats\n", vector_floats);
      continue;
    }
    for (const FmaTile& tile : FmaTiles(vector_floats)) {
      SCOPED_TRACE(FmaTileName(tile));
      const Microkernel microkernel = FmaMicrokernel(tile);
      const auto code = Assemble(microkernel);
      ASSERT_TRUE(code.ok()) << code.status();
      TileData interpreted(tile, 2);
      TileData assembled(tile, 2);
      ASSERT_TRUE(Interpret(microkernel, interpreted.Operands(tile)).ok());
      RunCode(**code, assembled.Operands(tile));
      EXPECT_EQ(assembled.result, interpreted.result);
    }
  }
}

// Not-a-number, infinities, the largest floats and denormals.
TEST(FmaMicrokernelTest, SpecialValuesAreThoseOfTheList) {
  const FmaTile tile{.rows = 3,
                     .columns = 20,
                     .depth = 6,
                     .left_row_bytes = 24,
                     .right_row_bytes = 128,
                     .result_row_bytes = 80,
                     .has_relu = true};
  if (!RunsHere(tile.vector_floats)) GTEST_SKIP() << "not run: no AVX-512";
  const auto code = Assemble(FmaMicrokernel(tile));
  ASSERT_TRUE(code.ok()) << code.status();
  const float specials[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(), 1e38f, -1e38f, 1e-42f};
  for (const float special : specials) {
    TileData interpreted(tile, 3);
    interpreted.left[7] = interpreted.right[33] = special;
    TileData assembled = interpreted;
    ASSERT_TRUE(Interpret(FmaMicrokernel(tile), interpreted.Operands(tile)).ok());
    RunCode(**code, assembled.Operands(tile));
    EXPECT_EQ(std::memcmp(assembled.result.data(), interpreted.result.data(),
                          assembled.result.size() * sizeof(float)),
              0)
        << special;
    EXPECT_EQ(std::isnan(assembled.result[20]), std::isnan(special)) << special;
  }
}

// One changed number in a list that is right otherwise: a stride, an offset, a tail, a count. What
// may not be is refused, and what reaches outside is found; whatever is left computes other bits.
TEST(FmaMicrokernelTest, AChangedListIsRefusedOrCaughtOrWrong) {
  const FmaTile tile{.rows = 3,
                     .columns = 20,
                     .depth = 9,
                     .left_row_bytes = 36,
                     .right_row_bytes = 128,
                     .result_row_bytes = 80,
                     .added_row_bytes = 80,
                     .has_bias = true,
                     .has_added = true};
  const Microkernel right = FmaMicrokernel(tile);
  TileData reference(tile, 4);
  ASSERT_TRUE(Interpret(right, reference.Operands(tile)).ok());
  std::mt19937 random(5);
  int changed = 0;
  int unseen = 0;
  while (changed < 200) {
    Microkernel wrong = right;
    MicroInstruction& instruction = wrong.instructions[random() % wrong.instructions.size()];
    const int32_t change = (random() % 2 == 0 ? 1 : -1) * static_cast<int32_t>(4 << random() % 6);
    switch (random() % 3) {
      case 0:
        if (instruction.offset == 0) continue;
        instruction.offset += change;
        break;
      case 1:
        if (instruction.number == 0) continue;
        instruction.number += change / 4;
        break;
      default:
        instruction.target ^= 1 << random() % 5;
        break;
    }
    ++changed;
    TileData data(tile, 4);
    const absl::Status status = Interpret(wrong, data.Operands(tile));
    if (status.ok() && data.result == reference.result) ++unseen;
  }
  // Such as a sum's register that was changed where it is 0 all the same.
  EXPECT_LE(unseen, 2);
}

Microkernel ListOf(std::vector<MicroInstruction> instructions) {
  Microkernel microkernel;
  microkernel.pointers = 1;
  microkernel.instructions = std::move(instructions);
  return microkernel;
}

TEST(CheckMicrokernelTest, NamesWhatCannotBe) {
  const auto fault = [](const Microkernel& microkernel) {
    EXPECT_FALSE(Assemble(microkernel).ok());
    return std::string(CheckMicrokernel(microkernel).message());
  };
  EXPECT_THAT(fault(ListOf({{.op = MicroOp::kZero, .target = 32}})), HasSubstr("vector register"));
  EXPECT_THAT(fault(ListOf({{.op = MicroOp::kLoad, .pointer = 1, .number = 16}})),
              HasSubstr("no such pointer"));
  EXPECT_THAT(fault(ListOf({{.op = MicroOp::kLoad, .number = 17}})), HasSubstr("lanes"));
  EXPECT_THAT(
      fault(ListOf({{.op = MicroOp::kLoad, .number = 3}, {.op = MicroOp::kStore, .number = 5}})),
      HasSubstr("instruction 1: a second tail"));
  EXPECT_THAT(fault(ListOf({{.op = MicroOp::kRepeat, .number = 0}})), HasSubstr("less than once"));
  EXPECT_THAT(fault(ListOf({{.op = MicroOp::kRepeat, .number = 1}})), HasSubstr("no end"));
  EXPECT_THAT(fault(ListOf({{.op = MicroOp::kEnd}})), HasSubstr("ends nothing"));
  EXPECT_THAT(fault(ListOf({{.op = MicroOp::kTileZero}})), HasSubstr("without a shape"));
  EXPECT_THAT(fault(ListOf({{.op = static_cast<MicroOp>(99)}})), HasSubstr("no such operation"));
}

TEST(CheckMicrokernelTest, HalvesOfVectorsStayHalves) {
  const auto fault = [](std::vector<MicroInstruction> instructions) {
    Microkernel microkernel = ListOf(std::move(instructions));
    microkernel.half_vectors = 2;  // register 1
    return std::string(CheckMicrokernel(microkernel).message());
  };
  EXPECT_EQ(fault({{.op = MicroOp::kLoad, .target = 1, .number = 8},
                   {.op = MicroOp::kAdd, .target = 1, .left = 0, .right = 1},
                   {.op = MicroOp::kStore, .target = 1, .number = 5}}),
            "");
  EXPECT_THAT(fault({{.op = MicroOp::kLoad, .target = 1, .number = 9}}), HasSubstr("lanes"));
  EXPECT_THAT(fault({{.op = MicroOp::kAdd, .target = 0, .left = 0, .right = 1}}),
              HasSubstr("a whole vector of half a one"));
  Microkernel narrow = ListOf({});
  narrow.vector_floats = 8;
  narrow.half_vectors = 1;
  EXPECT_THAT(CheckMicrokernel(narrow).message(), HasSubstr("halves"));
}

TEST(InterpretTest, AnAccessOutsideOfItsOperandIsCaught) {
  std::vector<float> floats(20);
  const MicroOperand operand = TileData::Of(floats);
  const auto run = [&](const MicroInstruction& instruction) {
    return Interpret(ListOf({instruction}), {operand}).code();
  };
  EXPECT_EQ(run({.op = MicroOp::kLoad, .offset = 16, .number = 16}), absl::StatusCode::kOk);
  EXPECT_EQ(run({.op = MicroOp::kLoad, .offset = 20, .number = 16}), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(run({.op = MicroOp::kLoad, .offset = -4, .number = 1}), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(run({.op = MicroOp::kStore, .number = 1}), absl::StatusCode::kOutOfRange)
      << "it may only be read";
  EXPECT_EQ(run({.op = MicroOp::kPrefetch, .offset = 1 << 20}), absl::StatusCode::kOk);
}

// Bytes and bf16 of one tile each: 5 rows, 7 columns.
Microkernel TileProduct(MicroOp multiply) {
  Microkernel microkernel;
  microkernel.pointers = 3;
  microkernel.tiles[0] = {5, 28};
  microkernel.tiles[1] = {5, 40};
  microkernel.tiles[2] = {10, 28};
  microkernel.instructions = {{.op = MicroOp::kTileZero, .target = 0},
                              {.op = MicroOp::kTileLoad, .target = 1, .pointer = 0, .number = 40},
                              {.op = MicroOp::kRepeat, .number = 3},
                              {.op = MicroOp::kTileLoad, .target = 2, .pointer = 1, .number = 28},
                              {.op = multiply, .target = 0, .left = 1, .right = 2},
                              {.op = MicroOp::kAdvance, .pointer = 1, .offset = 280},
                              {.op = MicroOp::kEnd},
                              {.op = MicroOp::kTileStore, .target = 0, .pointer = 2, .number = 32}};
  return microkernel;
}

struct TileBytes {
  explicit TileBytes(unsigned seed) {
    std::mt19937 random(seed);
    for (std::byte& value : left) value = static_cast<std::byte>(random());
    for (std::byte& value : right) value = static_cast<std::byte>(random());
  }
  std::vector<MicroOperand> Operands() {
    return {{left, sizeof(left)}, {right, sizeof(right)}, {result, sizeof(result), true}};
  }
  std::byte left[200] = {};
  std::byte right[840] = {};
  std::byte result[160] = {};
};

TEST(TileMicrokernelTest, BytesAddUpExactly) {
  TileBytes data(6);
  ASSERT_TRUE(Interpret(TileProduct(MicroOp::kTileMultiplyBytes), data.Operands()).ok());
  for (int m = 0; m < 5; ++m) {
    for (int n = 0; n < 7; ++n) {
      int32_t sum = 0;
      for (int k = 0; k < 120; ++k) {
        const auto left = static_cast<int8_t>(data.left[m * 40 + k % 40]);
        sum += left * static_cast<int8_t>(data.right[k / 4 * 28 + n * 4 + k % 4]);
      }
      int32_t found;
      std::memcpy(&found, data.result + m * 32 + n * 4, sizeof(found));
      EXPECT_EQ(found, sum);
    }
  }
}

TEST(TileMicrokernelTest, TheCodeComputesWhatTheListDoes) {
  if (DetectedInstructionSet() != InstructionSet::kAmx) GTEST_SKIP() << "not run: no AMX";
  const Microkernel microkernel = TileProduct(MicroOp::kTileMultiplyBytes);
  const auto code = Assemble(microkernel);
  ASSERT_TRUE(code.ok()) << code.status();
  TileBytes interpreted(7);
  TileBytes assembled(7);
  ASSERT_TRUE(Interpret(microkernel, interpreted.Operands()).ok());
  const TileScope scope(microkernel);
  RunCode(**code, assembled.Operands());
  EXPECT_EQ(std::memcmp(assembled.result, interpreted.result, sizeof(assembled.result)), 0);
}

// Values of a few bits, whose products and sums are exact in any order.
TEST(TileMicrokernelTest, Bf16OfSmallIntegersIsExact) {
  const Microkernel microkernel = TileProduct(MicroOp::kTileMultiplyBf16);
  const auto code = Assemble(microkernel);
  ASSERT_TRUE(code.ok()) << code.status();
  TileBytes interpreted(8);
  std::mt19937 random(9);
  const auto fill = [&](std::byte* bytes, size_t size) {
    for (size_t i = 0; i < size; i += 2) {
      const float value = static_cast<float>(static_cast<int>(random() % 17) - 8);
      std::memcpy(bytes + i, reinterpret_cast<const std::byte*>(&value) + 2, 2);
    }
  };
  fill(interpreted.left, sizeof(interpreted.left));
  fill(interpreted.right, sizeof(interpreted.right));
  TileBytes assembled = interpreted;
  ASSERT_TRUE(Interpret(microkernel, interpreted.Operands()).ok());
  if (DetectedInstructionSet() != InstructionSet::kAmx) GTEST_SKIP() << "not run: no AMX";
  const TileScope scope(microkernel);
  RunCode(**code, assembled.Operands());
  EXPECT_EQ(std::memcmp(assembled.result, interpreted.result, sizeof(assembled.result)), 0);
}

// One after the other, no 1 would move a sum of 2^24: the next float is 2 further.
TEST(TileMicrokernelTest, Bf16SumsAreRoundedOnceForATile) {
  const auto put = [](std::byte* place, float value) {
    std::memcpy(place, reinterpret_cast<const std::byte*>(&value) + 2, 2);
  };
  TileBytes data(10);
  for (size_t i = 0; i < sizeof(data.left); i += 2) put(data.left + i, 1);
  for (size_t i = 0; i < sizeof(data.right); i += 2) put(data.right + i, i < 280 ? 0 : 1);
  put(data.right, 16777216);
  ASSERT_TRUE(Interpret(TileProduct(MicroOp::kTileMultiplyBf16), data.Operands()).ok());
  float sum;
  std::memcpy(&sum, data.result, sizeof(sum));
  EXPECT_EQ(sum, 16777216.0f + 40.0f);
}

}  // namespace
}  // namespace plait
