#include "optimizer/cost/profile.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "optimizer/cost/measurement_log.h"
#include "optimizer/cost/profile_cache.h"

namespace plait {
namespace {

ProfileKey SampleKey(const std::string& family) {
  ProfileKey key;
  key.device_fingerprint = "cpu\tof many \"words\"";
  key.family = family;
  key.graph_text = "graph {\n  input %i0: float32[4]\n  output %i0\n}\n";
  key.formats = "plain,plain";
  return key;
}

void Change(std::string& field) { field += "x"; }
void Change(int& field) { ++field; }
void Change(bool& field) { field = !field; }

TEST(ProfileKeyTest, ChangingAnyFieldChangesTheText) {
  std::set<std::string> texts = {SampleKey("conv").ToString()};
  int field_count = 0;
  ProfileKey sample = SampleKey("conv");
  ProfileKey::VisitFields(sample, [&](absl::string_view, const auto&) { ++field_count; });
  EXPECT_EQ(field_count, 8);
  for (int changed = 0; changed < field_count; ++changed) {
    ProfileKey key = SampleKey("conv");
    int index = 0;
    ProfileKey::VisitFields(key, [&](absl::string_view, auto& field) {
      if (index++ == changed) Change(field);
    });
    EXPECT_TRUE(texts.insert(key.ToString()).second) << "field " << changed;
  }
}

TEST(ProfileKeyTest, IsOneLineWhateverTheFieldsHold) {
  EXPECT_EQ(SampleKey("a\nb").ToString().find('\n'), std::string::npos);
}

TEST(ProfileKeyTest, FieldBordersCannotBeForged) {
  ProfileKey first = SampleKey("a");
  ProfileKey second = SampleKey("a\tvariant=b");
  first.variant = "b";
  EXPECT_NE(first.ToString(), second.ToString());
}

// Answers with the number of requests so far as the latency.
class CountingProfiler : public Profiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override {
    ++batches;
    std::vector<Profile> profiles;
    for (const ProfileRequest& request : requests) {
      families.push_back(request.key.family);
      Profile profile;
      profile.latency_us_median = static_cast<double>(families.size());
      profile.samples = 5;
      profiles.push_back(profile);
    }
    if (forgets_one) profiles.pop_back();
    return profiles;
  }

  int batches = 0;
  bool forgets_one = false;
  std::vector<std::string> families;
};

class ProfileDbTest : public testing::Test {
 protected:
  MeasurementLog log_;
  CountingProfiler profiler_;
  ProfileCache db_{profiler_, log_};
};

TEST_F(ProfileDbTest, MeasuresEachMissingKeyOnceInOneSortedBatch) {
  ASSERT_TRUE(db_.Resolve({{{1, 0}, SampleKey("c")},
                           {{2, 0}, SampleKey("a")},
                           {{3, 0}, SampleKey("b")},
                           {{2, 0}, SampleKey("a")}})
                  .ok());
  EXPECT_EQ(profiler_.batches, 1);
  EXPECT_EQ(profiler_.families, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(db_.profiles_measured(), 3);
  ASSERT_TRUE(db_.Resolve({{{1, 0}, SampleKey("c")}}).ok());
  EXPECT_EQ(profiler_.batches, 1);
  EXPECT_EQ(db_.Find({1, 0})->latency_us_median, 3);
}

TEST_F(ProfileDbTest, AnswersFromLoadedProfilesAndCountsThemOnlyWhenAsked) {
  Profile known;
  known.latency_us_median = 42;
  known.samples = 9;
  db_.Load(SampleKey("a").ToString(), known);
  EXPECT_EQ(db_.Find({1, 0}), nullptr);
  EXPECT_EQ(db_.profiles_cached(), 0);
  ASSERT_TRUE(db_.Resolve({{{1, 0}, SampleKey("a")}}).ok());
  EXPECT_EQ(db_.Find({1, 0})->latency_us_median, 42);
  EXPECT_EQ(db_.profiles_cached(), 1);
  EXPECT_EQ(db_.profiles_measured(), 0);
  EXPECT_NE(log_.FindProfile(SampleKey("a").ToString()), nullptr);
}

TEST_F(ProfileDbTest, RejectsAProfilerThatAnswersTooLittle) {
  profiler_.forgets_one = true;
  EXPECT_EQ(db_.Resolve({{{1, 0}, SampleKey("a")}}).code(), absl::StatusCode::kInternal);
}

MeasurementLog SampleLog() {
  MeasurementLog log;
  Profile profile{0.1, 1e-300, 12345.678901234567, 20, int64_t{1} << 60, -1, 1.0 / 3};
  log.AddProfile(SampleKey("a").ToString(), profile);
  CandidateMeasurement baseline{"id\twith\ntab", {0.1, 0.2, 1e9}, {}, 0, ""};
  CandidateMeasurement other{"b", {}, {Verdict::kDifferent, 0.5, 1.0 / 7, 3}, 2, "it \"fell\"\n"};
  log.AddVerification({baseline, other});
  log.AddVerification({});
  log.set_exhausted_at_step(7);
  return log;
}

TEST(MeasurementLogTest, TextParsesBackToTheSameBits) {
  const absl::StatusOr<MeasurementLog> parsed = MeasurementLog::Parse(SampleLog().ToText());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, SampleLog());
  EXPECT_EQ(parsed->ToText(), SampleLog().ToText());
}

TEST(MeasurementLogTest, BrokenTextIsRefusedNamingTheLine) {
  const std::string text = SampleLog().ToText();
  for (const std::string& broken :
       {std::string(), std::string("something else\n"), text + "nonsense\n",
        text + "verification\t3\n", text + "profile\tkey\tone\n"}) {
    const absl::StatusOr<MeasurementLog> parsed = MeasurementLog::Parse(broken);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(parsed.status().message()).find("line"), std::string::npos);
  }
}

TEST(ReplayingProfilerTest, AnswersOnlyFromTheLog) {
  const MeasurementLog log = SampleLog();
  ReplayingProfiler profiler(log);
  const auto known = profiler.Measure({{SampleKey("a")}});
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->front(), *log.FindProfile(SampleKey("a").ToString()));
  EXPECT_EQ(profiler.Measure({{SampleKey("b")}}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace plait
