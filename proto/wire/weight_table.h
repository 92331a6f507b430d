#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"

// The table that tells a worker where the bytes of weights lie, see Task.weights in worker.proto.
namespace plait::wire {

// 100,000: five times the nodes that a search takes (kSearchNodesMax), and ten megabytes of lines.
constexpr size_t kWeightsMax = 100'000;

// The blob in which the bytes of a weight lie.
enum class WeightPlace {
  kModel,    // the model's file
  kTable,    // the table's own, behind its lines
  kNowhere,  // they were stripped from the model, and nobody has them
};

// Its length is the weight's: that of its digest.
struct WeightEntry {
  WeightPlace place = WeightPlace::kNowhere;
  int64_t offset_bytes = 0;  // in the file, or in what follows the lines; 0 for kNowhere

  friend bool operator==(const WeightEntry&, const WeightEntry&) = default;
};

using WeightEntries = absl::btree_map<Digest, WeightEntry>;

// What a table says, as views into the blob that it was read from.
struct WeightTable {
  WeightEntries entries;
  absl::string_view stored;  // what follows the lines
};

// The lines of a table, the empty one at their end too. The bytes of the weights that it stores are
// to follow at the offsets that it says.
std::string WeightTableLines(const WeightEntries& entries);

// Reads a blob that anybody may have made, for a model of `model_bytes` bytes: every range lies in
// its blob, and the ranges of a blob are together no longer than it, so that whoever reads all of
// them reads nothing twice. What lies there is not looked at: compare it with its digest.
// Errors: InvalidArgument naming the line; ResourceExhausted above kWeightsMax lines.
absl::StatusOr<WeightTable> ParseWeightTable(absl::string_view blob, int64_t model_bytes);

}  // namespace plait::wire
