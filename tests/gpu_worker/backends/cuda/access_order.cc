#include "tests/gpu_worker/backends/cuda/access_order.h"

#include <algorithm>

namespace plait::cuda {
namespace {

bool Overlap(const MemoryAccess& a, const MemoryAccess& b) {
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

bool Covers(const MemoryAccess& outer, const MemoryAccess& inner) {
  return outer.begin <= inner.begin && inner.begin + inner.bytes <= outer.begin + outer.bytes;
}

}  // namespace

bool Conflict(const MemoryAccess& a, const MemoryAccess& b) {
  return (a.writes || b.writes) && Overlap(a, b);
}

int64_t AccessOrder::At(const Clock& clock, Stream stream) {
  const auto found = clock.find(stream);
  return found == clock.end() ? 0 : found->second;
}

void AccessOrder::Join(const Clock& from, Clock* to) {
  for (const auto& [stream, place] : from) {
    int64_t& known = (*to)[stream];
    known = std::max(known, place);
  }
}

bool AccessOrder::IsKnown(const Past& past, const Clock& clock) const {
  return past.place <= At(clock, past.stream);
}

std::optional<std::string> AccessOrder::Enqueue(Stream stream, const std::string& name,
                                                const std::vector<MemoryAccess>& accesses) {
  Clock& clock = streams_[stream];
  Join(host_, &clock);
  const int64_t place = ++clock[stream];
  for (const MemoryAccess& access : accesses) {
    for (const Past& past : past_) {
      if (Conflict(access, past.access) && !IsKnown(past, clock)) {
        return name + ": nothing orders it behind " + past.name + ", which touches its memory";
      }
    }
    // Whoever is ordered behind the new access is so behind the one that it covers.
    std::erase_if(past_, [&](const Past& past) {
      return (access.writes || !past.access.writes) && Covers(access, past.access) &&
             IsKnown(past, clock);
    });
    past_.push_back({access, stream, place, name});
  }
  return std::nullopt;
}

void AccessOrder::Record(Event event, Stream stream) { events_[event] = streams_[stream]; }

void AccessOrder::Wait(Stream stream, Event event) { Join(events_[event], &streams_[stream]); }

void AccessOrder::Synchronize(Stream stream) {
  Join(streams_[stream], &host_);
  std::erase_if(past_, [this](const Past& past) { return IsKnown(past, host_); });
}

void AccessOrder::SynchronizeAll() {
  for (const auto& [stream, clock] : streams_) Join(clock, &host_);
  past_.clear();
}

int64_t AccessOrder::place(Stream stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? 0 : At(found->second, stream);
}

bool AccessOrder::HostKnows(Stream stream, int64_t place) const {
  return place <= At(host_, stream);
}

}  // namespace plait::cuda
