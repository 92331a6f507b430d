#include "proto/wire/options.h"

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/limits.h"
#include "proto/wire/digest.h"
#include "tests/proto/wire/details.h"

namespace plait::wire {
namespace {

// An input's value of a few bytes.
v1::InputValue InputOf(const std::string& name) {
  v1::InputValue value;
  value.set_name(name);
  *value.mutable_blob() = DigestToProto(DigestOf("a value"));
  return value;
}

TEST(WireOptionsTest, FillsInDefaults) {
  const absl::StatusOr<v1::OptimizeOptions> options = CheckedOptions({});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->device(), "cpu");
  EXPECT_EQ(options->search(), "plait");
  EXPECT_EQ(options->schedule(), "plait");
  EXPECT_EQ(options->precision(), "strict");
  EXPECT_EQ(options->body(), "auto");
  EXPECT_FALSE(options->portable());
}

// Clients of before had no `body`, and always said what they wanted of `portable`.
TEST(WireOptionsTest, TakesTheBodyFromPortableWhereThatIsGiven) {
  v1::OptimizeOptions options;
  options.set_portable(false);
  EXPECT_EQ(CheckedOptions(options)->body(), "searched");
  EXPECT_FALSE(CheckedOptions(options)->portable());
  options.set_portable(true);
  EXPECT_EQ(CheckedOptions(options)->body(), "portable");
  EXPECT_TRUE(CheckedOptions(options)->portable());
}

TEST(WireOptionsTest, ChecksTheBody) {
  v1::OptimizeOptions options;
  options.set_body("portable");
  EXPECT_TRUE(CheckedOptions(options)->portable());
  options.set_portable(false);
  EXPECT_EQ(FieldOf(CheckedOptions(options).status()), "options.portable");
  options.set_body("original");
  EXPECT_FALSE(CheckedOptions(options)->portable());
  options.set_opset(17);
  EXPECT_EQ(FieldOf(CheckedOptions(options).status()), "options.opset");
  options.set_body("magic");
  EXPECT_EQ(CheckedOptions(options).status().message(),
            "options.body: must be one of auto, original, portable, searched, is \"magic\"");
}

TEST(WireOptionsTest, CheckedOptionsStayAsTheyAre) {
  for (const char* body : {"", "original", "portable", "searched"}) {
    v1::OptimizeOptions options;
    options.set_body(body);
    const v1::OptimizeOptions checked = *CheckedOptions(options);
    EXPECT_EQ(CheckedOptions(checked)->SerializeAsString(), checked.SerializeAsString());
  }
}

TEST(WireOptionsTest, RuntimesHaveAnOrderAndNoCopies) {
  v1::OptimizeOptions options;
  for (const char* name : {"plait", "onnxruntime", "plait"}) options.add_runtimes(name);
  const v1::OptimizeOptions checked = *CheckedOptions(options);
  ASSERT_EQ(checked.runtimes_size(), 2);
  EXPECT_EQ(checked.runtimes(0), "onnxruntime");
  EXPECT_EQ(checked.runtimes(1), "plait");
  options.add_runtimes("A b");
  EXPECT_EQ(FieldOf(CheckedOptions(options).status()), "options.runtimes");
}

TEST(WireOptionsTest, RefusesAnOptionThatItDoesNotKnow) {
  v1::OptimizeOptions options;
  options.GetReflection()->MutableUnknownFields(&options)->AddVarint(99, 1);
  const absl::Status status = CheckedOptions(options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(FieldOf(status), "options.99") << status;
}

// A precision that no kernel has would be accepted and do nothing.
TEST(WireOptionsTest, RefusesPrecisionsWithoutKernels) {
  v1::OptimizeOptions options;
  for (const char* precision : {"TF32", "fp8", "int8", "BF16", "bf16 ", "bf16,auto", "bfloat16"}) {
    options.set_precision(precision);
    EXPECT_EQ(
        CheckedOptions(options).status().message(),
        absl::StrCat("options.precision: must be one of strict, auto, tf32, fp16, bf16, is \"",
                     precision, "\""));
  }
  options.set_precision("bf16\n" + std::string(1000, 'x'));
  EXPECT_EQ(
      CheckedOptions(options).status().message(),
      absl::StrCat("options.precision: must be one of strict, auto, tf32, fp16, bf16, is \"bf16\\n",
                   std::string(75, 'x'), "\""));
}

TEST(WireOptionsTest, PrecisionsOfGpusSayHowMuchMayBeLost) {
  for (const auto& [precision, bound] : {std::pair("tf32", 1e-3), {"fp16", 1e-2}}) {
    v1::OptimizeOptions options;
    options.set_precision(precision);
    const v1::OptimizeOptions checked = *CheckedOptions(options);
    EXPECT_EQ(checked.precision(), precision);
    EXPECT_EQ(checked.max_rel_error(), bound);
    options.set_max_rel_error(3e-3);
    EXPECT_EQ(CheckedOptions(options)->max_rel_error(), 3e-3);
  }
}

TEST(WireOptionsTest, Bf16SaysHowMuchMayBeLost) {
  v1::OptimizeOptions options;
  options.set_precision("bf16");
  const v1::OptimizeOptions checked = *CheckedOptions(options);
  EXPECT_EQ(checked.precision(), "bf16");
  EXPECT_EQ(checked.max_rel_error(), 5e-2);
  options.set_max_rel_error(5e-2);
  EXPECT_EQ(OptionsHash(*CheckedOptions(options)), OptionsHash(checked));
  options.set_max_rel_error(1e-3);
  EXPECT_EQ(CheckedOptions(options)->max_rel_error(), 1e-3);
  for (const double error : {-1e-3, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    options.set_max_rel_error(error);
    EXPECT_EQ(FieldOf(CheckedOptions(options).status()), "options.max_rel_error") << error;
  }
}

TEST(WireOptionsTest, TakesAnErrorForAWishToLoseAccuracy) {
  v1::OptimizeOptions options;
  EXPECT_EQ(CheckedOptions(options)->precision(), "strict");
  options.set_max_rel_error(1e-5);
  EXPECT_EQ(CheckedOptions(options)->precision(), "auto");
  options.set_precision("strict");
  EXPECT_EQ(CheckedOptions(options)->precision(), "strict");
}

TEST(WireOptionsTest, AsksHowMuchMayBeLost) {
  v1::OptimizeOptions options;
  options.set_precision("auto");
  const absl::Status status = CheckedOptions(options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(FieldOf(status), "options.max_rel_error") << status;
}

TEST(WireOptionsTest, AcceptsEveryNameItLists) {
  v1::OptimizeOptions options;
  for (const auto name : SearchPolicies()) {
    options.set_search(std::string(name));
    EXPECT_TRUE(CheckedOptions(options).ok()) << name;
  }
  for (const auto name : SchedulePolicies()) {
    options.set_schedule(std::string(name));
    EXPECT_TRUE(CheckedOptions(options).ok()) << name;
  }
  options.set_max_rel_error(1e-3);
  for (const auto name : Precisions()) {
    options.set_precision(std::string(name));
    EXPECT_TRUE(CheckedOptions(options).ok()) << name;
  }
  for (const auto name : Bodies()) {
    options.set_body(std::string(name));
    EXPECT_TRUE(CheckedOptions(options).ok()) << name;
  }
}

TEST(WireOptionsTest, NamesTheAllowedPolicies) {
  v1::OptimizeOptions options;
  options.set_search("magic");
  EXPECT_EQ(CheckedOptions(options).status().message(),
            "options.search: must be one of none, normal_form, taso, autograph, plait, "
            "autograph_no_dp, "
            "autograph_no_partition, autograph_no_path, plait_generated, is \"magic\"");
}

TEST(WireOptionsTest, RefusesWhatIsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    const char* field;
    std::function<void(v1::OptimizeOptions&)> change;
  } kCases[] = {
      {"device", [](auto& options) { options.set_device("tpu"); }},
      {"schedule", [](auto& options) { options.set_schedule("PLAIT"); }},
      {"precision", [](auto& options) { options.set_precision("fp4"); }},
      {"threads", [](auto& options) { options.set_threads(-1); }},
      {"threads", [](auto& options) { options.set_threads(kThreadsMax + 1); }},
      {"budget_seconds", [](auto& options) { options.set_budget_seconds(-0.5); }},
      {"budget_seconds", [](auto& options) { options.set_budget_seconds(1e6); }},
      {"budget_seconds", [&](auto& options) { options.set_budget_seconds(nan); }},
      {"max_rel_error", [](auto& options) { options.set_max_rel_error(1.5); }},
      {"max_rel_error", [&](auto& options) { options.set_max_rel_error(nan); }},
      {"opset", [](auto& options) { options.set_opset(6); }},
      {"opset", [](auto& options) { options.set_opset(29); }},
      {"measurement_log", [](auto& options) { options.mutable_measurement_log(); }},
      {"input_sets",
       [](auto& options) {
         for (int set = 0; set < 9; ++set) options.add_input_sets();
       }},
      {"input_sets",
       [](auto& options) {
         auto& set = *options.add_input_sets();
         for (int i = 0; i < 257; ++i) *set.add_values() = InputOf(absl::StrCat("x", i));
       }},
      {"input_sets[1].values[0].name",
       [](auto& options) {
         *options.add_input_sets()->add_values() = InputOf("x");
         *options.add_input_sets()->add_values() = InputOf("");
       }},
      {"input_sets[0].values[0].name",
       [](auto& options) {
         *options.add_input_sets()->add_values() = InputOf(std::string(257, 'x'));
       }},
      {"input_sets[0].values[1].blob",
       [](auto& options) {
         auto& set = *options.add_input_sets();
         *set.add_values() = InputOf("x");
         set.add_values()->set_name("y");
       }},
      {"shapes", [](auto& options) { (*options.mutable_shapes())[""]; }},
      {"shapes[x]", [](auto& options) { (*options.mutable_shapes())["x"].add_dims(0); }},
      {"shapes[x]",
       [](auto& options) {
         auto& shape = (*options.mutable_shapes())["x"];
         for (int dim = 0; dim < 3; ++dim) shape.add_dims(INT64_MAX);
       }},
      {"shapes[x]",
       [](auto& options) {
         for (int dim = 0; dim < 17; ++dim) (*options.mutable_shapes())["x"].add_dims(1);
       }},
      {"shapes",
       [](auto& options) {
         for (int input = 0; input < 257; ++input) {
           (*options.mutable_shapes())[absl::StrCat("x", input)];
         }
       }},
  };
  for (const auto& [field, change] : kCases) {
    v1::OptimizeOptions options;
    change(options);
    const absl::Status status = CheckedOptions(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << field;
    EXPECT_EQ(FieldOf(status), absl::StrCat("options.", field)) << status;
  }
}

TEST(WireOptionsTest, RefusesALogThatWouldFillTheMemory) {
  v1::OptimizeOptions options;
  *options.mutable_measurement_log() = DigestToProto(DigestOf("a log"));
  options.mutable_measurement_log()->set_size_bytes(kMeasurementLogBytesMax);
  EXPECT_TRUE(CheckedOptions(options).ok());
  options.mutable_measurement_log()->set_size_bytes(kMeasurementLogBytesMax + 1);
  const absl::Status status = CheckedOptions(options).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), "options.measurement_log")) << status;
}

TEST(WireOptionsTest, RefusesInputsThatWouldFillAWorkersMemory) {
  v1::OptimizeOptions options;
  for (int set = 0; set < 2; ++set) {
    *options.add_input_sets()->add_values() = InputOf("x");
    options.mutable_input_sets(set)->mutable_values(0)->mutable_blob()->set_size_bytes(
        kInputSetsBytesMax / 2);
  }
  EXPECT_TRUE(CheckedOptions(options).ok());
  for (const int64_t bytes : {kInputSetsBytesMax / 2 + 1, INT64_MAX}) {
    options.mutable_input_sets(1)->mutable_values(0)->mutable_blob()->set_size_bytes(bytes);
    const absl::Status status = CheckedOptions(options).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_TRUE(absl::StartsWith(status.message(), "options.input_sets")) << status;
  }
}

TEST(WireOptionsTest, HashChangesWithEveryFieldButTheCacheSwitch) {
  const std::function<void(v1::OptimizeOptions&)> kChanges[] = {
      [](auto&) {},
      [](auto& options) { options.set_device("cuda:0"); },
      [](auto& options) { options.set_search("taso"); },
      [](auto& options) { options.set_schedule("nimble"); },
      [](auto& options) { options.set_threads(2); },
      [](auto& options) { options.set_budget_seconds(0.5); },
      [](auto& options) { options.set_seed(1); },
      [](auto& options) { options.set_precision("bf16"); },
      [](auto& options) { options.set_max_rel_error(0.01); },
      [](auto& options) { (*options.mutable_shapes())["x"].add_dims(1); },
      [](auto& options) { options.set_opset(17); },
      [](auto& options) { options.set_portable(true); },
      [](auto& options) { options.set_accept_inconclusive(true); },
      [](auto& options) { *options.mutable_measurement_log() = DigestToProto(DigestOf("a log")); },
      [](auto& options) { *options.add_input_sets()->add_values() = InputOf("x"); },
      [](auto& options) { options.set_body("original"); },
      [](auto& options) { options.add_plan_for()->add_threads(1); },
      [](auto& options) { options.set_allow_predicted(true); },
      [](auto& options) { (*options.mutable_shape_ranges())["x"].add_dims()->set_low(1); },
      [](auto& options) { options.set_drop_plans(true); },
      [](auto& options) { options.add_runtimes("plait"); },
  };
  // One change for each field but no_result_cache, and one for none: a new field needs a line here.
  ASSERT_EQ(std::size(kChanges),
            static_cast<size_t>(v1::OptimizeOptions::descriptor()->field_count()));
  std::set<std::string> hashes;
  for (const auto& change : kChanges) {
    v1::OptimizeOptions options = *CheckedOptions({});
    change(options);
    const std::string hash = OptionsHash(options);
    EXPECT_TRUE(hashes.insert(hash).second);
    options.set_no_result_cache(true);
    EXPECT_EQ(OptionsHash(options), hash);
  }
}

TEST(WireOptionsTest, NothingIsMeasuredOnADescribedDevice) {
  const auto check = [](auto change) {
    v1::OptimizeOptions options;
    options.set_device("model:h200");
    change(options);
    return CheckedOptions(options).status();
  };
  EXPECT_TRUE(check([](auto&) {}).ok());
  EXPECT_TRUE(check([](auto& options) { options.add_runtimes("plait"); }).ok());
  EXPECT_EQ(FieldOf(check([](auto& options) { options.set_precision("bf16"); })),
            "options.precision");
  EXPECT_EQ(FieldOf(check([](auto& options) { options.set_threads(2); })), "options.threads");
  EXPECT_EQ(FieldOf(check([](auto& options) { options.add_runtimes("openvino"); })),
            "options.runtimes");
}

TEST(WireOptionsTest, HashDoesNotDependOnTheOrderOfShapes) {
  v1::OptimizeOptions forward;
  v1::OptimizeOptions backward;
  for (int input = 0; input < 50; ++input) {
    (*forward.mutable_shapes())[absl::StrCat("x", input)].add_dims(1);
    (*backward.mutable_shapes())[absl::StrCat("x", 49 - input)].add_dims(1);
  }
  EXPECT_EQ(OptionsHash(forward), OptionsHash(backward));
}

}  // namespace
}  // namespace plait::wire
