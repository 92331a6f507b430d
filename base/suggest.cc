#include "base/suggest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"

namespace plait {
namespace {

// One row of the table at a time: row[j] is the distance of what was read of `a` to the first j
// letters of `b`.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

absl::string_view NearestName(absl::string_view word, absl::Span<const absl::string_view> known) {
  // 100: no name is longer, and the distance costs the product of the lengths.
  if (word.size() > 100) return "";
  absl::string_view nearest;
  // A third of the letters may be wrong; more is another word.
  size_t distance_min = std::max<size_t>(2, word.size() / 3) + 1;
  for (const absl::string_view name : known) {
    const size_t distance = EditDistance(word, name);
    if (distance < distance_min) {
      distance_min = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string Suggestion(absl::string_view word, absl::Span<const absl::string_view> known) {
  const absl::string_view nearest = NearestName(word, known);
  return nearest.empty() ? "see --help" : absl::StrCat("did you mean ", nearest, "?");
}

}  // namespace plait
