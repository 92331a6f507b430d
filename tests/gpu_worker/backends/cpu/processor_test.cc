#include "gpu_worker/backends/cpu/run/processor.h"

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plait {
namespace {

using ::testing::StartsWith;

TEST(Processor, HasTheSameIdWheneverItIsAsked) {
  EXPECT_EQ(DescribeProcessor(), DescribeProcessor());
}

#if defined(__x86_64__)
// The facts about the first core, as the system lists them.
std::map<std::string, std::string> SystemsFacts() {
  std::map<std::string, std::string> facts;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::pair<std::string, std::string> fact = absl::StrSplit(line, absl::MaxSplits(':', 1));
    facts[std::string(absl::StripAsciiWhitespace(fact.first))] =
        std::string(absl::StripAsciiWhitespace(fact.second));
  }
  return facts;
}

TEST(Processor, IsTheOneThatTheSystemSees) {
  std::map<std::string, std::string> facts = SystemsFacts();
  const Processor processor = DescribeProcessor();
  EXPECT_EQ(processor.vendor, facts["vendor_id"]);
  EXPECT_EQ(absl::StrCat(processor.family), facts["cpu family"]);
  EXPECT_EQ(absl::StrCat(processor.model), facts["model"]);
  EXPECT_EQ(absl::StrCat(processor.stepping), facts["stepping"]);
  EXPECT_THAT(ProcessorId(processor),
              StartsWith(absl::StrCat(facts["vendor_id"], "-", facts["cpu family"], "-",
                                      facts["model"], "-", facts["stepping"], "-")));
}

// The kilobytes of the first core's cache of that level that holds data; 0 where nobody says.
int64_t SystemsCacheKilobytes(const std::string& level) {
  const auto word = [](int index, const char* name) {
    std::ifstream file(absl::StrCat("/sys/devices/system/cpu/cpu0/cache/index", index, "/", name));
    std::string text;
    file >> text;
    return text;
  };
  for (int index = 0; index < 8; ++index) {
    if (word(index, "level") != level || word(index, "type") == "Instruction") continue;
    int64_t kilobytes = 0;
    if (absl::SimpleAtoi(absl::StripSuffix(word(index, "size"), "K"), &kilobytes)) return kilobytes;
  }
  return 0;
}

// A C library may say something else, and another version of it something else again.
TEST(Processor, HasTheCachesThatTheSystemSees) {
  const int64_t second = SystemsCacheKilobytes("2");
  const int64_t third = SystemsCacheKilobytes("3");
  if (second == 0) GTEST_SKIP() << "the system does not say";
  EXPECT_EQ(DescribeProcessor().l2_bytes, second << 10);
  EXPECT_EQ(DescribeProcessor().l3_bytes, third << 10);
}
#endif

TEST(Processor, IdIsAWordThatWritesEverythingButTheName) {
  const Processor processor = {.name = "A Brand",
                               .vendor = "GenuineIntel",
                               .family = 6,
                               .model = 143,
                               .stepping = 8,
                               .features_hash = 0x0f1e2d3c,
                               .l2_bytes = 2 << 20,
                               .l3_bytes = 105 << 20};
  EXPECT_EQ(ProcessorId(processor), "GenuineIntel-6-143-8-0f1e2d3c-l2-2048K-l3-107520K");
}

TEST(Processor, AChangeOfAnyFactButTheNameIsAnotherId) {
  const std::vector<std::function<void(Processor&)>> changes = {
      [](Processor& p) { p.vendor = "AuthenticAMD"; },
      [](Processor& p) { p.family = 1; },
      [](Processor& p) { p.model = 1; },
      [](Processor& p) { p.stepping = 1; },
      [](Processor& p) { p.features_hash = 1; },
      [](Processor& p) { p.l2_bytes = 1 << 20; },
      [](Processor& p) { p.l3_bytes = 1 << 20; },
  };
  std::set<std::string> ids = {ProcessorId(Processor())};
  for (const auto& change : changes) {
    Processor processor;
    change(processor);
    EXPECT_TRUE(ids.insert(ProcessorId(processor)).second) << ProcessorId(processor);
  }
}

}  // namespace
}  // namespace plait
