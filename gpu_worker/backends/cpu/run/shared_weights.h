#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "gpu_worker/backends/cpu/run/memory.h"
#include "optimizer/ir/fingerprint.h"

namespace plait {

// Packed weights that executables of one executor have in common: those of one model at several
// shapes differ in sizes, and hardly a weight does. A piece lies in the memory of the executable
// that packed it first; others take that memory along, which goes with the last of them. A piece is
// known by what it was packed from and how. Not thread-safe; executables may go on any thread.
class SharedWeights {
 public:
  struct Piece {
    std::shared_ptr<MemoryRegion> region;  // null: nobody has packed it, or all have gone who did
    std::byte* data = nullptr;
  };

  Piece Find(const Fingerprint& key) const;
  void Add(const Fingerprint& key, const std::shared_ptr<MemoryRegion>& region, std::byte* data);

  // Pieces that are known, of which some may be gone.
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::weak_ptr<MemoryRegion> region;
    std::byte* data;
  };
  void ForgetWhatIsGone();

  absl::flat_hash_map<Fingerprint, Entry> entries_;
  size_t entries_max_ = 1024;  // before those that are gone are looked for
};

// The part of one executable, while it is loaded and afterwards: what it has packed for others, and
// what it reads of theirs. Not thread-safe.
class SharingExecutable {
 public:
  // Reserves address space for as many bytes as all of its weights may take.
  // `shared` must outlive the load. Errors: ResourceExhausted.
  static absl::StatusOr<SharingExecutable> Create(SharedWeights* shared, int64_t bytes_max);

  struct Place {
    std::byte* data;
    bool is_packed;  // and must not be written
  };
  // A place for a piece, where another executable has packed it, or an earlier step of this one
  // (layers that share their weights), or in memory of its own.
  // Errors: ResourceExhausted.
  absl::StatusOr<Place> Allocate(const Fingerprint& key, int64_t bytes);

  // Of all that was packed here and not found.
  int64_t own_bytes() const { return own_->used_bytes(); }

  // What was allocated since the last call is packed, and may be shared; or it is not, and may not.
  void Publish();
  void Forget() { pending_.clear(); }

 private:
  struct Pending {
    Fingerprint key;
    std::byte* data;
  };

  SharedWeights* shared_ = nullptr;
  std::shared_ptr<MemoryRegion> own_;
  std::vector<std::shared_ptr<MemoryRegion>> taken_;  // of others, each once
  std::vector<Pending> pending_;
};

}  // namespace plait
