#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "optimizer/ops/shared/scattering.h"

namespace plait {

// Copies a tensor to another of its type, by up to `width` threads.
void CopyInParts(int width, const Operand& from, const Operand& to);

// A copy of data some of whose slices are met by updates, at places that each run finds out: what
// ScatterND does, and ScatterElements with slices of one element. The result does not depend on the
// number of threads, and is that of one update after the other, rounded once. One thread at a time.
class SliceScatter {
 public:
  struct Ends {
    Operand data;
    Operand updates;
    Operand result;
  };

  // Of updates that are `updates` slices of data that are some. Scratch memory comes from the
  // context.
  // Errors: ResourceExhausted.
  // REQUIRES: from 1 to 2^31 - 1 updates, of an element at least; where they do not replace, floats
  // or integers.
  static absl::StatusOr<SliceScatter> Load(LoadContext* context, Meeting meeting, const Ends& ends,
                                           int64_t updates);

  // The place of each update, counted in slices of the data: to be written before each Run.
  absl::Span<int64_t> places() const { return places_; }

  // REQUIRES: all places lie inside the data.
  void Run() const;

 private:
  // Elements of a slice that one thread takes at a time: their sums stay in the first-level cache.
  static constexpr int64_t kPiece = 512;
  static constexpr int32_t kNone = -1;

  // Writes elements [first, first + size) of the slice that the update and those behind it go to.
  using Meet = void (SliceScatter::*)(int32_t update, int64_t first, int64_t size) const;

  SliceScatter() = default;
  bool PlacesAscend() const;
  void LinkUpdates() const;
  void RunPieces(bool is_linked) const;
  void CopyPiece(int32_t update, int64_t first, int64_t size) const;
  template <typename Element, Meeting kMeeting>
  void MeetPiece(int32_t update, int64_t first, int64_t size) const;
  template <typename Element>
  static Meet MeetOf(Meeting meeting);

  int width_ = 1;
  Meeting meeting_ = Meeting::kReplace;
  Meet meet_ = nullptr;
  Ends ends_;
  int64_t slice_ = 1;   // in elements
  int64_t slices_ = 0;  // of the data
  int64_t element_bytes_ = 1;
  absl::Span<int64_t> places_;
  int32_t* owners_ = nullptr;  // by place: the update that writes there; of other places nothing
  int32_t* next_ = nullptr;    // by update: the one behind it that goes to the same place, or kNone
};

}  // namespace plait
