#include "client/doctor/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::HasSubstr;

TEST(DoctorMachineTest, AProcessorWithoutVectorsIsAWarning) {
  DeviceDescription cpu;
  cpu.name = "Some CPU";
  cpu.instruction_set = "avx512";
  EXPECT_EQ(ProcessorFinding(cpu).level, FindingLevel::kOk);
  EXPECT_EQ(ProcessorFinding(cpu).text, "Some CPU, kernels use avx512");
  cpu.instruction_set = "generic";
  EXPECT_EQ(ProcessorFinding(cpu).level, FindingLevel::kWarning);
}

TEST(DoctorMachineTest, SaysWhatLimitsTheThreads) {
  EXPECT_EQ(CoresFinding({4}, 64).text, "4 threads: the machine has 64 cores, 4 are allowed");
  const Finding granted = CoresFinding({64, 2.5}, 64);
  EXPECT_EQ(granted.level, FindingLevel::kOk);
  EXPECT_EQ(granted.text,
            "2 threads: the machine has 64 cores, 64 are allowed, control groups grant the time of "
            "2.5");
  const Finding starved = CoresFinding({64, 0.5}, 64);
  EXPECT_EQ(starved.level, FindingLevel::kWarning);
  EXPECT_THAT(starved.fix, HasSubstr("--cpus 1"));
}

TEST(DoctorMachineTest, ABusyMachineIsAWarning) {
  EXPECT_EQ(LoadFinding(0.1, 4).level, FindingLevel::kOk);
  EXPECT_EQ(LoadFinding(-1, 4).level, FindingLevel::kOk);
  EXPECT_EQ(LoadFinding(2, 4).level, FindingLevel::kWarning);
}

TEST(DoctorMachineTest, LittleMemoryIsAWarning) {
  EXPECT_EQ(MemoryFinding(int64_t{1} << 30).level, FindingLevel::kWarning);
  EXPECT_EQ(MemoryFinding(int64_t{16} << 30).level, FindingLevel::kOk);
}

TEST(DoctorMachineTest, OnlyWhatIsNotWellHasAFix) {
  for (const Finding& finding : {CoresFinding({1, 0.1}, 1), CoresFinding({1}, 1), LoadFinding(9, 1),
                                 LoadFinding(0, 1), MemoryFinding(0), MemoryFinding(1LL << 40)}) {
    EXPECT_EQ(finding.fix.empty(), finding.level == FindingLevel::kOk) << finding.text;
  }
}

}  // namespace
}  // namespace plait
