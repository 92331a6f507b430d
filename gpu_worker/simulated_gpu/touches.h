#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace plait::simulated_gpu {

// The bytes of device memory from `begin` to before `end`.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What an operation touches of device memory, as sorted ranges that neither meet nor overlap; bytes
// that it reads and writes may be in `writes` alone. A value.
class Touches {
 public:
  void Read(ByteRange range) { Add(range, &reads_); }
  void Write(ByteRange range) { Add(range, &writes_); }

  const std::vector<ByteRange>& reads() const { return reads_; }
  const std::vector<ByteRange>& writes() const { return writes_; }

 private:
  static void Add(ByteRange range, std::vector<ByteRange>* ranges);

  std::vector<ByteRange> reads_, writes_;
};

// The first bytes that are in both.
std::optional<ByteRange> Common(const std::vector<ByteRange>& a, const std::vector<ByteRange>& b);

// The first bytes that both touch and at least one of them writes.
std::optional<ByteRange> Conflict(const Touches& a, const Touches& b);

}  // namespace plait::simulated_gpu
