#include <bit>
#include <cmath>

#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/hand_written.h"

namespace plait::simulated_gpu {
namespace {

constexpr uint32_t kNan = 0x7fc00000, kInfinity = 0x7f800000, kOne = 0x3f800000;

// One instruction with known operands, and the result that the manual's words give, worked out by
// hand. The operands are in %r4, %r5, %r6 and as floats in %f4, %f5, %f6; the result is in %r3, or
// in %f3, which the statement moves there.
struct Case {
  const char* statement;
  uint32_t a, b, c;
  uint32_t result;
};

constexpr Case kCases[] = {
    {"add.s32 %r3, %r4, %r5;", 0xffffffff, 2, 0, 1},
    {"sub.s32 %r3, %r4, %r5;", 1, 2, 0, 0xffffffff},
    {"mul.lo.s32 %r3, %r4, %r5;", 0x10001, 0x10001, 0, 0x20001},
    {"mul.hi.s32 %r3, %r4, %r5;", 0xffffffff, 2, 0, 0xffffffff},
    {"mul.hi.u32 %r3, %r4, %r5;", 0xffffffff, 2, 0, 1},
    {"mad.lo.s32 %r3, %r4, %r5, %r6;", 3, 5, 0xfffffff0, 0xffffffff},
    {"mul.wide.s32 %rd9, %r4, %r5; shr.u64 %rd9, %rd9, 32; cvt.u32.u64 %r3, %rd9;", 0xffffffff, 2,
     0, 0xffffffff},
    {"mul.wide.u32 %rd9, %r4, %r5; shr.u64 %rd9, %rd9, 32; cvt.u32.u64 %r3, %rd9;", 0xffffffff, 2,
     0, 1},
    {"cvt.u16.u32 %rs4, %r4; mul.wide.u16 %r3, %rs4, -2;", 3, 0, 0, 3 * 65534},
    {"div.s32 %r3, %r4, %r5;", 0xfffffff9, 2, 0, 0xfffffffd},
    {"rem.s32 %r3, %r4, %r5;", 0xfffffff9, 2, 0, 0xffffffff},
    {"div.u32 %r3, %r4, %r5;", 0xfffffff9, 2, 0, 0x7ffffffc},
    {"div.s32 %r3, %r4, %r5;", 0x80000000, 0xffffffff, 0, 0x80000000},
    {"min.s32 %r3, %r4, %r5;", 0xffffffff, 2, 0, 0xffffffff},
    {"max.u32 %r3, %r4, %r5;", 0xffffffff, 2, 0, 0xffffffff},
    {"abs.s32 %r3, %r4;", 0xfffffffe, 0, 0, 2},
    {"neg.s32 %r3, %r4;", 1, 0, 0, 0xffffffff},
    {"shl.b32 %r3, %r4, %r5;", 1, 31, 0, 0x80000000},
    {"shl.b32 %r3, %r4, %r5;", 1, 32, 0, 0},
    {"shr.s32 %r3, %r4, %r5;", 0x80000000, 99, 0, 0xffffffff},
    {"shr.u32 %r3, %r4, %r5;", 0x80000000, 31, 0, 1},
    {"shf.l.wrap.b32 %r3, %r4, %r5, %r6;", 0x80000000, 1, 1, 3},
    {"bfe.u32 %r3, %r4, %r5, %r6;", 0xabcd1234, 8, 8, 0x12},
    {"bfe.s32 %r3, %r4, %r5, %r6;", 0x0000f000, 12, 4, 0xffffffff},
    {"bfe.s32 %r3, %r4, %r5, %r6;", 0x80000000, 24, 32, 0xffffff80},
    {"bfi.b32 %r3, %r4, %r5, 8, 4;", 0x5, 0xffffffff, 0, 0xfffff5ff},
    {"prmt.b32 %r3, %r4, %r5, 0x5410;", 0x33221100, 0x77665544, 0, 0x55441100},
    {"prmt.b32 %r3, %r4, %r5, 0x8888;", 0x00000080, 0, 0, 0xffffffff},
    {"lop3.b32 %r3, %r4, %r5, %r6, 0x96;", 0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0xc33cc33c},
    {"dp2a.lo.u32.u32 %r3, %r4, %r5, %r6;", 0x00020003, 0x07050b0d, 1, 3 * 13 + 2 * 11 + 1},
    {"dp2a.hi.u32.u32 %r3, %r4, %r5, %r6;", 0x00020003, 0x07050b0d, 1, 3 * 5 + 2 * 7 + 1},
    {"popc.b32 %r3, %r4;", 0xf0f0, 0, 0, 8},
    {"clz.b32 %r3, %r4;", 0x00ffffff, 0, 0, 8},
    {"setp.lt.s32 %p1, %r4, %r5; selp.b32 %r3, 7, 9, %p1;", 0xffffffff, 0, 0, 7},
    {"setp.lt.u32 %p1, %r4, %r5; selp.b32 %r3, 7, 9, %p1;", 0xffffffff, 0, 0, 9},
    {"setp.lt.f32 %p1, %f4, %f5; selp.b32 %r3, 7, 9, %p1;", kNan, 0, 0, 9},
    {"setp.ltu.f32 %p1, %f4, %f5; selp.b32 %r3, 7, 9, %p1;", kNan, 0, 0, 7},
    {"setp.ne.f32 %p1, %f4, %f4; selp.b32 %r3, 7, 9, %p1;", kNan, 0, 0, 9},
    {"setp.neu.f32 %p1, %f4, %f4; selp.b32 %r3, 7, 9, %p1;", kNan, 0, 0, 7},
    {"mov.b32 {%rs4, %rs5}, %r4; mov.b32 %r3, {%rs5, %rs4};", 0x12345678, 0, 0, 0x56781234},
    {"cvt.u16.u32 %rs4, %r4; cvt.s32.s16 %r3, %rs4;", 0x1ffff, 0, 0, 0xffffffff},
    {"cvt.u16.u32 %rs4, %r4; cvt.u32.u16 %r3, %rs4;", 0x1ffff, 0, 0, 0xffff},
    {"cvt.s64.s32 %rd9, %r4; shr.u64 %rd9, %rd9, 32; cvt.u32.u64 %r3, %rd9;", 0x80000000, 0, 0,
     0xffffffff},
    // fmaxf(NaN, 1) is 1, and -0 is less than 0.
    {"max.f32 %f3, %f4, %f5; mov.b32 %r3, %f3;", kNan, kOne, 0, kOne},
    {"max.NaN.f32 %f3, %f4, %f5; mov.b32 %r3, %f3;", kNan, kOne, 0, kNan},
    {"min.f32 %f3, %f4, %f5; mov.b32 %r3, %f3;", 0, 0x80000000, 0, 0x80000000},
    {"max.f32 %f3, %f4, %f5; mov.b32 %r3, %f3;", 0x80000000, 0, 0, 0},
    {"copysign.f32 %f3, %f4, %f5; mov.b32 %r3, %f3;", 0x80000000, kOne, 0, 0xbf800000},
    // 1 + 2^-24 lies half way between 1 and the next float.
    {"fma.rn.f32 %f3, %f4, %f5, %f6; mov.b32 %r3, %f3;", kOne, kOne, 0x33800000, kOne},
    {"fma.rp.f32 %f3, %f4, %f5, %f6; mov.b32 %r3, %f3;", kOne, kOne, 0x33800000, 0x3f800001},
    {"fma.rm.f32 %f3, %f4, %f5, %f6; mov.b32 %r3, %f3;", kOne, kOne, 0x33ffffff, kOne},
    {"fma.rm.f32 %f3, %f4, %f5, %f6; mov.b32 %r3, %f3;", kOne, kOne, 0xa0000000, 0x3f7fffff},
    // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 only if the product is not rounded before.
    {"fma.rn.f32 %f3, %f4, %f5, %f6; mov.b32 %r3, %f3;", 0x3f800800, 0x3f800800, 0xbf801000,
     0x33800000},
    {"cvt.sat.f32.f32 %f3, %f4; mov.b32 %r3, %f3;", kNan, 0, 0, 0},
    {"cvt.sat.f32.f32 %f3, %f4; mov.b32 %r3, %f3;", 0x40000000, 0, 0, kOne},
    {"cvt.rni.f32.f32 %f3, %f4; mov.b32 %r3, %f3;", 0x40200000, 0, 0, 0x40000000},  // 2.5 -> 2
    {"cvt.rzi.f32.f32 %f3, %f4; mov.b32 %r3, %f3;", 0xc0200000, 0, 0, 0xc0000000},
    {"cvt.rzi.s32.f32 %r3, %f4;", 0x4f800000, 0, 0, 0x7fffffff},
    {"cvt.rzi.s32.f32 %r3, %f4;", kNan, 0, 0, 0},
    {"cvt.rzi.u32.f32 %r3, %f4;", 0xbf800000, 0, 0, 0},
    {"cvt.rn.f32.s32 %f3, %r4; mov.b32 %r3, %f3;", 0xffffffff, 0, 0, 0xbf800000},
    {"cvt.rn.f32.u32 %f3, %r4; mov.b32 %r3, %f3;", 16777217, 0, 0, 0x4b800000},
    // fp16: 1, the largest, half way beyond it, the smallest, half of it.
    {"cvt.rn.f16.f32 %rs3, %f4; cvt.u32.u16 %r3, %rs3;", kOne, 0, 0, 0x3c00},
    {"cvt.rn.f16.f32 %rs3, %f4; cvt.u32.u16 %r3, %rs3;", 0x477fefff, 0, 0, 0x7bff},
    {"cvt.rn.f16.f32 %rs3, %f4; cvt.u32.u16 %r3, %rs3;", 0x477ff000, 0, 0, 0x7c00},
    {"cvt.rn.f16.f32 %rs3, %f4; cvt.u32.u16 %r3, %rs3;", 0x33800000, 0, 0, 1},
    {"cvt.rn.f16.f32 %rs3, %f4; cvt.u32.u16 %r3, %rs3;", 0x33000000, 0, 0, 0},
    {"cvt.rn.f16.f32 %rs3, %f4; cvt.u32.u16 %r3, %rs3;", 0xff800000, 0, 0, 0xfc00},
    {"cvt.u16.u32 %rs4, %r4; cvt.f32.f16 %f3, %rs4; mov.b32 %r3, %f3;", 0x8001, 0, 0, 0xb3800000},
    {"cvt.u16.u32 %rs4, %r4; cvt.f32.f16 %f3, %rs4; mov.b32 %r3, %f3;", 0x7bff, 0, 0, 0x477fe000},
    {"cvt.u16.u32 %rs4, %r4; cvt.f32.f16 %f3, %rs4; mov.b32 %r3, %f3;", 0x7c00, 0, 0, kInfinity},
    {"cvt.rn.bf16.f32 %rs3, %f4; cvt.u32.u16 %r3, %rs3;", 0x3f808000, 0, 0, 0x3f80},
    {"cvt.rn.bf16.f32 %rs3, %f4; cvt.u32.u16 %r3, %rs3;", 0x3f818000, 0, 0, 0x3f82},
    {"cvt.rna.tf32.f32 %r3, %f4;", 0x3f801000, 0, 0, 0x3f802000},
    {"cvt.rna.tf32.f32 %r3, %f4;", 0xbf800fff, 0, 0, 0xbf800000},
    {"cvt.rna.tf32.f32 %r3, %f4;", kInfinity, 0, 0, kInfinity},
    {"cvt.rn.f16x2.f32 %r3, %f4, %f5;", kOne, 0x40000000, 0, 0x3c004000},
    {"div.rn.f32 %f3, %f4, %f5; mov.b32 %r3, %f3;", kOne, 0x40400000, 0, 0x3eaaaaab},
    {"rcp.approx.ftz.f32 %f3, %f4; mov.b32 %r3, %f3;", 0x00000001, 0, 0, kInfinity},
    {"ex2.approx.ftz.f32 %f3, %f4; mov.b32 %r3, %f3;", 0x41200000, 0, 0, 0x44800000},  // 2^10
    {"ex2.approx.ftz.f32 %f3, %f4; mov.b32 %r3, %f3;", 0xc3000000, 0, 0, 0},           // 2^-128
    {"lg2.approx.f32 %f3, %f4; mov.b32 %r3, %f3;", 0x44800000, 0, 0, 0x41200000},
    {"rsqrt.approx.f32 %f3, %f4; mov.b32 %r3, %f3;", 0x40800000, 0, 0, 0x3f000000},
    {"add.ftz.f32 %f3, %f4, %f5; mov.b32 %r3, %f3;", 0x00000001, 0x80000001, 0, 0},
    {"add.f32 %f3, %f4, %f5; mov.b32 %r3, %f3;", 0x00000001, 0x00000001, 0, 2},
    // A scope of its own, with a register of the same name.
    {"mov.u32 %r3, %r4; { .reg .b32 %r3; mov.u32 %r3, 5; }", 3, 0, 0, 3},
    {"mov.f32 %f3, 0f40490FDB; mov.b32 %r3, %f3;", 0, 0, 0, 0x40490fdb},
    {"ld.global.s8 %r3, [%rd1+4];", 0, 0, 0, 1},
    {"mov.u64 %rd8, stack; st.local.u32 [%rd8], %r4; ld.local.s8 %r3, [%rd8];", 0x80, 0, 0,
     0xffffff80},
};

class OpcodeTest : public testing::TestWithParam<Case> {};

TEST_P(OpcodeTest, GivesWhatTheManualSays) {
  const Case& c = GetParam();
  std::string body;
  const uint32_t values[] = {c.a, c.b, c.c};
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(4 + i);
    body += "mov.u32 %r" + number + ", " + std::to_string(values[i]) + ";\n";
    body += "mov.b32 %f" + number + ", %r" + number + ";\n";
  }
  const auto run = RunHandWritten(body + c.statement + "\nst.global.u32 [%rd5], %r3;", 1, 1);
  ASSERT_TRUE(run.ok()) << run.status();
  const float value = std::bit_cast<float>(run->y[0]);
  if (c.result == kNan && std::isnan(value)) return;
  EXPECT_EQ(run->y[0], c.result) << std::hex << run->y[0] << " by " << c.statement;
}

INSTANTIATE_TEST_SUITE_P(Cases, OpcodeTest, testing::ValuesIn(kCases));

// What each of 32 lanes stores.
std::vector<uint32_t> Lanes(const std::string& body, unsigned threads = 32) {
  const auto run = RunHandWritten(body + "\nst.global.u32 [%rd5], %r3;", 1, threads);
  EXPECT_TRUE(run.ok()) << run.status();
  if (!run.ok()) return std::vector<uint32_t>(64, 0);
  return run->y;
}

TEST(ShuffleTest, MovesValuesBetweenLanes) {
  const auto butterfly = Lanes("shfl.sync.bfly.b32 %r3, %r1, 5, 31, -1;");
  const auto up = Lanes("shfl.sync.up.b32 %r3, %r1, 3, 0, -1;");
  const auto down = Lanes("shfl.sync.down.b32 %r3|%p1, %r1, 3, 31, -1;");
  // Segments of 8 lanes: the first of each.
  const auto index = Lanes("shfl.sync.idx.b32 %r3, %r1, 0, 6175, -1;");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(butterfly[lane], lane ^ 5);
    EXPECT_EQ(up[lane], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(down[lane], lane > 28 ? lane : lane + 3);
    EXPECT_EQ(index[lane], lane / 8 * 8);
  }
}

// The left side is [row + depth / 8] in rows 0 to 7 and 1 in the others; of the right side column c
// is c + 1 at depth 0 and 1, and 0 elsewhere; 100 is added.
TEST(ProductTest, MultipliesWhatTheLanesOfAWarpHold) {
  const std::string operands = R"(
    shr.u32 %r10, %r1, 2;
    and.b32 %r11, %r1, 3;
    cvt.rn.f32.u32 %f10, %r10;
    cvt.rn.f32.u32 %f11, %r11;
    fma.rn.f32 %f12, %f11, 0f3E000000, %f10;
    add.f32 %f13, %f12, 0f3F000000;
    mov.b32 %r20, %f12;
    mov.b32 %r22, %f13;
    mov.u32 %r21, 0x3f800000;
    add.f32 %f14, %f10, 0f3F800000;
    setp.lt.u32 %p1, %r11, 2;
    selp.f32 %f15, %f14, 0f00000000, %p1;
    mov.b32 %r24, %f15;
    mov.u32 %r25, 0;
    mov.f32 %f20, 0f42C80000;
    mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f21, %f22, %f23, %f24},
      {%r20, %r21, %r22, %r21}, {%r24, %r25}, {%f20, %f20, %f20, %f20};)";
  for (int i = 0; i < 4; ++i) {
    const auto lanes = Lanes(operands + "mov.b32 %r3, %f" + std::to_string(21 + i) + ";");
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const float row = static_cast<float>(lane / 4);
      const float column = static_cast<float>(lane % 4 * 2 + static_cast<uint32_t>(i) % 2 + 1);
      const float left = i < 2 ? 2 * row + 0.125F : 2;
      EXPECT_EQ(std::bit_cast<float>(lanes[lane]), 100 + left * column) << lane << " " << i;
    }
  }
}

TEST(VoteTest, CountsTheLanesThatAreThere) {
  const auto ballot = Lanes("setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r3, %p1, -1;");
  EXPECT_EQ(ballot[9], 31u);
  const auto active = Lanes("mov.u32 %r3, 0; setp.lt.u32 %p1, %r1, 5; @%p1 activemask.b32 %r3;");
  EXPECT_EQ(active[4], 31u);
  EXPECT_EQ(active[5], 0u);
}

TEST(BranchTest, LanesMeetAgainBehindAnIf) {
  const auto lanes = Lanes(R"(
    setp.lt.u32 %p1, %r1, 11;
    @%p1 bra LESS;
    mov.u32 %r4, 100;
    bra MEET;
    LESS: mov.u32 %r4, 200;
    MEET: shfl.sync.bfly.b32 %r3, %r4, 31, 31, -1;)");
  EXPECT_EQ(lanes[0], 100u);
  EXPECT_EQ(lanes[31], 200u);
}

TEST(BranchTest, LanesMeetAgainBehindALoopThatEachLeavesInItsTurn) {
  const auto lanes = Lanes(R"(
    mov.u32 %r4, 0;
    AGAIN: add.u32 %r4, %r4, 3;
    setp.lt.u32 %p1, %r4, %r1;
    @%p1 bra AGAIN;
    shfl.sync.idx.b32 %r5, %r4, 31, 31, -1;
    add.u32 %r3, %r4, %r5;)");
  EXPECT_EQ(lanes[0], 3u + 33u);
  EXPECT_EQ(lanes[31], 33u + 33u);
}

TEST(BranchTest, LanesThatReturnInALoopAreNotWaitedFor) {
  const auto run = RunHandWritten(R"(
    mov.u32 %r4, 0;
    AGAIN: setp.eq.u32 %p1, %r4, %r1;
    @%p1 st.global.u32 [%rd5], %r4;
    @%p1 ret;
    add.u32 %r4, %r4, 1;
    bra AGAIN;)",
                                  1, 32);
  ASSERT_TRUE(run.ok()) << run.status();
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(run->y[lane], lane);
}

TEST(BranchTest, ABranchWithinABranch) {
  const auto lanes = Lanes(R"(
    mov.u32 %r3, 0;
    setp.lt.u32 %p1, %r1, 16;
    @!%p1 bra OUTER;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r1, 8;
    @!%p2 bra INNER;
    add.u32 %r3, %r3, 10;
    INNER: add.u32 %r3, %r3, 100;
    OUTER: bar.sync 0;)");
  EXPECT_EQ(lanes[0], 111u);
  EXPECT_EQ(lanes[8], 101u);
  EXPECT_EQ(lanes[16], 0u);
}

TEST(LaunchTest, ARegisterNobodySetIsAnotherForTheNextSeed) {
  const char* body = "max.f32 %f3, %f20, 0f00000000; mov.b32 %r3, %f3; st.global.u32 [%rd5], %r3;";
  const auto odd = RunHandWritten(body, 1, 1, 1);
  const auto even = RunHandWritten(body, 1, 1, 2);
  ASSERT_TRUE(odd.ok() && even.ok());
  EXPECT_NE(odd->y[0], even->y[0]);
}

TEST(LaunchTest, BlocksAndThreadsHaveTheirIndices) {
  const auto run = RunHandWritten(R"(
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %nctaid.x;
    mad.lo.s32 %r6, %r2, %r4, %r1;
    mul.wide.u32 %rd8, %r6, 4;
    add.s64 %rd8, %rd2, %rd8;
    mad.lo.s32 %r3, %r5, 1000, %r6;
    st.global.u32 [%rd8], %r3;)",
                                  4, 10);
  ASSERT_TRUE(run.ok()) << run.status();
  for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(run->y[i], 4000 + i);
  EXPECT_EQ(run->y[40], 0xdeadbeef);
}

TEST(ReportTest, CountsInstructionsSectorsAndWavefronts) {
  const auto run = RunHandWritten(R"(ld.global.u32 %r3, [%rd4];
    mul.wide.u32 %rd8, %r1, 8; add.s64 %rd8, %rd1, %rd8; ld.global.u32 %r4, [%rd8];
    ld.global.u32 %r5, [%rd1];
    st.shared.u32 [%rd7], %r3;
    mul.wide.u32 %rd9, %r1, 16; add.s64 %rd9, %rd6, %rd9; st.shared.u32 [%rd9], %r3;)",
                                  1, 32);
  // Lanes store to others' words of the tile without a barrier.
  EXPECT_EQ(run.status().code(), absl::StatusCode::kAborted);
  const auto counted = RunHandWritten(R"(ld.global.u32 %r3, [%rd4];
    mul.wide.u32 %rd8, %r1, 8; add.s64 %rd8, %rd1, %rd8; ld.global.u32 %r4, [%rd8];
    ld.global.u32 %r5, [%rd1];
    st.shared.u32 [%rd7], %r3;
    bar.sync 0;
    mul.wide.u32 %rd9, %r1, 16; add.s64 %rd9, %rd6, %rd9; st.shared.u32 [%rd9], %r3;)",
                                      1, 32);
  ASSERT_TRUE(counted.ok()) << counted.status();
  const auto& accesses = counted->report.accesses;
  ASSERT_EQ(accesses.size(), 5u);  // parameters are no memory
  EXPECT_EQ(accesses[0].sectors, 4);
  EXPECT_EQ(accesses[0].bytes_asked, 128);
  EXPECT_EQ(accesses[0].range, "x");
  EXPECT_EQ(accesses[1].sectors, 8);
  EXPECT_EQ(accesses[2].sectors, 1);
  EXPECT_EQ(accesses[3].wavefronts, 1);
  EXPECT_EQ(accesses[3].range, "tile");
  EXPECT_EQ(accesses[4].wavefronts, 4);
  EXPECT_EQ(accesses[4].wavefronts_least, 1);
  EXPECT_EQ(counted->report.instructions, 9 + 10 + 1);
  EXPECT_EQ(counted->report.lane_instructions, 32 * 20);
}

}  // namespace
}  // namespace plait::simulated_gpu
