# Writes engine_digest.h, the digest of the sources that decide what an optimization returns.
# usage: cmake -DROOT=DIR -DOUTPUT=FILE -P engine_digest.cmake
file(GLOB_RECURSE sources RELATIVE ${ROOT}
  ${ROOT}/base/* ${ROOT}/optimizer/* ${ROOT}/gpu_worker/* ${ROOT}/server/search_child/*
  # The device and the times that a search believes, the verdict on a candidate, and the budget of a
  # job that names none.
  ${ROOT}/proto/wire/device.* ${ROOT}/proto/wire/profile.* ${ROOT}/proto/wire/measurement.*
  ${ROOT}/server/jobs/job_spec.*)
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} digest)
  string(APPEND digests "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 12 digest)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define PLAIT_ENGINE_DIGEST \"${digest}\"\n")
