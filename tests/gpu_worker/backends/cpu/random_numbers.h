#pragma once

#include <random>
#include <vector>

namespace plait {

// Standard normal; equal for equal seeds.
inline std::vector<float> RandomNumbers(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(random);
  return numbers;
}

}  // namespace plait
