// A libnvrtc.so.13 that has no function of NVRTC.

extern "C" __attribute__((visibility("default"))) int plait_has_no_nvrtc() { return 1; }
