#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/arguments.h"
#include "plait/v1/optimization.pb.h"

// --plan-for, --allow-predicted, --shape-range and --drop-plans: for what the result of a job holds
// plans. Pure and thread-safe.
namespace plait {

// What is wrong with a value, for OptionSpec::expected. Empty when nothing is.
absl::string_view ExpectedPlanFor(absl::string_view value);
absl::string_view ExpectedShapeRange(absl::string_view value);

inline constexpr OptionSpec kPlanForOption = {
    "--plan-for",
    OptionKind::kText,
    "DEVICE:threads=N,N",
    "a plan for each number of threads, the first of which the report is of",
    "",
    ExpectedPlanFor};
inline constexpr OptionSpec kAllowPredictedOption = {
    "--allow-predicted", OptionKind::kSwitch, "",
    "plan also for more threads than the device has, by predicted times"};
inline constexpr OptionSpec kDropPlansOption = {
    "--drop-plans", OptionKind::kSwitch, "",
    "leave out the plans that the model came with for other devices, threads or shapes"};
inline constexpr OptionSpec kShapeRangeOption = {
    "--shape-range",
    OptionKind::kText,
    "NAME=RANGES",
    "plans for a range of shapes, such as input=1..8x3x224x224",
    "",
    ExpectedShapeRange};

// "cpu:threads=1,2,4". Errors: InvalidArgument for another form.
absl::StatusOr<v1::PlanFor> ParsePlanFor(absl::string_view text);

// "NAME=1..8x3x224x224". Errors: InvalidArgument for another form.
absl::StatusOr<std::pair<std::string, v1::ShapeRange>> ParseShapeRange(absl::string_view text);

// Writes what the arguments say into the options of a job.
// REQUIRES: the four options were among those parsed.
void AddPlanOptions(const Arguments& arguments, v1::OptimizeOptions* options);

}  // namespace plait
