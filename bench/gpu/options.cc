#include "bench/gpu/options.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "bench/gpu/kernel_list.h"

namespace plait::cuda {
namespace {

Error InvalidOption(const std::string& what) { return Error{ErrorCode::kInvalid, what}; }

std::vector<std::string> SplitByComma(const std::string& text) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (true) {
    const size_t comma = text.find(',', start);
    parts.push_back(text.substr(start, comma - start));
    if (comma == std::string::npos) return parts;
    start = comma + 1;
  }
}

std::optional<double> ParseNumber(const std::string& text) {
  double number = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || last != text.data() + text.size() || !std::isfinite(number) ||
      number < 0 || number > 1e9) {
    return std::nullopt;
  }
  return number;
}

template <typename Value>
Status ParseList(const std::string& text, Result<Value> (*parse)(const std::string&),
                 std::vector<Value>* values) {
  values->clear();
  for (const std::string& part : SplitByComma(text)) {
    const Result<Value> value = parse(part);
    if (!value.ok()) return value.error();
    values->push_back(value.value());
  }
  return Ok();
}

bool ParseSwitch(const std::string& flag, Options* options) {
  if (flag == "--fake") return options->fake = true;
  if (flag == "--deviceless") return options->deviceless = true;
  if (flag == "--prepare-all") return options->prepare_all = true;
  if (flag == "--help" || flag == "-h") return options->help = true;
  return false;
}

Status ParseValue(const std::string& flag, const std::string& value, Options* options) {
  if (flag == "--kernels") {
    options->kernels = value;
  } else if (flag == "--profiles") {
    options->profiles = value;
  } else if (flag == "--out") {
    options->out = value;
  } else if (flag == "--precision") {
    return ParseList(value, ParsePrecision, &options->precisions);
  } else if (flag == "--layout") {
    return ParseList(value, ParseLayout, &options->layouts);
  } else {
    const std::optional<double> number = ParseNumber(value);
    if (!number) return InvalidOption(flag + ": not a number: " + value);
    if (flag == "--max-seconds") {
      options->deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(static_cast<int64_t>(*number * 1000));
    } else if (flag == "--max-priority") {
      options->priority_max = static_cast<int64_t>(*number);
    } else {
      options->kernels_max = static_cast<int64_t>(*number);
    }
  }
  return Ok();
}

bool TakesValue(const std::string& flag) {
  for (const char* known : {"--kernels", "--profiles", "--out", "--precision", "--layout",
                            "--max-seconds", "--max-priority", "--max-kernels"}) {
    if (flag == known) return true;
  }
  return false;
}

Status CheckNeeds(const Options& options) {
  const bool enumerates = options.command == "enumerate";
  if (options.command != "constants" && options.kernels.empty()) {
    return InvalidOption(options.command + ": --kernels is missing");
  }
  if (!enumerates && options.out.empty()) {
    return InvalidOption(options.command + ": --out is missing");
  }
  if (options.command == "contention" && options.profiles.empty()) {
    return InvalidOption("contention: --profiles is missing");
  }
  return Ok();
}

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  size_t next = 0;
  if (!arguments.empty() && arguments[0].rfind("-", 0) != 0) options.command = arguments[next++];
  for (; next < arguments.size(); ++next) {
    const std::string& flag = arguments[next];
    if (ParseSwitch(flag, &options)) continue;
    if (!TakesValue(flag)) return InvalidOption("unknown flag " + flag);
    if (next + 1 >= arguments.size()) return InvalidOption(flag + ": value is missing");
    PLAIT_CUDA_RETURN_IF_ERROR(ParseValue(flag, arguments[++next], &options));
  }
  if (options.help) return options;
  if (options.command != "kernels" && options.command != "constants" &&
      options.command != "contention" && options.command != "enumerate") {
    return InvalidOption(options.command.empty() ? "a command is missing"
                                                 : "unknown command " + options.command);
  }
  PLAIT_CUDA_RETURN_IF_ERROR(CheckNeeds(options));
  return options;
}

std::string HelpText() {
  return R"(plait-gpu-record: records what a GPU can do, one file per sub-command.

  plait-gpu-record kernels --kernels FILE --out FILE     time every candidate of every kernel
  plait-gpu-record constants --out FILE                  graph, launch, copy and GEMM constants
  plait-gpu-record contention --kernels FILE --profiles FILE --out FILE
                                                         kernels side by side
  plait-gpu-record enumerate --kernels FILE              list and build candidates without a GPU;
                                                         exits 1 where one cannot be built

Flags
  --precision LIST     of strict,tf32,fp16,bf16, in the order wanted (default: all)
  --layout LIST        of nchw,nhwc (default: both)
  --max-seconds N      stop after N seconds; what was recorded stays
  --max-priority P     only kernels of priority P or lower
  --max-kernels N      only the first N kernels of the list
  --prepare-all        enumerate: also build candidates that are compiled at run time (slow)
  --deviceless         enumerate: with the description of an H200 (the default without a device)
  --fake               no GPU: a fake device with made-up times, which says "fake" in every line
  --help

A run that was cut off goes on where it stopped when it is started again with the same --out.

Examples
  plait-gpu-record constants --out constants.json --max-seconds 30
  plait-gpu-record kernels --kernels kernels.jsonl --out profiles.jsonl \
      --precision strict,fp16 --layout nchw,nhwc --max-seconds 120 --max-priority 0
  plait-gpu-record contention --kernels kernels.jsonl --profiles profiles.jsonl \
      --out contention.jsonl --max-seconds 60
  plait-gpu-record enumerate --kernels kernels.jsonl --precision fp16 --deviceless
)";
}

}  // namespace plait::cuda
