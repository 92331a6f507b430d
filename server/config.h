#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// How plaitd is set up, and where that comes from: flags, the environment, a TOML file, defaults.
// A setting is a field of Config and one row of the table behind Settings; everything else (reading
// it from each source, its bounds, help) follows from the row. Pure and thread-safe.
namespace plait {

// What stands for each GPU of this machine in the list of workers.
inline constexpr char kAllGpus[] = "cuda";

// The settings, checked. A default stands here and nowhere else.
struct Config {
  // A path of at most 95 bytes: the workers' socket lies in it, and a socket's path is short.
  std::string data_dir;
  std::string listen = "127.0.0.1:7400";  // where clients connect
  // Where workers of other hosts connect; empty: nowhere. Those of this machine use a socket in
  // the data directory.
  std::string worker_listen;
  std::string metrics_listen;  // empty: no metrics
  // With threads of its own, so that slow readers of metrics cannot make the daemon look dead.
  std::string health_listen;  // empty: where metrics are
  // No TLS. Refused where an address can be reached from outside, and together with TLS's files.
  bool insecure = false;
  // No TLS, wherever clients connect: for a network in which nobody listens, as that of a container
  // whose port is published on loopback. The server warns of it. Workers of other hosts need TLS
  // all the same, because they are believed.
  bool insecure_any_address = false;
  std::string tls_cert;
  std::string tls_key;
  // It decides who may connect, not who is who: every client that shows such a certificate may name
  // any tenant, and may do what operators do.
  std::string tls_client_ca;  // not empty: clients must show a certificate
  // Workers decide what is fast and what is equal, so that they are never anonymous: required for
  // `worker_listen` with TLS. A client's certificate must not be one of these.
  std::string tls_worker_ca;
  // Devices of this machine's workers; kAllGpus stands for each GPU that there is.
  std::vector<std::string> workers = {"cpu", kAllGpus};
  int64_t worker_threads = 0;          // 0: all cores
  std::string worker_instruction_set;  // empty: all that the processor has
  std::string worker_program;          // empty: plait-worker beside plaitd
  // Of Python, with the runtimes in which results are measured: a path, or a name that PATH has.
  std::string runtimes_python = "python3";  // "none": no runtimes
  // One: searches that run at the same time take each other's processor and finish later.
  int64_t jobs_running_max = 1;
  int64_t search_threads = 0;  // of one search; 0: all cores
  // kQueuedJobsMax, and a tenth of it for one tenant, so that none can fill the queue alone.
  int64_t queued_jobs_max = 10'000;
  int64_t tenant_queued_jobs_max = 1'000;
  // Of watchers, uploads and downloads: each holds a thread of the server. 256: their stacks take
  // 2 GiB of addresses and little memory.
  int64_t streams_max = 256;
  int64_t tenant_streams_max = 64;  // a quarter, so that none can take all of them
  // A search keeps to its budget by what it predicts; this is for what took far longer.
  int64_t job_grace_seconds = 600;
  // Loading a large model and timing its plans takes a minute or two; a task that takes longer than
  // this has met a kernel that hangs, and ends its job instead of the device.
  int64_t task_seconds_max = 600;
  // One that has not called by then hangs, and another one is started. A driver that begins with
  // many GPUs, and libraries that are read for the first time, take tens of seconds.
  int64_t worker_start_seconds_max = 60;
  // Of address space, so somewhat more than the memory that a search touches.
  int64_t child_memory_bytes = 0;  // 0: by the model; see JobRunnerOptions
  // Of one of this machine's workers. 0: three quarters of the machine's memory, beyond which it
  // would only push everything else out.
  int64_t worker_memory_bytes = 0;
  // A month: long enough to fetch a result, and a store that grows all the time ends somewhere.
  int64_t jobs_kept_days = 30;  // after their end; 0: for ever
  int64_t blobs_bytes_max = 0;  // 0: no limit
  // An hour, so that a clock that is set forward deletes nothing that somebody is about to fetch.
  int64_t blobs_seen_unused_seconds = 3600;
  std::string log_level = "info";
};

// Whether clients are spoken to without TLS.
inline bool IsPlaintext(const Config& config) {
  return config.insecure || config.insecure_any_address;
}

// Where a setting's value goes. Its type says how the value is read: any text; a switch, "true" or
// "false"; a whole number; texts joined by commas, or "none".
using SettingField = std::variant<std::string Config::*, bool Config::*, int64_t Config::*,
                                  std::vector<std::string> Config::*>;

// A setting by its name in the TOML file; the flag is "--" and the name with '-' for '_', the
// environment variable "PLAIT_" and the name in capitals.
// A constant of the program: texts are literals and live forever.
struct Setting {
  absl::string_view name;
  SettingField field;
  absl::string_view value;  // what help shows for the value; empty for a switch
  absl::string_view help;
  // Of a number.
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
};

// All of them, in the order in which help shows them.
// docs/operations.md lists the same ones; a test holds the two together.
absl::Span<const Setting> Settings();

// Values as text, by the setting's name.
// One source's; MakeConfig lays three of them over each other.
using SettingValues = std::map<std::string, std::string>;

// The configuration of three sources, strongest first; the default counts where none says anything.
// Unknown names in the environment are ignored: they may be another program's.
// Errors: InvalidArgument naming the setting: an unknown name (with the nearest known one), a value
// that cannot be read or is out of bounds, TLS and --insecure that do not fit together.
absl::StatusOr<Config> MakeConfig(const SettingValues& flags, const SettingValues& environment,
                                  const SettingValues& file);

}  // namespace plait
