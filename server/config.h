#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace plait {

// How plaitd is set up.
struct Config {
  std::string data_dir;
  std::string listen = "127.0.0.1:7400";
  std::string metrics_listen;  // empty: no metrics
  bool insecure = false;
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;                   // not empty: clients must show a certificate
  std::vector<std::string> workers = {"cpu"};  // devices of this machine's workers
  int64_t worker_threads = 0;                  // 0: all cores
  std::string worker_program;                  // empty: plait-worker beside plaitd
  int64_t jobs_running_max = 1;
  int64_t search_threads = 0;  // of one search; 0: all cores
  int64_t queued_jobs_max = 10'000;
  int64_t tenant_queued_jobs_max = 1'000;
  int64_t job_grace_seconds = 600;
  int64_t child_memory_bytes = 0;  // 0: no limit
  std::string log_level = "info";
};

// A setting by its name in the TOML file; the flag is "--" and the name with '-' for '_', the
// environment variable "PLAIT_" and the name in capitals.
struct Setting {
  const char* name;
  const char* help;
  const char* value;  // what help shows for the value; empty for a switch
};

absl::Span<const Setting> Settings();

// Values as text, by the setting's name.
using SettingValues = std::map<std::string, std::string>;

// The configuration of three sources, strongest first; the default counts where none says anything.
// Unknown names in the environment are ignored: they may be another program's.
// Errors: InvalidArgument naming the setting: an unknown name (with the nearest known one), a value
// that cannot be read, TLS and --insecure that do not fit together.
absl::StatusOr<Config> MakeConfig(const SettingValues& flags, const SettingValues& environment,
                                  const SettingValues& file);

// Whether an address can be reached from this machine only.
bool IsLocalAddress(const std::string& address);

}  // namespace plait
