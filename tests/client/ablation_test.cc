#include "client/ablation.h"

#include <gtest/gtest.h>

#include "tests/proto/wire/example_report.h"

namespace plait {
namespace {

std::vector<AblationRow> Rows() {
  std::vector<AblationRow> rows = {{"normal_form", "nimble", ExampleReport()},
                                   {"plait", "greedy", ExampleReport()}};
  rows[0].report.mutable_optimized()->set_origin("baseline");
  rows[1].report.mutable_optimized()->set_origin("searched");
  rows[1].report.mutable_optimized()->set_predicted_us(48);
  return rows;
}

TEST(AblationTest, PrintsALineForEachPair) {
  EXPECT_EQ(AblationTable(Rows()),
            "search      schedule    as           speedup                       ms predicted ms  "
            "search s candidates rewrites\n"
            "normal_form nimble      Nimble       1, the original            0.050        0.000  "
            "    0.50          7        2\n"
            "plait       greedy                   2.002 [1.900, 2.100]       0.050        0.048  "
            "    0.50          7        2\n");
}

TEST(AblationTest, ADescribedDeviceHasNoLatencies) {
  std::vector<AblationRow> rows = Rows();
  rows[1].report.mutable_device()->set_predicted(true);
  rows[1].report.mutable_optimized()->clear_latency_us_median();
  EXPECT_NE(AblationTable(rows).find("2.002, predicted               -        0.048"),
            std::string::npos)
      << AblationTable(rows);
  EXPECT_TRUE(AblationJson("model.onnx", rows)["rows"][1]["latency_us_median"].is_null());
}

TEST(AblationTest, WritesJsonForScripts) {
  const Json json = AblationJson("model.onnx", Rows());
  EXPECT_EQ(json["model"], "model.onnx");
  ASSERT_EQ(json["rows"].size(), 2);
  EXPECT_EQ(json["rows"][0]["system"], "Nimble");
  EXPECT_TRUE(json["rows"][1]["system"].is_null());
  EXPECT_EQ(json["rows"][1]["speedup_low"], 1.9);
  EXPECT_EQ(json["rows"][1]["rules_applied"], 2);
  EXPECT_EQ(json["rows"][1]["search_seconds"], 0.5);
}

TEST(AblationTest, NamesTheSystemsOfThePaper) {
  EXPECT_EQ(SystemOf("normal_form", "sequential"), "JIT");
  EXPECT_EQ(SystemOf("taso", "nimble"), "TASO+Nimble");
  EXPECT_EQ(SystemOf("normal_form", "ios"), "IOS");
  // The baseline, which no policy schedules.
  EXPECT_EQ(SystemOf("none", "ios"), "");
  EXPECT_EQ(SystemOf("autograph", "greedy"), "");
}

}  // namespace
}  // namespace plait
