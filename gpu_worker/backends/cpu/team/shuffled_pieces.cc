#include "gpu_worker/backends/cpu/team/shuffled_pieces.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace plait {

std::vector<std::vector<Piece>> ShuffledPieces(uint64_t seed, int threads, int64_t count,
                                               int64_t longest) {
  Random random(seed);
  std::vector<Piece> pieces;
  for (int64_t begin = 0; begin < count; begin = pieces.back().end) {
    pieces.push_back({begin, std::min(count, begin + random.Integer(1, longest))});
  }
  for (size_t i = pieces.size(); i > 1; --i) {
    std::swap(pieces[i - 1], pieces[random.Integer(0, static_cast<int64_t>(i) - 1)]);
  }
  std::vector<std::vector<Piece>> by_thread(threads);
  for (const Piece& piece : pieces) by_thread[random.Integer(0, threads - 1)].push_back(piece);
  return by_thread;
}

}  // namespace plait
