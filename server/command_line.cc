#include "server/command_line.h"

#include <sstream>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace plait {
namespace {

constexpr char kExamples[] = R"(
Every setting can also stand in the file (data_dir = "...") or in the environment (PLAIT_DATA_DIR).

Examples:
  plaitd --data-dir /var/lib/plait --insecure
  plaitd --data-dir /var/lib/plait --listen unix:/run/plait/plaitd.sock --insecure
  plaitd --config plaitd.toml --listen 0.0.0.0:7400 --tls-cert server.pem --tls-key server.key
)";

}  // namespace

CommandLine ParseCommandLine(int argc, const char* const* argv, const std::string& version) {
  CommandLine line;
  CLI::App app{"plaitd: the daemon that optimizes ONNX models", "plaitd"};
  app.footer(kExamples);
  app.set_version_flag("--version", version);
  app.add_option("--config", line.config_file, "A TOML file with settings")->type_name("FILE");
  for (const Setting& setting : Settings()) {
    const std::string flag = absl::StrCat("--", absl::StrReplaceAll(setting.name, {{"_", "-"}}));
    const std::string name = setting.name;
    if (*setting.value == '\0') {
      app.add_flag_function(
          flag, [&line, name](int64_t) { line.flags[name] = "true"; }, setting.help);
    } else {
      app.add_option_function<std::string>(
             flag, [&line, name](const std::string& value) { line.flags[name] = value; },
             setting.help)
          ->type_name(setting.value);
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream mistakes;
    const int code = app.exit(error, out, mistakes);
    line.exit_code = code == 0 ? 0 : 2;
    line.output = code == 0 ? out.str() : absl::StrCat("plaitd: ", error.what());
  }
  return line;
}

}  // namespace plait
