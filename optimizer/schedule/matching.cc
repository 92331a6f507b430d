#include "optimizer/schedule/matching.h"

#include <deque>

// Kuhn's algorithm: one left vertex after the other gets a partner, and those that have one already
// move on when that makes room. With neighbours {0,1}, {0}, {0}: vertex 0 takes 0; vertex 1 wants 0
// too, and vertex 0 moves to 1 (the alternating path 1 - 0 - 0 - 1); vertex 2 finds no path,
// because nobody on the way can move. Partners are 1, 0, none. O(vertices * edges).

namespace plait {

std::vector<int> MaximumMatching(const std::vector<std::vector<int>>& neighbours, int right_count) {
  std::vector<int> partner_of_left(neighbours.size(), -1);
  std::vector<int> partner_of_right(right_count, -1);
  // Of the search from the root that is noted beside it; cleared by the next root's number.
  std::vector<int> reached_from(right_count, -1);
  std::vector<int> reached_by(right_count, -1);
  for (int root = 0; root < static_cast<int>(neighbours.size()); ++root) {
    // Breadth-first over alternating paths, so that a long path cannot exhaust the stack.
    std::deque<int> open = {root};
    int free_right = -1;
    while (!open.empty() && free_right < 0) {
      const int left = open.front();
      open.pop_front();
      for (const int right : neighbours[left]) {
        if (reached_by[right] == root) continue;
        reached_by[right] = root;
        reached_from[right] = left;
        if (partner_of_right[right] < 0) {
          free_right = right;
          break;
        }
        open.push_back(partner_of_right[right]);
      }
    }
    while (free_right >= 0) {
      const int left = reached_from[free_right];
      const int next_right = partner_of_left[left];
      partner_of_left[left] = free_right;
      partner_of_right[free_right] = left;
      free_right = next_right;
    }
  }
  return partner_of_left;
}

}  // namespace plait
