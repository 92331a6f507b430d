#include "bench/gpu/constants.h"

#include <algorithm>
#include <memory>

#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

namespace plait::cuda {
namespace {

RecordingRuntime& RuntimeOf(const std::unique_ptr<Session>& session) {
  return static_cast<RecordingRuntime&>(session->runtime());
}

class ConstantGroupTest : public testing::TestWithParam<const char*> {
 protected:
  Status Measure(Session* session) const {
    std::vector<Constant> constants;
    for (const ConstantGroup& group : ConstantGroups()) {
      if (std::string(group.name) == GetParam()) return group.measure(session, &constants);
    }
    return Error{ErrorCode::kInvalid, "no such group"};
  }
};

// Whatever call fails, a group gives back what it has taken.
TEST_P(ConstantGroupTest, LeaksNothingWhereACallFails) {
  constexpr size_t kCallsMax = 150;  // those behind them repeat these
  std::vector<std::string> calls;
  {
    const auto session = Session::Open(true).value();
    const size_t before = RuntimeOf(session).calls().size();
    ASSERT_TRUE(Measure(session.get()).ok());
    const auto& all = RuntimeOf(session).calls();
    calls.assign(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
    EXPECT_EQ(RuntimeOf(session).refusals(), std::vector<std::string>());
  }
  ASSERT_GT(calls.size(), 10u);
  for (size_t i = 0; i < std::min(calls.size(), kCallsMax); ++i) {
    // Whose failures nobody can be told, and which then have not happened.
    if (calls[i].rfind("Destroy", 0) == 0) continue;
    const auto session = Session::Open(true).value();
    const std::vector<std::string> before = RuntimeOf(session).Leaks();
    RuntimeOf(session).FailAfter(static_cast<int>(i), false);
    static_cast<void>(Measure(session.get()).ok());
    EXPECT_EQ(RuntimeOf(session).Leaks(), before) << calls[i] << ", call " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, ConstantGroupTest,
                         testing::Values("events", "captured_streams", "programmatic_launch"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace plait::cuda
