#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/optimizer/onnx/model_text.h"

namespace plait {

// y = relu(x w): every number is small and exact. w is [width, width], all ones below the diagonal.
inline std::string ProductModel(int64_t width) {
  const std::string x = std::to_string(width);
  return GraphBytes(13, "g (float[2," + x + "] x) => (float[2," + x + R"(] y) {
      p = MatMul(x, w)
      y = Relu(p)
    })",
                    [&](onnx::ModelProto* model) {
                      onnx::TensorProto* const w = model->mutable_graph()->add_initializer();
                      w->set_name("w");
                      w->set_data_type(onnx::TensorProto::FLOAT);
                      w->add_dims(width);
                      w->add_dims(width);
                      for (int64_t i = 0; i < width * width; ++i) {
                        w->add_float_data(i % width <= i / width ? 1.0f : 0.0f);
                      }
                    });
}

// What ProductModel makes of it: column c of a row is the sum of the elements from c on.
inline std::vector<float> Product(const std::vector<float>& x, size_t width) {
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    float sum = 0;
    for (size_t k = i; k < (i / width + 1) * width; ++k) sum += x[k];
    y[i] = std::max(sum, 0.0f);
  }
  return y;
}

inline std::vector<float> Numbers(size_t count, int seed) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<float>((i * 7 + static_cast<size_t>(seed) * 13) % 17) - 6;
  }
  return numbers;
}

}  // namespace plait
