#include "server/workers/runtime_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kDevice[] =
    R"({"device": {"id": "fast", "backend": "fast", "runtime_version": "1.2", "name": "Fast 1.2",)"
    R"( "fingerprint": "fast-1.2;x", "cores": 2, "memory_bytes": 100}})";

TEST(ReadProbeTest, TakesDevicesAndWhatIsMissing) {
  const ProbeAnswer answer =
      ReadProbe(std::string("{\"interpreter\": \"/usr/bin/python3\"}\n") + kDevice +
                "\n{\"name\": \"slow\", \"missing\": \"no slow\"}\n");
  EXPECT_EQ(answer.interpreter, "/usr/bin/python3");
  ASSERT_THAT(answer.found.devices, SizeIs(1));
  EXPECT_EQ(answer.found.devices[0].id(), "fast");
  EXPECT_EQ(answer.found.devices[0].runtime_version(), "1.2");
  EXPECT_EQ(answer.found.devices[0].memory_bytes(), 100);
  ASSERT_THAT(answer.found.missing, SizeIs(1));
  EXPECT_EQ(answer.found.missing[0].name(), "slow");
  EXPECT_EQ(answer.found.missing[0].reason(), "no slow");
}

TEST(ReadProbeTest, WhatIsNoneOfTheseIsLeftOut) {
  for (const char* const text :
       {"", "hello\n", "[1]\n", "{\"device\": 3}\n", "{\"device\": {\"id\": \"cpu\"}}\n",
        "{\"device\": {\"id\": \"a b\", \"backend\": \"a b\", \"runtime_version\": \"1\","
        " \"fingerprint\": \"f\", \"cores\": 1}}\n",
        "{\"device\": {\"id\": \"plait\", \"backend\": \"plait\", \"runtime_version\": \"1\","
        " \"fingerprint\": \"f\", \"cores\": 1}}\n"}) {
    EXPECT_THAT(ReadProbe(text).found.devices, IsEmpty()) << text;
  }
}

TEST(RuntimesOfTest, ThoseOfThisMachineCountBeforeThoseOfOthers) {
  Runtimes::Found here = ReadProbe(kDevice).found;
  std::vector<v1::Device> connected(3);
  connected[0].set_id("cpu");
  connected[1] = here.devices[0];
  connected[1].set_fingerprint("of another machine");
  connected[2].set_id("other");
  connected[2].set_runtime_version("3");
  const std::vector<v1::Device> runtimes = RuntimesOf(here, connected);
  ASSERT_THAT(runtimes, SizeIs(2));
  EXPECT_EQ(runtimes[0].fingerprint(), "fast-1.2;x");
  EXPECT_EQ(runtimes[1].id(), "other");
}

class RuntimeWorkersTest : public testing::Test {
 protected:
  Runtimes::Found Found(const std::string& interpreter) {
    RuntimeWorkers workers(pool_, SystemClock(), {.interpreter = interpreter});
    return workers.Await(absl::Seconds(60));
  }

  WorkerPool pool_{SystemClock(), {}};
};

TEST_F(RuntimeWorkersTest, WithoutAnInterpreterNothingIsMissing) {
  EXPECT_THAT(Found("").devices, IsEmpty());
  EXPECT_THAT(Found("").missing, IsEmpty());
}

TEST_F(RuntimeWorkersTest, AnInterpreterThatIsNoneIsTold) {
  for (const char* const program : {"plait-no-such-program", "/bin/false", "/bin/true"}) {
    const Runtimes::Found found = Found(program);
    EXPECT_THAT(found.devices, IsEmpty());
    ASSERT_THAT(found.missing, SizeIs(1)) << program;
    EXPECT_THAT(found.missing[0].reason(), testing::HasSubstr(program));
  }
}

}  // namespace
}  // namespace plait
