#include "client/progress_bar.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

namespace plait {
namespace {

v1::Event EventOf(v1::EventType type, const std::string& text, double fraction, double speedup) {
  v1::Event event;
  event.set_type(type);
  event.set_text(text);
  event.set_fraction(fraction);
  event.set_speedup(speedup);
  return event;
}

TEST(ProgressBarTest, DrawsPhaseFractionAndSpeedup) {
  EXPECT_EQ(ProgressLine("search", 0.5, 1.25, 40), "search        [=====>    ]  50 %  1.25x");
  EXPECT_EQ(ProgressLine("import", 0, 0, 40), "import        [>         ]   0 %");
  EXPECT_EQ(ProgressLine("export", 1, 2, 40), "export        [==========] 100 %  2.00x");
}

TEST(ProgressBarTest, SurvivesFractionsOutsideOfTheirRange) {
  EXPECT_EQ(ProgressLine("x", 7, 0, 40), ProgressLine("x", 1, 0, 40));
  EXPECT_EQ(ProgressLine("x", -7, 0, 40), ProgressLine("x", 0, 0, 40));
  EXPECT_EQ(ProgressLine("x", std::nan(""), 0, 40), ProgressLine("x", 0, 0, 40));
}

TEST(ProgressBarTest, WritesOnlyNewPhasesWhereThereIsNoTerminal) {
  std::ostringstream out;
  ProgressBar bar(out, false);
  bar.Show(EventOf(v1::EVENT_TYPE_QUEUED, "", 0, 0));
  bar.Show(EventOf(v1::EVENT_TYPE_PHASE, "search", 0.1, 0));
  bar.Show(EventOf(v1::EVENT_TYPE_PROGRESS, "", 0.2, 0));
  bar.Show(EventOf(v1::EVENT_TYPE_PHASE, "verify", 0.7, 1.1));
  bar.Clear();
  EXPECT_EQ(out.str(), "queued\nsearch\nverify\n");
}

TEST(ProgressBarTest, DrawsOverItsLineOnATerminal) {
  std::ostringstream out;
  ProgressBar bar(out, true);
  bar.Show(EventOf(v1::EVENT_TYPE_PHASE, "search", 0.5, 0));
  bar.Clear();
  EXPECT_EQ(out.str(), "\r\x1b[K" + ProgressLine("search", 0.5, 0, 72) + "\r\x1b[K");
}

}  // namespace
}  // namespace plait
