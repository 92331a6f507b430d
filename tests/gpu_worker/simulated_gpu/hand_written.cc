#include "tests/gpu_worker/simulated_gpu/hand_written.h"

#include <cstring>
#include <numeric>

#include "base/status_macros.h"

namespace plait::simulated_gpu {
namespace {

constexpr int kWords = 64;

}  // namespace

std::string HandWritten(const std::string& body) {
  return R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry hand_written(.param .u64 x, .param .u64 y)
{
  .reg .pred %p<31>; .reg .b16 %rs<31>; .reg .b32 %r<31>; .reg .f32 %f<31>; .reg .b64 %rd<31>;
  .shared .align 16 .b8 tile[512];
  .shared .align 16 .b8 neighbour[512];
  .local .align 4 .b8 stack[64];
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  mov.u64 %rd6, tile;
  add.s64 %rd7, %rd6, %rd3;

)" + body +
         "\n  ret;\n}\n";
}

absl::StatusOr<HandWrittenRun> RunHandWritten(const std::string& body, unsigned blocks,
                                              unsigned threads, uint64_t seed) {
  PLAIT_ASSIGN_OR_RETURN(const PtxModule module, ParsePtx(HandWritten(body)));
  PLAIT_ASSIGN_OR_RETURN(const Program program, DecodeKernel(module));
  DeviceMemory memory;
  const uint64_t x = memory.Allocate("x", kWords * 4);
  const uint64_t y = memory.Allocate("y", kWords * 4);
  std::vector<uint32_t> numbers(kWords);
  std::iota(numbers.begin(), numbers.end(), 0u);
  PLAIT_RETURN_IF_ERROR(memory.Write(
      x, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(numbers.data()), kWords * 4)));
  const void* arguments[] = {&x, &y};
  HandWrittenRun run;
  LaunchOptions options;
  options.seed = seed;
  options.instructions_max = 100000;
  PLAIT_ASSIGN_OR_RETURN(
      run.report, Launch(program, memory, {{blocks, 1, 1}, {threads, 1, 1}}, arguments, options));
  for (int i = 0; i < kWords; ++i) {
    uint32_t word = 0;
    std::byte bytes[4];
    if (memory.Read(y + 4 * i, absl::MakeSpan(bytes)).ok()) {
      std::memcpy(&word, bytes, 4);
    } else {
      word = 0xdeadbeef;
    }
    run.y.push_back(word);
  }
  return run;
}

}  // namespace plait::simulated_gpu
