#include "optimizer/cost/measurement_log.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "optimizer/cost/replaying_profiler.h"

namespace plait {
namespace {

// A key that awkward text has got into.
ProfileKey KeyOf(const std::string& family) {
  ProfileKey key;
  key.device_fingerprint = "cpu\tof many \"words\"";
  key.family = family;
  return key;
}

MeasurementLog SampleLog() {
  MeasurementLog log;
  Profile profile{0.1, 1e-300,  12345.678901234567,   20, int64_t{1} << 60,
                  -1,  1.0 / 3, {1e5 / 3, 0.1, 1e-17}};
  log.AddProfile(KeyOf("a").ToString(), profile);
  profile.implementation = "strict/one\tof, many";
  profile.workspace_bytes = int64_t{1} << 40;
  log.AddProfile(KeyOf("b").ToString(), profile);
  CandidateMeasurement baseline{"id\twith\ntab", {0.1, 0.2, 1e9}, {2, 1}, {}, 0, {7, 1.0 / 3}, ""};
  const double infinity = std::numeric_limits<double>::infinity();
  CandidateMeasurement other{
      "b", {}, {}, {Verdict::kDifferent, 0.5, 1.0 / 7, 3, 0.1, true}, 2, {}, "it \"fell\"\n"};
  other.equivalence.outputs = {{0.5, 1.0 / 7, 1e-300, 0.25}, {0.1, infinity, infinity, infinity}};
  other.equivalence.exact_ratio = 1.0 / 3;
  baseline.step_variants = {"", "strict/one\tof, many", "strict/parts:a|b"};
  log.AddVerification({baseline, other});
  log.AddVerification({});
  baseline.clock = {1755, 1980, 12, 1, {"power", "clocks of \"many\""}};
  other.clock = {1, 1, 0, 0, {}};
  CandidateMeasurement lone = other;
  lone.step_variants = {""};
  log.AddVerification({baseline, other, lone});
  log.AddErrorMeasurement({"b\t", {0, 7}, {{0.1, 1.0 / 3, 1e-300, 5}, {}}});
  log.AddErrorMeasurement({"b\t", {8}, {}});
  log.AddRehearsal({{"b", "c"}, {{1.0 / 3, 0}, {}}});
  log.AddRehearsal({{"b"}, {{7}}});
  log.set_exhausted_at_step(7);
  log.AddTimeAnswer(true);
  log.AddTimeAnswer(false);
  log.set_yardsticks({2e5 / 3, 1.0 / 7, 0});
  log.set_load_effect({1.0 / 30, 20});
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
        text + "verification\t3\n", text + "profile\tkey\tone\n",
        text + "profile\tkey\t1\t1\t1\t5\t1\t1\t1\t9\t9\t0\tname\n", text + "time_answers\t012\n",
        text + "load_effect\tnan\t20\n", text + "load_effect\t0.1\t-1\n",
        text + "yardsticks\t1\t2\n", text + "yardsticks\t-1\t2\t0\n",
        text + "yardsticks\t1\tinf\t0\n"}) {
    const absl::StatusOr<MeasurementLog> parsed = MeasurementLog::Parse(broken);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(parsed.status().message()).find("line"), std::string::npos);
  }
}

// Whoever asks for a replay names the log: the simulator would never end with such a share.
TEST(MeasurementLogTest, RefusesTimesAndSharesThatNothingHas) {
  const auto parse = [](const std::string& fields) {
    const std::string header = "plait-measurement-log 8\n";
    return MeasurementLog::Parse(header + "profile\tkey\t" + fields + "\n").status();
  };
  EXPECT_EQ(parse("1\t1\t1\t5\t1\t1\t1\t9\t9\t0"), absl::OkStatus());
  for (const char* fields : {"inf\t1\t1\t5\t1\t1\t1\t9\t9\t0", "nan\t1\t1\t5\t1\t1\t1\t9\t9\t0",
                             "-1\t1\t1\t5\t1\t1\t1\t9\t9\t0", "1\t1\t1\t5\t1\t1\tinf\t9\t9\t0",
                             "1\t1\t1\t5\t1\t1\t1.5\t9\t9\t0", "1\t1\t1\t5\t1\t1\t1\t-9\t9\t0",
                             "1\t1\t1\t5\t1\t1\t1\t9\tinf\t0", "1\t1\t1\t5\t1\t1\t1",
                             "9e307\t1\t1\t5\t1\t1\t1\t9\t9\t0"}) {
    EXPECT_EQ(parse(fields).code(), absl::StatusCode::kInvalidArgument) << fields;
  }
}

TEST(MeasurementLogTest, RefusesLoadsAndOutputsThatAreNone) {
  const auto parse = [](const std::string& loads, const std::string& outputs) {
    return MeasurementLog::Parse("plait-measurement-log 8\nverification\t1\ncandidate\tb\t1\t" +
                                 loads + "\tequivalent\t0\t0\t0\t3\t0\t" + outputs + "\t0\t\n")
        .status();
  };
  EXPECT_EQ(parse("7", "0,0,0,0;1,inf,inf,inf"), absl::OkStatus());
  EXPECT_EQ(parse("7", "0,0,0;1,inf,inf"), absl::OkStatus()) << "of a plait of before";
  EXPECT_EQ(parse("", ""), absl::OkStatus());
  for (const char* loads : {"nan", "inf", "1,", "x"}) {
    EXPECT_EQ(parse(loads, "").code(), absl::StatusCode::kInvalidArgument) << loads;
  }
  std::string too_many = "0,0,0";
  for (int i = 0; i < kOutputErrorsMax; ++i) too_many += ";0,0,0";
  for (const std::string& outputs :
       {std::string("0,0"), std::string("0,0,0,0,0"), std::string(";"), too_many}) {
    EXPECT_EQ(parse("", outputs).code(), absl::StatusCode::kInvalidArgument) << outputs;
  }
}

TEST(MeasurementLogTest, RefusesClocksThatNothingHas) {
  const auto parse = [](const std::string& fields) {
    return MeasurementLog::Parse("plait-measurement-log 8\nverification\t1\ncandidate\tb\t1\t7\t" +
                                 ("equivalent\t0\t0\t0\t3\t0\t\t0\t\t0\t" + fields) + "\n")
        .status();
  };
  EXPECT_EQ(parse("a\\nb\t2\t1755\t1980\t5\t0\tpower"), absl::OkStatus());
  EXPECT_EQ(parse("\t0\t1755\t1980\t5\t0\t"), absl::OkStatus());
  for (const char* fields :
       {"a\\nb\t3\t1755\t1980\t5\t0\tpower", "a\t0\t1755\t1980\t5\t0\t", "a\t1\t0\t1980\t5\t0\t",
        "a\t1\t1755\t1980\t5\t6\t", "a\t1\t1755\t1980\t5", "a\t1\t1755\t1980\t5\t0\ta\\nb",
        "a\t1\tx\t1980\t5\t0\t"}) {
    EXPECT_EQ(parse(fields).code(), absl::StatusCode::kInvalidArgument) << fields;
  }
}

TEST(MeasurementLogTest, RefusesStepsAndTheirErrorsThatAreNone) {
  const auto parse = [](const std::string& fields) {
    return MeasurementLog::Parse("plait-measurement-log 8\nstep_errors\tb\t" + fields + "\n")
        .status();
  };
  EXPECT_EQ(parse("0,3\t0,0,0,0;1,1,1,1"), absl::OkStatus());
  EXPECT_EQ(parse("0,3\t"), absl::OkStatus());
  for (const char* fields :
       {"", "0", "\t", "x\t0,0,0,0", "-1\t0,0,0,0", "3,3\t", "3,0\t", "0\t0,0,0", "0\t0,0,0,0,0",
        "0\t0,0,0,0;1,1,1,1", "0,3\t0,0,0,0", "0\t-1,0,0,0", "0\tnan,0,0,0", "0\t0,inf,0,0"}) {
    EXPECT_EQ(parse(fields).code(), absl::StatusCode::kInvalidArgument) << fields;
  }
}

TEST(MeasurementLogTest, RefusesTimesOfStepsThatAreNone) {
  const auto parse = [](const std::string& fields) {
    return MeasurementLog::Parse("plait-measurement-log 8\nrehearsal\t" + fields + "\n").status();
  };
  EXPECT_EQ(parse("a,b\t0,1;2,3"), absl::OkStatus());
  EXPECT_EQ(parse("a,b\t0,1;"), absl::OkStatus());
  for (const char* fields : {"", "a", "a,b\t1", "a\t1;2", "a\t-1", "a\tinf", "a\t1,x"}) {
    EXPECT_EQ(parse(fields).code(), absl::StatusCode::kInvalidArgument) << fields;
  }
}

TEST(MeasurementLogTest, RefusesALogOfAnOlderVersionByName) {
  const absl::Status status = MeasurementLog::Parse("plait-measurement-log 7\n").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("plait-measurement-log 8"), std::string::npos);
}

TEST(ReplayingProfilerTest, AnswersOnlyFromTheLog) {
  const MeasurementLog log = SampleLog();
  ReplayingProfiler profiler(log);
  const auto known = profiler.Measure({{KeyOf("a")}});
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->front(), *log.FindProfile(KeyOf("a").ToString()));
  EXPECT_EQ(profiler.Measure({{KeyOf("unknown")}}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*profiler.ReadYardsticks(), log.yardsticks());
}

}  // namespace
}  // namespace plait
