#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "gpu_worker/backends/cuda/driver/kernel_cache.h"

namespace plait::cuda {

// A kernel cache of files, one for each key, named by the key's digest; those of kernels that were
// compiled together are one file with several names. A file holds the digest of its code: one that
// was damaged, or cut off, is removed and made again. Several processes may use one folder. What
// was used least recently goes when there is too much.
// Code of the folder runs on the device, so it has to belong to this process's user alone.
class KernelFolder : public KernelCache {
 public:
  // Some thousand models' kernels.
  static constexpr int64_t kBytesMax = int64_t{256} << 20;

  // Makes the folder where it is not there.
  // Errors: FailedPrecondition for one of another user, or that others may write to; those of the
  // file system.
  static absl::StatusOr<std::unique_ptr<KernelFolder>> Open(const std::string& path,
                                                            int64_t bytes_max = kBytesMax);

  std::optional<std::string> Find(const std::string& key) override;
  // A file that cannot be written is not kept.
  void Keep(const std::vector<std::string>& keys, const std::string& code) override;

 private:
  KernelFolder(std::string path, int64_t bytes_max)
      : path_(std::move(path)), bytes_max_(bytes_max) {}

  std::string PathOf(const std::string& key) const;
  // Removes the files that were used least recently until half of what there may be is left.
  // Counts what is there, whoever wrote it.
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const int64_t bytes_max_;
  absl::Mutex mutex_;
  // About: since the last count, those of this process alone are added.
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plait::cuda
