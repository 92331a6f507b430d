#include "server/telemetry/log.h"

#include <nlohmann/json.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"

namespace plait {
namespace {

// Made by the first line, in whichever thread; the sink has a lock, so lines never mix.
const std::shared_ptr<spdlog::logger>& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("plaitd",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    // The message is the rest of a JSON object, which begins with the time and the level.
    made->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})");
    return made;
  }();
  return logger;
}

// Through the JSON library, because texts of strangers are in values: a quote or line feed in a
// name must not become a field or a line of its own.
std::string Quoted(absl::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Before any text is made: a level that is off costs one comparison.
void Log(spdlog::level::level_enum level, absl::string_view event,
         std::initializer_list<LogField> fields) {
  if (!Logger()->should_log(level)) return;
  std::string text = absl::StrCat("\"event\":", Quoted(event));
  // In the order of the caller: the first ones are what a person looks for.
  for (const auto& [name, value] : fields) {
    absl::StrAppend(&text, ",", Quoted(name), ":", Quoted(value));
  }
  Logger()->log(level, spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace

absl::Status SetLogLevel(absl::string_view level) {
  for (const spdlog::level::level_enum known :
       {spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err,
        spdlog::level::off}) {
    const spdlog::string_view_t name = spdlog::level::to_string_view(known);
    if (level != absl::string_view(name.data(), name.size())) continue;
    Logger()->set_level(known);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("log-level: must be debug, info, warning, error or off, is \"", level, "\""));
}

void LogInfo(absl::string_view event, std::initializer_list<LogField> fields) {
  Log(spdlog::level::info, event, fields);
}

void LogWarning(absl::string_view event, std::initializer_list<LogField> fields) {
  Log(spdlog::level::warn, event, fields);
}

void LogError(absl::string_view event, std::initializer_list<LogField> fields) {
  Log(spdlog::level::err, event, fields);
}

}  // namespace plait
