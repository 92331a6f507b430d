#pragma once

#include "onnx/onnx_pb.h"

namespace plait {

// A message in which every field of its type and of all messages in it is present, repeated ones
// twice, each with a value of its own; messages that hold their own type end after `depth` of them.
// Made from libonnx's descriptors, so that no field is forgotten.
void FillMessage(google::protobuf::Message* message, int depth);

// Adds fields that onnx.proto does not have, of every kind, to the message and to all in it.
void AddUnknownFields(google::protobuf::Message* message);

// A whole model of the two. REQUIRES: nothing; about 100 kB.
::onnx::ModelProto WholeModel(bool with_unknown_fields);

}  // namespace plait
