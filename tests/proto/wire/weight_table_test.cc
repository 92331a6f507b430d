#include "proto/wire/weight_table.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plait::wire {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

// A digest that begins with this digit, of nothing that is looked at.
Digest DigestLike(char digit, int64_t size_bytes) { return {std::string(64, digit), size_bytes}; }

std::string Table(const std::string& lines) { return "plait weights 1\n" + lines + "\n"; }

std::string Line(const Digest& digest, const std::string& rest) {
  return digest.ToString() + " " + rest + "\n";
}

// What is said of a table with these lines, and `stored` behind them, for a model of 100 bytes.
std::string TableError(const std::string& lines, const std::string& stored = "") {
  const absl::StatusOr<WeightTable> table = ParseWeightTable(Table(lines) + stored, 100);
  EXPECT_TRUE(absl::IsInvalidArgument(table.status())) << table.status();
  return std::string(table.status().message());
}

TEST(WeightTableTest, ReadsWhatItHasWritten) {
  WeightEntries entries;
  entries[DigestLike('a', 60)] = {WeightPlace::kModel, 40};
  entries[DigestLike('b', 7)] = {WeightPlace::kTable, 3};
  entries[DigestLike('c', kInt64Max)] = {WeightPlace::kNowhere};
  const std::string blob = WeightTableLines(entries) + "...seven77";
  const absl::StatusOr<WeightTable> table = ParseWeightTable(blob, 100);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->entries, entries);
  EXPECT_EQ(table->stored, "...seven77");
}

TEST(WeightTableTest, ReadsATableOfNothing) {
  const absl::StatusOr<WeightTable> table = ParseWeightTable(WeightTableLines({}), 0);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->entries, SizeIs(0));
}

TEST(WeightTableTest, RefusesARangeThatEndsBehindItsBlob) {
  EXPECT_THAT(TableError(Line(DigestLike('a', 60), "model 41")), HasSubstr("no room"));
  EXPECT_THAT(TableError(Line(DigestLike('a', 60), "model 101")), HasSubstr("no room"));
  EXPECT_THAT(TableError(Line(DigestLike('a', 3), "table 0"), "12"), HasSubstr("no room"));
}

TEST(WeightTableTest, RefusesARangeWhoseEndOverflows) {
  const std::string largest = absl::StrCat(kInt64Max);
  EXPECT_THAT(TableError(Line(DigestLike('a', 60), "model " + largest)), HasSubstr("no room"));
  EXPECT_THAT(TableError(Line(DigestLike('a', kInt64Max), "model 1")), HasSubstr("no room"));
  EXPECT_THAT(TableError(Line(DigestLike('a', kInt64Max), "model " + largest)),
              HasSubstr("no room"));
  EXPECT_THAT(TableError(Line(DigestLike('a', 60), "model 18446744073709551615")),
              HasSubstr("no number"));
  EXPECT_THAT(TableError(Line(DigestLike('a', 60), "model -1")), HasSubstr("no number"));
}

// A thousand large ranges, each a byte behind the other, would keep a worker busy for hours.
TEST(WeightTableTest, RefusesRangesThatAreTogetherLongerThanTheirBlob) {
  EXPECT_THAT(
      TableError(Line(DigestLike('a', 60), "model 0") + Line(DigestLike('b', 41), "model 1")),
      HasSubstr("no room"));
}

TEST(WeightTableTest, RefusesADigestThatComesTwice) {
  EXPECT_THAT(TableError(Line(DigestLike('a', 6), "model 0") + Line(DigestLike('a', 6), "model 8")),
              HasSubstr("out of order"));
  EXPECT_THAT(TableError(Line(DigestLike('b', 6), "model 0") + Line(DigestLike('a', 6), "model 8")),
              HasSubstr("out of order"));
}

TEST(WeightTableTest, RefusesABlobThatIsNeitherOfTheTwo) {
  EXPECT_THAT(TableError(Line(DigestLike('a', 6), "blob 0")), HasSubstr("no entry"));
  EXPECT_THAT(TableError(Line(DigestLike('a', 6), "jobs.db 0")), HasSubstr("no entry"));
}

TEST(WeightTableTest, RefusesLinesInAnyOtherForm) {
  const Digest digest = DigestLike('a', 6);
  for (const char* rest : {"", "model", "model 0 0", "model +0", "model 00", "model  0", "model 0 ",
                           "model 0x0", "model \t0", "nowhere 0", "nowhere "}) {
    EXPECT_NE(TableError(Line(digest, rest)), "") << rest;
  }
  EXPECT_NE(TableError("nonsense\n"), "");
  EXPECT_NE(TableError(Line(DigestLike('A', 6), "nowhere")), "");
  EXPECT_NE(TableError(std::string(500, 'a') + "\n"), "");
}

TEST(WeightTableTest, RefusesATableWithoutABeginningOrAnEnd) {
  const std::string whole = Table(Line(DigestLike('a', 6), "model 0"));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseWeightTable(whole.substr(0, length), 100).status()))
        << length;
  }
  EXPECT_TRUE(ParseWeightTable(whole, 100).ok());
}

// One wrong character anywhere: whatever is still read stays within the two blobs.
TEST(WeightTableTest, ReadsNothingFromOutsideWhateverTheTableSays) {
  const std::string whole =
      Table(Line(DigestLike('a', 60), "model 40") + Line(DigestLike('b', 7), "table 3")) +
      "...seven77";
  int read_count = 0;
  for (size_t position = 0; position < whole.size(); ++position) {
    for (int value = 0; value < 256; ++value) {
      std::string mutated = whole;
      mutated[position] = static_cast<char>(value);
      const absl::StatusOr<WeightTable> table = ParseWeightTable(mutated, 100);
      if (!table.ok()) continue;
      ++read_count;
      for (const auto& [digest, entry] : table->entries) {
        if (entry.place == WeightPlace::kNowhere) continue;
        const int64_t size =
            entry.place == WeightPlace::kModel ? 100 : static_cast<int64_t>(table->stored.size());
        ASSERT_GE(entry.offset_bytes, 0) << mutated;
        ASSERT_LE(entry.offset_bytes, size) << mutated;
        ASSERT_LE(digest.size_bytes, size - entry.offset_bytes) << mutated;
      }
    }
  }
  EXPECT_GT(read_count, 100);
}

TEST(WeightTableTest, RefusesMoreLinesThanAnyModelNeeds) {
  std::string lines;
  for (size_t i = 0; i <= kWeightsMax; ++i) {
    lines +=
        Line({absl::StrCat(absl::Hex(i, absl::kZeroPad16), std::string(48, '0')), 1}, "nowhere");
  }
  EXPECT_TRUE(absl::IsResourceExhausted(ParseWeightTable(Table(lines), 100).status()));
}

}  // namespace
}  // namespace plait::wire
