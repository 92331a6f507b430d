#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/optimizer/onnx/model_text.h"

namespace plait {

// y = relu(x w): every number is small and exact. w is [width, width], all ones below the diagonal.
inline std::string ProductModel(int64_t width, int64_t rows = 2) {
  const std::string x = std::to_string(rows) + "," + std::to_string(width);
  return GraphBytes(13, "g (float[" + x + "] x) => (float[" + x + R"(] y) {
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
  float sum = 0;
  for (size_t i = x.size(); i-- > 0;) {
    sum = (i + 1) % width == 0 ? x[i] : sum + x[i];
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
