#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/process.h"
#include "client/gate/decide.h"
#include "optimizer/ir/tensor.h"
#include "optimizer/kernels/device.h"
#include "proto/wire/json.h"

namespace plait {

// A runtime besides plait, and how it is reached.
struct RuntimeOptions {
  std::string runtime;  // "onnxruntime", "openvino"
  // The Python that has it: a path, or a name that is searched for in PATH; "none": there is none.
  std::string interpreter;
  std::string package_path;      // where that finds plait_runtime_worker, for PYTHONPATH
  int threads = 1;               // of a model
  int64_t memory_bytes_max = 0;  // of a model: address space
};

// A model as a runtime gets it.
struct GatedFile {
  std::string path;   // for messages
  std::string bytes;  // with its external data inside
  // By the order of the model's inputs; all of them.
  std::vector<std::pair<std::string, Tensor>> inputs;
};

// Measures two models in a runtime besides plait, through a process of Python that lives as long as
// this object (runtime_worker/plait_runtime_worker/pairs.py). Each load has two processes of its
// own, one for each model, under limits. Rounds are as those of PairedPlans, but that a turn ends
// when the runtime's threads have stopped spinning.
class RuntimePairs : public PairSource {
 public:
  // Errors: Unavailable (DEVICE_UNAVAILABLE) when the interpreter does not run or lacks the
  // runtime; InvalidArgument (MODEL_REJECTED) for inputs of a type that runtimes get no values of.
  // REQUIRES: the calling thread outlives the object.
  static absl::StatusOr<std::unique_ptr<RuntimePairs>> Start(const RuntimeOptions& options,
                                                             const GatedFile& base,
                                                             const GatedFile& changed);

  // Nothing runs yet: use Start.
  explicit RuntimePairs(std::string runtime) : runtime_(std::move(runtime)) {}
  // Ends the process.
  ~RuntimePairs() override;

  // Errors: InvalidArgument (MODEL_REJECTED), naming the model, for one that the runtime refuses,
  // crashes at or does not run within its limits; Unavailable when the process is gone.
  absl::StatusOr<PairedLoad> MeasureLoad(bool new_first) override;

  // The runtime as a device: its id, its name with its version, and a fingerprint.
  const DeviceDescription& device() const { return device_; }
  // What it runs with, for people.
  const std::string& settings() const { return settings_; }

 private:
  absl::Status Spawn(const RuntimeOptions& options);
  absl::Status Greet();
  absl::Status Give(const GatedFile& base, const GatedFile& changed);
  // Writes all bytes. An error shows as a missing answer.
  void Write(absl::string_view bytes);
  // The next line, without what the process has against a model: that is an error.
  absl::StatusOr<wire::Json> Answer();
  absl::Status Gone() const;

  const std::string runtime_;
  std::string paths_[2];
  DeviceDescription device_;
  std::string settings_;
  FileDescriptor socket_;  // both ways
  std::string received_;
  Process process_;
};

}  // namespace plait
