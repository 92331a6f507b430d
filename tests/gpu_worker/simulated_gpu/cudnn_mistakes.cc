#include "tests/gpu_worker/simulated_gpu/cudnn_mistakes.h"

#include <cstdint>
#include <utility>

namespace plait::simulated_gpu {
namespace {

using Library = cuda::CudnnLibrary;
using Sizes = std::vector<int64_t>;

// Makes descriptors, and destroys them at its end. Of the setters the last status stays.
class Maker {
 public:
  explicit Maker(const Library& library) : library_(library) {}
  ~Maker() {
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
      library_.destroy_descriptor(*made);
    }
  }

  cudnnBackendDescriptor_t Make(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t descriptor = nullptr;
    status_ = library_.create_descriptor(type, &descriptor);
    made_.push_back(descriptor);
    return descriptor;
  }
  template <typename Value>
  cudnnStatus_t Set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                    cudnnBackendAttributeType_t type, Value value) {
    return status_ = library_.set_attribute(descriptor, name, type, 1, &value);
  }
  cudnnStatus_t SetSizes(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         const Sizes& sizes) {
    return status_ = library_.set_attribute(descriptor, name, CUDNN_TYPE_INT64,
                                            static_cast<int64_t>(sizes.size()), sizes.data());
  }
  cudnnStatus_t SetPart(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                        cudnnBackendDescriptor_t part) {
    return Set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, part);
  }
  cudnnStatus_t SetPointers(cudnnBackendDescriptor_t pack, std::vector<void*> pointers) {
    return status_ = library_.set_attribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                            CUDNN_TYPE_VOID_PTR,
                                            static_cast<int64_t>(pointers.size()), pointers.data());
  }
  cudnnStatus_t Finalize(cudnnBackendDescriptor_t descriptor) {
    return status_ = library_.finalize(descriptor);
  }
  cudnnStatus_t Get(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                    cudnnBackendAttributeType_t type, int64_t count, void* values) {
    int64_t available = 0;
    return status_ = library_.get_attribute(descriptor, name, type, count, &available, values);
  }
  cudnnStatus_t Destroy(cudnnBackendDescriptor_t descriptor) {
    std::erase(made_, descriptor);
    return status_ = library_.destroy_descriptor(descriptor);
  }
  cudnnStatus_t status() const { return status_; }

  // A tensor with all that it needs but `missing`.
  cudnnBackendDescriptor_t Tensor(int64_t id, const Sizes& sizes, const Sizes& strides,
                                  int missing = -1) {
    const cudnnBackendDescriptor_t tensor = Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    if (missing != CUDNN_ATTR_TENSOR_DATA_TYPE) {
      Set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    }
    if (missing != CUDNN_ATTR_TENSOR_DIMENSIONS) {
      SetSizes(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
    }
    if (missing != CUDNN_ATTR_TENSOR_STRIDES) SetSizes(tensor, CUDNN_ATTR_TENSOR_STRIDES, strides);
    if (missing != CUDNN_ATTR_TENSOR_UNIQUE_ID) {
      Set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
    }
    if (missing != CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) {
      Set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t{16});
    }
    return tensor;
  }
  // A finalized one, dense.
  cudnnBackendDescriptor_t Dense(int64_t id, const Sizes& sizes) {
    Sizes strides(sizes.size(), 1);
    for (size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
    const cudnnBackendDescriptor_t tensor = Tensor(id, sizes, strides);
    Finalize(tensor);
    return tensor;
  }

  cudnnBackendDescriptor_t Convolution(int missing = -1, const Sizes& stride = {1, 1}) {
    const cudnnBackendDescriptor_t conv = Make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    if (missing != CUDNN_ATTR_CONVOLUTION_COMP_TYPE) {
      Set(conv, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    }
    if (missing != CUDNN_ATTR_CONVOLUTION_CONV_MODE) {
      Set(conv, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
          CUDNN_CROSS_CORRELATION);
    }
    if (missing != CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) {
      Set(conv, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{2});
    }
    const std::pair<cudnnBackendAttributeName_t, Sizes> arrays[] = {
        {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride},
        {CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1}},
        {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {1, 1}},
        {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {1, 1}}};
    for (const auto& [name, sizes] : arrays) {
      if (missing != name) SetSizes(conv, name, sizes);
    }
    return conv;
  }
  // A convolution of 8 channels to 8, of which `y` can be another size.
  cudnnBackendDescriptor_t ConvolutionOperation(int missing = -1, const Sizes& y = {1, 8, 4, 4},
                                                const Sizes& w = {8, 8, 3, 3}) {
    const cudnnBackendDescriptor_t conv = Convolution();
    Finalize(conv);
    const cudnnBackendDescriptor_t operation =
        Make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    const std::pair<cudnnBackendAttributeName_t, cudnnBackendDescriptor_t> parts[] = {
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, Dense(1, {1, 8, 4, 4})},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, Dense(2, w)},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, Dense(3, y)}};
    for (const auto& [name, part] : parts) {
      if (missing != name) SetPart(operation, name, part);
    }
    if (missing != CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA) {
      Set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0F);
    }
    if (missing != CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA) {
      Set(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0F);
    }
    return operation;
  }
  cudnnBackendDescriptor_t Graph(std::vector<cudnnBackendDescriptor_t> operations) {
    const cudnnBackendDescriptor_t graph = Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    status_ =
        library_.set_attribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               static_cast<int64_t>(operations.size()), operations.data());
    return graph;
  }
  cudnnBackendDescriptor_t PointwiseOperation(cudnnPointwiseMode_t mode, bool has_second,
                                              const Sizes& second, const Sizes& y) {
    const cudnnBackendDescriptor_t pointwise = Make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    Set(pointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    Set(pointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    Finalize(pointwise);
    const cudnnBackendDescriptor_t operation = Make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    SetPart(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
    SetPart(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, Dense(11, {1, 8, 4, 4}));
    if (has_second) {
      SetPart(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, Dense(12, second));
    }
    SetPart(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, Dense(13, y));
    return operation;
  }
  cudnnBackendDescriptor_t MatmulOperation(const Sizes& a, const Sizes& b, const Sizes& c) {
    const cudnnBackendDescriptor_t matmul = Make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    Set(matmul, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    Finalize(matmul);
    const cudnnBackendDescriptor_t operation = Make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    SetPart(operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, matmul);
    SetPart(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, Dense(21, a));
    SetPart(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, Dense(22, b));
    SetPart(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, Dense(23, c));
    return operation;
  }

 private:
  const Library& library_;
  std::vector<cudnnBackendDescriptor_t> made_;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

// A mistake by what it does with a Maker.
template <typename Do>
CudnnMistake Mistake(std::string name, Do what, bool ends_cudnn = false) {
  return {std::move(name),
          [what](const Library& library) {
            Maker maker(library);
            what(maker);
            return maker.status();
          },
          ends_cudnn};
}
constexpr bool kEndsCudnn = true;

const Sizes kSizes = {1, 8, 4, 4};
const Sizes kStrides = {128, 16, 4, 1};

void AppendTensors(std::vector<CudnnMistake>* mistakes) {
  for (const auto& [name, missing] : {std::pair("type", CUDNN_ATTR_TENSOR_DATA_TYPE),
                                      {"sizes", CUDNN_ATTR_TENSOR_DIMENSIONS},
                                      {"strides", CUDNN_ATTR_TENSOR_STRIDES},
                                      {"id", CUDNN_ATTR_TENSOR_UNIQUE_ID},
                                      {"alignment", CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT}}) {
    mistakes->push_back(Mistake(std::string("a tensor without ") + name, [missing](Maker& m) {
      m.Finalize(m.Tensor(1, kSizes, kStrides, missing));
    }));
  }
  mistakes->push_back(Mistake("more strides than sizes", [](Maker& m) {
    m.Finalize(m.Tensor(1, kSizes, {512, 128, 16, 4, 1}));
  }));
  mistakes->push_back(Mistake("a size of zero", [](Maker& m) {
    m.Finalize(m.Tensor(1, {1, 8, 0, 4}, kStrides));
  }));
  mistakes->push_back(Mistake("a negative size", [](Maker& m) {
    m.Finalize(m.Tensor(1, {1, -8, 4, 4}, kStrides));
  }));
  for (const int64_t alignment : {int64_t{0}, int64_t{3}}) {
    mistakes->push_back(
        Mistake("an alignment of " + std::to_string(alignment), [alignment](Maker& m) {
          const auto tensor = m.Tensor(1, kSizes, kStrides);
          if (m.Set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment) ==
              CUDNN_STATUS_SUCCESS) {
            m.Finalize(tensor);
          }
        }));
  }
  mistakes->push_back(Mistake("sizes as floats", [](Maker& m) {
    m.Set(m.Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR), CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT,
          1.0F);
  }));
  mistakes->push_back(Mistake("nine sizes", [](Maker& m) {
    m.SetSizes(m.Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR), CUDNN_ATTR_TENSOR_DIMENSIONS, Sizes(9, 1));
  }));
  mistakes->push_back(Mistake("two ids", [](Maker& m) {
    m.SetSizes(m.Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR), CUDNN_ATTR_TENSOR_UNIQUE_ID, {1, 2});
  }));
  mistakes->push_back(Mistake("no sizes", [](Maker& m) {
    m.SetSizes(m.Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR), CUDNN_ATTR_TENSOR_DIMENSIONS, {});
  }));
  mistakes->push_back(Mistake("another descriptor's attribute", [](Maker& m) {
    m.SetSizes(m.Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR), CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1});
  }));
  mistakes->push_back(Mistake("an attribute after the end", [](Maker& m) {
    m.Set(m.Dense(1, kSizes), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, int64_t{2});
  }));
  mistakes->push_back(Mistake("finalized twice", [](Maker& m) { m.Finalize(m.Dense(1, kSizes)); }));
  mistakes->push_back(Mistake("read before the end", [](Maker& m) {
    int64_t id = 0;
    m.Get(m.Tensor(1, kSizes, kStrides), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  }));
  mistakes->push_back(Mistake("read as another type", [](Maker& m) {
    float id = 0;
    m.Get(m.Dense(1, kSizes), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, 1, &id);
  }));
  mistakes->push_back(Mistake("read of another descriptor's attribute", [](Maker& m) {
    int64_t value = 0;
    m.Get(m.Dense(1, kSizes), CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &value);
  }));
}

void AppendConvolutions(std::vector<CudnnMistake>* mistakes) {
  for (const auto& [name, missing] : {std::pair("type", CUDNN_ATTR_CONVOLUTION_COMP_TYPE),
                                      {"mode", CUDNN_ATTR_CONVOLUTION_CONV_MODE},
                                      {"dimensions", CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS},
                                      {"strides", CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES},
                                      {"dilations", CUDNN_ATTR_CONVOLUTION_DILATIONS},
                                      {"paddings before", CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS},
                                      {"paddings after", CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}}) {
    mistakes->push_back(Mistake(std::string("a convolution without ") + name,
                                [missing](Maker& m) { m.Finalize(m.Convolution(missing)); }));
  }
  mistakes->push_back(Mistake("a convolution of three strides", [](Maker& m) {
    m.Finalize(m.Convolution(-1, {1, 1, 1}));
  }));
  mistakes->push_back(Mistake("a convolution of stride zero", [](Maker& m) {
    m.Finalize(m.Convolution(-1, {1, 0}));
  }));
  for (const auto& [name, missing] :
       {std::pair("parameters", CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
        {"x", CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X},
        {"w", CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
        {"y", CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}}) {
    mistakes->push_back(
        Mistake(std::string("a convolution's operation without ") + name,
                [missing](Maker& m) { m.Finalize(m.ConvolutionOperation(missing)); }));
  }
  mistakes->push_back(Mistake("y of another size", [](Maker& m) {
    m.Finalize(m.ConvolutionOperation(-1, {1, 8, 5, 4}));
  }));
  mistakes->push_back(Mistake("y of other channels", [](Maker& m) {
    m.Finalize(m.ConvolutionOperation(-1, {1, 7, 4, 4}));
  }));
  mistakes->push_back(Mistake("w of channels that do not divide", [](Maker& m) {
    m.Finalize(m.ConvolutionOperation(-1, {1, 8, 4, 4}, {8, 3, 3, 3}));
  }));
  mistakes->push_back(Mistake("an unfinalized tensor as x", [](Maker& m) {
    const auto operation = m.Make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    m.SetPart(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, m.Tensor(1, kSizes, kStrides));
  }));
  mistakes->push_back(Mistake(
      "a tensor as parameters",
      [](Maker& m) {
        const auto operation = m.Make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
        m.SetPart(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                  m.Dense(1, kSizes));
      },
      kEndsCudnn));
  mistakes->push_back(Mistake(
      "parameters as a tensor",
      [](Maker& m) {
        const auto conv = m.Convolution();
        m.Finalize(conv);
        m.SetPart(m.Make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR),
                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, conv);
      },
      kEndsCudnn));
  mistakes->push_back(Mistake(
      "a tensor that is gone",
      [](Maker& m) {
        const auto operation = m.ConvolutionOperation();
        const auto tensor = m.Dense(1, {1, 8, 4, 4});
        m.SetPart(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor);
        m.Destroy(tensor);
        m.Finalize(operation);
      },
      kEndsCudnn));
  mistakes->push_back(Mistake("no tensor as x", [](Maker& m) {
    m.SetPart(m.Make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR),
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, nullptr);
  }));
}

void AppendOthers(std::vector<CudnnMistake>* mistakes) {
  mistakes->push_back(Mistake("a sum with one operand", [](Maker& m) {
    m.Finalize(m.PointwiseOperation(CUDNN_POINTWISE_ADD, false, {}, kSizes));
  }));
  mistakes->push_back(Mistake("a sum that does not broadcast", [](Maker& m) {
    m.Finalize(m.PointwiseOperation(CUDNN_POINTWISE_ADD, true, {1, 3, 1, 1}, kSizes));
  }));
  mistakes->push_back(Mistake("a sum of another size", [](Maker& m) {
    m.Finalize(m.PointwiseOperation(CUDNN_POINTWISE_ADD, true, kSizes, {1, 8, 4, 5}));
  }));
  mistakes->push_back(Mistake("an activation of two operands", [](Maker& m) {
    m.Finalize(m.PointwiseOperation(CUDNN_POINTWISE_RELU_FWD, true, kSizes, kSizes));
  }));
  mistakes->push_back(Mistake("pointwise parameters without a mode", [](Maker& m) {
    const auto pointwise = m.Make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    m.Set(pointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    m.Finalize(pointwise);
  }));
  mistakes->push_back(Mistake("a product of depths that differ", [](Maker& m) {
    m.Finalize(m.MatmulOperation({1, 4, 8}, {1, 7, 5}, {1, 4, 5}));
  }));
  mistakes->push_back(Mistake("a product of another size", [](Maker& m) {
    m.Finalize(m.MatmulOperation({1, 4, 8}, {1, 8, 5}, {1, 4, 6}));
  }));
  mistakes->push_back(Mistake("a graph of nothing", [](Maker& m) {
    m.Finalize(m.Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  }));
  mistakes->push_back(Mistake(
      "a graph of tensors", [](Maker& m) { m.Graph({m.Dense(1, kSizes)}); }, kEndsCudnn));
  mistakes->push_back(Mistake("a graph of what is not finalized",
                              [](Maker& m) { m.Graph({m.ConvolutionOperation()}); }));
  mistakes->push_back(Mistake(
      "a heuristic without a graph",
      [](Maker& m) {
        const auto heuristic = m.Make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
        m.Set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
        m.Finalize(heuristic);
      },
      kEndsCudnn));
  mistakes->push_back(Mistake("a plan without an engine", [](Maker& m) {
    m.Finalize(m.Make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  }));
  mistakes->push_back(Mistake(
      "a configuration without an engine",
      [](Maker& m) { m.Finalize(m.Make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)); }, kEndsCudnn));
  mistakes->push_back(Mistake("nothing destroyed", [](Maker& m) { m.Destroy(nullptr); }));
  mistakes->push_back(Mistake("nothing finalized", [](Maker& m) { m.Finalize(nullptr); }));
}

void AppendPacks(std::vector<CudnnMistake>* mistakes) {
  const auto pack = [](Maker& m, const Sizes& ids, std::vector<void*> pointers) {
    const auto made = m.Make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    if (!ids.empty()) m.SetSizes(made, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    if (!pointers.empty()) m.SetPointers(made, std::move(pointers));
    m.Finalize(made);
  };
  static char memory[64];
  mistakes->push_back(Mistake("a pack of nothing", [pack](Maker& m) { pack(m, {}, {}); }));
  mistakes->push_back(Mistake("a pack without addresses", [pack](Maker& m) {
    pack(m, {1, 2}, {});
  }));
  mistakes->push_back(Mistake("a pack without ids", [pack](Maker& m) { pack(m, {}, {memory}); }));
  mistakes->push_back(Mistake("more ids than addresses", [pack](Maker& m) {
    pack(m, {1, 2}, {memory});
  }));
  mistakes->push_back(Mistake("an id twice", [pack](Maker& m) {
    pack(m, {1, 1}, {memory, memory + 16});
  }));
}

}  // namespace

std::vector<CudnnMistake> CudnnMistakes() {
  std::vector<CudnnMistake> mistakes;
  AppendTensors(&mistakes);
  AppendConvolutions(&mistakes);
  AppendOthers(&mistakes);
  AppendPacks(&mistakes);
  return mistakes;
}

}  // namespace plait::simulated_gpu
