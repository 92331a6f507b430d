"""What a results folder says about the machine: device, driver, versions, commit."""

import ctypes
import datetime
import importlib.metadata
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = ("torch", "triton", "jax", "jaxlib", "jax-cuda13-plugin", "numpy", "onnx")
QUERY = ("name", "driver_version", "vbios_version", "memory.total", "clocks.max.sm",
         "clocks.max.mem", "power.limit", "ecc.mode.current", "mig.mode.current", "compute_cap")
# Headings of `nvidia-smi -q` whose parts are worth keeping.
SECTIONS = ("Clocks", "Max Clocks", "Applications Clocks", "Clocks Event Reasons",
            "Temperature", "GPU Power Readings", "FB Memory Usage", "Compute Mode")
LIBRARIES = ("libcudnn.so.9", "libcublasLt.so.13", "libnvrtc.so.13")
CUDA_FOLDERS = ("/usr/local/cuda", "/usr/local/cuda-13.0")


def call(*command):
    """The command's stdout, or "" when it is missing or fails."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def find_nvcc():
    """The path of nvcc, or None."""
    places = [shutil.which("nvcc")] + [f"{folder}/bin/nvcc" for folder in CUDA_FOLDERS]
    return next((place for place in places if place and pathlib.Path(place).is_file()), None)


def gpu_facts():
    """What nvidia-smi says, by name; empty without a GPU."""
    for names in (QUERY, QUERY[:2]):  # a driver that does not know a field answers nothing at all
        line = call("nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader")
        if line:
            break
    if not line:
        return {}
    facts = dict(zip(names, [cell.strip() for cell in line.splitlines()[0].split(",")]))
    facts["count"] = len(line.splitlines())
    facts["sections"] = smi_sections(call("nvidia-smi", "-q"))
    return facts


def simulated_name():
    """What plait's simulated driver calls its device; "" of any other driver, or without one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ""
    name = ctypes.create_string_buffer(256)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetName(name, len(name), 0) != 0:
        return ""
    text = name.value.decode(errors="replace")
    return text if text.startswith("simulated ") else ""


def search_folders():
    """Where CUDA's libraries and headers lie when the loader does not know: toolkit and wheels."""
    folders = [pathlib.Path(folder) for folder in CUDA_FOLDERS]
    packages = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    return folders + (sorted(packages.iterdir()) if packages.is_dir() else [])


def library_folders():
    """The folders that LD_LIBRARY_PATH needs so that each of LIBRARIES is found; often none."""
    needed = []
    for name in LIBRARIES:
        try:
            ctypes.CDLL(name)
            continue
        except OSError:
            pass
        places = (folder / part for folder in search_folders() for part in ("lib64", "lib"))
        found = next((place for place in places if (place / name).is_file()), None)
        if found is not None and str(found) not in needed:
            needed.append(str(found))
    return needed


def include_folder(header):
    """The folder of a header such as cuda.h or cudnn.h, or None."""
    places = (folder / "include" for folder in search_folders())
    return next((str(place) for place in places if (place / header).is_file()), None)


def smi_sections(text):
    """The sections of `nvidia-smi -q` that SECTIONS names, as heading to lines."""
    sections, current, depth = {}, None, 0
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        name, _, value = (part.strip() for part in line.partition(" : "))
        if current is not None and indent > depth and name:
            sections[current].append(f"{name}: {value}" if value else name)
            continue
        current = None
        if name in SECTIONS and name not in sections:
            current, depth = name, indent
            sections[name] = [value] if value else []
    return sections


def library_facts(name, version_function=None):
    """Where the loader finds a library, and its version; {} when it does not."""
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return {}
    facts = {"path": mapped_path(name.split(".so")[0])}
    if version_function:
        function = getattr(library, version_function)
        function.restype = ctypes.c_size_t
        facts["version"] = int(function())
    return facts


def mapped_path(stem):
    """The file that this process has mapped under that name."""
    maps = pathlib.Path("/proc/self/maps")
    if not maps.is_file():
        return "?"
    found = re.search(rf"\s(/\S*/{re.escape(stem)}\.so\S*)", maps.read_text())
    return found.group(1) if found else "?"


def package_versions():
    """Versions of the Python packages that peers use, of those that are there."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return versions


def commit():
    """The commit of this tree, with "+changes" where files differ from it; "unknown" without."""
    name = call("git", "-C", str(ROOT), "rev-parse", "HEAD")
    if not name:
        return "unknown"
    changed = call("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no")
    return name + ("+changes" if changed else "")


def collect(device, command, fake):
    """Everything for device.json. What a simulated driver does is no measurement."""
    simulated = simulated_name() if device == "cuda" else ""
    fake = fake or bool(simulated)
    nvcc = find_nvcc()
    gpu = gpu_facts() if device == "cuda" else {}
    release = re.search(r"release [\d.]+, V([\d.]+)", call(nvcc, "--version")) if nvcc else None
    model = re.search(r"model name\s*: (.*)", _read("/proc/cpuinfo"))
    return {
        "device": device, "fake": fake, "simulated": bool(simulated),
        "name": simulated or gpu.get("name", "fake" if fake else "none"),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command, "commit": commit(), "gpu": gpu,
        "processor": {"name": model.group(1) if model else platform.machine(),
                      "cores": os.cpu_count()},
        "versions": {
            "python": platform.python_version(), "kernel": platform.release(),
            "nvcc": release.group(1) if release else None,
            "cmake": (call("cmake", "--version").split() + [None] * 3)[2],
            "packages": package_versions()},
        "libraries": {
            "cudnn": library_facts("libcudnn.so.9", "cudnnGetVersion"),
            "cublasLt": library_facts("libcublasLt.so.13", "cublasLtGetVersion"),
            "nvrtc": library_facts("libnvrtc.so.13")}}


def _read(path):
    file = pathlib.Path(path)
    return file.read_text(errors="replace") if file.is_file() else ""


if __name__ == "__main__":
    import json
    print(json.dumps(collect("cuda" if call("nvidia-smi", "-L") else "cpu", "", False), indent=1))
