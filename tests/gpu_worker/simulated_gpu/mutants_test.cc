#include <array>
#include <cstdio>

#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/all_cases.h"
#include "tests/gpu_worker/simulated_gpu/generated_work.h"
#include "tests/gpu_worker/simulated_gpu/mutate.h"

namespace plait::simulated_gpu {
namespace {

constexpr int kMutantsPerFamily = 40;

// What became of the mutants of one kind.
struct Tally {
  int planted = 0;
  int refused = 0;  // by the simulator
  int wrong = 0;    // a result beyond the tolerance
  int same = 0;     // the same bits: for this problem no fault at all
};

struct Original {
  Work work;
  PtxKernel kernel;
  cuda::HostOperands operands;
  std::vector<cuda::ReferenceElement> reference;
  GeneratedRun run;
};

// The family's kernels for fp32 and what they compute.
std::vector<Original> OriginalsOf(const cuda::GeneratedFamily& family, PtxModule* module) {
  const std::vector<Work> all = WorkOf(family, cuda::Precision::kStrict, AllCases());
  auto compiled = CompileWork(all, "compute_90");
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  if (!compiled.ok()) return {};
  *module = *std::move(compiled);
  std::vector<Original> originals;
  const size_t count = WorkOf(family, cuda::Precision::kStrict, cuda::GeneratedCases()).size();
  for (size_t i = 0; i < count; ++i) {
    Original original;
    original.work = all[i];
    for (const PtxKernel& kernel : module->kernels) {
      if (kernel.name == EntryOf(all[i])) original.kernel = kernel;
    }
    original.operands = OperandsOf(all[i]);
    original.reference = ReferenceOf(all[i], original.operands);
    const auto program = DecodeKernel(*module, EntryOf(all[i]));
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return {};
    auto run = RunWork(*program, all[i], {original.operands});
    EXPECT_TRUE(run.ok()) << all[i].name << ": " << run.status();
    if (!run.ok()) return {};
    original.run = *std::move(run);
    originals.push_back(std::move(original));
  }
  return originals;
}

class MutantsTest : public testing::TestWithParam<const cuda::GeneratedFamily*> {
 protected:
  // Runs one mutant and counts it.
  void Try(const Original& original, const PtxModule& module, Mutation mutation, Random& random) {
    PtxModule mutated{.target = module.target, .variables = module.variables, .kernels = {}};
    mutated.kernels.push_back(original.kernel);
    const std::string place = Mutate(mutation, random, &mutated.kernels[0]);
    if (place.empty()) return;
    const auto program = DecodeKernel(mutated);
    ASSERT_TRUE(program.ok()) << program.status();
    Tally& tally = tallies_[static_cast<int>(mutation)];
    ++tally.planted;
    ++planted_;
    bool same = true;
    for (uint64_t seed : {1, 2}) {
      const auto run = RunWork(
          *program, original.work, {original.operands},
          {.seed = seed, .instructions_max = 20 * original.run.report.instructions + 10000});
      if (!run.ok()) {
        ++tally.refused;
        return;
      }
      const cuda::Difference difference = cuda::Compare(original.reference, run->outputs);
      if (difference.not_numbers > 0 ||
          !(difference.relative_l2 <= cuda::RelativeL2Max(cuda::Precision::kStrict))) {
        ++tally.wrong;
        return;
      }
      same = same && run->outputs == original.run.outputs;
    }
    if (same) ++tally.same, ++same_;
    std::printf("  survives%s: %s, %s at %s\n", same ? " with the same bits" : "",
                original.work.name.c_str(), MutationName(mutation), place.c_str());
    ++survivors_;
  }

  std::array<Tally, kMutations> tallies_;
  int planted_ = 0;
  int survivors_ = 0;
  int same_ = 0;
};

TEST_P(MutantsTest, AreCaught) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  PtxModule module;
  const std::vector<Original> originals = OriginalsOf(*GetParam(), &module);
  ASSERT_FALSE(originals.empty());
  Random random(4);
  for (int tries = 0; planted_ < kMutantsPerFamily && tries < 10 * kMutantsPerFamily; ++tries) {
    const Original& original = originals[random.Next() % originals.size()];
    Try(original, module, static_cast<Mutation>(tries % kMutations), random);
  }
  for (int i = 0; i < kMutations; ++i) {
    const Tally& tally = tallies_[i];
    if (tally.planted == 0) continue;
    std::printf("%s, %s: %d planted, %d refused, %d wrong, %d with the same bits\n",
                GetParam()->name, MutationName(static_cast<Mutation>(i)), tally.planted,
                tally.refused, tally.wrong, tally.same);
  }
  EXPECT_EQ(planted_, kMutantsPerFamily);
  // A survivor with the same bits is no fault for that problem: a bound that none of its elements
  // comes to, a barrier in front of memory that is used once. Any other would be one that the
  // simulator lets pass.
  EXPECT_EQ(survivors_, same_);
  // Most are in the fused pair, whose chunks of 32 channels are mostly zeros in small problems.
  EXPECT_LE(survivors_, planted_ / 2);
}

INSTANTIATE_TEST_SUITE_P(Families, MutantsTest, testing::ValuesIn(cuda::GeneratedFamilies()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace plait::simulated_gpu
