#include "server/config.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/instruction_set_names.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "proto/wire/address.h"
#include "proto/wire/names.h"

namespace plait {
namespace {

// The workers' socket lies in this directory, and the path of a unix socket may have 107 bytes.
constexpr size_t kDataDirBytesMax = 107 - sizeof("/worker.sock") + 1;
// Stores count queued jobs in 32 bits.
constexpr int64_t kQueueMax = std::numeric_limits<int32_t>::max();

// A thread each.
constexpr int64_t kStreamsMax = 10'000;

constexpr Setting kSettings[] = {
    {"data_dir", &Config::data_dir, "DIR", "Where jobs, blobs and profiles are kept (required)"},
    {"listen", &Config::listen, "HOST:PORT|unix:PATH", "Where clients connect"},
    {"worker_listen", &Config::worker_listen, "HOST:PORT",
     "Where workers of other hosts connect; default: nowhere"},
    {"metrics_listen", &Config::metrics_listen, "HOST:PORT",
     "Where /metrics, /livez and /readyz are served"},
    {"health_listen", &Config::health_listen, "HOST:PORT",
     "Where /livez and /readyz are served, too, whatever metrics do"},
    {"insecure", &Config::insecure, "", "No TLS; for loopback and unix sockets only"},
    {"insecure_any_address", &Config::insecure_any_address, "",
     "No TLS for clients, whoever can listen in on the way or answer in the server's place"},
    {"tls_cert", &Config::tls_cert, "FILE", "The server's certificate chain (PEM)"},
    {"tls_key", &Config::tls_key, "FILE", "The server's private key (PEM)"},
    {"tls_client_ca", &Config::tls_client_ca, "FILE",
     "Clients must show a certificate of these (PEM)"},
    {"tls_worker_ca", &Config::tls_worker_ca, "FILE",
     "Workers of other hosts must show a certificate of these (PEM)"},
    {"workers", &Config::workers, "cpu,...", "Devices of this machine to serve, or none"},
    {"worker_threads", &Config::worker_threads, "N", "Cores of the cpu worker; 0: all", 0,
     kThreadsMax},
    {"worker_instruction_set", &Config::worker_instruction_set, "NAME",
     "The best that the cpu worker may use, of generic, avx2, avx512, avx512_bf16 and amx"},
    {"worker_program", &Config::worker_program, "FILE",
     "The plait-worker to start; default: beside plaitd"},
    {"runtimes_python", &Config::runtimes_python, "FILE",
     "A Python that has runtimes to measure in, and grpcio; or none"},
    // 64: each running job has a process and a thread of its own.
    {"jobs_running_max", &Config::jobs_running_max, "N", "Jobs that run at the same time", 1, 64},
    {"search_threads", &Config::search_threads, "N", "Threads of one search; 0: all cores", 0,
     kThreadsMax},
    {"queued_jobs_max", &Config::queued_jobs_max, "N", "Jobs that may wait", 1, kQueueMax},
    {"tenant_queued_jobs_max", &Config::tenant_queued_jobs_max, "N",
     "Jobs of one tenant that may wait", 1, kQueueMax},
    {"streams_max", &Config::streams_max, "N", "Watchers, uploads and downloads at a time", 1,
     kStreamsMax},
    {"tenant_streams_max", &Config::tenant_streams_max, "N", "Those of one tenant", 1, kStreamsMax},
    {"job_grace_seconds", &Config::job_grace_seconds, "N", "What a job may take beyond its budget"},
    {"task_seconds_max", &Config::task_seconds_max, "N",
     "What one measurement may hold a worker for", 1},
    {"worker_start_seconds_max", &Config::worker_start_seconds_max, "N",
     "What a worker may take to open its device", 1},
    {"child_memory_bytes", &Config::child_memory_bytes, "N",
     "Memory of one search; 0: by the size of its model"},
    {"worker_memory_bytes", &Config::worker_memory_bytes, "N",
     "Memory of one worker; 0: three quarters of the machine's"},
    // 36,500 days: a century; any time that is added to it can still be told.
    {"jobs_kept_days", &Config::jobs_kept_days, "N",
     "Days until a job that is over is deleted; 0: never", 0, 36'500},
    {"blobs_bytes_max", &Config::blobs_bytes_max, "N",
     "Models and results above this go, the least recently used first; 0: no limit"},
    {"blobs_seen_unused_seconds", &Config::blobs_seen_unused_seconds, "N",
     "What the daemon itself has to have seen a model or result unused, whatever its clock says"},
    {"log_level", &Config::log_level, "LEVEL", "debug, info, warning, error or off"},
};

absl::Status CheckNames(const SettingValues& values, absl::string_view source) {
  std::vector<absl::string_view> names;
  for (const Setting& setting : kSettings) names.push_back(setting.name);
  for (const auto& [name, value] : values) {
    const absl::string_view nearest = NearestName(name, names);
    if (!nearest.empty() && name == nearest) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": unknown setting \"", name, "\" (",
        nearest.empty() ? "see --help" : absl::StrCat("did you mean \"", nearest, "\"?"), ")"));
  }
  return absl::OkStatus();
}

// Reads a value into the field that a row of the table names.
class Reader {
 public:
  Reader(const Setting& setting, const std::string& text, Config& config)
      : setting_(setting), text_(text), config_(config) {}

  absl::Status operator()(std::string Config::*field) const {
    config_.*field = text_;
    return absl::OkStatus();
  }

  absl::Status operator()(bool Config::*field) const {
    if (absl::SimpleAtob(text_, &(config_.*field))) return absl::OkStatus();
    return Unexpected("true or false");
  }

  absl::Status operator()(int64_t Config::*field) const {
    int64_t number = 0;
    if (absl::SimpleAtoi(text_, &number) && number >= setting_.min && number <= setting_.max) {
      config_.*field = number;
      return absl::OkStatus();
    }
    const bool is_bounded = setting_.max != std::numeric_limits<int64_t>::max();
    return Unexpected(absl::StrCat("a whole number, ", setting_.min,
                                   is_bounded ? absl::StrCat(" to ", setting_.max) : " or more"));
  }

  absl::Status operator()(std::vector<std::string> Config::*field) const {
    (config_.*field).clear();
    if (text_ != "none") config_.*field = absl::StrSplit(text_, ',', absl::SkipEmpty());
    return absl::OkStatus();
  }

 private:
  absl::Status Unexpected(absl::string_view expected) const {
    return absl::InvalidArgumentError(
        absl::StrCat(setting_.name, ": must be ", expected, ", is \"", text_, "\""));
  }

  const Setting& setting_;
  const std::string& text_;
  Config& config_;
};

// Whoever reaches an insecure address is believed, so it must not leave this machine; that of
// clients may where the operator says so.
absl::Status CheckInsecure(const Config& config) {
  if (!config.worker_listen.empty() && !wire::IsLocalAddress(config.worker_listen)) {
    return absl::InvalidArgumentError(
        absl::StrCat("insecure: ", config.worker_listen,
                     " can be reached from outside, and workers are believed (use TLS)"));
  }
  if (!config.insecure_any_address && !wire::IsLocalAddress(config.listen)) {
    return absl::InvalidArgumentError(
        absl::StrCat("insecure: ", config.listen,
                     " can be reached from outside (use TLS, 127.0.0.1, [::1] or unix:PATH, or "
                     "--insecure-any-address)"));
  }
  // Somebody who names them believes that there is TLS.
  for (const auto* const file :
       {&config.tls_cert, &config.tls_key, &config.tls_client_ca, &config.tls_worker_ca}) {
    if (file->empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("insecure: means no TLS, and yet ", *file, " is given (leave one out)"));
  }
  return absl::OkStatus();
}

absl::Status CheckTls(const Config& config) {
  if (config.tls_cert.empty() || config.tls_key.empty()) {
    return absl::InvalidArgumentError(
        "tls_cert, tls_key: are required (or --insecure on a loopback address, or "
        "--insecure-any-address)");
  }
  if (!config.worker_listen.empty() && config.tls_worker_ca.empty()) {
    return absl::InvalidArgumentError(
        "tls_worker_ca: is required with worker_listen (anybody could measure for this server)");
  }
  if (!config.worker_listen.empty() && config.tls_worker_ca == config.tls_client_ca) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls_worker_ca: ", config.tls_worker_ca,
                     " is tls_client_ca, too (every client could measure for this server)"));
  }
  return absl::OkStatus();
}

absl::Status CheckConfig(const Config& config) {
  if (config.data_dir.empty()) {
    return absl::InvalidArgumentError("data_dir: is required (--data-dir DIR)");
  }
  if (config.data_dir.size() > kDataDirBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("data_dir: its path may have ", kDataDirBytesMax,
                                                   " bytes, has ", config.data_dir.size(),
                                                   " (use a shorter one)"));
  }
  const absl::string_view expected = ExpectedInstructionSet(config.worker_instruction_set);
  if (!config.worker_instruction_set.empty() && !expected.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("worker_instruction_set: must be ", expected,
                                                   ", is \"", config.worker_instruction_set, "\""));
  }
  // Otherwise its worker would be started again and again.
  for (const std::string& device : config.workers) {
    if (device != kAllGpus) PLAIT_RETURN_IF_ERROR(wire::CheckDeviceId("workers", device));
    PLAIT_RETURN_IF_ERROR(wire::CheckBackend("workers", wire::BackendOf(device)));
  }
  return IsPlaintext(config) ? CheckInsecure(config) : CheckTls(config);
}

}  // namespace

absl::Span<const Setting> Settings() { return kSettings; }

absl::StatusOr<Config> MakeConfig(const SettingValues& flags, const SettingValues& environment,
                                  const SettingValues& file) {
  PLAIT_RETURN_IF_ERROR(CheckNames(flags, "command line"));
  PLAIT_RETURN_IF_ERROR(CheckNames(file, "configuration file"));
  // The strongest last: each source overwrites the ones before.
  SettingValues values = file;
  // Other programs of plait have variables of their own, so unknown ones are not ours to refuse.
  for (const auto& [name, value] : environment) values[name] = value;
  for (const auto& [name, value] : flags) values[name] = value;

  Config config;
  for (const Setting& setting : kSettings) {
    const auto found = values.find(std::string(setting.name));
    if (found == values.end()) continue;
    PLAIT_RETURN_IF_ERROR(std::visit(Reader(setting, found->second, config), setting.field));
  }
  PLAIT_RETURN_IF_ERROR(CheckConfig(config));
  return config;
}

}  // namespace plait
