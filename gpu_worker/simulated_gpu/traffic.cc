#include "gpu_worker/simulated_gpu/traffic.h"

#include <algorithm>

namespace plait::simulated_gpu {
namespace {

constexpr int kBanks = 32;
constexpr int kBankBytes = 4;
constexpr int kSectorBytes = 32;

// Passes for the lanes [first, end): the largest number of different words in one bank.
int PassesOf(const uint64_t* addresses, uint32_t mask, int bytes, int first, int end) {
  uint64_t words[kBanks * 4];
  int count = 0;
  for (int lane = first; lane < end; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    for (int at = 0; at < bytes; at += kBankBytes)
      words[count++] = (addresses[lane] + at) / kBankBytes;
  }
  std::sort(words, words + count);
  count = static_cast<int>(std::unique(words, words + count) - words);
  int in_bank[kBanks] = {};
  int most = 0;
  for (int i = 0; i < count; ++i) most = std::max(most, ++in_bank[words[i] % kBanks]);
  return most;
}

}  // namespace

int SectorsOf(const uint64_t* addresses, uint32_t mask, int bytes) {
  static_cast<void>(bytes);  // no access crosses a sector
  uint64_t sectors[kLanes];
  int count = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const uint64_t sector = addresses[lane] / kSectorBytes;
    // Neighbouring lanes mostly share one.
    if (count == 0 || sectors[count - 1] != sector) sectors[count++] = sector;
  }
  std::sort(sectors, sectors + count);
  return static_cast<int>(std::unique(sectors, sectors + count) - sectors);
}

Wavefronts WavefrontsOf(const uint64_t* addresses, uint32_t mask, int bytes) {
  const int phases = std::max(1, bytes / kBankBytes);
  const int lanes = kLanes / phases;
  Wavefronts wavefronts;
  for (int phase = 0; phase < phases; ++phase) {
    const int first = phase * lanes;
    const int passes = PassesOf(addresses, mask, bytes, first, first + lanes);
    wavefronts.needed += passes;
    wavefronts.least += passes > 0 ? 1 : 0;
  }
  return wavefronts;
}

}  // namespace plait::simulated_gpu
