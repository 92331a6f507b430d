// Says how far model:h200 is from kernels that were timed on an H200: `predicted_candidates FILE`
// reads a recorded candidates.jsonl, predicts each convolution and elementwise kernel in it that
// the text of its problem describes, and prints by kind
//
//   problems, predicted / measured (median), error (median), error (9 of 10 are below)
//
// where an error of 0.10 is a prediction a tenth too high or too low. Pools, products and rows are
// left out: their texts lack sizes. Measured is the fastest candidate.
//
//   build/predicted_candidates bench/results/gpu/nvidia-h200/2026-11-26/candidates.jsonl
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/statistics.h"
#include "optimizer/cost/described_device.h"

namespace plait {
namespace {

// A kernel as a profile's key has it, and what it is counted with; no graph: not described.
struct DescribedKernel {
  std::string kind;
  std::string family;
  std::string graph_text;
};

// Of "c64 h28": 64 for 'c'. 0: there is none.
int64_t SizeOf(const std::vector<std::string>& words, char name) {
  for (size_t i = 1; i < words.size(); ++i) {
    int64_t size = 0;
    if (words[i][0] == name && absl::SimpleAtoi(words[i].substr(1), &size)) return size;
  }
  return 0;
}

// "conv n1 c64 h28 w28 k64 r3x3 st1 g1 nchw": pads are not told, and taken for those that keep the
// size.
DescribedKernel ConvOf(const std::vector<std::string>& words) {
  const int64_t c = SizeOf(words, 'c'), h = SizeOf(words, 'h'), w = SizeOf(words, 'w');
  const int64_t k = SizeOf(words, 'k'), groups = SizeOf(words, 'g'), n = SizeOf(words, 'n');
  int64_t stride = 1, rows = 0, columns = 0;
  for (const std::string& word : words) {
    if (absl::StartsWith(word, "st")) static_cast<void>(absl::SimpleAtoi(word.substr(2), &stride));
    std::sscanf(word.c_str(), "r%ldx%ld", &rows, &columns);
  }
  if (c * h * w * k * n * groups * rows * columns == 0) return {};
  const auto out = [&](int64_t size) { return (size + stride - 1) / stride; };
  const auto pad = [&](int64_t size, int64_t window) {
    return std::max<int64_t>(0, (out(size) - 1) * stride + window - size);
  };
  const int64_t above = pad(h, rows) / 2, left = pad(w, columns) / 2;
  const std::string pads =
      absl::StrCat(above, ",", left, ",", pad(h, rows) - above, ",", pad(w, columns) - left);
  const std::string text = absl::StrCat(
      "graph {\n  input %x: float32[", n, ",", c, ",", h, ",", w, "]\n  const %w: float32[", k, ",",
      c / groups, ",", rows, ",", columns, "] = synthetic 1\n  %y: float32[", n, ",", k, ",",
      out(h), ",", out(w), "] = Conv(%x, %w) {dilations=[1,1], group=", groups, ", kernel_shape=[",
      rows, ",", columns, "], pads=[", pads, "], strides=[", stride, ",", stride,
      "]}\n  output %y\n}");
  const char* kind = groups == 1 ? "conv" : groups == c && k == c ? "depthwise" : "grouped";
  return {kind, "conv", text};
}

// "elementwise [relu(add(x0,x1))] 1 64 28 28 nchw": what it computes hardly counts.
DescribedKernel ElementwiseOf(const std::string& problem) {
  const std::vector<std::string> parts = absl::StrSplit(problem, absl::MaxSplits("] ", 1));
  if (parts.size() != 2) return {};
  std::vector<std::string> sizes = absl::StrSplit(parts[1], ' ');
  sizes.pop_back();
  const std::string type = absl::StrCat("float32[", absl::StrJoin(sizes, ","), "]");
  std::string text = "graph {\n";
  int inputs = 0;
  while (absl::StrContains(parts[0], absl::StrCat("x", inputs))) {
    absl::StrAppend(&text, "  input %x", inputs++, ": ", type, "\n");
  }
  std::string last = "x0";
  for (int input = 1; input < inputs; ++input) {
    absl::StrAppend(&text, "  %t", input, " = Add(%", last, ", %x", input, ") {}\n");
    last = absl::StrCat("t", input);
  }
  absl::StrAppend(&text, "  %y = Relu(%", last, ") {}\n  output %y\n}");
  return {"elementwise", "elementwise", text};
}

DescribedKernel KernelOf(const std::string& problem) {
  const std::vector<std::string> words = absl::StrSplit(problem, ' ');
  if (words[0] == "conv") return ConvOf(words);
  if (words[0] == "elementwise") return ElementwiseOf(problem);
  return {};
}

// In a graph of five of the same, or, of those that came in question, in turns.
double MeasuredUs(const nlohmann::json& record) {
  double fastest_us = 0;
  for (const char* field : {"us", "finalist_us"}) {
    const nlohmann::json times = record.value(field, nlohmann::json::object());
    for (const auto& [name, us] : times.items()) {
      const double value = us.is_number() ? us.get<double>() : 0;
      if (value > 0 && (fastest_us == 0 || value < fastest_us)) fastest_us = value;
    }
  }
  return fastest_us;
}

int Run(const char* path) {
  DescribedProfiler profiler(kH200Device);
  std::map<std::string, std::vector<double>> ratios;  // by kind
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const nlohmann::json record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!record.is_object()) continue;
    const DescribedKernel kernel = KernelOf(record.value("problem", " "));
    const double measured_us = MeasuredUs(record);
    if (kernel.graph_text.empty() || measured_us == 0) continue;
    const ProfileKey key = {.family = kernel.family, .graph_text = kernel.graph_text};
    const auto profiles = profiler.Measure({{key}});
    if (!profiles.ok() || profiles->front().samples == 0) continue;
    ratios[kernel.kind].push_back(profiles->front().latency_us_median / measured_us);
  }
  std::printf(
      "| kind | problems | predicted / measured | error | 9 of 10 below |\n"
      "|---|---|---|---|---|\n");
  for (auto& [kind, of_kind] : ratios) {
    std::vector<double> errors;
    for (const double ratio : of_kind) errors.push_back(std::abs(ratio - 1));
    std::sort(errors.begin(), errors.end());
    std::printf("| %s | %zu | %.2f | %.2f | %.2f |\n", kind.c_str(), of_kind.size(),
                Median(of_kind), Median(errors), errors[errors.size() * 9 / 10]);
  }
  return ratios.empty() ? 1 : 0;
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: predicted_candidates FILE\n");
    return 2;
  }
  return plait::Run(argv[1]);
}
