#include "server/command_line.h"

#include <deque>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/arguments.h"

namespace plait {
namespace {

constexpr int kExitUsage = 2;
// The width of "--listen HOST:PORT|unix:PATH", the widest.
constexpr int kOptionsWidth = 28;

constexpr char kSummary[] =
    "plaitd: the daemon that optimizes ONNX models\n"
    "\n"
    "usage: plaitd [options]\n"
    "\n"
    "options:\n";

constexpr char kExamples[] = R"(
Every setting can also stand in the file (data_dir = "...") or in the environment (PLAIT_DATA_DIR).

Examples:
  plaitd --data-dir /var/lib/plait --insecure
  plaitd --data-dir /var/lib/plait --listen unix:/run/plait/plaitd.sock --insecure
  plaitd --config plaitd.toml --listen 0.0.0.0:7400 --tls-cert server.pem --tls-key server.key
)";

constexpr OptionSpec kHelpOption = {"--help", OptionKind::kSwitch, "", "Print this help and exit",
                                    "-h"};
constexpr OptionSpec kVersionOption = {"--version", OptionKind::kSwitch, "",
                                       "Print the version and exit"};
constexpr OptionSpec kConfigOption = {"--config", OptionKind::kAnyText, "FILE",
                                      "A TOML file with settings"};

std::string FlagOf(const Setting& setting) {
  return absl::StrCat("--", absl::StrReplaceAll(setting.name, {{"_", "-"}}));
}

// `flags` holds the names that the options refer to.
std::vector<OptionSpec> OptionsOf(absl::Span<const Setting> settings,
                                  std::deque<std::string>& flags) {
  std::vector<OptionSpec> options = {kHelpOption, kVersionOption, kConfigOption};
  for (const Setting& setting : settings) {
    const bool is_switch = std::holds_alternative<bool Config::*>(setting.field);
    // An empty text is a value here: it takes back what the file says.
    const OptionKind kind = is_switch ? OptionKind::kSwitch : OptionKind::kAnyText;
    options.push_back({flags.emplace_back(FlagOf(setting)), kind, setting.value, setting.help});
  }
  return options;
}

}  // namespace

CommandLine ParseCommandLine(int argc, const char* const* argv, const std::string& version) {
  CommandLine line;
  std::deque<std::string> flags;
  const std::vector<OptionSpec> options = OptionsOf(Settings(), flags);
  const std::vector<std::string> words(argv + 1, argv + argc);
  // Before parsing, so that help comes even with a mistake on the line.
  if (AsksForHelp(words)) {
    line.exit_code = 0;
    line.output = absl::StrCat(kSummary, HelpTextOf(options, kOptionsWidth), kExamples);
    return line;
  }
  const absl::StatusOr<Arguments> arguments = ParseArguments(words, options, "");
  if (!arguments.ok()) {
    line.exit_code = kExitUsage;
    line.output = absl::StrCat("plaitd: ", arguments.status().message());
    return line;
  }
  if (arguments->Has(kVersionOption.name)) {
    line.exit_code = 0;
    line.output = version;
    return line;
  }
  line.config_file = arguments->Text(kConfigOption.name);
  for (const Setting& setting : Settings()) {
    const std::string flag = FlagOf(setting);
    if (!arguments->Has(flag)) continue;
    // Which of two folders or addresses is meant is not for us to guess.
    if (arguments->Texts(flag).size() > 1) {
      line.exit_code = kExitUsage;
      line.output = absl::StrCat("plaitd: ", flag, " is given more than once");
      return line;
    }
    const bool is_switch = std::holds_alternative<bool Config::*>(setting.field);
    // As text: the same code reads it that reads the file and the environment.
    line.flags[std::string(setting.name)] = is_switch ? "true" : arguments->Text(flag);
  }
  return line;
}

}  // namespace plait
