#pragma once

#include "optimizer/kernels/profile_key.h"

namespace plait {

// The kernel that the fake search child asks for, on the device "cpu-1" of the tests.
inline ProfileKey AskedKernel() {
  ProfileKey key;
  key.device_fingerprint = "cpu-1";
  key.family = "conv";
  key.version = "1";
  key.graph_text = "graph {\n}\n";
  key.formats = "plain,channels_last";
  return key;
}

}  // namespace plait
