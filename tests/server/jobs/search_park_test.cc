#include "server/jobs/search_park.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/base/manual_clock.h"

namespace plait {
namespace {

class SearchParkTest : public testing::Test {
 protected:
  SearchParkTest() : child_(fork()) {
    while (child_ == 0) pause();
  }
  ~SearchParkTest() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  // Waits for the child's next change, and tells whether that was to stand still.
  bool Stops() {
    int state = 0;
    EXPECT_EQ(waitpid(child_, &state, WUNTRACED | WCONTINUED), child_);
    return WIFSTOPPED(state);
  }

  const pid_t child_;
  ManualClock clock_;
  SearchPark park_{clock_};
};

TEST_F(SearchParkTest, StopsChildrenWhileItIsQuiet) {
  park_.Add(child_);
  park_.SetQuiet(true);
  EXPECT_TRUE(Stops());
  park_.SetQuiet(false);
  EXPECT_FALSE(Stops());
}

TEST_F(SearchParkTest, StopsAChildThatComesInQuietTime) {
  park_.SetQuiet(true);
  park_.Add(child_);
  EXPECT_TRUE(Stops());
}

TEST_F(SearchParkTest, TellsHowLongAChildWasStopped) {
  EXPECT_EQ(park_.StoppedFor(child_), absl::ZeroDuration());
  park_.SetQuiet(true);
  clock_.Advance(absl::Seconds(1));
  park_.Add(child_);
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(park_.StoppedFor(child_), absl::Seconds(2));
  // Said twice, it is no new time.
  park_.SetQuiet(true);
  clock_.Advance(absl::Seconds(4));
  park_.SetQuiet(false);
  clock_.Advance(absl::Seconds(8));
  EXPECT_EQ(park_.StoppedFor(child_), absl::Seconds(6));
  park_.SetQuiet(true);
  clock_.Advance(absl::Seconds(16));
  EXPECT_EQ(park_.StoppedFor(child_), absl::Seconds(22));
  park_.Remove(child_);
  EXPECT_EQ(park_.StoppedFor(child_), absl::ZeroDuration());
}

}  // namespace
}  // namespace plait
