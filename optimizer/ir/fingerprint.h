#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace plait {

// A 128-bit hash that is equal on every machine and in every build: of graphs, constants, keys. Two
// of a billion different things collide with a probability below 10^-20, so equal fingerprints are
// taken for equal things.
// Not for adversaries: content that users send is named by Digest.
struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;

  // How keys and plans write it; stable from version to version.
  // 32 lowercase hexadecimal characters.
  std::string ToString() const;

  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;

  template <typename H>
  friend H AbslHashValue(H state, const Fingerprint& f) {
    return H::combine(std::move(state), f.high, f.low);
  }
};

// Builds a Fingerprint from a sequence; the order matters. Words are not separated by their types:
// whoever adds a list of unknown length adds the length first. Not thread-safe.
class FingerprintBuilder {
 public:
  // Numbers of any width count as 64 bits: 7 is 7, whatever it was declared as.
  FingerprintBuilder& Add(uint64_t word);
  FingerprintBuilder& Add(int64_t word) { return Add(static_cast<uint64_t>(word)); }
  FingerprintBuilder& Add(int word) { return Add(static_cast<uint64_t>(int64_t{word})); }
  FingerprintBuilder& Add(absl::string_view bytes);  // its length is part of it
  FingerprintBuilder& Add(const Fingerprint& other) { return Add(other.high).Add(other.low); }
  // What was added so far; more may follow.
  Fingerprint Finish() const;

 private:
  // Two chains of 64 bits, which Finish mixes. They start with odd constants of even bit
  // distribution: the golden ratio, and a prime of xxHash.
  uint64_t a_ = 0x9E3779B97F4A7C15u;
  uint64_t b_ = 0xC2B2AE3D27D4EB4Fu;
};

// The sum of a multiset of fingerprints: the order does not matter, and members can be taken out.
// Attributes and graphs are hashed so, because they change by one member at a time, or have no
// order.
inline Fingerprint operator+(const Fingerprint& a, const Fingerprint& b) {
  return {a.high + b.high, a.low + b.low};
}
inline Fingerprint operator-(const Fingerprint& a, const Fingerprint& b) {
  return {a.high - b.high, a.low - b.low};
}

}  // namespace plait
