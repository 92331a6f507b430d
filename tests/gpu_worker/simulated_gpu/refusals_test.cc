#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/hand_written.h"

namespace plait::simulated_gpu {
namespace {

// A wrong kernel, and its twin, which does the right thing in the same way. Where warps race the
// memory was written before, so that the race is all that is wrong in any order.
struct Refusal {
  const char* name;
  absl::StatusCode code;
  const char* words;  // of the message
  unsigned blocks, threads;
  const char* wrong;
  const char* right;
};

constexpr absl::StatusCode kOutOfRange = absl::StatusCode::kOutOfRange;
constexpr absl::StatusCode kMisaligned = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kUninitialised = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kAborted = absl::StatusCode::kAborted;

const Refusal kRefusals[] = {
    {"LoadBeyondAnAllocation", kOutOfRange, "out of bounds", 1, 32,
     "ld.global.u32 %r3, [%rd4+252];",  //
     "ld.global.u32 %r3, [%rd4+128];"},
    {"LoadBelowAnAllocation", kOutOfRange, "out of bounds", 1, 32,
     "ld.global.u32 %r3, [%rd4+-4];",  //
     "ld.global.u32 %r3, [%rd4+4];"},
    {"StoreBeyondAnAllocation", kOutOfRange, "out of bounds", 1, 32,
     "st.global.u32 [%rd5+132], %r1;",  //
     "st.global.u32 [%rd5+128], %r1;"},
    {"AVectorThatReachesBeyond", kOutOfRange, "out of bounds", 1, 1,
     "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd4+256];",
     "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd4+240];"},
    {"LoadFromTheNeighbouringVariable", kOutOfRange, "out of bounds", 1, 1,
     "mov.u64 %rd8, neighbour; st.shared.u32 [%rd8], %r1; ld.shared.u32 %r3, [%rd7+512];",
     "mov.u64 %rd8, neighbour; st.shared.u32 [%rd8], %r1; ld.shared.u32 %r3, [%rd8];"},
    {"LoadThroughANullPointer", kOutOfRange, "out of bounds", 1, 1,
     "mov.u64 %rd8, 0; ld.global.u32 %r3, [%rd8];",
     "mov.u64 %rd8, %rd1; ld.global.u32 %r3, [%rd8];"},
    {"LoadThroughARegisterNobodySet", kOutOfRange, "out of bounds", 1, 1,
     "and.b64 %rd8, %rd20, -16; ld.global.u32 %r3, [%rd8];",
     "and.b64 %rd8, %rd1, -16; ld.global.u32 %r3, [%rd8];"},
    {"MisalignedVector", kMisaligned, "misaligned", 1, 32, "ld.global.v2.u32 {%r3, %r4}, [%rd4];",
     "add.s64 %rd8, %rd4, %rd3; ld.global.v2.u32 {%r3, %r4}, [%rd8];"},
    {"MisalignedWord", kMisaligned, "misaligned", 1, 1,
     "ld.global.u32 %r3, [%rd4+2];",  //
     "ld.global.u16 %rs3, [%rd4+2];"},
    {"MisalignedInSharedMemory", kMisaligned, "misaligned", 1, 1,
     "st.shared.u32 [%rd7+1], %r1;",  //
     "st.shared.u8 [%rd7+1], %r1;"},
    {"LoadOfWhatNobodyWrote", kUninitialised, "uninitialised", 1, 32,
     "ld.global.u32 %r3, [%rd5];",  //
     "st.global.u32 [%rd5], %r1; ld.global.u32 %r3, [%rd5];"},
    {"LoadOfHalfWrittenBytes", kUninitialised, "uninitialised", 1, 1,
     "st.global.u16 [%rd5], %rs1; ld.global.u32 %r3, [%rd5];",
     "st.global.u16 [%rd5], %rs1; st.global.u16 [%rd5+2], %rs1; ld.global.u32 %r3, [%rd5];"},
    {"LoadOfFreshSharedMemory", kUninitialised, "uninitialised", 1, 32,
     "ld.shared.u32 %r3, [%rd7];",  //
     "st.shared.u32 [%rd7], %r1; ld.shared.u32 %r3, [%rd7];"},
    {"SharedMemoryIsFreshInEveryBlock", kUninitialised, "uninitialised", 2, 1,
     "setp.eq.u32 %p1, %r2, 0; @%p1 st.shared.u32 [%rd7], %r1; ld.shared.u32 %r3, [%rd7];",
     "setp.eq.u32 %p1, %r2, 0; st.shared.u32 [%rd7], %r1; ld.shared.u32 %r3, [%rd7];"},
    {"LoadOfFreshLocalMemory", kUninitialised, "uninitialised", 1, 32,
     "mov.u64 %rd8, stack; ld.local.u32 %r3, [%rd8+4];",
     "mov.u64 %rd8, stack; st.local.u32 [%rd8+4], %r1; ld.local.u32 %r3, [%rd8+4];"},
    {"RaceOfTwoWarps", kAborted, "race", 1, 64,
     "st.shared.u32 [%rd7], %r1; bar.sync 0;"
     " st.shared.u32 [%rd7], %r1; sub.s64 %rd8, %rd6, %rd3; ld.shared.u32 %r3, [%rd8+252];",
     "st.shared.u32 [%rd7], %r1; bar.sync 0;"
     " st.shared.u32 [%rd7], %r1; bar.sync 0; sub.s64 %rd8, %rd6, %rd3;"
     " ld.shared.u32 %r3, [%rd8+252];"},
    {"RaceOfTwoLanesOfAWarp", kAborted, "race", 1, 32,
     "st.shared.u32 [%rd7], %r1; sub.s64 %rd8, %rd6, %rd3; ld.shared.u32 %r3, [%rd8+124];",
     "st.shared.u32 [%rd7], %r1; bar.warp.sync -1; sub.s64 %rd8, %rd6, %rd3;"
     " ld.shared.u32 %r3, [%rd8+124];"},
    {"ABarrierOfTheWarpDoesNotOrderWarps", kAborted, "race", 1, 64,
     "st.shared.u32 [%rd7], %r1; bar.sync 0;"
     " st.shared.u32 [%rd7], %r1; bar.warp.sync -1; sub.s64 %rd8, %rd6, %rd3;"
     " ld.shared.u32 %r3, [%rd8+252];",
     "st.shared.u32 [%rd7], %r1; bar.sync 0;"
     " st.shared.u32 [%rd7], %r1; bar.warp.sync -1; ld.shared.u32 %r3, [%rd7];"},
    {"TwoLanesWriteOneWord", kAborted, "race", 1, 32, "st.shared.u32 [%rd6], %r1;",
     "setp.eq.u32 %p1, %r1, 7; @%p1 st.shared.u32 [%rd6], %r1;"},
    {"WriteOfWhatOthersStillRead", kAborted, "race", 1, 64,
     "st.shared.u32 [%rd7], %r1; bar.sync 0; sub.s64 %rd8, %rd6, %rd3;"
     " ld.shared.u32 %r3, [%rd8+252]; st.shared.u32 [%rd7], %r3;",
     "st.shared.u32 [%rd7], %r1; bar.sync 0; sub.s64 %rd8, %rd6, %rd3;"
     " ld.shared.u32 %r3, [%rd8+252]; bar.sync 0; st.shared.u32 [%rd7], %r3;"},
    {"BytesOfOneWordAreApart", kAborted, "race", 1, 32,
     "shr.u32 %r3, %r1, 1; cvt.u64.u32 %rd8, %r3; add.s64 %rd8, %rd6, %rd8;"
     " st.shared.u8 [%rd8], %r1;",
     "cvt.u64.u32 %rd8, %r1; add.s64 %rd8, %rd6, %rd8; st.shared.u8 [%rd8], %r1;"},
    {"TwoBlocksWriteOneWord", kAborted, "race", 2, 1, "st.global.u32 [%rd2], %r1;",
     "mul.wide.u32 %rd8, %r2, 4; add.s64 %rd8, %rd2, %rd8; st.global.u32 [%rd8], %r1;"},
    {"AStoreBesideVolatileOnes", kAborted, "race", 2, 1,
     "st.volatile.global.u32 [%rd2], %r1; setp.eq.u32 %p1, %r2, 1; @%p1 st.global.u32 [%rd2], %r1;",
     "st.volatile.global.u32 [%rd2], %r1; setp.eq.u32 %p1, %r2, 1;"
     " @%p1 st.volatile.global.u32 [%rd2], %r1;"},
    {"ALoadBesideVolatileStores", kAborted, "race", 2, 32,
     "st.volatile.global.u32 [%rd2], %r1; ld.global.u32 %r3, [%rd2];",
     "st.volatile.global.u32 [%rd2], %r1; st.volatile.global.u32 [%rd2], %r2;"},
    {"ABlockReadsWhatAnotherWrites", kAborted, "race", 2, 32,
     "mul.wide.u32 %rd8, %r2, 128; add.s64 %rd8, %rd4, %rd8; ld.global.u32 %r3, [%rd4];"
     " st.global.u32 [%rd8], %r3;",
     "mul.wide.u32 %rd8, %r2, 128; add.s64 %rd8, %rd4, %rd8; ld.global.u32 %r3, [%rd8];"
     " st.global.u32 [%rd8], %r3;"},
    {"ABarrierDoesNotOrderBlocks", kAborted, "race", 2, 32,
     "setp.eq.u32 %p1, %r2, 0; @%p1 st.global.u32 [%rd5], %r1; bar.sync 0;"
     " @!%p1 st.global.u32 [%rd5], %r1;",
     "setp.eq.u32 %p1, %r2, 0; @%p1 st.global.u32 [%rd5], %r1; bar.sync 0;"
     " @!%p1 st.global.u32 [%rd5+128], %r1;"},
    {"RaceOfTwoThreadsInGlobalMemory", kAborted, "race", 1, 64,
     "st.global.u32 [%rd5], %r1; bar.sync 0;"
     " st.global.u32 [%rd5], %r1; sub.s64 %rd8, %rd2, %rd3; ld.global.u32 %r3, [%rd8+252];",
     "st.global.u32 [%rd5], %r1; bar.sync 0;"
     " st.global.u32 [%rd5], %r1; bar.sync 0; sub.s64 %rd8, %rd2, %rd3;"
     " ld.global.u32 %r3, [%rd8+252];"},
    {"ReadOnlyLoadOfWhatTheKernelWrote", kAborted, "read-only", 1, 32,
     "st.global.u32 [%rd5], %r1; ld.global.nc.u32 %r3, [%rd5];",
     "st.global.u32 [%rd5], %r1; ld.global.u32 %r3, [%rd5];"},
    {"StoreToWhatWasLoadedAsReadOnly", kAborted, "read-only", 1, 32,
     "ld.global.nc.u32 %r3, [%rd4]; st.global.u32 [%rd4], %r3;",
     "ld.global.u32 %r3, [%rd4]; st.global.u32 [%rd4], %r3;"},
    {"BarrierOfAPartOfAWarp", kAborted, "divergent barrier", 1, 32,
     "setp.lt.u32 %p1, %r1, 16; @%p1 bar.sync 0;",  //
     "setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 0;"},
    {"BarrierOfAPartOfTheWarps", kAborted, "divergent barrier", 1, 64,
     "setp.lt.u32 %p1, %r1, 32; @!%p1 bra END; bar.sync 0; END: add.u32 %r3, %r1, 1;",
     "setp.lt.u32 %p1, %r1, 32; @!%p1 bra END; add.u32 %r3, %r1, 1; END: bar.sync 0;"},
    {"BarrierAfterSomeHaveLeft", kAborted, "divergent barrier", 1, 64,
     "setp.lt.u32 %p1, %r1, 32; @%p1 ret; bar.sync 0;",
     "setp.lt.u32 %p1, %r1, 32; bar.sync 0; @%p1 ret;"},
    {"BarrierAfterLanesHaveLeft", kAborted, "has ended before", 1, 32,
     "setp.lt.u32 %p1, %r1, 3; @%p1 ret; bar.sync 0;",
     "setp.lt.u32 %p1, %r1, 3; bar.sync 0; @%p1 ret;"},
    {"WarpsAtTwoBarriers", kAborted, "divergent barrier", 1, 64,
     "setp.lt.u32 %p1, %r1, 32; @%p1 bra ONE; bar.sync 0; bra END; ONE: bar.sync 0; END: ",
     "setp.lt.u32 %p1, %r1, 32; @%p1 bra ONE; mov.u32 %r3, 1; bra END; ONE: mov.u32 %r3, 2;"
     " END: bar.sync 0;"},
    {"ShuffleOfIdleLanes", kAborted, "idle lanes", 1, 32,
     "setp.lt.u32 %p1, %r1, 16; @!%p1 bra END; shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; END: ",
     "setp.lt.u32 %p1, %r1, 16; @!%p1 bra END; shfl.sync.bfly.b32 %r3, %r1, 1, 31, 65535;"
     " END: "},
    {"ShuffleFromAnIdleLane", kAborted, "reads from lane 16", 1, 32,
     "setp.lt.u32 %p1, %r1, 16; @!%p1 bra END; shfl.sync.bfly.b32 %r3, %r1, 16, 31, 65535;"
     " END: ",
     "setp.lt.u32 %p1, %r1, 16; shfl.sync.bfly.b32 %r3, %r1, 16, 31, -1;"},
    {"ShuffleOfLanesThatDoNotExist", kAborted, "idle lanes", 1, 16,
     "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;",  //
     "shfl.sync.bfly.b32 %r3, %r1, 1, 31, 65535;"},
    {"VoteOfIdleLanes", kAborted, "idle lanes", 1, 32,
     "setp.lt.u32 %p1, %r1, 16; @%p1 vote.sync.any.pred %p2, %p1, -1;",
     "setp.lt.u32 %p1, %r1, 16; vote.sync.any.pred %p2, %p1, -1;"},
    {"ProductOfIdleLanes", kAborted, "idle lanes", 1, 32,
     "setp.lt.u32 %p1, %r1, 16; @%p1 mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
     "{%f1, %f2, %f3, %f4}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f1, %f2, %f3, %f4};",
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
     "{%f1, %f2, %f3, %f4}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f1, %f2, %f3, %f4};"},
    {"WarpBarrierOfIdleLanes", kAborted, "idle lanes", 1, 32,
     "setp.lt.u32 %p1, %r1, 16; @%p1 bar.warp.sync -1;",  //
     "setp.lt.u32 %p1, %r1, 16; bar.warp.sync -1;"},
    {"AnEndlessLoop", absl::StatusCode::kResourceExhausted, "instructions", 1, 32,
     "AGAIN: add.u32 %r3, %r1, 1; bra AGAIN;",
     "mov.u32 %r3, 0; AGAIN: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 9; @%p1 bra AGAIN;"},
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, IsGivenToTheWrongKernelAlone) {
  const Refusal& refusal = GetParam();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto wrong = RunHandWritten(refusal.wrong, refusal.blocks, refusal.threads, seed);
    ASSERT_FALSE(wrong.ok()) << "seed " << seed;
    EXPECT_EQ(wrong.status().code(), refusal.code) << wrong.status();
    const std::string message(wrong.status().message());
    for (const char* part :
         {refusal.words, "kernel hand_written", "PTX line 20", "block (", "thread "}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
    }
    const auto right = RunHandWritten(refusal.right, refusal.blocks, refusal.threads, seed);
    EXPECT_TRUE(right.ok()) << right.status();
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, RefusalTest, testing::ValuesIn(kRefusals),
                         [](const auto& info) { return std::string(info.param.name); });

// What decoding refuses, with the name of what it does not know.
class UnknownTest : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(UnknownTest, IsNamed) {
  const auto& [body, words] = GetParam();
  const auto run = RunHandWritten(body, 1, 32);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.status().code(), absl::StatusCode::kUnimplemented) << run.status();
  const std::string message(run.status().message());
  for (const char* part : {words, "kernel hand_written", "line 20"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, UnknownTest,
    testing::Values(std::pair("frobnicate.b32 %r3, %r1;", "frobnicate.b32"),
                    std::pair("add.f16x2 %r3, %r1, %r2;", "add.f16x2"),
                    std::pair("ld.u32 %r3, [%rd4];", "ld.u32"),
                    std::pair("ld.volatile.global.u32 %r3, [%rd4];", "volatile"),
                    std::pair("ld.global.b128 %rd3, [%rd4];", "b128"),
                    std::pair("atom.global.add.u32 %r3, [%rd4], 1;", "atom.global.add.u32"),
                    std::pair("bar.sync 1;", "bar.sync"), std::pair("bar.sync 0, 32;", "bar.sync"),
                    std::pair("mov.u32 %r3, %clock;", "%clock"),
                    std::pair("mov.u32 %r3, nobody;", "nobody"), std::pair("call f;", "call"),
                    std::pair("vote.any.pred %p1, %p2;", "vote.any"),
                    std::pair("and.pred %p1, !%p2, %p3;", "!%p2")));

TEST(ParsePtxTest, RefusesWhatIsNoPtx) {
  for (const char* text : {".func f() { ret; }", ".entry", ".entry f() { ret", ".entry f() { ret; ",
                           ".entry f() { add.u32 %r1, ; }", ".entry f() { L: L: ret; }",
                           ".entry f() { .reg .b32 %r<99999999>; }", "/* no end", "{", "\x01",
                           ".global .b8 x[4] = {1, 2, 3, 4, 5};",
                           ".entry f() { mov.f32 %f, 0f12; }", ".address_size 32"}) {
    const auto module = ParsePtx(text);
    EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(LaunchTest, RefusesShapesAndArgumentsThatAreNotTheKernels) {
  const auto module = ParsePtx(HandWritten(""));
  ASSERT_TRUE(module.ok()) << module.status();
  const auto program = DecodeKernel(*module);
  ASSERT_TRUE(program.ok()) << program.status();
  DeviceMemory memory;
  const uint64_t x = 0;
  const void* arguments[] = {&x, &x};
  EXPECT_TRUE(Launch(*program, memory, {}, arguments).ok());
  const LaunchShape shapes[] = {{{1, 1, 1}, {1025, 1, 1}},
                                {{1, 1, 1}, {0, 1, 1}},
                                {{0, 1, 1}, {32, 1, 1}},
                                {{1, 65536, 1}, {32, 1, 1}},
                                {{1, 1, 1}, {1, 1, 65}}};
  for (const LaunchShape& shape : shapes) {
    EXPECT_EQ(Launch(*program, memory, shape, arguments).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(Launch(*program, memory, {}, absl::MakeConstSpan(arguments, 1)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DecodeKernel(*module, "another").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace plait::simulated_gpu
