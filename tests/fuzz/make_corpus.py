#!/usr/bin/env python3
"""Makes the seeds of the fuzzers: small files of each format, whole and slightly wrong.

Those of HDF5 (with h5py) are what tests/source/test_hdf5.c reads, too."""
import gzip
import io
import json
import pathlib
import struct
import zipfile

CORPUS = pathlib.Path(__file__).parent / "corpus"


def put(folder, name, data):
    (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    (CORPUS / folder / name).write_bytes(data)


def npy(descr, shape, data, fortran=False, version=1):
    header = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def npz(members, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def idx(code, shape, data):
    return bytes([0, 0, code, len(shape)]) + b"".join(struct.pack(">I", n) for n in shape) + data


floats = struct.pack("<6f", *range(6))
put("npy", "f4", npy("<f4", (3, 2), floats))
put("npy", "f2_fortran", npy("<f2", (3, 2), bytes(12), fortran=True))
put("npy", "f8_big", npy(">f8", (2, 1), bytes(16), version=2))
put("npy", "bool_v3", npy("|b1", (2,), b"\0\1", version=3))
put("npy", "u1_pictures", npy("|u1", (1, 2, 2, 3), bytes(12)))
put("npy", "texts", npy("|S2", (2,), b"ab\xc3\xa4"))
put("npy", "unicode", npy("<U2", (2, 1), "abc\0".encode("utf-32-le")))
put("npy", "i8", npy("<i8", (3,), struct.pack("<3q", -1, 2**62, 5)))
put("npy", "huge", npy("<f4", (2**62, 4), floats))
put("npy", "object", npy("|O", (2,), bytes(16)))
put("npy", "gz", gzip.compress(npy("<f4", (3, 2), floats), mtime=0))
for method, name in ((zipfile.ZIP_STORED, "stored"), (zipfile.ZIP_DEFLATED, "deflated")):
    put("npz", f"one_{name}", npz({"a.npy": npy("<f4", (3, 2), floats)}, method))
    put("npz", f"two_{name}", npz({"a.npy": npy("<i8", (1,), bytes(8)), "b": b"no array"}, method))
put("npz", "empty", npz({}, zipfile.ZIP_STORED))
put("idx", "u1_rank1", idx(8, (3,), b"abc"))
put("idx", "u1_rank3", idx(8, (1, 2, 2), b"abcd"))
put("idx", "f4_rank2", idx(13, (1, 2), bytes(8)))
put("idx", "short", idx(12, (2, 2, 2, 2), b"abc"))
put("idx", "gz", gzip.compress(idx(8, (3,), b"abc"), mtime=0))
put("csv", "plain", b"\x001,2\n3,4.5e-3\n")
put("csv", "header", b"\x00a,b\r\n1,nan\r\n,-inf\r\n")
put("csv", "third", b'\x01a,b,y\n1,2,"x, ""y""\nz"\n\n3,4,\n')
put("csv", "named", b"\x02\xef\xbb\xbfy,a\ncat,1\ndog,2\n")
put("csv", "pandas", b"\x000,1,2\n1,2,3\n")
put("csv", "ragged", b"\x001,2\n3\n")
put("csv", "quote", b'\x00"1,2\n3\n')
put("labels", "integers", b"\x04\x00-1\n3\n18446744073709551615\n3\n")
put("labels", "texts", b'\x03\x00label\na\n"b,\n"""\n\n')
put("labels", "columns", b"\x02\x02id,y\n1,a\n2,b\n")
put("labels", "latin1", b"\x01\x00caf\xe9\n")

# What is attached to eight rows of two features and two classes: fuzz_analysis in fuzz_reader.c.
put("groups", "numbers", b"\x001\n1\n2\n2\n3\n3\n4\n4\n")
put("groups", "texts", b"\x00g\na\na\n\nb\nb\nc\nd\ne\n")
put("groups", "one", b"\x00a\na\na\na\na\na\na\na\n")
put("groups", "column", b"\x02i,g\n1,a\n2,a\n3,b\n4,b\n5,c\n6,c\n7,d\n8,d\n")
put("groups", "subsets", b"\x01train\ntrain\ntest\ntest\ntrain\ntrain\ntest\ntest\n")
put("groups", "array", b"\x00" + npy("<i4", (8,), struct.pack("<8i", 1, 1, 2, 2, 3, 3, 4, 4)))
put("class_embeddings", "array", npy("<f4", (2, 2), struct.pack("<4f", 1, 0, 0, 1)))
put("class_embeddings", "doubles", npy("<f8", (2, 2), struct.pack("<4d", 1, 0, 0, 1)))
put("class_embeddings", "table", b"1,0\n0,1\n")
put("class_embeddings", "zeros", npy("<f4", (2, 2), bytes(16)))
put("class_embeddings", "not_finite", b"1,nan\n0,1\n")
put("pred_probs", "array", npy("<f4", (8, 2), struct.pack("<16f", *[.9, .1] * 4, *[.2, .8] * 4)))
put("pred_probs", "certain", npy("<f8", (8, 2), struct.pack("<16d", *[1, 0] * 4, *[0, 1] * 4)))
put("pred_probs", "negative", npy("<f4", (8, 2), struct.pack("<16f", *[1.5, -.5] * 8)))
put("image_list", "two", b"\x02ok\nok\n")
put("image_list", "missing", b"\x02ok\nnot_there.png\n")
put("image_list", "other_places", b"\x03./ok\n../ok\n/dev/null\n")
put("image_list", "itself", b"\x01x.txt\n")

# What was decided of the labels a, b, a, b, and the folder of a run on them; files are parted by a byte 255.
HEADER = b"index,given_label,decision,new_label,labels_checksum\n"
SUM = b"rer:53a743883fbad9a8"
put("decisions", "each", HEADER + b"0,a,keep,," + SUM + b"\n1,b,fix,a," + SUM + b"\n2,a,drop,," + SUM + b"\n3,b,choose,a," + SUM + b"\n")
put("decisions", "other_label", HEADER + b"0,b,keep,," + SUM + b"\n")
put("decisions", "twice", HEADER + b"0,a,keep,," + SUM + b"\n0,a,drop,," + SUM + b"\n")
put("decisions", "far", HEADER + b"9223372036854775808,a,keep,," + SUM + b"\n")
put("decisions", "quoted", HEADER.replace(b",", b'","').replace(b"index", b'"index').replace(b"\n", b'"\r\n') +
    b'"1","b","fix","a","' + SUM + b'"\r\n')
HEAD = b'{"rer_review":1,"labels":"53a743883fbad9a8"}\n'
LINE = b'{"id":"%016x","row":%d,"given":"%c","decision":"%s","label":"a","reviewer":"%s","promise":0.5}\n'
put("journal", "each", HEAD + b"".join(LINE % (i, i, b"abab"[i], word, b"ann") for i, word in
                                       enumerate((b"keep", b"fix", b"drop", b"unsure"))))
put("journal", "two", HEAD + LINE % (1, 1, ord("b"), b"keep", b"ann") + LINE % (2, 1, ord("b"), b"fix", b"bob") +
    LINE % (3, 1, ord("b"), b"new", b"ann"))
put("journal", "torn", HEAD + LINE % (1, 0, ord("a"), b"none", b"ann") + LINE[:30])
put("journal", "again", HEAD + 2 * (LINE % (1, 0, ord("a"), b"keep", b"ann")) + LINE % (2, 0, ord("a"), b"open", b"ann"))
SAMPLES = (b"index,given_label,predicted_label,rer,mistakenness,label_score,is_label_issue,own_error,best_other_error,"
           b"suggested_label,suggestion_probability\n"
           b"0,a,a,0.64,0.01,0.99,false,12,18,,\n1,b,a,2.6,0.97,0.03,true,3.6,1.3,a,0.97\n"
           b"2,a,b,1.3,0.4,0.6,false,12,9,,\n3,b,b,0.2,0,1,false,3,17,,\n")
CLASSES = b"label,n,chi,noise_rate,n_issues,most_confused_with,own_error\na,2,0.99,0.1,0,b,12\nb,2,0.2,0,1,,3.6\n"
SUMMARY = {"n_samples": 4, "n_classes": 2, "n_features": 2, "chi": .6, "difficulty": .3, "error_rate": .25, "noise_rate": .1,
           "n_issues": 1, "reconstructor": "centroid"}
put("run_folder", "whole", b"\xff".join((SAMPLES, CLASSES, json.dumps(SUMMARY).encode())))
put("run_folder", "huge_counts", b"\xff".join((SAMPLES, CLASSES, json.dumps({**SUMMARY, "n_samples": 1e300}).encode())))
put("run_folder", "no_classes", b"\xff".join((SAMPLES, b"", json.dumps(SUMMARY).encode())))
put("run_folder", "samples_alone", SAMPLES)


def model(arrays, **changed):
    """A safetensors file of our models' shape: two classes of three features."""
    entries, data = {}, b""
    for name, (dtype, shape, content) in arrays.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    metadata = {"format": "rer model 7", "reconstructor": "centroid", "normalize": "whiten",
                "channel.weight": "0.1", "channel.edge": "9", "channel.blur": "0.02", "channel.sharpness": "0.2",
                "channel.likeness": "0", "channel.uniform": "0.01", "channel.confusion": "0.3", "channel.all_right": "0.2",
                "channel.confused": "0", "channel.pairs": "0", "shrinkage": "0.1", "rows": "10", "features": "3", "class_names": '["a","b"]',
                "usual": "0", "usual.tail": "0",
                "centroid.weight": "0.1", "centroid.in_double": "0"}
    header = json.dumps({"__metadata__": {**metadata, **changed}, **entries}).encode()
    return struct.pack("<Q", len(header)) + header + data


def doubles(*values):
    return struct.pack(f"<{len(values)}d", *values)


centroid = {
    "class_sizes": ("I64", [2], struct.pack("<2q", 4, 6)),
    "channel.totals": ("F64", [2], doubles(4, 6)),
    "channel.bias": ("F32", [2], struct.pack("<2f", 1.4, 1.8)),
    "centroid.mean": ("F64", [2, 3], doubles(0, 0, 1, 1, 0, 0)),
    "centroid.grand_mean": ("F64", [3], doubles(.5, 0, .5)),
    "centroid.root": ("F64", [3, 3], doubles(1, 0, 0, .1, 1, 0, .1, .1, 1)),
}
put("model", "centroid", model(centroid))
put("model", "double", model(centroid, **{"centroid.in_double": "1"}))
put("model", "identity", model({k: v for k, v in centroid.items() if k != "centroid.root"}, normalize="unit", shrinkage="nan"))
pairs = {"channel.counts": ("F64", [2, 2], doubles(0, 1, 1, 0)), "channel.totals": ("F64", [2], doubles(5, 7))}
put("model", "pairs", model({**centroid, **pairs}, **{"channel.pairs": "1"}))
put("model", "no_counts", model({**centroid, **pairs, "channel.totals": ("F64", [2], doubles(0, 7))},
                                **{"channel.pairs": "1"}))
alike = {"channel.alike": ("F32", [2, 2], struct.pack("<4f", 0, 1, 1, 0))}
put("model", "confused", model({**centroid, **alike}, **{"channel.confused": "1"}))
put("model", "alike_beyond", model({**centroid, "channel.alike": ("F32", [2, 2], struct.pack("<4f", 0, 1, 2, 0))},
                                   **{"channel.confused": "1"}))
usual = {"usual.center": ("F64", [2], doubles(0, 1)), "usual.spread": ("F64", [2], doubles(.5, 1)),
         "usual.removed": ("F32", [3], struct.pack("<3f", -2, -1, -1))}
put("model", "usual", model({**centroid, **usual}, usual="1"))
put("model", "unusual", model({**centroid, **usual, "usual.spread": ("F64", [2], doubles(.5, 0))}, usual="1"))
put("model", "likeness", model(centroid, **{"channel.likeness": "0.2"}))
put("model", "blur", model(centroid, **{"channel.blur": "-1e-9"}))
put("model", "all_right", model(centroid, **{"channel.all_right": "1"}))
put("model", "not_finite", model({**centroid, "centroid.grand_mean": ("F64", [3], doubles(0, 0, float("nan")))}))
put("model", "overflow", model({**centroid, "centroid.mean": ("F64", [2**61, 3], doubles(0))}))
put("model", "no_json", struct.pack("<Q", 2) + b"{]")
put("model", "long_header", struct.pack("<Q", 2**63) + b"{}")

# Pictures: with Pillow, which alone writes all these kinds.
from PIL import Image

colours = Image.frombytes("RGB", (7, 5), bytes(i * 37 % 256 for i in range(105)))
half = colours.copy()
half.putalpha(128)
for name, image, kind, options in (
        ("rgb.jpg", colours, "JPEG", {}), ("progressive.jpg", colours, "JPEG", {"progressive": True}),
        ("grey.jpg", colours.convert("L"), "JPEG", {}), ("cmyk.jpg", colours.convert("CMYK"), "JPEG", {}),
        ("rgb.png", colours, "PNG", {}), ("palette.png", colours.quantize(4), "PNG", {}),
        ("grey_alpha.png", colours.convert("LA"), "PNG", {}), ("lossy.webp", colours, "WEBP", {}),
        ("lossless.webp", colours, "WEBP", {"lossless": True}), ("alpha.webp", half, "WEBP", {})):
    out = io.BytesIO()
    image.save(out, kind, **options)
    put("picture", name, out.getvalue())

# HDF5: with h5py. x [7, 3] counts from -4, w has texts; in the smallest form of the format, in that of every version.
import h5py
import numpy as np

x = (np.arange(21, dtype="f4") - 4).reshape(7, 3)
words = ["dog", "cat", "", "a long, long text", "cat", "\u00e4", "dog"]
grown = {"chunks": (2, 2), "maxshape": (None, 3)}
packed = {"compression": "gzip", "shuffle": True, "fletcher32": True}
for name, libver, options in (
        ("contiguous", "latest", {}), ("old_contiguous", "earliest", {}), ("big_endian", "earliest", {"dtype": ">f8"}),
        ("old_chunked", "earliest", {"chunks": (2, 2)}), ("old_packed", "earliest", {"chunks": (3, 2), **packed}),
        ("single", "latest", {"chunks": (7, 3)}), ("single_packed", "latest", {"chunks": (7, 3), **packed}),
        ("fixed", "latest", {"chunks": (2, 2)}), ("fixed_packed", "latest", {"chunks": (2, 2), **packed}),
        ("extensible", "latest", grown), ("extensible_packed", "latest", {**grown, **packed}),
        ("tree", "latest", {"chunks": (2, 2), "maxshape": (None, None)}),
        ("tree_packed", "latest", {"chunks": (2, 2), "maxshape": (None, None), **packed})):
    path = CORPUS / "h5" / name
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w", libver=libver) as file:
        options = {"dtype": "f4", **options}
        file.create_dataset("x", data=x.astype(options.pop("dtype")), **options)
for name, libver in (("texts", "latest"), ("old_texts", "earliest")):
    with h5py.File(CORPUS / "h5" / name, "w", libver=libver) as file:
        file["w"] = words
        file["deep/fixed"] = np.array([word[:4].encode() for word in words])
        file["deep/numbers"] = np.array([5, -3, 5, 9, 2**63 - 1, 9, 5])
        file["x"] = h5py.SoftLink("deep/numbers")
        if libver == "latest":  # an old group cannot have such a link
            file["deep/flags"] = np.array([1, 0, 0, 1, 1, 0, 1], bool)
            file["other"] = h5py.ExternalLink("other.h5", "/x")
put("model_folder", "shortest", b'{"size": {"shortest_edge": 8}, "crop_size": {"height": 6, "width": 6}, "resample": 3, '
    b'"image_mean": [0.5, 0.4, 0.3], "image_std": 0.5}\xff{"model_type": "dinov2"}\xff[]\xff{}')
put("model_folder", "both", b'{"size": 9, "do_center_crop": false, "do_rescale": true, "rescale_factor": 0.1}\xff'
    b'{"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}\xff'
    b'[{"type": "sentence_transformers.models.Normalize"}]\xff{"max_seq_length": 128}')
put("model_folder", "share", b'{"size": {"shortest_edge": 7}, "crop_pct": 0.875}\xff{"text_config": {"pad_token_id": 2}}\xff[]\xff{}')
put("model_folder", "far", b'{"size": {"shortest_edge": 7}, "crop_pct": 1e-300, "resample": 4294967298}\xff'
    b'{"model_type": "mpnet", "max_position_embeddings": -9223372036854775808}\xff[]\xff{}')
put("row_texts", "objects", b'\x02{"text": "one"}\n{"text": "two\\u0000", "more": [1]}\n')
put("row_texts", "values", b'\x03"a"\n7\nnull\n')
put("row_texts", "broken", b'\x02{"text": "one"}\n{\n')
put("row_texts", "table", b'\x02id,text\n1,"a ""b""\nc"\n2,d\n')
