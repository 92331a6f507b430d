#pragma once

#include "absl/strings/string_view.h"

namespace plait {

// One record per line, fields separated by tabs, text escaped as in C, so that lines and fields can
// be counted without understanding them:
//   profile            key, median, p10, mad, samples, bytes, flops, compute share, yardsticks,
//   and,
//                      where the device chose it, the implementation and its workspace in bytes
//   verification       number of the candidate lines that follow
//   candidate          id, samples, milliseconds of loads, verdict, the three errors, inputs, dead
//                      outputs (0 or 1), errors of outputs, fallback nodes, error text, and, where
//                      it was measured, the ratio of the distances from exact outputs; and, where
//                      the device chose any or its clock was read, the variants of the steps, one a
//                      line; and, where it was read, the number of variants, the least and the most
//                      megahertz, the spans of time, those in which it moved, and what limited it
//   step_errors        id, steps, errors of steps
//   rehearsal          ids, times of steps
//   runtime            name, version, options, threads, number of the candidate lines that follow
//   exhausted_at_step  the step that the budget refused, -1: none
//   time_answers       1 or 0 for each time that was asked for
//   yardsticks         to which profiles were scaled
//   load_effect        deviation, loads
// Yardsticks are three fields: multiply-adds, reads, drift.
// The samples of a load are separated by commas, loads by semicolons; so are the four errors of an
// output, and outputs, and the four of a step, and steps; and ids, and the times of a candidate's
// steps, and candidates; what limits a clock is separated by semicolons.
inline constexpr absl::string_view kMeasurementLogHeader = "plait-measurement-log 8";

}  // namespace plait
