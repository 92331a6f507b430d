#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gtest/gtest.h"
#include "tests/files/source_path.h"
#include "tests/gpu_worker/simulated_gpu/all_cases.h"
#include "tests/gpu_worker/simulated_gpu/generated_work.h"
#include "tests/gpu_worker/simulated_gpu/mutate.h"

namespace plait::simulated_gpu {
namespace {

constexpr int kMutantsPerFamily = 40;
constexpr int kFaultsMin = 200;  // of all families together
// Which faults can be planted, and which are none, follows from the PTX of one compiler.
constexpr char kNvrtcOfList[] = "13.0";
constexpr uint64_t kSeeds[] = {1, 2};

// The mutants that are no faults: the name, and by which reason.
std::map<std::string, std::string> ReadEquivalents() {
  std::ifstream file(SourcePath("tests/gpu_worker/simulated_gpu/equivalent_mutants.txt"));
  std::map<std::string, std::string> reasons;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::pair<std::string, std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    reasons[words.second] = words.first;
  }
  return reasons;
}

// The mutants of all families, of which the last says what share has been caught.
class AllMutants : public testing::Environment {
 public:
  void TearDown() override {
    if (families == 0) return;
    const int faults = planted - equivalent;
    std::printf("mutants: %d planted in %d families, %d equivalent and listed, %d of %d caught\n",
                planted, families, equivalent, caught, faults);
    EXPECT_GE(caught, 0.98 * faults);
    if (families != std::ssize(cuda::GeneratedFamilies())) return;
    EXPECT_GE(faults, kFaultsMin);
    EXPECT_EQ(equivalent, std::ssize(ReadEquivalents()));
  }
  int families = 0, planted = 0, caught = 0, equivalent = 0;
};
AllMutants* const all_mutants =
    static_cast<AllMutants*>(testing::AddGlobalTestEnvironment(new AllMutants));

// What became of the mutants of one kind.
struct Tally {
  int planted = 0;
  int refused = 0;  // by the simulator
  int wrong = 0;    // a result beyond the tolerance
};

// What a kernel without a fault makes of one trial.
struct Expected {
  Trial trial;
  std::vector<cuda::ReferenceElement> reference;
  GeneratedRun run;
};

struct Original {
  Work work;
  PtxKernel kernel;
  std::vector<Expected> expected;
};

// The kernel before there is a fault in it, which gives no alarm.
absl::StatusOr<Original> OriginalOf(const Work& work, const PtxModule& module) {
  Original original{.work = work};
  for (const PtxKernel& kernel : module.kernels) {
    if (kernel.name == EntryOf(work)) original.kernel = kernel;
  }
  PLAIT_ASSIGN_OR_RETURN(const Program program, DecodeKernel(module, EntryOf(work)));
  for (Trial& trial : TrialsOf(work)) {
    Expected expected{.trial = std::move(trial)};
    expected.reference = ReferenceOf(work, expected.trial.operands);
    for (const uint64_t seed : kSeeds) {
      PLAIT_ASSIGN_OR_RETURN(expected.run, RunWork(program, work, expected.trial, {.seed = seed}));
      PLAIT_RETURN_IF_ERROR(CheckRun(work, expected.trial, expected.reference, expected.run));
    }
    original.expected.push_back(std::move(expected));
  }
  return original;
}

enum class Outcome { kRefused, kWrong, kOtherBits, kSameBits };

Outcome OutcomeOf(const Original& original, const Program& mutant) {
  bool same = true;
  for (const Expected& expected : original.expected) {
    for (const uint64_t seed : kSeeds) {
      const auto run = RunWork(
          mutant, original.work, expected.trial,
          {.seed = seed, .instructions_max = 20 * expected.run.report.instructions + 10000});
      if (!run.ok()) return Outcome::kRefused;
      if (!CheckRun(original.work, expected.trial, expected.reference, *run).ok()) {
        return Outcome::kWrong;
      }
      same = same && run->outputs == expected.run.outputs;
    }
  }
  return same ? Outcome::kSameBits : Outcome::kOtherBits;
}

// Whether there is no alarm.
bool IsIdle(const Original& original, const Program& alarmed) {
  return std::all_of(original.expected.begin(), original.expected.end(),
                     [&](const Expected& expected) {
                       return RunWork(alarmed, original.work, expected.trial).ok();
                     });
}

struct Survivor {
  bool same = false;  // all bits are right
  bool idle = false;  // the fault's instruction never does anything else
};

class MutantsTest : public testing::TestWithParam<const cuda::GeneratedFamily*> {
 protected:
  // The family's kernels for fp32 and what they compute.
  void MakeOriginals() {
    std::vector<Work> all = WorkOf(*GetParam(), cuda::Precision::kStrict, MutatedCases());
    // A single block has neither neighbours to harm nor a stride from block to block.
    std::erase_if(all, [](const Work& work) {
      return work.kernel.grid == std::array<unsigned, 3>{1, 1, 1};
    });
    auto compiled = CompileWork(all, "compute_90");
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    module_ = *std::move(compiled);
    for (const Work& work : all) {
      auto original = OriginalOf(work, module_);
      ASSERT_TRUE(original.ok()) << work.name << ": " << original.status();
      originals_.push_back(*std::move(original));
    }
    ASSERT_FALSE(originals_.empty());
  }

  absl::StatusOr<Program> Decode(PtxKernel kernel) const {
    return DecodeKernel(
        {.target = module_.target, .variables = module_.variables, .kernels = {std::move(kernel)}});
  }

  // Runs one mutant and counts it.
  void Try(const Original& original, Mutation mutation, Random& random) {
    const auto mutant = Mutate(mutation, random, original.kernel);
    if (!mutant) return;
    const std::string name =
        absl::StrCat(original.work.name, " ", MutationName(mutation), " ", mutant->place);
    if (!planted_.insert(name).second) return;
    const auto program = Decode(mutant->kernel), alarmed = Decode(mutant->alarmed);
    ASSERT_TRUE(program.ok() && alarmed.ok()) << program.status() << alarmed.status();
    Tally& tally = tallies_[static_cast<int>(mutation)];
    ++tally.planted;
    const Outcome outcome = OutcomeOf(original, *program);
    const bool idle = IsIdle(original, *alarmed);
    if (outcome == Outcome::kRefused || outcome == Outcome::kWrong) {
      ++(outcome == Outcome::kRefused ? tally.refused : tally.wrong);
      EXPECT_FALSE(idle) << "an alarm that is silent: " << name;
    } else {
      survivors_[name] = {outcome == Outcome::kSameBits, idle};
    }
  }

  // Counts those that the list excuses, and prints the others.
  void CheckSurvivors(const std::map<std::string, std::string>& reasons) {
    for (const auto& [name, survivor] : survivors_) {
      const auto listed = reasons.find(name);
      // With other bits it cannot be equivalent.
      const bool is_excused =
          listed != reasons.end() && survivor.same && (survivor.idle || listed->second != "idle");
      all_mutants->equivalent += is_excused;
      if (is_excused) continue;
      std::printf("  survives%s%s: %s\n", survivor.same ? "" : " with other bits",
                  survivor.idle ? " as it is idle" : "", name.c_str());
    }
    const std::string of_family = absl::StrCat(GetParam()->name, "/");
    for (const auto& [name, reason] : reasons) {
      if (!absl::StartsWith(name, of_family)) continue;
      EXPECT_TRUE(survivors_.contains(name)) << "is caught or not planted: " << name;
    }
  }

  PtxModule module_;
  std::vector<Original> originals_;
  std::array<Tally, kMutations> tallies_;
  std::set<std::string> planted_;
  std::map<std::string, Survivor> survivors_;
};

TEST_P(MutantsTest, AreCaught) {
  const auto version = cuda::NvrtcVersion();
  if (!version.ok() || version.value() != kNvrtcOfList) {
    GTEST_SKIP() << "NVRTC " << kNvrtcOfList << " is not here";
  }
  ASSERT_NO_FATAL_FAILURE(MakeOriginals());
  Random random(4);
  for (int tries = 0; planted_.size() < kMutantsPerFamily && tries < 20 * kMutantsPerFamily;
       ++tries) {
    const Original& original = originals_[random.Next() % originals_.size()];
    Try(original, static_cast<Mutation>(tries % kMutations), random);
  }
  EXPECT_EQ(planted_.size(), kMutantsPerFamily);
  for (int i = 0; i < kMutations; ++i) {
    const Tally& tally = tallies_[i];
    if (tally.planted == 0) continue;
    std::printf("%s, %s: %d planted, %d refused, %d wrong\n", GetParam()->name,
                MutationName(static_cast<Mutation>(i)), tally.planted, tally.refused, tally.wrong);
  }
  CheckSurvivors(ReadEquivalents());
  ++all_mutants->families;
  all_mutants->planted += std::ssize(planted_);
  all_mutants->caught += std::ssize(planted_) - std::ssize(survivors_);
}

INSTANTIATE_TEST_SUITE_P(Families, MutantsTest, testing::ValuesIn(cuda::GeneratedFamilies()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace plait::simulated_gpu
