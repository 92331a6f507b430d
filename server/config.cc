#include "server/config.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace plait {
namespace {

// The workers' socket lies in this directory, and the path of a unix socket may have 107 bytes.
constexpr size_t kDataDirBytesMax = 107 - sizeof("/worker.sock") + 1;

constexpr Setting kSettings[] = {
    {"data_dir", "Where jobs, blobs and profiles are kept (required)", "DIR"},
    {"listen", "Where clients and workers connect", "HOST:PORT|unix:PATH"},
    {"metrics_listen", "Where /metrics, /livez and /readyz are served", "HOST:PORT"},
    {"insecure", "No TLS; for loopback and unix sockets only", ""},
    {"tls_cert", "The server's certificate chain (PEM)", "FILE"},
    {"tls_key", "The server's private key (PEM)", "FILE"},
    {"tls_client_ca", "Clients must show a certificate of these (PEM)", "FILE"},
    {"workers", "Devices of this machine to serve, or none", "cpu,..."},
    {"worker_threads", "Cores of the cpu worker; 0: all", "N"},
    {"worker_program", "The plait-worker to start; default: beside plaitd", "FILE"},
    {"jobs_running_max", "Jobs that run at the same time", "N"},
    {"search_threads", "Threads of one search; 0: all cores", "N"},
    {"queued_jobs_max", "Jobs that may wait", "N"},
    {"tenant_queued_jobs_max", "Jobs of one tenant that may wait", "N"},
    {"job_grace_seconds", "What a job may take beyond its budget", "N"},
    {"child_memory_bytes", "Memory of one search; 0: no limit", "N"},
    {"log_level", "debug, info, warning, error or off", "LEVEL"},
};

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i));
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

absl::Status CheckNames(const SettingValues& values, absl::string_view source) {
  for (const auto& [name, value] : values) {
    const Setting* nearest = &kSettings[0];
    for (const Setting& setting : kSettings) {
      if (EditDistance(name, setting.name) < EditDistance(name, nearest->name)) nearest = &setting;
    }
    if (name == nearest->name) continue;
    return absl::InvalidArgumentError(absl::StrCat(source, ": unknown setting \"", name,
                                                   "\" (did you mean \"", nearest->name, "\"?)"));
  }
  return absl::OkStatus();
}

absl::Status Read(const std::string& name, const std::string& text, std::string* value) {
  (void)name;
  *value = text;
  return absl::OkStatus();
}

absl::Status Read(const std::string& name, const std::string& text, bool* value) {
  if (absl::SimpleAtob(text, value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": must be true or false, is \"", text, "\""));
}

absl::Status Read(const std::string& name, const std::string& text, int64_t* value) {
  if (absl::SimpleAtoi(text, value) && *value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": must be a whole number, 0 or more, is \"", text, "\""));
}

absl::Status Read(const std::string&, const std::string& text, std::vector<std::string>* value) {
  value->clear();
  if (text == "none") return absl::OkStatus();
  *value = absl::StrSplit(text, ',', absl::SkipEmpty());
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
  if (config.jobs_running_max < 1 || config.jobs_running_max > 64) {
    return absl::InvalidArgumentError(
        absl::StrCat("jobs_running_max: must be 1 to 64, is ", config.jobs_running_max));
  }
  if (config.tenant_queued_jobs_max < 1 || config.queued_jobs_max < 1) {
    return absl::InvalidArgumentError("queued_jobs_max, tenant_queued_jobs_max: must be positive");
  }
  if (config.insecure && !IsLocalAddress(config.listen)) {
    return absl::InvalidArgumentError(
        absl::StrCat("insecure: ", config.listen,
                     " can be reached from outside (use TLS, 127.0.0.1, [::1] or unix:PATH)"));
  }
  if (!config.insecure && (config.tls_cert.empty() || config.tls_key.empty())) {
    return absl::InvalidArgumentError(
        "tls_cert, tls_key: are required (or --insecure on a loopback address)");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Span<const Setting> Settings() { return kSettings; }

bool IsLocalAddress(const std::string& address) {
  return absl::StartsWith(address, "unix:") || absl::StartsWith(address, "127.") ||
         absl::StartsWith(address, "localhost:") || absl::StartsWith(address, "[::1]:");
}

absl::StatusOr<Config> MakeConfig(const SettingValues& flags, const SettingValues& environment,
                                  const SettingValues& file) {
  PLAIT_RETURN_IF_ERROR(CheckNames(flags, "command line"));
  PLAIT_RETURN_IF_ERROR(CheckNames(file, "configuration file"));
  SettingValues values = file;
  // Other programs of plait have variables of their own, so unknown ones are not ours to refuse.
  for (const auto& [name, value] : environment) values[name] = value;
  for (const auto& [name, value] : flags) values[name] = value;

  Config config;
  absl::Status status;
  const auto read = [&](const std::string& name, auto* value) {
    const auto found = values.find(name);
    if (status.ok() && found != values.end()) status = Read(name, found->second, value);
  };
  read("data_dir", &config.data_dir);
  read("listen", &config.listen);
  read("metrics_listen", &config.metrics_listen);
  read("insecure", &config.insecure);
  read("tls_cert", &config.tls_cert);
  read("tls_key", &config.tls_key);
  read("tls_client_ca", &config.tls_client_ca);
  read("workers", &config.workers);
  read("worker_threads", &config.worker_threads);
  read("worker_program", &config.worker_program);
  read("jobs_running_max", &config.jobs_running_max);
  read("search_threads", &config.search_threads);
  read("queued_jobs_max", &config.queued_jobs_max);
  read("tenant_queued_jobs_max", &config.tenant_queued_jobs_max);
  read("job_grace_seconds", &config.job_grace_seconds);
  read("child_memory_bytes", &config.child_memory_bytes);
  read("log_level", &config.log_level);
  PLAIT_RETURN_IF_ERROR(status);
  PLAIT_RETURN_IF_ERROR(CheckConfig(config));
  return config;
}

}  // namespace plait
