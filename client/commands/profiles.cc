#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/file.h"
#include "client/json.h"
#include "client/missed_profiles.h"
#include "client/recorded_profiles.h"
#include "client/server_session.h"
#include "client/shape_option.h"
#include "client/stored_profiles.h"
#include "gpu_worker/backends/catalogs.h"
#include "loading/file_plans.h"
#include "loading/model_file.h"
#include "proto/wire/device.h"
#include "proto/wire/error.h"

// For scripts: 0 says that it was done, also where the list is empty. The server has to take the
// caller for an operator: on its own machine, or by a certificate. Without a named server the store
// is that of runs without one, in the cache folder.

namespace plait {
namespace {

constexpr int64_t kListedDefault = 100;

std::vector<OptionSpec> OptionsOfProfiles() {
  std::vector<OptionSpec> options = {
      {"--device-fingerprint", OptionKind::kText, "TEXT",
       "list, get, export, gc: only profiles of the device with this fingerprint"},
      {"--limit", OptionKind::kInteger, "N",
       "list, explain-miss: at most so many lines; 0: all; default 100"},
      {"--older-than", OptionKind::kSeconds, "TIME",
       "gc: what was measured longer ago than this, such as 720h, instead of what no search finds"},
      {"--dry-run", OptionKind::kSwitch, "", "gc: say what would go, and keep it"},
      {"--device", OptionKind::kText, "DEVICE", "explain-miss: on which device; default cpu"},
      kShapeOption,
  };
  AddServerOptions(&options);
  AddEmbeddedOptions(&options);
  return options;
}

absl::StatusOr<std::vector<v1::StoredProfile>> AllProfiles(const CommandContext& context,
                                                           const Client& client) {
  std::vector<v1::StoredProfile> profiles;
  PLAIT_RETURN_IF_ERROR(
      client.ListProfiles(context.arguments.Text("--device-fingerprint"),
                          [&](const v1::StoredProfile& profile) { profiles.push_back(profile); }));
  return profiles;
}

size_t LimitOf(const Arguments& arguments, size_t count) {
  const int64_t limit = arguments.Integer("--limit", kListedDefault);
  return limit == 0 ? count : std::min(count, static_cast<size_t>(limit));
}

absl::StatusOr<ExitCode> RunList(const CommandContext& context, const Client& client,
                                 const std::string&) {
  PLAIT_ASSIGN_OR_RETURN(const auto profiles, AllProfiles(context, client));
  const size_t limit = LimitOf(context.arguments, profiles.size());
  Json json;
  json["count"] = profiles.size();
  json["profiles"] = Json::array();
  std::string table = ProfilesHeading();
  for (size_t i = 0; i < limit; ++i) {
    json["profiles"].push_back(StoredProfileJson(profiles[i], /*whole=*/false));
    table += ProfileRow(profiles[i]);
  }
  if (limit < profiles.size()) {
    absl::StrAppend(&table, "and ", profiles.size() - limit, " more (--limit 0)\n");
  }
  context.console.out << (context.console.json ? JsonText(json) : table);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunGet(const CommandContext& context, const Client& client,
                                const std::string& id) {
  Json found = Json::array();
  PLAIT_RETURN_IF_ERROR(client.ListProfiles(
      context.arguments.Text("--device-fingerprint"), [&](const v1::StoredProfile& profile) {
        if (absl::StartsWith(ProfileId(profile), id) || profile.key() == id) {
          found.push_back(StoredProfileJson(profile, /*whole=*/true));
        }
      }));
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no profile \"", id, "\" (plait profiles list prints the ids there are)"));
  }
  if (context.console.json) {
    context.console.out << JsonText({{"profiles", std::move(found)}});
    return ExitCode::kOk;
  }
  for (const Json& profile : found) {
    for (const auto& [name, value] : profile.items()) {
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      context.console.out << absl::StrFormat("%-18s %s\n", name, text);
    }
    context.console.out << "\n";
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunExplainMiss(const CommandContext& context, const Client& client,
                                        const std::string& path) {
  const std::string id = context.arguments.Text("--device", "cpu");
  PLAIT_ASSIGN_OR_RETURN(const v1::ListDevicesResponse listed, client.ListDevices());
  const auto available =
      std::find_if(listed.devices().begin(), listed.devices().end(),
                   [&](const v1::AvailableDevice& each) { return each.device().id() == id; });
  if (available == listed.devices().end()) {
    return wire::Error(v1::ERROR_REASON_DEVICE_UNAVAILABLE,
                       absl::StrCat("no device ", id, " (plait devices lists those there are)"));
  }
  PLAIT_ASSIGN_OR_RETURN(const DeviceDescription device,
                         wire::DeviceFromProto(available->device()));
  std::vector<std::string> warnings;
  PLAIT_ASSIGN_OR_RETURN(const std::vector<ProfileKey> keys,
                         KeysOfModel(path, NamedShapes(context.arguments), device, &warnings));
  PrintWarnings(context.console, warnings);
  ProfileIndex index;
  PLAIT_RETURN_IF_ERROR(
      client.ListProfiles("", [&](const v1::StoredProfile& profile) { index.Add(profile); }));
  const std::vector<MissedProfile> missed = MissedProfiles(keys, index);
  const size_t limit = LimitOf(context.arguments, missed.size());
  if (context.console.json) {
    Json json;
    json["model"] = path;
    json["device"] = device.fingerprint;
    json["kernels"] = keys.size();
    json["known"] = keys.size() - missed.size();
    json["misses"] = MissesJson(absl::MakeConstSpan(missed).first(limit));
    context.console.out << JsonText(json);
    return ExitCode::kOk;
  }
  context.console.out << absl::StrFormat("%d kernels, %d of them are known\n", keys.size(),
                                         keys.size() - missed.size())
                      << MissesTable(absl::MakeConstSpan(missed).first(limit));
  if (limit < missed.size()) {
    context.console.out << "and " << missed.size() - limit << " more (--limit 0)\n";
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunExport(const CommandContext& context, const Client& client,
                                   const std::string& path) {
  std::string text;
  int64_t count = 0;
  absl::Status failed;
  PLAIT_RETURN_IF_ERROR(client.ListProfiles(context.arguments.Text("--device-fingerprint"),
                                            [&](const v1::StoredProfile& profile) {
                                              const auto line = ProfileLine(profile);
                                              failed.Update(line.status());
                                              if (!line.ok()) return;
                                              absl::StrAppend(&text, *line, "\n");
                                              ++count;
                                            }));
  PLAIT_RETURN_IF_ERROR(failed);
  PLAIT_RETURN_IF_ERROR(WriteFile(path, text));
  context.console.out << (context.console.json
                              ? JsonText({{"path", path}, {"exported", count}})
                              : absl::StrCat(count, " profiles are in ", path, "\n"));
  return ExitCode::kOk;
}

// Each key that was recorded stands in for its prediction from now on.
absl::StatusOr<ExitCode> ImportRecording(const CommandContext& context, const Client& client,
                                         const std::string& folder) {
  PLAIT_ASSIGN_OR_RETURN(const Recording recording, ReadRecordingFolder(folder));
  PLAIT_ASSIGN_OR_RETURN(const int64_t imported,
                         client.ImportProfiles(StoredProfilesOf(recording)));
  const std::string device = absl::StrCat("model:", recording.device->name);
  if (context.console.json) {
    context.console.out << JsonText({{"path", folder},
                                     {"count", recording.times.size()},
                                     {"imported", imported},
                                     {"device", device},
                                     {"families", FamiliesJson(recording)},
                                     {"refused", RefusedJson(recording)}});
    return ExitCode::kOk;
  }
  context.console.out << RecordingTable(recording)
                      << absl::StrCat("of ", recording.times.size(), " times of kernels on ",
                                      device, " ", imported, " were new or better\n")
                      << RefusedText(recording);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunImport(const CommandContext& context, const Client& client,
                                   const std::string& path) {
  std::error_code ignored;  // what cannot be asked for cannot be read either
  if (std::filesystem::is_directory(path, ignored)) return ImportRecording(context, client, path);
  PLAIT_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<v1::StoredProfile> profiles;
  int line_number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    if (line.empty()) continue;
    absl::StatusOr<v1::StoredProfile> profile = ParseProfileLine(line);
    if (!profile.ok()) return Annotate(profile.status(), absl::StrCat(path, ":", line_number));
    profiles.push_back(*std::move(profile));
  }
  PLAIT_ASSIGN_OR_RETURN(const int64_t imported, client.ImportProfiles(profiles));
  context.console.out << (context.console.json ? JsonText({{"path", path},
                                                           {"count", profiles.size()},
                                                           {"imported", imported}})
                                               : absl::StrCat("of ", profiles.size(), " profiles ",
                                                              imported, " were new or better\n"));
  return ExitCode::kOk;
}

// Whether a profile is to go. Devices whose backend this plait has not are left alone.
class Garbage {
 public:
  explicit Garbage(const Arguments& arguments)
      : is_by_age_(arguments.Has("--older-than")),
        oldest_(absl::Now() - absl::Seconds(arguments.Seconds("--older-than", 0))) {}

  bool Has(const v1::StoredProfile& profile) {
    if (is_by_age_) {
      return absl::FromUnixSeconds(profile.measure_time().seconds()) < oldest_;
    }
    const std::string& fingerprint = profile.device_fingerprint();
    const auto [entry, is_new] = catalogs_.try_emplace(fingerprint);
    if (is_new) {
      const DeviceDescription device = {
          .backend = std::string(BackendOfFingerprint(fingerprint)),
          .fingerprint = fingerprint,
          .instruction_set = std::string(InstructionSetOfFingerprint(fingerprint))};
      auto catalog = CatalogFor(device);
      if (catalog.ok()) entry->second = *std::move(catalog);
    }
    return entry->second != nullptr && IsStale(profile, *entry->second);
  }

 private:
  bool is_by_age_;
  absl::Time oldest_;
  absl::flat_hash_map<std::string, std::unique_ptr<KernelCatalog>> catalogs_;
};

// Versions of kernels are those of one plait: another one's are not garbage.
absl::Status CheckSameVersion(const Client& client) {
  PLAIT_ASSIGN_OR_RETURN(const v1::GetCapabilitiesResponse server, client.GetCapabilities());
  if (absl::StrCat("plait-", server.version()) == PlanEngineVersion()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the server is plait ", server.version(), ", and this is ", PlanEngineVersion(),
                   ", which does not know what its searches find (use --older-than)"));
}

absl::StatusOr<ExitCode> RunGc(const CommandContext& context, const Client& client,
                               const std::string&) {
  const Arguments& arguments = context.arguments;
  if (!arguments.Has("--older-than")) PLAIT_RETURN_IF_ERROR(CheckSameVersion(client));
  PLAIT_ASSIGN_OR_RETURN(std::vector<v1::StoredProfile> profiles, AllProfiles(context, client));
  const size_t count = profiles.size();
  Garbage garbage(arguments);
  std::erase_if(profiles, [&](const v1::StoredProfile& each) { return !garbage.Has(each); });
  auto dropped = static_cast<int64_t>(profiles.size());
  if (!arguments.Has("--dry-run")) {
    PLAIT_ASSIGN_OR_RETURN(dropped, client.DropProfiles(profiles));
  }
  context.console.out << (context.console.json
                              ? JsonText({{"count", count},
                                          {"dropped", dropped},
                                          {"dry_run", arguments.Has("--dry-run")}})
                              : absl::StrCat(
                                    "of ", count, " profiles ", dropped,
                                    arguments.Has("--dry-run") ? " would go\n" : " are gone\n"));
  return ExitCode::kOk;
}

struct Action {
  absl::string_view name;
  absl::string_view word;  // what stands behind it; "": nothing
  absl::StatusOr<ExitCode> (*run)(const CommandContext& context, const Client& client,
                                  const std::string& word);
};

constexpr Action kActions[] = {
    {"list", "", RunList},
    {"get", "an ID", RunGet},
    {"explain-miss", "a MODEL", RunExplainMiss},
    {"export", "a FILE", RunExport},
    {"import", "a FILE or FOLDER", RunImport},
    {"gc", "", RunGc},
};

absl::StatusOr<const Action*> ActionOf(const Arguments& arguments) {
  const std::string& name = arguments.positionals()[0];
  const bool has_word = arguments.positionals().size() > 1;
  std::array<absl::string_view, std::size(kActions)> names;
  for (size_t i = 0; i < names.size(); ++i) {
    const Action& action = kActions[i];
    names[i] = action.name;
    if (action.name != name) continue;
    if (has_word == !action.word.empty()) return &action;
    return absl::InvalidArgumentError(
        has_word ? absl::StrCat("profiles ", name, " takes nothing more (see --help)")
                 : absl::StrCat("profiles ", name, " needs ", action.word, " (see --help)"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("profiles: unknown action ", name, " (", absl::StrJoin(names, ", "), ")"));
}

absl::StatusOr<ExitCode> RunProfiles(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  PLAIT_ASSIGN_OR_RETURN(const Action* const action, ActionOf(arguments));
  PLAIT_ASSIGN_OR_RETURN(const ServerSession session, ConnectOrEmbed(context, "cpu", 0));
  return action->run(context, *session.client,
                     action->word.empty() ? "" : arguments.positionals()[1]);
}

}  // namespace

const Command kProfilesCommand = {
    .name = "profiles",
    .positionals = "ACTION [ID|MODEL|FILE|FOLDER]",
    .summary =
        "list, explain, carry or forget measured kernel times: list, get, explain-miss, "
        "export, import, gc",
    .examples =
        "  plait profiles list --limit 20\n"
        "  plait profiles get 3f9c2a\n"
        "  plait profiles explain-miss model.onnx\n"
        "  plait profiles export profiles.jsonl --server unix:/run/plait.sock\n"
        "  plait profiles import profiles.jsonl\n"
        "  plait profiles import bench/results/gpu/nvidia-h200/2026-11-26\n"
        "  plait profiles gc --dry-run\n",
    .options = OptionsOfProfiles,
    .run = RunProfiles,
};

}  // namespace plait
