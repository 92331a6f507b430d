#include "gpu_worker/backends/cpu/run/processor.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "optimizer/ir/fingerprint.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace plait {
namespace {

struct Cache {
  int64_t bytes = 0;
  int threads = 0;  // that share it, at most; 0: unknown
};

#if defined(__x86_64__)
// EAX, EBX, ECX and EDX of a leaf; zeros where the processor has no such leaf.
std::array<uint32_t, 4> CpuidLeaf(uint32_t leaf, uint32_t subleaf = 0) {
  std::array<uint32_t, 4> words = {};
  __get_cpuid_count(leaf, subleaf, &words[0], &words[1], &words[2], &words[3]);
  return words;
}

// The brand string of leaves 0x80000002 to 0x80000004.
std::string BrandName() {
  std::array<uint32_t, 12> words = {};
  auto* next = words.begin();
  for (uint32_t i = 0; i < 3; ++i) {
    const std::array<uint32_t, 4> part = CpuidLeaf(0x80000002u + i);
    next = std::copy(part.begin(), part.end(), next);
  }
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words.data(), sizeof(words));
  std::string name = text;
  absl::RemoveExtraAsciiWhitespace(&name);
  return name.empty() ? "x86-64" : name;
}

std::string VendorName() {
  const auto [highest_leaf, first, third, second] = CpuidLeaf(0);
  const uint32_t words[] = {first, second, third};
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words, sizeof(words));
  // Part of a name that has no spaces, and hyphens between its parts only.
  std::string vendor;
  for (const char* letter = text; *letter != '\0'; ++letter) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(*letter))) vendor += *letter;
  }
  return vendor.empty() ? "unknown" : vendor;
}

// The vendors' manuals: the extended family is added to family 15 only, and the extended model
// counts with families 6 and 15.
void ReadSignature(Processor& processor) {
  const uint32_t signature = CpuidLeaf(1)[0];
  const int family = static_cast<int>(signature >> 8 & 0xf);
  const int model = static_cast<int>(signature >> 4 & 0xf);
  const int extended_family = static_cast<int>(signature >> 20 & 0xff);
  const int extended_model = static_cast<int>(signature >> 16 & 0xf);
  processor.family = family == 15 ? family + extended_family : family;
  processor.model = family == 6 || family == 15 ? model + (extended_model << 4) : model;
  processor.stepping = static_cast<int>(signature & 0xf);
}

// EBX of leaf 1 is left out: it numbers the core that asks.
uint32_t HashOfFeatures() {
  FingerprintBuilder builder;
  const std::array<uint32_t, 4> basic = CpuidLeaf(1);
  builder.Add(uint64_t{basic[2]}).Add(uint64_t{basic[3]});
  const std::array<uint32_t, 4> structured = CpuidLeaf(7, 0);
  for (size_t i = 1; i < structured.size(); ++i) builder.Add(uint64_t{structured[i]});
  for (const uint32_t word : CpuidLeaf(7, 1)) builder.Add(uint64_t{word});
  const std::array<uint32_t, 4> extended = CpuidLeaf(0x80000001u);
  builder.Add(uint64_t{extended[2]}).Add(uint64_t{extended[3]});
  return static_cast<uint32_t>(builder.Finish().low);
}

// The cache of that level that holds data; zeros where there is none. By the processor's own words:
// C libraries read them in ways of their own, in which a cache of eight cores may count eight times
// or more, and plans would not survive another version. Intel and AMD have one form in two leaves.
Cache CacheOf(uint32_t level) {
  constexpr uint32_t kLeaves[] = {4, 0x8000001du};
  constexpr uint32_t kCachesMax = 16;
  constexpr uint32_t kInstructions = 2;
  for (const uint32_t leaf : kLeaves) {
    for (uint32_t cache = 0; cache < kCachesMax; ++cache) {
      const auto [facts, geometry, sets, unused] = CpuidLeaf(leaf, cache);
      const uint32_t type = facts & 0x1f;
      if (type == 0) break;
      if (type == kInstructions || (facts >> 5 & 7) != level) continue;
      const int64_t ways = (geometry >> 22) + 1;
      const int64_t partitions = (geometry >> 12 & 0x3ff) + 1;
      const int64_t line_bytes = (geometry & 0xfff) + 1;
      return {ways * partitions * line_bytes * (int64_t{sets} + 1),
              static_cast<int>(facts >> 14 & 0xfff) + 1};
    }
  }
  return {};
}
#else
Cache CacheOf(uint32_t level) {
  const int name = level == 2 ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL3_CACHE_SIZE;
  return {.bytes = std::max<int64_t>(sysconf(name), 0)};
}
#endif

}  // namespace

Processor DescribeProcessor() {
  Processor processor;
#if defined(__x86_64__)
  processor.name = BrandName();
  processor.vendor = VendorName();
  ReadSignature(processor);
  processor.features_hash = HashOfFeatures();
#else
  processor.name = "unknown processor";
  processor.vendor = "unknown";
#endif
  processor.l2_bytes = CacheOf(2).bytes;
  const Cache last = CacheOf(3);
  processor.l3_bytes = last.bytes;
  processor.l3_threads = last.threads;
  return processor;
}

std::string ProcessorId(const Processor& processor) {
  return absl::StrFormat("%s-%d-%d-%d-%08x-l2-%dK-l3-%dK", processor.vendor, processor.family,
                         processor.model, processor.stepping, processor.features_hash,
                         processor.l2_bytes / 1024, processor.l3_bytes / 1024);
}

}  // namespace plait
