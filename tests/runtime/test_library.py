"""What libplait_runtime shows of itself to the program that loads it."""

import re
import subprocess

import pytest
from installed import ROOT, cached, programs, run

LIBRARY = programs.BUILD / "runtime" / "libplait_runtime.so"


def exported(library):
    lines = run("nm", "-D", "--defined-only", library).splitlines()
    return sorted(line.split()[-1].split("@")[0] for line in lines)


def test_only_the_recorded_symbols_are_exported():
    recorded = (ROOT / "tests/runtime/exported_symbols.txt").read_text().split()
    assert exported(LIBRARY) == recorded


def test_every_exported_symbol_is_in_the_header():
    header = (ROOT / "runtime/include/plait/runtime.h").read_text()
    declared = re.findall(r"^PLAIT_API [^;(]*?\b(plait_\w+)\(", header, re.MULTILINE)
    assert exported(LIBRARY) == sorted(declared)


def needed(library):
    return re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library))


def test_nothing_of_a_service_is_linked():
    strange = r"lib(grpc|protobuf|onnx|sqlite|prometheus|dnnl|gomp|OpenCL|ssl|spdlog)"
    assert [name for name in needed(LIBRARY) if re.match(strange, name)] == []


def test_the_private_onednn_has_no_name_in_common_with_the_systems():
    folder = LIBRARY.parent / "plait"
    dynamic = run("readelf", "-d", folder / "plaitdnnl.so")
    assert "Library soname: [plaitdnnl.so]" in dynamic
    assert "SYMBOLIC" in dynamic
    assert not [name for name in needed(folder / "plaitdnnl.so") if "gomp" in name]
    wanted = run("nm", "-D", "--undefined-only", folder / "plaitdnnl.so")
    assert "PLMP_parallel" in wanted
    assert not re.search(r"U (GOMP_|omp_)", wanted)


@pytest.mark.skipif(bool(cached("PLAIT_SANITIZE")), reason="a sanitizer starts first")
def test_what_is_missing_beside_the_library_is_named(tmp_path):
    (tmp_path / "libplait_runtime.so").write_bytes(LIBRARY.read_bytes())
    code = (
        "import ctypes, sys\n"
        "library = ctypes.CDLL(sys.argv[1])\n"
        "library.plait_error_message.restype = ctypes.c_char_p\n"
        "library.plait_session_create_from_file.restype = ctypes.c_void_p\n"
        "session = ctypes.c_void_p()\n"
        "error = library.plait_session_create_from_file(sys.argv[2].encode(), None,\n"
        "                                               ctypes.byref(session))\n"
        "print(library.plait_error_message(ctypes.c_void_p(error)).decode())\n")
    import models  # found through installed

    model = tmp_path / "model.onnx"
    model.write_bytes(models.small_model())
    out = run("python3", "-c", code, tmp_path / "libplait_runtime.so", model)
    assert re.search(r"a part of libplait_runtime cannot be loaded: .*plait_omp\.so", out), out


def test_a_wrong_library_is_refused_when_the_copy_is_made(tmp_path):
    tool = ROOT / "gpu_worker/backends/cpu/onednn/make_private.py"
    finished = subprocess.run(["python3", tool, LIBRARY, tmp_path / "copy.so"], text=True,
                              capture_output=True, check=False)
    assert finished.returncode == 1
    assert "does not name libdnnl.so.2" in finished.stderr
