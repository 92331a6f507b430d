"""Makes a copy of oneDNN that no other code of a process can meet: make_private.py LIBRARY COPY.

A shared library that brings oneDNN along shares a process with strangers: a program's own libdnnl
and OpenMP are found before ours by their names, and ours by theirs. So the copy has names of its
own, each as long as the one that it replaces, because strings of a dynamic table lie one behind the
other: its soname, that of the OpenMP library that it needs, and the OpenMP functions that it calls
(private_openmp.c defines them). And it looks for its own functions in itself first (DF_SYMBOLIC).
Nothing but the dynamic section is changed, and a library that is built in another way is refused.
"""

import pathlib
import struct
import sys

DT_NULL, DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME, DT_FLAGS = 0, 1, 5, 10, 14, 30
DF_SYMBOLIC = 2
PT_LOAD, PT_DYNAMIC = 1, 2

NAMES = {
    b"libdnnl.so.2": b"plaitdnnl.so",
    b"libgomp.so.1": b"plait_omp.so",
    b"GOMP_barrier": b"PLMP_barrier",
    b"GOMP_parallel": b"PLMP_parallel",
    b"omp_get_max_threads": b"plm_get_max_threads",
    b"omp_get_num_threads": b"plm_get_num_threads",
    b"omp_get_thread_num": b"plm_get_thread_num",
    b"omp_in_parallel": b"plm_in_parallel",
}


def segments(elf):
    """The program headers: type, offset, address and size in the file of each."""
    if elf[:6] != b"\x7fELF\x02\x01":
        sys.exit("make_private: not a 64-bit little-endian ELF file")
    table, size, count = (*struct.unpack_from("<Q", elf, 32), *struct.unpack_from("<HH", elf, 54))
    for place in range(table, table + size * count, size):
        kind, _, offset, address, _, bytes_in_file = struct.unpack_from("<IIQQQQ", elf, place)
        yield kind, offset, address, bytes_in_file


def dynamic_entries(elf):
    """Of the dynamic section: the place in the file, the tag and the value of each entry."""
    start = next(offset for kind, offset, _, _ in segments(elf) if kind == PT_DYNAMIC)
    while True:
        tag, value = struct.unpack_from("<QQ", elf, start)
        if tag == DT_NULL:
            return
        yield start, tag, value
        start += 16


def offset_of(elf, address):
    for kind, offset, begin, size in segments(elf):
        if kind == PT_LOAD and begin <= address < begin + size:
            return offset + address - begin
    sys.exit(f"make_private: address {address:#x} is in no segment")


def make_private(elf):
    entries = list(dynamic_entries(elf))
    values = {tag: value for _, tag, value in entries}
    begin = offset_of(elf, values[DT_STRTAB])
    end = begin + values[DT_STRSZ]
    for name, own_name in NAMES.items():
        place = elf.find(b"\0" + name + b"\0", begin, end)
        if place < 0:
            sys.exit(f"make_private: the library does not name {name.decode()}")
        elf[place + 1 : place + 1 + len(name)] = own_name
    flags = [(place, value) for place, tag, value in entries if tag == DT_FLAGS]
    if not flags:
        sys.exit("make_private: the library has no DT_FLAGS")
    struct.pack_into("<QQ", elf, flags[0][0], DT_FLAGS, flags[0][1] | DF_SYMBOLIC)
    others = (values[DT_SONAME], *(value for _, tag, value in entries if tag == DT_NEEDED))
    names = [bytes(elf[begin + at : elf.index(0, begin + at)]) for at in others]
    if any(b"omp" in name and name != b"plait_omp.so" for name in names):
        sys.exit("make_private: the library needs a second OpenMP library")


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    elf = bytearray(source.read_bytes())
    make_private(elf)
    target.write_bytes(elf)


main()
