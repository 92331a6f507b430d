#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimizer/onnx/messages/field.h"

// The messages of onnx.proto as plain values, with its names and its presence of fields. They are
// our own and not protobuf's, because a library that is loaded into somebody's process must get
// along with any other copy of protobuf and of onnx there: the classes that protoc generates may be
// registered once in a process.
//
// A field that occurs at most once is called to read it: `node.name()`; `has`, `clear` and `=` are
// its own. A repeated field is a vector. Fields that plait does not read, of ONNX's next versions
// too, stay in `kept` as bytes: whatever is read and written again is the same message. So do
// fields that are not written as onnx.proto says.
//
// read_message.h and write_message.h turn them from and to bytes; message_fields.h has the numbers
// of all fields. Safe to read from any thread.
namespace plait::onnx {

// Fields that a message has beside the ones that are named, as they lay in the bytes.
using KeptFields = std::string;

struct StringStringEntryProto {
  Field<std::string> key;
  Field<std::string> value;
  KeptFields kept;
};

struct OperatorSetIdProto {
  Field<std::string> domain;
  Field<int64_t> version;
  KeptFields kept;
};

struct TensorProto {
  enum DataLocation : int32_t { kDefault = 0, kExternal = 1 };

  struct Segment {
    Field<int64_t> begin;
    Field<int64_t> end;
    KeptFields kept;
  };

  std::vector<int64_t> dims;
  Field<int32_t> data_type;
  MessageField<Segment> segment;
  std::vector<float> float_data;
  std::vector<int32_t> int32_data;
  std::vector<std::string> string_data;
  std::vector<int64_t> int64_data;
  Field<std::string> name;
  Field<Bytes> raw_data;
  std::vector<double> double_data;
  std::vector<uint64_t> uint64_data;
  std::vector<StringStringEntryProto> external_data;
  Field<int32_t> data_location;
  KeptFields kept;
};

struct SparseTensorProto {
  MessageField<TensorProto> values;
  MessageField<TensorProto> indices;
  std::vector<int64_t> dims;
  KeptFields kept;
};

struct TensorShapeProto {
  // Has a size or a symbol, or neither; reading gives one that has both the latter of them.
  struct Dimension {
    Field<int64_t> dim_value;
    Field<std::string> dim_param;
    KeptFields kept;
  };

  std::vector<Dimension> dim;
  KeptFields kept;
};

// Has one of its fields at most, as a dimension.
struct TypeProto {
  struct Tensor {
    Field<int32_t> elem_type;
    MessageField<TensorShapeProto> shape;
    KeptFields kept;
  };
  // Of sequences and of optional values.
  struct Wrapped {
    MessageField<TypeProto> elem_type;
    KeptFields kept;
  };
  struct Map {
    Field<int32_t> key_type;
    MessageField<TypeProto> value_type;
    KeptFields kept;
  };
  struct Opaque {
    Field<std::string> domain;
    Field<std::string> name;
    KeptFields kept;
  };

  MessageField<Tensor> tensor_type;
  MessageField<Wrapped> sequence_type;
  MessageField<Map> map_type;
  MessageField<Opaque> opaque_type;
  MessageField<Tensor> sparse_tensor_type;
  MessageField<Wrapped> optional_type;
  KeptFields kept;
};

struct ValueInfoProto {
  Field<std::string> name;
  MessageField<TypeProto> type;
  KeptFields kept;
};

struct GraphProto;

struct AttributeProto {
  enum Type : int32_t {
    kUndefined = 0,
    kFloat = 1,
    kInt = 2,
    kString = 3,
    kTensor = 4,
    kGraph = 5,
    kFloats = 6,
    kInts = 7,
    kStrings = 8,
    kSparseTensor = 11,
  };

  Field<std::string> name;
  Field<float> f;
  Field<int64_t> i;
  Field<std::string> s;
  MessageField<TensorProto> t;
  MessageField<GraphProto> g;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::vector<TensorProto> tensors;
  std::vector<GraphProto> graphs;
  Field<int32_t> type;  // a Type, or one of those that plait does not know
  Field<std::string> ref_attr_name;
  MessageField<SparseTensorProto> sparse_tensor;
  KeptFields kept;
};

struct NodeProto {
  std::vector<std::string> input;
  std::vector<std::string> output;
  Field<std::string> name;
  Field<std::string> op_type;
  std::vector<AttributeProto> attribute;
  Field<std::string> domain;
  Field<std::string> overload;
  KeptFields kept;
};

struct GraphProto {
  std::vector<NodeProto> node;
  Field<std::string> name;
  std::vector<TensorProto> initializer;
  Field<std::string> doc_string;
  std::vector<ValueInfoProto> input;
  std::vector<ValueInfoProto> output;
  std::vector<ValueInfoProto> value_info;
  std::vector<SparseTensorProto> sparse_initializer;
  KeptFields kept;
};

struct FunctionProto {
  Field<std::string> name;
  std::vector<std::string> input;
  std::vector<std::string> output;
  std::vector<NodeProto> node;
  std::vector<OperatorSetIdProto> opset_import;
  Field<std::string> domain;
  std::vector<AttributeProto> attribute_proto;  // with their defaults
  Field<std::string> overload;
  KeptFields kept;
};

struct ModelProto {
  Field<int64_t> ir_version;
  Field<std::string> producer_name;
  Field<std::string> producer_version;
  Field<std::string> domain;
  Field<int64_t> model_version;
  Field<std::string> doc_string;
  MessageField<GraphProto> graph;
  std::vector<OperatorSetIdProto> opset_import;
  std::vector<StringStringEntryProto> metadata_props;
  std::vector<FunctionProto> functions;
  KeptFields kept;
};

}  // namespace plait::onnx
