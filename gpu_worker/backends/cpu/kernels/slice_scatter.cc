#include "gpu_worker/backends/cpu/kernels/slice_scatter.h"

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/element_types.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/team/team.h"

// Updates of two threads must not meet in one place, and those of a place keep their order. So each
// place has one owner among its updates, who writes for all of them:
//   places   3 1 3 0 3
//   replace  the last one: updates 1, 3 and 4 write
//   add      the first one, who has a list of the others: 0 -> 2 -> 4, 1, 3
// Where places ascend, as they do mostly, each update owns its own. What else there is to say of a
// run is in its order: threads take pieces of slices, and no two the same.

namespace plait {
namespace {

// What numbers meet in: integers are ordered as their type says, and wrap as unsigned ones do.
template <typename Element, Meeting kMeeting>
using MetIn = std::conditional_t<kMeeting == Meeting::kMax || kMeeting == Meeting::kMin,
                                 typename Element::Ordered, typename Element::Number>;

// b != b holds for a NaN alone, and nothing is better than one in `a`: NaNs stay.
template <Meeting kMeeting, typename Number>
Number Met(Number a, Number b) {
  if constexpr (kMeeting == Meeting::kAdd) return a + b;
  if constexpr (kMeeting == Meeting::kMul) return a * b;
  if constexpr (kMeeting == Meeting::kMax) return b > a || b != b ? b : a;
  return b < a || b != b ? b : a;
}

}  // namespace

void CopyInParts(int width, const Operand& from, const Operand& to) {
  constexpr int64_t kCopiedBytes = 16384;
  const int64_t bytes = from.type.bytes();
  ForEachPart(width, CeilDiv(bytes, kCopiedBytes), [&](int64_t begin, int64_t end, int) {
    const int64_t first = begin * kCopiedBytes;
    const int64_t last = std::min(bytes, end * kCopiedBytes);
    std::memcpy(to.data + first, from.data + first, static_cast<size_t>(last - first));
  });
}

absl::StatusOr<SliceScatter> SliceScatter::Load(LoadContext* context, Meeting meeting,
                                                const Ends& ends, int64_t updates) {
  SliceScatter scatter;
  scatter.width_ = context->width();
  scatter.meeting_ = meeting;
  scatter.ends_ = ends;
  scatter.slice_ = ends.updates.type.elements() / updates;
  scatter.element_bytes_ = BytesOf(ends.data.type.dtype);
  scatter.meet_ = meeting == Meeting::kReplace
                      ? &SliceScatter::CopyPiece
                      : VisitElement(ends.data.type.dtype, [&](auto element) {
                          return MeetOf<decltype(element)>(meeting);
                        });
  PLAIT_ASSIGN_OR_RETURN(int64_t* const places, ScratchOf<int64_t>(context, updates));
  scatter.places_ = absl::MakeSpan(places, static_cast<size_t>(updates));
  scatter.slices_ = ends.data.type.elements() / scatter.slice_;
  PLAIT_ASSIGN_OR_RETURN(scatter.owners_, ScratchOf<int32_t>(context, scatter.slices_));
  PLAIT_ASSIGN_OR_RETURN(scatter.next_, ScratchOf<int32_t>(context, updates));
  return scatter;
}

template <typename Element>
SliceScatter::Meet SliceScatter::MeetOf(Meeting meeting) {
  switch (meeting) {
    case Meeting::kMul:
      return &SliceScatter::MeetPiece<Element, Meeting::kMul>;
    case Meeting::kMax:
      return &SliceScatter::MeetPiece<Element, Meeting::kMax>;
    case Meeting::kMin:
      return &SliceScatter::MeetPiece<Element, Meeting::kMin>;
    default:
      return &SliceScatter::MeetPiece<Element, Meeting::kAdd>;
  }
}

void SliceScatter::Run() const {
  CopyInParts(width_, ends_.data, ends_.result);
  const bool is_linked = !PlacesAscend();
  if (is_linked) {
    LinkUpdates();
  } else {
    std::fill_n(next_, places_.size(), kNone);
  }
  RunPieces(is_linked);
}

bool SliceScatter::PlacesAscend() const {
  for (size_t i = 1; i < places_.size(); ++i) {
    if (places_[i] <= places_[i - 1]) return false;
  }
  return true;
}

// Backwards, so that the first update of a place comes to stand at the head of its list.
void SliceScatter::LinkUpdates() const {
  const auto updates = static_cast<int32_t>(places_.size());
  if (meeting_ == Meeting::kReplace) {
    for (int32_t i = 0; i < updates; ++i) owners_[places_[i]] = i;
    return;
  }
  if (slices_ / 4 < updates) {
    std::fill_n(owners_, slices_, kNone);
  } else {
    for (const int64_t place : places_) owners_[place] = kNone;
  }
  for (int32_t i = updates - 1; i >= 0; --i) {
    next_[i] = owners_[places_[i]];
    owners_[places_[i]] = i;
  }
}

void SliceScatter::RunPieces(bool is_linked) const {
  const auto updates = static_cast<int64_t>(places_.size());
  const int64_t pieces = CeilDiv(slice_, kPiece);
  ForEachPart(width_, updates * pieces, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t update = pieces == 1 ? i : i / pieces;
      if (is_linked && owners_[places_[update]] != update) continue;
      const int64_t first = (i - update * pieces) * kPiece;
      (this->*meet_)(static_cast<int32_t>(update), first, std::min(kPiece, slice_ - first));
    }
  });
}

void SliceScatter::CopyPiece(int32_t update, int64_t first, int64_t size) const {
  std::memcpy(ends_.result.data + (places_[update] * slice_ + first) * element_bytes_,
              ends_.updates.data + (update * slice_ + first) * element_bytes_,
              static_cast<size_t>(size * element_bytes_));
}

template <typename Element, Meeting kMeeting>
void SliceScatter::MeetPiece(int32_t update, int64_t first, int64_t size) const {
  using Stored = typename Element::Stored;
  using Number = MetIn<Element, kMeeting>;
  const auto read = [](Stored stored) { return static_cast<Number>(Element::Read(stored)); };
  Stored* const y = reinterpret_cast<Stored*>(ends_.result.data) + places_[update] * slice_ + first;
  const auto* const updates = reinterpret_cast<const Stored*>(ends_.updates.data) + first;
  Number met[kPiece];
  for (int64_t j = 0; j < size; ++j) met[j] = read(y[j]);
  for (int32_t i = update; i != kNone; i = next_[i]) {
    const Stored* const x = updates + i * slice_;
    for (int64_t j = 0; j < size; ++j) met[j] = Met<kMeeting>(met[j], read(x[j]));
  }
  for (int64_t j = 0; j < size; ++j) {
    y[j] = Element::Write(static_cast<typename Element::Number>(met[j]));
  }
}

}  // namespace plait
