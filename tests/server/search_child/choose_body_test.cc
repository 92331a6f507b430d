#include "server/search_child/choose_body.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

v1::Digest Named(const std::string& name) {
  v1::Digest digest;
  digest.set_sha256_hex(name);
  digest.set_size_bytes(1);
  return digest;
}

// Answers with times that were fixed before: of each runtime, how much longer than 1 ms each model
// takes, and whether its outputs are right.
class FakeRuntimes : public RuntimeSource {
 public:
  struct Model {
    double factor = 1;
    Verdict verdict = Verdict::kEquivalent;
    std::string error = {};
  };
  std::map<std::string, std::map<std::string, Model>> models;
  std::map<std::string, std::map<std::string, Model>> later;  // than a runtime's first answer
  double seconds_left = 100;
  double seconds_later = 100;      // than the first answer of any
  std::vector<std::string> asked;  // "runtime: models, rounds at least"

  const std::vector<std::string>& runtimes() const override {
    names_.clear();
    for (const auto& [name, of_runtime] : models) names_.push_back(name);
    return names_;
  }
  bool has_session() const override { return false; }
  double SecondsLeft() override { return asked.empty() ? seconds_left : seconds_later; }

  absl::StatusOr<RuntimeMeasurement> Measure(const std::string& runtime,
                                             const std::vector<v1::Digest>& digests,
                                             const RuntimeBatch& batch) override {
    RuntimeMeasurement measurement;
    measurement.runtime = runtime;
    std::string names;
    for (const v1::Digest& digest : digests) {
      names += digest.sha256_hex();
      const Model& model = ModelOf(runtime, digest.sha256_hex());
      CandidateMeasurement& one = measurement.models.emplace_back();
      one.candidate = digest.sha256_hex();
      one.error = model.error;
      one.equivalence.verdict = model.verdict;
      if (!model.error.empty()) continue;
      for (int load = 0; load < batch.loads; ++load) {
        one.load_rounds.push_back(batch.rounds);
        for (int i = 0; i < batch.rounds; ++i) one.latency_us.push_back(1000 * model.factor);
      }
    }
    asked.push_back(runtime + ": " + names);
    answered_.insert(runtime);
    return measurement;
  }

  absl::StatusOr<RuntimeMeasurement> Skip(const std::string& runtime,
                                          const std::string& reason) override {
    RuntimeMeasurement measurement;
    measurement.runtime = runtime;
    measurement.models.resize(1);
    measurement.models[0].error = reason;
    return measurement;
  }

 private:
  const Model& ModelOf(const std::string& runtime, const std::string& name) {
    const bool is_later = answered_.contains(runtime) && later[runtime].contains(name);
    return is_later ? later[runtime][name] : models[runtime][name];
  }

  std::set<std::string> answered_;
  mutable std::vector<std::string> names_;
};

class ChooseBodyTest : public testing::Test {
 protected:
  BodyChoice Choose(const std::vector<std::string>& names) {
    std::vector<v1::Digest> models;
    for (const std::string& name : names) {
      models.push_back(Named(name));
      models.back().set_size_bytes(model_bytes_);
    }
    log_ = MeasurementLog();
    const absl::StatusOr<BodyChoice> choice = ChooseBody(models, options_, runtimes_, log_);
    EXPECT_TRUE(choice.ok()) << choice.status();
    if (choice.ok() && replays_) ExpectReplayed(models, *choice);
    return choice.ok() ? *choice : BodyChoice();
  }

  // Through its text, as a client gets it.
  void ExpectReplayed(const std::vector<v1::Digest>& models, const BodyChoice& choice) {
    const absl::StatusOr<MeasurementLog> read = MeasurementLog::Parse(log_.ToText());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, log_);
    const std::unique_ptr<RuntimeSource> source = MakeLoggedRuntimes(*read);
    MeasurementLog log_of_replay;
    const absl::StatusOr<BodyChoice> replayed =
        ChooseBody(models, options_, *source, log_of_replay);
    ASSERT_TRUE(replayed.ok()) << replayed.status();
    EXPECT_EQ(replayed->model, choice.model);
    ASSERT_EQ(replayed->decisions.size(), choice.decisions.size());
    for (size_t i = 0; i < choice.decisions.size(); ++i) {
      EXPECT_EQ(replayed->decisions[i].note, choice.decisions[i].note);
      EXPECT_EQ(replayed->decisions[i].model, choice.decisions[i].model);
    }
    EXPECT_EQ(log_of_replay.runtime_measurements(), log_.runtime_measurements());
  }

  int64_t model_bytes_ = 1000;
  BodyChooserOptions options_ = {.latency_us = 1000, .load_effect = {0.003, 20}};
  FakeRuntimes runtimes_;
  MeasurementLog log_;
  bool replays_ = true;
};

TEST_F(ChooseBodyTest, AModelThatIsFasterInAllRuntimesIsChosen) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.9}}}}, {"b", {{"o", {}}, {"x", {0.95}}}}};
  const BodyChoice choice = Choose({"o", "x"});
  EXPECT_EQ(choice.model, 1);
  ASSERT_THAT(choice.decisions, SizeIs(2));
  EXPECT_NEAR(choice.decisions[0].speedup.median, 1 / 0.9, 1e-6);
  EXPECT_NEAR(choice.decisions[1].speedup.median, 1 / 0.95, 1e-6);
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: ox", "b: ox"));
}

TEST_F(ChooseBodyTest, OneThatIsSlowerInAnyIsNot) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}}}, {"b", {{"o", {}}, {"x", {1.01}}}}};
  const BodyChoice choice = Choose({"o", "x"});
  EXPECT_EQ(choice.model, 0);
  for (const RuntimeDecision& decision : choice.decisions) {
    EXPECT_EQ(decision.speedup.median, 1);
    EXPECT_EQ(decision.model, decision.original);
  }
}

TEST_F(ChooseBodyTest, OneWithinTheNoiseIsNot) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.999}}}}};
  EXPECT_EQ(Choose({"o", "x"}).model, 0);
}

TEST_F(ChooseBodyTest, TheFinalistIsTheOneThatNoRuntimeDislikes) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}, {"y", {0.9}}, {"z", {1.1}}}},
                      {"b", {{"o", {}}, {"x", {1.2}}, {"y", {0.9}}, {"z", {0.8}}}}};
  EXPECT_EQ(Choose({"o", "x", "y", "z"}).model, 2);
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: oxyz", "b: oxyz", "a: oy", "b: oy"));
}

TEST_F(ChooseBodyTest, OfTwoTheOneThatNoRuntimeDislikesIsReturned) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}, {"y", {0.9}}}},
                      {"b", {{"o", {}}, {"x", {1.2}}, {"y", {0.9}}}}};
  EXPECT_EQ(Choose({"o", "x", "y"}).model, 2);
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: oxy", "b: oxy"));
}

TEST_F(ChooseBodyTest, TwoFinalistsRunBesideTheOriginal) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.9}}, {"y", {0.88}}, {"z", {0.91}}}},
                      {"b", {{"o", {}}, {"x", {0.9}}, {"y", {0.95}}, {"z", {0.92}}}}};
  const BodyChoice choice = Choose({"o", "x", "y", "z"});
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: oxyz", "b: oxyz", "a: oxz", "b: oxz"));
  EXPECT_EQ(choice.model, 1);
  EXPECT_NEAR(choice.decisions[1].speedup.median, 1 / 0.9, 1e-6);
}

TEST_F(ChooseBodyTest, TheRunnerUpIsReturnedWhereTheFirstIsNot) {
  // Short runs of b like x better, the deciding rounds do not.
  for (const char* runtime : {"a", "b"}) {
    runtimes_.models[runtime] = {{"o", {}}, {"x", {0.9}}, {"y", {0.92}}, {"z", {1}}};
  }
  runtimes_.later = {{"b", {{"x", {1.1}}}}};
  const BodyChoice choice = Choose({"o", "x", "y", "z"});
  EXPECT_EQ(choice.model, 2);
  ASSERT_THAT(choice.decisions, SizeIs(2));
  for (const RuntimeDecision& decision : choice.decisions) {
    EXPECT_EQ(decision.model.candidate, "y");
    EXPECT_NEAR(decision.speedup.median, 1 / 0.92, 1e-6);
  }
}

TEST_F(ChooseBodyTest, WhereBothFinalistsFailTheOriginalIsReturned) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.9}}, {"y", {0.92}}, {"z", {1}}}}};
  runtimes_.later = {{"a", {{"x", {1.1}}, {"y", {1.1}}}}};
  const BodyChoice choice = Choose({"o", "x", "y", "z"});
  EXPECT_EQ(choice.model, 0);
  EXPECT_EQ(choice.decisions[0].model, choice.decisions[0].original);
}

TEST_F(ChooseBodyTest, OneThatIsFarBehindIsNoFinalist) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.9}}, {"y", {0.8}}, {"z", {0.95}}}}};
  EXPECT_EQ(Choose({"o", "x", "y", "z"}).model, 2);
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: oxyz", "a: oy"));
}

TEST_F(ChooseBodyTest, WithTimeForOneFinalistTheBestIsDecidedAbout) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.92}}, {"y", {0.9}}, {"z", {1}}}}};
  runtimes_.seconds_later = 3;
  const BodyChoice choice = Choose({"o", "x", "y", "z"});
  EXPECT_EQ(choice.model, 2);
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: oxyz", "a: oy"));
}

TEST_F(ChooseBodyTest, WithoutTimeToChooseTheFirstAreDecidedAbout) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.9}}, {"y", {0.8}}, {"z", {0.5}}}}};
  runtimes_.seconds_left = 6;
  EXPECT_EQ(Choose({"o", "x", "y", "z"}).model, 2);
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: oxy"));
  runtimes_.asked.clear();
  runtimes_.seconds_left = 3;
  EXPECT_EQ(Choose({"o", "x", "y", "z"}).model, 1);
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: ox"));
}

TEST_F(ChooseBodyTest, OutputsThatDifferOrProveNothingAreNotReturned) {
  for (const Verdict verdict : {Verdict::kDifferent, Verdict::kInconclusive}) {
    runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5, verdict}}}}};
    EXPECT_EQ(Choose({"o", "x"}).model, 0);
  }
}

TEST_F(ChooseBodyTest, AModelThatCrashesARuntimeIsNotReturned) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}}},
                      {"b", {{"o", {}}, {"x", {.error = "crashed"}}}}};
  EXPECT_EQ(Choose({"o", "x"}).model, 0);
}

TEST_F(ChooseBodyTest, ARuntimeThatCannotRunTheOriginalHasNoSay) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}}},
                      {"b", {{"o", {.error = "no such operator"}}, {"x", {.error = "not run"}}}}};
  const BodyChoice choice = Choose({"o", "x"});
  EXPECT_EQ(choice.model, 1);
  EXPECT_EQ(choice.decisions[1].note, "no such operator");
  runtimes_.models.erase("a");
  EXPECT_EQ(Choose({"o", "x"}).model, 0);
}

TEST_F(ChooseBodyTest, WhereARuntimeDidNotAnswerNothingIsRisked) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}}},
                      {"b", {{"o", {.error = kRuntimeSilent}}, {"x", {.error = kRuntimeSilent}}}}};
  const BodyChoice choice = Choose({"o", "x"});
  EXPECT_EQ(choice.model, 0);
  EXPECT_EQ(choice.decisions[1].note, kRuntimeSilent);
}

TEST_F(ChooseBodyTest, AGivenBodyIsMeasuredAndKept) {
  options_.is_given = true;
  runtimes_.models = {{"a", {{"o", {}}, {"x", {1.5}}}}};
  const BodyChoice choice = Choose({"o", "x"});
  EXPECT_EQ(choice.model, 1);
  EXPECT_LT(choice.decisions[0].speedup.high, 1);
}

TEST_F(ChooseBodyTest, WithoutTimeTheOriginalIsReturnedAndTheLogSaysSo) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}}}};
  runtimes_.seconds_left = 0;
  const BodyChoice choice = Choose({"o", "x"});
  EXPECT_EQ(choice.model, 0);
  EXPECT_FALSE(choice.decisions[0].note.empty());
  EXPECT_THAT(runtimes_.asked, IsEmpty());
}

TEST_F(ChooseBodyTest, WithLittleTimeTheOriginalAloneIsMeasured) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}}}};
  runtimes_.seconds_left = 1.5;
  const BodyChoice choice = Choose({"o", "x"});
  EXPECT_EQ(choice.model, 0);
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: o"));
  EXPECT_FALSE(choice.decisions[0].original.latency_us.empty());
  EXPECT_FALSE(choice.decisions[0].note.empty());
}

// As gpt2 in a job of a minute: comparing in the first one left nothing for the second.
TEST_F(ChooseBodyTest, OfALargeModelTheOriginalIsTimedInEveryRuntime) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}}}, {"b", {{"o", {}}, {"x", {0.5}}}}};
  options_.latency_us = 25'000;
  model_bytes_ = 500'000'000;
  runtimes_.seconds_left = 10;
  runtimes_.seconds_later = 5;
  const BodyChoice choice = Choose({"o", "x", "y", "z"});
  EXPECT_EQ(choice.model, 0);
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: o", "b: o"));
  for (const RuntimeDecision& decision : choice.decisions) {
    EXPECT_FALSE(decision.original.latency_us.empty());
  }
}

// That is measured at the end (MeasureWhole).
TEST_F(ChooseBodyTest, TimeIsKeptForTheWhole) {
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}}}};
  runtimes_.seconds_left = 4;
  EXPECT_EQ(Choose({"o", "x"}).model, 1);
  runtimes_.asked.clear();
  options_.keeps_time = true;
  EXPECT_EQ(Choose({"o", "x"}).model, 0);
  EXPECT_THAT(runtimes_.asked, ElementsAre("a: o"));
}

TEST_F(ChooseBodyTest, ALogOfAnotherJobIsRefused) {
  replays_ = false;
  runtimes_.models = {{"a", {{"o", {}}, {"x", {0.5}}}}};
  Choose({"o", "x"});
  const std::vector<std::vector<v1::Digest>> others = {
      {Named("o")}, {Named("o"), Named("y")}, {Named("o"), Named("y"), Named("x")}};
  for (const std::vector<v1::Digest>& models : others) {
    const std::unique_ptr<RuntimeSource> source = MakeLoggedRuntimes(log_);
    MeasurementLog again;
    EXPECT_TRUE(absl::IsInvalidArgument(ChooseBody(models, options_, *source, again).status()));
  }
}

}  // namespace
}  // namespace plait
