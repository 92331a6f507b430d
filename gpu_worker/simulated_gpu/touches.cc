#include "gpu_worker/simulated_gpu/touches.h"

#include <algorithm>

namespace plait::simulated_gpu {

void Touches::Add(ByteRange range, std::vector<ByteRange>* ranges) {
  if (range.begin >= range.end) return;
  // Those from `first` to before `last` meet the new one, and become one with it.
  const auto first =
      std::lower_bound(ranges->begin(), ranges->end(), range.begin,
                       [](const ByteRange& r, uint64_t begin) { return r.end < begin; });
  auto last = first;
  for (; last != ranges->end() && last->begin <= range.end; ++last) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
  }
  if (first == last) {
    ranges->insert(first, range);
    return;
  }
  *first = range;
  ranges->erase(first + 1, last);
}

std::optional<ByteRange> Common(const std::vector<ByteRange>& a, const std::vector<ByteRange>& b) {
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const ByteRange common = {std::max(x->begin, y->begin), std::min(x->end, y->end)};
    if (common.begin < common.end) return common;
    if (x->end < y->end) {
      ++x;
    } else {
      ++y;
    }
  }
  return std::nullopt;
}

std::optional<ByteRange> Conflict(const Touches& a, const Touches& b) {
  if (const auto both = Common(a.writes(), b.writes())) return both;
  if (const auto read = Common(a.writes(), b.reads())) return read;
  return Common(a.reads(), b.writes());
}

}  // namespace plait::simulated_gpu
