#pragma once

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "plait/v1/optimization.pb.h"

namespace plait {

// "search        [=========>          ]  45 %  1.32x": `fraction` is clamped to 0..1, a speed-up
// of 0 is left out. At least 40 columns wide.
// Pure. No line feed at its end.
std::string ProgressLine(absl::string_view phase, double fraction, double speedup, int columns);

// Shows how a job proceeds: one line that is drawn again and again on a terminal, and nothing but
// new phases elsewhere. Not thread-safe.
//
// A fraction or speed-up of 0 says nothing, so the last one stays.
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
  // As the last events said.
  std::string phase_;
  double fraction_ = 0;
  double speedup_ = 0;
  bool drawn_ = false;
};

}  // namespace plait
