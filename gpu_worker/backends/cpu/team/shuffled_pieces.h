#pragma once

#include <cstdint>
#include <vector>

namespace plait {

// Consecutive pieces of work: [begin, end).
struct Piece {
  int64_t begin = 0;
  int64_t end = 0;
};

// For tests: pieces of one to `longest` that cover [0, count) once, each given to a random thread;
// those of a thread in random order. Pure. REQUIRES: threads and longest are positive.
std::vector<std::vector<Piece>> ShuffledPieces(uint64_t seed, int threads, int64_t count,
                                               int64_t longest);

}  // namespace plait
