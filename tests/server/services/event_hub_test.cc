#include "server/services/event_hub.h"

#include <thread>

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(EventHubTest, DoesNotWaitForWhatHasHappened) {
  EventHub hub;
  EventHub::Watcher watcher(hub, "job-1");
  const uint64_t seen = watcher.Changes();
  hub.Notify("job-1");
  EXPECT_NE(watcher.Changes(), seen);
  EXPECT_TRUE(watcher.Await(seen, absl::InfiniteDuration()));
}

TEST(EventHubTest, WakesAWatcher) {
  EventHub hub;
  EventHub::Watcher watcher(hub, "job-1");
  const uint64_t seen = watcher.Changes();
  std::thread thread([&] { watcher.Await(seen, absl::InfiniteDuration()); });
  hub.Notify("job-1");
  thread.join();
}

// Each watcher that wakes reads its job from the store.
TEST(EventHubTest, WakesNoWatcherOfAnotherJob) {
  EventHub hub;
  EventHub::Watcher watcher(hub, "job-1");
  EventHub::Watcher other(hub, "job-2");
  const uint64_t seen = watcher.Changes();
  const uint64_t seen_by_other = other.Changes();
  hub.Notify("job-2");
  EXPECT_FALSE(watcher.Await(seen, absl::ZeroDuration()));
  EXPECT_TRUE(other.Await(seen_by_other, absl::InfiniteDuration()));
}

TEST(EventHubTest, TellsAllWatchersOfAJob) {
  EventHub hub;
  EventHub::Watcher first(hub, "job-1");
  const uint64_t seen = first.Changes();
  { const EventHub::Watcher second(hub, "job-1"); }
  hub.Notify("job-1");
  EXPECT_TRUE(first.Await(seen, absl::InfiniteDuration()));
}

TEST(EventHubTest, WaitsNoLongerThanAsked) {
  EventHub hub;
  EventHub::Watcher watcher(hub, "job-1");
  EXPECT_FALSE(watcher.Await(watcher.Changes(), absl::ZeroDuration()));
  EXPECT_FALSE(hub.closed());
}

TEST(EventHubTest, NobodyWaitsAfterItWasClosed) {
  EventHub hub;
  EventHub::Watcher watcher(hub, "job-1");
  std::thread thread([&] { watcher.Await(watcher.Changes(), absl::InfiniteDuration()); });
  hub.Close();
  thread.join();
  watcher.Await(watcher.Changes(), absl::InfiniteDuration());
  EXPECT_TRUE(hub.closed());
}

}  // namespace
}  // namespace plait
