"""HDF5 files as h5py writes them, in every layout and version of the format: the same numbers as from .npy, and a
clear word for what is not read. The checksums in summary.json are those of the numbers as they are stored."""
import ctypes
import json
import struct
import subprocess
import unittest

import h5py
import numpy as np

from cli_case import COMMAND, CliCase, clusters

VERSIONS = ("earliest", "v108", "v110", "v112", "v114", "latest")
SOME = ("earliest", "v110", "latest")  # each has other structures


class Hdf5Case(CliCase):
    def write(self, name, libver="earliest", **options):
        return h5py.File(self.path(name), "w", libver=libver, **options)

    def sums(self, X, y):
        return json.loads(self.rer("analyze", X, y, "--json").out)["checksums"]

    def assert_same(self, file, X, *members):
        X_path, y_path = self.save("X.npy", X), self.save("y.npy", np.arange(len(X)) % 2)
        expected = self.sums(X_path, y_path)
        for member in members or ("X",):
            self.assertEqual(self.sums(f"{file}:{member}", y_path), expected, (file, member))

    def refused(self, file, *words):
        y = self.save("y.npy", np.arange(60) % 3)
        message = self.rer("analyze", file, y, "--out", "out", code=1).err
        for word in (file.split(":")[0], *words):
            self.assertIn(word, message)


class Layouts(Hdf5Case):
    def layouts(self):
        """Options of create_dataset by what they make."""
        packed = {"compression": "gzip", "shuffle": True, "fletcher32": True}
        yield "contiguous", {}
        for filters in ({}, {"compression": "gzip"}, {"shuffle": True}, {"fletcher32": True}, packed):
            yield "one chunk", {"chunks": (61, 8), **filters}
            yield "fixed", {"chunks": (7, 3), **filters}
            yield "fixed, but larger", {"chunks": (7, 3), "maxshape": (100, 30), **filters}
            yield "rows grow", {"chunks": (2, 3), "maxshape": (None, 8), **filters}
            yield "columns grow", {"chunks": (7, 3), "maxshape": (80, None), **filters}
            yield "both grow", {"chunks": (3, 1), "maxshape": (None, None), **filters}

    def test_all(self):
        X = np.random.default_rng(0).normal(size=(61, 8)).astype("f4")
        y = self.save("y.npy", np.arange(61) % 2)
        expected = self.sums(self.save("X.npy", X), y)["features"]
        for libver in VERSIONS:
            for name, options in self.layouts():
                with self.write("x.h5", libver) as file:
                    file.create_dataset("X", data=X, **options)
                self.assertEqual(self.sums("x.h5", y)["features"], expected, (libver, name, options))

    def test_types(self):
        X, _ = clusters(n=60)
        for dtype in ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "i1", "u1", "<i2", ">u2", "<i4", ">u4", "<i8", ">i8", "<u8"):
            X_typed = np.abs(10 * X).astype(dtype)
            for libver in ("earliest", "latest"):
                with self.write("x.h5", libver) as file:
                    file["plain"] = X_typed
                    file.create_dataset("packed", data=X_typed, chunks=(9, 5), compression="gzip", shuffle=True)
                    file["type"] = np.dtype(dtype)
                    file.create_dataset("committed", data=X_typed, dtype=file["type"])
                self.assert_same("x.h5", X_typed, "plain", "/packed", "committed")

    def test_pictures(self):
        pictures = np.random.default_rng(0).integers(0, 255, (40, 12, 10, 3), "u1")
        for libver in SOME:
            with self.write("p.h5", libver) as file:
                file.create_dataset("X", data=pictures, chunks=(7, 5, 4, 2), compression="gzip")
                file.create_dataset("grey", data=pictures[..., 0], chunks=(40, 1, 10), maxshape=(40, None, 10))
            self.assert_same("p.h5", pictures)
            self.assert_same("p.h5", pictures[..., 0], "grey")

    def test_compact_and_early(self):
        X, _ = clusters(n=60)
        for libver in SOME:
            with self.write("x.h5", libver) as file:
                for name, kind in (("compact", h5py.h5d.COMPACT), ("implicit", h5py.h5d.CHUNKED)):
                    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                    plist.set_layout(kind)
                    if kind == h5py.h5d.CHUNKED:
                        plist.set_chunk((7, 3))
                        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                    space = h5py.h5s.create_simple(X.shape, (70, 20) if kind == h5py.h5d.CHUNKED else X.shape)
                    made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F32LE, space, plist)
                    made.write(h5py.h5s.ALL, h5py.h5s.ALL, X)
            self.assert_same("x.h5", X, "compact", "implicit")

    def test_many_chunks(self):
        """Trees of several levels, arrays in pages."""
        X = np.random.default_rng(0).integers(0, 99, (1500, 8)).astype("u1")
        for libver in ("earliest", "latest"):
            for maxshape in (None, (None, 8), (None, None)):
                for filters in ({}, {"compression": "gzip"}):
                    with self.write("x.h5", libver) as file:
                        file.create_dataset("X", data=X, chunks=(1, 2), maxshape=maxshape, **filters)
                    self.assert_same("x.h5", X)

    def test_chunks_in_pages(self):
        """The data blocks of an extensible array have pages from 131,000 chunks on."""
        y = np.random.default_rng(0).integers(0, 99, 140_000).astype("u1")
        with self.write("y.h5", "latest") as file:
            file.create_dataset("y", data=y, chunks=(1,), maxshape=(None,))
        self.rer("noise", "y.h5", "--rate", 0, "--out", "same.npy")
        np.testing.assert_array_equal(np.load(self.path("same.npy")), y)

    def test_shapes_that_changed(self):
        X, _ = clusters(n=60)
        for libver in SOME:
            for maxshape in ((None, 8), (None, None), (200, 8)):
                with self.write("x.h5", libver) as file:
                    grown = file.create_dataset("X", (11, 8), "f4", chunks=(4, 3), maxshape=maxshape, compression="gzip")
                    grown[:] = X[:11]
                    grown.resize((80, 8))
                    grown[11:60] = X[11:]
                    grown.resize((60, 8))
                self.assert_same("x.h5", X)

    def test_filters_left_out(self):
        """A chunk that a filter could not do anything for; edges that are not filtered."""
        X, _ = clusters(n=60)
        with open("/proc/self/maps", encoding="utf-8") as maps:  # h5py has no word for it, but its library has
            library = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libhdf5" in line and "_hl" not in line))
        for libver in SOME[1:]:
            with self.write("x.h5", libver) as file:
                direct = file.create_dataset("X", X.shape, "f4", chunks=(20, 8), compression="gzip", shuffle=True)
                for row in (0, 20, 40):
                    direct.id.write_direct_chunk((row, 0), X[row:row + 20].tobytes(), filter_mask=3)
                plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                plist.set_chunk((7, 3))
                plist.set_deflate(4)
                self.assertEqual(library.H5Pset_chunk_opts(ctypes.c_int64(plist.id), 2), 0)
                edges = h5py.h5d.create(file.id, b"edges", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(X.shape), plist)
                edges.write(h5py.h5s.ALL, h5py.h5s.ALL, X)
            self.assert_same("x.h5", X, "X", "edges")

    def as_version_2(self, name):
        """The file with the layout of its data set X as HDF5 1.4 wrote it, in a new object header at the end."""
        with h5py.File(self.path(name)) as file:
            address, rank = h5py.h5o.get_info(file["X"].id).addr, file["X"].ndim
        whole = bytearray(self.load(self.path(name)))
        blocks, messages = [(address + 16, struct.unpack_from("<I", whole, address + 8)[0])], []
        for start, size in blocks:
            at = start
            while at < start + size:
                kind, length, flags = struct.unpack_from("<HHB", whole, at)
                body = bytes(whole[at + 8:at + 8 + length])
                if kind == 16:
                    blocks.append(struct.unpack("<QQ", body))
                elif kind == 8:
                    chunked = body[1] == 2
                    place = body[3:11] if chunked else body[2:10]
                    shape = body[11:11 + 4 * body[2]] if chunked else bytes(4 * rank)
                    body = bytes([2, len(shape) // 4, body[1], 0, 0, 0, 0, 0]) + place + shape
                    body += bytes(-len(body) % 8)
                if kind not in (0, 16):
                    messages.append(struct.pack("<HHB3x", kind, len(body), flags) + body)
                at += 8 + length
        whole += bytes(-len(whole) % 8)
        old, new = struct.pack("<Q", address), struct.pack("<Q", len(whole))
        self.assertEqual(whole.count(old), 1)
        whole = whole.replace(old, new)
        whole += struct.pack("<BxHIIxxxx", 1, len(messages), 1, sum(map(len, messages))) + b"".join(messages)
        whole[40:48] = struct.pack("<Q", len(whole))  # the end of the file
        self.save(name, bytes(whole))

    def test_old_layouts(self):
        X, _ = clusters(n=60)
        for options in ({}, {"chunks": (7, 3), "compression": "gzip"}):
            with self.write("x.h5") as file:
                file.create_dataset("X", data=X, **options)
            self.as_version_2("x.h5")
            with h5py.File(self.path("x.h5")) as file:
                np.testing.assert_array_equal(file["X"], X)  # the library takes it for what it is
            self.assert_same("x.h5", X)

    def test_labels(self):
        X, y = clusters(n=60)
        words = np.array(["dog", "a long, long name of a class", "\u00e4"])[y]
        X_path, y_path = self.save("X.npy", X), self.save("y.npy", words)
        expected = self.sums(X_path, y_path)
        for libver in SOME:
            with self.write("y.h5", libver) as file:
                file["vlen"] = [str(word) for word in words]
                file["fixed"] = np.array([word.encode() for word in words])
                packed = file.create_dataset("packed", (60,), h5py.string_dtype(), chunks=(7,), compression="gzip")
                for row in np.random.default_rng(0).permutation(60):  # texts lie in the heap in another order
                    packed[row] = words[row]
                file["flags"] = y == 1
            for member in ("vlen", "fixed", "packed"):
                self.assertEqual(self.sums(X_path, f"y.h5:{member}"), expected, (libver, member))
            self.assertEqual(self.sums(X_path, "y.h5:flags"), self.sums(X_path, self.save("f.npy", (y == 1).astype("i1"))))

    def test_many_texts(self):
        """More than one collection of the heap holds."""
        X, y = clusters(n=3000)
        words = [f"class {label}" + 50 * "." for label in y]
        X_path, y_path = self.save("X.npy", X), self.save("y.txt", "\n".join(words) + "\n")
        with self.write("y.h5") as file:
            file["y"] = words
        self.assertEqual(self.sums(X_path, "y.h5"), self.sums(X_path, y_path))

    def test_paths(self):
        X, _ = clusters(n=60)
        for libver in SOME:
            with self.write("x.h5", libver, userblock_size=512) as file:
                file["a/b/X"] = X
                file["a/more"] = np.zeros(3)
                file["soft"] = h5py.SoftLink("/a/near")
                file["a/near"] = h5py.SoftLink("b")
                for i in range(30 if libver == "earliest" else 4):
                    file[f"many{i}"] = i
            self.assert_same("x.h5", X, "a/b/X", "/a/b/X", "soft/X", "/a/near/X")


class Refused(Hdf5Case):
    def setUp(self):
        super().setUp()
        self.values, _ = clusters(n=60)

    def test_what_leads_out_of_the_file(self):
        with self.write("target.h5") as file:
            file["X"] = self.values
        self.save("raw.bin", self.values.tobytes())
        for libver in SOME:
            with self.write("x.h5", libver) as file:
                file["far"] = h5py.ExternalLink("target.h5", "/X")
                file["top"] = h5py.ExternalLink("target.h5", "/")
                file["soft"] = h5py.SoftLink("/top/X")
                file["circle"] = h5py.SoftLink("/circle")
                file.create_dataset("outside", (60, 8), "f4", external=[("raw.bin", 0, 1920)])
                if libver != "earliest":
                    layout = h5py.VirtualLayout((60, 8), "f4")
                    layout[:] = h5py.VirtualSource("target.h5", "X", (60, 8))
                    file.create_virtual_dataset("virtual", layout)
            for member in ("far", "top/X", "soft"):
                self.refused(f"x.h5:{member}", member, "a link to another file, 'target.h5'")
            self.refused("x.h5:outside", "its data lie in other files")
            self.refused("x.h5:circle", "a circle")
            if libver != "earliest":
                self.refused("x.h5:virtual", "a virtual data set")

    def test_what_is_not_there(self):
        for libver in SOME:
            with self.write("x.h5", libver) as file:
                file["g/X"] = self.values
                file.create_dataset("empty", (60, 8), "f4")
                part = file.create_dataset("part", (60, 8), "f4", chunks=(20, 8))
                part[:20] = 1
                file["scalar"] = 3
            self.refused("x.h5", "holds 4", "'empty'")
            self.refused("x.h5:g", "is a group")
            self.refused("x.h5:g/Y", "no data set 'g/Y'", "'X'")
            self.refused("x.h5:empty", "nothing was ever written")
            self.refused("x.h5:part", "chunk 1 (from 0) of 3 was never written")
            self.refused("x.h5:scalar", "0 axes")

    def test_what_is_not_read_is_called_that(self):
        with self.write("x.h5", "latest") as file:
            file["compound"] = np.zeros(60, [("a", "f4"), ("b", "i4")])
            file["complex"] = np.zeros((60, 2), "c8")
            file.create_dataset("lzf", data=self.values, compression="lzf")
            file.create_dataset("offset", data=self.values.astype("i4"), scaleoffset=0)
            file["lists"] = np.array([np.arange(2)] * 60 + [0], object)[:60].astype(h5py.vlen_dtype("i4"))
            file["five"] = np.zeros((60, 1, 1, 1, 1), "u1")
            for i in range(30):
                file[f"dense/{i}"] = self.values
        for member, words in (("compound", "(compounds) are not read"), ("complex", "are not read"), ("lzf", "(LZF)"),
                              ("offset", "(scale-offset)"), ("lists", "(variable lengths) are not read"),
                              ("five", "5 axes"), ("dense/3", "in a heap, which is not read")):
            self.refused(f"x.h5:{member}", words)

    def test_chunks_on_each_other(self):
        """All entries of the index lead to one large chunk: a small file would become a very large one."""
        X = np.zeros((200, 50_000), "u1")
        X[0] = np.random.default_rng(0).integers(0, 256, 50_000)
        with self.write("x.h5") as file:
            made = file.create_dataset("X", data=X, chunks=(1, 50_000), compression="gzip")
            chunks = [made.id.get_chunk_info(i) for i in range(200)]
        whole = self.load(self.path("x.h5"))
        entry = lambda chunk, data: struct.pack("<IIQQQQ", data.size, 0, *chunk.chunk_offset, 0, data.byte_offset)
        for chunk in chunks:
            whole = whole.replace(entry(chunk, chunk), entry(chunk, chunks[0]))
        self.save("x.h5", whole)
        with h5py.File(self.path("x.h5")) as file:
            np.testing.assert_array_equal(file["X"][7], X[0])  # which it is to the library
        self.refused("x.h5", "its chunks lie on each other")

    def test_tree_that_explodes(self):
        """Nodes that lead to the same node again and again, on eight levels: 50^8 ways."""
        with self.write("x.h5") as file:
            file.create_dataset("X", data=self.values, chunks=(20, 8))
        whole = bytearray(self.load(self.path("x.h5")))
        leaf = whole.rindex(b"TREE")
        self.assertEqual(whole[leaf + 4:leaf + 6], b"\1\0")  # chunks, level 0
        self.assertEqual(whole.count(struct.pack("<Q", leaf)), 1)
        below = leaf
        for level in range(1, 9):
            node = b"TREE" + struct.pack("<BBHqq", 1, level, 50, -1, -1)
            node += 50 * (struct.pack("<IIQQQ", 640, 0, 0, 0, 0) + struct.pack("<Q", below))
            below = len(whole)
            whole += node
        layout = whole.index(struct.pack("<Q", leaf))
        whole[layout:layout + 8] = struct.pack("<Q", below)
        whole[40:48] = struct.pack("<Q", len(whole))
        self.save("x.h5", bytes(whole))
        self.refused("x.h5", "in a circle")

    def test_cut_anywhere(self):
        with self.write("x.h5") as file:
            file.create_dataset("X", data=self.values, chunks=(20, 8), compression="gzip")
        whole = self.load(self.path("x.h5"))
        for length in range(1, len(whole), 97):
            self.save("cut.h5", whole[:length])
            self.refused("cut.h5")


class Changed(Hdf5Case):
    """Bytes of a sound file changed at random: read or refused, never more. test_hdf5.c does all of them."""

    def test_random_bytes(self):
        X, y = clusters(n=60)
        self.save("y.npy", y)
        for libver in ("earliest", "latest"):
            with self.write("x.h5", libver) as file:
                file.create_dataset("X", data=X, chunks=(20, 8), maxshape=(None, None), compression="gzip")
            whole = np.frombuffer(self.load(self.path("x.h5")), "u1")
            random = np.random.default_rng(1)
            for i in random.integers(0, len(whole), 100):
                changed = whole.copy()
                changed[i] ^= random.integers(1, 256)
                self.save("changed.h5", changed.tobytes())
                done = subprocess.run([COMMAND, "analyze", "changed.h5", "y.npy"], cwd=self.folder, capture_output=True,
                                      timeout=1800)
                self.assertIn(done.returncode, (0, 1), (libver, i, done.stderr))


if __name__ == "__main__":
    unittest.main()
