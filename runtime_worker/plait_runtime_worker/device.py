"""What a runtime's times hold for: the processor, the runtime's version and its settings."""

import hashlib
import re

from plait_runtime_worker import runtimes

# The first that a processor has.
INSTRUCTION_SETS = (("amx_tile", "amx"), ("avx512_bf16", "avx512_bf16"), ("avx512f", "avx512"),
                    ("avx2", "avx2"))
FINGERPRINT_BYTES_MAX = 256


def processor():
    """The first processor's lines of /proc/cpuinfo."""
    lines = {}
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip():
                break
            name, _, value = line.partition(":")
            lines[name.strip()] = value.strip()
    return lines


def describe(name, threads, memory_bytes):
    """The fields of plait.v1.Device. Raises runtimes.Missing."""
    version = runtimes.version(name)
    lines = processor()
    flags = set(lines.get("flags", lines.get("Features", "")).split())
    model = lines.get("model name", "unknown processor")
    options = runtimes.options(name, threads, "strict")
    features = hashlib.sha256(" ".join(
        [*sorted(flags), *(lines.get(key, "") for key in ("cpu family", "model", "stepping"))]
    ).encode()).hexdigest()[:12]
    settings = hashlib.sha256(options.encode()).hexdigest()[:12]
    fingerprint = (f"{name}-{version};settings={settings};features={features};threads={threads};"
                   + re.sub(r"[^!-~]+", "_", model))
    isa = next((isa for flag, isa in INSTRUCTION_SETS if flag in flags), "generic")
    return {"id": name, "backend": name, "runtime_version": version,
            "name": f"{runtimes.module(name).TITLE} {version}",
            "fingerprint": fingerprint[:FINGERPRINT_BYTES_MAX], "cores": threads,
            "instruction_set": isa, "memory_bytes": memory_bytes}
