#include "runtime/session.h"

#include <functional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "tests/loading/planned_model.h"

// Which shapes a session keeps loaded, of a model whose plans are for some of them.

namespace plait {
namespace {

class SessionTest : public testing::Test {
 protected:
  void Open(
      const std::vector<int64_t>& rows, const SessionOptions& options = {.threads = 1},
      const std::function<void(Plan*)>& change = [](Plan*) {}) {
    const auto executor = OpenCpu(1);
    std::vector<EmbeddedPlan> plans;
    for (const int64_t each : rows) plans.push_back(PlanOfRows(each, executor->device(), change));
    auto session = Session::Create(ModelWith(plans), options);
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }

  std::weak_ptr<LoadedShapes> LoadRows(int64_t rows) {
    const Shape shape = {rows, 8};
    const auto loaded = session_->For({shape});
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *loaded : nullptr;
  }

  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, ThePlansOfAFileAreLoadedAtOnceAndStay) {
  Open({2, 4, 8});
  ASSERT_NE(session_, nullptr);
  EXPECT_EQ(session_->inputs()[0].type.shape, Shape({2, 8}));
  EXPECT_EQ(session_->further_plans(), 2u);
  const std::weak_ptr<LoadedShapes> planned = LoadRows(4);
  const std::weak_ptr<LoadedShapes> bound = LoadRows(5);
  for (int64_t rows = 9; rows < 9 + static_cast<int64_t>(kSessionShapesMax); ++rows) LoadRows(rows);
  EXPECT_FALSE(planned.expired());
  EXPECT_TRUE(bound.expired());
}

TEST_F(SessionTest, MoreThreadsThanThereAreAreCutAndThatIsSaid) {
  const int threads = OpenCpu(kThreadsMax)->device().threads;
  ASSERT_LT(threads, kThreadsMax);
  Open({2}, {.threads = kThreadsMax});
  ASSERT_NE(session_, nullptr);
  EXPECT_EQ(session_->plan().threads, threads);
  EXPECT_THAT(
      session_->plan().explanation,
      testing::HasSubstr(absl::StrCat("; of the 1024 threads asked for there are ", threads)));
  Open({2}, {.threads = 1});
  ASSERT_NE(session_, nullptr);
  EXPECT_THAT(session_->plan().explanation, testing::Not(testing::HasSubstr("asked for")));
}

TEST_F(SessionTest, PlansOfAnotherDeviceOfItsInstructionsAreLoaded) {
  const std::string set = OpenCpu(1)->device().instruction_set;
  Open({2, 4}, {.threads = 1}, [&](Plan* plan) {
    plan->device_fingerprint = absl::StrCat("cpu;_Theirs;_gcc;_", set, ";_threads=1");
  });
  ASSERT_NE(session_, nullptr);
  EXPECT_EQ(session_->plan().reason, PlanReason::kSameInstructionSet);
  EXPECT_EQ(session_->further_plans(), 1u);
}

TEST_F(SessionTest, APlanThatCannotBeLoadedIsLeftOut) {
  bool is_first = true;
  Open({2, 4, 8}, {.threads = 1}, [&](Plan* plan) {
    if (!std::exchange(is_first, false)) plan->steps[0].kernel.family = "frob";
  });
  ASSERT_NE(session_, nullptr);
  EXPECT_EQ(session_->further_plans(), 0u);
  EXPECT_FALSE(LoadRows(4).expired()) << "bound to the one that can";
}

TEST_F(SessionTest, AShapeThatIsGivenNeedsNoOtherPlan) {
  Open({2, 4, 8}, {.threads = 1, .shapes = {{"x", {4, 8}}}});
  ASSERT_NE(session_, nullptr);
  EXPECT_EQ(session_->further_plans(), 0u);
}

TEST_F(SessionTest, PlansThatAreNotWantedAreNotLoaded) {
  Open({2, 4}, {.threads = 1, .ignores_plan = true, .shapes = {}});
  ASSERT_NE(session_, nullptr);
  EXPECT_EQ(session_->further_plans(), 0u);
}

// Each would take memory, and a file may be a stranger's.
TEST_F(SessionTest, NoMorePlansAreLoadedThanARangeHas) {
  std::vector<int64_t> rows;
  for (int64_t i = 1; i <= 40; ++i) rows.push_back(i);
  Open(rows);
  ASSERT_NE(session_, nullptr);
  EXPECT_EQ(session_->further_plans(), kSessionPlansMax);
}

}  // namespace
}  // namespace plait
