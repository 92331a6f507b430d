#pragma once

namespace plait {

// Whether a device's threads are near each other: on cores that share a cache. A host may move one
// of a virtual machine's processors to a core that does not, for seconds, without a word to the
// system in it. A cache line then takes four times as long from thread to thread, and kernels whose
// threads read each other's results twice as long, while others take what they took and reads of
// memory are faster. Not thread-safe.
class ThreadDistance {
 public:
  // `expected_us` is what a device of this kind takes from thread to thread at most, when it is
  // new to us; 0: unknown.
  explicit ThreadDistance(double expected_us = 0) : nearest_us_(expected_us) {}

  // Of a reading, in microseconds from thread to thread: whether it is much longer than the
  // shortest one so far. An unknown one, 0, never is.
  bool IsFar(double handover_us);

  // Says that threads will stay so far from each other: readings count beside this one.
  void TakeAsUsual(double handover_us) { nearest_us_ = handover_us; }

 private:
  double nearest_us_;
};

}  // namespace plait
