#include "optimizer/kernels/device.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

constexpr char kFingerprint[] =
    "cpu;_Some_CPU;_id=1;_avx512_bf16;_threads=12;_onednn=2;_loops=avx512";

TEST(DeviceTest, ReadsWhatAFingerprintSays) {
  EXPECT_EQ(BackendOfFingerprint(kFingerprint), "cpu");
  // The device's, and not that of the loops behind it.
  EXPECT_EQ(InstructionSetOfFingerprint(kFingerprint), "avx512_bf16");
  EXPECT_EQ(FingerprintWithThreads(kFingerprint, 3),
            "cpu;_Some_CPU;_id=1;_avx512_bf16;_threads=3;_onednn=2;_loops=avx512");
  EXPECT_EQ(FingerprintWithThreads(kFingerprint, 12), kFingerprint);
}

TEST(DeviceTest, TakesAnyText) {
  for (const char* const text : {"", ";", "reference", ";;_;", "threads=2"}) {
    EXPECT_EQ(InstructionSetOfFingerprint(text), "");
    EXPECT_EQ(FingerprintWithThreads(text, 2), text);
  }
  EXPECT_EQ(BackendOfFingerprint("reference"), "reference");
}

}  // namespace
}  // namespace plait
