#include "proto/wire/weight_table.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace plait::wire {
namespace {

constexpr absl::string_view kFirstLine = "plait weights 1";
// A digest, a word and two numbers of 19 digits have fewer characters.
constexpr size_t kLineBytesMax = 128;

std::string LineOf(const Digest& digest, const WeightEntry& entry) {
  switch (entry.place) {
    case WeightPlace::kModel:
      return absl::StrCat(digest.ToString(), " model ", entry.offset_bytes);
    case WeightPlace::kTable:
      return absl::StrCat(digest.ToString(), " table ", entry.offset_bytes);
    case WeightPlace::kNowhere:
      break;
  }
  return absl::StrCat(digest.ToString(), " nowhere");
}

absl::Status LineError(absl::string_view line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the table of weights: ", what, ": \"",
                                                 absl::CHexEscape(line.substr(0, kLineBytesMax)),
                                                 "\""));
}

// Takes a line off the front of `rest`, without its end; nullopt when there is none.
std::optional<absl::string_view> TakeLine(absl::string_view& rest) {
  const size_t length = rest.substr(0, kLineBytesMax).find('\n');
  if (length == absl::string_view::npos) return std::nullopt;
  const absl::string_view line = rest.substr(0, length);
  rest.remove_prefix(length + 1);
  return line;
}

absl::StatusOr<std::pair<Digest, WeightEntry>> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  std::pair<Digest, WeightEntry> read;
  PLAIT_ASSIGN_OR_RETURN(read.first, Digest::Parse(words[0]));
  if (words.size() == 3) {
    read.second.place = words[1] == "model" ? WeightPlace::kModel : WeightPlace::kTable;
    if (!absl::SimpleAtoi(words[2], &read.second.offset_bytes) || read.second.offset_bytes < 0) {
      return LineError(line, "the offset is no number");
    }
  }
  // There is one way to write an entry, and whatever is not understood is not that.
  if (LineOf(read.first, read.second) != line) return LineError(line, "no entry");
  return read;
}

// One of the two blobs, and what entries have taken of it.
struct Room {
  int64_t bytes = 0;
  int64_t taken_bytes = 0;

  // Nothing here can overflow: no number is negative, and each is compared before it is added.
  bool Take(int64_t offset, int64_t size) {
    if (offset > bytes || size > bytes - offset) return false;
    if (size > bytes - taken_bytes) return false;
    taken_bytes += size;
    return true;
  }
};

absl::Status CheckWeightRanges(const WeightTable& table, int64_t model_bytes) {
  Room model{model_bytes};
  Room stored{static_cast<int64_t>(table.stored.size())};
  for (const auto& [digest, entry] : table.entries) {
    if (entry.place == WeightPlace::kNowhere) continue;
    Room& room = entry.place == WeightPlace::kModel ? model : stored;
    if (!room.Take(entry.offset_bytes, digest.size_bytes)) {
      return LineError(LineOf(digest, entry),
                       absl::StrCat("no room for it in ", room.bytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string WeightTableLines(const WeightEntries& entries) {
  std::string lines = absl::StrCat(kFirstLine, "\n");
  for (const auto& [digest, entry] : entries) {
    absl::StrAppend(&lines, LineOf(digest, entry), "\n");
  }
  return lines + "\n";
}

absl::StatusOr<WeightTable> ParseWeightTable(absl::string_view blob, int64_t model_bytes) {
  if (TakeLine(blob) != kFirstLine) {
    return absl::InvalidArgumentError(
        absl::StrCat("the table of weights does not begin with \"", kFirstLine, "\""));
  }
  WeightTable table;
  while (true) {
    const std::optional<absl::string_view> line = TakeLine(blob);
    if (!line.has_value()) return LineError(blob, "a line without an end");
    if (line->empty()) break;
    if (table.entries.size() == kWeightsMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the table of weights has more than ", kWeightsMax, " lines"));
    }
    PLAIT_ASSIGN_OR_RETURN(auto entry, ParseLine(*line));
    // Rising digests: none can come twice.
    if (!table.entries.empty() && entry.first <= table.entries.rbegin()->first) {
      return LineError(*line, "out of order");
    }
    table.entries.insert(table.entries.end(), std::move(entry));
  }
  table.stored = blob;
  PLAIT_RETURN_IF_ERROR(CheckWeightRanges(table, model_bytes));
  return table;
}

}  // namespace plait::wire
