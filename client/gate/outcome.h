#pragma once

#include <string>

#include "client/gate/decide.h"
#include "optimizer/kernels/device.h"
#include "proto/wire/json.h"

namespace plait {

// One of the two models.
struct GatedModel {
  std::string path;
  bool embedded_plan = false;  // the plan inside the model was used
  wire::Json plan;  // {"grade", "explanation"}: which plan that is; null in another runtime
};

// All that the outputs of a gate tell.
struct GateReport {
  GatedModel base;
  GatedModel changed;
  std::string runtime = "plait";  // what ran both
  std::string runtime_settings;   // of another runtime, for people
  DeviceDescription device;       // of another runtime: its name with its version
  GateOptions options;
  GateOutcome outcome;
};

// "pass", "fail" or "inconclusive".
absl::string_view GateVerdictName(GateVerdict verdict);

// What was found, in one sentence for people.
std::string GateSentence(const GateReport& report);

// The fields of docs/schema/gate.json. Bounds that are not known yet are null.
wire::Json GateJson(const GateReport& report);

// A table for a terminal, the verdict first; ends with a line feed.
std::string GateTable(const GateReport& report);

// A whole file of JUnit's form with one test case: passed, failed, or skipped when inconclusive.
// What XML has a meaning for, or no letter, is escaped in paths and names.
std::string GateJunit(const GateReport& report);

// The same of models that could not be compared: an error with this message.
std::string GateErrorJunit(const std::string& base_path, const std::string& new_path,
                           absl::string_view message);

// A section for a page that has others; ends with an empty line. Paths and names are escaped.
std::string GateMarkdown(const GateReport& report);

}  // namespace plait
