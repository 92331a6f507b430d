#include "server/workers/runtimes.h"

#include <map>

namespace plait {

std::vector<v1::Device> RuntimesOf(const Runtimes::Found& here,
                                   const std::vector<v1::Device>& connected) {
  std::map<std::string, v1::Device> devices;
  // This machine's first: the processor that a job's device is, too.
  for (const v1::Device& device : here.devices) devices.emplace(device.id(), device);
  for (const v1::Device& device : connected) {
    if (!device.runtime_version().empty()) devices.emplace(device.id(), device);
  }
  std::vector<v1::Device> all;
  for (const auto& [id, device] : devices) all.push_back(device);
  return all;
}

}  // namespace plait
