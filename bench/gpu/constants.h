#pragma once

#include <string>
#include <vector>

#include "bench/gpu/session.h"
#include "bench/gpu/timing.h"

namespace plait::cuda {

// One measured number of the device. `parameter` is what it was measured for, as the number of
// parents of a join; 0 where there is none.
struct Constant {
  std::string name;
  double parameter = 0;
  std::string unit;
  double value = 0;  // a median where samples > 1
  double p10 = 0;
  double mad = 0;
  int samples = 0;
};

Constant FromTiming(const std::string& name, double parameter, const Timing& timing);

// One group of constants, measured together.
struct ConstantGroup {
  const char* name;
  // Appends to `constants` what it measures, also when it fails half way. Errors: kDevice,
  // kUnavailable, kUnsupported.
  Status (*measure)(Session* session, std::vector<Constant>* constants);
};

// Every group, the most important ones first.
std::vector<ConstantGroup> ConstantGroups();

// constants_graph.cc
Status MeasureChains(Session* session, std::vector<Constant>* constants);
Status MeasureForksAndJoins(Session* session, std::vector<Constant>* constants);
Status MeasureCapturedStreams(Session* session, std::vector<Constant>* constants);
Status MeasureGraphLaunch(Session* session, std::vector<Constant>* constants);
Status MeasureProgrammaticLaunch(Session* session, std::vector<Constant>* constants);

// constants_rates.cc
Status MeasureEvents(Session* session, std::vector<Constant>* constants);
Status MeasureMemory(Session* session, std::vector<Constant>* constants);
Status MeasureGemms(Session* session, std::vector<Constant>* constants);
Status MeasureClocks(Session* session, std::vector<Constant>* constants);

// Enqueues a probe kernel with one `long long`, or none for the empty one.
Status LaunchProbe(Session* session, Kernel kernel, unsigned blocks, long long cycles,
                   Stream stream);

}  // namespace plait::cuda
