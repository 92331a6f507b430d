#include "optimizer/search/budgeted_profiles.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

// Allows a number of steps, and remembers which it was asked about.
class CountedBudget : public Budget {
 public:
  explicit CountedBudget(int64_t steps) : steps_(steps) {}
  bool Allows(int64_t step) override {
    asked.push_back(step);
    return step < steps_;
  }

  std::vector<int64_t> asked;

 private:
  int64_t steps_;
};

// Queries number `first` to `end` - 1; their keys sort in the opposite order.
std::vector<ProfileQuery> Queries(int first, int end) {
  std::vector<ProfileQuery> queries;
  for (int i = first; i < end; ++i) {
    ProfileKey key;
    key.family = absl::StrFormat("fake%03d", 999 - i);
    key.graph_text = "graph {\n input %x: float32[4]\n %y = Relu(%x) {}\n output %y\n}";
    queries.push_back({Fingerprint{static_cast<uint64_t>(i), 0}, key});
  }
  return queries;
}

class BudgetedProfilesTest : public testing::Test {
 protected:
  MeasurementLog log_;
  FakeProfiler profiler_;
  ProfileCache cache_{profiler_, log_};
};

TEST_F(BudgetedProfilesTest, ABatchOf16KeysIsOneStep) {
  struct Case {
    int queries;
    int steps;
  };
  int first = 0;
  for (const Case test : {Case{0, 0}, {1, 1}, {16, 1}, {17, 2}, {34, 3}}) {
    CountedBudget budget(1000);
    BudgetedProfiles profiles(cache_, budget, log_);
    profiler_.batches = 0;
    ASSERT_TRUE(profiles.Resolve(Queries(first, first + test.queries)).ok());
    EXPECT_EQ(budget.asked.size(), static_cast<size_t>(test.steps)) << test.queries;
    EXPECT_EQ(profiler_.batches, test.steps) << test.queries;
    EXPECT_FALSE(profiles.exhausted());
    for (int i = first; i < first + test.queries; ++i) {
      EXPECT_NE(cache_.Find(Fingerprint{static_cast<uint64_t>(i), 0}), nullptr);
    }
    first += test.queries;
  }
}

TEST_F(BudgetedProfilesTest, MeasuresFirstWhatIsAskedForFirst) {
  CountedBudget budget(1);
  BudgetedProfiles profiles(cache_, budget, log_);
  ASSERT_TRUE(profiles.Resolve(Queries(0, 100)).ok());
  int first_unknown = 0;
  while (cache_.Find(Fingerprint{static_cast<uint64_t>(first_unknown), 0}) != nullptr) {
    ++first_unknown;
  }
  EXPECT_EQ(first_unknown, 16);
  // One batch is one request, whose order is that of the keys.
  EXPECT_TRUE(std::is_sorted(profiler_.measured.begin(), profiler_.measured.end()));
}

TEST_F(BudgetedProfilesTest, EqualKeysCountOnce) {
  std::vector<ProfileQuery> queries = Queries(0, 16);
  for (const ProfileQuery& query : Queries(0, 16)) queries.push_back(query);
  CountedBudget budget(1000);
  BudgetedProfiles profiles(cache_, budget, log_);
  ASSERT_TRUE(profiles.Resolve(queries).ok());
  EXPECT_EQ(budget.asked, (std::vector<int64_t>{0}));
}

TEST_F(BudgetedProfilesTest, EndsAtTheFirstNoForGood) {
  CountedBudget budget(1);
  BudgetedProfiles profiles(cache_, budget, log_);
  ASSERT_TRUE(profiles.Resolve(Queries(0, 130)).ok());
  EXPECT_TRUE(profiles.exhausted());
  EXPECT_EQ(profiler_.measured.size(), 16u);
  EXPECT_EQ(log_.exhausted_at_step(), 1);
  ASSERT_TRUE(profiles.Resolve(Queries(200, 201)).ok());
  EXPECT_EQ(profiler_.measured.size(), 16u);
  EXPECT_EQ(budget.asked, (std::vector<int64_t>{0, 1}));
}

TEST_F(BudgetedProfilesTest, WhatNoResultCanDoWithoutIsMeasuredAlways) {
  CountedBudget budget(0);
  BudgetedProfiles profiles(cache_, budget, log_);
  ASSERT_TRUE(profiles.Resolve(Queries(0, 1)).ok());
  ASSERT_TRUE(profiles.exhausted());
  ASSERT_TRUE(profiles.ResolveAll(Queries(0, 130)).ok());
  EXPECT_EQ(profiler_.measured.size(), 130u);
}

}  // namespace
}  // namespace plait
