#include "client/progress_bar.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

namespace plait {
namespace {

v1::Event EventOf(v1::EventType type, const std::string& text, double fraction = 0) {
  v1::Event event;
  event.set_type(type);
  event.set_text(text);
  event.set_fraction(fraction);
  return event;
}

v1::Event SpeedupEvent(v1::EventType type, double speedup) {
  v1::Event event;
  event.set_type(type);
  event.set_speedup(speedup);
  return event;
}

TEST(ProgressBarTest, DrawsWhatIsKnown) {
  EXPECT_EQ(
      ProgressLine({.phase = "search", .fraction = 0.5, .seconds_left = 38, .speedup = 1.25}, 52),
      "search        [=====>    ]  50 %  1.25x  38 s left");
  EXPECT_EQ(ProgressLine({.phase = "search", .speedup_predicted = 1.5}, 52),
            "search        [>         ]   0 %  ~1.50x");
  EXPECT_EQ(ProgressLine({.phase = "import"}, 52), "import        [>         ]   0 %");
  EXPECT_EQ(ProgressLine({.phase = "export", .fraction = 1, .seconds_left = 0.4}, 52),
            "export        [==========] 100 %");
}

TEST(ProgressBarTest, SurvivesNumbersOutsideOfTheirRange) {
  const std::string empty = ProgressLine({.phase = "x"}, 52);
  EXPECT_EQ(ProgressLine({.phase = "x", .fraction = -7}, 52), empty);
  EXPECT_EQ(ProgressLine({.phase = "x", .fraction = std::nan("")}, 52), empty);
  EXPECT_EQ(ProgressLine({.phase = "x", .seconds_left = 1e300}, 52), empty);
  EXPECT_EQ(ProgressLine({.phase = "x", .seconds_left = std::nan("")}, 52), empty);
  EXPECT_EQ(ProgressLine({.phase = "x", .fraction = 7}, 52),
            ProgressLine({.phase = "x", .fraction = 1}, 52));
}

TEST(ProgressBarTest, WritesOnlyNewPhasesWhereThereIsNoTerminal) {
  std::ostringstream out;
  ProgressBar bar(out, false);
  bar.Show(EventOf(v1::EVENT_TYPE_QUEUED, ""));
  bar.Show(EventOf(v1::EVENT_TYPE_PHASE, "search", 0.1));
  bar.Show(EventOf(v1::EVENT_TYPE_PROGRESS, "", 0.2));
  bar.Show(SpeedupEvent(v1::EVENT_TYPE_INCUMBENT, 1.5));
  bar.Show(EventOf(v1::EVENT_TYPE_PHASE, "verify", 0.7));
  bar.Clear();
  EXPECT_EQ(out.str(), "queued\nsearch\nverify\n");
}

TEST(ProgressBarTest, DrawsOverItsLineOnATerminal) {
  std::ostringstream out;
  ProgressBar bar(out, true);
  bar.Show(EventOf(v1::EVENT_TYPE_PHASE, "search", 0.5));
  bar.Clear();
  EXPECT_EQ(out.str(),
            "\r\x1b[K" + ProgressLine({.phase = "search", .fraction = 0.5}, 72) + "\r\x1b[K");
}

TEST(ProgressBarTest, ShowsTheBestSpeedupMeasuredBeforeTheBestPredicted) {
  std::ostringstream out;
  ProgressBar bar(out, true);
  bar.Show(SpeedupEvent(v1::EVENT_TYPE_INCUMBENT, 1.5));
  EXPECT_NE(out.str().find("~1.50x"), std::string::npos);
  out.str("");
  bar.Show(SpeedupEvent(v1::EVENT_TYPE_MEASURED, 1.25));
  EXPECT_NE(out.str().find("  1.25x"), std::string::npos);
  EXPECT_EQ(out.str().find('~'), std::string::npos);
}

TEST(ProgressBarTest, ForgetsWhatARunBeforeHadReached) {
  std::ostringstream out;
  ProgressBar bar(out, true);
  bar.Show(EventOf(v1::EVENT_TYPE_PHASE, "search", 0.5));
  out.str("");
  bar.Show(EventOf(v1::EVENT_TYPE_QUEUED, ""));
  EXPECT_EQ(out.str(), "\r\x1b[K" + ProgressLine({.phase = "queued"}, 72));
}

TEST(ProgressBarTest, TellsOfALostWorker) {
  std::ostringstream out;
  ProgressBar bar(out, false);
  bar.Show(EventOf(v1::EVENT_TYPE_WORKER_LOST, "worker w1 died or went silent"));
  EXPECT_EQ(out.str(), "worker w1 died or went silent; what it measured is measured again\n");
}

}  // namespace
}  // namespace plait
