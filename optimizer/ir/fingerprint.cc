#include "optimizer/ir/fingerprint.h"

#include <bit>

#include "absl/strings/str_format.h"

namespace plait {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every input bit reaches every
// output bit.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Little-endian on every machine.
uint64_t WordOf(absl::string_view bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    word |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return word;
}

}  // namespace

std::string Fingerprint::ToString() const { return absl::StrFormat("%016x%016x", high, low); }

FingerprintBuilder& FingerprintBuilder::Add(uint64_t word) {
  // Two chains with different steps, so that a collision of one is none of the other.
  a_ = Mix(a_ + word);
  b_ = Mix(std::rotl(b_, 23) ^ (word * 0xD6E8FEB86659FD93u));
  return *this;
}

FingerprintBuilder& FingerprintBuilder::Add(absl::string_view bytes) {
  Add(uint64_t{bytes.size()});
  for (size_t i = 0; i < bytes.size(); i += 8) Add(WordOf(bytes.substr(i, 8)));
  return *this;
}

Fingerprint FingerprintBuilder::Finish() const {
  // Sums of fingerprints must not cancel, so the chains are mixed once more, crosswise.
  return {Mix(a_ + std::rotl(b_, 32)), Mix(b_ ^ (a_ * 0x9FB21C651E98DF25u))};
}

}  // namespace plait
