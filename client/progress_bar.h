#pragma once

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "plait/v1/optimization.pb.h"

namespace plait {

// How far a job is, as its events said.
struct ShownProgress {
  std::string phase;
  double fraction = 0;
  double seconds_left = 0;       // 0: not known
  double speedup = 0;            // the best measured so far; 0: there is none
  double speedup_predicted = 0;  // the best that the simulator predicts so far; 0: there is none
};

// "search        [=========>          ]  45 %  ~1.32x  38 s left": the fraction is clamped to 0..1;
// a speed-up that is only predicted has a "~"; what is not known is left out. At least 50 columns
// wide.
// Pure. No line feed at its end.
std::string ProgressLine(const ShownProgress& progress, int columns);

// Shows how a job proceeds: one line that is drawn again and again on a terminal, and nothing but
// new phases elsewhere. Not thread-safe.
//
// A speed-up of 0 says nothing, so the last one stays.
class ProgressBar {
 public:
  // `out` must outlive the bar.
  ProgressBar(std::ostream& out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}

  // Events in any order; a lost worker gets a line of its own.
  void Show(const v1::Event& event);

  // Takes the line away, so that other output can follow.
  // Nothing happens when no line is drawn.
  void Clear();

 private:
  std::ostream& out_;
  bool is_terminal_;
  ShownProgress progress_;
  bool drawn_ = false;
};

}  // namespace plait
